/*
 * A persistent kernel for products in strict fp32: six products of bf16 digits (digits.h) by TMA
 * and wgmma.
 *
 * With a = a0 + a1 + a2 and b likewise, a·b is a1·b1 + a2·b0 + a0·b2 + a1·b0 + a0·b1 + a0·b0; what
 * is left out, a1·b2 + a2·b1 + a2·b2, is less than (1 + 2^-9) u |a·b|, u = 2^-24. The tensor core
 * cuts what it aligns, toward zero, so a slice of DEPTH products of each element begins with a sum
 * of 0, takes the small products first, and is then added to the total in fp32, to nearest.
 *
 * A block of three warpgroups computes 128 x 128 elements:
 *
 *     thread 0     fills a ring of two stages. A stage has three units, unit g digit g of both
 *                  operands' slices, (128, DEPTH) each
 *     the other    two warpgroups, 64 rows of the tile each
 *     256
 *
 * Each unit has an mbarrier that says it is full, and one, of an arrival of each warpgroup, that
 * says it is empty. Units are used up in the order 2, 1, 0: the third of a stage is free, and
 * filled anew, when half of its products are done.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGIT_TILE_H
#define ASSAY_MATMUL_ACCUMULATE_DIGIT_TILE_H

#include "kernels/matmul_accumulate/digits.h"
#include "kernels/matmul_accumulate/hopper_place.h"

constexpr int GROUP = 128; /* threads of a warpgroup */
constexpr int GROUPS = 2;  /* that multiply */
constexpr int THREADS = (1 + GROUPS) * GROUP;
constexpr int GROUP_ROWS = ROWS / GROUPS;
constexpr int COLUMNS = 128; /* of a tile */
constexpr int SUMS = COLUMNS / 2;
constexpr int DEPTH = TENSOR_BOX_LENGTH; /* of a slice of k */
constexpr int STEP = 16;                 /* of k, of a wgmma */
constexpr int RING = 2;                  /* stages */
constexpr int SIDE_BYTES = ROWS * TENSOR_LINE_BYTES;
constexpr int UNIT_BYTES = 2 * SIDE_BYTES;
constexpr int UNITS = RING * DIGITS;
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
struct digit_ring {
    unsigned char *units;
    int stage;
    uint32_t round; /* parity */

    __device__ __forceinline__ void next() {
        stage = (stage + 1) % RING;
        round ^= stage == 0;
    }
    __device__ __forceinline__ unsigned char *left(int g) const {
        return units + (stage * DIGITS + g) * UNIT_BYTES;
    }
    __device__ __forceinline__ unsigned char *right(int g) const {
        return left(g) + SIDE_BYTES;
    }
    __device__ __forceinline__ uint64_t *full(int g) const {
        return reinterpret_cast<uint64_t *>(units + UNITS * UNIT_BYTES) + stage * DIGITS + g;
    }
    __device__ __forceinline__ uint64_t *empty(int g) const {
        return full(g) + UNITS;
    }
};

static __device__ __forceinline__ digit_ring ring_in(unsigned char *shared) {
    return {shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT, 0, 0};
}

static __device__ __forceinline__ void make_barriers(digit_ring ring) {
    for (int s = 0; s < RING; ++s) {
        for (int g = 0; g < DIGITS; ++g) {
            mbarrier_init(ring.full(g), 1);
            mbarrier_init(ring.empty(g), GROUPS);
        }
        ring.next();
    }
    mbarriers_made();
}

/* ---- thread 0 ---- */

static __device__ __forceinline__ void fill_units(const digit_problem &p, const digit_maps &maps,
                                                  digit_ring ring) {
    each_tile<COLUMNS>(p.m, p.n, [&](hopper_place at) {
        for (int32_t slice = 0; slice < p.slices; ++slice) {
            for (int g = DIGITS - 1; g >= 0; --g) {
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
static __device__ __forceinline__ void multiply_digits(digit_ring ring, int group, int g, int h,
                                                       bool first, float (&sums)[SUMS]) {
    constexpr uint32_t step = STEP * sizeof(bf16) >> 4;
    const uint32_t rows = shared_address(ring.left(g)) + group * GROUP_ROWS * TENSOR_LINE_BYTES;
    const uint64_t left = wgmma_descriptor(rows, 0);
    const uint64_t right = wgmma_descriptor(shared_address(ring.right(h)), 0);
#pragma unroll
    for (int i = 0; i < DEPTH / STEP; ++i)
        wgmma_bf16<false, false>(sums, left + i * step, right + i * step, !first || i > 0);
}

/* One slice's products. A unit is free when the products behind its last one have begun. */
static __device__ __forceinline__ void multiply_slice(digit_ring ring, int group,
                                                      float (&sums)[SUMS]) {
    mbarrier_wait(ring.full(2), ring.round);
    mbarrier_wait(ring.full(1), ring.round);
    wgmma_fence();
    multiply_digits(ring, group, 1, 1, true, sums);
    mbarrier_wait(ring.full(0), ring.round);
    multiply_digits(ring, group, 2, 0, false, sums);
    multiply_digits(ring, group, 0, 2, false, sums);
    wgmma_commit();
    multiply_digits(ring, group, 1, 0, false, sums);
    multiply_digits(ring, group, 0, 1, false, sums);
    wgmma_commit();
    wgmma_wait<1>();
    release(ring.empty(2));
    multiply_digits(ring, group, 0, 0, false, sums);
    wgmma_commit();
    wgmma_wait<1>();
    release(ring.empty(1));
    wgmma_wait<0>();
    wgmma_results(sums);
    release(ring.empty(0));
}

/* This thread's elements of rows and columns that are not marked. */
static __device__ __forceinline__ void store_tile(const digit_problem &p, hopper_place at,
                                                  int group, const float (&total)[SUMS]) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x % GROUP / 32;
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
            if (right == MARKED)
                continue;
            const float sum = unscale(total[i / 2 * 4 + 2 * half + i % 2], left + right);
            float *out = p.out.data + (row * p.out.stride + column);
            *out = p.adds ? fmaf(p.times, sum, p.added.data[row * p.added.stride + column])
                          : p.times * sum;
        }
    }
}

static __device__ __forceinline__ void multiply_tiles_of(const digit_problem &p, int group,
                                                         digit_ring ring) {
    each_tile<COLUMNS>(p.m, p.n, [&](hopper_place at) {
        float total[SUMS] = {};
        for (int32_t slice = 0; slice < p.slices; ++slice) {
            float sums[SUMS];
            multiply_slice(ring, group, sums);
#pragma unroll
            for (int i = 0; i < SUMS; ++i)
                total[i] += sums[i];
            ring.next();
        }
        store_tile(p, at, group, total);
    });
}

static __global__ void __launch_bounds__(THREADS, 1)
    multiply_by_digits(const digit_problem p, const __grid_constant__ digit_maps maps) {
    ASSAY_DYNAMIC_SHARED(unsigned char, shared);
    const digit_ring ring = ring_in(shared);
    if (threadIdx.x == 0)
        make_barriers(ring);
    __syncthreads();
    if (threadIdx.x < GROUP) {
        registers_lower<FEW_REGISTERS>();
        if (threadIdx.x == 0)
            fill_units(p, maps, ring);
    } else {
        registers_raise<MANY_REGISTERS>();
        multiply_tiles_of(p, (int)threadIdx.x / GROUP - 1, ring);
    }
}

#endif
