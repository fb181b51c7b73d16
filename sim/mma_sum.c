#include "sim/mma_sum.h"

#include <math.h>
#include <string.h>

enum { KEPT = 25, MOST_SHIFT = 31 };

/* Exponents of values that have none: zero lies below all numbers, and infinities and NaN above.
 * Sums of two of them are still told apart. */
enum { OF_ZERO = -(1 << 20), NOT_FINITE = 1 << 20 };

static const mma_format fp32 = {8, 23}, fp16 = {5, 10};

typedef mma_lanes lanes;
typedef int64_t longs __attribute__((vector_size(4 * 8)));
typedef uint64_t words __attribute__((vector_size(4 * 8)));
typedef double doubles __attribute__((vector_size(4 * 8)));
typedef int32_t four __attribute__((vector_size(4 * 4)));
typedef float floats __attribute__((vector_size(4 * 4)));

/* AddressSanitizer and UndefinedBehaviorSanitizer would look at each number by itself, which takes
 * three times as long; no index here depends on data. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))
#define INLINE    UNCHECKED __attribute__((always_inline)) static inline

INLINE lanes all(int32_t x) {
    return (lanes){0} + x;
}

/* Where the condition is -1, x; where it is 0, y. */
INLINE lanes pick(lanes condition, lanes x, lanes y) {
    return (condition & x) | (~condition & y);
}

INLINE lanes larger(lanes x, lanes y) {
    return pick(x > y, x, y);
}

/* ---- numbers ---- */

/* NOT_FINITE: the significand is 0 for a NaN, the sign of an infinity. */
typedef struct numbers {
    lanes significand, exponent;
} numbers;

INLINE numbers decode(lanes bits, mma_format f) {
    const int32_t mask = (1 << f.exponent_bits) - 1;
    const lanes field = bits >> f.fraction_bits & mask;
    const lanes fraction = bits & all((1 << f.fraction_bits) - 1);
    const lanes negative = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0;
    const lanes subnormal = field == 0, special = field == mask;
    const lanes size =
        pick(special, (fraction == 0) & 1, fraction + (~subnormal & all(1 << f.fraction_bits)));
    const lanes exponent = field + (subnormal & 1) - (mask >> 1);
    return (numbers){pick(negative, -size, size),
                     pick(special, all(NOT_FINITE), pick(size == 0, all(OF_ZERO), exponent))};
}

INLINE bool any(lanes condition) {
    longs halves;
    memcpy(&halves, &condition, sizeof halves);
    return (halves[0] | halves[1] | halves[2] | halves[3]) != 0;
}

UNCHECKED void mma_row_decode(mma_row *row, const uint32_t bits[MMA_K], mma_format f) {
    lanes special = {0};
    for (int32_t g = 0; g < MMA_K; g += MMA_COLUMNS) {
        lanes some;
        memcpy(&some, bits + g, sizeof some);
        const numbers n = decode(some, f);
        memcpy(row->significand + g, &n.significand, sizeof n.significand);
        memcpy(row->exponent + g, &n.exponent, sizeof n.exponent);
        special |= n.exponent == NOT_FINITE;
    }
    row->finite = !any(special);
    for (row->used = MMA_K; row->used > 0 && row->exponent[row->used - 1] == OF_ZERO;)
        --row->used;
}

UNCHECKED void mma_columns_decode(mma_columns *columns, const mma_lanes bits[MMA_K], mma_format f) {
    lanes special = {0};
    columns->used = 0;
    for (int32_t k = 0; k < MMA_K; ++k) {
        const numbers n = decode(bits[k], f);
        columns->significand[k] = n.significand;
        columns->exponent[k] = n.exponent;
        special |= n.exponent == NOT_FINITE;
        if (any(n.exponent != OF_ZERO))
            columns->used = k + 1;
    }
    columns->special = special;
}

/* ---- sums ---- */

/* x * 2^(up - down), cut toward zero. */
INLINE lanes scale(lanes x, int32_t up, lanes down) {
    const lanes sign = x >> 31,
                size = ((x ^ sign) - sign) << up >> pick(down < MOST_SHIFT, down, all(MOST_SHIFT));
    return (size ^ sign) - sign;
}

/* The products and the accumulators, each below 2^27, as multiples of 2^(largest - KEPT). */
typedef struct terms {
    lanes products, accumulators, largest;
} terms;

INLINE terms add_up(const mma_row *row, const mma_columns *columns, mma_format f, numbers c) {
    const int32_t k = row->used < columns->used ? row->used : columns->used;
    const int32_t up = KEPT - 2 * f.fraction_bits;
    terms t = {{0}, {0}, c.exponent};
    for (int32_t i = 0; i < k; ++i)
        t.largest = larger(t.largest, columns->exponent[i] + row->exponent[i]);
    for (int32_t i = 0; i < k; ++i)
        t.products += scale(columns->significand[i] * row->significand[i], up,
                            t.largest - columns->exponent[i] - row->exponent[i]);
    t.accumulators = scale(c.significand, KEPT - fp32.fraction_bits, t.largest - c.exponent);
    return t;
}

/* sum * 2^unit in fp32, toward zero. fp64 holds the number, in its normal range; bits that fp32 has
 * no place for are cut off it, more of them where the result is subnormal. */
INLINE floats round_toward_zero(doubles sum, four unit) {
    enum { FRACTION = 52, BIAS = 1023, SMALLEST_NORMAL = -126, MOST = 63 };
    const longs power = (__builtin_convertvector(unit, longs) + BIAS) << FRACTION;
    doubles factor;
    memcpy(&factor, &power, sizeof factor);
    doubles exact = sum * factor;
    words bits;
    memcpy(&bits, &exact, sizeof bits);
    const longs below = SMALLEST_NORMAL + BIAS - (longs)(bits >> FRACTION & 0x7ff);
    const longs lost = FRACTION - fp32.fraction_bits + (below & (below > 0));
    const words kept = (words)(lost <= FRACTION), shift = ((words)lost & kept) | (MOST & ~kept);
    bits = (bits >> shift << shift) & kept;
    memcpy(&exact, &bits, sizeof exact);
    return __builtin_convertvector(exact, floats);
}

/* Half of the terms. */
INLINE floats sums_of(const terms *t, int32_t half) {
    enum { LEAST = -1000 }; /* where there are only zeros */
    four products, accumulators, unit;
    const lanes units = larger(t->largest - KEPT, all(LEAST));
    memcpy(&products, (const four *)&t->products + half, sizeof products);
    memcpy(&accumulators, (const four *)&t->accumulators + half, sizeof accumulators);
    memcpy(&unit, (const four *)&units + half, sizeof unit);
    return round_toward_zero(__builtin_convertvector(products, doubles) +
                                 __builtin_convertvector(accumulators, doubles),
                             unit);
}

/* ---- what is not finite ---- */

static double value(int32_t significand, int32_t exponent, mma_format f) {
    if (exponent == NOT_FINITE)
        return significand == 0 ? NAN : significand * (double)INFINITY;
    return ldexp(significand, exponent - f.fraction_bits);
}

/* The sum where a factor or the accumulator is not finite: infinite or NaN, and fp64, which no
 * product of finite factors leaves, has the same one. */
static float sum_not_finite(const mma_row *row, const mma_columns *columns, int32_t column,
                            mma_format f, double c) {
    double sum = c;
    for (int32_t i = 0; i < MMA_K; ++i)
        sum += value(row->significand[i], row->exponent[i], f) *
               value(columns->significand[i][column], columns->exponent[i][column], f);
    if (!isnan(sum))
        return (float)sum;
    const uint32_t bits = 0x7fffffffu;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

/* ---- both ---- */

UNCHECKED void mma_add(const mma_row *row, const mma_columns *columns, mma_format f,
                       float c[MMA_COLUMNS]) {
    lanes bits;
    float sum[MMA_COLUMNS];
    memcpy(&bits, c, sizeof bits);
    const numbers from = decode(bits, fp32);
    const terms t = add_up(row, columns, f, from);
    const floats low = sums_of(&t, 0), high = sums_of(&t, 1);
    memcpy(sum, &low, sizeof low);
    memcpy(sum + MMA_COLUMNS / 2, &high, sizeof high);
    const lanes special = columns->special | (from.exponent == NOT_FINITE) | all(-!row->finite);
    if (any(special))
        for (int32_t i = 0; i < MMA_COLUMNS; ++i)
            if (special[i])
                sum[i] = sum_not_finite(row, columns, i, f, c[i]);
    memcpy(c, sum, sizeof sum);
}

/* sum * 2^unit in f16, to nearest even, as a float. */
static float round_to_f16(int64_t sum, int32_t unit) {
    enum { FRACTION = 10, SMALLEST = -24 };
    if (sum == 0)
        return 0.0f;
    const double exact = ldexp((double)sum, unit);
    const int32_t last = ilogb(exact) - FRACTION;
    const double place = ldexp(1.0, last > SMALLEST ? last : SMALLEST);
    const double rounded = nearbyint(exact / place) * place;
    return fabs(rounded) > 65504.0 ? copysignf(INFINITY, (float)sum) : (float)rounded;
}

static float float_of_f16(uint32_t bits) {
    const numbers n = decode(all((int32_t)bits), fp16);
    return n.exponent[0] == OF_ZERO ? copysignf(0.0f, (bits >> 15 & 1) != 0 ? -1.0f : 1.0f)
                                    : (float)value(n.significand[0], n.exponent[0], fp16);
}

/* Of a float that f16 has. */
static uint32_t f16_of(float v) {
    const uint32_t sign = signbit(v) ? 0x8000u : 0;
    const float size = fabsf(v);
    if (isnan(v))
        return 0x7fff;
    if (isinf(v))
        return sign | 0x7c00u;
    if (size < 0x1p-14f)
        return sign | (uint32_t)(size * 0x1p24f);
    const int32_t exponent = ilogbf(size);
    return sign | (((uint32_t)(exponent + 14) << 10) + (uint32_t)ldexpf(size, 10 - exponent));
}

UNCHECKED void mma_add_f16(const mma_row *row, const mma_columns *columns,
                           uint32_t c[MMA_COLUMNS]) {
    float from[MMA_COLUMNS];
    lanes bits;
    for (int32_t i = 0; i < MMA_COLUMNS; ++i)
        from[i] = float_of_f16(c[i]);
    memcpy(&bits, from, sizeof bits);
    const numbers accumulators = decode(bits, fp32);
    const terms t = add_up(row, columns, fp16, accumulators);
    const lanes special =
        columns->special | (accumulators.exponent == NOT_FINITE) | all(-!row->finite);
    for (int32_t i = 0; i < MMA_COLUMNS; ++i) {
        const int64_t sum = (int64_t)t.products[i] + t.accumulators[i];
        c[i] = f16_of(special[i] ? sum_not_finite(row, columns, i, fp16, from[i])
                                 : round_to_f16(sum, t.largest[i] - KEPT));
    }
}
