/*
 * dw of v3: a block makes dc of a box from c, keeps it in shared memory and multiplies it with the
 * patches of x,
 *
 *     dw[co, tap] = sum over samples and positions of dc[co, position] x[position + tap].
 *
 * Its sums, of GROUP channels and some taps of one slice, stay in registers over all its boxes;
 * then they go to a partial dw in the workspace.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_WEIGHTS_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_WEIGHTS_H

#include "kernels/conv3d_groupnorm_mean/v3_cotangent.h"

static constexpr int MULTIPROCESSORS = 132;        /* that the partial sums are planned for */
static constexpr int64_t PARTIAL_BYTES = 64 << 20; /* what they may take together */

/* A box of dc and the window of x: their first elements, and how many lines of taps there are. */
template <typename T> struct operands {
    const T *x, *dc;
    window_shape x_view, dc_view;
    box positions;
};

/* Where a slice's sums go: to[channel * row + the tap's number among all]. */
template <typename T> struct weight_sink {
    T *to;
    int64_t row, taps;
    slice s;
    int k, channels;
};

template <typename T>
static __device__ __forceinline__ void put(const weight_sink<T> &p, int channel, int ci, int kd,
                                           int kh, int kw, T v) {
    if (channel < p.channels)
        p.to[channel * p.row + (p.s.channel + ci) * p.taps +
             ((int64_t)(p.s.kd + kd) * p.k + p.s.kh + kh) * p.k + kw] = v;
}

/* On CUDA cores: a warp has the 3 x 3 taps of one channel's plane, or of a part of it, and a lane a
 * run of positions. */
template <typename T> struct fma_sums : fma_core<T> {
    static constexpr int OCTETS = 0; /* of tensor cores */
    enum {
        GROUP = 8,
        TAPS = 3,
        BLOCK_WARPS = 9,
        BLOCKS = sizeof(T) == sizeof(double) ? 1 : 2,
        RUN = PACK_BYTES / 2 / (int)sizeof(T),
        RUNS = 16, /* of a line, next to each other */
        SPAN = RUNS * RUN,
        LINES = WARP / RUNS,
        READ = (TAPS + RUN - 2) / RUN + 1, /* runs of x that a run of positions meets */
        SHARED_SUMS = 0
    };
    struct alignas(RUN * sizeof(T)) run {
        T of[RUN];
    };
    T sum[GROUP][TAPS][TAPS] = {};

    static __host__ __device__ __forceinline__ int chunks(int channels, int kds, int k) {
        return (channels * kds * ((k + TAPS - 1) / TAPS) + BLOCK_WARPS - 1) / BLOCK_WARPS;
    }
    static __host__ __device__ __forceinline__ int places(int) {
        return 0;
    }
    /* The taps of a line that windows have room for: whole planes of a warp. */
    static inline int width(int k) {
        return round_up(k, TAPS);
    }
    /* Positions that a box takes as long as. */
    static inline int64_t work(const box &b) {
        return size_of(b);
    }

    /* A warp's plane of taps. */
    struct plane {
        int ci, kd, kw;
    };
    static __device__ __forceinline__ plane plane_of(const slice &s, int k, int chunk) {
        const int parts = (k + TAPS - 1) / TAPS, i = chunk * BLOCK_WARPS + warp();
        return {i / parts / s.kds, i / parts % s.kds, i % parts * TAPS};
    }

    __device__ __forceinline__ void add(const operands<T> &p, const slice &s, int k, int chunk,
                                        const int *) {
        const plane of = plane_of(s, k, chunk);
        if (of.ci >= s.channels)
            return;
        if (of.kw % RUN == 0)
            add_aligned<true>(p, s, of);
        else
            add_aligned<false>(p, s, of);
    }

    template <bool ALIGNED>
    __device__ __forceinline__ void add_aligned(const operands<T> &p, const slice &s,
                                                const plane &of) {
        if (s.khs == 3)
            add_lines<ALIGNED, 3>(p, of);
        else if (s.khs == 2)
            add_lines<ALIGNED, 2>(p, of);
        else
            add_lines<ALIGNED, 1>(p, of);
    }

    template <bool ALIGNED, int LINES_OF_TAPS>
    __device__ __forceinline__ void add_lines(const operands<T> &p, const plane &of) {
        const int line = lane() / RUNS, place = lane() % RUNS * RUN;
#pragma unroll 1
        for (int d = 0; d < p.positions.d; ++d)
#pragma unroll 1
            for (int w = place; w < p.positions.w; w += SPAN) {
                const T *from = p.x + offset_in(p.x_view, of.ci, d + of.kd, line, w + of.kw);
                const T *dc = p.dc + offset_in(p.dc_view, 0, d, line, w);
#pragma unroll 1
                for (int h = 0; h < p.positions.h; h += LINES) {
                    add_run<ALIGNED, LINES_OF_TAPS>(from, p.x_view.pitch, dc,
                                                    p.dc_view.channel_pitch);
                    from += LINES * p.x_view.pitch;
                    dc += LINES * p.dc_view.pitch;
                }
            }
    }

    template <bool ALIGNED, int LINES_OF_TAPS>
    __device__ __forceinline__ void add_run(const T *from, int pitch, const T *dc,
                                            int channel_pitch) {
        run x[LINES_OF_TAPS][READ];
#pragma unroll
        for (int kh = 0; kh < LINES_OF_TAPS; ++kh, from += pitch)
#pragma unroll
            for (int i = 0; i < READ; ++i) {
                if (ALIGNED)
                    x[kh][i] = reinterpret_cast<const run *>(from)[i];
#pragma unroll
                for (int e = 0; e < RUN && !ALIGNED; ++e)
                    x[kh][i].of[e] = from[i * RUN + e];
            }
#pragma unroll
        for (int c = 0; c < GROUP; ++c, dc += channel_pitch) {
            const run y = *reinterpret_cast<const run *>(dc);
#pragma unroll
            for (int kh = 0; kh < LINES_OF_TAPS; ++kh)
#pragma unroll
                for (int kw = 0; kw < TAPS; ++kw)
#pragma unroll
                    for (int i = 0; i < RUN; ++i)
                        sum[c][kh][kw] =
                            fma_(y.of[i], x[kh][(i + kw) / RUN].of[(i + kw) % RUN], sum[c][kh][kw]);
        }
    }

    __device__ __forceinline__ void flush(const weight_sink<T> &p, int chunk, T *) {
        const plane of = plane_of(p.s, p.k, chunk);
        if (of.ci >= p.s.channels)
            return;
#pragma unroll
        for (int c = 0; c < GROUP; ++c)
#pragma unroll
            for (int kh = 0; kh < TAPS; ++kh)
#pragma unroll
                for (int kw = 0; kw < TAPS; ++kw) {
                    const T all = lane_sum(sum[c][kh][kw]);
                    if (lane() == 0 && kh < p.s.khs && of.kw + kw < p.k)
                        put(p, c, of.ci, of.kd, kh, of.kw + kw, all);
                }
    }
};

/* On tensor cores: a warp has PLACES of j and 3 kh of all channels, and of the positions strips of
 * 8 by TILE_LINES. */
template <int COUNT> struct tf32_sums : tf32_core {
    static constexpr int OCTETS = COUNT;
    enum {
        GROUP = 8 * OCTETS,
        TAPS = 3,
        PLACES = 32,
        MATRICES = PLACES / 16,
        BLOCK_WARPS = 4,
        BLOCKS = OCTETS == 1 ? 4 : 3,
        SPAN = 8,
        LINES = TILE_LINES,
        SHARED_SUMS = MATRICES * TAPS * OCTETS * 4 * WARP
    };
    float sum[MATRICES][TAPS][OCTETS][4] = {};

    static __host__ __device__ __forceinline__ int chunks(int channels, int kds, int k) {
        return (channels * kds * k + PLACES - 1) / PLACES;
    }
    static __host__ __device__ __forceinline__ int places(int chunks) {
        return chunks * PLACES;
    }
    static inline int width(int k) {
        return k;
    }
    static inline int64_t work(const box &b) {
        return round_up(size_of(b) / (SPAN * LINES), BLOCK_WARPS) * SPAN * LINES;
    }

    __device__ __forceinline__ void add(const operands<float> &p, const slice &s, int, int chunk,
                                        const int *offset) {
        if (s.khs == 3)
            add_lines<3>(p, offset + chunk * PLACES);
        else if (s.khs == 2)
            add_lines<2>(p, offset + chunk * PLACES);
        else
            add_lines<1>(p, offset + chunk * PLACES);
    }

    template <int LINES_OF_TAPS>
    __device__ __forceinline__ void add_lines(const operands<float> &p, const int *offset) {
        const int g = lane() / 4, t = lane() % 4, wide = p.positions.w / SPAN,
                  high = p.positions.h / LINES, pitch = p.x_view.pitch;
#pragma unroll 1
        for (int i = warp(); i < p.positions.d * high * wide; i += BLOCK_WARPS) {
            const int w = i % wide * SPAN, h = i / wide % high * LINES, d = i / wide / high;
            const float *const x = p.x + offset_in(p.x_view, 0, d, h, w) + t;
            const float *const dc =
                p.dc + g * p.dc_view.channel_pitch + offset_in(p.dc_view, 0, d, h, w) + t;
            uint32_t y[LINES_OF_TAPS][OCTETS][2];
#pragma unroll
            for (int l = 0; l < LINES + LINES_OF_TAPS - 1; ++l) {
                if (l < LINES)
#pragma unroll
                    for (int o = 0; o < OCTETS; ++o)
#pragma unroll
                        for (int e = 0; e < 2; ++e)
                            y[l % LINES_OF_TAPS][o][e] = __float_as_uint(
                                dc[o * 8 * p.dc_view.channel_pitch + l * p.dc_view.pitch + 4 * e]);
#pragma unroll
                for (int m = 0; m < MATRICES; ++m) {
                    const float *const upper = x + offset[16 * m + g] + l * pitch,
                                       *const lower = x + offset[16 * m + 8 + g] + l * pitch;
                    const uint32_t a[4] = {__float_as_uint(upper[0]), __float_as_uint(lower[0]),
                                           __float_as_uint(upper[4]), __float_as_uint(lower[4])};
#pragma unroll
                    for (int kh = 0; kh < LINES_OF_TAPS; ++kh)
                        if (l - kh >= 0 && l - kh < LINES)
#pragma unroll
                            for (int o = 0; o < OCTETS; ++o)
                                mma_m16n8k8_tf32(sum[m][kh][o], a, y[(l - kh) % LINES_OF_TAPS][o]);
                }
            }
        }
    }

    /* The warps' sums, added up one after another in `shared`. */
    __device__ __forceinline__ void flush(const weight_sink<float> &p, int chunk, float *shared) {
        const int g = lane() / 4, t = lane() % 4;
        float *const all = &sum[0][0][0][0];
        for (int w = BLOCK_WARPS - 1; w >= 0; --w) {
            __syncthreads();
            if (warp() != w)
                continue;
#pragma unroll
            for (int i = 0; i < MATRICES * TAPS * OCTETS * 4; ++i) {
                if (w < BLOCK_WARPS - 1)
                    all[i] += shared[i * WARP + lane()];
                if (w > 0)
                    shared[i * WARP + lane()] = all[i];
            }
        }
        if (warp() > 0)
            return;
#pragma unroll
        for (int m = 0; m < MATRICES; ++m)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int j = chunk * PLACES + m * 16 + g + i / 2 * 8;
                const int kw = j % p.k, kd = j / p.k % p.s.kds, ci = j / p.k / p.s.kds;
                if (ci >= p.s.channels)
                    continue;
#pragma unroll
                for (int kh = 0; kh < TAPS; ++kh)
#pragma unroll
                    for (int o = 0; o < OCTETS; ++o)
                        if (kh < p.s.khs)
                            put(p, o * 8 + 2 * t + i % 2, ci, kd, kh, kw, sum[m][kh][o][i]);
            }
    }
};

/* How dw is cut: by groups of channels, slices of the taps and chunks of these, and into `splits`
 * of the boxes of all samples, which a block each takes. */
struct weight_plan {
    cut how;
    window_shape cotangent;
    grid_of_boxes boxes;
    int groups, chunks, places;
    int64_t splits;
};

/* Whether one block alone has the dc of each box and channel; then it leaves it in place of c. */
static inline bool keeps_cotangent(const weight_plan &plan) {
    return plan.chunks * slices_of(plan.how) == 1;
}

template <typename Core> static size_t weight_bytes(const weight_plan &plan) {
    return (size_t)clamp(size_of(plan.how.view) + size_of(plan.cotangent), Core::SHARED_SUMS,
                         INT64_MAX) *
               sizeof(typename Core::storage) +
           (size_t)plan.places * sizeof(int);
}

/* The places in the window of the slice's j, kh = 0; 0 beyond them. */
static __device__ __forceinline__ void list_offsets(const window_shape &view, const slice &s, int k,
                                                    int places, int *offset) {
    for (int j = (int)threadIdx.x; j < places; j += (int)blockDim.x)
        offset[j] = j < s.channels * s.kds * k
                        ? offset_in(view, j / k / s.kds, j / k % s.kds, 0, j % k)
                        : 0;
}

/* Split i of `splits` takes the boxes i, i + splits, … of all samples. partial is (splits, co, ci,
 * taps). `keep`: dc is written over c. */
template <typename Core>
static __global__ void __launch_bounds__((int)Core::BLOCK_WARPS *(int)WARP, Core::BLOCKS)
    weight_gradient(rows<const typename Core::storage> x, bool packed, sizes z, weight_plan plan,
                    cotangent_source<typename Core::storage> g, bool keep,
                    typename Core::storage *partial) {
    typedef typename Core::storage T;
    ASSAY_DYNAMIC_SHARED(int, offset);
    T *const window = reinterpret_cast<T *>(offset + plan.places);
    T *const cotangent = window + size_of(plan.how.view);
    const int k = (int)z.k;
    int64_t rest = blockIdx.x;
    const int64_t split = rest % plan.splits;
    rest /= plan.splits;
    const int64_t channel = rest % plan.groups * Core::GROUP;
    rest /= plan.groups;
    const int chunk = (int)(rest % plan.chunks);
    const slice s = slice_of(plan.how, z, (int)(rest / plan.chunks));
    list_offsets(plan.how.view, s, k, plan.places, offset);
    const operands<T> p = {window, cotangent, plan.how.view, plan.cotangent, plan.how.positions};
    Core core;
    for (int64_t i = split; i < z.n * size_of(plan.boxes); i += plan.splits) {
        const task t = task_of(plan.boxes, plan.how.positions, i);
        __syncthreads();
        fetch<Core>(x, packed, z, plan.how.view, s, t.n, t.at, window);
        const cotangent_window<T> dc = {g,       z.co,        z.out, plan.cotangent, t.at, t.n,
                                        channel, Core::GROUP, keep};
        fetch_cotangent<Core>(dc, cotangent);
        settle<Core>(plan.how.view, s, window);
        settle_cotangent<Core>(dc, cotangent);
        __syncthreads();
        core.add(p, s, k, chunk, offset);
    }
    const weight_sink<T> sink = {partial + (split * z.co + channel) * z.ci * z.taps,
                                 z.ci * z.taps,
                                 z.taps,
                                 s,
                                 k,
                                 least(Core::GROUP, z.co - channel)};
    core.flush(sink, chunk, window);
}

#endif
