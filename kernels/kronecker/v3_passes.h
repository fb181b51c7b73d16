/*
 * Passes of kronecker v3 for any extents: in tiles of v3_tile.h, and modes too large for any tile
 * by v3_large.h.
 */
#ifndef ASSAY_KRONECKER_V3_PASSES_H
#define ASSAY_KRONECKER_V3_PASSES_H

#include "kernels/common/partials.h"
#include "kernels/kronecker/v3_large.h"
#include "kernels/kronecker/v3_tile.h"
#include "kernels/kronecker/walk.h"

static inline walk walk_of_passes(const chain &c, const plan &made) {
    return {made.count, c.rows, made.width};
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    forward_pass(state<const T> in, factors<T> w, state<T> out, pass p, tiling t) {
    ASSAY_DYNAMIC_SHARED(T, shared);
    for (int64_t tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
        const window v = window_of(p, t, tile);
        T *now = shared, *next = shared + t.even, *const slice = shared + t.even + t.odd;
        load_tile(in, p, v, before(p.stages[0]), now);
        __syncthreads();
        for (int i = 0; i < p.count; ++i) {
            contract_tile(now, w.of[i], next, extent_of(p.stages[i], v), slice, t.slice);
            T *const done = now;
            now = next;
            next = done;
        }
        store_tile(now, p, v, behind(p.stages[p.count - 1]), out);
        __syncthreads();
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    backward_pass(state<const T> in, factors<T> w, state<const T> cotangent, state<T> out,
                  T *partial, pass p, tiling t) {
    ASSAY_DYNAMIC_SHARED(T, shared);
    T *const even = shared + t.inputs, *const odd = even + t.even, *const slice = odd + t.odd;
    const int places = t.units * t.columns, last = p.count - 1;
    for (int64_t tile = blockIdx.x; tile < t.tiles; tile += gridDim.x) {
        const window v = window_of(p, t, tile);
        T *input = shared;
        load_tile(in, p, v, before(p.stages[0]), input);
        __syncthreads();
        for (int i = 0; i < last; ++i) {
            T *const next = input + before(p.stages[i]) * places;
            contract_tile(input, w.of[i], next, extent_of(p.stages[i], v), slice, t.slice);
            input = next;
        }

        T *now = p.count % 2 == 0 ? even : odd, *next = p.count % 2 == 0 ? odd : even;
        load_tile(cotangent, p, v, behind(p.stages[last]), now);
        __syncthreads();
        T *sums = partial;
        for (int i = last; i >= 0; --i) {
            const extent x = extent_of(p.stages[i], v);
            const int splits = gradient_splits(p.stages[i], t);
            const int64_t size = (int64_t)splits * x.p * x.q;
            gradient_tile(input, now, x, splits, tile == blockIdx.x, sums + blockIdx.x * size);
            contract_tile(now, transposed(w.of[i]), next, transposed(x), slice, t.slice);
            T *const done = now;
            now = next;
            next = done;
            sums += gridDim.x * size;
            if (i > 0)
                input -= before(p.stages[i - 1]) * places;
        }
        store_tile(now, p, v, before(p.stages[0]), out);
        __syncthreads();
    }
}

template <typename T> struct tile_steps {
    const assay_call *call;
    const chain *c;
    const plan *made;
    T *partial;

    const stage &stage_of(const pass &p, int32_t i) const {
        return c->stages[p.first + i];
    }

    factor<const T> weight(const stage &s) const {
        return factor_of<const T>(factor_tensor(call, s));
    }

    factors<T> weights(const pass &p) const {
        factors<T> w = {};
        for (int32_t i = 0; i < p.count; ++i)
            w.of[i] = weight(stage_of(p, i));
        return w;
    }

    assay_status forward_tile(const pass &p, state<const T> in, state<T> out) {
        const stage &s = stage_of(p, 0);
        if (p.large)
            return launch_contract_large<T>(call->stream, s, c->rows, weight(s), s.p, s.q, in, out);
        const tiling t = tiling_of(*c, p, ASSAY_FORWARD, sizeof(T));
        return ASSAY_LAUNCH(call->stream, linear_grid(t.tiles, 1), dim3(THREADS),
                            shared_bytes(t, sizeof(T)), (forward_pass<T>), in, weights(p), out, p,
                            t);
    }

    assay_status backward_tile(const pass &p, state<const T> in, state<const T> cotangent,
                               state<T> out) {
        return p.large ? backward_large(p, in, cotangent, out)
                       : backward_tiled(p, in, cotangent, out);
    }

    /* dW of the pass's factors from the partial ones, of which stage i has `count(i)`. */
    template <typename Count> assay_status sum_gradients(const pass &p, const Count &count) {
        assay_status status = ASSAY_OK;
        const T *sums = partial;
        for (int32_t i = p.count - 1; i >= 0 && status == ASSAY_OK; --i) {
            const stage &s = stage_of(p, i);
            const factor<T> dw = factor_of<T>(gradient_tensor(call, s));
            status =
                launch_sum_partials<T>(call->stream, sums, count(i), s.p * s.q, dw.w, s.q, dw.row);
            sums += count(i) * s.p * s.q;
        }
        return status;
    }

    assay_status backward_large(const pass &p, state<const T> in, state<const T> cotangent,
                                state<T> out) {
        const stage &s = stage_of(p, 0);
        const assay_status status =
            launch_gradient_large<T>(call->stream, s, c->rows, in, cotangent, partial,
                                     factor_of<T>(gradient_tensor(call, s)));
        if (status != ASSAY_OK)
            return status;
        const factor<const T> w = weight(s);
        return launch_contract_large<T>(call->stream, s, c->rows, {w.w, w.column, w.row}, s.q, s.p,
                                        cotangent, out);
    }

    assay_status backward_tiled(const pass &p, state<const T> in, state<const T> cotangent,
                                state<T> out) {
        const tiling t = tiling_of(*c, p, ASSAY_BACKWARD, sizeof(T));
        const int64_t blocks = gradient_blocks(t);
        const assay_status status = ASSAY_LAUNCH(
            call->stream, dim3((unsigned)blocks), dim3(THREADS), shared_bytes(t, sizeof(T)),
            (backward_pass<T>), in, weights(p), cotangent, out, partial, p, t);
        if (status != ASSAY_OK)
            return status;
        return sum_gradients(p,
                             [&](int32_t i) { return blocks * gradient_splits(p.stages[i], t); });
    }
};

/* Elements of partial gradients that such a pass leaves. */
static inline int64_t tile_partials(const chain &c, const pass &p, size_t element) {
    if (p.large) {
        const stage &s = c.stages[p.first];
        return large_splits(c.rows, s) * s.p * s.q;
    }
    const tiling t = tiling_of(c, p, ASSAY_BACKWARD, element);
    int64_t elements = 0;
    for (int32_t i = 0; i < p.count; ++i) {
        const tile_stage &s = p.stages[i];
        elements += gradient_blocks(t) * gradient_splits(s, t) * s.p * s.q;
    }
    return elements;
}

#endif
