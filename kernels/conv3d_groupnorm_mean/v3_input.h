/*
 * dx of v3: the convolution of dc, padded by k - 1 on all sides, with the flipped kernels,
 *
 *     dx[ci, q] = sum over co and taps of w[co, ci, tap] dc[co, q - tap],
 *
 * in the same tiles as c itself: dc is read where dw left it, or made of c on its way to shared
 * memory.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_INPUT_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_INPUT_H

#include "kernels/conv3d_groupnorm_mean/v3_cotangent.h"

/* p.z has the channels of c as ci, those of x as co, the volume of c as `in`, that of x as `out`.
 */
template <typename Core>
static __global__ void __launch_bounds__(THREADS, Core::BLOCKS)
    input_gradient(cotangent_source<typename Core::storage> g,
                   convolution<typename Core::storage> p, grid_of_boxes boxes,
                   rows<typename Core::storage> dx, bool packed) {
    typedef typename Core::storage T;
    const int reach = (int)p.z.k - 1;
    convolve_boxes<Core>(
        p, boxes,
        [&](const slice &s, int64_t n, const corner &at, T *window) {
            const corner first = {at.d + s.kd - reach, at.h + s.kh - reach, at.w - reach - p.lead};
            const cotangent_window<T> dc = {g, p.z.ci,    p.z.in,     p.how.view, first,
                                            n, s.channel, s.channels, false};
            fetch_cotangent<Core>(dc, window);
            settle_cotangent<Core>(dc, window);
        },
        [&](const Core &core, const tile &t) {
            T *const first =
                dx.data + (t.n * p.z.co + t.channel) * dx.stride + index_in(p.z.out, t.d, t.h, t.w);
            if (t.lines > 0)
                core.keep({first, p.z.out.w, dx.stride, packed}, t.lines, t.places,
                          least(Core::GROUP, p.z.co - t.channel));
        });
}

#endif
