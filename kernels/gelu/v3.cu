/*
 * gelu v3: memory is touched once, 16 bytes at a time (kernels/common/packs.h).
 *
 * Against v1: 16-byte accesses. Bytes: x and y forward; x, dy and dx backward. Flops: as v1.
 *
 * Each element is computed as in v1, bit for bit.
 */
#include "kernels/common/packs.h"
#include "kernels/gelu/gate.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void gate(matrix<const T> x, matrix<T> y, bool by_tanh, split cut) {
    for (int64_t e = grid_thread(); e < cut.rows * cut.row_packs; e += grid_threads()) {
        const place at = place_of<T>(cut, e);
        pack<T> p = load_pack(x.row(at.i) + at.j, at.left, cut.packs);
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = narrow<T>(gated(widen(p.v[v]), by_tanh));
        store_pack(y.row(at.i) + at.j, p, at.left, cut.packs);
    }
}

template <typename T>
static __global__ void grad(matrix<const T> x, matrix<const T> dy, matrix<T> dx, bool by_tanh,
                            split cut) {
    for (int64_t e = grid_thread(); e < cut.rows * cut.row_packs; e += grid_threads()) {
        const place at = place_of<T>(cut, e);
        pack<T> p = load_pack(x.row(at.i) + at.j, at.left, cut.packs);
        const pack<T> given = load_pack(dy.row(at.i) + at.j, at.left, cut.packs);
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = narrow<T>(grad_gate(widen(p.v[v]), widen(given.v[v]), by_tanh));
        store_pack(dx.row(at.i) + at.j, p, at.left, cut.packs);
    }
}

template <typename T> static split split_of(const tensors &t) {
    const assay_tensor *const all[] = {t.x, t.y, t.dy, t.dx};
    return split_for<T>(t.rows, t.d, all);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, linear_grid(cut.rows * cut.row_packs, THREADS), dim3(THREADS),
                        0, (gate<T>), matrix_of<const T>(t.x), matrix_of<T>(t.y), t.by_tanh, cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_of<T>(t);
    return ASSAY_LAUNCH(call->stream, linear_grid(cut.rows * cut.row_packs, THREADS), dim3(THREADS),
                        0, (grad<T>), matrix_of<const T>(t.x), matrix_of<const T>(t.dy),
                        matrix_of<T>(t.dx), t.by_tanh, cut);
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
    .summary = "16 bytes at a time",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
