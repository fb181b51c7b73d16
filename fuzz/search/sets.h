/* The cases that the sets ci and nightly add to those that an operator lists: cases drawn as `assay
 * fuzz` draws them, and for each size some in which it alone is large; in nightly as large as
 * some seconds allow. */
#ifndef ASSAY_FUZZ_SEARCH_SETS_H
#define ASSAY_FUZZ_SEARCH_SETS_H

#include "fuzz/search/source.h"

/* Hands each case that the operator lists to `listed`, and each other one to `drawn`: that one may
 * prove nothing, through no fault of the kernel's. `device` and `variants` as fuzz_source_edges()
 * has them; `seed`: of the drawn ones. */
assay_status fuzz_set_visit(const assay_op *op, assay_set set, const assay_device *device,
                            const char *const *variants, int32_t n_variants, uint64_t seed,
                            assay_case_visitor listed, assay_case_visitor drawn,
                            void *context) ASSAY_MUST_CHECK;

#endif
