#include "mutants/test_case.h"

#include "assay/compare.h"
#include "engine/baseline.h"
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
    t->ready = status == ASSAY_OK;
    return status;
}

void test_case_clear(test_case *t) {
    assay_problem_clear(&t->problem);
    assay_reference_clear(&t->reference);
    assay_results_clear(&t->v1);
    *t = (test_case){0};
}

/* ---- checking ---- */

typedef struct side {
    const char *prefix;
    const assay_tensor_spec *spec;
    const assay_arrays *got, *want, *v1;
    const assay_bounds *bounds;
} side;

static mutant_layer check_tensor(const test_case *t, const side *s, int32_t i,
                                 char reason[LAYER_REASON]) {
    const assay_tensor_spec *spec = &s->spec[i];
    const double *bound = s->bounds->element.data[i];
    const assay_comparison cmp =
        assay_compare_bounded(spec->dtype, s->got->data[i], s->want, s->bounds, i);
    char at[128];
    if (cmp.verdict == ASSAY_FAIL) {
        snprintf(reason, LAYER_REASON, "%s%s: %lld of %lld wrong, at %s %.9g for %.9g +- %.3g",
                 s->prefix, spec->name, (long long)cmp.wrong, (long long)cmp.count,
                 assay_index_text(spec->rank, spec->shape, cmp.worst, at), cmp.got, cmp.want,
                 cmp.bound);
        return assay_fill_is_exact(t->problem.c.fill) ? LAYER_EXACT : LAYER_BOUND;
    }
    if (!s->v1->data)
        return LAYER_NONE;
    const double rows = baseline_rows(&t->problem, &t->reference);
    const baseline b = baseline_compare(
        spec->dtype, s->got->data[i], s->v1->data[i], s->want->data[i], bound, NULL,
        s->want->size[i], baseline_rows_of(spec, bound, rows), baseline_share(&t->problem.c));
    if (b.kept)
        return LAYER_NONE;
    snprintf(reason, LAYER_REASON, "%s%s: off by %.3g in L2, where v1 allows %.3g", s->prefix,
             spec->name, b.error, b.allowed);
    return LAYER_BASELINE;
}

static mutant_layer check_side(const test_case *t, const side *s, char reason[LAYER_REASON]) {
    mutant_layer layer = LAYER_NONE;
    for (int32_t i = 0; layer == LAYER_NONE && i < s->want->count; ++i)
        if (s->want->data[i])
            layer = check_tensor(t, s, i, reason);
    return layer;
}

mutant_layer test_case_check(const test_case *t, const assay_results *got,
                             char reason[LAYER_REASON]) {
    const assay_reference *r = &t->reference;
    const side outputs = {"",           t->problem.sig.out, &got->out,
                          &r->want.out, &t->v1.out,         &r->out_bound};
    const side gradients = {"d",           t->problem.sig.in, &got->grad,
                            &r->want.grad, &t->v1.grad,       &r->grad_bound};
    const mutant_layer layer = check_side(t, &outputs, reason);
    return layer == LAYER_NONE ? check_side(t, &gradients, reason) : layer;
}
