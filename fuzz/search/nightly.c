#include "fuzz/search/nightly.h"

assay_status fuzz_nightly_visit(const assay_op *op, const assay_device *device,
                                const char *const *variants, int32_t n_variants, uint64_t seed,
                                assay_case_visitor listed, assay_case_visitor drawn,
                                void *context) {
    enum { DRAWN = 3000, LONG = 2 };
    fuzz_source source = {.op = op, .seed = seed, .budget = FUZZ_SIM_BUDGET};
    fuzz_source_edges(&source, device, variants, n_variants);
    assay_status status = assay_op_visit_set(op, ASSAY_NIGHTLY, listed, context);
    for (int32_t i = 0; status == ASSAY_OK && i < LONG * op->n_keys; ++i) {
        assay_case c;
        status = fuzz_source_longest(&source, i % op->n_keys, i, &c);
        if (status == ASSAY_OK)
            status = drawn(&c, context);
        else if (status == ASSAY_ERR_USAGE) /* no size, or none that is large by itself */
            status = ASSAY_OK;
    }
    for (int64_t i = 0; status == ASSAY_OK && i < DRAWN; ++i) {
        assay_case c;
        status = fuzz_source_draw(&source, i, &c);
        if (status == ASSAY_OK)
            status = drawn(&c, context);
    }
    return status;
}
