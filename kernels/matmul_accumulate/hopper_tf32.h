/*
 * A product in TF32 on Hopper: which tiles of hopper_tf32_tile.h, and which operands are copied for
 * them. v3_hopper.cu tells how; the operator linear uses it as well.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_TF32_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_TF32_H

#include "kernels/matmul_accumulate/hopper_tf32_tile.h"
#include "kernels/matmul_accumulate/hopper_turn.h"
#include "kernels/matmul_accumulate/v3_multiply.h"

typedef tf32_tile<256, 4> tf32_wide_tile;
typedef tf32_tile<192, 5> tf32_middle_tile;
typedef tf32_tile<128, 6> tf32_narrow_tile;
typedef tf32_tile<64, 8> tf32_thin_tile;
typedef tf32_tile<256, 4, true> tf32_mixed_tile;

constexpr int64_t TF32_WORDS = 2; /* of 16 bits in a number */

/* ---- operands ---- */

/* Which operands of x, whose result's rows are rows in memory, are copied, with lines along k. */
struct tf32_copies {
    bool left, right;
};

static inline bool tf32_left_k(const product<float> &x, const tf32_copies &c) {
    return !x.left.transposed || c.left;
}

static inline bool tf32_right_k(const product<float> &x, const tf32_copies &c) {
    return x.right.transposed || c.right;
}

/* Those whose lines do not begin at multiples of 16 bytes, and one where no lines are along k. */
static inline tf32_copies tf32_copies_of(const product<float> &x) {
    tf32_copies c = {!has_packed_stride(lines_of(x.left, x.m, x.k)),
                     !has_packed_stride(lines_of(x.right, x.k, x.n))};
    if (!tf32_left_k(x, c) && !tf32_right_k(x, c))
        (x.m <= x.n ? c.left : c.right) = true;
    return c;
}

/* A copy's, in numbers. */
static inline int64_t tf32_stride(int64_t k) {
    return packed_stride(k * TF32_WORDS) / TF32_WORDS;
}

static inline size_t tf32_copy_bytes(int64_t rows, int64_t k) {
    const size_t bytes = (size_t)(rows * tf32_stride(k)) * sizeof(float);
    return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

static inline bool tf32_fits(const product<float> &x) {
    constexpr int64_t most = MOST_EXTENT / TF32_WORDS;
    return x.m > 0 && x.n > 0 && x.k > 0 && x.m <= most && x.n <= most && x.k <= most;
}

/* Bytes for copies of its operands. */
static inline size_t hopper_workspace(const product<float> &asked) {
    const product<float> x = with_rows(asked);
    if (!tf32_fits(x))
        return 0;
    const tf32_copies c = tf32_copies_of(x);
    return (c.left ? tf32_copy_bytes(x.m, x.k) : 0) + (c.right ? tf32_copy_bytes(x.n, x.k) : 0);
}

/* x (rows, k), by way of workspace, of which *used bytes are taken, with lines along k. */
static inline assay_status tf32_copy(const assay_call *call, matrix<const float> *x, int64_t rows,
                                     int64_t k, size_t *used) {
    float *const to = reinterpret_cast<float *>(static_cast<char *>(call->workspace) + *used);
    const int64_t stride = tf32_stride(k);
    const matrix<const float> from = *x;
    *used += tf32_copy_bytes(rows, k);
    *x = {to, stride, false};
    if (from.transposed)
        return launch_turn(call->stream, from, to, stride, rows, k);
    return launch_pack(call->stream, lines_of(from, rows, k), to, stride * TF32_WORDS);
}

static inline assay_status tf32_copy_operands(const assay_call *call, product<float> *x) {
    const tf32_copies c = tf32_copies_of(*x);
    size_t used = 0;
    assay_status status = ASSAY_OK;
    if (c.left)
        status = tf32_copy(call, &x->left, x->m, x->k, &used);
    if (status == ASSAY_OK && c.right) {
        matrix<const float> columns = transpose(x->right);
        status = tf32_copy(call, &columns, x->n, x->k, &used);
        x->right = transpose(columns);
    }
    return status;
}

/* ---- launches ---- */

static inline bool tf32_in_pairs(const void *data, int64_t stride) {
    return (uintptr_t)data % 8 == 0 && stride % 2 == 0;
}

static inline assay_status make_tf32_operand_map(tensor_map *map, tensor_lines words,
                                                 int32_t box_lines) {
    words.length /= TF32_WORDS;
    words.stride /= TF32_WORDS;
    words.box_lines = box_lines;
    return make_tf32_map(map, &words);
}

/*
 * A tile's time. On an H100 one turn of tiles with k = 4096 takes 91.1, 67.6, 50.5 and 38.6 us,
 * four turns 342, 262, 221 and 184.
 */
enum { TF32_WIDE_TIME = 80, TF32_MIDDLE_TIME = 61, TF32_NARROW_TIME = 48, TF32_THIN_TIME = 38 };

static constexpr tile_times<4> TF32_TIMES = {
    {TF32_THIN_TIME, TF32_NARROW_TIME, TF32_MIDDLE_TIME, TF32_WIDE_TIME}};

static inline tensor_lines tf32_added_lines(const product<float> &x) {
    tensor_lines added = lines_of(x.added, x.m, x.n);
    added.box_lines = TF32_GROUP_ROWS;
    return added;
}

static inline tensor_lines tf32_out_lines(const product<float> &x) {
    tensor_lines out =
        lines_of(matrix<const float>{x.out.data, x.out.stride, x.out.transposed}, x.m, x.n);
    out.box_lines = TF32_GROUP_ROWS;
    return out;
}

static inline bool tf32_can_be_staged(const product<float> &x) {
    return can_be_stored(tf32_out_lines(x)) &&
           (!x.added.data || can_be_mapped(tf32_added_lines(x)));
}

template <typename Tile, typename Kind>
static assay_status launch_tf32_kind(void *stream, const product<float> &x) {
    const tensor_lines out = tf32_out_lines(x), added = tf32_added_lines(x);
    const bool mapped = x.added.data && can_be_mapped(added);
    const bool staged = Tile::may_stage && tf32_can_be_staged(x);
    const tf32_problem p = {x.added,
                            x.out,
                            x.m,
                            x.n,
                            (int32_t)ceil_div(x.k, TF32_DEPTH),
                            (float)x.times,
                            x.added.data != NULL,
                            staged,
                            tf32_in_pairs(x.out.data, x.out.stride) &&
                                tf32_in_pairs(x.added.data, x.added.stride),
                            mapped && !staged};
    hopper_maps maps = {};
    assay_status status = make_tf32_operand_map(&maps.left, lines_of(x.left, x.m, x.k),
                                                Kind::held ? TF32_DEPTH : ROWS);
    if (status == ASSAY_OK)
        status = make_tf32_operand_map(&maps.right, lines_of(x.right, x.k, x.n), right_lines<Tile>);
    if (status == ASSAY_OK && staged)
        status = make_tensor_map(&maps.out, &out);
    if (status == ASSAY_OK && mapped)
        status = make_tensor_map(&maps.added, &added);
    if (status != ASSAY_OK)
        return status;
    const int64_t blocks = clamp(hopper_blocks<Tile>(p.m, p.n), 0, ASSAY_MULTIPROCESSORS);
    return ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(THREADS), Tile::shared_bytes,
                        (multiply_tf32_on_hopper<Tile, Kind>), p, maps);
}

/* The right operand's lines are along k. */
template <typename Tile, bool MAY_ADD>
static assay_status launch_tf32(void *stream, const product<float> &x) {
    if (!x.left.transposed)
        return launch_tf32_kind<Tile, tf32_kind<false, false, MAY_ADD>>(stream, x);
    return x.out.transposed ? launch_tf32_kind<Tile, tf32_kind<true, true, MAY_ADD>>(stream, x)
                            : launch_tf32_kind<Tile, tf32_kind<true, false, MAY_ADD>>(stream, x);
}

struct tf32_choice {
    int64_t time; /* until all multiprocessors are done */
    assay_status (*launch)(void *stream, const product<float> &x);
};

template <typename Tile, bool MAY_ADD>
static tf32_choice tf32_choice_of(const product<float> &x, int64_t tile_time) {
    const int64_t turns = ceil_div(hopper_tiles<Tile::columns>(x.m, x.n), ASSAY_MULTIPROCESSORS);
    return {turns * tile_time, launch_tf32<Tile, MAY_ADD>};
}

/* Mixed tiles leave by way of the ring alone. */
template <bool MAY_ADD> static tf32_choice tf32_choice_of_shares(const product<float> &x) {
    return {tf32_can_be_staged(x) ? time_of_shares(x.m, x.n, TF32_TIMES) : INT64_MAX,
            launch_tf32<tf32_mixed_tile, MAY_ADD>};
}

/* In the order of hopper_multiply.h. */
template <bool MAY_ADD>
static assay_status launch_fastest_tf32(void *stream, const product<float> &x) {
    const tf32_choice choices[] = {tf32_choice_of<tf32_wide_tile, MAY_ADD>(x, TF32_WIDE_TIME),
                                   tf32_choice_of_shares<MAY_ADD>(x),
                                   tf32_choice_of<tf32_middle_tile, MAY_ADD>(x, TF32_MIDDLE_TIME),
                                   tf32_choice_of<tf32_narrow_tile, MAY_ADD>(x, TF32_NARROW_TIME),
                                   tf32_choice_of<tf32_thin_tile, MAY_ADD>(x, TF32_THIN_TIME)};
    const tf32_choice *best = choices;
    for (const tf32_choice &c : choices)
        if (c.time < best->time)
            best = &c;
    return best->launch(stream, x);
}

/* MAY_ADD: whether the operator has products with something added. */
template <bool MAY_ADD>
static assay_status tf32_multiply(const assay_call *call, const product<float> &asked) {
    product<float> x = with_rows(asked);
    if (!tf32_fits(x))
        return multiply<tf32_core, float>(call, asked);
    assay_status status = tf32_copy_operands(call, &x);
    if (status != ASSAY_OK)
        return status;
    if (!can_be_mapped(lines_of(x.left, x.m, x.k)) || !can_be_mapped(lines_of(x.right, x.k, x.n)))
        return multiply<tf32_core, float>(call, asked);
    return launch_fastest_tf32<MAY_ADD>(call->stream, x.right.transposed ? x : transpose(x));
}

#endif
