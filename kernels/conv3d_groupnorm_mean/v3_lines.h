/*
 * How a warp of v3 convolves: a tile of TILE_LINES lines of SPAN positions of one plane, and GROUP
 * channels, in the registers of its lanes. What a lane has loaded of the window serves several
 * taps: on CUDA cores those of a line of the kernel, on tensor cores those of a column.
 *
 * Such a core has, too,
 *     SPAN, GROUP                 see above
 *     PITCH                       channels whose weights are in shared memory
 *     BLOCKS                      how many a multiprocessor should have
 *     weights(), weight_at()      how many weights a slice has in shared memory, and where
 *     add(...)                    the products of a slice
 *     LANE_SLOTS, LANE_CHANNELS   sums of a lane; line(s), place(s), channel(c), at(s, c) are
 *                                 their places in the tile and the group, and they themselves
 *     SELECTS                     whether slots that lie outside of a volume count too, as the
 *                                 values that put_outside(lines, places, v) gives their channels
 *     FIRST_PEER                  lanes that differ in this bit of their number or in a higher one
 *                                 have the same channels
 *     keep(...)                   writes the sums to memory
 *
 * A slice's taps are numbered in two parts: j over channels, kd and kw, kw fastest, and kh.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_LINES_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_LINES_H

#include "kernels/conv3d_groupnorm_mean/v3_core.h"

/* Where a tile goes: from its first element of its first channel on, by line and by channel.
 * `packed`: in packs, of which the last of a line may go over its end. */
template <typename T> struct extent {
    T *data;
    int64_t line, channel;
    bool packed;
};

/* On CUDA cores: a lane has a run of positions of one line, of all COLUMNS channels. */
template <typename T, int COLUMNS> struct fma_lines : fma_core<T> {
    enum {
        PACK = PACK_BYTES / (int)sizeof(T),
        RUN = 2 * PACK,
        RUNS = WARP / TILE_LINES, /* of a line */
        SPAN = RUNS * RUN,
        GROUP = COLUMNS,
        LANE_SLOTS = RUN,
        LANE_CHANNELS = GROUP,
        FIRST_PEER = 1,
        BLOCKS = sizeof(T) == sizeof(double) ? 2 : 4,
        LEADS = 0,
        SELECTS = 0,
        PITCH = (COLUMNS + PACK - 1) / PACK * PACK /* of a tap's weights */
    };
    T sum[LANE_CHANNELS][RUN] = {};

    static __device__ __forceinline__ int line(int) {
        return lane() / RUNS;
    }
    static __device__ __forceinline__ int place(int s) {
        return lane() % RUNS * RUN + s;
    }
    static __device__ __forceinline__ int channel(int c) {
        return c;
    }
    __device__ __forceinline__ T at(int s, int c) const {
        return sum[c][s];
    }

    /* Taps in lines of the kernel, PITCH weights each. */
    static __host__ __device__ __forceinline__ int weights(int places, int khs) {
        return places * khs * PITCH;
    }
    static __device__ __forceinline__ int weight_at(const divider &by_k, int khs, int j, int kh,
                                                    int channel) {
        int row = j;
        const int kw = cut_digit(by_k, &row);
        return ((row * khs + kh) * (int)by_k.by + kw) * PITCH + channel;
    }

    /* `x`: the tile's first element for the slice's first tap. */
    __device__ __forceinline__ void add(const T *x, const window_shape &view, const int *,
                                        const slice &s, int k, const T *w) {
        x += lane() / RUNS * view.pitch + lane() % RUNS * RUN;
        for (int kw = 0; kw < k; kw += 4) {
            if (k - kw >= 4)
                add_rows<4>(x + kw, view, s, k, w + kw * PITCH);
            else if (k - kw == 3)
                add_rows<3>(x + kw, view, s, k, w + kw * PITCH);
            else if (k - kw == 2)
                add_rows<2>(x + kw, view, s, k, w + kw * PITCH);
            else
                add_rows<1>(x + kw, view, s, k, w + kw * PITCH);
        }
    }

    /* TAPS of each line of taps. */
    template <int TAPS>
    __device__ __forceinline__ void add_rows(const T *x, const window_shape &view, const slice &s,
                                             int k, const T *w) {
#pragma unroll 1
        for (int ci = 0; ci < s.channels; ++ci)
#pragma unroll 1
            for (int kd = 0; kd < s.kds; ++kd) {
                const T *from = x + offset_in(view, ci, kd, 0, 0);
#pragma unroll 1
                for (int kh = 0; kh < s.khs; ++kh, from += view.pitch, w += k * PITCH)
                    add_row<TAPS>(from, w);
            }
    }

    template <int TAPS> __device__ __forceinline__ void add_row(const T *from, const T *w) {
        constexpr int PACKS = (RUN + TAPS - 1 + PACK - 1) / PACK;
        pack<T> x[PACKS];
#pragma unroll
        for (int i = 0; i < PACKS; ++i)
            x[i] = reinterpret_cast<const pack<T> *>(from)[i];
#pragma unroll
        for (int t = 0; t < TAPS; ++t)
#pragma unroll
            for (int c = 0; c < COLUMNS; c += PACK) {
                const pack<T> y = *reinterpret_cast<const pack<T> *>(w + t * PITCH + c);
#pragma unroll
                for (int i = 0; i < PACK && c + i < COLUMNS; ++i)
#pragma unroll
                    for (int p = 0; p < RUN; ++p)
                        sum[c + i][p] =
                            fma_(x[(p + t) / PACK].of[(p + t) % PACK], y.of[i], sum[c + i][p]);
            }
    }

    __device__ __forceinline__ void keep(const extent<T> &to, int lines, int places,
                                         int channels) const {
        T *here = to.data + line(0) * to.line + place(0);
        if (line(0) >= lines)
            return;
#pragma unroll
        for (int c = 0; c < LANE_CHANNELS && c < channels; ++c, here += to.channel)
#pragma unroll
            for (int i = 0; i < RUN; i += PACK) {
                pack<T> v;
#pragma unroll
                for (int e = 0; e < PACK; ++e)
                    v.of[e] = sum[c][i + e];
                if (to.packed && place(i) < places)
                    *reinterpret_cast<pack<T> *>(here + i) = v;
#pragma unroll
                for (int e = 0; e < PACK; ++e)
                    if (!to.packed && place(i + e) < places)
                        here[i + e] = v.of[e];
            }
    }
};

/* Operands rounded to TF32, on tensor cores: a fragment of 16 positions of a line and 8 j serves
 * the taps kh of all the tile's lines that they reach. Tiles of convolve_boxes() have TILE_LINES.
 */
template <int OCTETS, int LINES_HIGH = TILE_LINES> struct tf32_lines : tf32_core {
    static constexpr int OCTETS_EACH = OCTETS;
    static constexpr bool WARPGROUP = false; /* whether four warps multiply together */
    enum {
        SPAN = 16,
        LINES = LINES_HIGH,
        GROUP = 8 * OCTETS,
        LANE_SLOTS = 2 * LINES_HIGH,
        LANE_CHANNELS = 2 * OCTETS,
        FIRST_PEER = 4,
        BLOCKS = OCTETS == 3 ? 3 : 4,
        LEADS = 1,
        SELECTS = 1,
        PITCH = GROUP,
        FRAGMENT = 2 * WARP /* weights of 8 j and 8 channels */
    };
    float sum[LINES_HIGH][OCTETS][4] = {};

    static __device__ __forceinline__ int line(int s) {
        return s / 2;
    }
    static __device__ __forceinline__ int place(int s) {
        return s % 2 * 8 + lane() / 4;
    }
    static __device__ __forceinline__ int channel(int c) {
        return c / 2 * 8 + lane() % 4 * 2 + c % 2;
    }
    __device__ __forceinline__ float at(int s, int c) const {
        return sum[s / 2][c / 2][s % 2 * 2 + c % 2];
    }
    /* v in place of the sums outside of so many lines and places. */
    __device__ __forceinline__ void put_outside(int lines, int places,
                                                const float (&v)[LANE_CHANNELS]) {
        if (places < SPAN / 2)
#pragma unroll
            for (int s = 0; s < LANE_SLOTS; s += 2)
#pragma unroll
                for (int c = 0; c < LANE_CHANNELS; ++c)
                    put(s, c, place(s) < places ? at(s, c) : v[c]);
        if (places < SPAN)
#pragma unroll
            for (int s = 1; s < LANE_SLOTS; s += 2)
#pragma unroll
                for (int c = 0; c < LANE_CHANNELS; ++c)
                    put(s, c, place(s) < places ? at(s, c) : v[c]);
        if (lines < LINES)
#pragma unroll
            for (int s = 0; s < LANE_SLOTS; s += 2)
                if (line(s) >= lines)
#pragma unroll
                    for (int c = 0; c < LANE_CHANNELS; ++c) {
                        put(s, c, v[c]);
                        put(s + 1, c, v[c]);
                    }
    }
    __device__ __forceinline__ void put(int s, int c, float v) {
        sum[s / 2][c / 2][s % 2 * 2 + c % 2] = v;
    }

    /* Fragments as lanes take them, 8 j and 8 channels each; of 8 j all kh, octets fastest. */
    static __host__ __device__ __forceinline__ int weights(int places, int khs) {
        return (places + 7) / 8 * khs * OCTETS * FRAGMENT;
    }
    static __device__ __forceinline__ int weight_at(const divider &, int khs, int j, int kh,
                                                    int channel) {
        return ((j / 8 * khs + kh) * OCTETS + channel / 8) * FRAGMENT +
               (channel % 8 * 4 + j % 4) * 2 + j / 4 % 2;
    }

    __device__ __forceinline__ void add(const float *x, const window_shape &view, const int *offset,
                                        const slice &s, int k, const float *w) {
        const int places = s.channels * s.kds * k;
        x += lane() / 4;
        w += 2 * lane();
        for (int kh = 0; kh < s.khs; kh += 3) {
            const float *const from = x + kh * view.pitch, *const of = w + kh * OCTETS * FRAGMENT;
            if (s.khs - kh >= 3)
                add_columns<3>(from, view.pitch, offset, places, of, s.khs);
            else if (s.khs - kh == 2)
                add_columns<2>(from, view.pitch, offset, places, of, s.khs);
            else
                add_columns<1>(from, view.pitch, offset, places, of, s.khs);
        }
    }

    /* TAPS of each column of taps. */
    template <int TAPS>
    __device__ __forceinline__ void add_columns(const float *x, int pitch, const int *offset,
                                                int places, const float *w, int khs) {
        struct alignas(2 * sizeof(float)) couple {
            float of[2];
        };
        offset += lane() % 4;
#pragma unroll 1
        for (int j = 0; j < places; j += 8, w += khs * OCTETS * FRAGMENT) {
            const float *low = x + offset[j], *high = x + offset[j + 4];
            uint32_t y[TAPS][OCTETS][2];
#pragma unroll
            for (int t = 0; t < TAPS; ++t)
#pragma unroll
                for (int o = 0; o < OCTETS; ++o) {
                    const couple v =
                        *reinterpret_cast<const couple *>(w + (t * OCTETS + o) * FRAGMENT);
                    y[t][o][0] = __float_as_uint(v.of[0]);
                    y[t][o][1] = __float_as_uint(v.of[1]);
                }
#pragma unroll
            for (int l = 0; l < LINES_HIGH + TAPS - 1; ++l, low += pitch, high += pitch) {
                const uint32_t a[4] = {__float_as_uint(low[0]), __float_as_uint(low[8]),
                                       __float_as_uint(high[0]), __float_as_uint(high[8])};
#pragma unroll
                for (int t = 0; t < TAPS; ++t)
                    if (l - t >= 0 && l - t < LINES_HIGH)
#pragma unroll
                        for (int o = 0; o < OCTETS; ++o)
                            mma_m16n8k8_tf32(sum[l - t][o], a, y[t][o]);
            }
        }
    }

    __device__ __forceinline__ void keep(const extent<float> &to, int lines, int places,
                                         int channels) const {
        const bool left = place(0) < places, right = place(1) < places;
#pragma unroll
        for (int c = 0; c < LANE_CHANNELS; ++c) {
            float *here = to.data + channel(c) * to.channel + place(0);
            if (channel(c) >= channels)
                continue;
#pragma unroll
            for (int l = 0; l < LINES_HIGH && l < lines; ++l, here += to.line) {
                if (left)
                    here[0] = at(2 * l, c);
                if (right)
                    here[place(1) - place(0)] = at(2 * l + 1, c);
            }
        }
    }
};

/* The weights of a convolution: that of tap `i` of k^3, of a channel to be summed over and of one
 * to be made is data[made * column + summed * channel + i], or, `flipped`, the last but i. */
template <typename T> struct filters {
    const T *data;
    int64_t column, channel;
    bool flipped;
};

/* A convolution: z.ci channels are summed over, z.co made, for the positions of z.out. All
 * weights are in shared memory where `resident`, otherwise those of a slice and a group. */
template <typename T> struct convolution {
    filters<T> w;
    sizes z;
    cut how;
    divider by_k, by_wide, by_high; /* tiles of a line of the box, and of a column */
    int groups, places;             /* places: the most that j may number */
    int lead;                       /* elements of a window's lines before the first tap's */
    bool resident;
};

/* How often there are weights of a slice and a group in shared memory, and lists of places. */
template <typename T>
static __host__ __device__ __forceinline__ int weight_blocks(const convolution<T> &p) {
    return p.resident ? slices_of(p.how) * p.groups : 1;
}
template <typename T>
static __host__ __device__ __forceinline__ int place_lists(const convolution<T> &p) {
    return p.resident ? slices_of(p.how) : 1;
}

/* The places of the slice's taps in the window and in w, for j; offset 0 and source -1 for those
 * that fill the last eight up. */
template <typename T>
static __device__ __forceinline__ void list_places(const convolution<T> &p, const slice &s,
                                                   int *offset, int64_t *source) {
    const int k = (int)p.z.k, count = s.channels * s.kds * k;
    for (int j = (int)threadIdx.x; j < round_up(count, 8); j += THREADS) {
        const int kw = j % k, kd = j / k % s.kds, ci = j / k / s.kds;
        const int64_t tap = ((int64_t)(s.kd + kd) * k + s.kh) * k + kw;
        const bool there = j < count;
        offset[j] = there ? offset_in(p.how.view, ci, kd, 0, kw) : 0;
        source[j] =
            there ? (s.channel + ci) * p.w.channel + (p.w.flipped ? p.z.taps - 1 - tap : tap) : -1;
    }
}

/* The listed taps' weights of a group from `channel` on; 0 where there is none. */
template <typename Core>
static __device__ __forceinline__ void fetch_group(const convolution<typename Core::storage> &p,
                                                   const slice &s, const int64_t *source,
                                                   int64_t channel, typename Core::storage *to) {
    typedef typename Core::storage T;
    constexpr int EACH = 16, TOGETHER = 3; /* threads for a channel; loads at a time */
    const int k = (int)p.z.k, count = round_up(s.channels * s.kds * k, 8);
    const int end = Core::weights(s.channels * s.kds * k, s.khs), step = p.w.flipped ? -k : k;
    for (int c = (int)threadIdx.x / EACH; c < Core::PITCH; c += THREADS / EACH) {
        const T *const from = p.w.data + (channel + c) * p.w.column;
        const bool exists = c < Core::GROUP && channel + c < p.z.co;
#pragma unroll 2
        for (int j = (int)threadIdx.x % EACH; j < count; j += EACH)
            for (int kh = 0; kh < s.khs; kh += TOGETHER) {
                T got[TOGETHER];
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i)
                    got[i] = exists && source[j] >= 0 && kh + i < s.khs
                                 ? from[source[j] + (kh + i) * step]
                                 : T(0);
#pragma unroll
                for (int i = 0; i < TOGETHER; ++i) {
                    const int at = Core::weight_at(p.by_k, s.khs, j, kh + i, c);
                    if (kh + i < s.khs && at < end)
                        to[at] = Core::operand(got[i]);
                }
            }
    }
}

template <typename Core>
static __host__ __device__ __forceinline__ int group_weights(const cut &how, int k) {
    return Core::weights(how.channels * how.kd * k, how.kh);
}

template <typename Core>
static size_t convolution_bytes(const convolution<typename Core::storage> &p) {
    return (size_t)(size_of(p.how.view) +
                    weight_blocks(p) * group_weights<Core>(p.how, (int)p.z.k)) *
               sizeof(typename Core::storage) +
           (size_t)p.places * (sizeof(int64_t) + place_lists(p) * sizeof(int));
}

/* A tile of a convolution: `lines` lines of `places` positions exist, if it does. */
struct tile {
    int64_t n, channel;
    int64_t d, h, w;   /* its first position */
    int lines, places; /* 0: none */
    int64_t index;     /* of all tiles of the sample */
    int offset;        /* of its first position in the window */
    bool mine;         /* the box has it */
};

template <typename Core>
static __device__ __forceinline__ tile tile_of(const convolution<typename Core::storage> &p,
                                               const task &of, int tiles, int i) {
    int d = i;
    tile t = {of.n, 0, 0, 0, 0, 0, 0, (int64_t)of.box * tiles + i, 0, i < tiles};
    const int w = cut_digit(p.by_wide, &d) * Core::SPAN, h = cut_digit(p.by_high, &d) * TILE_LINES;
    t.d = of.at.d + d;
    t.h = of.at.h + h;
    t.w = of.at.w + w;
    t.offset = offset_in(p.how.view, 0, d, h, w + p.lead);
    if (t.mine && t.d < p.z.out.d && t.w < p.z.out.w) {
        t.lines = (int)clamp(p.z.out.h - t.h, 0, TILE_LINES);
        t.places = least(Core::SPAN, p.z.out.w - t.w);
    }
    return t;
}

/* The tiles of all boxes of all samples: a block takes its share of them, as many tiles of a box
 * and a group at a time as it has warps. fetch_window(slice, n, corner, window) fetches a window,
 * take(core, tile) takes the sums. */
template <typename Core, typename Source, typename Sink>
static __device__ __forceinline__ void
convolve_boxes(const convolution<typename Core::storage> &p, const grid_of_boxes &g,
               const Source &fetch_window, const Sink &take) {
    typedef typename Core::storage T;
    ASSAY_DYNAMIC_SHARED(T, window);
    const box b = p.how.positions;
    const int k = (int)p.z.k, slices = slices_of(p.how), wide = b.w / Core::SPAN,
              high = b.h / TILE_LINES, tiles = b.d * high * wide;
    const int each = Core::weights(p.how.channels * p.how.kd * k, p.how.kh);
    T *const weights = window + size_of(p.how.view);
    int64_t *const source = reinterpret_cast<int64_t *>(weights + weight_blocks(p) * each);
    int *const offset = reinterpret_cast<int *>(source + p.places);
    if (p.resident)
        for (int part = 0; part < slices; ++part) {
            const slice s = slice_of(p.how, p.z, part);
            __syncthreads();
            list_places(p, s, offset + part * p.places, source);
            __syncthreads();
            for (int group = 0; group < p.groups; ++group)
                fetch_group<Core>(p, s, source, (int64_t)group * Core::GROUP,
                                  weights + (part * p.groups + group) * each);
        }

    const int rounds = (int)ceil_div(tiles, WARPS);
    const int64_t items = p.z.n * size_of(g) * rounds * p.groups,
                  end = items * (blockIdx.x + 1) / gridDim.x;
    int64_t i = items * blockIdx.x / gridDim.x;
    int group = (int)(i % p.groups), round = (int)(i / p.groups % rounds);
    task of = task_of(g, b, i / p.groups / rounds);
    bool loaded = false; /* the only window of this box */
    for (; i < end; ++i) {
        tile t = tile_of<Core>(p, of, tiles, round * WARPS + warp());
        t.channel = (int64_t)group * Core::GROUP;
        Core core;
        for (int part = 0; part < slices; ++part) {
            const slice s = slice_of(p.how, p.z, part);
            const int *const listed = offset + (p.resident ? part * p.places : 0);
            if (!loaded || slices > 1 || !p.resident) {
                __syncthreads();
                if (!loaded || slices > 1)
                    fetch_window(s, of.n, of.at, window);
                if (!p.resident)
                    list_places(p, s, offset, source);
                __syncthreads();
            }
            if (!p.resident) {
                fetch_group<Core>(p, s, source, t.channel, weights);
                __syncthreads();
            }
            if (t.lines > 0)
                core.add(window + t.offset, p.how.view, listed, s, k,
                         weights + (p.resident ? part * p.groups + group : 0) * each);
        }
        if (t.mine)
            take(core, t);
        loaded = true;
        if (++group < p.groups)
            continue;
        group = 0;
        if (++round < rounds)
            continue;
        round = 0;
        loaded = false;
        of = task_after(g, b, of);
    }
}

#endif
