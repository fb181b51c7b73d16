/*
 * swiglu v3, fused: memory is touched once. A thread takes 16 bytes of each tensor
 * (kernels/common/packs.h); backward writes da and db from one sigma.
 *
 * Against v1: a, b and dy are read once, 16 bytes at a time. Bytes: a, b and y forward; a, b, dy,
 * da and db backward. Flops: an exp, a division and 3 more an element forward, 9 more backward.
 *
 * Each element is computed as in v1, bit for bit.
 */
#include "kernels/common/packs.h"
#include "kernels/swiglu/gate.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void gate(matrix<const T> a, matrix<const T> b, matrix<T> y, split cut) {
    for (int64_t e = grid_thread(); e < cut.rows * cut.row_packs; e += grid_threads()) {
        const place at = place_of<T>(cut, e);
        const pack<T> x = load_pack(a.row(at.i) + at.j, at.left, cut.packs);
        const pack<T> other = load_pack(b.row(at.i) + at.j, at.left, cut.packs);
        pack<T> p;
        for (int v = 0; v < pack<T>::size; ++v) {
            const acc_t<T> wide = widen(x.v[v]);
            p.v[v] = narrow<T>(gated(wide, sigma_of(wide), widen(other.v[v])));
        }
        store_pack(y.row(at.i) + at.j, p, at.left, cut.packs);
    }
}

template <typename T>
static __global__ void grad_both(matrix<const T> a, matrix<const T> b, matrix<const T> dy,
                                 matrix<T> da, matrix<T> db, split cut) {
    for (int64_t e = grid_thread(); e < cut.rows * cut.row_packs; e += grid_threads()) {
        const place at = place_of<T>(cut, e);
        const pack<T> x = load_pack(a.row(at.i) + at.j, at.left, cut.packs);
        const pack<T> other = load_pack(b.row(at.i) + at.j, at.left, cut.packs);
        const pack<T> given = load_pack(dy.row(at.i) + at.j, at.left, cut.packs);
        pack<T> of_a, of_b;
        for (int v = 0; v < pack<T>::size; ++v) {
            const acc_t<T> wide = widen(x.v[v]), sigma = sigma_of(wide), g = widen(given.v[v]);
            of_a.v[v] = narrow<T>(grad_gate(wide, sigma, widen(other.v[v]), g));
            of_b.v[v] = narrow<T>(gated(wide, sigma, g));
        }
        store_pack(da.row(at.i) + at.j, of_a, at.left, cut.packs);
        store_pack(db.row(at.i) + at.j, of_b, at.left, cut.packs);
    }
}

template <typename T> static split split_of(const tensors &t) {
    const assay_tensor *const all[] = {t.a, t.b, t.y, t.dy, t.da, t.db};
    return split_for<T>(t.rows, t.d, all);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, linear_grid(cut.rows * cut.row_packs, THREADS), dim3(THREADS),
                        0, (gate<T>), matrix_of<const T>(t.a), matrix_of<const T>(t.b),
                        matrix_of<T>(t.y), cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, linear_grid(cut.rows * cut.row_packs, THREADS), dim3(THREADS),
                        0, (grad_both<T>), matrix_of<const T>(t.a), matrix_of<const T>(t.b),
                        matrix_of<const T>(t.dy), matrix_of<T>(t.da), matrix_of<T>(t.db), cut);
}

static assay_status forward(const assay_call *call) {
    return SWIGLU_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return SWIGLU_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(swiglu, v3) = {
    .op = "swiglu",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: 16 bytes at a time, da and db from one sigma",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
