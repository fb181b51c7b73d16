/*
 * Operands of a product as bf16 digits (kernels/common/bf16_digits.h) in workspace: a line is a row
 * of the left operand or a column of the right one, all of its k.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGITS_H
#define ASSAY_MATMUL_ACCUMULATE_DIGITS_H

#include "kernels/common/bf16_digits.h"
#include "kernels/matmul_accumulate/product.h"

constexpr int STRIP = 32;   /* lines of a block */
constexpr int SPAN = 64;    /* of k of a block that splits, and what k is padded to with zeros */
constexpr int REACH = 1024; /* of k of a block that searches */
constexpr int SPLIT_THREADS = 256;

/* An operand: `depth` numbers of k in each of its lines. */
struct digit_operand {
    matrix<const float> x; /* (line, k) */
    int64_t lines, depth;
};

/* What stands for an operand in workspace: digit g of line i at k is digits[(g lines + i) padded +
 * k]. x is its digits' sum times 2^power of its line. */
struct digit_lines {
    bf16 *digits;
    int32_t *power;
    uint32_t *largest, *smallest; /* of a line, the bits of |x|; zeros are not the smallest */
    int64_t padded;
};

static inline int64_t padded_depth(const digit_operand &of) {
    return ceil_div(of.depth, SPAN) * SPAN;
}

/* Takes the workspace from *used on; a NULL base: counts it. */
static inline digit_lines place_digits(const digit_operand &of, char *base, size_t *used) {
    const auto take = [&](size_t bytes) {
        char *const taken = base ? base + *used : NULL;
        *used += (bytes + 255) / 256 * 256;
        return taken;
    };
    const size_t lines = (size_t)of.lines;
    digit_lines to = {};
    to.padded = padded_depth(of);
    to.digits = reinterpret_cast<bf16 *>(take(DIGITS * lines * (size_t)to.padded * sizeof(bf16)));
    to.power = reinterpret_cast<int32_t *>(take(lines * sizeof(int32_t)));
    to.largest = reinterpret_cast<uint32_t *>(take(lines * sizeof(uint32_t)));
    to.smallest = reinterpret_cast<uint32_t *>(take(lines * sizeof(uint32_t)));
    return to;
}

/* ---- the largest and the smallest number of each line ---- */

static __global__ void forget_extremes(digit_lines of, int64_t lines) {
    for (int64_t i = grid_thread(); i < lines; i += grid_threads()) {
        of.largest[i] = 0;
        of.smallest[i] = UINT32_MAX;
    }
}

static __device__ __forceinline__ void tell(const extremes &found, const digit_lines &of,
                                            int64_t line) {
    atomicMax(of.largest + line, found.largest);
    atomicMin(of.smallest + line, found.smallest);
}

/* A block takes STRIP lines and REACH of k, its warps the lines in turn where a line's k are
 * neighbours in memory, and k in turn, a lane a line, where lines are. */
static __global__ void find_extremes(digit_operand of, digit_lines to) {
    const int64_t strips = ceil_div(of.lines, STRIP);
    const int64_t line = (int64_t)blockIdx.x % strips * STRIP;
    const int64_t first = (int64_t)blockIdx.x / strips * REACH;
    const int64_t end = clamp(of.depth, 0, first + REACH);
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32,
              warps = SPLIT_THREADS / 32;
    if (of.x.transposed) {
        extremes found;
        if (line + lane >= of.lines)
            return;
        for (int64_t k = first + warp; k < end; k += warps)
            found.add(*at(of.x, line + lane, k));
        tell(found, to, line + lane);
        return;
    }
    for (int64_t i = line + warp; i < clamp(of.lines, 0, line + STRIP); i += warps) {
        extremes found;
        for (int64_t k = first + lane; k < end; k += 32)
            found.add(*at(of.x, i, k));
        found.meet<32>();
        if (lane == 0)
            tell(found, to, i);
    }
}

/* ---- the digits ---- */

/* A block takes STRIP lines and SPAN of k. They pass through shared memory, where lines are
 * neighbours in global memory on the way in, and k on the way out. */
static __global__ void split_lines(digit_operand of, digit_lines to) {
    ASSAY_DYNAMIC_SHARED(float, tile); /* [STRIP][SPAN + 1] */
    const int64_t strips = ceil_div(of.lines, STRIP);
    const int64_t line = (int64_t)blockIdx.x % strips * STRIP;
    const int64_t first = (int64_t)blockIdx.x / strips * SPAN;
    for (int e = (int)threadIdx.x; e < STRIP * SPAN; e += SPLIT_THREADS) {
        const int i = of.x.transposed ? e % STRIP : e / SPAN;
        const int k = of.x.transposed ? e / STRIP : e % SPAN;
        const bool inside = line + i < of.lines && first + k < of.depth;
        tile[i * (SPAN + 1) + k] = inside ? *at(of.x, line + i, first + k) : 0;
    }
    __syncthreads();
    for (int e = (int)threadIdx.x; e < STRIP * SPAN / 2; e += SPLIT_THREADS) {
        const int i = e / (SPAN / 2), k = e % (SPAN / 2) * 2;
        if (line + i >= of.lines)
            continue;
        const int32_t power = power_of(to.largest[line + i], to.smallest[line + i]);
        const double scale = power == MARKED ? 0 : power_of_two(-power);
        const float *x = tile + i * (SPAN + 1) + k;
        const digits_of low(power == MARKED ? 0 : (float)(x[0] * scale));
        const digits_of high(power == MARKED ? 0 : (float)(x[1] * scale));
#pragma unroll
        for (int g = 0; g < DIGITS; ++g)
            *reinterpret_cast<__nv_bfloat162 *>(
                to.digits + ((g * of.lines + line + i) * to.padded + first + k)) =
                __nv_bfloat162(low.digit[g], high.digit[g]);
        if (first + k == 0)
            to.power[line + i] = power;
    }
}

static inline assay_status split_operand(void *stream, const digit_operand &of,
                                         const digit_lines &to) {
    const int64_t strips = ceil_div(of.lines, STRIP);
    assay_status status = ASSAY_LAUNCH(stream, linear_grid(of.lines, SPLIT_THREADS),
                                       dim3(SPLIT_THREADS), 0, forget_extremes, to, of.lines);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, whole_grid(strips * ceil_div(of.depth, REACH)),
                              dim3(SPLIT_THREADS), 0, find_extremes, of, to);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, whole_grid(strips * (to.padded / SPAN)), dim3(SPLIT_THREADS),
                              STRIP * (SPAN + 1) * sizeof(float), split_lines, of, to);
    return status;
}

#endif
