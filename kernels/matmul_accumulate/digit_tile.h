/*
 * A persistent kernel for products in strict fp32 by digits (digits.h): TMA and wgmma. Its schemes
 * are in digit_products.h and half_products.h.
 *
 * A block of three warpgroups computes 128 x 128 elements:
 *
 *     thread 0     fills a ring of stages. A stage has a unit for each digit g: digit g of both
 *                  operands' slices, (128, DEPTH) each
 *     the other    two warpgroups, 64 rows of the tile each
 *     256
 *
 * Each unit has an mbarrier that says it is full, and one, of an arrival of each warpgroup, that
 * says it is empty.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGIT_TILE_H
#define ASSAY_MATMUL_ACCUMULATE_DIGIT_TILE_H

#include "kernels/matmul_accumulate/digits.h"

constexpr int GROUP = 128; /* threads of a warpgroup */
constexpr int GROUPS = 2;  /* that multiply */
constexpr int THREADS = (1 + GROUPS) * GROUP;
constexpr int GROUP_ROWS = ROWS / GROUPS;
constexpr int COLUMNS = 128; /* of a tile */
constexpr int SUMS = COLUMNS / 2;
constexpr int DEPTH = TENSOR_BOX_LENGTH; /* of a slice of k */
constexpr int STEP = 16;                 /* of k, of a wgmma */
constexpr int SIDE_BYTES = ROWS * TENSOR_LINE_BYTES;
constexpr int UNIT_BYTES = 2 * SIDE_BYTES;
constexpr int UNITS = 6;
constexpr int DIGIT_SHARED = TENSOR_ALIGNMENT + UNITS * (UNIT_BYTES + 2 * (int)sizeof(uint64_t));
/* 128 threads with few and 256 with many: what launch bounds leave for 384 threads. */
constexpr int FEW_REGISTERS = 40, MANY_REGISTERS = 232;
static_assert(COLUMNS == ROWS && DEPTH == SPAN, "both sides of a unit alike");
static_assert(DIGIT_SHARED <= ASSAY_MAX_SHARED, "the ring fits a block");

struct digit_maps {
    tensor_map left, right;
};

/* out = times left right + added, but for elements of marked lines. */
struct digit_problem {
    matrix<const float> added;
    matrix<float> out;
    const int32_t *left_power, *right_power;
    int64_t m, n;
    int32_t slices; /* of k */
    float times;
    bool adds;
};

/* Where a role is in the ring. */
template <typename Scheme> struct digit_ring {
    static constexpr int stages = UNITS / Scheme::digits;
    unsigned char *units;
    int stage;
    uint32_t round; /* parity */

    __device__ __forceinline__ void next() {
        if (++stage == stages) {
            stage = 0;
            round ^= 1;
        }
    }
    __device__ __forceinline__ unsigned char *left(int g) const {
        return units + (stage * Scheme::digits + g) * UNIT_BYTES;
    }
    __device__ __forceinline__ unsigned char *right(int g) const {
        return left(g) + SIDE_BYTES;
    }
    __device__ __forceinline__ uint64_t *full(int g) const {
        return reinterpret_cast<uint64_t *>(units + UNITS * UNIT_BYTES) + stage * Scheme::digits +
               g;
    }
    __device__ __forceinline__ uint64_t *empty(int g) const {
        return full(g) + UNITS;
    }
};

template <typename Scheme>
static __device__ __forceinline__ digit_ring<Scheme> ring_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT, 0, 0};
}

template <typename Scheme>
static __device__ __forceinline__ void make_barriers(digit_ring<Scheme> ring) {
    for (int s = 0; s < ring.stages; ++s) {
        for (int g = 0; g < Scheme::digits; ++g) {
            mbarrier_init(ring.full(g), 1);
            mbarrier_init(ring.empty(g), GROUPS);
        }
        ring.next();
    }
    mbarriers_made();
}

/* ---- which elements a launch computes ---- */

/* All of them. A choice says which tiles it wants, and takes a thread's elements by number. */
struct every_element {
    __device__ __forceinline__ bool wants(hopper_place) const {
        return true;
    }
    __device__ __forceinline__ void begin(hopper_place) {
    }
    __device__ __forceinline__ bool takes(int, int64_t, int64_t, float) {
        return true;
    }
    __device__ __forceinline__ void end(hopper_place) const {
    }
};

/* ---- thread 0 ---- */

template <typename Scheme, typename Choice>
static __device__ __forceinline__ void fill_units(const digit_problem &p, const digit_maps &maps,
                                                  const Choice &choice, digit_ring<Scheme> ring) {
    each_tile<COLUMNS>(p.m, p.n, [&](hopper_place at) {
        if (!choice.wants(at))
            return;
        for (int32_t slice = 0; slice < p.slices; ++slice) {
            for (int i = 0; i < Scheme::digits; ++i) {
                const int g = Scheme::in_order(i);
                mbarrier_wait(ring.empty(g), ring.round ^ 1);
                mbarrier_expect(ring.full(g), UNIT_BYTES);
                tensor_load(ring.left(g), &maps.left, slice * DEPTH, (int32_t)(g * p.m) + at.row,
                            ring.full(g));
                tensor_load(ring.right(g), &maps.right, slice * DEPTH,
                            (int32_t)(g * p.n) + at.column, ring.full(g));
            }
            ring.next();
        }
    });
}

/* ---- the warpgroups that multiply ---- */

static __device__ __forceinline__ void release(uint64_t *empty) {
    if (threadIdx.x % GROUP == 0)
        mbarrier_arrive(empty);
}

/* sums += digit g of the group's rows by digit h of the columns, a slice; or =, where it is the
 * first product. */
template <typename Scheme>
static __device__ __forceinline__ void multiply_digits(digit_ring<Scheme> ring, int group, int g,
                                                       int h, bool first, float (&sums)[SUMS]) {
    constexpr uint32_t step = STEP * sizeof(bf16) >> 4;
    const uint32_t rows = shared_address(ring.left(g)) + group * GROUP_ROWS * TENSOR_LINE_BYTES;
    const uint64_t left = wgmma_descriptor(rows, 0);
    const uint64_t right = wgmma_descriptor(shared_address(ring.right(h)), 0);
#pragma unroll
    for (int i = 0; i < DEPTH / STEP; ++i)
        wgmma<typename Scheme::digit, false, false>(sums, left + i * step, right + i * step,
                                                    !first || i > 0);
}

/* This thread's elements of rows and columns that are not marked, where the choice takes them. */
template <typename Scheme, typename Choice>
static __device__ __forceinline__ void store_tile(const digit_problem &p, hopper_place at,
                                                  int group, const float (&total)[SUMS],
                                                  Choice choice) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % GROUP / 32;
    choice.begin(at);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int64_t row = (int64_t)at.row + group * GROUP_ROWS + 16 * warp + lane / 4 + 8 * half;
        const int32_t left = row < p.m ? p.left_power[row] : MARKED;
        if (left == MARKED)
            continue;
#pragma unroll
        for (int i = 0; i < SUMS / 2; ++i) {
            const int64_t column = (int64_t)at.column + i / 2 * 8 + lane % 4 * 2 + i % 2;
            const int32_t right = column < p.n ? p.right_power[column] : MARKED;
            const float scaled = total[i / 2 * 4 + 2 * half + i % 2];
            if (right == MARKED || !choice.takes(half * SUMS / 2 + i, row, column, scaled))
                continue;
            const float sum = unscale(scaled, left + right + 2 * Scheme::shift);
            float *out = p.out.data + (row * p.out.stride + column);
            *out = p.adds ? fmaf(p.times, sum, p.added.data[row * p.added.stride + column])
                          : p.times * sum;
        }
    }
    choice.end(at);
}

template <typename Scheme, typename Choice>
static __device__ __forceinline__ void multiply_tiles_of(const digit_problem &p, int group,
                                                         const Choice &choice,
                                                         digit_ring<Scheme> ring) {
    each_tile<COLUMNS>(p.m, p.n, [&](hopper_place at) {
        if (!choice.wants(at))
            return;
        float total[SUMS] = {};
        multiply_slices(p.slices, group, ring, total);
        store_tile<Scheme>(p, at, group, total, choice);
    });
}

template <typename Scheme, typename Choice>
static __global__ void __launch_bounds__(THREADS, 1)
    multiply_by_digits(const digit_problem p, const __grid_constant__ digit_maps maps,
                       const Choice choice) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const digit_ring<Scheme> ring = ring_in<Scheme>(shared);
    if (threadIdx.x == 0)
        make_barriers(ring);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<FEW_REGISTERS>();
        if (threadIdx.x == 0)
            fill_units(p, maps, choice, ring);
    } else {
        registers_raise<MANY_REGISTERS>();
        multiply_tiles_of(p, (int)threadIdx.x / GROUP - 1, choice, ring);
    }
}

/* ---- the launch ---- */

template <typename Scheme>
static assay_status make_digit_map(const digit_lines<Scheme> &of, int64_t lines, tensor_map *map) {
    const tensor_lines all = {of.digits, of.padded, Scheme::digits * lines, of.padded, ROWS};
    return make_tensor_map(map, &all);
}

/* The products of lines that are split; multiply_slices() of the scheme's ring makes them. */
template <typename Scheme, typename Choice>
static assay_status launch_by_digits(void *stream, const product<float> &x,
                                     const digit_lines<Scheme> &left,
                                     const digit_lines<Scheme> &right, const Choice &choice) {
    const digit_problem p = {x.added,
                             x.out,
                             left.power,
                             right.power,
                             x.m,
                             x.n,
                             (int32_t)(left.padded / DEPTH),
                             (float)x.times,
                             x.added.data != NULL};
    const int64_t blocks = clamp(hopper_tiles<COLUMNS>(x.m, x.n), 0, ASSAY_MULTIPROCESSORS);
    digit_maps maps = {};
    assay_status status = make_digit_map(left, x.m, &maps.left);
    if (status == ASSAY_OK)
        status = make_digit_map(right, x.n, &maps.right);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(THREADS), DIGIT_SHARED,
                              (multiply_by_digits<Scheme, Choice>), p, maps, choice);
    return status;
}

#endif
