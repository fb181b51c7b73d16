/*
 * matmul_accumulate v3_hopper, ours, for sm_90a alone, bf16, f16, TF32 and fp64: v3's product by
 * TMA and wgmma or larger mma.sync, in all but TF32 with the bits of v3 (m64nNk16 sums like
 * m16n8k16, m16n8k4 like m8n8k4, and k ascends in all).
 *
 * bf16 and f16, by the same templates. A block stays on its multiprocessor and computes tiles of
 * 128 x 256 elements, or of 320 down to 64 columns where all are done sooner so (hopper_tile.h), or
 * its share of a row of tiles, in tiles of several widths (hopper_shares.h). Two blocks may be a
 * cluster that loads a right operand once for both (hopper_cluster.h). Operands come in their own
 * order, a transposed one too: descriptors tell wgmma how lines lie. C comes through the same ring
 * of stages as operands do, is added in fp32, and the result, rounded once, leaves from where C
 * stood. An operand whose lines do not begin at multiples of 16 bytes is copied to workspace with
 * lines that do (hopper_operand.h). Where a base address is no multiple of 16, or k is 0, v3's
 * tiles compute instead. H200, cold, microseconds, beside cuBLAS; linear adds nothing:
 *
 *     m = n = k          4096, linear   4096, C added   8192, linear     8192, C added
 *     bf16; cuBLAS       185; 182       190; 203        1438; 1463       1466; 1540
 *     f16; cuBLAS        190; 187       196; 208        1476; 1498       1513; 1588
 *
 * H100, cold, bf16, microseconds: single blocks, with copies of operands whose lines begin within
 * L2's; clusters, and tiles of 320 columns; cuBLAS 13:
 *
 *                           C added            nothing added, b transposed
 *     1032^3                17.2  15.2  13.3   16.0  14.7  12.7
 *     2056^3                57.3  40.1  34.4   54.4  36.1  32.1
 *     3080^3                141   99.8  119    130   96.2  117
 *     4104^3                288   238   213    273   230   205
 *     8200^3                1704  1527  1517   1750  1560  1552
 *     4096 x 2056 x 4104    165   116   144    159   109   104
 *     1032 x 4104 x 4104    120   63.3  54.5   117   63.1  53.3
 *     2048 x 2560 x 10240   153   139   138    150   137   136
 *     5120^3                378   355   356    375   353   348
 *
 * TF32. The same tiles, of slices of 32 k; TMA rounds operands to nearest on their way, where v3
 * cuts them. wgmma takes TF32 from shared memory only with lines along k. Y = A B has B's across k:
 * its transposed tile is computed, with B from registers, where any place is as good. Of dB's two
 * operands, both across k, the smaller is transposed to workspace first (hopper_tf32_tile.h). An
 * operand whose lines do not begin at multiples of 16 bytes is copied with lines along k. H100, C
 * added, cold, microseconds; results by pairs from registers, and now, where tiles of 192 or 256
 * columns send them through the ring; v3; cuBLAS, which adds to C in place:
 *
 *     512    11.3        37.8  13.0        3072  170   162         213
 *     1024   16.1        89.2  20.4        4096  373   352         377
 *     2048   62.2  53.8  223   63.8        8192  2767  2685        2784
 *
 * Shares of rows, H100, cold, microseconds: tiles of one width, of 256 columns at most; shares;
 * cuBLAS. b transposed:
 *
 *     bf16, 2048 x 2560 x 10240    169  153  137        TF32, 4096 x 2560 x 2560     169  146  165
 *     bf16, 4096 x 2560 x 10240    340  275  261        TF32, 4096 x 2560 x 10240    605  525  561
 *
 * fp64. By ptxas's code an m8n8k4, v3's, keeps a warp's tensor core for 16 cycles, an m16n8k4, of
 * twice the products, no longer; m16n8k8 and k16 take 32 and 64, and more registers. Eight warps of
 * a block that stays multiply tiles of 128 x 128, 128 x 112 or 128 x 64 elements, whichever are
 * done soonest, from a ring that TMA fills (hopper_f64_tile.h). At m = n = k = 4096 the 132
 * multiprocessors have at most 9 tiles of 128 x 112, which is 4.13 million cycles of their tensor
 * cores; 8 of 128 x 128 are 4.19 million. With fewer tiles than multiprocessors, v3's compute, with
 * m16n8k4, too. H100, cold: 2,249 us in either tiles, v3 7,737, cuBLAS 2,896.
 *
 * Bytes: each operand once for 64 to 256 rows or columns of the result, found in L2 by neighbours;
 * C once, the result once. Flops: 2 m n k forward, 4 m n k backward.
 */
#include "kernels/matmul_accumulate/hopper_f64.h"
#include "kernels/matmul_accumulate/hopper_multiply.h"
#include "kernels/matmul_accumulate/hopper_tf32.h"

/* Calls `function<T, multiply>(call)` with the call's type and the product in it. */
#define HOPPER_DISPATCH(function, call)                                                            \
    ((call)->params->dtype == ASSAY_F64    ? function<double, f64_multiply<true>>(call)            \
     : (call)->params->dtype == ASSAY_BF16 ? function<bf16, hopper_multiply<bf16, true>>(call)     \
     : (call)->params->dtype == ASSAY_F16  ? function<__half, hopper_multiply<__half, true>>(call) \
                                           : function<float, tf32_multiply<true>>(call))

template <typename T, auto product_by> static assay_status run_forward(const assay_call *call) {
    return product_by(call, product_for_y<T>(tensors_of(call, ASSAY_FORWARD)));
}

template <typename T, auto product_by> static assay_status run_backward(const assay_call *call) {
    return gradients<T>(call, product_by);
}

static assay_status forward(const assay_call *call) {
    return HOPPER_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return HOPPER_DISPATCH(run_backward, call);
}

template <typename T> static size_t workspace_of(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    if (stage == ASSAY_FORWARD)
        return hopper_workspace(product_for_y<T>(t));
    const size_t da = hopper_workspace(product_for_da<T>(t)),
                 db = hopper_workspace(product_for_db<T>(t));
    return da > db ? da : db;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return call->params->dtype == ASSAY_F64    ? workspace_of<double>(stage, call)
           : call->params->dtype == ASSAY_BF16 ? workspace_of<bf16>(stage, call)
           : call->params->dtype == ASSAY_F16  ? workspace_of<__half>(stage, call)
                                               : workspace_of<float>(stage, call);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    (void)stage;
    return hopper_supports("matmul_accumulate/v3_hopper", call);
}

ASSAY_VARIANT(matmul_accumulate, v3_hopper) = {
    .op = "matmul_accumulate",
    .name = "v3_hopper",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused, bf16, f16, tf32 and f64 on sm_90a: TMA, wgmma, c added on the way out",
    .tiles = tiles_of_hopper,
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
