/* Which of v3's kernels computes a call; the operator linear uses them as well. */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_DISPATCH_H
#define ASSAY_MATMUL_ACCUMULATE_V3_DISPATCH_H

#include "kernels/matmul_accumulate/v3_fma.h"
#include "kernels/matmul_accumulate/v3_multiply.h"

static const int32_t tiles[] = {LARGE, fma_large::rows, SMALL, fma_small::rows, SLICE_BYTES / 8, 0};

/* Calls `function<T, multiply>(call)` with the call's type and the product in its precision. */
#define MATMUL_V3_DISPATCH(function, call)                                                         \
    ((call)->params->dtype == ASSAY_F64 ? function<double, multiply<f64_core, double>>(call)       \
     : (call)->params->dtype == ASSAY_BF16                                                         \
         ? function<__nv_bfloat16, multiply<m16n8k16<__nv_bfloat16>::core, __nv_bfloat16>>(call)   \
     : (call)->params->dtype == ASSAY_F16                                                          \
         ? function<__half, multiply<m16n8k16<__half>::core, __half>>(call)                        \
     : (call)->params->math == ASSAY_TF32 ? function<float, multiply<tf32_core, float>>(call)      \
                                          : function<float, multiply_strictly>(call))

#endif
