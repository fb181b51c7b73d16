#include "oracles/common/range.h"

#include <math.h>
#include <stdio.h>

double range_largest(const assay_arrays *arrays, int32_t i) {
    double largest = 0;
    if (!arrays || !arrays->data || !arrays->data[i])
        return 0;
    for (int64_t e = 0; e < arrays->size[i]; ++e)
        if (isfinite(arrays->data[i][e]))
            largest = fmax(largest, fabs(arrays->data[i][e]));
    return largest;
}

double range_of_sum(const assay_rounding *r, double terms, double product) {
    return r->zero_mean ? fmin(terms, 4 * sqrt(terms)) * product : terms * product;
}

/* Twice: for roundings, and for a walk that goes further. */
void range_hold_in(assay_dtype dtype, double magnitude, const char *what, assay_bounds *bounds,
                   int32_t i) {
    if (2 * magnitude <= assay_dtype_max(dtype) || bounds->outside[i][0] != '\0')
        return;
    snprintf(bounds->outside[i], ASSAY_WHY,
             "outside of the definition: %s may reach %.2g, which overflows %s in a right kernel",
             what, magnitude, assay_dtype_name(dtype));
}

void range_hold(const assay_rounding *r, double magnitude, const char *what, assay_bounds *bounds,
                int32_t i) {
    const bool fp64 = r->u == assay_dtype_unit(ASSAY_F64);
    range_hold_in(fp64 ? ASSAY_F64 : ASSAY_F32, magnitude, what, bounds, i);
}
