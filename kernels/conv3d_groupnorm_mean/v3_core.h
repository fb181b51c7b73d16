/*
 * How a warp of v3 multiplies: sum[position, channel] += window[position + tap] weight[tap,
 * channel], for its WARP_SLOTS positions and CHANNELS channels, in the registers of its lanes.
 *
 * A core has
 *     storage                     the type of the operands
 *     operand(v)                  v as the core takes it
 *     copy(to, from, inside)      a pack of operands, or of zeros, to shared memory
 *     add(...)                    the products of one chunk of taps
 *     LANE_SLOTS, LANE_CHANNELS   sums of a lane; slot(s), channel(c), at(s, c) are their places in
 *                                 the block's slots and channels, and they themselves
 *     FIRST_PEER                  lanes that differ in this bit of their number or in a higher one
 *                                 have the same channels
 *
 * Lane numbering of the fragments: g = lane / 4, t = lane % 4 (kernels/common/tensor.h).
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_CORE_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_CORE_H

#include "kernels/conv3d_groupnorm_mean/v3_tile.h"

/* Positions that are not there read the window's first element, and their sums are not used. */
static __device__ __forceinline__ int read_at(int place) {
    return place < 0 ? 0 : place;
}

/* On CUDA cores: a lane has 4 positions, a warp's width apart, of all channels. */
template <typename T> struct fma_core {
    typedef T storage;
    enum { LANE_SLOTS = WARP_SLOTS / WARP, LANE_CHANNELS = CHANNELS, FIRST_PEER = 1 };
    T sum[LANE_SLOTS][LANE_CHANNELS] = {};

    static __device__ __forceinline__ T operand(T v) {
        return v;
    }
    static __device__ __forceinline__ void copy(pack<T> *to, const T *from, bool inside) {
        cp_async_16(to, from, inside ? PACK_BYTES : 0);
    }

    static __device__ __forceinline__ int slot(int s) {
        return warp() * WARP_SLOTS + s * WARP + lane();
    }
    static __device__ __forceinline__ int channel(int c) {
        return c;
    }
    __device__ __forceinline__ T at(int s, int c) const {
        return sum[s][c];
    }

    __device__ __forceinline__ void add(const T *window, const int *place, const int *offset,
                                        const T *weights, int taps, int columns) {
        if (columns > 12)
            add_columns<16>(window, place, offset, weights, taps);
        else if (columns > 8)
            add_columns<12>(window, place, offset, weights, taps);
        else if (columns > 4)
            add_columns<8>(window, place, offset, weights, taps);
        else
            add_columns<4>(window, place, offset, weights, taps);
    }

    template <int COLUMNS>
    __device__ __forceinline__ void add_columns(const T *window, const int *place,
                                                const int *offset, const T *weights, int taps) {
        constexpr int PACK = PACK_BYTES / (int)sizeof(T);
        const T *from[LANE_SLOTS];
#pragma unroll
        for (int s = 0; s < LANE_SLOTS; ++s)
            from[s] = window + read_at(place[slot(s)]);
#pragma unroll 1
        for (int k = 0; k < taps; ++k, weights += WEIGHT_PITCH) {
            const int shift = offset[k];
            T x[LANE_SLOTS];
#pragma unroll
            for (int s = 0; s < LANE_SLOTS; ++s)
                x[s] = from[s][shift];
#pragma unroll
            for (int c = 0; c < COLUMNS; c += PACK) {
                const pack<T> w = *reinterpret_cast<const pack<T> *>(weights + c);
#pragma unroll
                for (int i = 0; i < PACK; ++i)
#pragma unroll
                    for (int s = 0; s < LANE_SLOTS; ++s)
                        sum[s][c + i] = fma_(x[s], w.of[i], sum[s][c + i]);
            }
        }
    }
};

/* v so that, cut to TF32 by the instruction, it is rounded to nearest, ties away from zero.
 * Infinities and NaNs stay what they are. */
static __device__ __forceinline__ float round_to_tf32(float v) {
    const uint32_t bits = __float_as_uint(v), exponent = 0x7f800000u;
    return (bits & exponent) == exponent ? v : __uint_as_float(bits + 0x1000u);
}

/* Operands rounded to TF32, on tensor cores: tiles of 16 positions by 8 channels. */
struct tf32_core {
    typedef float storage;
    enum { TILES = WARP_SLOTS / 16, LANE_SLOTS = 2 * TILES, LANE_CHANNELS = 2 * OCTETS };
    enum { FIRST_PEER = 4 };
    float sum[TILES][OCTETS][4] = {};

    static __device__ __forceinline__ float operand(float v) {
        return round_to_tf32(v);
    }
    static __device__ __forceinline__ void copy(pack<float> *to, const float *from, bool inside) {
        pack<float> got = {};
        if (inside)
            got = *reinterpret_cast<const pack<float> *>(from);
#pragma unroll
        for (int i = 0; i < PACK_BYTES / (int)sizeof(float); ++i)
            got.of[i] = operand(got.of[i]);
        *to = got;
    }

    static __device__ __forceinline__ int slot(int s) {
        return warp() * WARP_SLOTS + s / 2 * 16 + s % 2 * 8 + lane() / 4;
    }
    static __device__ __forceinline__ int channel(int c) {
        return c / 2 * 8 + lane() % 4 * 2 + c % 2;
    }
    __device__ __forceinline__ float at(int s, int c) const {
        return sum[s / 2][c / 2][s % 2 * 2 + c % 2];
    }

    __device__ __forceinline__ void add(const float *window, const int *place, const int *offset,
                                        const float *weights, int taps, int columns) {
        if (columns > 8)
            add_octets<2>(window, place, offset, weights, taps);
        else
            add_octets<1>(window, place, offset, weights, taps);
    }

    template <int COUNT>
    __device__ __forceinline__ void add_octets(const float *window, const int *place,
                                               const int *offset, const float *weights, int taps) {
        const int g = lane() / 4, t = lane() % 4;
        const float *from[LANE_SLOTS];
#pragma unroll
        for (int s = 0; s < LANE_SLOTS; ++s)
            from[s] = window + read_at(place[slot(s)]);
        weights += t * WEIGHT_PITCH + g;
#pragma unroll 1
        for (int k = 0; k < taps; k += 8, weights += 8 * WEIGHT_PITCH) {
            const int low = offset[k + t], high = offset[k + t + 4];
            uint32_t w[COUNT][2];
#pragma unroll
            for (int o = 0; o < COUNT; ++o)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    w[o][i] = __float_as_uint(weights[4 * i * WEIGHT_PITCH + 8 * o]);
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                const float *const upper = from[2 * tile], *const lower = from[2 * tile + 1];
                const uint32_t x[4] = {__float_as_uint(upper[low]), __float_as_uint(lower[low]),
                                       __float_as_uint(upper[high]), __float_as_uint(lower[high])};
#pragma unroll
                for (int o = 0; o < COUNT; ++o)
                    mma_m16n8k8_tf32(sum[tile][o], x, w[o]);
            }
        }
    }
};

/* Adds the products of one slice, whose window is there, to the sums: all its taps, chunk by chunk.
 * Every thread of the block comes here; none leaves before all have read the tables. */
template <typename Core>
static __device__ __forceinline__ void
add_taps(const tables<typename Core::storage> &m, const typename Core::storage *window,
         const window_shape &view, const tap_order &order, int count,
         const weights<typename Core::storage> &w, bool needed, Core &core) {
    for (int first = 0; first < count; first += CHUNK) {
        list_taps(order, view, first, count, m.offset, m.source);
        __syncthreads();
        fetch_weights<Core>(w, m.source, m.weights);
        __syncthreads();
        if (needed)
            core.add(window, m.place, m.offset, m.weights, least(CHUNK, count - first), w.columns);
        __syncthreads();
    }
}

/* What a convolution reads, and how it is cut. */
template <typename T> struct convolution {
    rows<const T> x, w;
    bool packed;
    sizes z;
    cut how;
};

template <typename T>
static inline convolution<T> convolution_of(const inputs<T> &in, const sizes &z, const cut &how) {
    return {in.x, in.w, packs(in.x, z.in), z, how};
}

static __device__ __forceinline__ tap_order order_in(const slice &s, int64_t k, int64_t row) {
    const int64_t first = s.channel * row + (s.kd * k + s.kh) * k;
    return {first, row, (int)k, s.kds, s.khs, (int)k, 1, 1};
}

static __device__ __forceinline__ int taps_in(const slice &s, int64_t k) {
    return s.channels * s.kds * s.khs * (int)k;
}

/* The bias-free convolution of one box's slots with `channels` channels from `channel` on. The
 * places are there; `fetched_already`: so is the window, and it is the only one. */
template <typename Core>
static __device__ __forceinline__ void convolve(const convolution<typename Core::storage> &p,
                                                const tables<typename Core::storage> &m, int64_t n,
                                                const corner &at, int64_t channel,
                                                bool fetched_already, bool needed, Core &core) {
    typedef typename Core::storage T;
    const weights<T> w = {p.w.data, p.z.ci * p.w.stride, 1, (int)channel,
                          least(CHANNELS, p.z.co - channel)};
    for (int i = 0; i < slices_of(p.how); ++i) {
        const slice s = slice_of(p.how, p.z, i);
        if (!fetched_already) {
            fetch<Core>(p.x, p.packed, p.z, p.how.view, s, n, at, m.window);
            fetched();
        }
        add_taps(m, m.window, p.how.view, order_in(s, p.z.k, p.w.stride), taps_in(s, p.z.k), w,
                 needed, core);
    }
}

#endif
