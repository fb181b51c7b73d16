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

#include "kernels/conv3d_groupnorm_mean/v3_lines.h"

static constexpr int STATE_THREADS = 256; /* of kernels that give a warp to each group */

/* The sum over lanes that differ in bit `first` of their number or in a higher one. */
template <typename T> static __device__ __forceinline__ T lane_sum(T v, int first = 1) {
    for (int peer = first; peer < WARP; peer *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, peer);
    return v;
}

/* COUNT lane_sum()s together, COUNT a power of two: each step leaves half of them to the lane on
 * the other side, until each lane has that of number folded<COUNT>(first). The same bits. */
template <int COUNT, typename T>
static __device__ __forceinline__ T fold(T (&v)[COUNT], int first) {
    int peer = first;
#pragma unroll
    for (int half = COUNT / 2; half > 0; half /= 2, peer *= 2) {
        const bool upper = lane() & peer;
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const T given = upper ? v[i] : v[i + half], own = upper ? v[i + half] : v[i];
            v[i] = own + __shfl_xor_sync(0xffffffffu, given, peer);
        }
    }
#pragma unroll
    for (; peer < WARP; peer *= 2)
        v[0] += __shfl_xor_sync(0xffffffffu, v[0], peer);
    return v[0];
}
template <int COUNT> static __device__ __forceinline__ int folded(int first) {
    int number = 0;
#pragma unroll
    for (int half = COUNT / 2; half > 0; half /= 2, first *= 2)
        number += lane() & first ? half : 0;
    return number;
}
/* A lane below WARP that has number `i`, the lanes' bits below `first` apart. */
template <int COUNT> static __device__ __forceinline__ int folded_at(int i, int first) {
    int at = 0;
#pragma unroll
    for (int half = COUNT / 2; half > 0; half /= 2, first *= 2)
        at += i & half ? first : 0;
    return at;
}

/* The least power of two, from 2 on, that so many channels of a lane fit, at most 8. */
static __host__ __device__ constexpr int fold_of(int channels) {
    return channels > 4 ? 8 : channels > 2 ? 4 : 2;
}

/* (pieces, co) of each sample; the count of a piece is the same for all its channels. */
template <typename T> struct pieces {
    T *count, *mean, *squares;
    int64_t each; /* pieces of a sample */
};

/* What this warp knows of its channels from a tile, as one piece. */
template <typename Core>
static __device__ __forceinline__ void reduce(Core &core, const tile &t, int64_t co,
                                              const pieces<typename Core::storage> &to) {
    typedef typename Core::storage T;
    const T count = (T)(t.lines * t.places), share = t.lines > 0 ? T(1) / count : T(0);
    constexpr int LIVE = Core::LANE_CHANNELS, FOLD = fold_of(LIVE);
    static_assert(LIVE <= FOLD, "each channel's sum has a place");
    constexpr int FIRST = Core::FIRST_PEER;
    if constexpr (Core::SELECTS) {
        const T zeros[LIVE] = {};
        core.put_outside(t.lines, t.places, zeros);
    }
    T all[FOLD] = {};
#pragma unroll
    for (int s = 0; s < Core::LANE_SLOTS; ++s)
        if (Core::SELECTS || (Core::line(s) < t.lines && Core::place(s) < t.places))
#pragma unroll
            for (int c = 0; c < LIVE; ++c)
                all[c] += core.at(s, c);
    const T mean = fold(all, FIRST) * share;
    T centre[LIVE];
#pragma unroll
    for (int c = 0; c < FOLD; ++c) {
        all[c] = 0;
        if (c < LIVE)
            centre[c] = __shfl_sync(0xffffffffu, mean, folded_at<FOLD>(c, FIRST) + lane() % FIRST);
    }
    if constexpr (Core::SELECTS)
        core.put_outside(t.lines, t.places, centre); /* no deviation there */
#pragma unroll
    for (int s = 0; s < Core::LANE_SLOTS; ++s)
        if (Core::SELECTS || (Core::line(s) < t.lines && Core::place(s) < t.places))
#pragma unroll
            for (int c = 0; c < LIVE; ++c) {
                const T off = core.at(s, c) - centre[c];
                all[c] = fma_(off, off, all[c]);
            }
    const T squares = fold(all, FIRST);
    const int c = folded<FOLD>(FIRST);
    const int64_t channel = t.channel + Core::channel(c);
    if (lane() < FOLD * FIRST && c < Core::LANE_CHANNELS && channel < co) {
        const int64_t e = (t.n * to.each + t.index) * co + channel;
        to.count[e] = count;
        to.mean[e] = mean;
        to.squares[e] = squares;
    }
}

/* The convolution without bias, kept for backward: (n, co, d, h) lines of `line` elements, of which
 * those beyond a volume's width are unspecified. data is NULL where nothing is kept. */
template <typename T> struct kept {
    T *data;
    int64_t line;
};

template <typename T>
static __host__ __device__ __forceinline__ int64_t channel_stride(const kept<T> &c,
                                                                  const sizes &z) {
    return z.out.d * z.out.h * c.line;
}

template <typename Core>
static __device__ __forceinline__ void keep_tile(const Core &core, const tile &t, const sizes &z,
                                                 const kept<typename Core::storage> &c) {
    const int64_t channel = channel_stride(c, z);
    typename Core::storage *const first =
        c.data + (t.n * z.co + t.channel) * channel + (t.d * z.out.h + t.h) * c.line + t.w;
    core.keep({first, c.line, channel, true}, t.lines, t.places,
              least(Core::GROUP, z.co - t.channel));
}

/* What is to be had of a tile of c: its piece, and c itself where it is kept. */
template <typename Core>
static __device__ __forceinline__ void take_tile(Core &core, const tile &t, const sizes &z,
                                                 const pieces<typename Core::storage> &to,
                                                 const kept<typename Core::storage> &c) {
    reduce(core, t, z.co, to);
    if (c.data && t.lines > 0)
        keep_tile(core, t, z, c);
}

template <typename Core>
static __global__ void __launch_bounds__(THREADS, Core::BLOCKS)
    convolve(rows<const typename Core::storage> x, bool packed,
             convolution<typename Core::storage> p, grid_of_boxes g,
             pieces<typename Core::storage> to, kept<typename Core::storage> c) {
    typedef typename Core::storage T;
    convolve_boxes<Core>(
        p, g,
        [&](const slice &s, int64_t n, const corner &at, T *window) {
            fetch<Core>(x, packed, p.z, p.how.view, s, n, at, window);
            settle<Core>(p.how.view, s, window);
        },
        [&](Core &core, const tile &t) { take_tile(core, t, p.z, to, c); });
}

/* What is known of each sample's channels, (n, co) each: the mean of its convolution without bias
 * and the mean of its x̂. */
template <typename T> struct channel_state { T *mean, *level; };

/* What backward adds: dc = offset - slope (c - mean), with the mean of the same channel, without
 * bias. */
template <typename T> struct alignas(PACK_BYTES) through_norm { T mean, offset, slope, unused; };

static constexpr int MERGED = 4; /* channels that a warp merges at a time */
static constexpr int AHEAD = 4;  /* pieces of a lane under way at once */

/* A warp's next AHEAD pieces of each lane, of at most MERGED channels; empty behind the last. All
 * loads begin at once. */
template <typename T> struct batch {
    T count[AHEAD], mean[AHEAD][MERGED], squares[AHEAD][MERGED];

    __device__ __forceinline__ batch(const pieces<T> &from, int64_t co, int64_t first, int64_t i,
                                     int channels) {
#pragma unroll
        for (int a = 0; a < AHEAD; ++a) {
            const bool there = i + a * WARP < from.each;
            const int64_t e = first + (i + a * WARP) * co;
            count[a] = there ? from.count[e] : T(0);
#pragma unroll
            for (int c = 0; c < MERGED; ++c) {
                mean[a][c] = there && c < channels ? from.mean[e + c] : T(0);
                squares[a][c] = there && c < channels ? from.squares[e + c] : T(0);
            }
        }
    }
    __device__ __forceinline__ void add_means(T (&sum)[MERGED]) const {
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
#pragma unroll
            for (int c = 0; c < MERGED; ++c)
                sum[c] = fma_(count[a], mean[a][c], sum[c]);
    }
    __device__ __forceinline__ void add_squares(const T (&centre)[MERGED], T (&sum)[MERGED]) const {
#pragma unroll
        for (int a = 0; a < AHEAD; ++a)
#pragma unroll
            for (int c = 0; c < MERGED; ++c) {
                const T off = mean[a][c] - centre[c];
                sum[c] += fma_(count[a] * off, off, squares[a][c]);
            }
    }
};

/* One warp's sums over the pieces of `channels` channels from one on, at most MERGED. The first
 * batch stays in registers. */
template <typename T>
static __device__ __forceinline__ void merge(const pieces<T> &from, const sizes &z, int64_t n,
                                             int64_t channel, int channels, T (&mean)[MERGED],
                                             T (&squares)[MERGED]) {
    const int64_t first = n * from.each * z.co + channel;
    T sum[MERGED] = {}, rest[MERGED] = {};
    const batch<T> kept(from, z.co, first, lane(), channels);
    kept.add_means(sum);
    for (int64_t i = lane() + AHEAD * WARP; i < from.each; i += AHEAD * WARP)
        batch<T>(from, z.co, first, i, channels).add_means(sum);
#pragma unroll
    for (int c = 0; c < MERGED; ++c)
        mean[c] = lane_sum(sum[c]) / (T)z.positions;
    kept.add_squares(mean, rest);
    for (int64_t i = lane() + AHEAD * WARP; i < from.each; i += AHEAD * WARP)
        batch<T>(from, z.co, first, i, channels).add_squares(mean, rest);
#pragma unroll
    for (int c = 0; c < MERGED; ++c)
        squares[c] = lane_sum(rest[c]);
}

/* Elements of a row of which a lane has read that at `at`, if it exists, before it needs it. */
template <typename T> struct ahead_of_use {
    const T *row;
    int64_t at;
    T element;

    __device__ __forceinline__ ahead_of_use(const T *data, int64_t i, int64_t end)
        : row(data), at(i), element(i < end ? data[i] : T(0)) {
    }
    __device__ __forceinline__ T operator[](int64_t i) const {
        return i == at ? element : row[i];
    }
};

/* Merges the pieces of a sample's group and normalises, by one warp; 1 / sqrt(variance + eps).
 * squares is scratch, (n, co). */
template <typename T>
static __device__ __forceinline__ T normalise(const inputs<T> &in, const pieces<T> &from,
                                              const sizes &z, int64_t n, int64_t group,
                                              const channel_state<T> &to, T *squares) {
    const int64_t first = group * z.members, end = first + z.members;
    const ahead_of_use<T> b(in.b, first + lane(), end);
    for (int64_t c = 0; c < z.members; c += MERGED) {
        const int channels = least(MERGED, z.members - c);
        T mean[MERGED], rest[MERGED];
        merge(from, z, n, first + c, channels, mean, rest);
#pragma unroll
        for (int i = 0; i < MERGED; ++i)
            if (lane() == 0 && i < channels) {
                to.mean[n * z.co + first + c + i] = mean[i];
                squares[n * z.co + first + c + i] = rest[i];
            }
    }
    __syncwarp();

    T sum = 0, rest = 0;
    for (int64_t c = first + lane(); c < end; c += WARP)
        sum += to.mean[n * z.co + c] + b[c];
    const T centre = lane_sum(sum) / (T)z.members;
    for (int64_t c = first + lane(); c < end; c += WARP) {
        const T off = to.mean[n * z.co + c] + b[c] - centre;
        rest += fma_((T)z.positions * off, off, squares[n * z.co + c]);
    }
    const T variance = lane_sum(rest) / (T)(z.members * z.positions);
    const T scale = T(1) / square_root(variance + (T)z.eps);
    for (int64_t c = first + lane(); c < end; c += WARP)
        to.level[n * z.co + c] = (to.mean[n * z.co + c] + b[c] - centre) * scale;
    return scale;
}

/* y, a block for each sample: the mean over its channels of gamma level + beta. */
template <typename T>
static __global__ void __launch_bounds__(STATE_THREADS)
    average(inputs<T> in, pieces<T> from, sizes z, channel_state<T> state, T *squares, T *y) {
    const ahead_of_use<T> gamma(in.gamma, lane(), z.co), beta(in.beta, lane(), z.co);
    for (int64_t n = blockIdx.x; n < z.n; n += gridDim.x) {
        for (int64_t group = warp(); group < z.groups; group += STATE_THREADS / WARP)
            normalise(in, from, z, n, group, state, squares);
        __syncthreads();
        if (warp() > 0)
            continue;
        T sum = 0;
        for (int64_t c = lane(); c < z.co; c += WARP)
            sum += fma_(gamma[c], state.level[n * z.co + c], beta[c]);
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
static __global__ void __launch_bounds__(STATE_THREADS)
    differentiate(inputs<T> in, const T *dy, pieces<T> from, sizes z, channel_state<T> state,
                  T *squares, through_norm<T> *to) {
    const int64_t warps = STATE_THREADS / WARP;
    for (int64_t i = blockIdx.x * warps + warp(); i < z.n * z.groups; i += gridDim.x * warps) {
        const int64_t n = i / z.groups, first = i % z.groups * z.members;
        const T scale = normalise(in, from, z, n, i % z.groups, state, squares);
        const T share = dy[n] / (T)(z.co * z.positions);
        T a = 0, ax = 0;
        for (int64_t c = first + lane(); c < first + z.members; c += WARP) {
            a += in.gamma[c] * share;
            ax = fma_(in.gamma[c] * share, state.level[n * z.co + c], ax);
        }
        a = lane_sum(a) / (T)z.members;
        ax = lane_sum(ax) / (T)z.members;
        for (int64_t c = first + lane(); c < first + z.members; c += WARP) {
            const T even = in.gamma[c] * share - a;
            to[n * z.co + c] = {state.mean[n * z.co + c],
                                scale * fma_(-state.level[n * z.co + c], ax, even),
                                scale * scale * ax, T(0)};
        }
    }
}

/* The gradients of the channels' own parameters, a warp for each channel:
 *
 *     db = P sum of offset,   dgamma = sum of dy level / Co,   dbeta = sum of dy / Co. */
template <typename T>
static __global__ void __launch_bounds__(STATE_THREADS)
    channel_gradients(const T *dy, channel_state<T> state, const through_norm<T> *norm, sizes z,
                      T *db, T *dgamma, T *dbeta) {
    for (int64_t c = (int64_t)blockIdx.x * (STATE_THREADS / WARP) + warp(); c < z.co;
         c += (int64_t)gridDim.x * (STATE_THREADS / WARP)) {
        T bias = 0, scale = 0, shift = 0;
        for (int64_t n = lane(); n < z.n; n += WARP) {
            bias += norm[n * z.co + c].offset;
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
