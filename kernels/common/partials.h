/* The second half of a two-step sum without atomics: partial sums of blocks, in a fixed order. */
#ifndef ASSAY_KERNELS_COMMON_PARTIALS_H
#define ASSAY_KERNELS_COMMON_PARTIALS_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

enum { PARTIALS_WIDTH = 32, PARTIALS_LANES = 8 };
static constexpr int PARTIALS_MOST_LANES = 32; /* of many partial sums */
static constexpr int PARTIALS_AHEAD = 16;      /* loads of a thread under way at once */

/* out[e / columns, e % columns] = sum over s < count of partial[s, e], for e < size: each of LANES
 * lanes sums every LANES-th s in ascending order, then the lanes are summed in ascending order. By
 * blocks of (PARTIALS_WIDTH, LANES) threads in a row of the grid. */
template <typename T, int LANES = PARTIALS_LANES>
static __device__ __forceinline__ void add_partials(const acc_t<T> *partial, int64_t count,
                                                    int64_t size, T *out, int64_t columns,
                                                    int64_t out_stride) {
    __shared__ acc_t<T> lanes[LANES][PARTIALS_WIDTH];
    const int64_t step = (int64_t)gridDim.x * PARTIALS_WIDTH;
    for (int64_t first = (int64_t)blockIdx.x * PARTIALS_WIDTH; first < size; first += step) {
        const int64_t e = first + threadIdx.x;
        acc_t<T> sum = 0;
        const acc_t<T> *from = partial + threadIdx.y * size + e;
        const int64_t mine = e < size ? count - threadIdx.y : 0;
        for (int64_t left = mine; left > 0; left -= PARTIALS_AHEAD * LANES) {
            acc_t<T> term[PARTIALS_AHEAD]; /* 0 behind the last; all loads begin at once */
#pragma unroll
            for (int k = 0; k < PARTIALS_AHEAD; ++k, from += LANES * size)
                term[k] = left > k * LANES ? *from : (acc_t<T>)0;
#pragma unroll
            for (int k = 0; k < PARTIALS_AHEAD; ++k)
                sum += term[k];
        }
        lanes[threadIdx.y][threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.y == 0 && e < size) {
#pragma unroll
            for (int lane = 1; lane < LANES; ++lane)
                sum += lanes[lane][threadIdx.x];
            out[e / columns * out_stride + e % columns] = narrow<T>(sum);
        }
        __syncthreads();
    }
}

template <typename T, int LANES>
static __global__ void __launch_bounds__(PARTIALS_WIDTH *LANES)
    sum_partials(const acc_t<T> *partial, int64_t count, int64_t size, T *out, int64_t columns,
                 int64_t out_stride) {
    add_partials<T, LANES>(partial, count, size, out, columns, out_stride);
}

/* launch(lanes) with an integral_constant. */
template <typename Launch>
static inline assay_status with_partials_lanes(int64_t count, Launch launch) {
    if (count > PARTIALS_MOST_LANES)
        return launch(std::integral_constant<int, PARTIALS_MOST_LANES>());
    return launch(std::integral_constant<int, PARTIALS_LANES>());
}

template <typename T>
static assay_status launch_sum_partials(void *stream, const acc_t<T> *partial, int64_t count,
                                        int64_t size, T *out, int64_t columns, int64_t out_stride) {
    return with_partials_lanes(count, [&](auto lanes) {
        constexpr int LANES = decltype(lanes)::value;
        return ASSAY_LAUNCH(stream, linear_grid(size, PARTIALS_WIDTH), dim3(PARTIALS_WIDTH, LANES),
                            0, (sum_partials<T, LANES>), partial, count, size, out, columns,
                            out_stride);
    });
}

/* The same of two tensors of d elements, one row of the grid each: half as many launches. */
template <typename T> struct sums_to {
    const acc_t<T> *partial;
    T *out;
};

template <typename T, int LANES>
static __global__ void __launch_bounds__(PARTIALS_WIDTH *LANES)
    sum_partials_of(sums_to<T> first, sums_to<T> second, int64_t count, int64_t d) {
    const sums_to<T> mine = blockIdx.y == 0 ? first : second;
    add_partials<T, LANES>(mine.partial, count, d, mine.out, d, d);
}

template <typename T>
static assay_status launch_sum_partials_of(void *stream, const sums_to<T> &first,
                                           const sums_to<T> &second, int64_t count, int64_t d) {
    const dim3 grid = linear_grid(d, PARTIALS_WIDTH);
    return with_partials_lanes(count, [&](auto lanes) {
        constexpr int LANES = decltype(lanes)::value;
        return ASSAY_LAUNCH(stream, dim3(grid.x, 2), dim3(PARTIALS_WIDTH, LANES), 0,
                            (sum_partials_of<T, LANES>), first, second, count, d);
    });
}

#endif
