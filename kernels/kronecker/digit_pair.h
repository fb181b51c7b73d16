/*
 * The last two modes of a layer in one pass, both of 64 to 64: a warpgroup's tile is the 64 x 64
 * elements that they mix. The first product's results go from registers to shared memory, as
 * numbers, and come back as the second one's lines. LAST: the last mode comes first; in backward,
 * where cotangents go the other way, it comes second. KEEPS: the state between the modes goes to
 * memory, too, which backward wants. Forward does without those instructions: a tile's are more
 * than the caches of instructions hold.
 */
#ifndef ASSAY_KRONECKER_DIGIT_PAIR_H
#define ASSAY_KRONECKER_DIGIT_PAIR_H

#include "kernels/kronecker/digit_contract.h"

constexpr int PAIR_GROUPS = 3, PAIR_THREADS = PAIR_GROUPS * GROUP;

typedef line_tile<false, 1> pair_between;
typedef factor_boxes<1, 64> pair_boxes;
typedef fetched_factor<1, 64> pair_numbers;

/* Tiles are units of (row, left), 64 columns of the last mode each. */
struct digit_pair {
    digit_axes axes;    /* of the last mode */
    digit_axes in_axes; /* of the mode that comes first, the last one but in backward */
    digit_state<const float> in;
    digit_state<float> between; /* the state between the modes; with KEEPS alone */
    digit_state<float> out;
    factor<const float> w[2];
};

constexpr int PAIR_BOXES = (pair_boxes::bytes + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT *
                           TENSOR_ALIGNMENT; /* of one factor */
template <bool LAST>
constexpr int PAIR_TILE = line_tile<LAST, 1>::elements + pair_between::elements;
template <bool LAST>
constexpr size_t PAIR_SHARED = TENSOR_ALIGNMENT + 2 * PAIR_BOXES +
                               PAIR_GROUPS *PAIR_TILE<LAST> * sizeof(float);
static_assert(PAIR_SHARED<true> <= ASSAY_MAX_SHARED, "two factors and the tiles fit a block");

/* One of the two products: of the lines in `tile` by the factor in `boxes`. Calls `free` when the
 * tile has been read. */
template <class Tile, typename Free, typename Put, typename PutMarked>
static __device__ __forceinline__ void multiply_lines(const float *tile, const pair_boxes &boxes,
                                                      const factor<const float> &w,
                                                      const factor_kind &kind, const Free &free,
                                                      const Put &put, const PutMarked &put_marked) {
    slice_numbers x;
    extremes found[2];
    take_slice<Tile>(tile, 0, x);
    add_extremes(x, found);
    const line_powers lines(found);
    multiply_marked<Tile, 64>(tile, {w, 64, 64, 0}, lines, boxes.power(), kind.marked, put_marked);
    free();
    const slice_digits digits(x, lines);
    float sums[32];
    multiply_slice<64>(digits, boxes.boxes, sums);
    put_sums<64>(sums, lines, boxes.power(), boxes.scale(), kind.odd, put);
}

/* Two neighbours, by one access where that is aligned. */
static __device__ __forceinline__ void put_two(float *to, float low, float high, bool has_low,
                                               bool has_high, bool pairs) {
    if (pairs && has_low && has_high) {
        *reinterpret_cast<float2 *>(to) = make_float2(low, high);
        return;
    }
    if (has_low)
        to[0] = low;
    if (has_high)
        to[1] = high;
}

/* Two neighbours of a line's results, in 64 x 64 elements of global memory whose inner axis is that
 * of the columns or that of the lines. */
template <bool COLUMNS_INNER>
static __device__ __forceinline__ void put_near(float *to, int line, int j, float low, float high,
                                                bool has_low, bool has_high, bool pairs) {
    if (COLUMNS_INNER) {
        put_two(to + line * 64 + j, low, high, has_low, has_high, pairs);
        return;
    }
    if (has_low)
        to[j * 64 + line] = low;
    if (has_high)
        to[(j + 1) * 64 + line] = high;
}

template <bool LAST, bool KEEPS>
static __global__ void __launch_bounds__(PAIR_THREADS, 1) contract_pair(digit_pair p) {
    typedef line_tile<LAST, 1> pair_in;
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    unsigned char *const aligned = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    const pair_boxes boxes[2] = {{aligned}, {aligned + PAIR_BOXES}};
    const uint32_t group = threadIdx.x / GROUP, step = gridDim.x * PAIR_GROUPS * LINES;
    float *const tile =
        reinterpret_cast<float *>(aligned + 2 * PAIR_BOXES) + group * (uint32_t)PAIR_TILE<LAST>;
    float *const between = tile + pair_in::elements;
    uint32_t first = (blockIdx.x + gridDim.x * group) * LINES;
    const auto fetch = [&](uint32_t from) {
        if (from < p.axes.columns)
            fetch_columns<LAST, 64>(p.in_axes, p.in, from, 0, tile, pair_in::stride);
        cp_async_commit();
    };
    for (int i = 0; i < 2; ++i)
        fetch_factor<1, 64, PAIR_THREADS>({p.w[i], 64, 64, 0}, boxes[i]);
    cp_async_commit();
    fetch(first);
    cp_async_wait<1>();
    const factor_kind kinds[2] = {
        split_factor<1, 64, LAST, PAIR_THREADS>(boxes[0], pair_numbers{boxes[0].raw()}),
        split_factor<1, 64, false, PAIR_THREADS>(boxes[1], pair_numbers{boxes[1].raw()})};
    for (; first < p.axes.columns; first += step) {
        cp_async_wait<0>();
        group_barrier(); /* and all have left `between` */
        float *const kept =
            KEEPS ? p.between.data + column_at<true>(p.axes, p.between, first) : NULL;
        multiply_lines<pair_in>(
            tile, boxes[0], p.w[0], kinds[0],
            [&] {
                group_barrier();
                fetch(first + step);
            },
            [&](int half, int i, float low, float high, bool has_low, bool has_high) {
                const int line = own_line() + 8 * half, j = own_column(i);
                put_two(between + pair_between::at(j, line), low, high, has_low, has_high, true);
                if constexpr (KEEPS)
                    put_near<LAST>(kept, line, j, low, high, has_low, has_high, p.between.pairs);
            },
            [&](int line, int j, float sum) {
                between[pair_between::at(j, line)] = sum;
                if constexpr (KEEPS)
                    kept[LAST ? line * 64 + j : j * 64 + line] = sum;
            });
        group_barrier();
        float *const out = p.out.data + column_at<true>(p.axes, p.out, first);
        multiply_lines<pair_between>(
            between, boxes[1], p.w[1], kinds[1], [] {},
            [&](int half, int i, float low, float high, bool has_low, bool has_high) {
                put_near<!LAST>(out, own_line() + 8 * half, own_column(i), low, high, has_low,
                                has_high, p.out.pairs);
            },
            [&](int line, int j, float sum) { out[LAST ? j * 64 + line : line * 64 + j] = sum; });
    }
}

template <bool LAST, bool KEEPS>
static assay_status launch_pair(void *stream, const digit_pair &p) {
    const int64_t blocks = clamp(p.axes.columns / LINES, 0, ASSAY_MULTIPROCESSORS);
    return ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(PAIR_THREADS), (PAIR_SHARED<LAST>),
                        (contract_pair<LAST, KEEPS>), p);
}

#endif
