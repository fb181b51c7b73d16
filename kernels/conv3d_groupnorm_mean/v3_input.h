/*
 * dx of v3: the transposed convolution of dc. A block owns a box of input positions; it computes dc
 * of all output positions that reach it, the box and a halo of k - 1 before it on each axis, and
 * keeps them in shared memory. There dx is a convolution again, of dc with the flipped kernels. All
 * input channels and places kw of a line are columns of one product, so that three channels fill an
 * instruction as well as sixteen do,
 *
 *     line[ci, kw, r] = sum over co, kd, kh of w[co, ci, kd, kh, kw] dc[co, r - (kd, kh, 0)]
 *     dx[ci, q]       = sum over kw of line[ci, kw, q - kw]
 *
 * Where dc of a kernel's reach does not fit in shared memory (k from about 12 on), a block owns a
 * sample's dx instead and adds box after box of dc to it.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_INPUT_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_INPUT_H

#include "kernels/conv3d_groupnorm_mean/v3_weights.h"

/* How dx is cut: boxes of input positions; for each the box of lines, k - 1 places longer, and dc
 * with its halo. */
struct input_cut {
    box positions, lines;
    window_shape cotangent;
};

/* Offsets in `view` of the positions of box `b`; -1 for slots that it does not have. */
static __device__ __forceinline__ void find_slots(const box &b, const window_shape &view,
                                                  int *place) {
    for (int s = (int)threadIdx.x; s < SLOTS; s += THREADS)
        place[s] = s < size_of(b) ? offset_in(view, 0, s / b.w / b.h, s / b.w % b.h, s % b.w) : -1;
}

/* The sums of all slots, at to[column * COTANGENT_PITCH + slot]. */
template <typename Core>
static __device__ __forceinline__ void store_lines(const Core &core, typename Core::storage *to) {
#pragma unroll
    for (int c = 0; c < Core::LANE_CHANNELS; ++c)
#pragma unroll
        for (int s = 0; s < Core::LANE_SLOTS; ++s)
            to[Core::channel(c) * COTANGENT_PITCH + Core::slot(s)] = core.at(s, c);
}

/* Adds `count` columns of lines from `column` on to dx of the box at `at`; begins it with the first
 * column of an input channel, if `begin`. */
template <typename T>
static __device__ __forceinline__ void
add_lines(const T *lines, const input_cut &how, const corner &at, const sizes &z, int64_t n,
          int column, int count, bool begin, const rows<T> &dx) {
    const box b = how.positions, l = how.lines;
    const int k = (int)z.k, channel = column / k, channels = (column + count - 1) / k - channel + 1;
    const range d = range_in(at.d, b.d, z.in.d), h = range_in(at.h, b.h, z.in.h),
                w = range_in(at.w, b.w, z.in.w);
    T *const to = dx.data + n * z.ci * dx.stride + index_in(z.in, at.d, at.h, at.w);
    for (int i = (int)threadIdx.x; i < size_of(b); i += THREADS) {
        const spot p = spot_in(b, i);
        if (!within(d, p.d) || !within(h, p.h) || !within(w, p.w))
            continue;
        const T *const from = lines + (p.d * l.h + p.h) * l.w + p.w + k - 1;
        const int64_t place = index_in(z.in, p.d, p.h, p.w);
        for (int ci = channel; ci < channel + channels; ++ci) {
            const int first = ci * k < column ? column - ci * k : 0;
            const int end = least(k, column + count - ci * k);
            T sum = 0;
            for (int kw = first; kw < end; ++kw)
                sum += from[(ci * k + kw - column) * COTANGENT_PITCH - kw];
            accumulate(to + ci * dx.stride + place, begin && first == 0, sum);
        }
    }
}

/* dx of one box from dc of CHANNELS channels from `channel` on. */
template <typename Core>
static __device__ __forceinline__ void
add_transposed(const convolution<typename Core::storage> &p,
               const tables<typename Core::storage> &m, const input_cut &how,
               const typename Core::storage *cotangent, const corner &at, int64_t n,
               int64_t channel, const rows<typename Core::storage> &dx) {
    typedef typename Core::storage T;
    const int k = (int)p.z.k, channels = least(CHANNELS, p.z.co - channel);
    const int64_t step = p.z.ci * p.w.stride;
    const tap_order flipped = {channel * step + (k * k - 1) * k, step, k, k, k, 1, channels, -1};
    const bool needed = warp() * WARP_SLOTS < size_of(how.lines);
    find_slots(how.lines, how.cotangent, m.place);
    for (int64_t column = 0; column < p.z.ci * k; column += CHANNELS) {
        const int columns = least(CHANNELS, p.z.ci * k - column);
        const weights<T> w = {p.w.data, p.w.stride, k, (int)column, columns};
        Core core;
        add_taps(m, cotangent, how.cotangent, flipped, channels * k * k, w, needed, core);
        store_lines(core, m.window);
        __syncthreads();
        add_lines(m.window, how, at, p.z, n, (int)column, columns, channel == 0, dx);
        __syncthreads();
    }
}

/* The window of x and, when dc is there, the lines have the same place. */
static __host__ __device__ __forceinline__ int64_t front_elements(const window_shape &view) {
    return clamp(size_of(view), CHANNELS * COTANGENT_PITCH, INT64_MAX);
}

template <typename Core>
static __global__ void __launch_bounds__(THREADS)
    input_gradient(convolution<typename Core::storage> p, through_norm<typename Core::storage> g,
                   input_cut how, grid_of_boxes boxes, rows<typename Core::storage> dx) {
    typedef typename Core::storage T;
    ASSAY_DYNAMIC_SHARED(T, shared);
    const int64_t front = front_elements(p.how.view);
    T *const cotangent = shared + front;
    const tables<T> m = tables_at(shared, front + size_of(how.cotangent));
    const box halo = p.how.positions;
    const int slots = size_of(halo), reach = (int)p.z.k - 1;
    const bool one_slice = slices_of(p.how) == 1;
    for (int64_t i = blockIdx.x; i < p.z.n * size_of(boxes); i += gridDim.x) {
        const task t = task_of(boxes, how.positions, 1, i);
        const int64_t n = t.n;
        const corner at = t.at;
        const corner before = {at.d - reach, at.h - reach, at.w - reach};
        for (int64_t channel = 0; channel < p.z.co; channel += CHANNELS) {
            for (int first = 0; first < slots; first += SLOTS) {
                find_places(halo, p.how.view, before, p.z.out, first, m.place);
                Core core;
                convolve(p, m, n, before, channel, one_slice && first > 0,
                         first + warp() * WARP_SLOTS < slots, core);
                store_cotangent(core, m.place, g, p.z, n, channel, slots - first,
                                how.cotangent.channel_pitch, cotangent + first);
                __syncthreads();
            }
            add_transposed<Core>(p, m, how, cotangent, at, n, channel, dx);
        }
    }
}

/* What the box of dc at `at` adds to dx of sample n, an element a thread. */
template <typename T>
static __device__ __forceinline__ void scatter_box(const convolution<T> &p, const T *cotangent,
                                                   const corner &at, int64_t n, int64_t channel,
                                                   const rows<T> &dx) {
    const box b = p.how.positions;
    const sizes &z = p.z;
    const volume reached = {b.d + z.k - 1, b.h + z.k - 1, b.w + z.k - 1};
    const int channels = least(CHANNELS, z.co - channel);
    for (int64_t e = threadIdx.x; e < z.ci * size_of(reached); e += THREADS) {
        const int64_t ci = e / size_of(reached);
        const volume q = place_in(reached, e % size_of(reached));
        if (at.d + q.d >= z.in.d || at.h + q.h >= z.in.h || at.w + q.w >= z.in.w)
            continue;
        T sum = 0;
        for (int c = 0; c < channels; ++c) {
            const T *const w = p.w.data + ((channel + c) * z.ci + ci) * p.w.stride;
            for (int64_t d = clamp(q.d - z.k + 1, 0, b.d); d < b.d && d <= q.d; ++d)
                for (int64_t h = clamp(q.h - z.k + 1, 0, b.h); h < b.h && h <= q.h; ++h)
                    for (int64_t v = clamp(q.w - z.k + 1, 0, b.w); v < b.w && v <= q.w; ++v)
                        sum = fma_(w[((q.d - d) * z.k + q.h - h) * z.k + q.w - v],
                                   cotangent[c * COTANGENT_PITCH + (d * b.h + h) * b.w + v], sum);
        }
        dx.data[(n * z.ci + ci) * dx.stride + index_in(z.in, at.d + q.d, at.h + q.h, at.w + q.w)] +=
            sum;
    }
}

/* dx for kernels of any extent: a block for each sample. */
template <typename Core>
static __global__ void __launch_bounds__(THREADS)
    input_gradient_large(convolution<typename Core::storage> p,
                         through_norm<typename Core::storage> g, grid_of_boxes boxes,
                         rows<typename Core::storage> dx) {
    typedef typename Core::storage T;
    ASSAY_DYNAMIC_SHARED(T, shared);
    const int64_t window_size = size_of(p.how.view), volume_size = size_of(p.z.in);
    T *const cotangent = shared + window_size;
    const tables<T> m = tables_at(shared, window_size + CHANNELS * COTANGENT_PITCH);
    const bool needed = warp() * WARP_SLOTS < size_of(p.how.positions);
    for (int64_t n = blockIdx.x; n < p.z.n; n += gridDim.x) {
        for (int64_t e = threadIdx.x; e < p.z.ci * volume_size; e += THREADS)
            dx.data[(n * p.z.ci + e / volume_size) * dx.stride + e % volume_size] = 0;
        for (int i = 0; i < size_of(boxes); ++i) {
            const corner at = corner_of(boxes, p.how.positions, i);
            for (int64_t channel = 0; channel < p.z.co; channel += CHANNELS) {
                find_places(p.how.positions, p.how.view, at, p.z.out, 0, m.place);
                Core core;
                convolve(p, m, n, at, channel, false, needed, core);
                store_cotangent(core, m.place, g, p.z, n, channel, SLOTS, COTANGENT_PITCH,
                                cotangent);
                __syncthreads();
                scatter_box(p, cotangent, at, n, channel, dx);
                __syncthreads();
            }
        }
    }
}

#endif
