/*
 * The rule of Hopper's tensor cores, found by measuring an H200: an element of the result takes all
 * K products, which are exact, and the accumulator at once:
 *
 *   - the exponent of a product is the sum of its factors' exponents, also where the product of the
 *     significands is 2 or more; E is the largest exponent of the terms that are not zero;
 *   - each term is cut toward zero to a multiple of 2^(E - 25);
 *   - the terms are added exactly, and the sum is rounded toward zero to fp32.
 *
 * TF32 operands are the upper 19 bits of fp32 numbers. m8n8k4 is a chain of fused multiply-adds in
 * ascending k.
 *
 * And (tests/sim/tensor_gpu.cu, no difference): a subnormal factor has the smallest exponent and a
 * significand below 1; a zero takes no part in E; a sum of zero is +0; subnormal results are kept;
 * a sum beyond fp32 becomes infinite; an invalid operation, or a NaN, gives the NaN 0x7fffffff. The
 * bits of a NaN of m8n8k4 are the host's.
 */
#include "kernels/sim/mma.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32, M = 16, N = 8, MAX_K = 16, KEPT = 25 };

typedef struct format {
    int32_t exponent_bits, fraction_bits;
} format;

static const format fp32 = {8, 23};

/* significand * 2^(exponent - fraction bits of its format). Not finite: the significand is 0 for a
 * NaN, the sign of an infinity. */
typedef struct number {
    int64_t significand;
    int32_t exponent;
    bool finite;
} number;

static number decode(uint32_t bits, format f) {
    const uint32_t mask = (1u << f.exponent_bits) - 1;
    const uint32_t field = bits >> f.fraction_bits & mask;
    const int64_t fraction = bits & ((1u << f.fraction_bits) - 1);
    const int64_t sign = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0 ? -1 : 1;
    if (field == mask)
        return (number){.significand = fraction == 0 ? sign : 0};
    const int64_t hidden = field == 0 ? 0 : (int64_t)1 << f.fraction_bits;
    return (number){.significand = sign * (fraction + hidden),
                    .exponent = (int32_t)(field == 0 ? 1 : field) - (int32_t)(mask >> 1),
                    .finite = true};
}

static double value(number x, format f) {
    if (!x.finite)
        return x.significand == 0 ? NAN : (double)x.significand * INFINITY;
    return ldexp((double)x.significand, x.exponent - f.fraction_bits);
}

/* The sum where a factor or the accumulator is not finite: infinite or NaN, and fp64, which no
 * product of finite factors leaves, has the same one. */
static float sum_not_finite(int32_t k, const number a[], const number b[], format f, number c) {
    double sum = value(c, fp32);
    for (int32_t i = 0; i < k; ++i)
        sum += value(a[i], f) * value(b[i], f);
    if (!isnan(sum))
        return (float)sum;
    const uint32_t bits = 0x7fffffffu;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

/* x * 2^shift, cut toward zero. */
static int64_t scale(int64_t x, int32_t shift) {
    const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const uint64_t scaled = shift >= 0 ? size << shift : shift > -64 ? size >> -shift : 0;
    return x < 0 ? -(int64_t)scaled : (int64_t)scaled;
}

/* sum * 2^unit in fp32, toward zero. */
static float round_toward_zero(int64_t sum, int32_t unit) {
    enum { SMALLEST = -149 };
    if (sum == 0)
        return 0.0f;
    const int32_t top = unit + 63 - __builtin_clzll((unsigned long long)(sum < 0 ? -sum : sum));
    int32_t last = top - fp32.fraction_bits;
    last = last > SMALLEST ? last : SMALLEST;
    return last > unit ? ldexpf((float)scale(sum, unit - last), last) : ldexpf((float)sum, unit);
}

/* c + the sum of a[i] b[i]. */
static float dot(int32_t k, const number a[], const number b[], format f, float accumulator) {
    uint32_t bits;
    memcpy(&bits, &accumulator, sizeof bits);
    const number c = decode(bits, fp32);
    bool finite = c.finite;
    int32_t largest = c.significand != 0 ? c.exponent : INT32_MIN;
    int64_t product[MAX_K];
    for (int32_t i = 0; i < k; ++i) {
        finite = finite && a[i].finite && b[i].finite;
        product[i] = a[i].significand * b[i].significand;
        const int32_t exponent = a[i].exponent + b[i].exponent;
        if (product[i] != 0 && exponent > largest)
            largest = exponent;
    }
    if (!finite)
        return sum_not_finite(k, a, b, f, c);
    if (largest == INT32_MIN)
        return 0.0f;
    const int32_t unit = largest - KEPT;
    int64_t sum = 0;
    if (c.significand != 0)
        sum = scale(c.significand, c.exponent - fp32.fraction_bits - unit);
    for (int32_t i = 0; i < k; ++i)
        if (product[i] != 0)
            sum += scale(product[i], a[i].exponent + b[i].exponent - 2 * f.fraction_bits - unit);
    return round_toward_zero(sum, unit);
}

/* Both shapes with fp32 accumulators: a register holds `per` neighbours in k. */
static void multiply_m16n8(const sim_fragments lane[], format f, int32_t per) {
    number a[M][MAX_K], b[N][MAX_K];
    const int32_t bits = 1 + f.exponent_bits + f.fraction_bits, k = 8 * per;
    const uint32_t mask = (1u << bits) - 1;
    for (int32_t l = 0; l < WARP; ++l) {
        const int32_t g = l / 4, t = l % 4;
        const uint32_t *from_a = lane[l].a, *from_b = lane[l].b;
        for (int32_t h = 0; h < per; ++h) {
            /* 16-bit elements lie from bit 0 and 16 on, a 19-bit one ends at bit 31. */
            const int32_t low = per == 1 ? 32 - bits : 16 * h;
            for (int32_t i = 0; i < 4; ++i)
                a[g + 8 * (i % 2)][per * (t + 4 * (i / 2)) + h] =
                    decode(from_a[i] >> low & mask, f);
            for (int32_t i = 0; i < 2; ++i)
                b[g][per * (t + 4 * i) + h] = decode(from_b[i] >> low & mask, f);
        }
    }
    for (int32_t l = 0; l < WARP; ++l) {
        float *c = lane[l].c;
        for (int32_t i = 0; i < 4; ++i)
            c[i] = dot(k, a[l / 4 + 8 * (i / 2)], b[2 * (l % 4) + i % 2], f, c[i]);
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

void sim_mma_compute(sim_mma_shape shape, const sim_fragments lane[32]) {
    switch (shape) {
    case SIM_M16N8K16_BF16:
        multiply_m16n8(lane, (format){8, 7}, 2);
        break;
    case SIM_M16N8K16_F16:
        multiply_m16n8(lane, (format){5, 10}, 2);
        break;
    case SIM_M16N8K8_TF32:
        multiply_m16n8(lane, (format){8, 10}, 1);
        break;
    case SIM_M8N8K4_F64:
        multiply_m8n8k4(lane);
        break;
    }
}
