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
    TILE_LINES = 8,  /* of a warp's tile */
    PACK_BYTES = 16, /* of one copy */
    BANKS = 32,
    HALF_LINE = 8,  /* lines of a window start LINE_SHIFT banks apart, modulo this many: where a */
    LINE_SHIFT = 4, /* quarter of a warp reads packs of two lines, they lie in different banks */
    PLANE_SHIFT = 12, /* planes and channels, so that operands of tensor cores do */
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
};

static inline box box_of(int d, int h, int w) {
    return {d, h, w};
}

static __host__ __device__ __forceinline__ int size_of(const box &b) {
    return b.d * b.h * b.w;
}

/* Some lines of planes of channels, in shared memory, and the distances from line to line, from
 * plane to plane and from channel to channel. */
struct window_shape {
    int channels, planes, lines, length, pitch, plane_pitch, channel_pitch;
    divider by_length, by_lines, by_planes;
};

static __host__ __device__ __forceinline__ int64_t size_of(const window_shape &v) {
    return (int64_t)v.channels * v.channel_pitch;
}

static __host__ __device__ __forceinline__ int offset_in(const window_shape &v, int channel,
                                                         int plane, int line, int place) {
    return channel * v.channel_pitch + plane * v.plane_pitch + line * v.pitch + place;
}

static __host__ __device__ __forceinline__ int round_up(int64_t n, int to) {
    return (int)ceil_div(n, to) * to;
}

/* The least pitch of packs, `elements` long or longer, that is `shift` of `banks` banks. */
static inline int64_t pitch_for(int64_t elements, int shift, int banks, size_t element) {
    const int words = (int)(element / sizeof(float)), pack = PACK_BYTES / (int)element;
    int64_t pitch = ceil_div(elements, pack) * pack;
    while (pitch * words % banks != shift)
        pitch += pack;
    return pitch;
}

/* The window of `b` for a slice of `channels` whole kernels or, of one, `kd` planes or `kh` lines
 * of taps. One that fits nowhere is no larger than an int can tell. */
static inline window_shape window_for(const box &b, int channels, int kd, int kh, int kw,
                                      size_t element) {
    const int length = round_up(b.w + kw - 1, PACK_BYTES / (int)element);
    const int planes = b.d + kd - 1, lines = b.h + kh - 1;
    const int64_t pitch = pitch_for(length, LINE_SHIFT, HALF_LINE, element);
    const int64_t plane = pitch_for(lines * pitch, PLANE_SHIFT, BANKS, element);
    return {channels,
            planes,
            lines,
            length,
            (int)pitch,
            least(plane, INT32_MAX),
            least(pitch_for(planes * plane, PLANE_SHIFT, BANKS, element), INT32_MAX),
            divider_for(length),
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

/* What a slice may have: elements of its window, taps. */
struct slice_budget {
    int64_t window, taps;
    int lines, width; /* of taps; windows have room for lines of `width` taps */
};

static inline bool fits(const slice_budget &budget, const window_shape &view, int64_t taps) {
    return size_of(view) <= budget.window && taps <= budget.taps;
}

/* The largest slices within `budget`; a line of taps at least. */
static inline cut cut_for(const sizes &z, const box &b, const slice_budget &budget,
                          size_t element) {
    const int k = (int)z.k;
    const auto view = [&](int channels, int kd, int kh) {
        return window_for(b, channels, kd, kh, budget.width, element);
    };
    int channels = 1, kd = k, kh = k;
    while (kd > 1 && !fits(budget, view(1, kd, kh), (int64_t)kd * kh * k))
        --kd;
    while (kh > 1 && (kh > budget.lines || !fits(budget, view(1, kd, kh), (int64_t)kd * kh * k)))
        --kh;
    if (kd == k && kh == k)
        channels = (int)clamp(budget.window / size_of(view(1, k, k)), 1,
                              clamp(budget.taps / z.taps, 1, z.ci));
    return {b,
            view(channels, kd, kh),
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

/* One block's work: a box of a sample. */
struct task {
    int64_t n;
    corner at;
    int box;
};

static __device__ __forceinline__ task task_of(const grid_of_boxes &g, const box &b, int64_t i) {
    const int64_t n = i / size_of(g);
    const int box = (int)(i - n * size_of(g));
    return {n, corner_of(g, b, box), box};
}

static __device__ __forceinline__ task task_after(const grid_of_boxes &g, const box &b,
                                                  const task &t) {
    const bool last = t.box + 1 == size_of(g);
    const int box = last ? 0 : t.box + 1;
    return {last ? t.n + 1 : t.n, corner_of(g, b, box), box};
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

/* Calls body(channel, plane, line, place) for the packs of a window that are this thread's: one or
 * more of a line's, of some lines. */
template <int PACK, typename Body>
static __device__ __forceinline__ void each_pack(const window_shape &view, int channels,
                                                 const Body &body) {
    const int wide = least(view.length / PACK, blockDim.x), high = (int)blockDim.x / wide,
              row = (int)threadIdx.x / wide,
              rows = row < high ? channels * view.planes * view.lines : 0;
    for (int place = (int)threadIdx.x % wide * PACK; place < view.length; place += wide * PACK)
#pragma unroll 2
        for (int r = row; r < rows; r += high) {
            int channel = r;
            const int line = cut_digit(view.by_lines, &channel),
                      plane = cut_digit(view.by_planes, &channel);
            body(channel, plane, line, place);
        }
}

/* Fetches the window of slice `s` of sample n for a box at `at`, as the core wants its operands: in
 * packs where x allows it, asynchronously. Elements outside of the volume are 0. Complete after a
 * barrier. */
template <typename Core>
static __device__ __forceinline__ void fetch(const rows<const typename Core::storage> &x,
                                             bool packed, const sizes &z, const window_shape &view,
                                             const slice &s, int64_t n, const corner &at,
                                             typename Core::storage *to) {
    typedef typename Core::storage T;
    constexpr int PACK = PACK_BYTES / (int)sizeof(T);
    const corner first = {at.d + s.kd, at.h + s.kh, at.w};
    const range d = range_in(first.d, view.planes, z.in.d),
                h = range_in(first.h, view.lines, z.in.h),
                w = range_in(first.w, view.length, z.in.w);
    const int64_t plane_stride = z.in.h * z.in.w;
    const T *const from = x.data + (n * z.ci + s.channel) * x.stride + first.d * plane_stride +
                          first.h * z.in.w + first.w;
    each_pack<PACK>(view, s.channels, [&](int channel, int plane, int line, int place) {
        const bool there = within(d, plane) && within(h, line);
        const T *const source =
            from + channel * x.stride + plane * plane_stride + line * z.in.w + place;
        pack<T> *const target =
            reinterpret_cast<pack<T> *>(to + offset_in(view, channel, plane, line, place));
        if (packed) {
            const bool inside = there && within(w, place);
            cp_async_16(target, inside ? source : x.data, inside ? PACK_BYTES : 0);
        } else {
            pack<T> got;
            for (int i = 0; i < PACK; ++i)
                got.of[i] = there && within(w, place + i) ? source[i] : T(0);
            *target = got;
        }
    });
    cp_async_commit();
}

/* Waits for what this thread has fetched, and makes operands of it. */
template <typename Core>
static __device__ __forceinline__ void settle(const window_shape &view, const slice &s,
                                              typename Core::storage *window) {
    typedef typename Core::storage T;
    constexpr int PACK = PACK_BYTES / (int)sizeof(T);
    cp_async_wait<0>();
    if (!Core::ROUNDS)
        return;
    each_pack<PACK>(view, s.channels, [&](int channel, int plane, int line, int place) {
        pack<T> *const own =
            reinterpret_cast<pack<T> *>(window + offset_in(view, channel, plane, line, place));
        pack<T> v = *own;
#pragma unroll
        for (int i = 0; i < PACK; ++i)
            v.of[i] = Core::operand(v.of[i]);
        *own = v;
    });
}

#endif
