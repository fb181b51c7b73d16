#include "engine/baseline_tier.h"
#include "assay/usual.h"

#include <stdlib.h>

baseline_tier baseline_tier_of(const assay_problem *p, const assay_reference *ref) {
    return (baseline_tier){.p = p, .rows = baseline_rows(p, ref), .share = baseline_share(&p->c)};
}

void baseline_tier_clear(baseline_tier *t) {
    assay_reference_clear(&t->usual);
    *t = (baseline_tier){0};
}

/* Only of cases of which the host has the oracle's answers soon; NULL: none were looked for. */
static assay_status look_for_jumps(baseline_tier *t, assay_stage stage, int32_t i,
                                   const double *bound, int64_t count, double **jump) {
    static const double most_flops = 1e10;
    assay_work work;
    *jump = NULL;
    assay_status status = assay_op_work(t->p->c.op, &t->p->c.params, ASSAY_FORWARD, &work);
    if (status != ASSAY_OK || t->p->sample || work.flops > most_flops)
        return status;
    if (!t->has_usual)
        status = assay_reference_init_usual(&t->usual, t->p, baseline_usual);
    t->has_usual = status == ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    const assay_bounds *usual =
        stage == ASSAY_BACKWARD ? &t->usual.grad_bound : &t->usual.out_bound;
    *jump = baseline_jumps(bound, usual->element.data[i], count);
    return *jump ? ASSAY_OK : assay_fail(ASSAY_ERR_MEMORY, "out of memory for a tensor's jumps");
}

assay_status baseline_tier_compare(baseline_tier *t, assay_stage stage, int32_t i,
                                   const assay_tensor_spec *spec, const double *got,
                                   const double *v1, const double *want, const double *bound,
                                   int64_t count, baseline *b) {
    const double rows = baseline_rows_of(spec, bound, t->rows);
    double *jump = NULL;
    assay_status status = ASSAY_OK;
    *b = baseline_compare(spec->dtype, got, v1, want, bound, NULL, count, rows, t->share);
    if (!b->kept)
        status = look_for_jumps(t, stage, i, bound, count, &jump);
    if (jump)
        *b = baseline_compare(spec->dtype, got, v1, want, bound, jump, count, rows, t->share);
    free(jump);
    return status;
}
