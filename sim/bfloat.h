/*
 * __nv_bfloat16 and __half with CUDA's conversions, bit for bit: to nearest even, subnormals kept,
 * every NaN that is narrowed becomes 0x7fff (PTX ISA, cvt). There is no arithmetic on them: kernels
 * widen, compute and narrow.
 */
#ifndef ASSAY_SIM_BFLOAT_H
#define ASSAY_SIM_BFLOAT_H

#include "sim/vector.h"

struct __nv_bfloat16 {
    unsigned short bits;
};
struct __half {
    unsigned short bits;
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
struct alignas(4) __half2 {
    __half x, y;
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __half half;
typedef __half2 half2;

SIM_INLINE uint32_t sim_float_bits(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
SIM_INLINE float sim_float_of(uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/* `bits` without its low `n`, rounded to nearest even; a carry moves on into the exponent, from the
 * largest finite value to infinity. */
SIM_INLINE uint32_t sim_cut(uint32_t bits, uint32_t n) {
    uint32_t half = 1u << (n - 1);
    return (bits + half - 1 + (bits >> n & 1)) >> n;
}

/* The float beside `value` whose last bit is set unless it is exact: rounding it once more, to
 * fewer bits, gives the same as rounding `value` itself (Boldo and Melquiond, 2008). */
SIM_INLINE float sim_round_to_odd(double value) {
    float nearest = (float)value;
    if ((double)nearest == value || value != value)
        return nearest;
    uint32_t bits = sim_float_bits(nearest);
    double size = value < 0 ? -value : value;
    if ((double)sim_float_of(bits & 0x7fffffffu) > size)
        --bits;
    return sim_float_of(bits | 1u | (value < 0 ? 0x80000000u : 0u));
}

SIM_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    return {bits};
}
SIM_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
    return value.bits;
}
SIM_INLINE __nv_bfloat16 __short_as_bfloat16(short bits) {
    return {(unsigned short)bits};
}
SIM_INLINE short __bfloat16_as_short(__nv_bfloat16 value) {
    return (short)value.bits;
}
SIM_INLINE __nv_bfloat16 __float2bfloat16_rn(float value) {
    if (value != value)
        return {0x7fff};
    return {(unsigned short)sim_cut(sim_float_bits(value), 16)};
}
SIM_INLINE __nv_bfloat16 __float2bfloat16(float value) {
    return __float2bfloat16_rn(value);
}
SIM_INLINE __nv_bfloat16 __double2bfloat16(double value) {
    return __float2bfloat16_rn(sim_round_to_odd(value));
}
SIM_INLINE float __bfloat162float(__nv_bfloat16 value) {
    return sim_float_of((uint32_t)value.bits << 16);
}

SIM_INLINE __half __ushort_as_half(unsigned short bits) {
    return {bits};
}
SIM_INLINE unsigned short __half_as_ushort(__half value) {
    return value.bits;
}
SIM_INLINE __half __short_as_half(short bits) {
    return {(unsigned short)bits};
}
SIM_INLINE short __half_as_short(__half value) {
    return (short)value.bits;
}
SIM_INLINE __half __float2half_rn(float value) {
    uint32_t bits = sim_float_bits(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return {0x7fff};
    if (size >= 0x47800000u) /* 2^16 and more */
        return {(unsigned short)(sign | 0x7c00u)};
    if (size >= 0x38800000u) /* 2^-14, the smallest normal: the exponent's bias goes 127 to 15 */
        return {(unsigned short)(sign | sim_cut(size - (112u << 23), 13))};
    /* Adding 1/2 leaves a multiple of 2^-24, the smallest subnormal, rounded to nearest even. */
    uint32_t sum = sim_float_bits(sim_float_of(size) + 0.5f);
    return {(unsigned short)(sign | (sum - 0x3f000000u))};
}
SIM_INLINE __half __float2half(float value) {
    return __float2half_rn(value);
}
SIM_INLINE __half __double2half(double value) {
    return __float2half_rn(sim_round_to_odd(value));
}
SIM_INLINE float __half2float(__half value) {
    uint32_t sign = (uint32_t)(value.bits & 0x8000u) << 16, size = value.bits & 0x7fffu;
    if (size > 0x7c00u)
        return sim_float_of(0x7fffffffu);
    if (size == 0x7c00u)
        return sim_float_of(sign | 0x7f800000u);
    if (size >= 0x0400u)
        return sim_float_of(sign | ((size << 13) + (112u << 23)));
    /* A subnormal: `size` times 2^-24. */
    return sim_float_of(sign | sim_float_bits((float)size * 0x1p-24f));
}

/* The pairs' functions have the same names in CUDA but for the type's. */
#define SIM_PAIR(type, pair, make, from_float, to_float, low, high, lows, highs, pair_low,         \
                 pair_high, to_floats, from_floats, spread, halves)                                \
    SIM_INLINE pair make(type x, type y) {                                                         \
        return {x, y};                                                                             \
    }                                                                                              \
    SIM_INLINE pair halves(type x, type y) {                                                       \
        return {x, y};                                                                             \
    }                                                                                              \
    SIM_INLINE type low(pair v) {                                                                  \
        return v.x;                                                                                \
    }                                                                                              \
    SIM_INLINE type high(pair v) {                                                                 \
        return v.y;                                                                                \
    }                                                                                              \
    SIM_INLINE pair lows(pair v) {                                                                 \
        return {v.x, v.x};                                                                         \
    }                                                                                              \
    SIM_INLINE pair highs(pair v) {                                                                \
        return {v.y, v.y};                                                                         \
    }                                                                                              \
    SIM_INLINE float pair_low(pair v) {                                                            \
        return to_float(v.x);                                                                      \
    }                                                                                              \
    SIM_INLINE float pair_high(pair v) {                                                           \
        return to_float(v.y);                                                                      \
    }                                                                                              \
    SIM_INLINE float2 to_floats(pair v) {                                                          \
        return {to_float(v.x), to_float(v.y)};                                                     \
    }                                                                                              \
    SIM_INLINE pair from_floats(float2 v) {                                                        \
        return {from_float(v.x), from_float(v.y)};                                                 \
    }                                                                                              \
    SIM_INLINE pair spread(type v) {                                                               \
        return {v, v};                                                                             \
    }

SIM_PAIR(__nv_bfloat16, __nv_bfloat162, make_bfloat162, __float2bfloat16_rn, __bfloat162float,
         __low2bfloat16, __high2bfloat16, __low2bfloat162, __high2bfloat162, __low2float,
         __high2float, __bfloat1622float2, __float22bfloat162_rn, __bfloat162bfloat162,
         __halves2bfloat162)
SIM_PAIR(__half, __half2, make_half2, __float2half_rn, __half2float, __low2half, __high2half,
         __low2half2, __high2half2, __low2float, __high2float, __half22float2, __float22half2_rn,
         __half2half2, __halves2half2)
#undef SIM_PAIR

SIM_INLINE __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
SIM_INLINE __nv_bfloat162 __float2bfloat162_rn(float v) {
    return __floats2bfloat162_rn(v, v);
}
SIM_INLINE __half2 __floats2half2_rn(float x, float y) {
    return {__float2half_rn(x), __float2half_rn(y)};
}
SIM_INLINE __half2 __float2half2_rn(float v) {
    return __floats2half2_rn(v, v);
}

#endif
