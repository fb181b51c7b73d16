/* The functions that the special function unit approximates: the runtime has its tables (sim/sfu/).
 */
#ifndef ASSAY_SIM_PTX_DEVICE_APPROXIMATE_H
#define ASSAY_SIM_PTX_DEVICE_APPROXIMATE_H

#include "sim/ptx/device/small.h"

#define mufu(f, a, ftz)          float_of(x->approximate(f, bits32(a), ftz))
#define mufu_division(a, b, ...) float_of(x->divide(bits32(a), bits32(b), __VA_ARGS__))
#define mufu_f64(f, a)           double_of((uint64_t)x->approximate_f64(f, (uint32_t)(bits64(a) >> 32)) << 32)
#define mufu_f16(f, a)           cut_f16(x->approximate(f, bits32((float)wide_f16(a, false)), true))
#define mufu_bf16(f, a)          (uint16_t)(x->approximate(f, (uint32_t)(a) << 16, true) >> 16)

/* The 16-bit forms are those of fp32, cut. */
PLAIN uint16_t cut_f16(uint32_t bits) {
    const float v = float_of(bits);
    return (uint16_t)narrow(v < 65536.0f || v != v ? v : __builtin_inf(), F16, RZ, false);
}

#endif
