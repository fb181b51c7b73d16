/*
 * fp32 numbers as three bf16 digits: x·2^s = d0 + d1 + d2, exactly.
 *
 * A line is a row of the left operand or a column of the right one, all of its k. Its numbers are
 * scaled by a power of two, 2^s, that brings the largest to [2^TOP, 2^(TOP + 1)). d0 is x·2^s
 * rounded to nearest, d1 what is left, rounded, and d2 the rest, which 8 bits hold. So
 *
 *     |d1| <= 2^-8 |x·2^s|,    |d2| <= 2^-17 |x·2^s|
 *
 * A line is marked, and has no digits, where it holds an Inf or a NaN, or where its largest number
 * and its smallest, but for zeros, are more than MOST_BINADES binades apart. All numbers of the
 * others are from 2^-46 to 2^41 after scaling, their last bits not below 2^-69. So a digit is
 * normal or 0, a product of two digits is a multiple of 2^-138, which fp32's subnormals have, and
 * 2^31 of them are less than 2^114: a sum neither underflows nor overflows.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGITS_H
#define ASSAY_MATMUL_ACCUMULATE_DIGITS_H

#include "kernels/common/hopper.h"
#include "kernels/matmul_accumulate/product.h"

typedef __nv_bfloat16 bf16;

constexpr int DIGITS = 3;
constexpr int TOP = 40;
constexpr int MOST_BINADES = 86;
constexpr int MARKED = INT32_MIN; /* in place of a power */
constexpr int STRIP = 32;         /* lines of a block */
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

struct extremes {
    uint32_t largest, smallest;

    __device__ __forceinline__ void add(float x) {
        const uint32_t bits = __float_as_uint(x) & 0x7fffffff;
        largest = bits > largest ? bits : largest;
        smallest = bits > 0 && bits < smallest ? bits : smallest;
    }
    /* Over the lanes of a warp; every lane gets them. */
    __device__ __forceinline__ void meet() {
        for (int offset = 16; offset > 0; offset /= 2) {
            const uint32_t high = __shfl_xor_sync(0xffffffffu, largest, offset);
            const uint32_t low = __shfl_xor_sync(0xffffffffu, smallest, offset);
            largest = high > largest ? high : largest;
            smallest = low < smallest ? low : smallest;
        }
    }
    __device__ __forceinline__ void tell(const digit_lines &of, int64_t line) const {
        atomicMax(of.largest + line, largest);
        atomicMin(of.smallest + line, smallest);
    }
};

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
        extremes found = {0, UINT32_MAX};
        if (line + lane >= of.lines)
            return;
        for (int64_t k = first + warp; k < end; k += warps)
            found.add(*at(of.x, line + lane, k));
        found.tell(to, line + lane);
        return;
    }
    for (int64_t i = line + warp; i < clamp(of.lines, 0, line + STRIP); i += warps) {
        extremes found = {0, UINT32_MAX};
        for (int64_t k = first + lane; k < end; k += 32)
            found.add(*at(of.x, i, k));
        found.meet();
        if (lane == 0)
            found.tell(to, i);
    }
}

/* ---- the digits ---- */

/* Of the leading bit of |x|, whose bits these are; not of 0, Inf and NaN. */
static __device__ __forceinline__ int32_t exponent_of(uint32_t bits) {
    return bits < 0x00800000 ? -118 - __clz((int)bits) : (int32_t)(bits >> 23) - 127;
}

/* What brings the digits of a line of such extremes back. */
static __device__ __forceinline__ int32_t power_of(uint32_t largest, uint32_t smallest) {
    if (largest == 0)
        return 0;
    if (largest >= 0x7f800000 || exponent_of(largest) - exponent_of(smallest) > MOST_BINADES)
        return MARKED;
    return exponent_of(largest) - TOP;
}

/* 2^power, which fp32 may not have. */
static __device__ __forceinline__ double power_of_two(int32_t power) {
    return __longlong_as_double((long long)(power + 1023) << 52);
}

struct digits_of {
    bf16 digit[DIGITS];

    __device__ __forceinline__ explicit digits_of(float scaled) {
#pragma unroll
        for (int g = 0; g < DIGITS; ++g) {
            digit[g] = __float2bfloat16_rn(scaled);
            scaled -= __bfloat162float(digit[g]);
        }
    }
};

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
