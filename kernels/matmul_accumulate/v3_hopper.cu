/*
 * matmul_accumulate v3_hopper, ours, for sm_90a alone and bf16 alone: v3's product by TMA and
 * wgmma, with the bits of v3 (m64nNk16 sums like m16n8k16, and k ascends in both).
 *
 * A block stays on its multiprocessor and computes tiles of 128 x 256 elements, or 128 x 128 where
 * all are done sooner so (hopper_tile.h). Operands come in their own order, a transposed
 * one too: descriptors tell wgmma how lines lie. C comes through the same ring of stages as
 * operands do, is added in fp32, and the result, rounded once, leaves from where C stood. An
 * operand whose lines do not begin at multiples of 16 bytes is copied to workspace with lines that
 * do; where a base address does not, or k is 0, v3's tiles compute instead.
 *
 * Bytes: each operand once for 128 or 256 rows or columns of the result, found in L2 by neighbours;
 * C once, the result once. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/matmul_accumulate/hopper_tile.h"
#include "kernels/matmul_accumulate/v3_multiply.h"

typedef hopper_tile<256, 4> wide_tile;
typedef hopper_tile<128, 6> narrow_tile;

/* Measured at n = 4096: a narrow tile takes 21 / 40 of a wide one's time. */
enum { WIDE_TIME = 40, NARROW_TIME = 21 };

static const int32_t tiles_of_hopper[] = {ROWS, wide_tile::columns, DEPTH, PACKED, 0};

/* Operands as memory has them; of the right one rows are the result's columns. */
struct hopper_operands {
    tensor_lines left, right;
    bool left_k, right_k;
};

static hopper_operands operands_of(const product<bf16> &x) {
    return {lines_of(x.left, x.m, x.k), lines_of(x.right, x.k, x.n), !x.left.transposed,
            x.right.transposed};
}

static tensor_lines result_lines(const void *data, const product<bf16> &x, int64_t stride) {
    return {data, x.n, x.m, stride, BOX};
}

/* Boxes have a tile's rows, or columns, where lines are along k. */
static assay_status make_maps(const product<bf16> &x, hopper_operands *of, int columns, bool staged,
                              hopper_maps *maps) {
    const tensor_lines out = result_lines(x.out.data, x, x.out.stride);
    const tensor_lines added = result_lines(x.added.data, x, x.added.stride);
    of->left.box_lines = of->left_k ? ROWS : DEPTH;
    of->right.box_lines = of->right_k ? columns : DEPTH;
    assay_status status = make_tensor_map(&maps->left, &of->left);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps->right, &of->right);
    if (status == ASSAY_OK && staged)
        status = make_tensor_map(&maps->out, &out);
    if (status == ASSAY_OK && staged && x.added.data)
        status = make_tensor_map(&maps->added, &added);
    return status;
}

template <typename Tile, bool LEFT_K_INNER, bool RIGHT_K_INNER>
static assay_status launch_on_hopper(void *stream, const hopper_problem &p,
                                     const hopper_maps &maps) {
    const int64_t blocks = clamp(hopper_tiles<Tile::columns>(p.m, p.n), 0, ASSAY_MULTIPROCESSORS);
    return ASSAY_LAUNCH(stream, whole_grid(blocks), dim3(THREADS), Tile::shared_bytes,
                        (multiply_on_hopper<Tile, LEFT_K_INNER, RIGHT_K_INNER>), p, maps);
}

template <typename Tile>
static assay_status launch_tiles(void *stream, const product<bf16> &x, hopper_operands of) {
    const bool staged =
        can_be_stored(result_lines(x.out.data, x, x.out.stride)) &&
        (!x.added.data || can_be_mapped(result_lines(x.added.data, x, x.added.stride)));
    const hopper_problem p = {x.added,
                              x.out,
                              x.m,
                              x.n,
                              (int32_t)ceil_div(x.k, DEPTH),
                              (float)x.times,
                              x.added.data != NULL,
                              staged};
    hopper_maps maps = {};
    const assay_status status = make_maps(x, &of, Tile::columns, staged, &maps);
    if (status != ASSAY_OK)
        return status;
    if (of.left_k)
        return of.right_k ? launch_on_hopper<Tile, true, true>(stream, p, maps)
                          : launch_on_hopper<Tile, true, false>(stream, p, maps);
    return of.right_k ? launch_on_hopper<Tile, false, true>(stream, p, maps)
                      : launch_on_hopper<Tile, false, false>(stream, p, maps);
}

/* Turns that every multiprocessor has at most. */
template <typename Tile> static int64_t turns(const product<bf16> &x) {
    return ceil_div(hopper_tiles<Tile::columns>(x.m, x.n), ASSAY_MULTIPROCESSORS);
}

static bool fits(const product<bf16> &x) {
    return x.m > 0 && x.n > 0 && x.k > 0 && x.m <= MOST_EXTENT && x.n <= MOST_EXTENT &&
           x.k <= MOST_EXTENT;
}

static assay_status multiply_fast(const assay_call *call, const product<bf16> &asked) {
    const product<bf16> x = with_rows(asked);
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
        return multiply<bf16_core, bf16>(call, asked);
    if (turns<narrow_tile>(x) * NARROW_TIME < turns<wide_tile>(x) * WIDE_TIME)
        return launch_tiles<narrow_tile>(call->stream, x, of);
    return launch_tiles<wide_tile>(call->stream, x, of);
}

static assay_status forward(const assay_call *call) {
    return multiply_fast(call, product_for_y<bf16>(tensors_of(call, ASSAY_FORWARD)));
}

static assay_status backward(const assay_call *call) {
    return gradients<bf16>(call, multiply_fast);
}

static size_t bytes_for(const product<bf16> &asked) {
    const product<bf16> x = with_rows(asked);
    const hopper_operands of = operands_of(x);
    return fits(x) ? copy_bytes(of.left) + copy_bytes(of.right) : 0;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    if (stage == ASSAY_FORWARD)
        return bytes_for(product_for_y<bf16>(t));
    const size_t da = bytes_for(product_for_da<bf16>(t)), db = bytes_for(product_for_db<bf16>(t));
    return da > db ? da : db;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    if (call->params->dtype != ASSAY_BF16)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "matmul_accumulate/v3_hopper: bf16 alone, not %s; v3 takes all types",
                          assay_dtype_name(call->params->dtype));
    bool hopper;
    const assay_status status = find_hopper(&hopper);
    if (status == ASSAY_OK && !hopper)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "matmul_accumulate/v3_hopper: the GPU is not of compute capability 9.0; "
                          "v3 runs on others");
    return status;
}

ASSAY_VARIANT(matmul_accumulate, v3_hopper) = {
    .op = "matmul_accumulate",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused, bf16 on sm_90a: TMA, wgmma, c added on the way out",
    .tiles = tiles_of_hopper,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
