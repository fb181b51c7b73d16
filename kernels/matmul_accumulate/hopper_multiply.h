/*
 * A product in bf16 or f16 by hopper_tile.h: which tiles, which maps, and what happens to operands
 * that copies by TMA do not take. v3_hopper.cu tells how; the operator linear uses it as well.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_HOPPER_MULTIPLY_H
#define ASSAY_MATMUL_ACCUMULATE_HOPPER_MULTIPLY_H

#include "kernels/matmul_accumulate/hopper_widths.h"
#include "kernels/matmul_accumulate/v3_multiply.h"

static const int32_t tiles_of_hopper[] = {ROWS, wide_tile::columns, DEPTH, PACKED, 0};

template <typename T> static hopper_operands operands_of(const product<T> &x) {
    return {lines_of(x.left, x.m, x.k), lines_of(x.right, x.k, x.n), !x.left.transposed,
            x.right.transposed};
}

template <typename T>
static tensor_lines result_lines(const void *data, const product<T> &x, int64_t stride) {
    return {data, x.n, x.m, stride, BOX};
}

/* Boxes have a tile's rows, or columns, where lines are along k; right ones a block's part. */
template <typename Tile, typename T>
static assay_status make_maps(const product<T> &x, hopper_operands *of, bool staged,
                              hopper_maps *maps) {
    const tensor_lines out = result_lines(x.out.data, x, x.out.stride);
    const tensor_lines added = result_lines(x.added.data, x, x.added.stride);
    of->left.box_lines = of->left_k ? ROWS : DEPTH;
    of->right.box_lines = (of->right_k ? right_lines<Tile> : DEPTH) / Tile::down;
    assay_status status = make_tensor_map(&maps->left, &of->left);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps->right, &of->right);
    if (status == ASSAY_OK && staged)
        status = make_tensor_map(&maps->out, &out);
    if (status == ASSAY_OK && staged && x.added.data)
        status = make_tensor_map(&maps->added, &added);
    return status;
}

template <typename Tile, typename Kind, typename T>
static assay_status launch_on_hopper(void *stream, const hopper_problem<T> &p,
                                     const hopper_maps &maps) {
    const int64_t most = ASSAY_MULTIPROCESSORS / Tile::down * Tile::down;
    const int64_t blocks = clamp(hopper_blocks<Tile>(p.m, p.n), 0, most);
    return ASSAY_LAUNCH_CLUSTERS(stream, Tile::down, whole_grid(blocks), dim3(THREADS),
                                 Tile::shared_bytes, (multiply_on_hopper<Tile, Kind, T>), p, maps);
}

template <typename T> static bool can_be_staged(const product<T> &x) {
    return can_be_stored(result_lines(x.out.data, x, x.out.stride)) &&
           (!x.added.data || can_be_mapped(result_lines(x.added.data, x, x.added.stride)));
}

template <typename Tile, bool MAY_ADD, typename T>
static assay_status launch_tiles(void *stream, const product<T> &x, hopper_operands of) {
    const bool staged = can_be_staged(x);
    const hopper_problem<T> p = {x.added,
                                 x.out,
                                 x.m,
                                 x.n,
                                 (int32_t)ceil_div(x.k, DEPTH),
                                 (float)x.times,
                                 x.added.data != NULL,
                                 staged};
    hopper_maps maps = {};
    const assay_status status = make_maps<Tile>(x, &of, staged, &maps);
    if (status != ASSAY_OK)
        return status;
    if (of.left_k)
        return of.right_k
                   ? launch_on_hopper<Tile, hopper_kind<true, true, MAY_ADD>>(stream, p, maps)
                   : launch_on_hopper<Tile, hopper_kind<true, false, MAY_ADD>>(stream, p, maps);
    return of.right_k ? launch_on_hopper<Tile, hopper_kind<false, true, MAY_ADD>>(stream, p, maps)
                      : launch_on_hopper<Tile, hopper_kind<false, false, MAY_ADD>>(stream, p, maps);
}

template <typename T> struct hopper_choice {
    int64_t time; /* until all multiprocessors are done */
    assay_status (*launch)(void *stream, const product<T> &x, hopper_operands of);
};

/* Tiles of single blocks take half as long again where the right operand's lines begin within L2's.
 */
template <typename Tile, bool MAY_ADD, typename T>
static hopper_choice<T> choice(int64_t time, bool whole) {
    const bool slow = Tile::down == 1 && !whole;
    return {slow && time < INT64_MAX ? time + time / 2 : time, launch_tiles<Tile, MAY_ADD, T>};
}

template <typename Tile, bool MAY_ADD, typename T>
static hopper_choice<T> choice_of(const product<T> &x, int64_t tile_time, bool whole) {
    const int64_t turns = ceil_div(hopper_tiles<Tile::columns, Tile::down>(x.m, x.n),
                                   ASSAY_MULTIPROCESSORS / Tile::down);
    return choice<Tile, MAY_ADD, T>(turns * tile_time, whole);
}

/* Mixed tiles leave by way of the ring alone. */
template <typename Tile, bool MAY_ADD, typename T, int MOST>
static hopper_choice<T> choice_of_shares(const product<T> &x, const tile_times<MOST> &times,
                                         bool whole) {
    return choice<Tile, MAY_ADD, T>(
        can_be_staged(x) ? time_of_shares(x.m, x.n, times, Tile::down) : INT64_MAX, whole);
}

/* Of those that take as long, the first: the wider tiles, and shares rather than turns of tiles of
 * 192 columns. */
template <bool MAY_ADD, typename T>
static assay_status launch_fastest(void *stream, const product<T> &x, const hopper_operands &of) {
    const bool whole = has_whole_stride(of.right);
    const hopper_choice<T> choices[] = {
        choice_of<paired_vast_tile, MAY_ADD>(x, VAST_TIME, whole),
        choice_of<wide_tile, MAY_ADD>(x, WIDE_TIME, whole),
        choice_of<paired_wide_tile, MAY_ADD>(x, WIDE_TIME, whole),
        choice_of_shares<paired_mixed_tile, MAY_ADD>(x, VAST_TIMES, whole),
        choice_of_shares<mixed_tile, MAY_ADD>(x, MIXED_TIMES, whole),
        choice_of<middle_tile, MAY_ADD>(x, MIDDLE_TIME, whole),
        choice_of<paired_middle_tile, MAY_ADD>(x, PAIRED_MIDDLE_TIME, whole),
        choice_of<paired_narrow_tile, MAY_ADD>(x, PAIRED_NARROW_TIME, whole),
        choice_of<narrow_tile, MAY_ADD>(x, NARROW_TIME, whole),
        choice_of<thin_tile, MAY_ADD>(x, THIN_TIME, whole)};
    const hopper_choice<T> *best = choices;
    for (const hopper_choice<T> &c : choices)
        if (c.time < best->time)
            best = &c;
    return best->launch(stream, x, of);
}

template <typename T> static bool fits(const product<T> &x) {
    return x.m > 0 && x.n > 0 && x.k > 0 && x.m <= MOST_EXTENT && x.n <= MOST_EXTENT &&
           x.k <= MOST_EXTENT;
}

/* MAY_ADD: whether the operator has products with something added. Kernels without spill no
 * register; where both operands' lines are across k, those with spill two. */
template <typename T, bool MAY_ADD>
static assay_status hopper_multiply(const assay_call *call, const product<T> &asked) {
    const product<T> x = with_rows(asked);
    hopper_operands of = operands_of(x);
    size_t used = 0;
    assay_status status = ASSAY_OK;
    if (fits(x))
        status = pack_operand(call, &of.left, &used);
    if (fits(x) && status == ASSAY_OK)
        status = pack_operand(call, &of.right, &used);
    if (status != ASSAY_OK)
        return status;
    if (!fits(x) || !can_be_mapped(of.left) || !can_be_mapped(of.right))
        return multiply<m16n8k16<T>::template core, T>(call, asked);
    return launch_fastest<MAY_ADD>(call->stream, x, of);
}

/* Bytes for copies of its operands. */
template <typename T> static size_t hopper_workspace(const product<T> &asked) {
    const product<T> x = with_rows(asked);
    const hopper_operands of = operands_of(x);
    return fits(x) ? copy_bytes(of.left) + copy_bytes(of.right) : 0;
}

/* Whether `name`, "op/variant", can do the call at all. */
static assay_status hopper_supports(const char *name, const assay_call *call) {
    const assay_dtype dtype = call->params->dtype;
    if (dtype == ASSAY_F32 && call->params->math != ASSAY_TF32)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "%s: bf16, f16, f64, and f32 with math=tf32, not %s; v3 takes all", name,
                          assay_dtype_name(dtype));
    return require_hopper(name);
}

#endif
