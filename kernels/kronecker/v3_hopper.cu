/*
 * kronecker v3_hopper, for sm_90a alone: two factors of 128 x 128 in bf16 and with math=tf32, by
 * wgmma, whose operands stay in shared memory; v3_tensor has mma for them, whose operands come from
 * there to registers again and again. A row of the state is a matrix there: forward, both products
 * of a row are made in one pass (hopper_rows.h, hopper_rows_tf32.h). So is backward in bf16, with
 * both gradients in registers (hopper_back.h); in TF32 a row's matrices are too large for that, and
 * it takes three passes (hopper_back_tf32.h). Other calls are v3_tensor's, and few rows in TF32
 * v3_bf16x6's.
 *
 * Times on an H200, cold, us, b = 1024 (32 where it says so), forward / backward; PyTorch is the
 * better of eager and compiled (bench/results/2026-11-27-h200.md). Floor: memory, the state in and
 * out once; backward x and dy in and dx out.
 *
 *                     floor      before                  here         PyTorch
 *     bf16 128^2      16 / 23    v3_tensor 56 / 134      30 / 69      46 / 135
 *          128^2, 32             v3_tensor 15 / 34       10 / 19      11 / 36
 *     TF32 128^2      31 / 47    v3_bf16x6 133 / 381     64 / 211     108 / 306
 *
 * Bytes: the state in and out once; backward in TF32 x twice and dy thrice, for 94 us of memory.
 * Flops: as v1; backward in TF32 makes one of five products twice.
 */
#include "kernels/common/variants.h"
#include "kernels/kronecker/hopper_back.h"
#include "kernels/kronecker/hopper_back_tf32.h"

/* Whether a call is of two factors of 128 x 128. */
static bool is_of_128(const chain &c) {
    return c.modes == 2 && c.layers == 1 && c.stages[0].p == ROW_EXTENT &&
           c.stages[0].q == ROW_EXTENT && c.stages[1].p == ROW_EXTENT &&
           c.stages[1].q == ROW_EXTENT;
}

/* Whether it goes by rows here. Of few rows v3_bf16x6 takes a part of one a block. */
static bool takes_rows(const assay_call *call, const chain &c) {
    return is_of_128(c) &&
           (call->params->dtype == ASSAY_BF16 || c.rows * 4 > ASSAY_MULTIPROCESSORS);
}

template <typename T> static bool takes_row_packs(const state<T> &s) {
    return (uintptr_t)s.data % PACK_BYTES == 0 && s.stride % (PACK_BYTES / (int)sizeof(T)) == 0;
}

/* What makes the call otherwise. */
static const assay_variant *other(const assay_call *call, const chain &c) {
    const bool by_digits = call->params->dtype == ASSAY_F32 && is_of_128(c);
    return variant_of("kronecker", by_digits ? "v3_bf16x6" : "v3_tensor");
}

/* Of Rows, hopper_rows or tf32_rows. */
template <class Rows, typename T> static Rows rows_of(const assay_call *call, const chain &c) {
    Rows p = {};
    p.in = state_of<const T>(x_of(call));
    p.out = state_of<T>(&call->out[0]);
    p.w = factor_of<const T>(factor_tensor(call, c.stages[1]));
    p.v = factor_of<const T>(factor_tensor(call, c.stages[0]));
    p.rows = c.rows;
    p.in_packs = takes_row_packs(p.in);
    p.out_packs = takes_row_packs(p.out);
    return p;
}

static assay_status forward(const assay_call *call) {
    const chain c = chain_of(call);
    if (!takes_rows(call, c))
        return other(call, c)->forward(call);
    const dim3 grid = whole_grid(clamp(c.rows, 0, ASSAY_MULTIPROCESSORS));
    if (call->params->dtype == ASSAY_BF16)
        return ASSAY_LAUNCH(call->stream, grid, dim3(ROW_THREADS), ROW_SHARED, forward_rows,
                            (rows_of<hopper_rows, bf16>(call, c)));
    return ASSAY_LAUNCH(call->stream, grid, dim3(TF32_THREADS), TF32_SHARED, forward_tf32_rows,
                        (rows_of<tf32_rows, float>(call, c)));
}

static int64_t back_blocks(const chain &c) {
    return clamp(c.rows, 0, ASSAY_MULTIPROCESSORS);
}

/* Of Back, hopper_back or tf32_back. */
template <class Back, typename T>
static Back back_of(const assay_call *call, const chain &c, int64_t blocks) {
    Back p = {};
    p.x = state_of<const T>(x_of(call));
    p.dy = state_of<const T>(cotangent_of(call));
    p.dx = state_of<T>(&call->out[0]);
    p.w = factor_of<const T>(factor_tensor(call, c.stages[1]));
    p.v = factor_of<const T>(factor_tensor(call, c.stages[0]));
    p.dw = static_cast<float *>(call->workspace);
    p.dv = p.dw + blocks * ROW_EXTENT * ROW_EXTENT;
    p.rows = c.rows;
    p.x_packs = takes_row_packs(p.x);
    p.dy_packs = takes_row_packs(p.dy);
    p.dx_packs = takes_row_packs(p.dx);
    return p;
}

template <typename T, class Back>
static assay_status sum_gradients(const assay_call *call, const chain &c, const Back &p,
                                  int64_t blocks) {
    return launch_sum_strips<T>(
        call->stream,
        {p.dv, blocks, ROW_EXTENT, ROW_EXTENT, factor_of<T>(gradient_tensor(call, c.stages[0]))},
        {p.dw, blocks, ROW_EXTENT, ROW_EXTENT, factor_of<T>(gradient_tensor(call, c.stages[1]))});
}

static assay_status backward(const assay_call *call) {
    const chain c = chain_of(call);
    if (!takes_rows(call, c))
        return other(call, c)->backward(call);
    const int64_t blocks = back_blocks(c);
    const dim3 grid = whole_grid(blocks);
    if (call->params->dtype == ASSAY_BF16) {
        const hopper_back p = back_of<hopper_back, bf16>(call, c, blocks);
        const assay_status status =
            ASSAY_LAUNCH(call->stream, grid, dim3(BACK_THREADS), BACK_SHARED, backward_rows, p);
        return status == ASSAY_OK ? sum_gradients<bf16>(call, c, p, blocks) : status;
    }
    const tf32_back p = back_of<tf32_back, float>(call, c, blocks);
    assay_status status =
        ASSAY_LAUNCH(call->stream, grid, dim3(TF32_THREADS), TF32_SHARED, first_gradient_tf32, p);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, grid, dim3(TF32_THREADS), TF32_SHARED,
                              last_gradient_tf32, p);
    if (status == ASSAY_OK)
        status =
            ASSAY_LAUNCH(call->stream, grid, dim3(TF32_THREADS), TF32_SHARED, cotangent_tf32, p);
    return status == ASSAY_OK ? sum_gradients<float>(call, c, p, blocks) : status;
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    if (!takes_rows(call, c))
        return other(call, c)->workspace(direction, call);
    return direction == ASSAY_FORWARD
               ? 0
               : (size_t)(2 * back_blocks(c) * ROW_EXTENT * ROW_EXTENT) * sizeof(float);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const bool is_tf32 = call->params->dtype == ASSAY_F32 && call->params->math == ASSAY_TF32;
    if (!is_tf32 || !is_of_128(chain_of(call))) {
        const assay_status status = variant_of("kronecker", "v3_tensor")->supports(stage, call);
        if (status != ASSAY_OK)
            return status;
    }
    return require_hopper("kronecker/v3_hopper");
}

static const int32_t tiles[] = {ROW_EXTENT, 0};

ASSAY_VARIANT(kronecker, v3_hopper) = {
    .op = "kronecker",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "v3_tensor, two factors of 128 in bf16 forward by wgmma",
    .tiles = tiles,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
