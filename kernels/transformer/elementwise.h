/*
 * What lies between the operators: rows copied into another layout or dtype, and heads brought
 * together or apart. 16 bytes at a time where addresses allow it; every element read and written
 * once, several tensors in one launch.
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

/* A piece, what a thread takes at once: a pack of the narrower type. */
template <typename To, typename From>
constexpr int PIECE = sizeof(To) < sizeof(From) ? pack<To>::size : pack<From>::size;

template <typename To, typename From> struct piece { From v[PIECE<To, From>]; };

template <typename To, typename From>
static __device__ __forceinline__ piece<To, From> load_piece(const From *from, bool packs,
                                                             int64_t left) {
    constexpr int SIZE = pack<From>::size;
    piece<To, From> held;
    for (int first = 0; first < PIECE<To, From>; first += SIZE) {
        const pack<From> p = load_pack(from + first, left - first, packs, From());
        for (int v = 0; v < SIZE; ++v)
            held.v[first + v] = p.v[v];
    }
    return held;
}

template <typename To, typename From>
static __device__ __forceinline__ void store_piece(To *to, const piece<To, From> &held, bool packs,
                                                   int64_t left) {
    constexpr int SIZE = pack<To>::size;
    for (int first = 0; first < PIECE<To, From>; first += SIZE) {
        pack<To> p;
        for (int v = 0; v < SIZE; ++v)
            p.v[v] = conversion<To, From>::of(held.v[first + v]);
        store_pack(to + first, p, left - first, packs);
    }
}

template <typename To, typename From> struct copy_of_type {
    rows_of_type<const From> from;
    rows_of_type<To> to;
    int64_t rows, columns, row_pieces;
};

/* A block copies a tile at a time. All of a thread's loads are on their way before its first store:
 * one is far too little to keep the memory busy. */
enum { TILE_PIECES = 4, TILE = TILE_PIECES * ELEMENTWISE_THREADS };

template <typename To, typename From>
static __device__ __forceinline__ void copy_tile(const copy_of_type<To, From> &c, int64_t tile) {
    piece<To, From> held[TILE_PIECES];
    int64_t row[TILE_PIECES], column[TILE_PIECES];
#pragma unroll
    for (int u = 0; u < TILE_PIECES; ++u) {
        const int64_t e = tile * TILE + u * ELEMENTWISE_THREADS + threadIdx.x;
        row[u] = c.rows > 1 ? e / c.row_pieces : e >= c.row_pieces;
        column[u] = (e - row[u] * c.row_pieces) * PIECE<To, From>;
        if (row[u] < c.rows)
            held[u] = load_piece<To>(c.from.data + row[u] * c.from.stride + column[u], c.from.packs,
                                     c.columns - column[u]);
    }
#pragma unroll
    for (int u = 0; u < TILE_PIECES; ++u)
        if (row[u] < c.rows)
            store_piece(c.to.data + row[u] * c.to.stride + column[u], held[u], c.to.packs,
                        c.columns - column[u]);
}

/* Copies of one launch: as many as a layer has parameters. Their tiles are counted through, those
 * of copy k end before end[k]. */
enum { MOST_COPIES = LAYER_WEIGHTS };

template <typename To, typename From> struct copies_of_type {
    copy_of_type<To, From> copy[MOST_COPIES];
    int64_t end[MOST_COPIES];
    int count;
};

template <typename To, typename From>
static __global__ void copy_rows(const __grid_constant__ copies_of_type<To, From> all) {
    int which = 0;
    for (int64_t tile = blockIdx.x; tile < all.end[all.count - 1]; tile += gridDim.x) {
        while (tile >= all.end[which])
            ++which;
        copy_tile(all.copy[which], which > 0 ? tile - all.end[which - 1] : tile);
    }
}

/* to = from, several times; all of one dtype, and all into one. */
typedef struct copies {
    assay_tensor from[MOST_COPIES], to[MOST_COPIES];
    int count;
} copies;

template <typename To, typename From>
static inline copy_of_type<To, From> typed_copy(const assay_tensor *from, const assay_tensor *to) {
    int64_t rows = assay_tensor_rows(from), columns = assay_tensor_row_length(from);
    const bool one_row =
        assay_tensor_row_stride(from) == columns && assay_tensor_row_stride(to) == columns;
    if (one_row) {
        columns *= rows;
        rows = 1;
    }
    return {rows_in<const From>(from, one_row), rows_in<To>(to, one_row), rows, columns,
            ceil_div(columns, PIECE<To, From>)};
}

template <typename To, typename From>
static inline void launch_copies(walk *w, const copies *list) {
    copies_of_type<To, From> all = {};
    int64_t tiles = 0;
    for (int k = 0; k < list->count; ++k) {
        const copy_of_type<To, From> c = typed_copy<To, From>(&list->from[k], &list->to[k]);
        tiles += ceil_div(c.rows * c.row_pieces, TILE);
        all.copy[k] = c;
        all.end[k] = tiles;
    }
    all.count = list->count;
    w->status = ASSAY_LAUNCH(w->stream, linear_grid(tiles, 1), dim3(ELEMENTWISE_THREADS), 0,
                             (copy_rows<To, From>), all);
}

/* Rounded where `to` is bf16 and `from` is not. */
static inline void copy_all(walk *w, const copies *list) {
    if (!runs(w))
        return;
    const assay_dtype from = list->from[0].dtype, to = list->to[0].dtype;
    if (from == ASSAY_I32)
        launch_copies<int32_t, int32_t>(w, list);
    else if (from == to)
        launch_copies<float, float>(w, list);
    else if (to == ASSAY_BF16)
        launch_copies<__nv_bfloat16, float>(w, list);
    else
        launch_copies<float, __nv_bfloat16>(w, list);
}

static inline void add_copy(copies *list, assay_tensor from, assay_tensor to) {
    list->from[list->count] = from;
    list->to[list->count++] = to;
}

static inline void copy(walk *w, assay_tensor from, assay_tensor to) {
    copies one = {};
    add_copy(&one, from, to);
    copy_all(w, &one);
}

/* A copy without the padding that rows may have. */
static inline assay_tensor take_packed(walk *w, const assay_tensor *from) {
    const int64_t rows = assay_tensor_rows(from), columns = assay_tensor_row_length(from);
    const assay_tensor to =
        matrix_at(take(w, rows * columns, from->dtype), from->dtype, rows, columns);
    copy(w, as_matrix(from), to);
    return to;
}

/* ---- heads ---- */

/* Up to three tensors by heads, [b, heads, t, head_dim], which as rows lie beside each other:
 * [b, t, count, heads, head_dim]. All dense. */
enum { MOST_HEADS = 3 };

typedef struct heads {
    assay_tensor tensors[MOST_HEADS];
    int count;
} heads;

template <typename T> struct heads_of_type {
    T *data[MOST_HEADS];
    int64_t count, b, heads, t, length;
    bool packs;
};

enum heads_direction { SPLIT, MERGE };

/* A thread takes a pack, in the order of heads. */
template <typename T, heads_direction DIRECTION>
static __global__ void move_heads(T *rows, heads_of_type<T> by) {
    const int64_t row_packs = ceil_div(by.length, pack<T>::size);
    const int64_t packs = by.count * by.b * by.heads * by.t * row_packs;
    for (int64_t e = grid_thread(); e < packs; e += grid_threads()) {
        const int64_t row = e / row_packs, at = e % row_packs * pack<T>::size;
        const int64_t i = row % by.t, head = row / by.t % by.heads;
        const int64_t batch = row / (by.t * by.heads) % by.b,
                      which = row / (by.t * by.heads * by.b);
        const int64_t token = batch * by.t + i, left = by.length - at;
        T *beside = rows + ((token * by.count + which) * by.heads + head) * by.length + at;
        T *apart = by.data[which] + ((batch * by.heads + head) * by.t + i) * by.length + at;
        if (DIRECTION == SPLIT)
            store_pack(apart, load_pack(beside, left, by.packs), left, by.packs);
        else
            store_pack(beside, load_pack(apart, left, by.packs), left, by.packs);
    }
}

template <typename T, heads_direction DIRECTION>
static inline void launch_heads(walk *w, void *rows, const heads *by) {
    const model *m = &w->m;
    heads_of_type<T> all = {};
    for (int which = 0; which < by->count; ++which)
        all.data[which] = static_cast<T *>(by->tensors[which].data);
    all.count = by->count;
    all.b = m->b;
    all.heads = m->heads;
    all.t = m->t;
    all.length = m->head_dim;
    all.packs = m->head_dim % pack<T>::size == 0;
    const int64_t packs = all.count * m->tokens * m->heads * ceil_div(m->head_dim, pack<T>::size);
    w->status =
        ASSAY_LAUNCH(w->stream, linear_grid(packs, ELEMENTWISE_THREADS), dim3(ELEMENTWISE_THREADS),
                     0, (move_heads<T, DIRECTION>), static_cast<T *>(rows), all);
}

static inline void split_heads(walk *w, assay_tensor rows, heads to) {
    if (!runs(w))
        return;
    if (rows.dtype == ASSAY_BF16)
        launch_heads<__nv_bfloat16, SPLIT>(w, rows.data, &to);
    else
        launch_heads<float, SPLIT>(w, rows.data, &to);
}

static inline void merge_heads(walk *w, heads from, assay_tensor rows) {
    if (!runs(w))
        return;
    if (rows.dtype == ASSAY_BF16)
        launch_heads<__nv_bfloat16, MERGE>(w, rows.data, &from);
    else
        launch_heads<float, MERGE>(w, rows.data, &from);
}

#endif
