/*
 * The reader of state files, `assay run --in`: of any bytes it gives a line that says what is
 * wrong, or tensors whose values a kernel of their dtype may be given.
 */
#include "assay/state.h"
#include "fuzz/fuzz.h"

#include <math.h>

/* Indices and magnitudes among its inputs, and a cotangent. */
static const char text[] = "cross_entropy t=3 v=5 gradient=1 dtype=bf16 seed=0";

static void expect_values(const assay_arrays *arrays, const assay_tensor_spec *specs) {
    for (int32_t i = 0; i < arrays->count; ++i)
        for (int64_t e = 0; arrays->data[i] != NULL && e < arrays->size[i]; ++e) {
            const double v = arrays->data[i][e];
            FUZZ_EXPECT(isnan(v) || assay_dtype_round(specs[i].dtype, v) == v);
            FUZZ_EXPECT(specs[i].dtype != ASSAY_I32 || (v >= 0 && v < (double)specs[i].indices));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    assay_problem problem;
    assay_case c;
    int32_t taken;
    fuzz_hasten_hdf5();
    FUZZ_EXPECT(assay_case_parse(text, &c) == ASSAY_OK);
    FUZZ_EXPECT(assay_problem_init(&problem, &c) == ASSAY_OK);
    if (assay_state_read(fuzz_file(data, size), &problem, &taken) == ASSAY_OK) {
        FUZZ_EXPECT(taken > 0);
        expect_values(&problem.in, problem.sig.in);
        expect_values(&problem.cot, problem.sig.out);
    } else {
        fuzz_expect_line();
    }
    assay_problem_clear(&problem);
    return 0;
}
