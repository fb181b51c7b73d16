/*
 * dw of v3 in TF32 where a block has all taps of its channels. The window of x that its products
 * take is the one that c is made of, so the block makes c again, dc of it, and leaves dc in memory
 * for dx: c itself is never there. Tensor cores do that in less time than c takes to be written
 * and read. The next box's window is on its way while a block multiplies.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_WHOLE_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_WHOLE_H

#include "kernels/conv3d_groupnorm_mean/v3_weights.h"

/* Lines of a warp's tile of c: few, since its sums of dw are in registers as well. */
enum { STRIP_LINES = 4 };

/* The places of taps in the window and in w, as list_places() and list_offsets() give them. */
static __device__ __forceinline__ void list_taps(const convolution<float> &p, const slice &s,
                                                 int places, int *offset, int64_t *source) {
    const int k = (int)p.z.k, count = s.channels * s.kds * k;
    for (int j = (int)threadIdx.x; j < places; j += (int)blockDim.x) {
        const int kw = j % k, kd = j / k % s.kds, ci = j / k / s.kds;
        const bool there = j < count;
        offset[j] = there ? offset_in(p.how.view, ci, kd, 0, kw) : 0;
        source[j] = there ? ci * p.w.channel + (int64_t)kd * k * k + kw : -1;
    }
}

/* Where dc of a box goes in memory. */
struct cotangent_sink {
    float *data; /* of the box's first position, of the group's first channel */
    int64_t line, plane, channel;
    int planes, lines, places, padded; /* that exist; padded: and fill their last pack up */
    int channels;
};

/* dc of a box, of the window: to `to`, and to memory. */
template <int OCTETS>
static __device__ __forceinline__ void
make_cotangent(const window_shape &x_view, const box &b, const slice &s, int k,
               const window_shape &view, const cotangent_sink &sink,
               const through_norm<float> *norm, const float *window, const int *offset,
               const float *weights, float *to) {
    typedef tf32_lines<OCTETS, STRIP_LINES> core_t;
    const int wide = b.w / core_t::SPAN, high = b.h / STRIP_LINES;
#pragma unroll 1
    for (int i = warp(); i < b.d * high * wide; i += WARPS) {
        const int w = i % wide * core_t::SPAN, h = i / wide % high * STRIP_LINES,
                  d = i / wide / high;
        core_t c;
        c.add(window + offset_in(x_view, 0, d, h, w), x_view, offset, s, k, weights);
        const int lines = d < sink.planes ? sink.lines - h : 0, g = lane() / 4;
#pragma unroll
        for (int e = 0; e < core_t::LANE_CHANNELS; ++e) {
            const int of = core_t::channel(e);
            const through_norm<float> f = norm[of];
            float *const own = to + offset_in(view, of, d, h, w + g), *const kept =
                                                                          sink.data +
                                                                          of * sink.channel +
                                                                          d * sink.plane +
                                                                          h * sink.line + w + g;
#pragma unroll
            for (int q = 0; q < core_t::LANE_SLOTS; ++q) {
                const int line = core_t::line(q), place = q % 2 * 8, at = w + g + place;
                const float made = round_to_tf32(fma_(-f.slope, c.at(q, e) - f.mean, f.offset)),
                            here = line < lines && at < sink.places ? made : 0;
                own[line * view.pitch + place] = here;
                if (of < sink.channels && line < lines && at < sink.padded)
                    kept[line * sink.line + place] = here;
            }
        }
    }
}

/* Whether this kernel makes dw. */
template <typename Core> static bool takes_whole(const weight_plan &plan) {
    return Core::OCTETS > 0 && keeps_cotangent(plan) &&
           plan.how.positions.w % tf32_lines<1, STRIP_LINES>::SPAN == 0;
}

template <int OCTETS> static size_t whole_bytes(const weight_plan &plan, int k) {
    return (size_t)clamp(2 * size_of(plan.how.view) + size_of(plan.cotangent),
                         tf32_sums<OCTETS>::SHARED_SUMS, INT64_MAX) *
               sizeof(float) +
           (size_t)plan.places * sizeof(int) +
           2 * tf32_sums<OCTETS>::GROUP * sizeof(through_norm<float>) +
           (size_t)group_weights<tf32_lines<OCTETS>>(plan.how, k) * sizeof(float);
}

/* As weight_gradient(), of one slice and one chunk. */
template <int OCTETS>
static __global__ void __launch_bounds__(THREADS, OCTETS == 1 ? 4 : 3)
    whole_weight_gradient(rows<const float> x, bool packed, convolution<float> c, weight_plan plan,
                          kept<float> dc, const through_norm<float> *norm, float *partial) {
    typedef tf32_sums<OCTETS> core_t;
    ASSAY_DYNAMIC_SHARED(int, offset);
    const sizes &z = c.z;
    const int k = (int)z.k;
    const slice s = slice_of(plan.how, z, 0);
    const int64_t split = blockIdx.x % plan.splits,
                  channel = blockIdx.x / plan.splits * core_t::GROUP;
    const int64_t size = size_of(plan.how.view);
    through_norm<float> *const norms =
        reinterpret_cast<through_norm<float> *>(offset + plan.places);
    float *const weights = reinterpret_cast<float *>(norms + 2 * core_t::GROUP);
    float *const windows = weights + group_weights<tf32_lines<OCTETS>>(plan.how, k);
    float *const cotangent = windows + 2 * size;

    int64_t *const source = reinterpret_cast<int64_t *>(cotangent);
    list_taps(c, s, plan.places, offset, source);
    __syncthreads();
    fetch_group<tf32_lines<OCTETS>>(c, s, source, channel, weights);

    const int64_t all = z.n * size_of(plan.boxes);
    const int padded = round_up(z.out.w, PACK_BYTES / (int)sizeof(float)); /* packs are whole */
    const int channels = least(core_t::GROUP, z.co - channel);
    const auto fetch_box = [&](const task &t, int side) {
        if ((int)threadIdx.x < core_t::GROUP) {
            const bool there = (int)threadIdx.x < channels;
            cp_async_16(norms + side * core_t::GROUP + threadIdx.x,
                        norm + t.n * z.co + channel + (there ? threadIdx.x : 0),
                        there ? PACK_BYTES : 0);
        }
        fetch<core_t>(x, packed, z, plan.how.view, s, t.n, t.at, windows + side * size);
    };
    task t = task_of(plan.boxes, plan.how.positions, split);
    if (split < all)
        fetch_box(t, 0);
    core_t core;
    int side = 0;
    for (int64_t i = split; i < all; i += plan.splits, side ^= 1) {
        float *const window = windows + side * size;
        settle<core_t>(plan.how.view, s, window);
        __syncthreads();
        const int64_t stride = channel_stride(dc, z);
        const cotangent_sink to = {dc.data + (t.n * z.co + channel) * stride +
                                       (t.at.d * z.out.h + t.at.h) * dc.line + t.at.w,
                                   dc.line,
                                   z.out.h * dc.line,
                                   stride,
                                   (int)(z.out.d - t.at.d),
                                   (int)(z.out.h - t.at.h),
                                   (int)(z.out.w - t.at.w),
                                   (int)(padded - t.at.w),
                                   channels};
        make_cotangent<OCTETS>(plan.how.view, plan.how.positions, s, k, plan.cotangent, to,
                               norms + side * core_t::GROUP, window, offset, weights, cotangent);
        __syncthreads();
        if (i + plan.splits < all) {
            t = task_of(plan.boxes, plan.how.positions, i + plan.splits);
            fetch_box(t, side ^ 1);
        }
        const operands<float> p = {window, cotangent, plan.how.view, plan.cotangent,
                                   plan.how.positions};
        core.add(p, s, k, 0, offset);
    }
    const weight_sink<float> sink = {
        partial + (split * z.co + channel) * z.ci * z.taps, z.ci * z.taps, z.taps, s, k, channels};
    core.flush(sink, 0, windows);
}

#endif
