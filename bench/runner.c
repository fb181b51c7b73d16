#include "bench/arms/form.h"
#include "bench/case_run.h"
#include "engine/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bench_status status_of(assay_status status) {
    switch (status) {
    case ASSAY_OK:
        return BENCH_OK;
    case ASSAY_ERR_UNSUPPORTED:
        return BENCH_UNAVAILABLE;
    case ASSAY_ERR_MEMORY:
        return BENCH_OOM;
    default:
        return BENCH_ERROR;
    }
}

void runner_stop(runner *r, bench_status status, const char *reason) {
    r->status = status;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
}

bool runner_goes(const runner *r) {
    return r->loaded && r->status == BENCH_OK;
}

bool runner_is_fine(runner *r, assay_status status) {
    if (status != ASSAY_OK)
        runner_stop(r, status_of(status), assay_error());
    return status == ASSAY_OK;
}

void runner_drop_samples(runner *r) {
    free(r->row.sample);
    free(r->warm);
    r->row.sample = r->warm = NULL;
    r->row.n_samples = r->n_warm = 0;
}

/* ---- the case ---- */

static assay_status tell_tensor(const exchange *e, arm_process *a, int32_t set,
                                exchange_group group, int32_t i) {
    static const char *const words[] = {"in", "cot", "out", "grad"};
    const assay_tensor_spec *spec = exchange_spec(e, group, i);
    char dims[ASSAY_MAX_RANK * 21 + 1] = "";
    for (int32_t d = 0, used = 0; d < spec->rank; ++d)
        used +=
            snprintf(dims + used, sizeof dims - (size_t)used, " %lld", (long long)spec->shape[d]);
    return arm_process_ask(a, PROCESS_ANSWER, "%s %s %s %zu%s", words[group], spec->name,
                           assay_dtype_name(spec->dtype), exchange_offset(e, set, group, i), dims);
}

static assay_status tell_set(const exchange *e, arm_process *a, int32_t set) {
    assay_status status = arm_process_ask(a, PROCESS_ANSWER, "set %d", set);
    for (exchange_group g = EXCHANGE_IN; g <= EXCHANGE_GRAD; ++g)
        for (int32_t i = 0; status == ASSAY_OK && i < exchange_count(e, g); ++i)
            if (exchange_has(e, g, i))
                status = tell_tensor(e, a, set, g, i);
    return status;
}

/* Those that the text of the case leaves out, too: a function takes them by their names. */
static assay_status tell_keys(arm_process *a, const assay_params *params) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL)
        python_put_keys(to, params);
    const bool written = to != NULL && fclose(to) == 0;
    const assay_status status =
        written ? arm_process_ask(a, PROCESS_ANSWER, "keys {%s}", text)
                : assay_fail(ASSAY_ERR_MEMORY, "no memory to tell Python of a case");
    free(text);
    return status;
}

/* Our own arms hold no operators that could parse a text: they find the case behind the tensors. */
static assay_status tell_case(const case_run *k, const runner *r) {
    arm_process *a = &r->p->process;
    const exchange *e = &k->s->memory;
    if (r->what->program != BENCH_PROGRAM_OURS)
        return arm_process_ask(a, PROCESS_ANSWER, "case %s", k->text);
    const assay_status status = form_write(e->memory + e->used, e->bytes - e->used, k->plan->c);
    return status == ASSAY_OK ? arm_process_ask(a, PROCESS_ANSWER, "case %zu", e->used) : status;
}

void runner_tell(const case_run *k, runner *r) {
    arm_process *a = &r->p->process;
    assay_status status = tell_case(k, r);
    if (status == ASSAY_OK && r->what->program == BENCH_PROGRAM_FUNCTION)
        status = tell_keys(a, &k->plan->c->params);
    for (int32_t i = 0; status == ASSAY_OK && i < k->sets; ++i)
        status = tell_set(&k->s->memory, a, i);
    r->loaded = runner_is_fine(r, status);
}

void runner_forget(const case_run *k, runner *r) {
    if (r->loaded && r->p && arm_process_runs(&r->p->process))
        (void)!tell_case(k, r);
    r->loaded = false;
}
