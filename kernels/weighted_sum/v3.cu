/*
 * weighted_sum v3, fused: memory is touched once.
 *
 * Forward: a group of lanes (1 to 32, or a whole block) takes one row; a lane reads 16 bytes at a
 * time and keeps as many partial sums in registers as that has elements; lanes are then summed by
 * shuffles. Backward: a thread keeps the w of its 16-byte wide columns and their part of dw in
 * registers and walks down a chunk of rows, reading x and writing dx as it goes; chunks leave
 * partial sums of dw in the workspace, which a second kernel sums in a fixed order.
 *
 * Against v2: dx and dw share one pass. Bytes: x once forward; x and dx once backward, plus the
 * partial sums, one row of them for at least 16 of x (2 where x is small). Flops: as v1.
 *
 * Every sum has one order, given by the shape alone: an address that does not allow 16-byte
 * accesses changes how elements are fetched, not which lane adds them.
 */
#include "kernels/common/pack.h"
#include "kernels/common/partials.h"
#include "kernels/weighted_sum/rows.h"

enum { THREADS = 256, WARP = 32, FETCHED = 4 };

/* The pack at `from`, of which `left` elements exist; the others are 0. WHOLE: either all of it
 * exists, at an address where a pack may lie, or nothing. */
template <typename T, bool WHOLE>
static __device__ __forceinline__ pack<T> fetch(const T *from, int64_t left, bool aligned) {
    if constexpr (WHOLE) {
        pack<T> p;
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = narrow<T>(0);
        if (left > 0)
            p = load_whole(reinterpret_cast<const pack<T> *>(from));
        return p;
    } else {
        return load_pack(from, left, aligned);
    }
}

/* Lane `lane`'s part of the sum over a row. Packs are fetched four at a time, so that their
 * latencies overlap. */
template <typename T, bool WHOLE>
static __device__ __forceinline__ acc_t<T> partial_sum(const T *x, const T *w, int64_t d, int lane,
                                                       int lanes, bool x_packs, bool w_packs) {
    constexpr int V = pack<T>::size;
    const int64_t step = (int64_t)lanes * V;
    acc_t<T> sum[V] = {};
    for (int64_t j = (int64_t)lane * V; j < d; j += FETCHED * step) {
        pack<T> a[FETCHED], b[FETCHED];
#pragma unroll
        for (int f = 0; f < FETCHED; ++f) {
            const int64_t at = j + f * step;
            a[f] = fetch<T, WHOLE>(x + at, d - at, x_packs);
            b[f] = fetch<T, WHOLE>(w + at, d - at, w_packs);
        }
#pragma unroll
        for (int f = 0; f < FETCHED; ++f)
            for (int v = 0; v < V; ++v)
                sum[v] = fma_(widen(a[f].v[v]), widen(b[f].v[v]), sum[v]);
    }
    for (int half = V / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v)
            sum[v] += sum[v + half];
    return sum[0];
}

/* The sum over each group of `lanes` consecutive threads; every one of them gets it. `lanes` is a
 * power of two up to a warp, or the whole block; all threads of the block must come here. */
template <typename A> static __device__ __forceinline__ A sum_lanes(A sum, int lanes) {
    for (int offset = (lanes < WARP ? lanes : WARP) / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lanes <= WARP)
        return sum;
    __shared__ A warps[THREADS / WARP];
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = warps[0];
    for (int i = 1; i < THREADS / WARP; ++i)
        sum += warps[i];
    __syncthreads();
    return sum;
}

template <typename T, bool WHOLE>
static __global__ void sum_rows(const T *x, int64_t x_stride, const T *w, T *y, spread places,
                                int64_t rows, int64_t d, int lanes, bool x_packs, bool w_packs) {
    const int groups = THREADS / lanes, lane = (int)threadIdx.x % lanes;
    const int64_t step = (int64_t)gridDim.x * groups;
    for (int64_t first = (int64_t)blockIdx.x * groups; first < rows; first += step) {
        const int64_t row = first + threadIdx.x / lanes;
        acc_t<T> sum = 0;
        if (row < rows)
            sum = partial_sum<T, WHOLE>(x + row * x_stride, w, d, lane, lanes, x_packs, w_packs);
        sum = sum_lanes(sum, lanes);
        if (row < rows && lane == 0)
            y[place(places, row)] = narrow<T>(sum);
    }
}

/* Lanes for one row of d elements: one pack each if a warp suffices, and the whole block when a
 * warp would fetch more than once. */
template <typename T> static int lanes_for(int64_t d) {
    const int64_t packs = ceil_div(d, pack<T>::size);
    if (packs > FETCHED * WARP)
        return THREADS;
    int lanes = 1;
    while (lanes < WARP && lanes < packs)
        lanes *= 2;
    return lanes;
}

/* How dx and dw are cut: blocks of `columns` threads along d by `THREADS / columns` rows. */
struct cut {
    int columns;
    int64_t strips; /* blocks along d */
    int64_t chunks; /* blocks along the rows, each with its own partial dw */
    int64_t rows_per_chunk;
};

/* A thread takes 16 rows, so that partial sums are few; fewer, but at least 2, where blocks would
 * not fill the device. */
enum { BLOCKS_WANTED = 1056, BLOCKS_NEEDED = 264, MOST_ROWS = 16, FEWEST_ROWS = 2 };

template <typename T> static cut cut_for(int64_t rows, int64_t d) {
    cut c = {1, 0, 0, 0};
    while (c.columns < THREADS && c.columns * pack<T>::size < d)
        c.columns *= 2;
    c.strips = ceil_div(d, (int64_t)c.columns * pack<T>::size);
    const int64_t lanes = THREADS / c.columns;
    const int64_t each = clamp(rows * c.strips / (lanes * BLOCKS_NEEDED), FEWEST_ROWS, MOST_ROWS);
    const int64_t most = clamp(ceil_div(rows, lanes * each), 1, BLOCKS_WANTED);
    c.rows_per_chunk =
        ceil_div(rows, clamp(BLOCKS_WANTED / (c.strips > 0 ? c.strips : 1), 1, most));
    c.chunks = c.rows_per_chunk > 0 ? ceil_div(rows, c.rows_per_chunk) : 1;
    return c;
}

/* Sums `part` over the threads of equal column, row lane 0 first, and writes row lane 0's result.
 */
template <typename T>
static __device__ __forceinline__ void write_partial(const acc_t<T> *part, int columns,
                                                     int64_t left, acc_t<T> *to) {
    constexpr int V = pack<T>::size;
    __shared__ acc_t<T> all[THREADS * V];
    for (int v = 0; v < V; ++v)
        all[v * THREADS + threadIdx.x] = part[v]; /* each lane of a warp its own bank */
    __syncthreads();
    if ((int)threadIdx.x >= columns)
        return;
    for (int v = 0; v < V && v < left; ++v) {
        acc_t<T> sum = part[v];
        for (int t = (int)threadIdx.x + columns; t < THREADS; t += columns)
            sum += all[v * THREADS + t];
        to[v] = sum;
    }
}

template <typename T>
static __global__ void grad_rows(const T *x, int64_t x_stride, const T *w, const T *dy,
                                 spread places, T *dx, int64_t dx_stride, acc_t<T> *partial,
                                 int64_t rows, int64_t d, cut c, bool x_packs, bool dx_packs) {
    constexpr int V = pack<T>::size;
    const int64_t strip = blockIdx.x % c.strips, chunk = blockIdx.x / c.strips;
    const int64_t j = (strip * c.columns + threadIdx.x % c.columns) * V, left = d - j;
    const int64_t begin = chunk * c.rows_per_chunk;
    const int64_t end = begin + c.rows_per_chunk < rows ? begin + c.rows_per_chunk : rows;
    acc_t<T> sum[V] = {};
    if (left > 0) {
        const pack<T> weight = load_pack(w + j, left, false);
#pragma unroll 4
        for (int64_t row = begin + threadIdx.x / c.columns; row < end; row += THREADS / c.columns) {
            const acc_t<T> g = widen(dy[place(places, row)]);
            const pack<T> a = load_pack(x + row * x_stride + j, left, x_packs);
            pack<T> b;
            for (int v = 0; v < V; ++v) {
                sum[v] = fma_(g, widen(a.v[v]), sum[v]);
                b.v[v] = narrow<T>(g * widen(weight.v[v]));
            }
            store_pack(dx + row * dx_stride + j, b, left, dx_packs);
        }
    }
    write_partial<T>(sum, c.columns, left, partial + chunk * d + j);
}

template <typename T, bool WHOLE> static assay_status launch_rows(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const int lanes = lanes_for<T>(t.d);
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS / lanes), dim3(THREADS), 0,
                        (sum_rows<T, WHOLE>), data_of<const T>(t.x), assay_tensor_row_stride(t.x),
                        data_of<const T>(t.w), data_of<T>(t.y), spread_of(t.y), t.rows, t.d, lanes,
                        takes_packs(t.x), (uintptr_t)t.w->data % PACK_BYTES == 0);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const bool aligned = takes_packs(t.x) && (uintptr_t)t.w->data % PACK_BYTES == 0;
    return aligned && t.d % pack<T>::size == 0 ? launch_rows<T, true>(call)
                                               : launch_rows<T, false>(call);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const cut c = cut_for<T>(t.rows, t.d);
    acc_t<T> *partial = static_cast<acc_t<T> *>(call->workspace);
    const assay_status status = ASSAY_LAUNCH(
        call->stream, dim3((unsigned)(c.strips * c.chunks)), dim3(THREADS), 0, (grad_rows<T>),
        data_of<const T>(t.x), assay_tensor_row_stride(t.x), data_of<const T>(t.w),
        data_of<const T>(t.dy), spread_of(t.dy), data_of<T>(t.dx), assay_tensor_row_stride(t.dx),
        partial, t.rows, t.d, c, takes_packs(t.x), takes_packs(t.dx));
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(call->stream, partial, c.chunks, t.d, data_of<T>(t.dw), t.d, t.d);
}

template <typename T> static size_t partial_bytes(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return (size_t)(cut_for<T>(t.rows, t.d).chunks * t.d) * sizeof(acc_t<T>);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return stage == ASSAY_FORWARD ? 0 : WEIGHTED_SUM_DISPATCH(partial_bytes, call);
}

static assay_status forward(const assay_call *call) {
    return WEIGHTED_SUM_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return WEIGHTED_SUM_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(weighted_sum, v3) = {
    .op = "weighted_sum",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: x read once, 16 bytes at a time; dx and dw in one pass",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
