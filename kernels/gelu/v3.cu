/*
 * gelu v3: memory is touched once, 16 bytes at a time (kernels/common/packs.h), and for 16-bit
 * tensors the arithmetic takes less time than memory (v3_gate.h).
 *
 * Against v1: 16-byte accesses, two or four under way in each thread, and the special function
 * unit. Bytes: x and y forward; x, dy and dx backward. Instructions for each bf16 element, as nvcc
 * compiles: about 25, two of them on the special function unit; by tanh 14. f32 and f64 are
 * computed as in v1, bit for bit.
 *
 * The step before had v1's arithmetic for all: 80 instructions an element, three divisions among
 * them. n = 4x1024, d = 6912, bf16, cold, H100: 84 us forward and 97 backward then, 43
 * and 62 now; memory alone takes 38 and 57.
 */
#include "kernels/common/packs.h"
#include "kernels/common/stream.h"
#include "kernels/gelu/v3_gate.h"

template <typename T, bool BY_TANH>
static __global__ void __launch_bounds__(PACK_THREADS)
    gate(matrix<const T> x, matrix<T> y, split cut) {
    for (int64_t e = first_pack(); e < cut.rows * cut.row_packs; e += pack_step()) {
        const places<T> all(cut, e);
        pack<T> p[PACK_TURNS];
        if (all.whole)
            all.template load<true>(x, p);
        else
            all.template load<false>(x, p);
#pragma unroll
        for (int k = 0; k < PACK_TURNS; ++k) {
            acc_t<T> result[pack<T>::size];
            for (int v = 0; v < pack<T>::size; ++v)
                result[v] = gated_in<T>(widen(p[k].v[v]), BY_TANH);
            all.store(y, k, narrow_pack<T>(result));
        }
    }
}

template <typename T, bool BY_TANH>
static __global__ void __launch_bounds__(PACK_THREADS)
    grad(matrix<const T> x, matrix<const T> dy, matrix<T> dx, split cut) {
    for (int64_t e = first_pack(); e < cut.rows * cut.row_packs; e += pack_step()) {
        const places<T> all(cut, e);
        pack<T> p[PACK_TURNS], given[PACK_TURNS];
        if (all.whole) {
            all.template load<true>(x, p);
            all.template load<true>(dy, given);
        } else {
            all.template load<false>(x, p);
            all.template load<false>(dy, given);
        }
#pragma unroll
        for (int k = 0; k < PACK_TURNS; ++k) {
            acc_t<T> result[pack<T>::size];
            for (int v = 0; v < pack<T>::size; ++v)
                result[v] = grad_in<T>(widen(p[k].v[v]), widen(given[k].v[v]), BY_TANH);
            all.store(dx, k, narrow_pack<T>(result));
        }
    }
}

template <typename T> static split split_of(const tensors &t) {
    const assay_tensor *const all[] = {t.x, t.y, t.dy, t.dx};
    return split_for<T>(t.rows, t.d, all);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, packs_grid(cut), dim3(PACK_THREADS), 0,
                        (t.by_tanh ? gate<T, true> : gate<T, false>), matrix_of<const T>(t.x),
                        matrix_of<T>(t.y), cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, packs_grid(cut), dim3(PACK_THREADS), 0,
                        (t.by_tanh ? grad<T, true> : grad<T, false>), matrix_of<const T>(t.x),
                        matrix_of<const T>(t.dy), matrix_of<T>(t.dx), cut);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(gelu, v3) = {
    .op = "gelu",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "16 bytes at a time, on the special function unit",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
