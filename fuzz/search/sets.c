#include "fuzz/search/sets.h"

#include <math.h>

/* How many cases are drawn, and how often each size alone is large, and by how much less than the
 * largest that a campaign draws. */
typedef struct share {
    int64_t drawn;
    int32_t longest, halvings;
} share;

static const share shares[ASSAY_SETS] = {
    [ASSAY_CI] = {.drawn = 600, .longest = 1, .halvings = 3},
    [ASSAY_NIGHTLY] = {.drawn = 8000, .longest = 2},
};

assay_status fuzz_set_visit(const assay_op *op, assay_set set, const assay_device *device,
                            const char *const *variants, int32_t n_variants, uint64_t seed,
                            assay_case_visitor listed, assay_case_visitor drawn, void *context) {
    const share *of = &shares[set];
    fuzz_source source = {.op = op, .seed = seed, .budget = FUZZ_SIM_BUDGET};
    fuzz_source_edges(&source, device, variants, n_variants);
    assay_status status = assay_op_visit_set(op, set, listed, context);
    for (int32_t i = 0; status == ASSAY_OK && i < of->longest * op->n_keys; ++i) {
        assay_case c;
        status = fuzz_source_longest(&source, i % op->n_keys, of->halvings, i, &c);
        if (status == ASSAY_OK)
            status = drawn(&c, context);
        else if (status == ASSAY_ERR_USAGE) /* no size, or none that is large by itself */
            status = ASSAY_OK;
    }
    /* Fewer of those that take long, as in a campaign (hunt.c). */
    const double bearable = 4, cases = (double)of->drawn / fmax(op->overhead / bearable, 1);
    for (int64_t i = 0; status == ASSAY_OK && (double)i < cases; ++i) {
        assay_case c;
        status = fuzz_source_draw(&source, i, &c);
        if (status == ASSAY_OK)
            status = drawn(&c, context);
    }
    return status;
}
