/* The functions that the special function unit approximates: here the host's fp64 function, rounded
 * to fp32 once more. */
#ifndef ASSAY_SIM_PTX_DEVICE_APPROXIMATE_H
#define ASSAY_SIM_PTX_DEVICE_APPROXIMATE_H

#include "sim/ptx/device/small.h"

INLINE float approximate(double v) {
    return nan32((float)v);
}
#define ex2_approx(a)   approximate(__builtin_exp2((double)(a)))
#define lg2_approx(a)   approximate(__builtin_log2((double)(a)))
#define sin_approx(a)   approximate(__builtin_sin((double)(a)))
#define cos_approx(a)   approximate(__builtin_cos((double)(a)))
#define tanh_approx(a)  approximate(__builtin_tanh((double)(a)))
#define rcp_approx(a)   approximate(1.0 / (double)(a))
#define rsqrt_approx(a) approximate(1.0 / __builtin_sqrt((double)(a)))
#define sqrt_approx(a)  approximate(__builtin_sqrt((double)(a)))

/* The upper 32 bits of the result; the lower ones are zero (PTX ISA, rcp.approx.ftz.f64). */
INLINE double upper(double v) {
    return double_of(bits64(v) & UINT64_C(0xffffffff00000000));
}

#endif
