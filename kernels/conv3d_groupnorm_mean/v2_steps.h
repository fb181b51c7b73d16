/*
 * The steps of v2 around the convolution, on c (n, co, p) without its bias:
 *
 *     sum_channels       s[n, co] = sum over p of c
 *     find_means         mean[n, g]
 *     sum_deviations     d[n, co], q[n, co]: the sums of c + b - mean and of its square
 *     find_scales        rstd[n, g] = 1 / sqrt(variance + eps)
 *     find_results       y[n]
 *     find_cotangents    alpha[n, co], kappa[n, g]: dc = alpha - kappa rstd (c + b - mean)
 *     replace_by_dc      c becomes dc
 *     find_parameters    db, dgamma, dbeta
 *
 * With A[n, co] = gamma dy / (co P), which no position enters, both means over a group that
 * GroupNorm's backward needs come from A and d:
 *
 *     alpha = rstd (A - mean of A),    kappa = rstd^2 (sum of A d) / (members P)
 *
 * and db, dgamma, dbeta are sums over n of
 *
 *     P alpha - kappa rstd d,    dy rstd d / (co P),    dy / co.
 *
 * rstd^3 in one factor would underflow where c is large.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V2_STEPS_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V2_STEPS_H

#include "kernels/conv3d_groupnorm_mean/conv.h"

enum { WARP = 32, THREADS = 256 };

/* What lies between the kernels, rows of co or of groups. */
template <typename T> struct statistics {
    T *sum;    /* s, then d */
    T *square; /* q, then alpha */
    T *mean, *rstd, *kappa;
};

/* The sum over the block, for thread 0. Warps of a block are full. */
template <typename T> static __device__ __forceinline__ T sum_block(T sum) {
    __shared__ T warps[THREADS / WARP];
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    for (int i = 1; threadIdx.x == 0 && i < (int)blockDim.x / WARP; ++i)
        sum += warps[i];
    __syncthreads();
    return sum;
}

/* Threads for one row of a block: a warp where rows are short. */
static inline dim3 row_block(int64_t length) {
    return dim3(length <= 8 * WARP ? WARP : THREADS);
}

template <typename T> static __global__ void sum_channels(const T *c, sizes z, statistics<T> out) {
    for (int64_t row = blockIdx.x; row < z.n * z.co; row += gridDim.x) {
        T sum = 0;
        for (int64_t p = threadIdx.x; p < z.positions; p += blockDim.x)
            sum += c[row * z.positions + p];
        sum = sum_block(sum);
        if (threadIdx.x == 0)
            out.sum[row] = sum;
    }
}

/* The elements that a mean of one group is over. */
template <typename T> static __device__ __forceinline__ T group_size(const sizes &z) {
    return (T)(z.members * z.positions);
}

template <typename T> static __global__ void find_means(sizes z, const T *b, statistics<T> s) {
    for (int64_t i = grid_thread(); i < z.n * z.groups; i += grid_threads()) {
        T sum = 0;
        for (int64_t m = 0; m < z.members; ++m)
            sum += fma_((T)z.positions, b[i % z.groups * z.members + m], s.sum[i * z.members + m]);
        s.mean[i] = sum / group_size<T>(z);
    }
}

template <typename T>
static __global__ void sum_deviations(const T *c, sizes z, const T *b, statistics<T> s) {
    for (int64_t row = blockIdx.x; row < z.n * z.co; row += gridDim.x) {
        const T shift = b[row % z.co] - s.mean[row / z.members];
        T sum = 0, square = 0;
        for (int64_t p = threadIdx.x; p < z.positions; p += blockDim.x) {
            const T deviation = c[row * z.positions + p] + shift;
            sum += deviation;
            square = fma_(deviation, deviation, square);
        }
        sum = sum_block(sum);
        square = sum_block(square);
        if (threadIdx.x == 0) {
            s.sum[row] = sum;
            s.square[row] = square;
        }
    }
}

static __device__ __forceinline__ float root(float v) {
    return sqrtf(v);
}
static __device__ __forceinline__ double root(double v) {
    return sqrt(v);
}

template <typename T> static __global__ void find_scales(sizes z, statistics<T> s) {
    for (int64_t i = grid_thread(); i < z.n * z.groups; i += grid_threads()) {
        T square = 0;
        for (int64_t m = 0; m < z.members; ++m)
            square += s.square[i * z.members + m];
        s.rstd[i] = 1 / root(square / group_size<T>(z) + (T)z.eps);
    }
}

template <typename T>
static __global__ void find_results(sizes z, const T *gamma, const T *beta, statistics<T> s, T *y) {
    for (int64_t n = blockIdx.x; n < z.n; n += gridDim.x) {
        T sum = 0;
        for (int64_t channel = threadIdx.x; channel < z.co; channel += blockDim.x) {
            const int64_t row = n * z.co + channel;
            const T mean = s.sum[row] * s.rstd[row / z.members] / (T)z.positions; /* of x̂ */
            sum += fma_(gamma[channel], mean, beta[channel]);
        }
        sum = sum_block(sum);
        if (threadIdx.x == 0)
            y[n] = sum / (T)z.co;
    }
}

/* dy's share in an element of z. */
template <typename T> static __device__ __forceinline__ T share(const sizes &z, T dy) {
    return dy / (T)(z.co * z.positions);
}

template <typename T>
static __global__ void find_cotangents(sizes z, const T *gamma, const T *dy, statistics<T> s) {
    for (int64_t i = grid_thread(); i < z.n * z.groups; i += grid_threads()) {
        const T weight = share(z, dy[i / z.groups]), rstd = s.rstd[i];
        const T *scales = gamma + i % z.groups * z.members;
        T total = 0, product = 0;
        for (int64_t m = 0; m < z.members; ++m) {
            total += weight * scales[m];
            product = fma_(weight * scales[m], s.sum[i * z.members + m], product);
        }
        for (int64_t m = 0; m < z.members; ++m)
            s.square[i * z.members + m] = rstd * (weight * scales[m] - total / (T)z.members);
        s.kappa[i] = rstd * (rstd * (product / group_size<T>(z)));
    }
}

template <typename T>
static __global__ void replace_by_dc(T *c, sizes z, const T *b, statistics<T> s) {
    for (int64_t e = grid_thread(); e < z.n * z.co * z.positions; e += grid_threads()) {
        const int64_t row = e / z.positions, group = row / z.members;
        const T deviation = c[e] + (b[row % z.co] - s.mean[group]);
        c[e] = fma_(-s.kappa[group], deviation * s.rstd[group], s.square[row]);
    }
}

template <typename T>
static __global__ void find_parameters(sizes z, const T *dy, statistics<T> s, gradients<T> out) {
    for (int64_t channel = grid_thread(); channel < z.co; channel += grid_threads()) {
        T db = 0, dgamma = 0, dbeta = 0;
        for (int64_t n = 0; n < z.n; ++n) {
            const int64_t row = n * z.co + channel, group = row / z.members;
            const T deviation = s.sum[row] * s.rstd[group];
            db += fma_(-s.kappa[group], deviation, (T)z.positions * s.square[row]);
            dgamma = fma_(share(z, dy[n]), deviation, dgamma);
            dbeta += dy[n] / (T)z.co;
        }
        out.db[channel] = db;
        out.dgamma[channel] = dgamma;
        out.dbeta[channel] = dbeta;
    }
}

/* Copies rows of `length`; zeroes them where from.data is NULL. */
template <typename T>
static __global__ void copy_rows(rows<const T> from, rows<T> to, int64_t count, int64_t length) {
    for (int64_t e = grid_thread(); e < count * length; e += grid_threads()) {
        const int64_t row = e / length, column = e % length;
        to.data[row * to.stride + column] =
            from.data ? from.data[row * from.stride + column] : (T)0;
    }
}

template <typename T>
static assay_status launch_copy(void *stream, rows<const T> from, rows<T> to, int64_t count,
                                int64_t length) {
    return ASSAY_LAUNCH(stream, linear_grid(count * length, THREADS), dim3(THREADS), 0,
                        (copy_rows<T>), from, to, count, length);
}

/* to[b, a] = from[a, b], rows of `length`. */
template <typename T>
static __global__ void exchange(const T *from, T *to, int64_t a, int64_t b, int64_t length) {
    for (int64_t e = grid_thread(); e < a * b * length; e += grid_threads()) {
        const int64_t row = e / length;
        to[(row % b * a + row / b) * length + e % length] = from[e];
    }
}

template <typename T>
static assay_status launch_exchange(void *stream, const T *from, T *to, int64_t a, int64_t b,
                                    int64_t length) {
    return ASSAY_LAUNCH(stream, linear_grid(a * b * length, THREADS), dim3(THREADS), 0,
                        (exchange<T>), from, to, a, b, length);
}

/* From c to mean, rstd and d. */
template <typename T>
static assay_status find_statistics(void *stream, const T *c, const sizes &z, const T *b,
                                    const statistics<T> &s) {
    const dim3 channels = linear_grid(z.n * z.co, 1), groups = linear_grid(z.n * z.groups, WARP);
    const dim3 block = row_block(z.positions);
    assay_status status = ASSAY_LAUNCH(stream, channels, block, 0, (sum_channels<T>), c, z, s);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, groups, dim3(WARP), 0, (find_means<T>), z, b, s);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, channels, block, 0, (sum_deviations<T>), c, z, b, s);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(stream, groups, dim3(WARP), 0, (find_scales<T>), z, s);
    return status;
}

/* From these to alpha and kappa, and c to dc. */
template <typename T>
static assay_status find_dc(void *stream, T *c, const sizes &z, const inputs<T> &in, const T *dy,
                            const statistics<T> &s) {
    const assay_status status = ASSAY_LAUNCH(stream, linear_grid(z.n * z.groups, WARP), dim3(WARP),
                                             0, (find_cotangents<T>), z, in.gamma, dy, s);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(stream, linear_grid(z.n * z.co * z.positions, THREADS), dim3(THREADS), 0,
                        (replace_by_dc<T>), c, z, in.b, s);
}

#endif
