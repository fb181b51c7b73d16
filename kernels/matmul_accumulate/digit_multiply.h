/*
 * A product in strict fp32 by digits: operands split (digits.h), six products of digits
 * (digit_tile.h), and v3's chains of multiply-adds for elements whose lines have no digits.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_DIGIT_MULTIPLY_H
#define ASSAY_MATMUL_ACCUMULATE_DIGIT_MULTIPLY_H

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

/* ---- the product ---- */

static assay_status make_map(const digit_lines &of, int64_t lines, tensor_map *map) {
    const tensor_lines all = {of.digits, of.padded, DIGITS * lines, of.padded, ROWS};
    return make_tensor_map(map, &all);
}

static assay_status launch_by_digits(void *stream, const product<float> &x, const digit_lines &left,
                                     const digit_lines &right) {
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
    assay_status status = make_map(left, x.m, &maps.left);
    if (status == ASSAY_OK)
        status = make_map(right, x.n, &maps.right);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(THREADS), DIGIT_SHARED,
                              multiply_by_digits, p, maps);
    return status;
}

static assay_status digit_multiply(const assay_call *call, const product<float> &asked) {
    const product<float> x = with_rows(asked);
    if (!has_digits(x))
        return multiply_strictly(call, asked);
    const digit_operands of = operands_of(x);
    char *const base = static_cast<char *>(call->workspace);
    size_t used = 0;
    const digit_lines left = place_digits(of.left, base, &used);
    const digit_lines right = place_digits(of.right, base, &used);
    assay_status status = split_operand(call->stream, of.left, left);
    if (status == ASSAY_OK)
        status = split_operand(call->stream, of.right, right);
    if (status == ASSAY_OK)
        status = launch_by_digits(call->stream, x, left, right);
    if (status == ASSAY_OK)
        status = multiply_marked_lines(call->stream, x, {left.power, right.power});
    return status;
}

/* Of workspace, for one product. */
static inline size_t digit_bytes(const product<float> &asked) {
    const product<float> x = with_rows(asked);
    const digit_operands of = operands_of(x);
    size_t used = 0;
    if (has_digits(x)) {
        (void)place_digits(of.left, NULL, &used);
        (void)place_digits(of.right, NULL, &used);
    }
    return used;
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
