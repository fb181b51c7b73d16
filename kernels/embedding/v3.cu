/*
 * embedding v3, fused: rows move 16 bytes at a time; dtable is a sum without atomics, sorting or
 * workspace.
 *
 * A block has columns by lanes of threads: a thread has one pack of columns, lanes have different
 * rows. Forward copies a row for each token. Backward: a block has 8 rows of dtable, each searched
 * for by one warp: among 1024 ids in shared memory, 32 at a time, it lists the tokens that have its
 * row, in ascending order; then the block adds these tokens' dy to sums that it keeps in registers
 * until all tokens are through.
 *
 * Against v1: the ids are read once for 8 rows and 256 packs of columns, not once for each element.
 * Bytes: forward t d elements read and written; backward dy read once, dtable written once, and the
 * ids (v / 8) times, 4 t bytes each from the L2 cache: less than dtable has while t < 8 d. Flops:
 * t d additions backward.
 *
 * Each element's sum is in the order of tokens, as in v1.
 */
#include "kernels/common/pack.h"
#include "kernels/embedding/table.h"

enum { THREADS = 256, WARP = 32, ROWS = THREADS / WARP, CHUNK = 1024 };

/* Blocks of `columns` threads along d by THREADS / columns rows. */
struct cut {
    int columns;
    int64_t strips; /* blocks along d */
};

template <typename T> static cut cut_for(int64_t d) {
    cut c = {1, 0};
    while (c.columns < THREADS && c.columns * pack<T>::size < d)
        c.columns *= 2;
    c.strips = ceil_div(d, (int64_t)c.columns * pack<T>::size);
    return c;
}

/* This thread's first column, and which of the block's rows it begins with. */
struct place {
    int64_t column;
    int lane, lanes;
};

template <typename T> static __device__ __forceinline__ place place_in(const cut &c) {
    const int64_t strip = blockIdx.x % c.strips;
    return {(strip * c.columns + threadIdx.x % c.columns) * pack<T>::size,
            (int)threadIdx.x / c.columns, THREADS / c.columns};
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    gather(const int32_t *ids, rows<const T> table, rows<T> y, sizes s, cut c, bool table_packs,
           bool y_packs) {
    const place at = place_in<T>(c);
    const int64_t i = (int64_t)blockIdx.x / c.strips * at.lanes + at.lane, left = s.d - at.column;
    if (i >= s.t || left <= 0)
        return;
    const T *from = table.data + ids[i] * table.stride + at.column;
    store_pack(y.data + i * y.stride + at.column, load_pack(from, left, table_packs), left,
               y_packs);
}

/* The tokens of up to 1024 that have one row, by their places among these. */
struct found {
    int count;
    int16_t token[CHUNK];
};

/* One for each of the block's rows. No template: gcc keeps a template's variables out of the
 * section in which the simulated device watches shared memory. */
static __device__ __forceinline__ found *room_for_rows() {
    __shared__ found room[ROWS];
    return room;
}

/* The ids of these tokens, fetched by the block at once; behind the last one there is no row. */
static constexpr int32_t NO_ROW = -1;

static __device__ __forceinline__ int32_t *room_for_ids() {
    __shared__ int32_t room[CHUNK];
    return room;
}

static __device__ __forceinline__ void fetch(const int32_t *ids, int64_t tokens, int32_t *to) {
#pragma unroll
    for (int i = (int)threadIdx.x; i < CHUNK; i += THREADS)
        to[i] = i < tokens ? ids[i] : NO_ROW;
}

/* One warp. */
static __device__ __forceinline__ void search(const int32_t *ids, int64_t row, found &to) {
    const int lane = (int)threadIdx.x % WARP;
    int count = 0;
#pragma unroll 8
    for (int first = 0; first < CHUNK; first += WARP) {
        const int i = first + lane;
        const bool hit = ids[i] == row;
        const unsigned hits = __ballot_sync(0xffffffffu, hit);
        if (hit)
            to.token[count + __popc(hits & ((1u << lane) - 1))] = (int16_t)i;
        count += __popc(hits);
    }
    if (lane == 0)
        to.count = count;
}

/* The block's rows begin at `first`; dy at this chunk's tokens and this thread's columns. */
template <typename T>
static __device__ __forceinline__ void add_tokens(const found *list, const place &at,
                                                  const rows<const T> &dy, int64_t left, bool packs,
                                                  acc_t<T> (*sum)[pack<T>::size]) {
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        const int row = at.lane + k * at.lanes;
        if (row >= ROWS)
            break;
#pragma unroll 4
        for (int e = 0; e < list[row].count; ++e) {
            const pack<T> p = load_pack(dy.data + list[row].token[e] * dy.stride, left, packs);
            for (int v = 0; v < pack<T>::size; ++v)
                sum[k][v] += widen(p.v[v]);
        }
    }
}

template <typename T>
static __device__ __forceinline__ void store_sums(const rows<T> &to, int64_t first, const sizes &s,
                                                  const place &at, bool packs,
                                                  const acc_t<T> (*sum)[pack<T>::size]) {
#pragma unroll
    for (int k = 0; k < ROWS; ++k) {
        const int64_t row = first + at.lane + k * at.lanes;
        if (at.lane + k * at.lanes >= ROWS || row >= s.v || at.column >= s.d)
            break;
        pack<T> p;
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = narrow<T>(sum[k][v]);
        store_pack(to.data + row * to.stride + at.column, p, s.d - at.column, packs);
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    grad_table(const int32_t *ids, rows<const T> dy, rows<T> dtable, sizes s, cut c, bool dy_packs,
               bool dtable_packs) {
    found *list = room_for_rows();
    int32_t *chunk = room_for_ids();
    const place at = place_in<T>(c);
    const int64_t first = (int64_t)blockIdx.x / c.strips * ROWS, left = s.d - at.column;
    acc_t<T> sum[ROWS][pack<T>::size] = {};
    for (int64_t i = 0; i < s.t; i += CHUNK) {
        fetch(ids + i, s.t - i, chunk);
        __syncthreads();
        search(chunk, first + threadIdx.x / WARP, list[threadIdx.x / WARP]);
        __syncthreads();
        if (left > 0)
            add_tokens<T>(list, at, {dy.data + i * dy.stride + at.column, dy.stride}, left,
                          dy_packs, sum);
    }
    store_sums<T>(dtable, first, s, at, dtable_packs, sum);
}

/* Blocks for `rows`, `per_block` each, in whole strips: memory holds no table for which these are
 * more than a grid may have, 2^31. */
static dim3 grid_for(int64_t rows, int64_t per_block, const cut &c) {
    return whole_grid(ceil_div(rows, per_block) * c.strips);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const sizes s = sizes_of(call);
    const cut c = cut_for<T>(s.d);
    return ASSAY_LAUNCH(call->stream, grid_for(s.t, THREADS / c.columns, c), dim3(THREADS), 0,
                        (gather<T>), ids_of(call), rows_of<const T>(&call->in[1]),
                        rows_of<T>(&call->out[0]), s, c, takes_packs(&call->in[1]),
                        takes_packs(&call->out[0]));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const sizes s = sizes_of(call);
    const cut c = cut_for<T>(s.d);
    return ASSAY_LAUNCH(call->stream, grid_for(s.v, ROWS, c), dim3(THREADS), 0, (grad_table<T>),
                        ids_of(call), rows_of<const T>(&call->in[DY]), rows_of<T>(&call->out[0]), s,
                        c, takes_packs(&call->in[DY]), takes_packs(&call->out[0]));
}

static assay_status forward(const assay_call *call) {
    return EMBEDDING_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return EMBEDDING_DISPATCH(run_backward, call);
}

static const int32_t tiles[] = {CHUNK, THREADS, ROWS, 0};

ASSAY_VARIANT(embedding, v3) = {
    .op = "embedding",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: 16 bytes at a time; each warp finds the tokens of one row of dtable",
    .tiles = tiles,
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
