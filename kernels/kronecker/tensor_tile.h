/*
 * A tile of kronecker v3_tensor in shared memory: bf16, or fp32 for TF32, in pieces of 16 bytes.
 * The piece of number c lies at `piece_place(c)`, so that any eight pieces whose numbers are a
 * power of two apart lie in different banks. The places of numbers that share no bit are each
 * other's exclusive or.
 */
#ifndef ASSAY_KRONECKER_TENSOR_TILE_H
#define ASSAY_KRONECKER_TENSOR_TILE_H

#include "kernels/common/pack.h"
#include "kernels/common/tensor.h"
#include "kernels/kronecker/tensor_plan.h"

typedef __nv_bfloat16 bf16;

/* Elements of a piece. A matrix of ldmatrix is eight pieces, and mma takes two along k. */
template <typename T> constexpr int PIECE = PACK_BYTES / (int)sizeof(T);

/* In bytes. Tiles have fewer than 2^15 pieces. */
static __device__ __forceinline__ uint32_t piece_place(uint32_t c) {
    return (c ^ ((c >> 3 ^ c >> 6 ^ c >> 9 ^ c >> 12) & 7)) * PACK_BYTES;
}

/* A tile in a state: units `unit` elements apart, of runs that are `run` apart. */
struct tensor_view {
    int64_t offset, unit, run;
    int32_t log_unit, log_columns; /* elements of a unit in the tile; of a run */
    int32_t elements;              /* that there are */
};

static __device__ __forceinline__ tensor_view view_of(const tensor_pass &p, int log_extent,
                                                      int64_t stride, int64_t tile) {
    const int64_t first = tile / p.chunks << p.log_units, left = p.rows * p.left - first;
    const int64_t size = ((int64_t)1 << log_extent * p.modes) * p.right; /* of a unit */
    const int32_t units = left < 1 << p.log_units ? (int32_t)left : 1 << p.log_units;
    tensor_view v;
    v.offset = first / p.left * stride + first % p.left * size + (tile % p.chunks << p.log_columns);
    v.unit = p.left > 1 ? size : stride;
    v.run = p.right;
    v.log_unit = log_extent * p.modes + p.log_columns;
    v.log_columns = p.log_columns;
    v.elements = units << v.log_unit;
    return v;
}

static __device__ __forceinline__ int64_t element_at(const tensor_view &v, int e) {
    const int inside = e & ((1 << v.log_unit) - 1);
    return v.offset + (e >> v.log_unit) * v.unit + (inside >> v.log_columns) * v.run +
           (inside & ((1 << v.log_columns) - 1));
}

/* Starts to copy a tile; its copies are a group. */
template <int THREADS, typename T>
static __device__ __forceinline__ void fetch_tile(const T *from, bool packs, const tensor_view &v,
                                                  unsigned char *tile) {
#pragma unroll 4
    for (int c = (int)threadIdx.x; c < v.elements / PIECE<T>; c += THREADS) {
        const T *const piece = from + element_at(v, c * PIECE<T>);
        unsigned char *const to = tile + piece_place((uint32_t)c);
        if (packs)
            cp_async_16(to, piece);
        else
            *reinterpret_cast<pack<T> *>(to) = load_pack(piece, PIECE<T>, false);
    }
    cp_async_commit();
}

template <int THREADS, typename T>
static __device__ __forceinline__ void store_tile(const unsigned char *tile, const tensor_view &v,
                                                  T *to, bool packs) {
#pragma unroll 4
    for (int c = (int)threadIdx.x; c < v.elements / PIECE<T>; c += THREADS)
        store_pack(to + element_at(v, c * PIECE<T>),
                   load_whole(reinterpret_cast<const pack<T> *>(tile + piece_place((uint32_t)c))),
                   PIECE<T>, packs);
}

/*
 * Where a stage's elements lie in the tile: element i of column c at column(c) ^ element(i), and
 * what the last bits say within a piece. Both are sums, by exclusive or, of what the bits of c and
 * of i stand for, so that a lane has its own bits' part before it begins, and what an unrolled
 * loop adds is known or in a register.
 *
 * LAST: of the last axis, where a column's own elements lie side by side; else neighbouring columns
 * do, and elements are 2^log_step apart.
 */
template <typename T, int N, bool LAST> struct tile_places {
    static constexpr int LOG = log2_of(N), PIECES = N / PIECE<T>;
    int log_step, columns;
    uint32_t bit[LOG];      /* of element 2^e */
    uint32_t column_bit[5]; /* of column 2^e */

    __device__ __forceinline__ tile_places(int step, int there) : log_step(step), columns(there) {
#pragma unroll
        for (int e = 0; e < LOG; ++e)
            bit[e] = element(1 << e);
#pragma unroll
        for (int e = 0; e < 5; ++e)
            column_bit[e] = column(1 << e);
    }
    __device__ __forceinline__ uint32_t column(int c) const {
        if (LAST)
            return piece_place((uint32_t)c * PIECES);
        const uint32_t inside = (uint32_t)c & ((1u << log_step) - 1);
        return piece_place((((uint32_t)c - inside) * N + inside) / PIECE<T>);
    }
    __device__ __forceinline__ uint32_t element(int i) const {
        return piece_place(LAST ? (uint32_t)i / PIECE<T> : ((uint32_t)i << log_step) / PIECE<T>);
    }
    /* The same of numbers that are known, once loops are unrolled. */
    __device__ __forceinline__ uint32_t known_element(int i) const {
        uint32_t place = 0;
#pragma unroll
        for (int e = 0; e < LOG; ++e)
            place ^= (i >> e & 1) != 0 ? bit[e] : 0;
        return place;
    }
    __device__ __forceinline__ uint32_t known_column(int c) const {
        uint32_t place = 0;
#pragma unroll
        for (int e = 0; e < 5; ++e)
            place ^= (c >> e & 1) != 0 ? column_bit[e] : 0;
        return place;
    }
};

static __device__ __forceinline__ int own_lane() {
    return (int)threadIdx.x % 32;
}

static __device__ __forceinline__ uint32_t word_at(const unsigned char *tile, uint32_t place) {
    return *reinterpret_cast<const uint32_t *>(tile + place);
}

/* Two neighbouring sums, rounded to T. */
static __device__ __forceinline__ void put_two(bf16, unsigned char *to, float low, float high) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    uint32_t word;
    memcpy(&word, &two, sizeof word);
    *reinterpret_cast<uint32_t *>(to) = word;
}
static __device__ __forceinline__ void put_two(float, unsigned char *to, float low, float high) {
    *reinterpret_cast<float2 *>(to) = make_float2(low, high);
}

static __device__ __forceinline__ void multiply(bf16, float (&sum)[4], const uint32_t (&a)[4],
                                                const uint32_t (&b)[2]) {
    mma_m16n8k16_bf16(sum, a, b);
}
static __device__ __forceinline__ void multiply(float, float (&sum)[4], const uint32_t (&a)[4],
                                                const uint32_t (&b)[2]) {
    mma_m16n8k8_tf32(sum, a, b);
}

#endif
