/*
 * Formats of less than 32 bits. Arithmetic goes through fp64, where every operation on them is
 * exact or rounded to odd, and is rounded once.
 */
#ifndef ASSAY_SIM_PTX_DEVICE_SMALL_H
#define ASSAY_SIM_PTX_DEVICE_SMALL_H

#include "sim/ptx/device/round.h"

typedef struct small_format {
    int32_t exponent, fraction; /* bits */
    uint32_t infinity, largest, nan;
} small_format;

static const small_format F16 __attribute__((unused)) = {5, 10, 0x7c00, 0x7bff, 0x7fff};
static const small_format BF16 __attribute__((unused)) = {8, 7, 0x7f80, 0x7f7f, 0x7fff};
static const small_format TF32 __attribute__((unused)) = {8, 10, 0x3fc00, 0x3fbff, 0x3ffff};
static const small_format E5M2 __attribute__((unused)) = {5, 2, 0x7c, 0x7b, 0x7f};
/* No infinity: a value that rounds beyond the largest number becomes NaN, or the largest. */
static const small_format E4M3 __attribute__((unused)) = {4, 3, 0x7f, 0x7e, 0x7f};

/* `finite`: a value that is too large becomes the largest number. */
PLAIN uint32_t narrow(double v, small_format f, ptx_rounding mode, bool finite) {
    const uint64_t bits = bits64(v), size = bits & ~(UINT64_C(1) << 63);
    const uint32_t sign = (uint32_t)(bits >> 63) << (f.exponent + f.fraction);
    const bool minus = bits >> 63 != 0;
    if (v != v)
        return f.nan;
    if (size == 0)
        return sign;
    const int32_t exponent = (int32_t)(size >> 52) - 1023;
    const int32_t smallest = 2 - (1 << (f.exponent - 1));
    const int32_t lost = (exponent < smallest ? smallest - exponent : 0) + 52 - f.fraction;
    const int32_t shift = lost < 62 ? lost : 62;
    const uint64_t whole = (size & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const uint64_t rest = whole & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    uint64_t kept = whole >> shift;
    if (mode == RN)
        kept += rest > half || (rest == half && (kept & 1) != 0);
    else if (mode == RNA)
        kept += rest >= half;
    else
        kept += rest != 0 && mode == (minus ? RM : RP);
    uint64_t code = kept;
    if (exponent >= smallest)
        code += ((uint64_t)(exponent - smallest + 1) << f.fraction) - (UINT64_C(1) << f.fraction);
    if (code > f.largest) {
        const bool held = mode == RZ || mode == (minus ? RP : RM);
        const bool infinite = size == UINT64_C(0x7ff0000000000000);
        code = finite || (held && !infinite) ? f.largest : f.infinity;
    }
    return (uint32_t)code | sign;
}

PLAIN double widen(uint32_t bits, small_format f) {
    const uint32_t size = bits & ((1u << (f.exponent + f.fraction)) - 1);
    const uint32_t field = size >> f.fraction, fraction = size & ((1u << f.fraction) - 1);
    const double sign = (bits >> (f.exponent + f.fraction) & 1) != 0 ? -1.0 : 1.0;
    if (size == f.infinity && f.infinity != f.nan)
        return sign * __builtin_inf();
    if (size > f.largest)
        return __builtin_nan("");
    const int32_t bias = (1 << (f.exponent - 1)) - 1;
    const int32_t exponent = (field == 0 ? 1 : (int32_t)field) - bias - f.fraction;
    const double power = double_of((uint64_t)(exponent + 1023) << 52);
    return sign * (double)(field == 0 ? fraction : fraction | 1u << f.fraction) * power;
}

/* A NaN of fp64 keeps its sign and the upper bits behind it. */
PLAIN uint32_t narrow_f64(double v, small_format f, ptx_rounding mode, bool finite) {
    const uint64_t bits = bits64(v);
    if (v == v)
        return narrow(v, f, mode, finite);
    return (uint32_t)(bits >> 63) << (f.exponent + f.fraction) | f.infinity |
           (uint32_t)(bits >> (52 - f.fraction) & ((1u << f.fraction) - 1)) |
           1u << (f.fraction - 1);
}

/* The two that kernels use most, without the general way's steps. */
INLINE float float_of_bf16(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}
PLAIN float float_of_f16(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
    if (size >= 0x7c00u) /* a NaN keeps its bits */
        return float_of(sign | 0x7f800000u | (size & 0x3ffu) << 13);
    if (size >= 0x0400u)
        return float_of(sign | ((size << 13) + (112u << 23)));
    return float_of(sign | bits32((float)size * 0x1p-24f));
}
PLAIN uint16_t bf16_of(float value) {
    const uint32_t bits = bits32(value);
    return value != value ? 0x7fff : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
PLAIN uint16_t f16_of(float value) {
    const uint32_t bits = bits32(value), size = bits & 0x7fffffffu;
    if (size >= 0x38800000u && size < 0x477ff000u) /* normal, and not rounded to infinity */
        return (uint16_t)((bits >> 16 & 0x8000u) |
                          ((size - (112u << 23) + 0xfffu + (size >> 13 & 1)) >> 13));
    return (uint16_t)narrow((double)value, F16, RN, false);
}

/* a + b, a b, a b + c, the smaller, the larger, of one format; `ftz` and `sat` as PTX has them. */
#define SMALL_ARITHMETIC(name, format, to_wide)                                                    \
    INLINE double wide_##name(uint16_t a, bool flush) {                                            \
        const double v = (double)to_wide(a);                                                       \
        const uint32_t field = a >> format.fraction & ((1u << format.exponent) - 1);               \
        return flush && field == 0 ? __builtin_copysign(0.0, v) : v;                               \
    }                                                                                              \
    PLAIN uint16_t out_##name(double v, bool flush, bool sat, bool relu) {                         \
        if (sat)                                                                                   \
            v = sat64(v);                                                                          \
        if (relu && v == v)                                                                        \
            v = v > 0 ? v : 0;                                                                     \
        if (flush && __builtin_fabs(v) < 0x1.ffep-15) /* below 2^-14 before it is cut to bits */   \
            return v == v && (bits64(v) >> 63) != 0 ? 0x8000 : 0;                                  \
        const uint32_t r = narrow(v, format, RN, false);                                           \
        const uint32_t field = r >> format.fraction & ((1u << format.exponent) - 1);               \
        return (uint16_t)(flush && field == 0 ? r & 0x8000u : r);                                  \
    }                                                                                              \
    PLAIN uint16_t add_##name(uint16_t a, uint16_t b, bool flush, bool sat) {                      \
        return out_##name(odd_sum(wide_##name(a, flush), wide_##name(b, flush), RN), flush, sat,   \
                          false);                                                                  \
    }                                                                                              \
    PLAIN uint16_t sub_##name(uint16_t a, uint16_t b, bool flush, bool sat) {                      \
        return out_##name(odd_sum(wide_##name(a, flush), -wide_##name(b, flush), RN), flush, sat,  \
                          false);                                                                  \
    }                                                                                              \
    PLAIN uint16_t mul_##name(uint16_t a, uint16_t b, bool flush, bool sat) {                      \
        return out_##name(wide_##name(a, flush) * wide_##name(b, flush), flush, sat, false);       \
    }                                                                                              \
    PLAIN uint16_t fma_##name(uint16_t a, uint16_t b, uint16_t c, bool flush, bool sat,            \
                              bool relu) {                                                         \
        const double product = wide_##name(a, flush) * wide_##name(b, flush);                      \
        return out_##name(odd_sum(product, wide_##name(c, flush), RN), flush, sat, relu);          \
    }                                                                                              \
    PLAIN uint16_t choose_##name(uint16_t a, uint16_t b, bool larger, bool flush, bool nan,        \
                                 bool xorsign) {                                                   \
        const uint16_t sign = xorsign ? (a ^ b) & 0x8000 : 0, size = xorsign ? 0x7fff : 0xffff;    \
        const float r = choose_f32((float)wide_##name(a & size, flush),                            \
                                   (float)wide_##name(b & size, flush), larger, nan, false);       \
        return (uint16_t)(narrow((double)r, format, RN, false) | (r == r ? sign : 0));             \
    }                                                                                              \
    INLINE uint16_t neg_##name(uint16_t a, bool flush) {                                           \
        const double v = wide_##name(a, flush);                                                    \
        return v != v ? 0x7fff : (uint16_t)narrow(-v, format, RN, false);                          \
    }                                                                                              \
    INLINE uint16_t abs_##name(uint16_t a, bool flush) {                                           \
        return neg_##name(a, flush) == 0x7fff ? 0x7fff                                             \
                                              : (uint16_t)(neg_##name(a, flush) & 0x7fff);         \
    }
SMALL_ARITHMETIC(f16, F16, float_of_f16)
SMALL_ARITHMETIC(bf16, BF16, float_of_bf16)

/* A pair in a word: an operation on both halves. */
#define HALF(word, i)   ((uint16_t)((word) >> 16 * (i)))
#define BOTH(low, high) ((uint32_t)(uint16_t)(low) | (uint32_t)(uint16_t)(high) << 16)

#endif
