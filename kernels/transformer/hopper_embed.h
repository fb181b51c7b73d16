/* The embedding of tokens from the parameter itself, in fp32, for v3_hopper: only the rows that
 * tokens ask for are read and rounded, and the table has no copy in bf16. */
#ifndef ASSAY_TRANSFORMER_HOPPER_EMBED_H
#define ASSAY_TRANSFORMER_HOPPER_EMBED_H

#include "device/grid.h"
#include "kernels/common/pack.h"
#include "kernels/transformer/tensors.h"

enum { EMBED_THREADS = 128 };

/* A thread has 8 columns of a row. */
static __global__ void __launch_bounds__(EMBED_THREADS)
    embed_rows(const int32_t *ids, const float *table, __nv_bfloat16 *y, int64_t tokens,
               int64_t packs) {
    for (int64_t e = (int64_t)blockIdx.x * EMBED_THREADS + threadIdx.x; e < tokens * packs;
         e += (int64_t)gridDim.x * EMBED_THREADS) {
        const int64_t token = e / packs, column = (e - token * packs) * 8;
        const float *from = table + ids[token] * packs * 8 + column;
        const pack<float> low = load_whole(reinterpret_cast<const pack<float> *>(from)),
                          high = load_whole(reinterpret_cast<const pack<float> *>(from + 4));
        pack<__nv_bfloat16> p;
        for (int v = 0; v < 4; ++v) {
            p.v[v] = narrow<__nv_bfloat16>(low.v[v]);
            p.v[v + 4] = narrow<__nv_bfloat16>(high.v[v]);
        }
        store_pack(y + e * 8, p, 8, true);
    }
}

/* y = table[ids], rounded; all dense, rows of whole packs. */
static assay_status embed(void *stream, const assay_tensor &ids, const assay_tensor &table,
                          const assay_tensor &y) {
    const int64_t tokens = y.shape[0], packs = y.shape[1] / 8;
    return ASSAY_LAUNCH(stream, linear_grid(tokens * packs, EMBED_THREADS), dim3(EMBED_THREADS), 0,
                        embed_rows, static_cast<const int32_t *>(ids.data),
                        static_cast<const float *>(table.data),
                        static_cast<__nv_bfloat16 *>(y.data), tokens, packs);
}

#endif
