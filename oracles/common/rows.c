#include "oracles/common/rows.h"

#include <math.h>
#include <stdio.h>

int64_t rows_count(const assay_params *params) {
    const assay_param *n = assay_params_find(params, "n");
    int64_t rows = 1;
    for (int32_t i = 0; i < n->count; ++i)
        rows *= n->value[i];
    return rows;
}

assay_status rows_legal(const char *op, const assay_params *params) {
    const assay_param *n = assay_params_find(params, "n");
    if (n->count >= ASSAY_MAX_RANK)
        return assay_fail(ASSAY_ERR_USAGE, "%s: n has %d axes; at most %d are possible", op,
                          n->count, ASSAY_MAX_RANK - 1);
    /* Empty axes count as 1, so that no product of the others overflows on its way. */
    double elements = fmax(1, (double)assay_params_int(params, "d"));
    for (int32_t i = 0; i < n->count; ++i)
        elements *= fmax(1, (double)n->value[i]);
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: a tensor would have %.3g elements; make n or d smaller", op,
                          elements);
    return ASSAY_OK;
}

assay_tensor_spec rows_spec(const char *name, const assay_params *params) {
    const assay_param *n = assay_params_find(params, "n");
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = n->count + 1,
                              .inner = 1,
                              .scale = 1,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    for (int32_t i = 0; i < n->count; ++i)
        spec.shape[i] = n->value[i];
    spec.shape[n->count] = assay_params_int(params, "d");
    return spec;
}
