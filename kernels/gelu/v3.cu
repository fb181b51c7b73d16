/*
 * gelu v3: memory is touched once, 16 bytes at a time. Tensors whose rows follow on each other are
 * one long row, so that no index is divided, and only the last thread meets an end.
 *
 * Against v1: 16-byte accesses. Bytes: x and y forward; x, dy and dx backward. Flops: as v1.
 *
 * Each element is computed as in v1, bit for bit.
 */
#include "kernels/common/pack.h"
#include "kernels/gelu/gate.h"

enum { THREADS = 256 };

/* How the elements are shared out: a thread takes one pack. */
struct split {
    int64_t rows, d;
    int64_t row_packs; /* of one row */
    bool packs;        /* all tensors allow 16-byte accesses */
};

/* The elements of one thread: a pack at column j of row i. */
struct place {
    int64_t i, j, left;
};

template <typename T>
static __device__ __forceinline__ place place_of(const split &cut, int64_t pack_index) {
    const int64_t i = cut.rows == 1 ? 0 : pack_index / cut.row_packs;
    const int64_t j = (pack_index - i * cut.row_packs) * pack<T>::size;
    return {i, j, cut.d - j};
}

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

template <typename T> static split split_for(const tensors &t) {
    const assay_tensor *all[] = {t.x, t.y, t.dy, t.dx};
    split cut = {t.rows, t.d, 0, true};
    bool one_row = true;
    for (const assay_tensor *one : all)
        one_row = one_row && (one == NULL || assay_tensor_row_stride(one) == t.d);
    if (one_row)
        cut = {1, t.rows * t.d, 0, true};
    for (const assay_tensor *one : all)
        if (one != NULL)
            cut.packs = cut.packs && (uintptr_t)one->data % PACK_BYTES == 0 &&
                        (one_row || takes_packs(one));
    cut.row_packs = ceil_div(cut.d, pack<T>::size);
    return cut;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_for<T>(t);
    return ASSAY_LAUNCH(call->stream, linear_grid(cut.rows * cut.row_packs, THREADS), dim3(THREADS),
                        0, (gate<T>), matrix_of<const T>(t.x), matrix_of<T>(t.y), t.by_tanh, cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_for<T>(t);
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
