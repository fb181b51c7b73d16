/*
 * Operands of a product as digits in workspace: a line is a row of the left operand or a column of
 * the right one, all of its k. A scheme says what digits are: three of bf16 (below and
 * kernels/common/bf16_digits.h) or two of fp16 (half_digits.h).
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGITS_H
#define ASSAY_MATMUL_ACCUMULATE_DIGITS_H

#include "kernels/common/bf16_digits.h"
#include "kernels/matmul_accumulate/hopper_place.h"
#include "kernels/matmul_accumulate/product.h"

constexpr int STRIP = 32;   /* lines of a block */
constexpr int SPAN = 64;    /* of k of a block that splits, and what k is padded to with zeros */
constexpr int REACH = 1024; /* of k of a block that searches */
constexpr int SPLIT_THREADS = 256;
constexpr int SPLIT_SHARED = STRIP * (SPAN + 1) * (int)sizeof(float);

/* Three digits of bf16, which are all of a number. A scheme has `digits` numbers of type `digit`
 * for each number; a line's largest is scaled to 2^shift below what power_of() is for. */
struct bf16x6 {
    typedef bf16 digit;
    typedef __nv_bfloat162 pair;
    static constexpr int digits = DIGITS, shift = 0;
    static constexpr bool exact = true; /* the digits' sum is the number */

    /* The digit that is multiplied as number i, and loaded so. */
    static __host__ __device__ constexpr int in_order(int i) {
        return digits - 1 - i;
    }

    static __device__ __forceinline__ void split(float scaled, digit (&to)[digits]) {
        const digits_of all(scaled);
#pragma unroll
        for (int g = 0; g < digits; ++g)
            to[g] = all.digit[g];
    }
};

/* An operand: `depth` numbers of k in each of its lines. */
struct digit_operand {
    matrix<const float> x; /* (line, k) */
    int64_t lines, depth;
};

/* What is known of an operand's lines. */
struct line_facts {
    int32_t *power;
    uint32_t *largest, *smallest; /* the bits of |x|; zeros are not the smallest */
    int32_t *small; /* how many numbers are too small for digits that are not exact; or NULL */
};

/* What stands for an operand in workspace: digit g of line i at k is digits[(g lines + i) padded +
 * k]. x is its digits' sum times 2^(power of its line + shift). */
template <typename Scheme> struct digit_lines : line_facts {
    typename Scheme::digit *digits;
    int64_t padded;
};

static inline int64_t padded_depth(const digit_operand &of) {
    return ceil_div(of.depth, SPAN) * SPAN;
}

/* Takes bytes of the workspace from *used on; a NULL base: counts them. */
static inline char *take_bytes(char *base, size_t *used, size_t bytes) {
    char *const taken = base ? base + *used : NULL;
    *used += (bytes + 255) / 256 * 256;
    return taken;
}

template <typename T> static inline T *take(char *base, size_t *used, int64_t count) {
    return reinterpret_cast<T *>(take_bytes(base, used, (size_t)count * sizeof(T)));
}

template <typename Scheme> static inline size_t bytes_of_digits(const digit_operand &of) {
    return (size_t)(Scheme::digits * of.lines * padded_depth(of)) * sizeof(typename Scheme::digit);
}

/* The facts of its lines, and room for the digits of each of the schemes. */
template <typename Scheme, typename... Others>
static inline digit_lines<Scheme> place_digits(const digit_operand &of, char *base, size_t *used) {
    const size_t each[] = {bytes_of_digits<Scheme>(of), bytes_of_digits<Others>(of)...};
    size_t most = 0;
    for (const size_t bytes : each)
        most = bytes > most ? bytes : most;
    digit_lines<Scheme> to = {};
    to.padded = padded_depth(of);
    to.digits = reinterpret_cast<typename Scheme::digit *>(take_bytes(base, used, most));
    to.power = take<int32_t>(base, used, of.lines);
    to.largest = take<uint32_t>(base, used, of.lines);
    to.smallest = take<uint32_t>(base, used, of.lines);
    if (!Scheme::exact)
        to.small = take<int32_t>(base, used, of.lines);
    return to;
}

/* The same lines in another scheme's digits, which take the place of these. */
template <typename Other, typename Scheme>
static inline digit_lines<Other> in_place_of(const digit_lines<Scheme> &of) {
    digit_lines<Other> to = {};
    static_cast<line_facts &>(to) = of;
    to.digits = reinterpret_cast<typename Other::digit *>(of.digits);
    to.padded = of.padded;
    return to;
}

/* ---- the largest and the smallest number of each line ---- */

static __global__ void forget_extremes(line_facts of, int64_t lines) {
    for (int64_t i = grid_thread(); i < lines; i += grid_threads()) {
        of.largest[i] = 0;
        of.smallest[i] = UINT32_MAX;
        if (of.small)
            of.small[i] = 0;
    }
}

static __device__ __forceinline__ void tell(const extremes &found, const line_facts &of,
                                            int64_t line) {
    atomicMax(of.largest + line, found.largest);
    atomicMin(of.smallest + line, found.smallest);
}

/* A block takes STRIP lines and REACH of k, its warps the lines in turn where a line's k are
 * neighbours in memory, and k in turn, a lane a line, where lines are. */
static __global__ void find_extremes(digit_operand of, line_facts to) {
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

/* x 2^-power, by two factors that fp32 has: what comes between lies between them. */
static __device__ __forceinline__ float scaled_by(float x, int32_t power) {
    const int half = -power / 2;
    return x * __int_as_float((half + 127) << 23) * __int_as_float((-power - half + 127) << 23);
}

/* A block takes STRIP lines and SPAN of k. They pass through shared memory, where lines are
 * neighbours in global memory on the way in, and k on the way out. `wanted`: for each ROWS lines,
 * whether their digits are; NULL: all are. */
template <typename Scheme>
static __global__ void split_lines(digit_operand of, digit_lines<Scheme> to,
                                   const int32_t *wanted) {
    ASSAY_DYNAMIC_SHARED(float, tile); /* [STRIP][SPAN + 1] */
    const int64_t strips = ceil_div(of.lines, STRIP);
    const int64_t line = (int64_t)blockIdx.x % strips * STRIP;
    const int64_t first = (int64_t)blockIdx.x / strips * SPAN;
    if (wanted && !wanted[line / ROWS])
        return;
    for (int e = (int)threadIdx.x; e < STRIP * SPAN; e += SPLIT_THREADS) {
        const int i = of.x.transposed ? e % STRIP : e / SPAN;
        const int k = of.x.transposed ? e / STRIP : e % SPAN;
        const bool inside = line + i < of.lines && first + k < of.depth;
        tile[i * (SPAN + 1) + k] = inside ? *at(of.x, line + i, first + k) : 0;
    }
    __syncthreads();
    for (int e = (int)threadIdx.x; e < STRIP * SPAN / 2; e += SPLIT_THREADS) {
        const int i = e / (SPAN / 2), k = e % (SPAN / 2) * 2; /* a warp has a line */
        if (line + i >= of.lines)
            continue;
        const int32_t power = power_of(to.largest[line + i], to.smallest[line + i]);
        const float *x = tile + i * (SPAN + 1) + k;
        const bool has = power != MARKED;
        const float pair[] = {has ? scaled_by(x[0], power + Scheme::shift) : 0,
                              has ? scaled_by(x[1], power + Scheme::shift) : 0};
        typename Scheme::digit low[Scheme::digits], high[Scheme::digits];
        Scheme::split(pair[0], low);
        Scheme::split(pair[1], high);
#pragma unroll
        for (int g = 0; g < Scheme::digits; ++g)
            *reinterpret_cast<typename Scheme::pair *>(
                to.digits + ((g * of.lines + line + i) * to.padded + first + k)) =
                typename Scheme::pair(low[g], high[g]);
        if constexpr (!Scheme::exact)
            Scheme::count_small(pair, to.small + line + i);
        if (first + k == 0)
            to.power[line + i] = power;
    }
}

static inline assay_status search_operand(void *stream, const digit_operand &of,
                                          const line_facts &to) {
    const assay_status status = ASSAY_LAUNCH(stream, linear_grid(of.lines, SPLIT_THREADS),
                                             dim3(SPLIT_THREADS), 0, forget_extremes, to, of.lines);
    return status == ASSAY_OK
               ? ASSAY_LAUNCH(stream,
                              whole_grid(ceil_div(of.lines, STRIP) * ceil_div(of.depth, REACH)),
                              dim3(SPLIT_THREADS), 0, find_extremes, of, to)
               : status;
}

/* `wanted` as above. */
template <typename Scheme>
static assay_status split_searched(void *stream, const digit_operand &of,
                                   const digit_lines<Scheme> &to, const int32_t *wanted) {
    return ASSAY_LAUNCH(stream, whole_grid(ceil_div(of.lines, STRIP) * (to.padded / SPAN)),
                        dim3(SPLIT_THREADS), SPLIT_SHARED, split_lines<Scheme>, of, to, wanted);
}

template <typename Scheme>
static assay_status split_operand(void *stream, const digit_operand &of,
                                  const digit_lines<Scheme> &to) {
    const assay_status status = search_operand(stream, of, to);
    return status == ASSAY_OK ? split_searched<Scheme>(stream, of, to, NULL) : status;
}

#endif
