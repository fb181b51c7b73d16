/*
 * How v3 cuts a convolution: boxes of output positions, the window of the input that a box reads,
 * and slices of the reduction over input channels and taps, one window in shared memory at a time.
 *
 * In a window every position of the box and every tap has an offset, and the element that tap t
 * reads for position p lies at offset(p) + offset(t): the patches of an implicit matrix product,
 * which are never written anywhere.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_TILE_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_TILE_H

#include "kernels/common/tensor.h"
#include "kernels/conv3d_groupnorm_mean/conv.h"

enum {
    THREADS = 128,
    WARP = 32,
    WARPS = THREADS / WARP,
    SLOTS = 512, /* positions that a block computes at a time */
    WARP_SLOTS = SLOTS / WARPS,
    CHANNELS = 16, /* and channels */
    OCTETS = CHANNELS / 8,
    CHUNK = 96,        /* taps whose weights are in shared memory at a time */
    WEIGHT_PITCH = 24, /* a tap's weights: lines that a warp reads together in other banks */
    PACK_BYTES = 16,   /* of one copy */
    BANKS = 32,
    LINE_SHIFT = 12, /* lines of a window start this many banks apart, for the same reason */
};

static __device__ __forceinline__ int lane() {
    return (int)threadIdx.x % WARP;
}
static __device__ __forceinline__ int warp() {
    return (int)threadIdx.x / WARP;
}

static __host__ __device__ __forceinline__ int least(int64_t a, int64_t b) {
    return (int)(a < b ? a : b);
}

/* Division of n by `by` without a division: floor(n factor / 2^32) with factor = 2^32 / by rounded
 * up is exact where n by < 2^32, as it is for all numbers of things in shared memory. A factor
 * of 0 stands for 2^32. */
struct divider {
    uint32_t by, factor;
};

static inline divider divider_for(int by) {
    return {(uint32_t)by, by > 1 ? UINT32_MAX / (uint32_t)by + 1 : 0};
}

/* The last digit of *n in base d; *n loses it. */
static __device__ __forceinline__ int cut_digit(const divider &d, int *n) {
    const uint32_t all = (uint32_t)*n;
    const uint32_t rest = d.factor ? (uint32_t)((uint64_t)all * d.factor >> 32) : all;
    *n = (int)rest;
    return (int)(all - rest * d.by);
}

/* Extents of a box of positions, w fastest. */
struct box {
    int d, h, w;
    divider by_h, by_w;
};

static inline box box_of(int d, int h, int w) {
    return {d, h, w, divider_for(h), divider_for(w)};
}

static __host__ __device__ __forceinline__ int size_of(const box &b) {
    return b.d * b.h * b.w;
}

/* Position i of a box. */
struct spot {
    int d, h, w;
};

static __device__ __forceinline__ spot spot_in(const box &b, int i) {
    const int w = cut_digit(b.by_w, &i), h = cut_digit(b.by_h, &i);
    return {i, h, w};
}

/* Some lines of planes of channels, in shared memory, and the distances from line to line and from
 * channel to channel. A line begins `lead` elements before the first that is needed, so that packs
 * in it are aligned. */
struct window_shape {
    int channels, planes, lines, length, pitch, lead, channel_pitch;
    divider by_packs, by_lines, by_planes; /* packs of a line */
};

static __host__ __device__ __forceinline__ int64_t size_of(const window_shape &v) {
    return (int64_t)v.channels * v.channel_pitch;
}

static __host__ __device__ __forceinline__ int offset_in(const window_shape &v, int channel,
                                                         int plane, int line, int place) {
    return channel * v.channel_pitch + (plane * v.lines + line) * v.pitch + place;
}

static inline int round_up(int64_t n, int to) {
    return (int)ceil_div(n, to) * to;
}

/* The smallest pitch of packs whose lines are LINE_SHIFT banks apart, or a single pack's. */
static inline int pitch_for(int length, size_t element) {
    const int words = (int)(element / sizeof(float)), pack = PACK_BYTES / (int)element;
    int pitch = round_up(length, pack);
    while (pitch * words % BANKS != LINE_SHIFT)
        pitch += pack;
    return pitch;
}

/* The window of `b` for a slice of `channels` whole kernels or, of one, `kd` planes or `kh` lines
 * of taps. One that fits nowhere is no larger than an int can tell. */
static inline window_shape window_for(const box &b, int channels, int kd, int kh, int kw, int lead,
                                      size_t element) {
    const int length = round_up(lead + b.w + kw - 1, PACK_BYTES / (int)element);
    const int planes = b.d + kd - 1, lines = b.h + kh - 1, pitch = pitch_for(length, element);
    return {channels,
            planes,
            lines,
            length,
            pitch,
            lead,
            least((int64_t)planes * lines * pitch, INT32_MAX),
            divider_for(length * (int)element / PACK_BYTES),
            divider_for(lines),
            divider_for(planes)};
}

/* A box's convolution: its reduction runs over parts of the channels, of kd and of kh. */
struct cut {
    box positions;
    window_shape view; /* of one slice */
    int channels, kd, kh;
    int channel_parts, d_parts, h_parts;
};

static __host__ __device__ __forceinline__ int slices_of(const cut &c) {
    return c.channel_parts * c.d_parts * c.h_parts;
}

/* The largest slices whose window has at most `budget` elements; a line of taps at least. */
static inline cut cut_for(const sizes &z, const box &b, int lead, int64_t budget, size_t element) {
    const int k = (int)z.k;
    int channels = 1, kd = k, kh = k;
    while (kd > 1 && size_of(window_for(b, 1, kd, kh, k, lead, element)) > budget)
        --kd;
    while (kh > 1 && size_of(window_for(b, 1, kd, kh, k, lead, element)) > budget)
        --kh;
    if (kd == k && kh == k)
        channels = (int)clamp(budget / size_of(window_for(b, 1, k, k, k, lead, element)), 1, z.ci);
    return {b,
            window_for(b, channels, kd, kh, k, lead, element),
            channels,
            kd,
            kh,
            (int)ceil_div(z.ci, channels),
            (int)ceil_div(k, kd),
            (int)ceil_div(k, kh)};
}

/* Boxes tile a volume, w fastest. An int can count them: a box has some tens of positions at least,
 * unless its window leaves no room for them. */
struct grid_of_boxes {
    int d, h, w;
};

static inline grid_of_boxes boxes_in(const volume &v, const box &b) {
    return {(int)ceil_div(v.d, b.d), (int)ceil_div(v.h, b.h), (int)ceil_div(v.w, b.w)};
}
static __host__ __device__ __forceinline__ int64_t size_of(const grid_of_boxes &g) {
    return (int64_t)g.d * g.h * g.w;
}

/* Where a box lies in a volume; a corner may lie outside of it. */
struct corner {
    int64_t d, h, w;
};

static __device__ __forceinline__ corner corner_of(const grid_of_boxes &g, const box &b, int i) {
    return {(int64_t)(i / g.w / g.h) * b.d, (int64_t)(i / g.w % g.h) * b.h,
            (int64_t)(i % g.w) * b.w};
}

/* One block's work: a box of a sample, and CHANNELS channels from one on. */
struct task {
    int64_t n, channel;
    corner at;
    int box;
};

/* Task i of those of `parts` times CHANNELS channels in all boxes of all samples. */
static __device__ __forceinline__ task task_of(const grid_of_boxes &g, const box &b, int parts,
                                               int64_t i) {
    const int64_t sample = size_of(g) * parts, n = i / sample, rest = i - n * sample;
    const int box = (int)(rest / parts);
    return {n, rest % parts * CHANNELS, corner_of(g, b, box), box};
}

/* The part [low, high) of `extent` places from `first` on that lies in [0, there). */
struct range {
    int low, high;
};

static __device__ __forceinline__ range range_in(int64_t first, int extent, int64_t there) {
    return {least(first < 0 ? -first : 0, extent), (int)clamp(there - first, 0, extent)};
}

static __device__ __forceinline__ bool within(const range &r, int i) {
    return r.low <= i && i < r.high;
}

/* The offsets in `view` of positions first…first+SLOTS-1 of box `b` at `at`; -1 for those that the
 * box does not have or that lie outside of `v`. */
static __device__ __forceinline__ void find_places(const box &b, const window_shape &view,
                                                   const corner &at, const volume &v, int first,
                                                   int *place) {
    const range d = range_in(at.d, b.d, v.d), h = range_in(at.h, b.h, v.h),
                w = range_in(at.w, b.w, v.w);
    for (int s = (int)threadIdx.x; s < SLOTS; s += THREADS) {
        const spot p = spot_in(b, first + s);
        const bool inside = within(d, p.d) && within(h, p.h) && within(w, p.w);
        place[s] = inside ? offset_in(view, 0, p.d, p.h, p.w + view.lead) : -1;
    }
}

/* One slice of the reduction: its first channel and tap. */
struct slice {
    int64_t channel;
    int channels, kd, kds, kh, khs;
};

static __device__ __forceinline__ slice slice_of(const cut &c, const sizes &z, int i) {
    const int h = i % c.h_parts, d = i / c.h_parts % c.d_parts;
    const int64_t channel = (int64_t)(i / c.h_parts / c.d_parts) * c.channels;
    return {channel,  least(c.channels, z.ci - channel), d * c.kd, least(c.kd, z.k - d * c.kd),
            h * c.kh, least(c.kh, z.k - h * c.kh)};
}

template <typename T> struct alignas(PACK_BYTES) pack { T of[PACK_BYTES / sizeof(T)]; };

/* Volumes in global memory whose every line begins where a pack may. */
template <typename T> static inline bool packs(const rows<const T> &x, const volume &v) {
    return (uintptr_t)x.data % PACK_BYTES == 0 && (size_t)x.stride * sizeof(T) % PACK_BYTES == 0 &&
           (size_t)v.w * sizeof(T) % PACK_BYTES == 0;
}

/* Fetches the window of slice `s` of sample n for a box at `at`, as the core wants its operands: in
 * packs where x allows it, asynchronously where nothing is to be rounded. Elements outside of the
 * volume are 0. Complete after fetched() and a barrier. */
template <typename Core>
static __device__ __forceinline__ void fetch(const rows<const typename Core::storage> &x,
                                             bool packed, const sizes &z, const window_shape &view,
                                             const slice &s, int64_t n, const corner &at,
                                             typename Core::storage *to) {
    typedef typename Core::storage T;
    constexpr int PACK = PACK_BYTES / (int)sizeof(T);
    const int count = s.channels * view.planes * view.lines * (view.length / PACK);
    const corner first = {at.d + s.kd, at.h + s.kh, at.w - view.lead};
    const range d = range_in(first.d, view.planes, z.in.d),
                h = range_in(first.h, view.lines, z.in.h),
                w = range_in(first.w, view.length, z.in.w);
    const int64_t plane_stride = z.in.h * z.in.w;
    const T *const from = x.data + (n * z.ci + s.channel) * x.stride + first.d * plane_stride +
                          first.h * z.in.w + first.w;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < count; e += THREADS) {
        int channel = e;
        const int place = cut_digit(view.by_packs, &channel) * PACK;
        const int line = cut_digit(view.by_lines, &channel);
        const int plane = cut_digit(view.by_planes, &channel);
        const bool there = within(d, plane) && within(h, line);
        const T *const source =
            from + channel * x.stride + plane * plane_stride + line * z.in.w + place;
        pack<T> *const target =
            reinterpret_cast<pack<T> *>(to + offset_in(view, channel, plane, line, place));
        if (packed) {
            const bool inside = there && within(w, place);
            Core::copy(target, inside ? source : x.data, inside);
        } else {
            pack<T> got;
            for (int i = 0; i < PACK; ++i)
                got.of[i] = there && within(w, place + i) ? Core::operand(source[i]) : T(0);
            *target = got;
        }
    }
}

static __device__ __forceinline__ void fetched() {
    cp_async_commit();
    cp_async_wait<0>();
}

/* Weights of a product in global memory: that of a tap of the reduction and a column of the result
 * is data[column / fold * step + column % fold + the tap's source]. */
template <typename T> struct weights {
    const T *data;
    int64_t step;
    int fold, first, columns; /* columns from the first on, at most CHANNELS */
};

/* The taps of a slice, `inner` channels varying fastest, then kw, kh, kd, then the other channels:
 * their offsets in the window, and their sources. */
struct tap_order {
    int64_t first, channel_step; /* source of tap 0 of channel 0; from channel to channel */
    int k, kd, kh, kw, inner;    /* the kernel's extent, and the part of it that is taken */
    int sign;                    /* -1: the kernel is flipped */
};

/* Taps first…first+CHUNK-1 of a slice of `count`; beyond the last, offset 0 and source -1. */
static __device__ __forceinline__ void list_taps(const tap_order &o, const window_shape &view,
                                                 int first, int count, int *offset,
                                                 int64_t *source) {
    for (int e = (int)threadIdx.x; e < CHUNK; e += THREADS) {
        const int tap = (first + e) / o.inner, low = (first + e) % o.inner;
        const int kw = tap % o.kw, kh = tap / o.kw % o.kh, kd = tap / o.kw / o.kh % o.kd;
        const int channel = tap / o.kw / o.kh / o.kd * o.inner + low;
        const bool there = first + e < count;
        offset[e] = there ? offset_in(view, channel, kd, kh, kw) : 0;
        source[e] = there ? o.first + channel * o.channel_step +
                                (int64_t)o.sign * ((kd * o.k + kh) * o.k + kw)
                          : -1;
    }
}

/* The listed taps' weights, a line of CHANNELS for each tap; 0 where there is none. */
template <typename Core>
static __device__ __forceinline__ void fetch_weights(const weights<typename Core::storage> &w,
                                                     const int64_t *source,
                                                     typename Core::storage *to) {
    typedef typename Core::storage T;
    const int place = (int)threadIdx.x / (THREADS / CHANNELS), column = w.first + place;
    const T *const from = w.data + column / w.fold * w.step + column % w.fold;
    for (int tap = (int)threadIdx.x % (THREADS / CHANNELS); tap < CHUNK;
         tap += THREADS / CHANNELS) {
        const bool there = place < w.columns && source[tap] >= 0;
        to[tap * WEIGHT_PITCH + place] = there ? Core::operand(from[source[tap]]) : T(0);
    }
}

/* What every kernel keeps in shared memory; `window` is aligned for packs. */
template <typename T> struct tables {
    T *window, *weights;
    int64_t *source;
    int *offset, *place;
};

static constexpr size_t table_bytes(size_t element) {
    return CHUNK * WEIGHT_PITCH * element + CHUNK * (sizeof(int64_t) + sizeof(int)) +
           SLOTS * sizeof(int);
}

/* Lays the tables out at `memory`, with a window of `elements`. */
template <typename T>
static __device__ __forceinline__ tables<T> tables_at(T *memory, int64_t elements) {
    T *const w = memory + elements;
    int64_t *const source = reinterpret_cast<int64_t *>(w + CHUNK * WEIGHT_PITCH);
    int *const offset = reinterpret_cast<int *>(source + CHUNK);
    return {memory, w, source, offset, offset + CHUNK};
}

#endif
