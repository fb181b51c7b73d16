#include "tests/engine/baseline.h"

#include "assay/compare.h"

#include <math.h>

enum { FEWEST = 64 }; /* elements */

bool baseline_holds(assay_dtype dtype) {
    return assay_dtype_size(dtype) < sizeof(float);
}

bool baseline_applies(const assay_case *c) {
    const bool spread = c->fill == ASSAY_FILL_NORMAL || c->fill == ASSAY_FILL_UNIFORM ||
                        c->fill == ASSAY_FILL_POSITIVE;
    return c->op->baseline && spread && baseline_holds(c->params.dtype);
}

baseline baseline_compare(assay_dtype dtype, const double *got, const double *v1,
                          const double *want, int64_t count) {
    const double rounding = assay_dtype_unit(dtype) * assay_norm2(want, count);
    baseline b = {.error = assay_distance2(got, want, count),
                  .allowed = 2 * assay_distance2(v1, want, count) + rounding};
    b.kept = count < FEWEST || !isfinite(b.allowed) || b.error <= b.allowed;
    return b;
}
