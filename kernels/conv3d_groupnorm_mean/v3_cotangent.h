/* dc, made of c on its way to shared memory. */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_COTANGENT_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_COTANGENT_H

#include "kernels/conv3d_groupnorm_mean/v3_statistics.h"

/* Everything that dc is made of; or c is dc, and norm is NULL. */
template <typename T> struct cotangent_source {
    kept<T> c;
    const through_norm<T> *norm;
};

/* Some of a pack's elements. */
template <typename T, int COUNT> struct alignas(COUNT * sizeof(T)) part { T of[COUNT]; };

/* Starts to copy a part, or zeros, where it is not `there`. */
template <typename T, int COUNT>
static __device__ __forceinline__ void copy_part(part<T, COUNT> *to, const T *from, bool there) {
    constexpr int bytes = COUNT * (int)sizeof(T);
    const int valid = there ? bytes : 0;
    if constexpr (bytes == 16)
        cp_async_16(to, from, valid);
    else if constexpr (bytes == 8)
        cp_async_8(to, from, valid);
    else
        cp_async_4(to, from, valid);
}

/* A window of dc: `channels` channels from `channel` on of sample n, at `at`; `v` is the volume of
 * c, `co` its channels. */
template <typename T> struct cotangent_window {
    cotangent_source<T> from;
    int64_t co;
    volume v;
    window_shape view;
    corner at;
    int64_t n, channel;
    int channels;
    bool keep; /* dc, in the place of c; where packs of both begin together */
};

/* Copies c to the window, or, `MAKE`, makes dc of what this thread has copied. `lead` elements of a
 * line's first pack lie before the window, so that packs go there in parts of STEP. Each thread
 * takes some packs of a line, of all channels. */
template <typename Core, int STEP, bool MAKE>
static __device__ __forceinline__ void take_parts(const cotangent_window<typename Core::storage> &p,
                                                  int lead, typename Core::storage *to) {
    typedef typename Core::storage T;
    constexpr int PACK = PACK_BYTES / (int)sizeof(T);
    const window_shape &view = p.view;
    const int64_t line_stride = p.from.c.line, stride = p.v.d * p.v.h * line_stride,
                  first = p.n * p.co + p.channel;
    const int there = least(p.channels, p.co - p.channel);
    T *const from =
        p.from.c.data + first * stride + (p.at.d * p.v.h + p.at.h) * line_stride + p.at.w - lead;
    const range d = range_in(p.at.d, view.planes, p.v.d), h = range_in(p.at.h, view.lines, p.v.h),
                w = range_in(p.at.w - lead, view.length + PACK, p.v.w);
    const int lines = view.planes * view.lines, packs = view.length / PACK + (lead > 0 ? 1 : 0);
    for (int e = (int)threadIdx.x; e < packs * lines; e += (int)blockDim.x) {
        const int place = e % packs * PACK;
        int plane = e / packs;
        const int line = cut_digit(view.by_lines, &plane);
        const bool any =
            within(d, plane) && within(h, line) && place + PACK > w.low && place < w.high;
        T *source = from + (plane * p.v.h + line) * line_stride + place;
        T *target = to + offset_in(view, 0, plane, line, place - lead);
        bool put[PACK / STEP], real[PACK];
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            put[i / STEP] = place + i >= lead && place + i < view.length + lead;
            real[i] = any && within(w, place + i);
        }
#pragma unroll 4
        for (int c = 0; c < p.channels; ++c, source += stride, target += view.channel_pitch) {
            const bool exists = c < there;
            const through_norm<T> f =
                MAKE ? p.from.norm[first + (exists ? c : 0)] : through_norm<T>{};
#pragma unroll
            for (int i = 0; i < PACK; i += STEP) {
                part<T, STEP> *const own = reinterpret_cast<part<T, STEP> *>(target + i);
                if (STEP < PACK && !put[i / STEP])
                    continue;
                if (!MAKE) {
                    const bool copied = any && exists;
                    copy_part(own, copied ? source + i : p.from.c.data, copied);
                    continue;
                }
                part<T, STEP> dc = *own;
#pragma unroll
                for (int q = 0; q < STEP; ++q) {
                    const T made = Core::operand(fma_(-f.slope, dc.of[q] - f.mean, f.offset));
                    dc.of[q] = exists && real[i + q] ? made : T(0);
                }
                *own = dc;
                if (STEP == PACK && p.keep && any && exists)
                    *reinterpret_cast<part<T, STEP> *>(source) = dc;
            }
        }
    }
}

template <typename Core, bool MAKE>
static __device__ __forceinline__ void
take_cotangent(const cotangent_window<typename Core::storage> &p, typename Core::storage *to) {
    constexpr int PACK = PACK_BYTES / (int)sizeof(typename Core::storage);
    const int lead = (int)(p.at.w & (PACK - 1));
    if (lead == 0)
        take_parts<Core, PACK, MAKE>(p, lead, to);
    else if (lead == PACK / 2)
        take_parts<Core, PACK / 2, MAKE>(p, lead, to);
    else
        take_parts<Core, 1, MAKE>(p, lead, to);
}

/* Starts to fetch a window of dc. */
template <typename Core>
static __device__ __forceinline__ void
fetch_cotangent(const cotangent_window<typename Core::storage> &p, typename Core::storage *to) {
    take_cotangent<Core, false>(p, to);
    cp_async_commit();
}

/* Waits for what this thread has fetched and makes dc of it, as the core wants its operands; 0
 * where there is no position or no channel. */
template <typename Core>
static __device__ __forceinline__ void
settle_cotangent(const cotangent_window<typename Core::storage> &p, typename Core::storage *to) {
    cp_async_wait<0>();
    if (p.from.norm)
        take_cotangent<Core, true>(p, to);
}

#endif
