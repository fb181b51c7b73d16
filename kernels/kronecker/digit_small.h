/*
 * The last two modes of a layer in one launch, where there are too few rows for all multiprocessors
 * to take 64 columns each. Both mix a unit of the state:
 *
 *     T[i, j] = sum over e of in[i, e] V[e, j],    out[a, j] = sum over i of T[i, j] W[i, a]
 *
 * A block makes SMALL_COLUMNS columns of a unit's T, all of their i, so that it needs nothing of
 * other blocks for the same columns of out. T goes from registers to shared memory, as numbers, and
 * is then the right operand; W's columns are the lines, which come from registers. Both factors and
 * the unit are copied at once, 16 bytes at a time, and a block makes the digits of W for itself
 * alone.
 */
#ifndef ASSAY_KRONECKER_DIGIT_SMALL_H
#define ASSAY_KRONECKER_DIGIT_SMALL_H

#include "kernels/kronecker/digit_contract.h"

constexpr int SMALL_COLUMNS = 32, SMALL_GROUPS = 2, SMALL_THREADS = SMALL_GROUPS * GROUP;

struct digit_small {
    digit_axes axes; /* of the last mode */
    digit_state<const float> in;
    factor<const float> w[2]; /* of the last mode and of the one in front of it */
    int32_t p[2], q[2];
    state<float> out;
    uint32_t left; /* units of a row */
    bool pairs;    /* neighbours of a result may be stored by one access */
};

typedef line_tile<true, 2> small_tile;
typedef line_tile<false, 2> small_lines;
typedef factor_boxes<2, SMALL_COLUMNS> small_boxes;

/* Numbers of a right operand in shared memory, the columns of a k side by side, as copies of 16
 * bytes bring the factor's, or the k of a column. Strides that are 4 more than a multiple of 32, so
 * that lanes' 16 bytes of neighbouring columns meet no bank twice. */
template <bool K_BESIDE> struct small_numbers {
    static constexpr int depth = 2 * SLICE, stride = (K_BESIDE ? depth : SMALL_COLUMNS) + 4;
    static constexpr int elements = (K_BESIDE ? SMALL_COLUMNS : depth) * stride;
    float *data;

    static __device__ __forceinline__ int at(int column, int k) {
        return K_BESIDE ? column * stride + k : k * stride + column;
    }
    template <bool K_INNER>
    __device__ __forceinline__ void take(int column, int first, float (&x)[STEP]) const {
        const float *const from = data + at(column, first);
        if constexpr (K_BESIDE) {
            float k[STEP];
#pragma unroll
            for (int i = 0; i < STEP; i += 4) {
                const pack<float> four =
                    load_whole(reinterpret_cast<const pack<float> *>(from + i));
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    k[i + e] = four.v[e];
            }
#pragma unroll
            for (int place = 0; place < STEP; ++place)
                x[place] = k[k_at<K_INNER>(place)];
        } else {
#pragma unroll
            for (int place = 0; place < STEP; ++place)
                x[place] = from[k_at<K_INNER>(place) * stride];
        }
    }
};
typedef small_numbers<false> small_factor;
typedef small_numbers<true> small_between; /* T */
static_assert(small_factor::elements * (int)sizeof(float) <= small_boxes::box_bytes,
              "numbers fit where boxes will be");

constexpr int SMALL_BOXES =
    (small_boxes::bytes + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
constexpr size_t SMALL_SHARED =
    TENSOR_ALIGNMENT + 2 * SMALL_BOXES +
    (small_between::elements + SMALL_GROUPS * (small_tile::elements + small_lines::elements)) *
        sizeof(float);
static_assert(SMALL_SHARED <= ASSAY_MAX_SHARED, "two factors and a unit fit a block");

/* Threads `thread` of THREADS start to copy COLUMNS columns of a factor, 16 bytes of a k's at a
 * time if those are aligned, zeros beyond its extents. A k's columns lie side by side, in global
 * memory and in `to`, where k are `stride` apart. */
template <int COLUMNS, int THREADS>
static __device__ __forceinline__ void fetch_beside(const factor_part &of, int thread, float *to,
                                                    int stride) {
    const bool packs = (reinterpret_cast<uintptr_t>(of.w.w) / sizeof(float) | (uint64_t)of.w.row |
                        (uint64_t)of.q) %
                           4 ==
                       0;
#pragma unroll 4
    for (int e = thread; e < 2 * SLICE * COLUMNS / 4; e += THREADS) {
        const int k = e / (COLUMNS / 4), column = e % (COLUMNS / 4) * 4;
        float *const four = to + k * stride + column;
        if (packs) {
            const bool there = of.has(k, column);
            cp_async_16(four, there ? of.at(k, column) : of.w.w, there ? 16 : 0);
            continue;
        }
        for (int i = 0; i < 4; ++i) {
            const bool there = of.has(k, column + i);
            cp_async_4(four + i, there ? of.at(k, column + i) : of.w.w, there ? 4 : 0);
        }
    }
}

/* total = the lines' sums with the boxes' columns; takes both slices from registers. SWAPPED: the
 * lines are the factor's. */
template <bool SWAPPED>
static __device__ __forceinline__ void
multiply_small(slice_numbers (&x)[2], const line_powers &lines, const small_boxes &boxes,
               float (&total)[SMALL_COLUMNS / 2]) {
    float sums[SMALL_COLUMNS / 2];
    const slice_digits first(x[0], lines);
    start_slice<SMALL_COLUMNS, SWAPPED>(first, boxes.slice(0), total);
    const slice_digits second(x[1], lines);
    start_slice<SMALL_COLUMNS, SWAPPED>(second, boxes.slice(1), sums);
    finish_slice(total);
    wgmma_results(sums);
#pragma unroll
    for (int i = 0; i < SMALL_COLUMNS / 2; ++i)
        total[i] += sums[i];
}

template <class Tile>
static __device__ __forceinline__ line_powers take_lines(const float *tile, slice_numbers (&x)[2]) {
    extremes found[2];
#pragma unroll
    for (int s = 0; s < 2; ++s) {
        take_slice<Tile>(tile, s, x[s]);
        add_extremes(x[s], found);
    }
    return line_powers(found);
}

static __global__ void __launch_bounds__(SMALL_THREADS, 1) contract_small(digit_small p) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const aligned = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    const small_boxes boxes = {aligned}, right = {aligned + SMALL_BOXES};
    const small_between between = {reinterpret_cast<float *>(aligned + 2 * SMALL_BOXES)};
    const int group = (int)threadIdx.x / GROUP, own = group * LINES;
    float *const tile = between.data + small_between::elements + group * small_tile::elements;
    float *const factor_lines = between.data + small_between::elements +
                                SMALL_GROUPS * small_tile::elements + group * small_lines::elements;
    const uint32_t parts = (uint32_t)ceil_div(p.q[0], SMALL_COLUMNS);
    const uint32_t unit = blockIdx.x / parts;
    const int first = (int)(blockIdx.x % parts) * SMALL_COLUMNS;
    const factor_part w = {p.w[0], p.p[0], p.q[0], first};

    if (first + SMALL_COLUMNS > p.q[0]) /* columns that no one puts, should a line be marked */
        for (int e = (int)threadIdx.x; e < small_between::elements; e += SMALL_THREADS)
            between.data[e] = 0;
    fetch_beside<SMALL_COLUMNS, SMALL_THREADS>(w, (int)threadIdx.x, boxes.raw(),
                                               small_factor::stride);
    cp_async_commit();
    fetch_columns<true, small_tile::depth>(p.axes, p.in, unit * (uint32_t)p.p[1] + (uint32_t)own, 0,
                                           tile, small_tile::stride);
    cp_async_commit();
    fetch_beside<LINES, GROUP>({p.w[1], p.p[1], p.q[1], own}, (int)threadIdx.x % GROUP,
                               factor_lines, small_lines::stride);
    cp_async_commit();
    cp_async_wait<2>();
    const factor_kind kind =
        split_factor<2, SMALL_COLUMNS, true, SMALL_THREADS>(boxes, small_factor{boxes.raw()});
    cp_async_wait<1>();
    group_barrier();
    slice_numbers x[2];
    float total[SMALL_COLUMNS / 2];
    const uint32_t row = unit / p.left, place = unit - row * p.left;
    {
        const line_powers lines = take_lines<small_tile>(tile, x);
        const auto put = [&](int line, int j, float sum) {
            between.data[small_between::at(j, own + line)] = own + line < p.p[1] ? sum : 0;
        };
        multiply_small<false>(x, lines, boxes, total);
        put_sums<SMALL_COLUMNS>(
            total, lines, boxes.power(), boxes.scale(), kind.odd,
            [&](int half, int i, float low, float high, bool has_low, bool has_high) {
                if (has_low)
                    put(own_line() + 8 * half, own_column(i), low);
                if (has_high)
                    put(own_line() + 8 * half, own_column(i) + 1, high);
            });
        multiply_marked<small_tile, SMALL_COLUMNS>(tile, w, lines, boxes.power(), kind.marked, put);
    }
    cp_async_wait<0>();
    group_barrier();
    const line_powers lines = take_lines<small_lines>(factor_lines, x);
    const factor_kind kinds = split_factor<2, SMALL_COLUMNS, false, SMALL_THREADS>(right, between);
    multiply_small<true>(x, lines, right, total);
    float *const out = p.out.data + row * p.out.stride + (int64_t)place * p.q[0] * p.q[1];
    const int width = p.q[0] - first; /* columns that there are */
    const auto put = [&](int line, int j, float sum) {
        if (own + line < p.q[1] && j < width)
            out[(own + line) * p.q[0] + first + j] = sum;
    };
    put_sums<SMALL_COLUMNS>(
        total, lines, right.power(), right.scale(), kinds.odd,
        [&](int half, int i, float low, float high, bool has_low, bool has_high) {
            const int line = own_line() + 8 * half, j = own_column(i);
            if (p.pairs && has_low && has_high && own + line < p.q[1] && j + 1 < width) {
                *reinterpret_cast<float2 *>(out + (own + line) * p.q[0] + first + j) =
                    make_float2(low, high);
                return;
            }
            if (has_low)
                put(line, j, low);
            if (has_high)
                put(line, j + 1, high);
        });
    multiply_marked<small_lines, SMALL_COLUMNS>(
        factor_lines, {{between.data, 1, small_between::stride}, p.p[1], width, 0}, lines,
        right.power(), kinds.marked, put);
}

static assay_status launch_small(void *stream, const digit_small &p) {
    const int64_t units = p.axes.columns / (uint32_t)p.p[1];
    return ASSAY_LAUNCH(stream, whole_grid(units * ceil_div(p.q[0], SMALL_COLUMNS)),
                        dim3(SMALL_THREADS), SMALL_SHARED, contract_small, p);
}

#endif
