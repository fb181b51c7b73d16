/*
 * dw of v3: a block computes dc of a box, keeps it in shared memory and multiplies it with the
 * patches of x,
 *
 *     dw[co, tap] = sum over samples and positions of dc[co, position] x[position + tap],
 *
 * adding box after box to a partial dw of its own in the workspace.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_WEIGHTS_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_WEIGHTS_H

#include "kernels/conv3d_groupnorm_mean/v3_statistics.h"

static constexpr int WANTED_SPLITS = 384;              /* partial sums of dw */
static constexpr int64_t PARTIAL_BYTES = 64 << 20;     /* and what they may take together */
static constexpr int COTANGENT_PITCH = SLOTS + 4;      /* a channel of dc: lines that a warp
                                                          reads together in other banks */
static constexpr int UNIT_CHANNELS = 4, UNIT_TAPS = 8; /* sums that a lane of the fma core has */

/* Everything that makes dc from a bias-free convolution. */
template <typename T> struct through_norm { const T *mean, *offset, *slope; };

template <typename T>
static inline through_norm<T> through_norm_of(const channel_state<T> &state,
                                              const channel_slopes<T> &slopes) {
    return {state.mean, slopes.offset, slopes.slope};
}

/* dc of this block's slots, as the core wants its operands, at to[channel * pitch + slot] for the
 * first `slots` of them; 0 where there is no position or no channel. */
template <typename Core>
static __device__ __forceinline__ void
store_cotangent(const Core &core, const int *place, const through_norm<typename Core::storage> &g,
                const sizes &z, int64_t n, int64_t channel, int slots, int pitch,
                typename Core::storage *to) {
    typedef typename Core::storage T;
#pragma unroll
    for (int c = 0; c < Core::LANE_CHANNELS; ++c) {
        const bool exists = channel + Core::channel(c) < z.co;
        const int64_t e = n * z.co + (exists ? channel + Core::channel(c) : 0);
        const T mean = g.mean[e], offset = g.offset[e], slope = g.slope[e];
#pragma unroll
        for (int s = 0; s < Core::LANE_SLOTS; ++s) {
            const int slot = Core::slot(s);
            const T dc = fma_(-slope, core.at(s, c) - mean, offset);
            if (slot < slots)
                to[Core::channel(c) * pitch + slot] =
                    exists && place[slot] >= 0 ? Core::operand(dc) : T(0);
        }
    }
}

/* Adds `v` to a partial sum, or begins it. */
template <typename T> static __device__ __forceinline__ void accumulate(T *sum, bool begin, T v) {
    *sum = begin ? v : *sum + v;
}

/* Lane i gets the sum over lanes of their v[i], in v[0]: in each step a lane keeps half of what it
 * has and adds its peer's half to it. */
template <typename T, int HALF = WARP / 2>
static __device__ __forceinline__ void scatter_sums(T *v) {
    const bool upper = (lane() & HALF) != 0;
#pragma unroll
    for (int i = 0; i < HALF; ++i) {
        const T mine = upper ? v[i + HALF] : v[i], theirs = upper ? v[i] : v[i + HALF];
        v[i] = mine + __shfl_xor_sync(0xffffffffu, theirs, HALF);
    }
    if constexpr (HALF > 1)
        scatter_sums<T, HALF / 2>(v);
}

/* One chunk of taps on CUDA cores: lanes share the positions, a warp has 4 channels and 8 taps at
 * a time. */
template <typename T>
static __device__ __forceinline__ void add_gradient(fma_core<T> *, const tables<T> &m,
                                                    const T *cotangent, int taps, int channels,
                                                    int64_t row, bool begin, T *partial) {
    constexpr int UNITS = CHANNELS / UNIT_CHANNELS;
    for (int unit = warp(); unit / UNITS * UNIT_TAPS < taps; unit += WARPS) {
        const int channel = unit % UNITS * UNIT_CHANNELS, tap = unit / UNITS * UNIT_TAPS;
        if (channel >= channels)
            continue;
        int offset[UNIT_TAPS];
        T sum[UNIT_CHANNELS * UNIT_TAPS] = {};
#pragma unroll
        for (int t = 0; t < UNIT_TAPS; ++t)
            offset[t] = m.offset[tap + t];
#pragma unroll 1
        for (int s = lane(); s < SLOTS; s += WARP) {
            const int from = read_at(m.place[s]);
            T dc[UNIT_CHANNELS];
#pragma unroll
            for (int c = 0; c < UNIT_CHANNELS; ++c)
                dc[c] = cotangent[(channel + c) * COTANGENT_PITCH + s];
#pragma unroll
            for (int t = 0; t < UNIT_TAPS; ++t) {
                const T x = m.window[from + offset[t]];
#pragma unroll
                for (int c = 0; c < UNIT_CHANNELS; ++c)
                    sum[c * UNIT_TAPS + t] = fma_(dc[c], x, sum[c * UNIT_TAPS + t]);
            }
        }
        scatter_sums(sum);
        const int c = channel + lane() / UNIT_TAPS, t = tap + lane() % UNIT_TAPS;
        if (c < channels && t < taps)
            accumulate(partial + c * row + m.source[t], begin, sum[0]);
    }
}

/* COUNT times 8 taps on tensor cores, all channels at a time: units of taps warp(), warp() + WARPS
 * and so on. */
template <int COUNT>
static __device__ __forceinline__ void add_units(const tables<float> &m, const float *cotangent,
                                                 int taps, int channels, int64_t row, bool begin,
                                                 float *partial) {
    const int g = lane() / 4, t = lane() % 4;
    const float *x[COUNT];
    float sum[COUNT][4] = {};
#pragma unroll
    for (int u = 0; u < COUNT; ++u)
        x[u] = m.window + m.offset[(warp() + u * WARPS) * 8 + g];
    const float *dc = cotangent + g * COTANGENT_PITCH + t;
#pragma unroll 1
    for (int s = 0; s < SLOTS; s += 8, dc += 8) {
        const uint32_t a[4] = {__float_as_uint(dc[0]), __float_as_uint(dc[8 * COTANGENT_PITCH]),
                               __float_as_uint(dc[4]),
                               __float_as_uint(dc[8 * COTANGENT_PITCH + 4])};
        const int low = read_at(m.place[s + t]), high = read_at(m.place[s + t + 4]);
#pragma unroll
        for (int u = 0; u < COUNT; ++u) {
            const uint32_t b[2] = {__float_as_uint(x[u][low]), __float_as_uint(x[u][high])};
            mma_m16n8k8_tf32(sum[u], a, b);
        }
    }
#pragma unroll
    for (int u = 0; u < COUNT; ++u)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int c = g + i / 2 * 8, tap = (warp() + u * WARPS) * 8 + 2 * t + i % 2;
            if (c < channels && tap < taps)
                accumulate(partial + c * row + m.source[tap], begin, sum[u][i]);
        }
}

static __device__ __forceinline__ void add_gradient(tf32_core *, const tables<float> &m,
                                                    const float *cotangent, int taps, int channels,
                                                    int64_t row, bool begin, float *partial) {
    static_assert(CHUNK == 3 * 8 * WARPS, "a warp has three units of a whole chunk");
    if ((warp() + 2 * WARPS) * 8 < taps)
        add_units<3>(m, cotangent, taps, channels, row, begin, partial);
    else if ((warp() + WARPS) * 8 < taps)
        add_units<2>(m, cotangent, taps, channels, row, begin, partial);
    else if (warp() * 8 < taps)
        add_units<1>(m, cotangent, taps, channels, row, begin, partial);
}

/* Split i of `splits` takes the boxes i, i + splits, … of all samples, for CHANNELS channels.
 * partial is (splits, co, ci, taps). */
template <typename Core>
static __global__ void __launch_bounds__(THREADS)
    weight_gradient(convolution<typename Core::storage> p, through_norm<typename Core::storage> g,
                    grid_of_boxes boxes, int64_t splits, typename Core::storage *partial) {
    typedef typename Core::storage T;
    ASSAY_DYNAMIC_SHARED(T, shared);
    const int64_t window_size = size_of(p.how.view), row = p.z.ci * p.z.taps;
    T *const cotangent = shared + window_size;
    const tables<T> m = tables_at(shared, window_size + CHANNELS * COTANGENT_PITCH);
    const int64_t split = blockIdx.x % splits, channel = blockIdx.x / splits * CHANNELS;
    const int channels = least(CHANNELS, p.z.co - channel);
    const bool needed = warp() * WARP_SLOTS < size_of(p.how.positions);
    const int slices = slices_of(p.how);
    T *const mine = partial + (split * p.z.co + channel) * row;
    for (int64_t i = split; i < p.z.n * size_of(boxes); i += splits) {
        const task t = task_of(boxes, p.how.positions, 1, i);
        const int64_t n = t.n;
        const corner at = t.at;
        find_places(p.how.positions, p.how.view, at, p.z.out, 0, m.place);
        Core core;
        convolve(p, m, n, at, channel, false, needed, core);
        store_cotangent(core, m.place, g, p.z, n, channel, SLOTS, COTANGENT_PITCH, cotangent);
        for (int part = 0; part < slices; ++part) {
            const slice s = slice_of(p.how, p.z, part);
            if (slices > 1) {
                fetch<Core>(p.x, p.packed, p.z, p.how.view, s, n, at, m.window);
                fetched();
            }
            const tap_order order = order_in(s, p.z.k, p.z.taps);
            const int count = taps_in(s, p.z.k);
            for (int first = 0; first < count; first += CHUNK) {
                list_taps(order, p.how.view, first, count, m.offset, m.source);
                __syncthreads();
                add_gradient(&core, m, cotangent, least(CHUNK, count - first), channels, row,
                             i == split, mine);
                __syncthreads();
            }
        }
    }
}

/* Splits for so many boxes, within what the workspace may take. */
static inline int64_t splits_for(const sizes &z, int64_t boxes, size_t element) {
    const int64_t bytes = z.co * z.ci * z.taps * (int64_t)element;
    return clamp(z.n * boxes, 0, clamp(PARTIAL_BYTES / bytes, 1, WANTED_SPLITS));
}

#endif
