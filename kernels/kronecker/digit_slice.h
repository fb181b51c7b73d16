/*
 * Slices of a state as bf16 digits (kernels/common/bf16_digits.h), in the registers that a wgmma
 * takes its left operand from, and the six products of digits.
 *
 * A tile of a state in shared memory has LINES lines, each with the k of one sum: SLICES of SLICE.
 * A warpgroup's warp w and lane 4g + t take lines 16w + g and 16w + g + 8, and of each 16 k four.
 * Which four is free, as a wgmma adds its 16 products exactly before it rounds: those whose loads
 * meet no bank twice. The right operand has its k in the same order (`k_at`).
 */
#ifndef ASSAY_KRONECKER_DIGIT_SLICE_H
#define ASSAY_KRONECKER_DIGIT_SLICE_H

#include "kernels/common/bf16_digits.h"
#include "kernels/common/pack.h"
#include "kernels/common/tensor.h"

constexpr int GROUP = 128; /* threads of a warpgroup */
constexpr int LINES = 64;  /* of a tile; of a wgmma's left operand */
constexpr int SLICE = TENSOR_BOX_LENGTH;
constexpr int STEP = 16, STEPS = SLICE / STEP; /* of k, of a wgmma */
constexpr int PLAIN = 63; /* powers up to here: that of a sum is an fp32 number */

/* The tile in shared memory: lines with their k side by side, or k with the lines side by side.
 * Strides that are 16 or 8 more than a multiple of 32. */
template <bool K_INNER, int SLICES> struct line_tile {
    static constexpr bool k_inner = K_INNER;
    static constexpr int slices = SLICES, depth = SLICES * SLICE;
    static constexpr int stride = K_INNER ? depth + 16 : LINES + 8;
    static constexpr int elements = (K_INNER ? LINES : depth) * stride;

    static __device__ __forceinline__ int at(int line, int k) {
        return K_INNER ? line * stride + k : k * stride + line;
    }
};

/* Which k of a step stands at `place` among the 16 of a wgmma. */
template <bool K_INNER> static __device__ __forceinline__ int k_at(int place) {
    const int t = place % 8 / 2, e = place / 8 * 2 + place % 2;
    return K_INNER ? 4 * t + e : t + 4 * e;
}

static __device__ __forceinline__ int group_warp() {
    return (int)threadIdx.x % GROUP / 32;
}
static __device__ __forceinline__ int warp_lane() {
    return (int)threadIdx.x % 32;
}
/* A lane's line: the first of two that are 8 apart. */
static __device__ __forceinline__ int own_line() {
    return 16 * group_warp() + warp_lane() / 4;
}
/* Of its results: the first of two that are neighbours. */
static __device__ __forceinline__ int own_column(int i) {
    return 8 * i + warp_lane() % 4 * 2;
}
static __device__ __forceinline__ void group_barrier() {
    barrier_sync(1 + (int)threadIdx.x / GROUP, GROUP);
}

/* A lane's numbers of a slice. */
struct slice_numbers {
    float x[2][STEPS][4];
};

template <class Tile>
static __device__ __forceinline__ void take_slice(const float *tile, int slice, slice_numbers &to) {
    const int t = warp_lane() % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
            const int line = own_line() + 8 * half, k = slice * SLICE + s * STEP;
            if constexpr (Tile::k_inner) {
                const pack<float> p = load_whole(
                    reinterpret_cast<const pack<float> *>(tile + Tile::at(line, k + 4 * t)));
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    to.x[half][s][e] = p.v[e];
            } else {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    to.x[half][s][e] = tile[Tile::at(line, k + t + 4 * e)];
            }
        }
}

static __device__ __forceinline__ void add_extremes(const slice_numbers &x, extremes (&found)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
#pragma unroll
            for (int e = 0; e < 4; ++e)
                found[half].add(x.x[half][s][e]);
}

/* The powers of the lane's two lines, which four lanes have. */
struct line_powers {
    int32_t power[2];

    __device__ __forceinline__ explicit line_powers(extremes (&found)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            found[half].meet<4>();
            power[half] = power_of(found[half].largest, found[half].smallest);
        }
    }
    /* Bit 4 g + t of word `half`: line g + 8 half of the warp has no digits. */
    __device__ __forceinline__ uint32_t marks(int half) const {
        return __ballot_sync(0xffffffffu, power[half] == MARKED);
    }
};

static __device__ __forceinline__ bool is_plain(int32_t power) {
    return power >= -PLAIN && power <= PLAIN;
}

/* 2^power as fp32 has it: -126 <= power <= 127. */
static __device__ __forceinline__ float plain_power(int32_t power) {
    return __uint_as_float((uint32_t)(power + 127) << 23);
}

static __device__ __forceinline__ uint32_t two_digits(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
}

/* The digits of two scaled numbers, side by side. */
static __device__ __forceinline__ void split_two(float low, float high, uint32_t (&word)[DIGITS]) {
#pragma unroll
    for (int g = 0; g < DIGITS; ++g) {
        word[g] = two_digits(low, high);
        low -= __uint_as_float(word[g] << 16);
        high -= __uint_as_float(word[g] & 0xffff0000u);
    }
}

/* Multiplies numbers of a line by 2^-power, or by 0 if it is marked: exactly. Powers below -126
 * take two steps, as fp32 has no 2^127 and more behind 2^127. */
template <int N> static __device__ __forceinline__ void scale_line(int32_t power, float (&x)[N]) {
    constexpr int STEP_UP = 64;
    if (power < -126) {
#pragma unroll
        for (int i = 0; i < N; ++i)
            x[i] = power == MARKED ? 0 : x[i] * plain_power(STEP_UP);
        power = power == MARKED ? 0 : power + STEP_UP;
    }
    const float scale = plain_power(-power);
#pragma unroll
    for (int i = 0; i < N; ++i)
        x[i] *= scale;
}

/* A lane's digits of a slice, as wgmma takes them. */
struct slice_digits {
    uint32_t word[DIGITS][STEPS][4];

    __device__ __forceinline__ slice_digits(slice_numbers &of, const line_powers &powers) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float x[STEPS * 4];
#pragma unroll
            for (int i = 0; i < STEPS * 4; ++i)
                x[i] = of.x[half][i / 4][i % 4];
            scale_line(powers.power[half], x);
#pragma unroll
            for (int i = 0; i < STEPS * 2; ++i) {
                uint32_t pair[DIGITS];
                split_two(x[2 * i], x[2 * i + 1], pair);
#pragma unroll
                for (int g = 0; g < DIGITS; ++g)
                    word[g][i / 2][half + i % 2 * 2] = pair[g];
            }
        }
    }
};

/* ---- the right operand: boxes of COLUMNS lines and SLICE of k, digit by digit ---- */

/* Where a box's 16 bytes of eight places of k from `place` on lie. */
static __device__ __forceinline__ int box_place(int line, int place) {
    return line * TENSOR_LINE_BYTES + ((place / 8 ^ line % 8) * 16);
}

/* Starts sums = the slice's digits times those of the right operand: small products first, as
 * docs/numerics.md asks. `boxes`: three, digit 0 first. Until finish_slice() the digits stay as
 * they are. SWAPPED: in the order that has the bits of the operands in each other's place. */
template <int COLUMNS, bool SWAPPED = false>
static __device__ __forceinline__ void
start_slice(const slice_digits &left, const unsigned char *boxes, float (&sums)[COLUMNS / 2]) {
    constexpr uint32_t box = COLUMNS * TENSOR_LINE_BYTES >> 4, step = STEP * sizeof(bf16) >> 4;
    constexpr int of_left[] = {1, 2, 0, 1, 0, 0}, of_right[] = {1, 0, 2, 0, 1, 0};
    const uint64_t right = wgmma_descriptor(shared_address(boxes), 0);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < 6; ++i)
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            wgmma<bf16, false>(sums, left.word[SWAPPED ? of_right[i] : of_left[i]][s],
                               right + (SWAPPED ? of_left[i] : of_right[i]) * box + s * step,
                               i + s > 0);
    wgmma_commit();
}

template <int WORDS> static __device__ __forceinline__ void finish_slice(float (&sums)[WORDS]) {
    wgmma_wait<0>();
    wgmma_results(sums);
}

template <int COLUMNS>
static __device__ __forceinline__ void
multiply_slice(const slice_digits &left, const unsigned char *boxes, float (&sums)[COLUMNS / 2]) {
    start_slice<COLUMNS>(left, boxes, sums);
    finish_slice(sums);
}

#endif
