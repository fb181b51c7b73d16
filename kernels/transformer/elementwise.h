/*
 * What lies between the operators: rows copied into another layout or dtype, heads brought together
 * or apart, and gradients added that reach one tensor by several ways. 16 bytes at a time where
 * addresses allow it; one launch each, every element read and written once.
 */
#ifndef ASSAY_TRANSFORMER_ELEMENTWISE_H
#define ASSAY_TRANSFORMER_ELEMENTWISE_H

#include "kernels/device/grid.h"
#include "kernels/device/pack.h"
#include "kernels/transformer/walk.h"

enum { ELEMENTWISE_THREADS = 256 };

/* ---- copies of rows ---- */

/* Equally spaced rows of `columns` elements. */
template <typename T> struct rows_of_type {
    T *data;
    int64_t stride;
    bool packs;
};

template <typename T> static inline rows_of_type<T> rows_in(const assay_tensor *t, bool one_row) {
    const bool packs = one_row ? (uintptr_t)t->data % PACK_BYTES == 0 : takes_packs(t);
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t), packs};
}

template <typename To, typename From> struct conversion {
    static __device__ __forceinline__ To of(From v) {
        return narrow<To>(widen(v));
    }
};
template <typename T> struct conversion<T, T> {
    static __device__ __forceinline__ T of(T v) {
        return v;
    }
};

/* Elements that a thread takes: a pack of the narrower type. */
template <typename To, typename From>
constexpr int PIECE = sizeof(To) < sizeof(From) ? pack<To>::size : pack<From>::size;

template <typename To, typename From>
static __device__ __forceinline__ void copy_piece(const From *from, bool from_packs, To *to,
                                                  bool to_packs, int64_t left) {
    constexpr int N = PIECE<To, From>, FROM = pack<From>::size, TO = pack<To>::size;
    From held[N];
    for (int first = 0; first < N; first += FROM) {
        const pack<From> p = load_pack(from + first, left - first, from_packs, From());
        for (int v = 0; v < FROM; ++v)
            held[first + v] = p.v[v];
    }
    for (int first = 0; first < N; first += TO) {
        pack<To> p;
        for (int v = 0; v < TO; ++v)
            p.v[v] = conversion<To, From>::of(held[first + v]);
        store_pack(to + first, p, left - first, to_packs);
    }
}

template <typename To, typename From>
static __global__ void copy_rows(rows_of_type<const From> from, rows_of_type<To> to, int64_t rows,
                                 int64_t columns) {
    const int64_t pieces = ceil_div(columns, PIECE<To, From>);
    for (int64_t e = grid_thread(); e < rows * pieces; e += grid_threads()) {
        const int64_t i = e / pieces, j = e % pieces * PIECE<To, From>;
        copy_piece(from.data + i * from.stride + j, from.packs, to.data + i * to.stride + j,
                   to.packs, columns - j);
    }
}

template <typename To, typename From>
static inline void launch_copy(walk *w, const assay_tensor *from, const assay_tensor *to) {
    int64_t rows = assay_tensor_rows(from), columns = assay_tensor_row_length(from);
    const bool one_row =
        assay_tensor_row_stride(from) == columns && assay_tensor_row_stride(to) == columns;
    if (one_row) {
        columns *= rows;
        rows = 1;
    }
    w->status = ASSAY_LAUNCH(
        w->stream, linear_grid(rows * ceil_div(columns, PIECE<To, From>), ELEMENTWISE_THREADS),
        dim3(ELEMENTWISE_THREADS), 0, (copy_rows<To, From>), rows_in<const From>(from, one_row),
        rows_in<To>(to, one_row), rows, columns);
}

/* to = from, of the same shape; rounded where `to` is bf16 and `from` is not. */
static inline void copy(walk *w, assay_tensor from, assay_tensor to) {
    if (!runs(w))
        return;
    if (from.dtype == ASSAY_I32)
        launch_copy<int32_t, int32_t>(w, &from, &to);
    else if (from.dtype == to.dtype)
        launch_copy<float, float>(w, &from, &to);
    else if (to.dtype == ASSAY_BF16)
        launch_copy<__nv_bfloat16, float>(w, &from, &to);
    else
        launch_copy<float, __nv_bfloat16>(w, &from, &to);
}

/* ---- heads ---- */

/* to[o, j, i, :] = from[o, i, j, :], both dense; a thread takes a pack of `to`. */
template <typename T>
static __global__ void swap_axes(const T *from, T *to, int64_t outer, int64_t n_i, int64_t n_j,
                                 int64_t length, bool packs) {
    const int64_t row_packs = ceil_div(length, pack<T>::size);
    for (int64_t e = grid_thread(); e < outer * n_i * n_j * row_packs; e += grid_threads()) {
        const int64_t row = e / row_packs, at = e % row_packs * pack<T>::size, left = length - at;
        const int64_t o = row / (n_i * n_j), j = row / n_i % n_j, i = row % n_i;
        const T *source = from + ((o * n_i + i) * n_j + j) * length + at;
        store_pack(to + row * length + at, load_pack(source, left, packs), left, packs);
    }
}

template <typename T>
static inline void launch_swap(walk *w, const assay_tensor *from, const assay_tensor *to,
                               int64_t n_i, int64_t n_j) {
    const model *m = &w->m;
    const int64_t rows = m->tokens * m->heads;
    w->status = ASSAY_LAUNCH(
        w->stream, linear_grid(rows * ceil_div(m->head_dim, pack<T>::size), ELEMENTWISE_THREADS),
        dim3(ELEMENTWISE_THREADS), 0, (swap_axes<T>), static_cast<const T *>(from->data),
        static_cast<T *>(to->data), m->b, n_i, n_j, m->head_dim, m->head_dim % pack<T>::size == 0);
}

/* [tokens, d] to [b, heads, t, head_dim] */
static inline void split_heads(walk *w, assay_tensor from, assay_tensor to) {
    if (!runs(w))
        return;
    if (from.dtype == ASSAY_BF16)
        launch_swap<__nv_bfloat16>(w, &from, &to, w->m.t, w->m.heads);
    else
        launch_swap<float>(w, &from, &to, w->m.t, w->m.heads);
}

/* And back. */
static inline void merge_heads(walk *w, assay_tensor from, assay_tensor to) {
    if (!runs(w))
        return;
    if (from.dtype == ASSAY_BF16)
        launch_swap<__nv_bfloat16>(w, &from, &to, w->m.heads, w->m.t);
    else
        launch_swap<float>(w, &from, &to, w->m.heads, w->m.t);
}

/* ---- sums ---- */

/* to = a + b + c, added in fp32; without c where that is NULL. All dense and aligned. */
template <typename T>
static __global__ void add(const T *a, const T *b, const T *c, T *to, int64_t n) {
    for (int64_t e = grid_thread() * pack<T>::size; e < n; e += grid_threads() * pack<T>::size) {
        const int64_t left = n - e;
        const pack<T> x = load_pack(a + e, left, true), y = load_pack(b + e, left, true);
        const pack<T> z = load_pack(c != NULL ? c + e : a, c != NULL ? left : 0, true);
        pack<T> p;
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = narrow<T>(widen(x.v[v]) + widen(y.v[v]) + widen(z.v[v]));
        store_pack(to + e, p, left, true);
    }
}

template <typename T>
static inline void launch_add(walk *w, const void *a, const void *b, const void *c,
                              const assay_tensor *to) {
    const int64_t n = assay_tensor_count(to);
    w->status = ASSAY_LAUNCH(
        w->stream, linear_grid(ceil_div(n, pack<T>::size), ELEMENTWISE_THREADS),
        dim3(ELEMENTWISE_THREADS), 0, (add<T>), static_cast<const T *>(a),
        static_cast<const T *>(b), static_cast<const T *>(c), static_cast<T *>(to->data), n);
}

static inline void add_data(walk *w, const void *a, const void *b, const void *c, assay_tensor to) {
    if (!runs(w))
        return;
    if (to.dtype == ASSAY_BF16)
        launch_add<__nv_bfloat16>(w, a, b, c, &to);
    else
        launch_add<float>(w, a, b, c, &to);
}

static inline void add_two(walk *w, assay_tensor a, assay_tensor b, assay_tensor to) {
    add_data(w, a.data, b.data, NULL, to);
}
static inline void add_three(walk *w, assay_tensor a, assay_tensor b, assay_tensor c,
                             assay_tensor to) {
    add_data(w, a.data, b.data, c.data, to);
}

/* ---- zeros ---- */

static __global__ void clear_elements(float *to, int64_t n) {
    for (int64_t e = grid_thread(); e < n; e += grid_threads())
        to[e] = 0;
}

/* A dense fp32 tensor. */
static inline void clear(walk *w, assay_tensor to) {
    const int64_t n = assay_tensor_count(&to);
    if (runs(w))
        w->status =
            ASSAY_LAUNCH(w->stream, linear_grid(n, ELEMENTWISE_THREADS), dim3(ELEMENTWISE_THREADS),
                         0, clear_elements, static_cast<float *>(to.data), n);
}

#endif
