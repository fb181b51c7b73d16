/*
 * The plan of kronecker v3_tensor, made on the host from shapes alone. All factors are squares of
 * one power of two, so that every extent and distance is one as well.
 *
 * A pass has some consecutive modes of a layer. Its tile, in shared memory, has all extents of
 * these modes for `units` consecutive places of (row, left) and `columns` consecutive places of
 * right; columns is 1 where right is, else at least 8.
 */
#ifndef ASSAY_KRONECKER_TENSOR_PLAN_H
#define ASSAY_KRONECKER_TENSOR_PLAN_H

#include "kernels/kronecker/stages.h"
#include "kernels/kronecker/walk.h"

constexpr int BLOCK_COLUMNS = 8;
constexpr int MOST_PASS_MODES = 5;
constexpr int WANTED_RUN = 64; /* columns: 128 bytes of bf16 */

static __host__ __device__ __forceinline__ constexpr int log2_of(int64_t n) {
    int log = 0;
    while ((int64_t)1 << log < n)
        ++log;
    return log;
}

/* Extents that there are kernels for. In TF32 v3's, in strict fp32, are as fast where extents are
 * small, and v3_bf16x6's are faster at 128. */
template <typename T> constexpr int least_extent() {
    return sizeof(T) == sizeof(float) ? 32 : 8;
}
template <typename T> constexpr int most_extent() {
    return sizeof(T) == sizeof(float) ? 64 : 128;
}

/* Modes of a pass at most: those whose tiles, two in backward, fit a block. */
template <typename T>
static __host__ __device__ __forceinline__ constexpr int most_modes(int extent, bool backward) {
    if (sizeof(T) == sizeof(float))
        return extent == 32 && !backward ? 3 : 2;
    return extent == 8 ? MOST_PASS_MODES : extent == 16 ? (backward ? 3 : 4) : extent == 32 ? 3 : 2;
}

/* Elements of a tile, if there are so many; a pass may ask for more. */
template <typename T> static inline int64_t wanted_elements(int extent, bool backward) {
    const bool is_float = sizeof(T) == sizeof(float);
    const bool large = backward ? is_float || extent == 128 : !is_float && extent < 128;
    return (large ? 65536 : 32768) / (int64_t)sizeof(T);
}

struct tensor_pass {
    int32_t first, modes; /* its stages in the chain */
    int32_t log_columns, log_units;
    int64_t rows, left, right;
    int64_t chunks, tiles; /* along right; all */
};

struct tensor_plan {
    int32_t extent, count;
    tensor_pass pass[MAX_STAGES];
};

/* Whether v3_tensor has kernels for a chain. */
template <typename T> static inline bool takes_tensor(const chain &c) {
    const int64_t extent = c.stages[0].p;
    bool all = c.modes > 1 && extent >= least_extent<T>() && extent <= most_extent<T>() &&
               (extent & (extent - 1)) == 0;
    for (int32_t i = 0; i < c.count; ++i)
        all = all && c.stages[i].p == extent && c.stages[i].q == extent;
    return all;
}

template <typename T>
static inline tensor_pass tensor_pass_of(const chain &c, int32_t first, int32_t modes,
                                         bool backward) {
    const int extent = (int)c.stages[0].p, log_unit = log2_of(extent) * modes;
    const int64_t most = larger((int64_t)1 << log_unit, wanted_elements<T>(extent, backward));
    tensor_pass p = {
        first, modes, 0, 0, c.rows, c.stages[first + modes - 1].left, c.stages[first].right, 0, 0};
    if (p.right > 1)
        p.log_columns = log2_of(
            clamp(most >> log_unit, BLOCK_COLUMNS, p.right < WANTED_RUN ? p.right : WANTED_RUN));
    p.chunks = p.right >> p.log_columns;
    const int64_t units =
        p.left > 1 ? p.left : larger(ceil_div(c.rows * p.chunks, 2 * ASSAY_MULTIPROCESSORS), 1);
    while ((int64_t)2 << p.log_units <= units &&
           (int64_t)2 << (p.log_units + log_unit + p.log_columns) <= most)
        ++p.log_units;
    p.tiles = ceil_div(c.rows * p.left, (int64_t)1 << p.log_units) * p.chunks;
    return p;
}

/* A layer's modes in as few passes as there may be, of like size. */
template <typename T> static inline tensor_plan plan_tensor(const chain &c, assay_stage direction) {
    const bool backward = direction == ASSAY_BACKWARD;
    tensor_plan made = {(int32_t)c.stages[0].p, 0, {}};
    const int32_t passes = (int32_t)ceil_div(c.modes, most_modes<T>(made.extent, backward));
    for (int32_t layer = 0; layer < c.layers; ++layer)
        for (int32_t i = 0, mode = 0; i < passes; ++i) {
            const int32_t modes = (int32_t)ceil_div(c.modes - mode, passes - i);
            made.pass[made.count++] = tensor_pass_of<T>(c, layer * c.modes + mode, modes, backward);
            mode += modes;
        }
    return made;
}

static inline walk walk_of_tensor(const chain &c, const tensor_plan &made) {
    return {made.count, c.rows, made.count > 1 ? size_before(c.stages[0]) : 0};
}

#endif
