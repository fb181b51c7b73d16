/*
 * The statistics of v3. Of a group only its channels' means and sums of squared deviations are
 * needed, and of a channel those of its convolution without bias, which shifts the mean alone.
 *
 * A warp reduces the positions that it has in registers to (count, mean, squares), the squares
 * around its own mean; pieces are merged by
 *
 *     mean = sum of count_i mean_i / count,
 *     squares = sum of squares_i + count_i (mean_i - mean)^2
 *
 * (Chan, Golub and LeVeque, 1979), in a fixed order. No square of a mean is ever subtracted from a
 * mean of squares, so no shift has to be guessed, and data whose mean exceeds its deviation a
 * thousandfold lose what their own rounding loses, no more.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_STATISTICS_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_STATISTICS_H

#include "kernels/conv3d_groupnorm_mean/v3_core.h"

/* The sum over lanes that differ in bit `first` of their number or in a higher one. */
template <typename T> static __device__ __forceinline__ T lane_sum(T v, int first = 1) {
    for (int peer = first; peer < WARP; peer *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, peer);
    return v;
}

/* (pieces, co) of each sample; the count of a piece is the same for all its channels. */
template <typename T> struct pieces {
    T *count, *mean, *squares;
    int64_t each; /* pieces of a sample */
};

/* What this warp knows of its channels, as piece `index`. */
template <typename Core>
static __device__ __forceinline__ void reduce(const Core &core, const int *place, int64_t index,
                                              int64_t channel, int64_t co,
                                              const pieces<typename Core::storage> &to) {
    typedef typename Core::storage T;
    bool there[Core::LANE_SLOTS];
    T count = 0;
#pragma unroll
    for (int s = 0; s < Core::LANE_SLOTS; ++s) {
        there[s] = place[Core::slot(s)] >= 0;
        count += there[s] ? T(1) : T(0);
    }
    count = lane_sum(count, Core::FIRST_PEER);
#pragma unroll
    for (int c = 0; c < Core::LANE_CHANNELS; ++c) {
        T sum = 0, squares = 0;
#pragma unroll
        for (int s = 0; s < Core::LANE_SLOTS; ++s)
            sum += there[s] ? core.at(s, c) : T(0);
        const T mean = lane_sum(sum, Core::FIRST_PEER) / (count > 0 ? count : T(1));
#pragma unroll
        for (int s = 0; s < Core::LANE_SLOTS; ++s) {
            const T off = there[s] ? core.at(s, c) - mean : T(0);
            squares = fma_(off, off, squares);
        }
        squares = lane_sum(squares, Core::FIRST_PEER);
        if (lane() < Core::FIRST_PEER && channel + Core::channel(c) < co) {
            const int64_t e = index * co + channel + Core::channel(c);
            to.count[e] = count;
            to.mean[e] = mean;
            to.squares[e] = squares;
        }
    }
}

/* A block for each box of each sample and each CHANNELS channels. */
template <typename Core>
static __global__ void __launch_bounds__(THREADS)
    convolve_statistics(convolution<typename Core::storage> p, grid_of_boxes g,
                        pieces<typename Core::storage> to) {
    typedef typename Core::storage T;
    ASSAY_DYNAMIC_SHARED(T, shared);
    const tables<T> m = tables_at(shared, size_of(p.how.view));
    const int64_t boxes = size_of(g);
    const int parts = (int)ceil_div(p.z.co, CHANNELS);
    const bool needed = warp() * WARP_SLOTS < size_of(p.how.positions);
    for (int64_t i = blockIdx.x; i < p.z.n * boxes * parts; i += gridDim.x) {
        const task t = task_of(g, p.how.positions, parts, i);
        find_places(p.how.positions, p.how.view, t.at, p.z.out, 0, m.place);
        Core core;
        convolve(p, m, t.n, t.at, t.channel, false, needed, core);
        reduce(core, m.place, t.n * to.each + (int64_t)t.box * WARPS + warp(), t.channel, p.z.co,
               to);
        __syncthreads();
    }
}

/* What is known of each sample's channels, (n, co) each: the mean of its convolution without bias
 * and the mean of its x̂. */
template <typename T> struct channel_state { T *mean, *level; };

/* What backward adds: dc = offset - slope (c - mean), with the mean of the same channel, without
 * bias. */
template <typename T> struct channel_slopes { T *offset, *slope; };

/* One warp's sums over the pieces of one channel. */
template <typename T>
static __device__ __forceinline__ void merge(const pieces<T> &from, const sizes &z, int64_t n,
                                             int64_t channel, T *mean, T *squares) {
    const T *const count = from.count + n * from.each * z.co + channel;
    const T *const means = from.mean + n * from.each * z.co + channel;
    const T *const parts = from.squares + n * from.each * z.co + channel;
    T sum = 0, rest = 0;
    for (int64_t i = lane(); i < from.each; i += WARP)
        sum = fma_(count[i * z.co], means[i * z.co], sum);
    *mean = lane_sum(sum) / (T)z.positions;
    for (int64_t i = lane(); i < from.each; i += WARP) {
        const T off = means[i * z.co] - *mean;
        rest += fma_(count[i * z.co] * off, off, parts[i * z.co]);
    }
    *squares = lane_sum(rest);
}

/* A warp for each sample's groups: merges the pieces and normalises. squares is scratch, (n, co).
 */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    normalise(inputs<T> in, pieces<T> from, sizes z, channel_state<T> to, T *squares, T *rstd) {
    for (int64_t group = (int64_t)blockIdx.x * WARPS + warp(); group < z.n * z.groups;
         group += (int64_t)gridDim.x * WARPS) {
        const int64_t n = group / z.groups, first = group % z.groups * z.members;
        for (int64_t c = first; c < first + z.members; ++c) {
            T mean, rest;
            merge(from, z, n, c, &mean, &rest);
            if (lane() == 0) {
                to.mean[n * z.co + c] = mean;
                squares[n * z.co + c] = rest;
            }
        }
        __syncwarp();

        T sum = 0, rest = 0;
        for (int64_t c = first + lane(); c < first + z.members; c += WARP)
            sum += to.mean[n * z.co + c] + in.b[c];
        const T centre = lane_sum(sum) / (T)z.members;
        for (int64_t c = first + lane(); c < first + z.members; c += WARP) {
            const T off = to.mean[n * z.co + c] + in.b[c] - centre;
            rest += fma_((T)z.positions * off, off, squares[n * z.co + c]);
        }
        const T variance = lane_sum(rest) / (T)(z.members * z.positions);
        const T scale = T(1) / square_root(variance + (T)z.eps);
        for (int64_t c = first + lane(); c < first + z.members; c += WARP)
            to.level[n * z.co + c] = (to.mean[n * z.co + c] + in.b[c] - centre) * scale;
        if (lane() == 0)
            rstd[group] = scale;
    }
}

/* y, a warp for each sample: the mean over its channels of gamma level + beta. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    average(inputs<T> in, channel_state<T> state, sizes z, T *y) {
    for (int64_t n = (int64_t)blockIdx.x * WARPS + warp(); n < z.n;
         n += (int64_t)gridDim.x * WARPS) {
        T sum = 0;
        for (int64_t c = lane(); c < z.co; c += WARP)
            sum += fma_(in.gamma[c], state.level[n * z.co + c], in.beta[c]);
        sum = lane_sum(sum);
        if (lane() == 0)
            y[n] = sum / (T)z.co;
    }
}

/* With A = gamma dy / (Co P), q the group's mean of A x̂ and x̂ = level + rstd (c - mean),
 *
 *     dc = rstd (A - mean(A) - x̂ q) = offset - slope (c - mean),
 *     offset = rstd (A - mean(A) - level q),   slope = rstd^2 q.
 *
 * A warp for each sample's groups. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    differentiate(const T *gamma, const T *dy, channel_state<T> state, const T *rstd, sizes z,
                  channel_slopes<T> to) {
    for (int64_t group = (int64_t)blockIdx.x * WARPS + warp(); group < z.n * z.groups;
         group += (int64_t)gridDim.x * WARPS) {
        const int64_t n = group / z.groups, first = group % z.groups * z.members;
        const T share = dy[n] / (T)(z.co * z.positions), scale = rstd[group];
        T a = 0, ax = 0;
        for (int64_t c = first + lane(); c < first + z.members; c += WARP) {
            a += gamma[c] * share;
            ax = fma_(gamma[c] * share, state.level[n * z.co + c], ax);
        }
        a = lane_sum(a) / (T)z.members;
        ax = lane_sum(ax) / (T)z.members;
        for (int64_t c = first + lane(); c < first + z.members; c += WARP) {
            const T even = gamma[c] * share - a;
            to.offset[n * z.co + c] = scale * fma_(-state.level[n * z.co + c], ax, even);
            to.slope[n * z.co + c] = scale * scale * ax;
        }
    }
}

/* The gradients of the channels' own parameters, a warp for each channel:
 *
 *     db = P sum of offset,   dgamma = sum of dy level / Co,   dbeta = sum of dy / Co. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    channel_gradients(const T *dy, channel_state<T> state, channel_slopes<T> slopes, sizes z, T *db,
                      T *dgamma, T *dbeta) {
    for (int64_t c = (int64_t)blockIdx.x * WARPS + warp(); c < z.co;
         c += (int64_t)gridDim.x * WARPS) {
        T bias = 0, scale = 0, shift = 0;
        for (int64_t n = lane(); n < z.n; n += WARP) {
            bias += slopes.offset[n * z.co + c];
            scale = fma_(dy[n], state.level[n * z.co + c], scale);
            shift += dy[n];
        }
        bias = lane_sum(bias);
        scale = lane_sum(scale);
        shift = lane_sum(shift);
        if (lane() == 0) {
            db[c] = bias * (T)z.positions;
            dgamma[c] = scale / (T)z.co;
            dbeta[c] = shift / (T)z.co;
        }
    }
}

#endif
