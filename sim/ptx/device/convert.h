/* cvt. */
#ifndef ASSAY_SIM_PTX_DEVICE_CONVERT_H
#define ASSAY_SIM_PTX_DEVICE_CONVERT_H

#include "sim/ptx/device/small.h"

/* A number that is whole already, to an integer. A number that is too large becomes the largest; a
 * NaN becomes 0, or the highest bit alone where either side has 64 bits (PTX ISA, cvt). */
#define TO_INTEGER(type, c, low, high)                                                             \
    INLINE c to_##type(double v, bool wide) {                                                      \
        if (v != v)                                                                                \
            return (c)(wide ? (uint64_t)1 << (8 * sizeof(c) - 1) : 0);                             \
        return v <= (double)(low) ? (low) : v >= (double)(high) ? (high) : (c)v;                   \
    }
TO_INTEGER(s8, int8_t, INT8_MIN, INT8_MAX)
TO_INTEGER(u8, uint8_t, 0, UINT8_MAX)
TO_INTEGER(s16, int16_t, INT16_MIN, INT16_MAX)
TO_INTEGER(u16, uint16_t, 0, UINT16_MAX)
TO_INTEGER(s32, int32_t, INT32_MIN, INT32_MAX)
TO_INTEGER(u32, uint32_t, 0, UINT32_MAX)
TO_INTEGER(s64, int64_t, INT64_MIN, INT64_MAX)
TO_INTEGER(u64, uint64_t, 0, UINT64_MAX)

#define WITHIN(type, c, low, high)                                                                 \
    INLINE c within_##type(__int128 v) {                                                           \
        return (c)(v < (low) ? (low) : v > (high) ? (high) : v);                                   \
    }
WITHIN(s8, int8_t, INT8_MIN, INT8_MAX)
WITHIN(u8, uint8_t, 0, UINT8_MAX)
WITHIN(s16, int16_t, INT16_MIN, INT16_MAX)
WITHIN(u16, uint16_t, 0, UINT16_MAX)
WITHIN(s32, int32_t, INT32_MIN, INT32_MAX)
WITHIN(u32, uint32_t, 0, UINT32_MAX)
WITHIN(s64, int64_t, INT64_MIN, INT64_MAX)
WITHIN(u64, uint64_t, 0, UINT64_MAX)

/* An integer as fp64, rounded to odd. */
PLAIN double odd_of(__int128 v) {
    const double nearest = (double)v;
    const __int128 rest = v - (__int128)nearest;
    return to_odd(nearest, (double)rest);
}
/* An integer, or the number that odd_of() made of it, as fp64 in any mode. */
PLAIN double to_double(__int128 v, ptx_rounding mode) {
    double nearest = (double)v;
    const __int128 back = (__int128)nearest;
    const bool down = mode == RM || (mode == RZ && v > 0), up = mode == RP || (mode == RZ && v < 0);
    if (mode != RN && back != v && ((down && back > v) || (up && back < v)))
        nearest = double_of(bits64(nearest) + (down == (v > 0) ? -1ull : 1ull));
    return nearest;
}

/* To a whole number. */
INLINE double whole(double v, ptx_rounding mode) {
    switch (mode) {
    case RZ:
        return __builtin_trunc(v);
    case RM:
        return __builtin_floor(v);
    case RP:
        return __builtin_ceil(v);
    default:
        return __builtin_nearbyint(v);
    }
}

/* -0 and all below become +0; a NaN stays. */
INLINE double relu(double v) {
    return v <= 0 ? 0.0 : v;
}

/* 19 bits of an fp32 number, where fp32 has them. */
PLAIN uint32_t tf32_of(float v, ptx_rounding mode, bool finite) {
    if (v != v)
        return mode == RNA ? bits32(v) & 0xffffe000u : 0x7fffe000u;
    return narrow((double)v, TF32, mode, finite) << 13;
}

#endif
