/*
 * The unit interpolates (S. F. Oberman and M. Y. Siu, "A high-performance area-efficient
 * multifunction interpolator", ARITH 2005): a segment of inputs has a quadratic
 *   c0 + c1 x + c2 x^2
 * in fixed point, x being the 17 bits below those that choose the segment. The square alone is
 * truncated, column by column; the sum is exact, and its first 24 bits are the result.
 */
#include "sim/sfu/sfu.h"

#include "sim/sfu/interpolate.h"
#include "sim/sfu/tables.h"

#include <math.h>
#include <string.h>

#define SIGN     UINT32_C(0x80000000)
#define INFINITE UINT32_C(0x7f800000)
#define NOT_ONE  UINT32_C(0x7fffffff) /* the only NaN that the unit gives */
#define ONE      UINT32_C(0x3f800000)

enum { MANTISSA = 23, BIAS = 127, POINT = SFU_POINT, LOW = (1 << 17) - 1 };

static uint32_t bits(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}
static float number(uint32_t word) {
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* The result of arithmetic, which makes one NaN of all. */
static uint32_t result(float value) {
    return value == value ? bits(value) : NOT_ONE;
}

static uint32_t mantissa(uint32_t x) {
    return x & 0x7fffff;
}
static int32_t exponent(uint32_t x) {
    return (int32_t)(x >> MANTISSA & 255);
}

/* With POINT bits behind the point. `rounding`: what the unit adds to each sum of a function. */
static int64_t interpolate(const sfu_segment *c, uint32_t x, int32_t rounding) {
    return (int64_t)c->c0 * (1 << 15) + (int64_t)c->c1 * x + 4 * c->c2 * sfu_square(x) + rounding;
}

/* sum 2^(e - point), cut to 24 bits; a result below the smallest normal number is zero. */
static uint32_t cut(int64_t sum, int32_t point, int32_t e) {
    if (sum == 0)
        return 0;
    const int32_t top = 63 - __builtin_clzll((uint64_t)sum);
    const int32_t biased = top - point + e + BIAS;
    const uint64_t m =
        top > MANTISSA ? (uint64_t)sum >> (top - MANTISSA) : (uint64_t)sum << (MANTISSA - top);
    return biased <= 0     ? 0
           : biased >= 255 ? INFINITE
                           : (uint32_t)biased << MANTISSA | mantissa((uint32_t)m);
}

/* ---- the unit's functions */

static uint32_t rcp(uint32_t x) {
    const uint32_t m = mantissa(x), sign = x & SIGN;
    const int32_t e = exponent(x);
    if (e == 255)
        return m != 0 ? NOT_ONE : sign;
    if (e == 0)
        return sign | INFINITE;
    return sign | cut(interpolate(&sfu_rcp_segments[m >> 16], m << 1 & LOW, SFU_RCP_ROUNDING),
                      POINT, BIAS - e);
}

/* For both roots: true when the result is `*special`; otherwise x = 4^*half times a number in
 * [1, 4), whose segment of 128 is `*segment`. */
static bool root_is_special(uint32_t x, uint32_t of_zero, uint32_t of_infinity, uint32_t *special,
                            uint32_t *segment, int32_t *half) {
    const int32_t e = exponent(x);
    const bool odd = (e & 1) == 0;
    *half = (e - BIAS - odd) / 2;
    *segment = (uint32_t)odd << 6 | mantissa(x) >> 17;
    *special = e == 0 ? of_zero : of_infinity;
    if (e != 0 && ((x & SIGN) != 0 || (e == 255 && mantissa(x) != 0)))
        *special = NOT_ONE;
    return e == 0 || e == 255 || (x & SIGN) != 0;
}

static uint32_t rsqrt(uint32_t x) {
    uint32_t special, segment;
    int32_t half;
    if (root_is_special(x, (x & SIGN) | INFINITE, 0, &special, &segment, &half))
        return special;
    if (segment == 0 && mantissa(x) == 0)
        return (uint32_t)(BIAS - half) << MANTISSA;
    return cut(interpolate(&sfu_rsqrt_segments[segment], x & LOW, SFU_ROOT_ROUNDING), POINT, -half);
}

static uint32_t root(uint32_t x) {
    uint32_t special, segment;
    int32_t half;
    if (root_is_special(x, x & SIGN, INFINITE, &special, &segment, &half))
        return special;
    return cut(interpolate(&sfu_sqrt_segments[segment], x & LOW, SFU_ROOT_ROUNDING), POINT, half);
}

/* The logarithm keeps 36 bits behind the point, and negates by inverting all bits. */
static uint32_t lg2(uint32_t x) {
    const uint32_t m = mantissa(x);
    const int32_t e = exponent(x), dropped = POINT - SFU_LG2_POINT;
    if (e == 0)
        return SIGN | INFINITE;
    if ((x & SIGN) != 0 || (e == 255 && m != 0))
        return NOT_ONE;
    if (e == 255 || x == ONE)
        return e == 255 ? INFINITE : 0;
    const int64_t sum = (e - BIAS) * (INT64_C(1) << POINT) +
                        interpolate(&sfu_lg2_segments[m >> 17], m & LOW, SFU_LG2_ROUNDING);
    return sum < 0 ? SIGN | cut(~sum >> dropped, SFU_LG2_POINT, 0)
                   : cut(sum >> dropped, SFU_LG2_POINT, 0);
}

/* The exponent's fraction is cut to 23 bits; it negates numbers that are no integers by inverting
 * all bits. */
static uint32_t ex2(uint32_t x) {
    const int32_t e = exponent(x), shift = e - BIAS;
    const bool negative = (x & SIGN) != 0;
    if (e == 255 && mantissa(x) != 0)
        return NOT_ONE;
    if (shift >= 7)
        return negative ? 0 : INFINITE;
    const int32_t m = (int32_t)(mantissa(x) | 1 << MANTISSA);
    int32_t fixed = shift >= 0 ? m << shift : shift > -24 ? m >> -shift : 0;
    if (negative)
        fixed = mantissa((uint32_t)fixed) != 0 ? ~fixed : -fixed;
    const uint32_t fraction = mantissa((uint32_t)fixed);
    return cut((INT64_C(1) << POINT) +
                   interpolate(&sfu_ex2_segments[fraction >> 17], fraction & LOW, SFU_EX2_ROUNDING),
               POINT, fixed >> MANTISSA);
}

/* x / 2 pi, rounded toward zero, and then cut to 25 bits behind the point: turns, but for whole
 * ones. */
static uint32_t turns(uint32_t x) {
    const uint64_t reciprocal = 0xa2f983; /* 0.159154937, 2^-26 of this */
    uint64_t product = (mantissa(x) | 1 << MANTISSA) * reciprocal;
    int32_t e = exponent(x) - BIAS - MANTISSA - 26; /* of the product's unit */
    while (product >> 24 != 0) {
        product >>= 1;
        ++e;
    }
    e += 25;
    if (exponent(x) == 0 || e <= -24 || e >= 25)
        return 0;
    return (uint32_t)(e < 0 ? product >> -e : product << e) & 0x1ffffff;
}

/* The first quarter of a turn is in the table; the second and fourth are it backwards: inverted. */
static uint32_t sine(uint32_t turn, uint32_t sign) {
    uint32_t quarter = mantissa(turn);
    const bool backwards = (turn >> 23 & 1) != 0;
    sign ^= turn >> 24 << 31;
    if (quarter == 0)
        return backwards ? sign | ONE : sign;
    if (backwards)
        quarter = mantissa(~quarter);
    return sign | cut(interpolate(&sfu_sin_segments[quarter >> 17], quarter & LOW, 0), POINT, 0);
}

static uint32_t tanh_(uint32_t x) {
    const int32_t e = exponent(x), first = BIAS - 8;
    const uint32_t sign = x & SIGN;
    if (e == 255 && mantissa(x) != 0)
        return NOT_ONE;
    if (e < first)
        return x;
    if (e >= first + SFU_TANH_BINADES)
        return sign | ONE;
    const uint32_t m = mantissa(x) >> sfu_tanh_binades[e - first].unused;
    return sign | cut(interpolate(&sfu_tanh_segments[sfu_tanh_binades[e - first].first + (m >> 17)],
                                  m & LOW, 0),
                      POINT, 0);
}

static uint32_t unit(sfu_function f, uint32_t x) {
    switch (f) {
    case SFU_EX2:
        return ex2(x);
    case SFU_LG2:
        return lg2(x);
    case SFU_RCP:
        return rcp(x);
    case SFU_RSQRT:
        return rsqrt(x);
    case SFU_SQRT:
        return root(x);
    case SFU_SIN:
        return exponent(x) == 255 ? NOT_ONE : sine(turns(x), x & SIGN);
    case SFU_COS:
        return exponent(x) == 255 ? NOT_ONE : sine((turns(x) + (1 << 23)) & 0x1ffffff, 0);
    default:
        return tanh_(x);
    }
}

/* ---- what ptxas makes of it, as cuobjdump shows it */

static const float tiny = 0x1p-126f, up = 0x1p24f;

uint32_t sfu_f32(sfu_function f, uint32_t x, bool ftz) {
    const float a = number(x);
    const bool subnormal = fabsf(a) < tiny;
    if (ftz || f == SFU_SIN || f == SFU_COS || f == SFU_TANH)
        return unit(f, x);
    switch (f) {
    case SFU_EX2:
        if (!(a < -126.0f))
            return unit(f, x);
        const float half = number(unit(f, result(a * 0.5f)));
        return result(half * half);
    case SFU_RCP: {
        const float by = fabsf(a) > 0x1p126f ? 0.25f : subnormal ? up : 1.0f;
        return result(by * number(unit(f, result(a * by))));
    }
    default: {
        const uint32_t r = unit(f, subnormal ? result(a * up) : x);
        if (!subnormal)
            return r;
        const float back = number(r);
        return result(f == SFU_LG2    ? back - 24.0f
                      : f == SFU_SQRT ? back * 0x1p-12f
                                      : back * 0x1p12f);
    }
    }
}

static float flushed(float value, bool ftz) {
    return ftz && fabsf(value) < tiny ? copysignf(0.0f, value) : value;
}

uint32_t sfu_divide(uint32_t a, uint32_t b, bool full, bool ftz) {
    float x = flushed(number(a), ftz), y = flushed(number(b), ftz);
    const bool small = !ftz && fabsf(y) < tiny;
    if (full && fabsf(y) > 0x1p126f) {
        y = flushed(y * 0.25f, ftz);
        x = flushed(x * 0.25f, ftz);
    }
    if (small) {
        y *= up;
        x *= up;
    }
    return result(flushed(number(unit(SFU_RCP, result(y))) * x, ftz));
}

/* The tables of fp32, from 20 bits of the mantissa and to as many. */
uint32_t sfu_f64(sfu_function f, uint32_t upper) {
    const uint32_t sign = upper & SIGN, m = upper & 0xfffff;
    const int32_t e = (int32_t)(upper >> 20 & 2047);
    if (e == 0)
        return sign | 0x7ff00000;
    if ((e == 2047 && m != 0) || (f == SFU_RSQRT && sign != 0))
        return NOT_ONE;
    if (e == 2047)
        return sign;
    const bool odd = f == SFU_RSQRT && (e & 1) == 0;
    const uint32_t r = unit(f, (uint32_t)(BIAS + odd) << MANTISSA | m << 3);
    const int32_t by = f == SFU_RSQRT ? (e - 1023 - odd) / 2 : e - 1023;
    const int32_t biased = exponent(r) - BIAS + 1023 - by;
    return biased <= 0 ? sign : sign | (uint32_t)biased << 20 | mantissa(r) >> 3;
}

static double word_pair(uint64_t word) {
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

double sfu_rsqrt_f64(double x) {
    uint64_t word;
    if (x != x)
        return x + x;
    if (x < 0.0)
        return word_pair(UINT64_C(0xfff8) << 48);
    const bool subnormal = x < 0x1p-1022 && x != 0.0;
    x = subnormal ? x * 0x1p54 : x;
    memcpy(&word, &x, sizeof word);
    const double y = word_pair((uint64_t)sfu_f64(SFU_RSQRT, (uint32_t)(word >> 32)) << 32);
    if (x == 0.0 || x > 0x1.fffffffffffffp1023)
        return y;
    const double e = fma(x, -(y * y), 1.0);
    const double better = fma(fma(e, 0.375, 0.5), y * e, y);
    return subnormal ? better * 0x1p27 : better;
}
