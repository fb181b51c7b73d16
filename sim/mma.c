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
 * is another one on an H200 (docs/ptx.md). TF32 operands are the upper 19 bits of fp32 numbers.
 * Integers are exact. An element of the products in f64 is a chain of fused multiply-adds in
 * ascending k.
 *
 * And (tests/sim/tensor_gpu.cu, no difference): a subnormal factor has the smallest exponent and a
 * significand below 1; a zero takes no part in E; a sum of zero is +0; subnormal results are kept;
 * a sum beyond fp32 becomes infinite; an invalid operation, or a NaN, gives the NaN 0x7fffffff. The
 * bits of a NaN in f64 are the host's.
 */
#include "sim/mma.h"

#include "sim/mma_sum.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32, M = 16 };

static const mma_format fp16 = {5, 10};

/* ---- mma.sync ---- */

/* What all lanes bring to a product of `blocks` blocks of k: 4 registers of a, 2 of b for two. A
 * register holds `per` neighbours in k. */
static void gather(const sim_fragments lane[], mma_format f, int32_t per, int32_t blocks,
                   mma_row a[M], mma_columns *b) {
    const int32_t bits = 1 + f.exponent_bits + f.fraction_bits;
    const uint32_t mask = (1u << bits) - 1;
    uint32_t bits_a[M][MMA_K] = {{0}};
    mma_lanes bits_b[MMA_K] = {{0}};
    for (int32_t l = 0; l < WARP; ++l) {
        const int32_t g = l / 4, t = l % 4;
        const uint32_t *from_a = lane[l].a, *from_b = lane[l].b;
        for (int32_t h = 0; h < per; ++h) {
            /* 16-bit elements lie from bit 0 and 16 on, a 19-bit one ends at bit 31. */
            const int32_t low = per == 1 ? 32 - bits : 16 * h;
            for (int32_t i = 0; i < 2 * blocks; ++i)
                bits_a[g + 8 * (i % 2)][per * (t + 4 * (i / 2)) + h] = from_a[i] >> low & mask;
            for (int32_t i = 0; i < blocks; ++i)
                bits_b[per * (t + 4 * i) + h][g] = (int32_t)(from_b[i] >> low & mask);
        }
    }
    for (int32_t i = 0; i < M; ++i)
        mma_row_decode(&a[i], bits_a[i], f);
    mma_columns_decode(b, bits_b, f);
}

/* Lane l has columns 2 (l % 4) and the next of row l / 4, and then of row l / 4 + 8. */
static void multiply_m16n8(const sim_fragments lane[], mma_format f, int32_t per, int32_t blocks) {
    mma_row a[M];
    mma_columns b;
    gather(lane, f, per, blocks, a, &b);
    for (int32_t i = 0; i < M; ++i) {
        float c[MMA_COLUMNS];
        for (int32_t t = 0; t < 4; ++t)
            memcpy(c + 2 * t, (float *)lane[i % 8 * 4 + t].c + i / 8 * 2, 2 * sizeof *c);
        mma_add(&a[i], &b, f, c);
        for (int32_t t = 0; t < 4; ++t)
            memcpy((float *)lane[i % 8 * 4 + t].c + i / 8 * 2, c + 2 * t, 2 * sizeof *c);
    }
}

/* Two sums in f16 lie in a register. */
static void multiply_m16n8_f16(const sim_fragments lane[], int32_t blocks) {
    mma_row a[M];
    mma_columns b;
    gather(lane, fp16, 2, blocks, a, &b);
    for (int32_t i = 0; i < M; ++i) {
        uint32_t c[MMA_COLUMNS];
        for (int32_t j = 0; j < MMA_COLUMNS; ++j)
            c[j] = ((const uint32_t *)lane[i % 8 * 4 + j / 2].c)[i / 8] >> 16 * (j % 2) & 0xffff;
        mma_add_f16(&a[i], &b, c);
        for (int32_t t = 0; t < 4; ++t)
            ((uint32_t *)lane[i % 8 * 4 + t].c)[i / 8] = c[2 * t] | c[2 * t + 1] << 16;
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
    const mma_format bf16 = {8, 7}, tf32 = {8, 10};
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

/* ---- wgmma ---- */

static void take_rows(mma_row rows[], int32_t count, const unsigned *bits, int32_t k, mma_format f,
                      int32_t low) {
    const uint32_t mask = (1u << (1 + f.exponent_bits + f.fraction_bits)) - 1;
    for (int32_t i = 0; i < count; ++i) {
        uint32_t some[MMA_K] = {0};
        for (int32_t j = 0; j < k; ++j)
            some[j] = bits[i * k + j] >> low & mask;
        mma_row_decode(&rows[i], some, f);
    }
}

static void take_columns(mma_columns *columns, const unsigned *bits, int32_t k, mma_format f,
                         int32_t low) {
    const uint32_t mask = (1u << (1 + f.exponent_bits + f.fraction_bits)) - 1;
    mma_lanes some[MMA_K] = {{0}};
    for (int32_t i = 0; i < MMA_COLUMNS; ++i)
        for (int32_t j = 0; j < k; ++j)
            some[j][i] = (int32_t)(bits[i * k + j] >> low & mask);
    mma_columns_decode(columns, some, f);
}

void sim_wgmma_compute(sim_mma_shape shape, unsigned columns, const unsigned *a, const unsigned *b,
                       unsigned *const c[128]) {
    enum { ROWS = 64 };
    static mma_row rows[ROWS]; /* too much for a simulated thread's stack */
    mma_columns eight;
    const bool is_tf32 = shape == SIM_M16N8K8_TF32, to_f16 = shape == SIM_M16N8K16_F16_F16;
    const mma_format bf16 = {8, 7}, tf32 = {8, 10};
    const mma_format f = is_tf32 ? tf32 : shape == SIM_M16N8K16_BF16 ? bf16 : fp16;
    const int32_t k = is_tf32 ? 8 : 16, low = is_tf32 ? 13 : 0;
    take_rows(rows, ROWS, a, k, f, low);
    for (unsigned n = 0; n < columns / MMA_COLUMNS; ++n) {
        take_columns(&eight, b + n * MMA_COLUMNS * (unsigned)k, k, f, low);
        for (unsigned r = 0; r < ROWS; ++r) { /* as of a warp's 16 rows, for each 8 columns */
            unsigned *const *const of_row = c + r / 16 * WARP + r % 8 * 4;
            const unsigned at = 2 * n + r / 8 % 2;
            if (to_f16) {
                uint32_t sum[MMA_COLUMNS];
                for (int32_t i = 0; i < MMA_COLUMNS; ++i)
                    sum[i] = of_row[i / 2][at] >> 16 * (i % 2) & 0xffff;
                mma_add_f16(&rows[r], &eight, sum);
                for (int32_t t = 0; t < 4; ++t)
                    of_row[t][at] = sum[2 * t] | sum[2 * t + 1] << 16;
            } else {
                float sum[MMA_COLUMNS];
                for (int32_t t = 0; t < 4; ++t)
                    memcpy(sum + 2 * t, of_row[t] + 2 * at, 2 * sizeof *sum);
                mma_add(&rows[r], &eight, f, sum);
                for (int32_t t = 0; t < 4; ++t)
                    memcpy(of_row[t] + 2 * at, sum + 2 * t, 2 * sizeof *sum);
            }
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
