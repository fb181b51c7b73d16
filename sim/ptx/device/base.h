/* Bits, NaNs, subnormals and saturation. */
#ifndef ASSAY_SIM_PTX_DEVICE_BASE_H
#define ASSAY_SIM_PTX_DEVICE_BASE_H

#include "sim/ptx/device/context.h"

#define INLINE static inline __attribute__((always_inline, unused))
#define PLAIN  static __attribute__((unused))

typedef unsigned __int128 ptx_u128;

INLINE uint32_t bits32(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
INLINE float float_of(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
INLINE uint64_t bits64(double value) {
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
INLINE double double_of(uint64_t bits) {
    double value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* Arithmetic in fp32 gives one NaN only (PTX ISA, "Floating Point Instructions"). */
INLINE float nan32(float value) {
    return __builtin_expect(value == value, 1) ? value : float_of(0x7fffffffu);
}

/* A subnormal becomes a zero of its sign. */
INLINE float ftz(float value) {
    return (bits32(value) & 0x7f800000u) != 0 ? value : float_of(bits32(value) & 0x80000000u);
}

/* To [0, 1]; a NaN to +0. */
INLINE float sat32(float value) {
    return value > 0.0f ? value < 1.0f ? value : 1.0f : 0.0f;
}
INLINE double sat64(double value) {
    return value > 0.0 ? value < 1.0 ? value : 1.0 : 0.0;
}

#endif
