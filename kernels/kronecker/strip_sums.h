/* The sums of the partial gradients of two factors, in one launch; sizes are multiples of four. */
#ifndef ASSAY_KRONECKER_STRIP_SUMS_H
#define ASSAY_KRONECKER_STRIP_SUMS_H

#include "kernels/common/pack.h"
#include "kernels/kronecker/stages.h"

typedef pack<float> strip_pack;

static __device__ __forceinline__ strip_pack load_four(const float *from) {
    return load_whole(reinterpret_cast<const strip_pack *>(from));
}
static __device__ __forceinline__ void store_four(float *to, const float *from) {
    strip_pack p;
#pragma unroll
    for (int i = 0; i < strip_pack::size; ++i)
        p.v[i] = from[i];
    *reinterpret_cast<strip_pack *>(to) = p;
}

constexpr int STRIP_LANES = 16, STRIP_AHEAD = 8;    /* warps of a block; loads under way at once */
constexpr int STRIP_SUMMED = 32 * strip_pack::size; /* elements of a block */

template <typename T> struct strip_partials {
    const float *partial; /* (count, rows, columns) */
    int64_t count, rows, columns;
    factor<T> to;
};

/* Warp l sums partials l, l + 16 and so on, in this order; then the warps' sums are added. */
template <typename T>
static __global__ void __launch_bounds__(32 * STRIP_LANES)
    sum_strips(strip_partials<T> first, strip_partials<T> second) {
    __shared__ float sums[STRIP_LANES][STRIP_SUMMED];
    const strip_partials<T> p = blockIdx.y == 0 ? first : second;
    const int64_t size = p.rows * p.columns, base = (int64_t)blockIdx.x * STRIP_SUMMED;
    const int lane = (int)threadIdx.x / 32, own = (int)threadIdx.x % 32 * strip_pack::size;
    float sum[strip_pack::size] = {};
    if (base + own < size)
#pragma unroll 1
        for (int64_t k = lane; k < p.count; k += STRIP_LANES * STRIP_AHEAD) {
            strip_pack terms[STRIP_AHEAD];
#pragma unroll
            for (int n = 0; n < STRIP_AHEAD; ++n)
                terms[n] = k + n * STRIP_LANES < p.count
                               ? load_four(p.partial + (k + n * STRIP_LANES) * size + base + own)
                               : pack_of(0.0f);
#pragma unroll
            for (int n = 0; n < STRIP_AHEAD; ++n)
#pragma unroll
                for (int i = 0; i < strip_pack::size; ++i)
                    sum[i] += terms[n].v[i];
        }
    store_four(sums[lane] + own, sum);
    __syncthreads();
    const int64_t e = base + threadIdx.x;
    if (threadIdx.x >= STRIP_SUMMED || e >= size)
        return;
    float total = sums[0][threadIdx.x];
#pragma unroll
    for (int n = 1; n < STRIP_LANES; ++n)
        total += sums[n][threadIdx.x];
    p.to.w[e / p.columns * p.to.row + e % p.columns] = narrow<T>(total);
}

/* Both gradients of a layer of two factors. */
template <typename T>
static assay_status launch_sum_strips(void *stream, const strip_partials<T> &first,
                                      const strip_partials<T> &second) {
    dim3 grid = whole_grid(
        ceil_div(larger(first.rows * first.columns, second.rows * second.columns), STRIP_SUMMED));
    grid.y = 2;
    return ASSAY_LAUNCH(stream, grid, dim3(32 * STRIP_LANES), 0, (sum_strips<T>), first, second);
}

#endif
