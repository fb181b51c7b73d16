#include "mutants/test_case.h"

#include "assay/compare.h"
#include "engine/check.h"
#include "engine/runner.h"
#include "engine/variant_run.h"

#include <math.h>
#include <stdio.h>

/* v1 as it is in this program, on its own simulated device: trusted as far as the suite's checks
 * of v1 go. */
static assay_status run_baseline(test_case *t) {
    const assay_device *sim;
    assay_status status = assay_device_open("sim", &sim);
    if (status != ASSAY_OK)
        return status;
    const assay_variant *v1 = variant_find(sim, t->problem.c.op->name, "v1");
    if (!v1)
        return ASSAY_OK;
    status = assay_results_init(&t->v1, &t->problem.sig);
    return status == ASSAY_OK ? assay_run(v1, sim, &t->problem, &t->v1) : status;
}

assay_status test_case_prepare(test_case *t) {
    assay_case c;
    if (t->ready)
        return ASSAY_OK;
    assay_status status = assay_case_parse(t->text, &c);
    if (status == ASSAY_OK)
        status = assay_problem_load(&t->problem, &c);
    if (status == ASSAY_OK)
        status = assay_reference_init(&t->reference, &t->problem);
    if (status == ASSAY_OK && baseline_applies(&c))
        status = run_baseline(t);
    if (status == ASSAY_OK)
        t->tier = baseline_tier_of(&t->problem, &t->reference);
    t->ready = status == ASSAY_OK;
    return status;
}

void test_case_clear(test_case *t) {
    baseline_tier_clear(&t->tier);
    assay_problem_clear(&t->problem);
    assay_reference_clear(&t->reference);
    assay_results_clear(&t->v1);
    *t = (test_case){0};
}

/* ---- checking ---- */

typedef struct side {
    assay_stage stage;
    const assay_tensor_spec *spec;
    const assay_arrays *got, *want, *v1;
    const assay_bounds *bounds;
} side;

static mutant_layer check_tensor(test_case *t, const side *s, int32_t i,
                                 char reason[LAYER_REASON]) {
    const assay_tensor_spec *spec = &s->spec[i];
    const char *prefix = s->stage == ASSAY_BACKWARD ? "d" : "";
    const assay_comparison cmp =
        assay_compare_bounded(spec->dtype, s->got->data[i], s->want, s->bounds, i);
    char at[128];
    if (cmp.verdict == ASSAY_FAIL) {
        snprintf(reason, LAYER_REASON, "%s%s: %lld of %lld wrong, at %s %.9g for %.9g +- %.3g",
                 prefix, spec->name, (long long)cmp.wrong, (long long)cmp.count,
                 assay_index_text(spec->rank, spec->shape, cmp.worst, at), cmp.got, cmp.want,
                 cmp.bound);
        return assay_fill_is_exact(t->problem.c.fill) ? LAYER_EXACT : LAYER_BOUND;
    }
    if (!s->v1->data)
        return LAYER_NONE;
    baseline b;
    /* Without memory for a second look, it is the first that counts, of the original as well. */
    (void)!baseline_tier_compare(&t->tier, s->stage, i, spec, s->got->data[i], s->v1->data[i],
                                 s->want->data[i], s->bounds->element.data[i], s->want->size[i],
                                 &b);
    if (b.kept)
        return LAYER_NONE;
    snprintf(reason, LAYER_REASON, "%s%s: off by %.3g in L2, where v1 allows %.3g", prefix,
             spec->name, b.error, b.allowed);
    return LAYER_BASELINE;
}

static mutant_layer check_side(test_case *t, const side *s, char reason[LAYER_REASON]) {
    mutant_layer layer = LAYER_NONE;
    for (int32_t i = 0; layer == LAYER_NONE && i < s->want->count; ++i)
        if (s->want->data[i])
            layer = check_tensor(t, s, i, reason);
    return layer;
}

mutant_layer test_case_check(test_case *t, const assay_results *got, char reason[LAYER_REASON]) {
    const assay_reference *r = &t->reference;
    const side outputs = {ASSAY_FORWARD, t->problem.sig.out, &got->out,
                          &r->want.out,  &t->v1.out,         &r->out_bound};
    const side gradients = {ASSAY_BACKWARD, t->problem.sig.in, &got->grad,
                            &r->want.grad,  &t->v1.grad,       &r->grad_bound};
    const mutant_layer layer = check_side(t, &outputs, reason);
    return layer == LAYER_NONE ? check_side(t, &gradients, reason) : layer;
}
