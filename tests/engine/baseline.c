#include "tests/engine/baseline.h"

#include "assay/compare.h"

#include <math.h>

bool baseline_holds(assay_dtype dtype) {
    return assay_dtype_size(dtype) < sizeof(float);
}

bool baseline_applies(const assay_case *c) {
    return c->op->baseline && baseline_holds(c->params.dtype);
}

baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, const double *bound, int64_t count) {
    const double rounding = assay_dtype_unit(dtype) * assay_norm2(want, count);
    const double of_v1 = 2 * assay_distance2(v1, want, count) + rounding;
    const double of_bound = assay_norm2(bound, count) / 8;
    baseline b = {.error = assay_distance2(got, want, count), .allowed = fmax(of_v1, of_bound)};
    b.kept = !isfinite(of_v1) || b.error <= b.allowed;
    return b;
}
