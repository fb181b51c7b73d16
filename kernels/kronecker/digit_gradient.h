/*
 * The gradient of a factor by digits: dW[i, j] = sum over columns c of in[i, c] cotangent[j, c].
 *
 * A warpgroup adds up 64 x 64 elements of dW over tiles of LINES columns. In each tile the extents
 * of either state are lines of digits, scaled by powers of their own, so that no pass looks for the
 * largest number of all columns: those of the input stay in registers, those of the cotangent go to
 * shared memory as the right operand. The tile's sums are added to the total in fp32, to nearest,
 * as numbers of their own. Elements whose lines have no digits in a tile are that tile's chain of
 * multiply-adds. The warpgroups of a block then add up their totals in order, and a second kernel
 * the blocks'.
 */
#ifndef ASSAY_KRONECKER_DIGIT_GRADIENT_H
#define ASSAY_KRONECKER_DIGIT_GRADIENT_H

#include "kernels/common/partials.h"
#include "kernels/kronecker/digit_contract.h"

constexpr int GRADIENT_GROUPS = 3, GRADIENT_GROUP_THREADS = GRADIENT_GROUPS * GROUP;
constexpr int PART = 64; /* rows and columns of dW, of which a warpgroup has as many */

struct digit_gradient {
    digit_axes axes;
    digit_state<const float> in, cotangent;
    float *partial; /* (splits, p, q) */
};

/* In shared memory, of a warpgroup: the cotangent's digits and powers, and both tiles. */
template <bool LAST> struct gradient_shared {
    typedef line_tile<!LAST, 1> tile;
    static constexpr int box_bytes = DIGITS * PART * TENSOR_LINE_BYTES;
    static constexpr int word_bytes = (2 * PART + 2 * 4) * (int)sizeof(uint32_t);
    static constexpr int state_bytes = tile::elements * (int)sizeof(float);
    static constexpr size_t bytes =
        TENSOR_ALIGNMENT + GRADIENT_GROUPS * (size_t)(box_bytes + word_bytes + 2 * state_bytes);
    unsigned char *boxes;  /* of this warpgroup */
    int32_t *power;        /* of the cotangent's lines */
    float *scale;          /* 2^power where that is plain */
    uint32_t *marks;       /* of the cotangent's lines, two words a warp */
    float *in, *cotangent; /* tiles */

    __device__ __forceinline__ gradient_shared(unsigned char *shared, int group) {
        unsigned char *const aligned = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
        boxes = aligned + group * box_bytes;
        unsigned char *const rest =
            aligned + GRADIENT_GROUPS * box_bytes + group * (word_bytes + 2 * state_bytes);
        in = reinterpret_cast<float *>(rest);
        cotangent = in + tile::elements;
        power = reinterpret_cast<int32_t *>(cotangent + tile::elements);
        scale = reinterpret_cast<float *>(power + PART);
        marks = reinterpret_cast<uint32_t *>(scale + PART);
    }
};

/* The cotangent's lines as the right operand; what stands there afterwards may be read behind a
 * barrier. */
template <bool LAST>
static __device__ __forceinline__ void split_cotangent(const gradient_shared<LAST> &s) {
    slice_numbers x;
    extremes found[2];
    take_slice<typename gradient_shared<LAST>::tile>(s.cotangent, 0, x);
    add_extremes(x, found);
    const line_powers lines(found);
    const slice_digits digits(x, lines);
    const int t = warp_lane() % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int line = own_line() + 8 * half;
#pragma unroll
        for (int g = 0; g < DIGITS; ++g)
#pragma unroll
            for (int i = 0; i < 2 * STEPS; ++i)
                *reinterpret_cast<uint32_t *>(s.boxes + g * PART * TENSOR_LINE_BYTES +
                                              box_place(line, 8 * i) + 4 * t) =
                    digits.word[g][i / 2][half + i % 2 * 2];
        const uint32_t marks = lines.marks(half);
        if (t == 0) {
            s.power[line] = lines.power[half];
            s.scale[line] = is_plain(lines.power[half]) ? plain_power(lines.power[half]) : 0;
        }
        if (warp_lane() == 0)
            s.marks[2 * group_warp() + half] = marks;
    }
    fence_proxy_async();
}

/* total[e] += x, whatever e is: totals stay in registers. */
template <int N> static __device__ __forceinline__ void add_to(float (&total)[N], int e, float x) {
#pragma unroll
    for (int i = 0; i < N; ++i)
        total[i] = i == e ? total[i] + x : total[i];
}

/* total[e] += e's chain over the tile, where its line or column has no digits. */
template <bool LAST>
static __device__ __forceinline__ void add_marked(const gradient_shared<LAST> &s,
                                                  const line_powers &lines, float (&total)[32]) {
    typedef typename gradient_shared<LAST>::tile tile;
#pragma unroll 1
    for (int e = 0; e < 32; ++e) {
        const int half = e % 4 / 2, line = own_line() + 8 * half, j = own_column(e / 4) + e % 2;
        if ((half == 0 ? lines.power[0] : lines.power[1]) != MARKED && s.power[j] != MARKED)
            continue;
        float sum = 0;
#pragma unroll 1
        for (int k = 0; k < SLICE; ++k)
            sum = fma_(s.in[tile::at(line, k)], s.cotangent[tile::at(j, k)], sum);
        add_to(total, e, sum);
    }
}

template <bool LAST>
static __global__ void __launch_bounds__(GRADIENT_GROUP_THREADS, 1)
    gradient_by_digits(digit_gradient p) {
    typedef typename gradient_shared<LAST>::tile tile;
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const int group = (int)threadIdx.x / GROUP;
    const gradient_shared<LAST> s(shared, group);
    const uint32_t across = (uint32_t)ceil_div(p.cotangent.extent, PART);
    const uint32_t parts = across * (uint32_t)ceil_div(p.in.extent, PART);
    const uint32_t part = blockIdx.x % parts, split = blockIdx.x / parts,
                   splits = gridDim.x / parts;
    const int i0 = (int)(part / across) * PART, j0 = (int)(part % across) * PART;
    const uint32_t step = splits * GRADIENT_GROUPS * LINES;
    const auto fetch = [&](uint32_t from) {
        if (from < p.axes.columns) {
            fetch_columns<LAST, PART>(p.axes, p.cotangent, from, j0, s.cotangent, tile::stride);
            fetch_columns<LAST, PART>(p.axes, p.in, from, i0, s.in, tile::stride);
        }
        cp_async_commit();
    };
    float total[32] = {};
    uint32_t first = (split + splits * (uint32_t)group) * LINES;
    fetch(first);
    for (; first < p.axes.columns; first += step) {
        cp_async_wait<0>();
        group_barrier(); /* and no product of the tile before is under way */
        split_cotangent(s);
        slice_numbers x;
        extremes found[2];
        take_slice<tile>(s.in, 0, x);
        add_extremes(x, found);
        const line_powers lines(found);
        const uint32_t own_marks = lines.marks(0) | lines.marks(1);
        group_barrier();
        uint32_t marks = own_marks;
#pragma unroll
        for (int w = 0; w < 8; ++w)
            marks |= s.marks[w];
        if (marks != 0)
            add_marked(s, lines, total);
        group_barrier();
        fetch(first + step);
        const slice_digits digits(x, lines);
        float sums[32];
        multiply_slice<PART>(digits, s.boxes, sums);
        const auto add = [&](int half, int i, float low, float high, bool, bool) {
            float *const to = total + 4 * i + 2 * half;
            to[0] += low;
            to[1] += high;
        };
        const bool plain_columns =
            __all_sync(0xffffffffu,
                       is_plain(s.power[warp_lane()]) && is_plain(s.power[warp_lane() + 32])) != 0;
        put_sums<PART>(sums, lines, s.power, s.scale, !plain_columns, add);
    }
    cp_async_wait<0>();
    /* Warpgroups hand their totals to the first one, which adds them in order. */
    __syncthreads();
    float *const totals = reinterpret_cast<float *>(shared);
    if (group > 0)
#pragma unroll
        for (int e = 0; e < 32; ++e)
            totals[((group - 1) * 32 + e) * GROUP + (int)threadIdx.x % GROUP] = total[e];
    __syncthreads();
    if (group > 0)
        return;
#pragma unroll
    for (int e = 0; e < 32; ++e) {
        float sum = total[e];
#pragma unroll
        for (int g = 0; g + 1 < GRADIENT_GROUPS; ++g)
            sum += totals[(g * 32 + e) * GROUP + (int)threadIdx.x];
        const int i = i0 + own_line() + 8 * (e % 4 / 2), j = j0 + own_column(e / 4) + e % 2;
        if (i < p.in.extent && j < p.cotangent.extent)
            p.partial[((int64_t)split * p.in.extent + i) * p.cotangent.extent + j] = sum;
    }
}

static inline int64_t gradient_parts(int64_t p, int64_t q) {
    return ceil_div(p, PART) * ceil_div(q, PART);
}

/* Partial gradients of a stage. */
static inline int64_t digit_splits(const stage &s, int64_t rows) {
    return clamp(ceil_div(rows * s.left * s.right, LINES), 1,
                 clamp(ASSAY_MULTIPROCESSORS / gradient_parts(s.p, s.q), 1, INT32_MAX));
}

template <bool LAST>
static assay_status launch_gradient(void *stream, const digit_gradient &p, int64_t splits) {
    return ASSAY_LAUNCH(stream,
                        whole_grid(splits * gradient_parts(p.in.extent, p.cotangent.extent)),
                        dim3(GRADIENT_GROUP_THREADS), (gradient_shared<LAST>::bytes),
                        (gradient_by_digits<LAST>), p);
}

static assay_status gradient_digits(void *stream, const digit_gradient &p, int64_t splits) {
    return p.axes.right > 1 ? launch_gradient<false>(stream, p, splits)
                            : launch_gradient<true>(stream, p, splits);
}

/* ---- the sums of all stages' partial gradients, in one launch ---- */

constexpr int MOST_SUMS = 16; /* of a launch */

struct partial_gradient {
    const float *partial; /* (splits, p, q) */
    int64_t splits, p, q;
    factor<float> dw;
};

struct partial_gradients {
    partial_gradient of[MOST_SUMS];
};

static __global__ void sum_gradients(partial_gradients all) {
    const partial_gradient &g = all.of[blockIdx.y];
    add_partials(g.partial, g.splits, g.p * g.q, g.dw.w, g.q, g.dw.row);
}

static assay_status launch_sum_gradients(void *stream, const partial_gradients &all,
                                         int32_t count) {
    int64_t largest = 0;
    for (int32_t i = 0; i < count; ++i)
        largest = larger(largest, all.of[i].p * all.of[i].q);
    dim3 grid = linear_grid(largest, PARTIALS_WIDTH);
    grid.y = (unsigned)count;
    return ASSAY_LAUNCH(stream, grid, dim3(PARTIALS_WIDTH, PARTIALS_LANES), 0, sum_gradients, all);
}

#endif
