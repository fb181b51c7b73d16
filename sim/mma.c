/*
 * The rule of Hopper's tensor cores, found by measuring an H200: an element of the result takes all
 * K products, which are exact, and the accumulator at once:
 *
 *   - the exponent of a product is the sum of its factors' exponents, also where the product of the
 *     significands is 2 or more; E is the largest exponent of the terms that are not zero;
 *   - each term is cut toward zero to a multiple of 2^(E - 25);
 *   - the terms are added exactly, and the sum is rounded toward zero to fp32.
 *
 * Sums in f16 are rounded to nearest even instead, once; of those below 2^-14 one in some thousands
 * is another one on an H200 (docs/ptx.md). TF32 operands are the upper 19 bits of
 * fp32 numbers. Integers are exact. An element of the products in f64 is a
 * chain of fused multiply-adds in ascending k.
 *
 * And (tests/sim/tensor_gpu.cu, no difference): a subnormal factor has the smallest exponent and a
 * significand below 1; a zero takes no part in E; a sum of zero is +0; subnormal results are kept;
 * a sum beyond fp32 becomes infinite; an invalid operation, or a NaN, gives the NaN 0x7fffffff. The
 * bits of a NaN in f64 are the host's.
 */
#include "sim/mma.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32, M = 16, N = 8, MAX_K = 16, KEPT = 25, MOST_SHIFT = 31 };

/* Exponents of values that have none: zero lies below all numbers, and infinities and NaN above.
 * Sums of two of them are still told apart. */
enum { OF_ZERO = -(1 << 20), NOT_FINITE = 1 << 20 };

typedef struct format {
    int32_t exponent_bits, fraction_bits;
} format;

static const format fp32 = {8, 23}, fp16 = {5, 10};

/* significand * 2^(exponent - fraction bits of its format). NOT_FINITE: the significand is 0 for a
 * NaN, the sign of an infinity. */
typedef struct number {
    int32_t significand, exponent;
} number;

/* What an element of the result takes of one side: a row of a, a column of b; zeros behind its last
 * k, so that products can be computed in groups. */
typedef struct side {
    int32_t significand[MAX_K], exponent[MAX_K];
    int32_t used; /* 1 + the last k whose number is not zero; 0: there is none */
    bool finite;
} side;

static inline number decode(uint32_t bits, format f) {
    const uint32_t mask = (1u << f.exponent_bits) - 1;
    const uint32_t field = bits >> f.fraction_bits & mask;
    const int32_t fraction = (int32_t)(bits & ((1u << f.fraction_bits) - 1));
    const int32_t sign = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0 ? -1 : 1;
    const int32_t size = fraction + (field == 0 ? 0 : 1 << f.fraction_bits);
    const int32_t exponent = (int32_t)(field == 0 ? 1 : field) - (int32_t)(mask >> 1);
    number n = {sign * size, size == 0 ? OF_ZERO : exponent};
    if (field == mask)
        n = (number){fraction == 0 ? sign : 0, NOT_FINITE};
    return n;
}

static void clear(side *s) {
    *s = (side){0};
    for (int32_t i = 0; i < MAX_K; ++i)
        s->exponent[i] = OF_ZERO;
}

static inline void put(side *s, int32_t k, number x) {
    s->significand[k] = x.significand;
    s->exponent[k] = x.exponent;
}

/* When all of its numbers are there. */
static void complete(side *s) {
    int32_t largest = OF_ZERO;
    for (int32_t i = 0; i < MAX_K; ++i)
        largest = s->exponent[i] > largest ? s->exponent[i] : largest;
    s->finite = largest != NOT_FINITE;
    for (s->used = MAX_K; s->used > 0 && s->exponent[s->used - 1] == OF_ZERO;)
        --s->used;
}

static double value(int32_t significand, int32_t exponent, format f) {
    if (exponent == NOT_FINITE)
        return significand == 0 ? NAN : significand * (double)INFINITY;
    return ldexp(significand, exponent - f.fraction_bits);
}

/* The sum where a factor or the accumulator is not finite: infinite or NaN, and fp64, which no
 * product of finite factors leaves, has the same one. */
static float sum_not_finite(int32_t k, const side *a, const side *b, format f, number c) {
    double sum = value(c.significand, c.exponent, fp32);
    for (int32_t i = 0; i < k; ++i)
        sum += value(a->significand[i], a->exponent[i], f) *
               value(b->significand[i], b->exponent[i], f);
    if (!isnan(sum))
        return (float)sum;
    const uint32_t bits = 0x7fffffffu;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

/* As many numbers as a vector register of the host holds. Loops of them run over whole groups of a
 * side's MAX_K numbers, and cannot leave it: AddressSanitizer and UndefinedBehaviorSanitizer would
 * look at each number by itself, which takes seven times as long. */
enum { GROUP = 8 };
#define IN_GROUPS __attribute__((no_sanitize("address", "undefined")))

/* x * 2^(up - down), cut toward zero. */
IN_GROUPS static inline int32_t scale(int32_t x, int32_t up, int32_t down) {
    const int32_t size = (x < 0 ? -x : x) << up >> (down < MOST_SHIFT ? down : MOST_SHIFT);
    return x < 0 ? -size : size;
}

/* sum * 2^unit in fp32, toward zero. fp64 holds the number, in its normal range; bits that fp32 has
 * no place for are cut off it, more of them where the result is subnormal. */
static inline float round_toward_zero(int64_t sum, int32_t unit) {
    enum { FRACTION = 52, BIAS = 1023, SMALLEST_NORMAL = -126 };
    if (sum == 0)
        return 0.0f;
    const uint64_t power = (uint64_t)(unit + BIAS) << FRACTION;
    double exact;
    memcpy(&exact, &power, sizeof exact);
    exact *= (double)sum;
    uint64_t bits;
    memcpy(&bits, &exact, sizeof bits);
    const int32_t below = SMALLEST_NORMAL - ((int32_t)(bits >> FRACTION & 0x7ff) - BIAS);
    const int32_t lost = FRACTION - fp32.fraction_bits + (below > 0 ? below : 0);
    bits = lost > FRACTION ? 0 : bits >> lost << lost;
    memcpy(&exact, &bits, sizeof exact);
    return (float)exact;
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

/* The largest exponent of the first k products, and `at_least`. */
IN_GROUPS static inline int32_t largest_exponent(int32_t k, const side *a, const side *b,
                                                 int32_t at_least) {
    int32_t largest = at_least;
    for (int32_t g = 0; g < k; g += GROUP)
        for (int32_t i = g; i < g + GROUP; ++i) {
            const int32_t exponent = a->exponent[i] + b->exponent[i];
            largest = exponent > largest ? exponent : largest;
        }
    return largest;
}

/* The first k products, each below 2^27, as multiples of 2^(largest - KEPT). */
IN_GROUPS static inline int32_t sum_products(int32_t k, const side *a, const side *b, format f,
                                             int32_t largest) {
    int32_t sum = 0;
    for (int32_t g = 0; g < k; g += GROUP)
        for (int32_t i = g; i < g + GROUP; ++i)
            sum += scale(a->significand[i] * b->significand[i], KEPT - 2 * f.fraction_bits,
                         largest - a->exponent[i] - b->exponent[i]);
    return sum;
}

/* c + the sum of a[i] b[i], in fp32, or rounded once to f16. */
static float dot(int32_t k, const side *a, const side *b, format f, float accumulator,
                 bool to_f16) {
    uint32_t bits;
    memcpy(&bits, &accumulator, sizeof bits);
    const number c = decode(bits, fp32);
    if (!a->finite || !b->finite || c.exponent == NOT_FINITE)
        return sum_not_finite(k, a, b, f, c);
    k = a->used < b->used ? a->used : b->used; /* the rest of the products are zero */
    if (k == 0)
        return accumulator + 0.0f; /* all of its bits are kept, but a zero's sign */
    const int32_t largest = largest_exponent(k, a, b, c.exponent);
    if (largest < OF_ZERO / 2)
        return 0.0f;
    const int32_t other = scale(c.significand, KEPT - fp32.fraction_bits, largest - c.exponent);
    const int64_t sum = (int64_t)sum_products(k, a, b, f, largest) + other;
    return to_f16 ? round_to_f16(sum, largest - KEPT) : round_toward_zero(sum, largest - KEPT);
}

/* What all lanes bring to a product of `blocks` blocks of k: 4 registers of a, 2 of b for two. A
 * register holds `per` neighbours in k. */
static void gather(const sim_fragments lane[], format f, int32_t per, int32_t blocks, side a[M],
                   side b[N]) {
    const int32_t bits = 1 + f.exponent_bits + f.fraction_bits;
    const uint32_t mask = (1u << bits) - 1;
    for (int32_t i = 0; i < M; ++i)
        clear(&a[i]);
    for (int32_t i = 0; i < N; ++i)
        clear(&b[i]);
    for (int32_t l = 0; l < WARP; ++l) {
        const int32_t g = l / 4, t = l % 4;
        const uint32_t *from_a = lane[l].a, *from_b = lane[l].b;
        for (int32_t h = 0; h < per; ++h) {
            /* 16-bit elements lie from bit 0 and 16 on, a 19-bit one ends at bit 31. */
            const int32_t low = per == 1 ? 32 - bits : 16 * h;
            for (int32_t i = 0; i < 2 * blocks; ++i)
                if (from_a[i] != 0) /* tiles are mostly zeros where a matrix is small */
                    put(&a[g + 8 * (i % 2)], per * (t + 4 * (i / 2)) + h,
                        decode(from_a[i] >> low & mask, f));
            for (int32_t i = 0; i < blocks; ++i)
                if (from_b[i] != 0)
                    put(&b[g], per * (t + 4 * i) + h, decode(from_b[i] >> low & mask, f));
        }
    }
    for (int32_t i = 0; i < M; ++i)
        complete(&a[i]);
    for (int32_t i = 0; i < N; ++i)
        complete(&b[i]);
}

static void multiply_m16n8(const sim_fragments lane[], format f, int32_t per, int32_t blocks) {
    side a[M], b[N];
    gather(lane, f, per, blocks, a, b);
    for (int32_t l = 0; l < WARP; ++l) {
        float *c = lane[l].c;
        for (int32_t i = 0; i < 4; ++i)
            c[i] = dot(4 * per * blocks, &a[l / 4 + 8 * (i / 2)], &b[2 * (l % 4) + i % 2], f, c[i],
                       false);
    }
}

static float float_of_f16(uint32_t bits) {
    const number n = decode(bits, fp16);
    return n.exponent == OF_ZERO ? copysignf(0.0f, (bits >> 15 & 1) != 0 ? -1.0f : 1.0f)
                                 : (float)value(n.significand, n.exponent, fp16);
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

static void multiply_m16n8_f16(const sim_fragments lane[], int32_t blocks) {
    side a[M], b[N];
    gather(lane, fp16, 2, blocks, a, b);
    for (int32_t l = 0; l < WARP; ++l) {
        uint32_t *c = lane[l].c;
        for (int32_t i = 0; i < 2; ++i) {
            uint32_t pair = 0;
            for (int32_t h = 0; h < 2; ++h)
                pair |= f16_of(dot(8 * blocks, &a[l / 4 + 8 * i], &b[2 * (l % 4) + h], fp16,
                                   float_of_f16(c[i] >> 16 * h & 0xffff), true))
                        << 16 * h;
            c[i] = pair;
        }
    }
}

static void multiply_m8n8k4(const sim_fragments lane[]) {
    for (int32_t l = 0; l < WARP; ++l) {
        double *c = lane[l].c;
        for (int32_t i = 0; i < 2; ++i)
            for (int32_t k = 0; k < 4; ++k) {
                const double *a = lane[l / 4 * 4 + k].a;
                const double *b = lane[(2 * (l % 4) + i) * 4 + k].b;
                c[i] = fma(*a, *b, c[i]);
            }
    }
}

/* Registers of a: 2 for each 4 of k, rows g and g + 8; of b: 1. */
static void multiply_m16n8_f64(const sim_fragments lane[], int32_t depth) {
    for (int32_t l = 0; l < WARP; ++l) {
        double *c = lane[l].c;
        for (int32_t i = 0; i < 4; ++i)
            for (int32_t k = 0; k < depth; ++k) {
                const double *a = lane[l / 4 * 4 + k % 4].a;
                const double *b = lane[(2 * (l % 4) + i % 2) * 4 + k % 4].b;
                c[i] = fma(a[k / 4 * 2 + i / 2], b[k / 4], c[i]);
            }
    }
}

static int64_t byte_of(uint32_t word, int32_t i, bool is_unsigned) {
    const uint32_t byte = word >> 8 * i & 0xff;
    return is_unsigned || byte < 0x80 ? (int64_t)byte : (int64_t)byte - 0x100;
}

/* The sum of 16 products for each block of k, which lie with the four lanes of a row of a, and with
 * those of a column of b. */
static int64_t dot_integers(const sim_fragments lane[], int32_t row, int32_t column,
                            uint32_t which) {
    int64_t sum = 0;
    for (int32_t block = 0; block < ((which & SIM_INTEGERS_K32) != 0 ? 2 : 1); ++block)
        for (int32_t t = 0; t < 4; ++t) {
            const uint32_t *a = lane[row % 8 * 4 + t].a, *b = lane[column * 4 + t].b;
            for (int32_t h = 0; h < 4; ++h)
                sum += byte_of(a[2 * block + row / 8], h, (which & SIM_INTEGERS_UNSIGNED_A) != 0) *
                       byte_of(b[block], h, (which & SIM_INTEGERS_UNSIGNED_B) != 0);
        }
    return sum;
}

static int32_t add_integers(int32_t c, int64_t products, uint32_t which) {
    int64_t sum = c + products;
    if ((which & SIM_INTEGERS_SATURATE) != 0)
        sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    return (int32_t)(uint32_t)sum;
}

static void multiply_integers(const sim_fragments lane[]) {
    const uint32_t which = ((const uint32_t *)lane[0].a)[4];
    for (int32_t l = 0; l < WARP; ++l) {
        int32_t *c = lane[l].c;
        for (int32_t i = 0; i < 4; ++i)
            c[i] = add_integers(
                c[i], dot_integers(lane, l / 4 + 8 * (i / 2), 2 * (l % 4) + i % 2, which), which);
    }
}

void sim_mma_compute(sim_mma_shape shape, const sim_fragments lane[32]) {
    const format bf16 = {8, 7}, tf32 = {8, 10};
    switch (shape) {
    case SIM_M16N8K16_BF16:
        multiply_m16n8(lane, bf16, 2, 2);
        break;
    case SIM_M16N8K16_F16:
        multiply_m16n8(lane, fp16, 2, 2);
        break;
    case SIM_M16N8K8_TF32:
        multiply_m16n8(lane, tf32, 1, 2);
        break;
    case SIM_M16N8K8_BF16:
        multiply_m16n8(lane, bf16, 2, 1);
        break;
    case SIM_M16N8K8_F16:
        multiply_m16n8(lane, fp16, 2, 1);
        break;
    case SIM_M16N8K4_TF32:
        multiply_m16n8(lane, tf32, 1, 1);
        break;
    case SIM_M16N8K16_F16_F16:
        multiply_m16n8_f16(lane, 2);
        break;
    case SIM_M16N8K8_F16_F16:
        multiply_m16n8_f16(lane, 1);
        break;
    case SIM_M16N8_INTEGERS:
        multiply_integers(lane);
        break;
    case SIM_M8N8K4_F64:
        multiply_m8n8k4(lane);
        break;
    case SIM_M16N8K4_F64:
        multiply_m16n8_f64(lane, 4);
        break;
    case SIM_M16N8K8_F64:
        multiply_m16n8_f64(lane, 8);
        break;
    case SIM_M16N8K16_F64:
        multiply_m16n8_f64(lane, 16);
        break;
    }
}

static void take_side(side *s, const unsigned *bits, int32_t k, format f, int32_t low) {
    const uint32_t mask = (1u << (1 + f.exponent_bits + f.fraction_bits)) - 1;
    clear(s);
    for (int32_t i = 0; i < k; ++i)
        put(s, i, decode(bits[i] >> low & mask, f));
    complete(s);
}

void sim_wgmma_compute(sim_mma_shape shape, unsigned columns, const unsigned *a, const unsigned *b,
                       unsigned *const c[128]) {
    enum { ROWS = 64, COLUMNS = 256, THREADS = 128 };
    static side rows[ROWS], column[COLUMNS];
    const bool is_tf32 = shape == SIM_M16N8K8_TF32, to_f16 = shape == SIM_M16N8K16_F16_F16;
    const format bf16 = {8, 7}, tf32 = {8, 10};
    const format f = is_tf32 ? tf32 : shape == SIM_M16N8K16_BF16 ? bf16 : fp16;
    const int32_t k = is_tf32 ? 8 : 16, low = is_tf32 ? 13 : 0;
    for (unsigned i = 0; i < ROWS; ++i)
        take_side(&rows[i], a + i * (unsigned)k, k, f, low);
    for (unsigned i = 0; i < columns; ++i)
        take_side(&column[i], b + i * (unsigned)k, k, f, low);
    for (unsigned t = 0; t < THREADS; ++t)
        for (unsigned i = 0; i < columns / 2; ++i) { /* the thread's sums, two a row */
            const side *row = &rows[t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2)];
            const side *other = &column[i / 4 * 8 + 2 * (t % 4) + i % 2];
            unsigned *to = &c[t][to_f16 ? i / 2 : i];
            const unsigned shift = 16 * (i % 2);
            float sum;
            if (to_f16) {
                sum = dot(k, row, other, f, float_of_f16(*to >> shift & 0xffff), true);
                *to = (*to & ~(0xffffu << shift)) | f16_of(sum) << shift;
            } else {
                memcpy(&sum, to, sizeof sum);
                sum = dot(k, row, other, f, sum, false);
                memcpy(to, &sum, sizeof sum);
            }
        }
}

void sim_wgmma_compute_integers(uint32_t which, unsigned columns, const unsigned *a,
                                const unsigned *b, unsigned *const c[128]) {
    enum { K = 32, THREADS = 128 };
    const bool unsigned_a = (which & SIM_INTEGERS_UNSIGNED_A) != 0;
    const bool unsigned_b = (which & SIM_INTEGERS_UNSIGNED_B) != 0;
    for (unsigned t = 0; t < THREADS; ++t)
        for (unsigned i = 0; i < columns / 2; ++i) { /* the thread's sums, two a row */
            const unsigned *row = a + K * (t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2));
            const unsigned *column = b + K * (i / 4 * 8 + 2 * (t % 4) + i % 2);
            int64_t products = 0;
            for (unsigned k = 0; k < K; ++k)
                products += byte_of(row[k], 0, unsigned_a) * byte_of(column[k], 0, unsigned_b);
            c[t][i] = (unsigned)add_integers((int32_t)c[t][i], products, which);
        }
}

uint32_t sim_wgmma_offset(uint64_t descriptor, bool transposed, uint32_t bytes, uint32_t i,
                          uint32_t k) {
    enum { CHUNK = 16, FIELD = 0x3fff, WINDOW = (1 << 18) - 1 };
    const uint32_t leading = (uint32_t)(descriptor >> 16 & FIELD) << 4;
    const uint32_t stride = (uint32_t)(descriptor >> 32 & FIELD) << 4;
    const uint32_t swizzle = (uint32_t)(descriptor >> 62), w = swizzle == 0 ? 1 : 16u >> swizzle;
    const uint32_t along = transposed ? i : k; /* which counts within a chunk */
    const uint32_t chunk = along * bytes / CHUNK, rest = along * bytes % CHUNK;
    const uint32_t across = transposed ? k : i, row = across % 8, group = across / 8;
    uint32_t at = ((uint32_t)(descriptor & FIELD) << 4) + rest;
    if (!transposed)
        at += row * w * CHUNK + group * stride + chunk * (w == 1 ? leading : CHUNK);
    else if (w == 1)
        at += chunk * stride + row * CHUNK + group * leading;
    else
        at += chunk % w * CHUNK + chunk / w * leading + row * w * CHUNK + group * stride;
    at &= WINDOW;
    return at ^ (at >> 7 & (w - 1)) << 4;
}
