/* How v3 brings operands to shared memory: slices of k, several under way at a time. */
#ifndef ASSAY_MATMUL_ACCUMULATE_V3_SLICE_H
#define ASSAY_MATMUL_ACCUMULATE_V3_SLICE_H

#include "kernels/common/tensor.h"
#include "kernels/matmul_accumulate/product.h"

enum {
    WARP = 32,
    SLICE_BYTES = 64, /* of k, for each row of either operand */
    STAGES = 3,       /* slices under way: one is multiplied while the others are fetched */
    PACK_BYTES = 16,  /* of one asynchronous copy */
    BAND = 1024,      /* rows of the result whose tiles blocks compute before others */
};

/* Elements behind each line of a slice that put the lines a warp reads together into different
 * banks, and let every line begin where a pack may. */
template <typename T> struct padding;
template <> struct padding<double> {
    enum { k_inner = 4, row_inner = 4 };
};
template <> struct padding<float> {
    enum { k_inner = 4, row_inner = 8 };
};
template <> struct padding<__nv_bfloat16> {
    enum { k_inner = 8, row_inner = 8 };
};
template <> struct padding<__half> : padding<__nv_bfloat16> {};

/* The square of the result that a block computes: DOWN x ACROSS warps with a part each. */
template <int DOWN_, int ACROSS_, int ROWS_, int COLUMNS_> struct square {
    static constexpr int down = DOWN_, rows = ROWS_, columns = COLUMNS_; /* a warp's */
    static constexpr int threads = DOWN_ * ACROSS_ * WARP;
    static constexpr int side = DOWN_ * ROWS_;
    static_assert(side == ACROSS_ * COLUMNS_, "a tile is a square");
};

/* A slice keeps its operand's order in memory: lines of k, one for each row of the tile (K_INNER),
 * or lines of rows, one for each k. Rows of the right operand are the result's columns. */
template <typename T, typename Tile, bool K_INNER> struct slice {
    static constexpr bool k_inner = K_INNER;
    static constexpr int threads = Tile::threads; /* that fetch it */
    static constexpr int depth = SLICE_BYTES / (int)sizeof(T);
    static constexpr int lines = K_INNER ? Tile::side : depth;
    static constexpr int length = K_INNER ? depth : Tile::side;
    static constexpr int stride =
        length + (K_INNER ? (int)padding<T>::k_inner : (int)padding<T>::row_inner);
    static constexpr int elements = lines * stride;

    static __device__ __forceinline__ int at(int row, int k) {
        return K_INNER ? row * stride + k : k * stride + row;
    }
};

/* An operand in global memory; `packs`: every line begins where a pack may. */
template <typename T> struct operand {
    const T *data;
    int64_t stride, rows, depth;
    bool packs;
};

template <typename T>
static inline operand<T> operand_of(const matrix<const T> &x, int64_t rows, int64_t depth) {
    const bool packs =
        (uintptr_t)x.data % PACK_BYTES == 0 && (size_t)x.stride * sizeof(T) % PACK_BYTES == 0;
    return {x.data, x.stride, rows, depth, packs};
}

/* A product with its result's rows in memory as rows. */
template <typename T> struct problem {
    operand<T> left, right;
    matrix<const T> added;
    matrix<T> out;
    int64_t m, n, k;
    acc_t<T> times;
};

template <typename T> static inline problem<T> problem_of(const product<T> &x) {
    return {operand_of(x.left, x.m, x.k),
            operand_of(x.right, x.n, x.k),
            x.added,
            x.out,
            x.m,
            x.n,
            x.k,
            (acc_t<T>)x.times};
}

struct tile_place {
    int64_t row, column;
};

/* Tiles are numbered down the columns of bands of BAND rows; a grid has fewer than 2^31. */
template <int ROWS, int COLUMNS>
static __device__ __forceinline__ tile_place place_of(unsigned tile, int64_t m, int64_t n) {
    constexpr unsigned MOST = BAND / ROWS;
    const unsigned across = (unsigned)ceil_div(n, COLUMNS), down = (unsigned)ceil_div(m, ROWS);
    const unsigned most = down < MOST ? down : MOST;
    const unsigned band = tile / (most * across), inside = tile % (most * across);
    const unsigned left = down - band * most, height = left < most ? left : most;
    return {(int64_t)(band * most + inside % height) * ROWS, (int64_t)(inside / height) * COLUMNS};
}

/* Starts to fetch the slice at (row, k); what lies outside of the operand is 0. */
template <typename T, typename Slice>
static __device__ __forceinline__ void fetch(const operand<T> &x, int64_t row, int64_t k, T *to) {
    constexpr int PACK = PACK_BYTES / (int)sizeof(T), PACKS = Slice::length / PACK;
    const int64_t lines = Slice::k_inner ? x.rows : x.depth, first_line = Slice::k_inner ? row : k;
    const int64_t length = Slice::k_inner ? x.depth : x.rows, first = Slice::k_inner ? k : row;
    for (int e = (int)threadIdx.x; e < Slice::lines * PACKS; e += Slice::threads) {
        const int64_t line = first_line + e / PACKS, place = first + e % PACKS * PACK;
        const int left = line < lines ? (int)clamp(length - place, 0, PACK) : 0;
        const T *from = left > 0 ? x.data + line * x.stride + place : x.data;
        T *pack = to + e / PACKS * Slice::stride + e % PACKS * PACK;
        if (x.packs)
            cp_async_16(pack, from, left * (int)sizeof(T));
        else
            for (int v = 0; v < PACK; ++v)
                pack[v] = v < left ? from[v] : narrow<T>(0);
    }
}

#endif
