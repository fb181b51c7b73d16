#include "bench/arms/call.h"

#include <stdio.h>
#include <string.h>

enum {
    IN = SET_BIT(SET_IN),
    OUT = SET_BIT(SET_OUT),
    COT = SET_BIT(SET_COT),
    GRAD = SET_BIT(SET_GRAD),
};

/* ---- the tensors that a stage reads and writes ---- */

/* Whether a call of this stage computes the outputs. */
static bool runs_forward(const work *w) {
    return w->stage == BENCH_FORWARD || (w->stage == BENCH_BOTH && !w->own_forward);
}

static bool runs_backward(const work *w) {
    return w->stage != BENCH_FORWARD;
}

set_groups work_needs(bench_stage stage) {
    static const set_groups needs[BENCH_STAGES] = {
        [BENCH_FORWARD] = IN | OUT,
        [BENCH_BACKWARD] = IN | COT | GRAD,
        [BENCH_BOTH] = IN | OUT | COT | GRAD,
    };
    return needs[stage];
}

set_groups call_reads(const work *w) {
    if (!runs_backward(w))
        return IN;
    return runs_forward(w) ? IN | COT : IN | OUT | COT;
}

set_groups call_writes(const work *w) {
    return (runs_forward(w) ? OUT : 0) | (runs_backward(w) ? GRAD : 0);
}

set_groups call_leaves(const work *w) {
    return (w->stage != BENCH_BACKWARD ? OUT : 0) | (runs_backward(w) ? GRAD : 0);
}

/* ---- arguments ---- */

static int32_t add(work *w, const set *s, set_groups groups, int32_t count) {
    const set_tensor *t;
    for (set_walk walk = {0}; (t = set_next(s, groups, &walk)) != NULL;)
        w->argument[count++] = t->tensor;
    return count;
}

static assay_call make_call(work *w, const set *s, assay_stage stage) {
    const bool backward = stage == ASSAY_BACKWARD;
    const int32_t n_in = add(w, s, backward ? IN | OUT | COT : IN, 0);
    const int32_t all = add(w, s, backward ? GRAD : OUT, n_in);
    return (assay_call){
        .params = &w->form->params,
        .n_in = n_in,
        .n_out = all - n_in,
        .in = w->argument,
        .out = w->argument + n_in,
        .workspace = w->workspace,
        .workspace_bytes = w->workspace_bytes[stage],
        .stream = w->stream,
    };
}

/* ---- calls ---- */

static assay_status stage_supported(work *w, assay_stage stage) {
    const assay_variant *v = w->variant;
    const assay_call call = make_call(w, &w->sets[0], stage);
    const assay_status status = v->supports ? v->supports(stage, &call) : ASSAY_OK;
    if (status == ASSAY_OK)
        w->workspace_bytes[stage] = v->workspace ? v->workspace(stage, &call) : 0;
    return status;
}

assay_status call_supported(work *w) {
    const assay_variant *v = w->variant;
    if (v->lacks)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s: %s", v->op, v->name, v->lacks);
    if (runs_backward(w) && (!w->form->gradients || !v->backward))
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s: this case has no gradients", v->op,
                          v->name);
    const assay_status status = stage_supported(w, ASSAY_FORWARD);
    return status == ASSAY_OK && runs_backward(w) ? stage_supported(w, ASSAY_BACKWARD) : status;
}

static assay_status queue(work *w, const set *s, assay_stage stage) {
    const assay_call call = make_call(w, s, stage);
    return stage == ASSAY_FORWARD ? w->variant->forward(&call) : w->variant->backward(&call);
}

bool call_has_prelude(const work *w) {
    return !runs_forward(w);
}

assay_status call_prelude(work *w, const set *s) {
    return queue(w, s, ASSAY_FORWARD);
}

assay_status call_queue(work *w, const set *s) {
    assay_status status = runs_forward(w) ? queue(w, s, ASSAY_FORWARD) : ASSAY_OK;
    if (status == ASSAY_OK && runs_backward(w))
        status = queue(w, s, ASSAY_BACKWARD);
    return status;
}
