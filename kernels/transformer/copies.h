/*
 * Rows copied into another layout or dtype: 16 bytes at a time where addresses allow it, every
 * element read and written once, several tensors in one launch.
 */
#ifndef ASSAY_TRANSFORMER_COPIES_H
#define ASSAY_TRANSFORMER_COPIES_H

#include "device/grid.h"
#include "kernels/common/pack.h"
#include "kernels/transformer/walk.h"

enum { ROW_THREADS = 256 };

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

/* A piece is what a thread writes at once, 16 bytes: stores of neighbours lie side by side. It is
 * read as one or two parts, of 8 bytes where bf16 becomes fp32. */
template <typename To> constexpr int PIECE = pack<To>::size;
template <typename To, typename From>
constexpr int PART = PIECE<To> < pack<From>::size ? PIECE<To> : pack<From>::size;

template <typename To, typename From> struct alignas(PART<To, From> * sizeof(From)) part {
    From v[PART<To, From>];
};

template <typename To, typename From> struct piece { From v[PIECE<To>]; };

template <typename To, typename From>
static __device__ __forceinline__ piece<To, From> load_piece(const From *from, bool packs,
                                                             int64_t left) {
    constexpr int SIZE = PART<To, From>;
    piece<To, From> held;
    for (int first = 0; first < PIECE<To>; first += SIZE) {
        part<To, From> p;
        if (packs && left - first >= SIZE)
            p = load_whole(reinterpret_cast<const part<To, From> *>(from + first));
        else
            for (int v = 0; v < SIZE; ++v)
                p.v[v] = first + v < left ? from[first + v] : From();
        for (int v = 0; v < SIZE; ++v)
            held.v[first + v] = p.v[v];
    }
    return held;
}

template <typename To, typename From>
static __device__ __forceinline__ void store_piece(To *to, const piece<To, From> &held, bool packs,
                                                   int64_t left) {
    pack<To> p;
    for (int v = 0; v < PIECE<To>; ++v)
        p.v[v] = conversion<To, From>::of(held.v[v]);
    store_pack(to, p, left, packs);
}

template <typename To, typename From> struct copy_of_type {
    rows_of_type<const From> from;
    rows_of_type<To> to;
    int64_t rows, columns, row_pieces;
};

/* A block copies a tile at a time, a thread 8 elements. With 32 elements, all of whose loads were
 * on their way before the first store, an H100 took 35 us for a layer's gradients of 7.1 million
 * elements, and 25 us so: fewer registers let twice as many blocks run. */
template <typename To> constexpr int TILE_PIECES = 8 / PIECE<To>;
template <typename To> constexpr int TILE = TILE_PIECES<To> *ROW_THREADS;

template <typename To, typename From>
static __device__ __forceinline__ void copy_tile(const copy_of_type<To, From> &c, int64_t tile) {
    piece<To, From> held[TILE_PIECES<To>];
    int64_t row[TILE_PIECES<To>], column[TILE_PIECES<To>];
#pragma unroll
    for (int u = 0; u < TILE_PIECES<To>; ++u) {
        const int64_t e = tile * TILE<To> + u * ROW_THREADS + threadIdx.x;
        /* Long copies are of one row, and need no division. */
        row[u] = c.rows > 1 ? e / c.row_pieces : e >= c.row_pieces;
        column[u] = (e - row[u] * c.row_pieces) * PIECE<To>;
        if (row[u] < c.rows)
            held[u] = load_piece<To>(c.from.data + row[u] * c.from.stride + column[u], c.from.packs,
                                     c.columns - column[u]);
    }
#pragma unroll
    for (int u = 0; u < TILE_PIECES<To>; ++u)
        if (row[u] < c.rows)
            store_piece<To>(c.to.data + row[u] * c.to.stride + column[u], held[u], c.to.packs,
                            c.columns - column[u]);
}

/* Copies of one launch: as many as a layer has parameters. Their tiles are counted through, those
 * of copy k end before end[k]. */
/* Those of five layers: a kernel's arguments have 4 KB. */
enum { MOST_COPIES = 5 * LAYER_WEIGHTS };

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
            ceil_div(columns, PIECE<To>)};
}

template <typename To, typename From>
static inline void launch_copies(walk *w, const copies *list) {
    copies_of_type<To, From> all = {};
    int64_t tiles = 0;
    for (int k = 0; k < list->count; ++k) {
        const copy_of_type<To, From> c = typed_copy<To, From>(&list->from[k], &list->to[k]);
        tiles += ceil_div(c.rows * c.row_pieces, TILE<To>);
        all.copy[k] = c;
        all.end[k] = tiles;
    }
    all.count = list->count;
    w->status = ASSAY_LAUNCH(w->stream, linear_grid(tiles, 1), dim3(ROW_THREADS), 0,
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

#endif
