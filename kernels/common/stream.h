/*
 * A lane's way through a row: packs of 16 bytes, `step` elements apart, of which BATCH are under
 * way at once. A load that stands behind a branch of its own waits for the one before; here one
 * condition covers the batch. The order of the packs is the same whether or not they are aligned.
 */
#ifndef ASSAY_KERNELS_COMMON_STREAM_H
#define ASSAY_KERNELS_COMMON_STREAM_H

#include "kernels/common/pack.h"

/* use(pack, column) for the packs at columns first, first + step … of a row of that length;
 * elements that there are not are `rest`. */
template <int BATCH, typename T, typename F>
static __device__ __forceinline__ void each_pack(const T *row, int64_t length, int64_t first,
                                                 int64_t step, bool aligned, T rest, F use) {
    int64_t j = first;
    if (aligned)
        for (; j + (BATCH - 1) * step + pack<T>::size <= length; j += BATCH * step) {
            pack<T> p[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; ++b)
                p[b] = load_whole(reinterpret_cast<const pack<T> *>(row + j + b * step));
#pragma unroll
            for (int b = 0; b < BATCH; ++b)
                use(p[b], j + b * step);
        }
    for (; j < length; j += step)
        use(load_pack(row + j, length - j, aligned, rest), j);
}

#endif
