/*
 * weighted_sum v3, fused: memory is touched once.
 *
 * Forward: a group of lanes (1 to 32, or a whole block) takes one row; a lane has four packs of 16
 * bytes of x and w under way and keeps as many partial sums in registers as a pack has elements;
 * lanes are then summed by shuffles. Backward: a thread keeps the w of its 16-byte wide columns and
 * their part of dw in registers. It walks down a chunk of rows, four packs of x under way at once,
 * and then writes their dx: memory that reads and then writes is faster than memory that does both
 * by turns. Chunks leave partial sums of dw in the workspace, which a second kernel sums in a fixed
 * order; up to 1024 rows are one chunk, of narrow columns, and one launch. Of large x the first
 * kernel only reads, and the second one writes all of dx behind the sums: then memory never turns,
 * and many small blocks, soon gone, write rows that lie side by side.
 *
 * f32, H100, cold, the step before, with two packs under way, x and dx by turns and two launches,
 * and now: 65536 rows of 8192, 685 and 683 us forward, 1535 and 1405 backward, where a copy of as
 * many bytes takes 712 and 1415; 4096 rows of 4096, 34.1 and 27.8 us, 64.5 and 56.1; 64 rows of 128
 * backward, 8.4 and 5.1 us. H200, rows that their lanes hold, by the kernel of all rows and by one
 * of their own, for which every block is there at once: 1024 rows of 2048, 9.9 and 8.9 us; 1024 of
 * 1024, 9.4 and 7.7; 4096 of 512, 9.3 and 9.0; 256 of 512, 6.2 and 5.95; 64 of 128, 5.8 and 5.5.
 * H200, backward, x and dx in turns of two waves of blocks, in one wave, and dx behind all of x:
 * 65536 rows of 8192, 1048, 1016 and 959 us (a copy 1007); 1048576 of 128, 301, 304 and 276 (258);
 * 16384 of 4096, 150, 143 and 138 (130); 4096 of 4096, 45.9, 44.5 and 44.5 (37.6).
 *
 * Against v2: dx and dw share one pass. Bytes: x once forward; x and dx once backward, plus the
 * partial sums, one row of them for at least 16 of x. Flops: as v1.
 *
 * Every sum has one order, given by the shape and how many multiprocessors there are: an address
 * that does not allow 16-byte accesses changes how elements are fetched, not which lane adds them.
 */
#include "kernels/common/pack.h"
#include "kernels/common/partials.h"
#include "kernels/common/stream.h"
#include "kernels/weighted_sum/rows.h"

enum { THREADS = 256, WARP = 32, FETCHED = 4 };
/* Where lanes hold a row: a warp or less, in blocks of that many threads, or a whole block. */
enum { WARP_ROWS_THREADS = 128, BLOCK_HELD = 2, HELD_BLOCKS = 8 };

/* Of x up to some times the cache, load_once saves more than it costs: 34 us without and 28 with it
 * at 4096 x 4096 f32, 683 and 703 at 65536 x 8192. */
static constexpr int64_t ONCE_BYTES = INT64_C(1) << 28;

template <typename T>
static __device__ __forceinline__ void add_products(const pack<T> &a, const pack<T> &b,
                                                    acc_t<T> (&sum)[pack<T>::size]) {
    for (int v = 0; v < pack<T>::size; ++v)
        sum[v] = fma_(widen(a.v[v]), widen(b.v[v]), sum[v]);
}

template <typename T>
static __device__ __forceinline__ acc_t<T> sum_pack(acc_t<T> (&sum)[pack<T>::size]) {
    for (int half = pack<T>::size / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v)
            sum[v] += sum[v + half];
    return sum[0];
}

/* Lane `lane`'s part of the sum over a row. Packs are fetched four at a time, so that their
 * latencies overlap. WHOLE, ONCE: as load_part has them. */
template <typename T, bool WHOLE, bool ONCE>
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
            a[f] = load_part<WHOLE, ONCE>(x + at, d - at, x_packs, narrow<T>(0));
            b[f] = load_part<WHOLE, false>(w + at, d - at, w_packs, narrow<T>(0));
        }
        keep_packed(a);
        keep_packed(b);
#pragma unroll
        for (int f = 0; f < FETCHED; ++f)
            add_products(a[f], b[f], sum);
    }
    return sum_pack<T>(sum);
}

/* The sum over each group of `lanes` consecutive threads; every one of them gets it. `lanes` is a
 * power of two up to a warp, or the whole block; all threads of the block must come here, and to a
 * barrier before they do again. */
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
    return sum;
}

/* Four blocks of a multiprocessor: without a number, ptxas puts loads where they are used. */
template <typename T, bool WHOLE, bool ONCE>
static __global__ void __launch_bounds__(THREADS, 4)
    sum_rows(const T *x, int64_t x_stride, const T *w, T *y, spread places, int64_t rows, int64_t d,
             int lanes, bool x_packs, bool w_packs) {
    const int groups = THREADS / lanes, lane = (int)threadIdx.x % lanes;
    const int64_t step = (int64_t)gridDim.x * groups;
    for (int64_t first = (int64_t)blockIdx.x * groups; first < rows; first += step) {
        const int64_t row = first + threadIdx.x / lanes;
        acc_t<T> sum = 0;
        if (row < rows)
            sum = partial_sum<T, WHOLE, ONCE>(x + row * x_stride, w, d, lane, lanes, x_packs,
                                              w_packs);
        sum = sum_lanes(sum, lanes);
        if (row < rows && lane == 0)
            y[place(places, row)] = narrow<T>(sum);
        if (lanes > WARP)
            __syncthreads();
    }
}

/* The same of rows that their lanes hold, HELD whole packs each, with the row in its place: every
 * load begins at once, and there is little code, which a call finds in no cache. */
template <typename T, int HELD, int N>
static __global__ void __launch_bounds__(N, HELD_BLOCKS)
    sum_held_rows(const T *x, int64_t x_stride, const T *w, T *y, int64_t rows, int d,
                  int lane_bits) {
    constexpr int V = pack<T>::size;
    const int lanes = 1 << lane_bits, lane = (int)threadIdx.x & (lanes - 1);
    const int64_t row = (int64_t)blockIdx.x * (N >> lane_bits) + (threadIdx.x >> lane_bits);
    acc_t<T> sum[V] = {};
    if (row < rows) {
        pack<T> a[HELD], b[HELD];
#pragma unroll
        for (int f = 0; f < HELD; ++f) {
            const int at = (lane + f * lanes) * V;
            a[f] = load_part<true, true>(x + row * x_stride + at, d - at, true, narrow<T>(0));
            b[f] = load_part<true, false>(w + at, d - at, true, narrow<T>(0));
        }
        keep_packed(a);
        keep_packed(b);
#pragma unroll
        for (int f = 0; f < HELD; ++f)
            add_products(a[f], b[f], sum);
    }
    const acc_t<T> all = sum_lanes(sum_pack<T>(sum), lanes);
    if (row < rows && lane == 0)
        y[row] = narrow<T>(all);
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
enum { SINGLE_ROWS = 1024, SINGLE_COLUMNS = 4, GRAD_ROWS = 4 };
enum { BLOCKS_WANTED = 528, BLOCKS_NEEDED = 264, MOST_ROWS = 16, FEWEST_ROWS = 2 };

template <typename T> static cut cut_for(int64_t rows, int64_t d) {
    cut c = {1, 0, 0, 0};
    if (rows <= SINGLE_ROWS) {
        while (c.columns < SINGLE_COLUMNS && c.columns * pack<T>::size < d)
            c.columns *= 2;
        c.strips = ceil_div(d, (int64_t)c.columns * pack<T>::size);
        c.chunks = 1;
        c.rows_per_chunk = rows;
        return c;
    }
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

/* to[e] = the sum of `part` over the threads whose e-th of the block's elements it is, row lane 0
 * first, for e < left. */
template <typename T, typename O>
static __device__ __forceinline__ void sum_parts(const acc_t<T> (&part)[pack<T>::size], int columns,
                                                 int64_t left, O *to) {
    constexpr int V = pack<T>::size;
    /* Between the parts of a thread a gap, so that those who add them meet in few banks. */
    constexpr int STEP = THREADS + 4;
    __shared__ acc_t<T> all[STEP * V];
    for (int v = 0; v < V; ++v)
        all[v * STEP + threadIdx.x] = part[v];
    __syncthreads();
    for (int e = (int)threadIdx.x; e < columns * V && e < left; e += THREADS) {
        const acc_t<T> *const own = all + e % V * STEP + e / V;
        acc_t<T> sum = own[0];
#pragma unroll 8
        for (int t = columns; t < THREADS; t += columns)
            sum += own[t];
        if constexpr (sizeof(O) == sizeof(acc_t<T>))
            to[e] = sum;
        else
            to[e] = narrow<T>(sum);
    }
}

/* dx = dy w of the thread's pack of columns `weight`, of rows row, row + step ... before `end`;
 * `to` is the first one's pack. */
template <typename T>
static __device__ __forceinline__ void
spread_pack(const pack<T> &weight, const T *dy, spread places, T *to, int64_t dx_stride,
            int64_t row, int64_t end, int64_t step, int64_t left, bool packs) {
#pragma unroll 4
    for (; row < end; row += step, to += step * dx_stride) {
        const acc_t<T> g = widen(dy[place(places, row)]);
        acc_t<T> b[pack<T>::size];
        for (int v = 0; v < pack<T>::size; ++v)
            b[v] = g * widen(weight.v[v]);
        store_pack(to, narrow_pack<T>(b), left, packs);
    }
}

/* Adds the rows' parts of dw, of the thread's pack of columns: rows row, row + step ... before
 * `end`; `from` is the first one's pack. */
template <typename T>
static __device__ __forceinline__ void
add_rows(const T *from, int64_t x_stride, const T *dy, spread places, int64_t row, int64_t end,
         int64_t step, int64_t left, bool packs, acc_t<T> (&sum)[pack<T>::size]) {
    constexpr int V = pack<T>::size;
    if (places.length == places.stride)
        for (; row + (GRAD_ROWS - 1) * step < end; row += GRAD_ROWS * step) {
            pack<T> a[GRAD_ROWS];
            acc_t<T> g[GRAD_ROWS];
            /* One branch for all loads: one behind each would wait for the load before. */
            if (packs && left >= V) {
#pragma unroll
                for (int k = 0; k < GRAD_ROWS; ++k) {
                    const T *const of_row = from + k * step * x_stride;
                    a[k] = load_part<true, false>(of_row, V, true, narrow<T>(0));
                }
            } else {
                for (int k = 0; k < GRAD_ROWS; ++k)
                    a[k] = load_pack(from + k * step * x_stride, left, false);
            }
#pragma unroll
            for (int k = 0; k < GRAD_ROWS; ++k)
                g[k] = widen(dy[row + k * step]);
            keep_packed(a);
            from += GRAD_ROWS * step * x_stride;
#pragma unroll
            for (int k = 0; k < GRAD_ROWS; ++k)
                for (int v = 0; v < V; ++v)
                    sum[v] = fma_(g[k], widen(a[k].v[v]), sum[v]);
        }
    for (; row < end; row += step, from += step * x_stride) {
        const pack<T> a = load_pack(from, left, packs);
        const acc_t<T> g = widen(dy[place(places, row)]);
        for (int v = 0; v < V; ++v)
            sum[v] = fma_(g, widen(a.v[v]), sum[v]);
    }
}

/* Partial sums of dw go to `partial`, or, of a single chunk, dw to `dw`. SPREAD: and dx. */
template <typename T, bool SPREAD>
static __global__ void __launch_bounds__(THREADS, sizeof(T) > 2 ? 4 : 2)
    grad_rows(const T *x, int64_t x_stride, const T *w, const T *dy, spread places, T *dx,
              int64_t dx_stride, acc_t<T> *partial, T *dw, int64_t rows, int64_t d, cut c,
              bool x_packs, bool dx_packs) {
    constexpr int V = pack<T>::size;
    const int64_t chunk = blockIdx.x / c.strips;
    const int64_t first = blockIdx.x % c.strips * c.columns * V;
    const int64_t j = first + threadIdx.x % c.columns * V, left = d - j;
    const int64_t begin = chunk * c.rows_per_chunk, step = THREADS / c.columns;
    const int64_t end = begin + c.rows_per_chunk < rows ? begin + c.rows_per_chunk : rows;
    const int64_t row = begin + threadIdx.x / c.columns;
    acc_t<T> sum[V] = {};
    if (left > 0) {
        add_rows(x + row * x_stride + j, x_stride, dy, places, row, end, step, left, x_packs, sum);
        /* Memory reads, then writes: turning from one to the other costs it time. */
        if constexpr (SPREAD)
            spread_pack(load_pack(w + j, left, false), dy, places, dx + row * dx_stride + j,
                        dx_stride, row, end, step, left, dx_packs);
    }
    if (dw != NULL)
        sum_parts<T>(sum, c.columns, d - first, dw + first);
    else
        sum_parts<T>(sum, c.columns, d - first, partial + chunk * d + first);
}

enum { SPREAD_ROWS = 4 };

/* dx of large x, when all of it has been read. The first blocks add up the partial sums of
 * PARTIALS_WIDTH columns each; those behind them write SPREAD_ROWS rows a thread and are gone, so
 * that all blocks that are there write side by side. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    spread_rows(const acc_t<T> *partial, T *dw, const T *w, const T *dy, spread places, T *dx,
                int64_t dx_stride, int64_t rows, int64_t d, cut c, bool w_packs, bool dx_packs) {
    add_partials<T>(partial, c.chunks, d, dw, d, d);
    const int64_t block = blockIdx.x - ceil_div(d, PARTIALS_WIDTH);
    if (block < 0)
        return;
    const int thread = (int)(threadIdx.y * PARTIALS_WIDTH + threadIdx.x);
    const int64_t step = THREADS / c.columns, begin = block / c.strips * (step * SPREAD_ROWS);
    const int64_t end = begin + step * SPREAD_ROWS < rows ? begin + step * SPREAD_ROWS : rows;
    const int64_t row = begin + thread / c.columns;
    const int64_t j = (block % c.strips * c.columns + thread % c.columns) * pack<T>::size;
    if (j < d)
        spread_pack(load_pack(w + j, d - j, w_packs), dy, places, dx + row * dx_stride + j,
                    dx_stride, row, end, step, d - j, dx_packs);
}

template <typename T, bool WHOLE, bool ONCE>
static assay_status launch_rows(const assay_call *call, const tensors &t) {
    const int lanes = lanes_for<T>(t.d);
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS / lanes), dim3(THREADS), 0,
                        (sum_rows<T, WHOLE, ONCE>), data_of<const T>(t.x),
                        assay_tensor_row_stride(t.x), data_of<const T>(t.w), data_of<T>(t.y),
                        spread_of(t.y), t.rows, t.d, lanes, takes_packs(t.x),
                        (uintptr_t)t.w->data % PACK_BYTES == 0);
}

template <typename T, int HELD, int N>
static assay_status launch_held_rows(const assay_call *call, const tensors &t) {
    int lane_bits = 0;
    while (1 << lane_bits < lanes_for<T>(t.d))
        ++lane_bits;
    return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(t.rows, N >> lane_bits)), dim3(N), 0,
                        (sum_held_rows<T, HELD, N>), data_of<const T>(t.x),
                        assay_tensor_row_stride(t.x), data_of<const T>(t.w), data_of<T>(t.y),
                        t.rows, (int)t.d, lane_bits);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const bool aligned = takes_packs(t.x) && (uintptr_t)t.w->data % PACK_BYTES == 0;
    if (!aligned || t.d % pack<T>::size != 0)
        return launch_rows<T, false, false>(call, t);
    if (t.rows * t.d > ONCE_BYTES / (int64_t)sizeof(T))
        return launch_rows<T, true, false>(call, t);
    const int64_t packs = t.d / pack<T>::size;
    const spread places = spread_of(t.y);
    if (places.length != places.stride || packs > (int64_t)BLOCK_HELD * THREADS)
        return launch_rows<T, true, true>(call, t);
    return packs <= FETCHED * WARP ? launch_held_rows<T, FETCHED, WARP_ROWS_THREADS>(call, t)
                                   : launch_held_rows<T, BLOCK_HELD, THREADS>(call, t);
}

/* Bytes of x for each multiprocessor beyond which all of x is read before dx is written. */
static constexpr int64_t APART_BYTES = INT64_C(1) << 19;

template <typename T, bool SPREAD>
static assay_status launch_grad(const assay_call *call, const tensors &t, const cut &c) {
    return ASSAY_LAUNCH(call->stream, dim3((unsigned)(c.strips * c.chunks)), dim3(THREADS), 0,
                        (grad_rows<T, SPREAD>), data_of<const T>(t.x), assay_tensor_row_stride(t.x),
                        data_of<const T>(t.w), data_of<const T>(t.dy), spread_of(t.dy),
                        data_of<T>(t.dx), assay_tensor_row_stride(t.dx),
                        static_cast<acc_t<T> *>(call->workspace),
                        c.chunks == 1 ? data_of<T>(t.dw) : NULL, t.rows, t.d, c, takes_packs(t.x),
                        takes_packs(t.dx));
}

/* Memory holds less x than for which these would be more blocks than a grid may have. */
template <typename T>
static assay_status launch_spread(const assay_call *call, const tensors &t, const cut &c) {
    const int64_t parts = ceil_div(t.rows, (int64_t)THREADS / c.columns * SPREAD_ROWS);
    return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(t.d, PARTIALS_WIDTH) + c.strips * parts),
                        dim3(PARTIALS_WIDTH, PARTIALS_LANES), 0, (spread_rows<T>),
                        static_cast<const acc_t<T> *>(call->workspace), data_of<T>(t.dw),
                        data_of<const T>(t.w), data_of<const T>(t.dy), spread_of(t.dy),
                        data_of<T>(t.dx), assay_tensor_row_stride(t.dx), t.rows, t.d, c,
                        (uintptr_t)t.w->data % PACK_BYTES == 0, takes_packs(t.dx));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const cut c = cut_for<T>(t.rows, t.d);
    const int64_t bytes = t.rows * t.d * (int64_t)sizeof(T);
    const bool apart = c.chunks > 1 && bytes > APART_BYTES * ASSAY_MULTIPROCESSORS;
    const assay_status status =
        apart ? launch_grad<T, false>(call, t, c) : launch_grad<T, true>(call, t, c);
    if (status != ASSAY_OK || c.chunks == 1)
        return status;
    if (apart)
        return launch_spread<T>(call, t, c);
    return launch_sum_partials<T>(call->stream, static_cast<const acc_t<T> *>(call->workspace),
                                  c.chunks, t.d, data_of<T>(t.dw), t.d, t.d);
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
    .summary = "fused: x read once, 16 bytes at a time; dx and dw in one pass or two",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
