/*
 * What products by digits have in common: which they are, the lines of their operands, and v3's
 * chains of multiply-adds for elements whose lines have no digits.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_MARKED_LINES_H
#define ASSAY_MATMUL_ACCUMULATE_MARKED_LINES_H

#include "kernels/matmul_accumulate/digit_tile.h"
#include "kernels/matmul_accumulate/v3_fma.h"

enum {
    /* Lines of all digits of an operand, and coordinates of a box that begins in the last tile. */
    MOST_LINES = (INT32_MAX - 1024) / DIGITS,
};

static const int32_t tiles_of_digits[] = {ROWS, DEPTH, REACH, FEWEST_K, fma_large::rows, 0};

static bool has_digits(const product<float> &x) {
    return x.m > 0 && x.n > 0 && x.k >= FEWEST_K && x.m <= MOST_LINES && x.n <= MOST_LINES &&
           x.k <= MOST_LINES;
}

/* Columns of the right operand are the rows of its transpose. */
struct digit_operands {
    digit_operand left, right;
};

static digit_operands operands_of(const product<float> &x) {
    return {{x.left, x.m, x.k}, {transpose(x.right), x.n, x.k}};
}

/* ---- elements of marked lines ---- */

struct marks {
    const int32_t *left_power, *right_power;

    __device__ __forceinline__ bool operator()(int64_t row, int64_t column) const {
        return left_power[row] == MARKED || right_power[column] == MARKED;
    }
};

/* v3's tile of the result, if a line of it is marked. */
template <typename Tile, bool LEFT_K, bool RIGHT_K>
static __global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    multiply_marked(problem<float> p, marks marked) {
    ASSAY_DYNAMIC_SHARED(float, shared);
    const tile_place at = place_of<Tile::rows, Tile::columns>(blockIdx.x, p.m, p.n);
    static_assert(Tile::rows <= Tile::threads && Tile::columns <= Tile::threads,
                  "a thread looks at a line of either operand");
    const int thread = (int)threadIdx.x;
    const int64_t row = at.row + thread, column = at.column + thread;
    const bool mine =
        (thread < Tile::rows && row < p.m && marked.left_power[row] == MARKED) ||
        (thread < Tile::columns && column < p.n && marked.right_power[column] == MARKED);
    if (!__syncthreads_or(mine))
        return;
    fma_result<Tile> result(at);
    total_tile<Tile, LEFT_K, RIGHT_K>(p, at, shared, [&] { result.read(p); });
    result.store(p, shared, marked);
}

template <bool LEFT_K, bool RIGHT_K>
static assay_status launch_marked(void *stream, const problem<float> &p, const marks &marked) {
    typedef fma_large tile;
    return ASSAY_LAUNCH(stream, whole_grid(fma_tiles<tile>(p.m, p.n)), dim3(tile::threads),
                        tile::bytes, (multiply_marked<tile, LEFT_K, RIGHT_K>), p, marked);
}

static assay_status multiply_marked_lines(void *stream, const product<float> &x,
                                          const marks &marked) {
    const problem<float> p = problem_of(x);
    if (!x.left.transposed)
        return x.right.transposed ? launch_marked<true, true>(stream, p, marked)
                                  : launch_marked<true, false>(stream, p, marked);
    return x.right.transposed ? launch_marked<false, true>(stream, p, marked)
                              : launch_marked<false, false>(stream, p, marked);
}

/* Whether `name`, "op/variant", can do the call at all. */
static inline assay_status digit_supports(const char *name, const assay_call *call) {
    if (call->params->dtype != ASSAY_F32 || call->params->math == ASSAY_TF32)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s: strict f32 alone, not %s%s; v3 takes all",
                          name, assay_dtype_name(call->params->dtype),
                          call->params->math == ASSAY_TF32 ? " as TF32" : "");
    return require_hopper(name);
}

#endif
