/*
 * dx of v3: the convolution of dc, padded by k - 1 on all sides, with the flipped kernels,
 *
 *     dx[ci, q] = sum over co and taps of w[co, ci, tap] dc[co, q - tap],
 *
 * in the same tiles as c itself: dc is made of c on its way to shared memory.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_INPUT_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_INPUT_H

#include "kernels/conv3d_groupnorm_mean/v3_cotangent.h"

/* Windows of dc, k - 1 before their boxes. */
template <typename Core> struct cotangent_windows {
    typedef typename Core::storage T;
    cotangent_source<T> from;
    const sizes &z;
    const window_shape &view;

    __device__ __forceinline__ cotangent_window<T> window_of(const slice &s, const task &of) const {
        const int64_t reach = z.k - 1;
        return {from,
                z.ci,
                z.in,
                view,
                {of.at.d + s.kd - reach, of.at.h + s.kh - reach, of.at.w - reach},
                of.n,
                s.channel,
                s.channels};
    }
    __device__ __forceinline__ void fetch(const slice &s, const task &of, T *window) const {
        fetch_cotangent<Core>(window_of(s, of), window);
    }
    __device__ __forceinline__ void settle(const slice &s, const task &of, T *window) const {
        settle_cotangent<Core>(window_of(s, of), window);
    }
};

/* p.z has the channels of c as ci, those of x as co, the volume of c as `in`, that of x as `out`.
 */
template <typename Core>
static __global__ void __launch_bounds__(THREADS, Core::BLOCKS)
    input_gradient(cotangent_source<typename Core::storage> g,
                   convolution<typename Core::storage> p, grid_of_boxes boxes,
                   rows<typename Core::storage> dx, bool packed) {
    typedef typename Core::storage T;
    convolve_boxes<Core>(p, boxes, cotangent_windows<Core>{g, p.z, p.how.view},
                         [&](const Core &core, const tile &t) {
                             T *const first = dx.data + (t.n * p.z.co + t.channel) * dx.stride +
                                              index_in(p.z.out, t.d, t.h, t.w);
                             if (t.lines > 0)
                                 core.keep({first, p.z.out.w, dx.stride, packed}, t.lines, t.places,
                                           least(Core::GROUP, p.z.co - t.channel));
                         });
}

#endif
