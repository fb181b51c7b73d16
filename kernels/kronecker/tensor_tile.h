/*
 * A tile of kronecker v3_tensor in shared memory: bf16, in pieces of 16 bytes. The piece of number
 * c lies at `piece_place(c)`, so that any eight pieces whose numbers are a power of two apart lie in
 * different banks. The places of numbers that share no bit are each other's exclusive or.
 */
#ifndef ASSAY_KRONECKER_TENSOR_TILE_H
#define ASSAY_KRONECKER_TENSOR_TILE_H

#include "kernels/common/pack.h"
#include "kernels/common/tensor.h"
#include "kernels/kronecker/tensor_plan.h"

typedef __nv_bfloat16 bf16;

constexpr int PIECE = PACK_BYTES / (int)sizeof(bf16); /* elements; a matrix of ldmatrix is 8 x 8 */

/* In bytes. Tiles have fewer than 2^15 pieces. */
static __device__ __forceinline__ uint32_t piece_place(uint32_t c) {
    return (c ^ ((c >> 3 ^ c >> 6 ^ c >> 9 ^ c >> 12) & 7)) * PACK_BYTES;
}

/* A tile in a state: units `unit` elements apart, of runs that are `run` apart. */
struct tensor_view {
    int64_t offset, unit, run;
    int32_t log_unit, log_columns; /* elements of a unit in the tile; of a run */
    int32_t pieces;                /* that there are */
    int32_t units;
};

static __device__ __forceinline__ tensor_view view_of(const tensor_pass &p, int log_extent,
                                                      int64_t stride, int64_t tile) {
    const int64_t first = tile / p.chunks << p.log_units, left = p.rows * p.left - first;
    const int64_t size = ((int64_t)1 << log_extent * p.modes) * p.right; /* of a unit */
    tensor_view v;
    v.offset = first / p.left * stride + first % p.left * size +
               (tile % p.chunks << p.log_columns);
    v.unit = p.left > 1 ? size : stride;
    v.run = p.right;
    v.log_unit = log_extent * p.modes + p.log_columns;
    v.log_columns = p.log_columns;
    v.units = left < 1 << p.log_units ? (int32_t)left : 1 << p.log_units;
    v.pieces = v.units << v.log_unit >> 3;
    return v;
}

static __device__ __forceinline__ int64_t piece_at(const tensor_view &v, int c) {
    const int e = c * PIECE, inside = e & ((1 << v.log_unit) - 1);
    return v.offset + (e >> v.log_unit) * v.unit + (inside >> v.log_columns) * v.run +
           (inside & ((1 << v.log_columns) - 1));
}

/* Starts to copy a tile; its copies are a group. */
template <int THREADS>
static __device__ __forceinline__ void fetch_tile(const bf16 *from, bool packs,
                                                  const tensor_view &v, unsigned char *tile) {
#pragma unroll 4
    for (int c = (int)threadIdx.x; c < v.pieces; c += THREADS) {
        const bf16 *const piece = from + piece_at(v, c);
        unsigned char *const to = tile + piece_place((uint32_t)c);
        if (packs)
            cp_async_16(to, piece);
        else
            *reinterpret_cast<pack<bf16> *>(to) = load_pack(piece, PIECE, false);
    }
    cp_async_commit();
}

template <int THREADS>
static __device__ __forceinline__ void store_tile(const unsigned char *tile, const tensor_view &v,
                                                  bf16 *to, bool packs) {
#pragma unroll 4
    for (int c = (int)threadIdx.x; c < v.pieces; c += THREADS)
        store_pack(to + piece_at(v, c),
                   load_whole(reinterpret_cast<const pack<bf16> *>(tile + piece_place((uint32_t)c))),
                   PIECE, packs);
}

/* A stage of N x N in the tile: a column's elements lie 2^log_step apart; eight neighbouring
 * columns are a block. Where log_step is 0, the last axis, the eight are lines. */
template <int N> struct tile_stage {
    int log_step, blocks;

    /* Where a line of 16 bytes begins: of the matrix of block `b` and elements 8 k … 8 k + 7 its
     * line `line`, an element of eight columns, or a column's eight elements. */
    __device__ __forceinline__ uint32_t line_at(int b, int k, int line) const {
        if (log_step == 0)
            return piece_place((uint32_t)(b * 8 + line) * (N / 8)) ^ piece_place((uint32_t)k);
        const uint32_t e = (uint32_t)b * 8, inside = e & ((1u << log_step) - 1);
        const uint32_t first = ((e - inside) * N + inside) / 8;
        return piece_place(first) ^ piece_place((uint32_t)(k * 8 + line) << (log_step - 3));
    }
};

#endif
