/*
 * embedding v3, fused: rows move 16 bytes at a time; dtable is a sum without atomics.
 *
 * A block has columns by lanes of threads: a thread has one pack of columns of several rows, lanes
 * have different rows. Forward copies a row for each token, and starts all of a thread's loads
 * before it stores the first. Backward of up to 8192 tokens, in whole packs, is one launch
 * (v3_few.h). Otherwise it first sorts the tokens by their rows (v3_order.h), then each thread adds
 * the dy of its rows' tokens, eight loads at a time, and stores; most rows have no token and are
 * zeros. Where tokens are few, other blocks write zeros to all rows while these sort, and then only
 * rows that have a token are looked at, by the places of the order. A row of more than SHORT tokens
 * is left for the end, when all lanes of the block add parts of it, one behind the other, and the
 * first lane adds the parts. Both ways have the same order of sums.
 *
 * Against v1: backward finds the tokens of 256 rows by reading the ids twice, not once for each
 * element. Bytes: forward t d elements read and written; backward dy read once, dtable written
 * once, and the ids (v / 128) times, 4 t bytes each from the L2 cache: a hundredth of dtable at
 * t = 4096, d = 2560 in bf16. Flops: t d additions backward.
 *
 * The steps before, bf16, cold, H100, backward. Without a workspace each warp searched all ids for
 * its row: t = 4096, v = 50304, d = 2560 took 538 us, where memory alone takes 86 (and forward,
 * with idle threads where d is no multiple of 256 packs, 21.3; 20.4 now). With the sort and one
 * lane for each row it took 116, and 331 where v = 10000, d = 768 and the tokens are letters of a
 * text. With all lanes for a long row these take 125 and 43. On an H200, before zeros were written
 * beside the sort, and now: t = 4096, v = 50304, d = 768, f32, 70.5 and 57.8 us, d = 2560, bf16,
 * 118 and 88; v = 10000, d = 768, bf16, 24.6 and 20.7; v = 40, where rows were few blocks, 109
 * and 38. In one launch the first of these takes 51.7 (bench/results/2026-11-28.md).
 */
#include "kernels/common/pack.h"
#include "kernels/embedding/v3_few.h"

enum { THREADS = 256, GATHER_ROWS = 2, SUM_ROWS = 4, BATCH = 8 };

/* Of backward: the most threads along d in a block, and, for each multiprocessor, the rows that are
 * blocks enough. */
enum { SUM_COLUMNS = 128, BLOCK_ROWS = 16 };

/* What memory writes while tokens are sorted. */
static constexpr int64_t TWICE_BYTES = INT64_C(24) << 20;

/* Blocks of `columns` threads along d by THREADS / columns rows at a time. */
struct cut {
    int columns;
    int64_t strips; /* blocks along d */
};

/* With the fewest threads that have no column, `most` or fewer; half a warp or less only where a
 * row is as short. */
template <typename T> static cut cut_for(int64_t d, int most) {
    const int64_t packs = d > 0 ? ceil_div(d, pack<T>::size) : 1;
    int best = most;
    for (int columns = most / 2; columns >= WARP || columns >= packs; columns /= 2)
        if (ceil_div(packs, columns) * columns < ceil_div(packs, best) * best)
            best = columns;
    return {best, ceil_div(packs, best)};
}

/* This thread's first column and first row; its rows are `lanes` apart. */
struct place {
    int64_t column, row;
    int lanes;
};

template <typename T>
static __device__ __forceinline__ place place_in(const cut &c, int rows_per_thread) {
    const int64_t strip = blockIdx.x % c.strips, group = blockIdx.x / c.strips;
    const int lanes = THREADS / c.columns;
    return {(strip * c.columns + threadIdx.x % c.columns) * pack<T>::size,
            group * lanes * rows_per_thread + (int)threadIdx.x / c.columns, lanes};
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    gather(const int32_t *ids, rows<const T> table, rows<T> y, sizes s, cut c, bool table_packs,
           bool y_packs) {
    const place at = place_in<T>(c, GATHER_ROWS);
    const int64_t left = s.d - at.column;
    if (at.row >= s.t || left <= 0)
        return;
    const T *from[GATHER_ROWS];
    pack<T> held[GATHER_ROWS];
    /* Behind the last token, that one again: no load stands behind a branch. */
#pragma unroll
    for (int k = 0; k < GATHER_ROWS; ++k) {
        const int64_t i = clamp(at.row + k * at.lanes, 0, s.t - 1);
        from[k] = table.data + ids[i] * table.stride + at.column;
    }
    const bool whole = table_packs && left >= pack<T>::size;
#pragma unroll
    for (int k = 0; whole && k < GATHER_ROWS; ++k)
        held[k] = load_whole(reinterpret_cast<const pack<T> *>(from[k]));
#pragma unroll
    for (int k = 0; !whole && k < GATHER_ROWS; ++k)
        held[k] = load_pack(from[k], left, false);
#pragma unroll
    for (int k = 0; k < GATHER_ROWS; ++k) {
        const int64_t i = at.row + k * at.lanes;
        if (i < s.t)
            store_pack(y.data + i * y.stride + at.column, held[k], left, y_packs);
    }
}

template <typename T>
static __device__ __forceinline__ void add(acc_t<T> (&sum)[pack<T>::size], const pack<T> &p) {
    for (int v = 0; v < pack<T>::size; ++v)
        sum[v] += widen(p.v[v]);
}

/* Adds dy of the tokens from `order` to `end`, in that order; `dy` begins at the thread's column.
 */
template <typename T>
static __device__ __forceinline__ void add_tokens(const int32_t *order, const int32_t *end,
                                                  const rows<const T> &dy, int64_t left, bool packs,
                                                  acc_t<T> (&sum)[pack<T>::size]) {
    if (packs && left >= pack<T>::size)
        for (; end - order >= BATCH; order += BATCH) {
            pack<T> held[BATCH];
#pragma unroll
            for (int b = 0; b < BATCH; ++b)
                held[b] =
                    load_whole(reinterpret_cast<const pack<T> *>(dy.data + order[b] * dy.stride));
#pragma unroll
            for (int b = 0; b < BATCH; ++b)
                add(sum, held[b]);
        }
    for (; order < end; ++order)
        add(sum, load_pack(dy.data + *order * dy.stride, left, packs));
}

/* The tokens of a row, by their places in the order. */
struct run {
    int64_t row;
    int32_t begin, end;
    bool mine; /* whether this one stores the row */

    __device__ __forceinline__ bool is_long() const {
        return mine && end - begin > SHORT;
    }
};

/* What one block adds and where to. */
template <typename T> struct sum_job {
    const int32_t *ids;
    const sorted &tokens;
    const rows<const T> &dy;
    const rows<T> &dtable;
    int64_t left; /* elements from the thread's column on */
    bool dy_packs, dtable_packs;

    /* Of row i; BY_PLACE of the row whose token is at place i, to be stored if it is the first. */
    template <bool BY_PLACE> __device__ __forceinline__ run run_at(int64_t i) const {
        const int64_t row = BY_PLACE ? ids[tokens.order[i]] : i;
        const int32_t begin = tokens.start[row];
        return {row, begin, tokens.start[row + 1], !BY_PLACE || begin == i};
    }
    /* Tokens of the order from `first` on, before `last`. */
    __device__ __forceinline__ void add(int32_t first, int32_t last,
                                        acc_t<T> (&sum)[pack<T>::size]) const {
        if (left > 0)
            add_tokens<T>(tokens.order + first, tokens.order + last, dy, left, dy_packs, sum);
    }
    __device__ __forceinline__ void store(int64_t row, const acc_t<T> (&sum)[pack<T>::size]) const {
        pack<T> p;
        for (int v = 0; v < pack<T>::size; ++v)
            p.v[v] = narrow<T>(sum[v]);
        if (left > 0)
            store_pack(dtable.data + row * dtable.stride, p, left, dtable_packs);
    }
};

/* A row of many tokens, by all of a block: each lane adds a part of them, then the first lane the
 * parts. Call it with all threads. */
template <typename T>
static __device__ __forceinline__ void sum_together(const sum_job<T> &job, const run &r, int lane,
                                                    int lanes) {
    __shared__ acc_t<T> parts[THREADS][pack<T>::size];
    const int64_t part = ceil_div(r.end - r.begin, lanes);
    const int32_t first = (int32_t)clamp(r.begin + lane * part, r.begin, r.end);
    acc_t<T> sum[pack<T>::size] = {};
    job.add(first, (int32_t)clamp(first + part, first, r.end), sum);
    for (int v = 0; v < pack<T>::size; ++v)
        parts[threadIdx.x][v] = sum[v];
    __syncthreads();
    for (int other = 1; lane == 0 && other < lanes; ++other)
        for (int v = 0; v < pack<T>::size; ++v)
            sum[v] += parts[threadIdx.x + other * (THREADS / lanes)][v];
    if (lane == 0)
        job.store(r.row, sum);
    __syncthreads();
}

/* BY_PLACE: rows that have a token alone, found by the t places of the order; otherwise all v. */
template <typename T, bool BY_PLACE>
static __global__ void __launch_bounds__(THREADS)
    sum_tokens(const int32_t *ids, sorted tokens, rows<const T> dy, rows<T> dtable, sizes s, cut c,
               bool dy_packs, bool dtable_packs) {
    const int lanes = THREADS / c.columns, lane = (int)threadIdx.x / c.columns;
    /* The block's rows lie far apart, because frequent tokens, as those of letters, often have ids
     * side by side. */
    const int64_t first = blockIdx.x / c.strips, step = gridDim.x / c.strips;
    const int64_t count = BY_PLACE ? s.t : s.v;
    const int64_t column =
        (blockIdx.x % c.strips * c.columns + threadIdx.x % c.columns) * pack<T>::size;
    const sum_job<T> job = {ids,
                            tokens,
                            {dy.data + column, dy.stride},
                            {dtable.data + column, dtable.stride},
                            s.d - column,
                            dy_packs,
                            dtable_packs};
    run runs[SUM_ROWS];
    bool many = false;
#pragma unroll
    for (int k = 0; k < SUM_ROWS; ++k) {
        const int64_t i = first + (k * lanes + lane) * step;
        runs[k] = job.template run_at<BY_PLACE>(clamp(i, 0, count - 1));
        runs[k].mine = runs[k].mine && i < count;
        many = many || runs[k].is_long();
    }
#pragma unroll
    for (int k = 0; k < SUM_ROWS; ++k) {
        acc_t<T> sum[pack<T>::size] = {};
        if (!runs[k].mine || runs[k].is_long())
            continue;
        job.add(runs[k].begin, runs[k].end, sum);
        job.store(runs[k].row, sum);
    }
    if (!__syncthreads_or(many))
        return;
    for (int64_t i = first; i < count; i += step) {
        const run r = job.template run_at<BY_PLACE>(i);
        if (r.is_long())
            sum_together(job, r, lane, lanes);
    }
}

/* Blocks for `rows`, so many each thread, in whole strips: memory holds no table for which these
 * are more than a grid may have, 2^31. */
static dim3 grid_for(int64_t rows, int rows_per_thread, const cut &c) {
    return whole_grid(ceil_div(rows, THREADS / c.columns * rows_per_thread) * c.strips);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const sizes s = sizes_of(call);
    const cut c = cut_for<T>(s.d, THREADS);
    return ASSAY_LAUNCH(call->stream, grid_for(s.t, GATHER_ROWS, c), dim3(THREADS), 0, (gather<T>),
                        ids_of(call), rows_of<const T>(&call->in[1]), rows_of<T>(&call->out[0]), s,
                        c, takes_packs(&call->in[1]), takes_packs(&call->out[0]));
}

template <typename T, bool BY_PLACE>
static assay_status launch_sums(const assay_call *call, const sorted &tokens) {
    const sizes s = sizes_of(call);
    const cut c = cut_for<T>(s.d, SUM_COLUMNS);
    return ASSAY_LAUNCH(call->stream, grid_for(BY_PLACE ? s.t : s.v, SUM_ROWS, c), dim3(THREADS), 0,
                        (sum_tokens<T, BY_PLACE>), ids_of(call), tokens,
                        rows_of<const T>(&call->in[DY]), rows_of<T>(&call->out[0]), s, c,
                        takes_packs(&call->in[DY]), takes_packs(&call->out[0]));
}

/* Where tokens are few, zeros need not wait for their order: a row that has a token is then written
 * twice, which costs less than the order if that is at most every third row, or so many bytes as
 * memory takes meanwhile. And few rows are few blocks, which places of tokens are not. */
template <typename T> static bool goes_by_place(const sizes &s) {
    const bool few = 3 * s.t <= s.v || (s.t < s.v && s.t * s.d * (int64_t)sizeof(T) <= TWICE_BYTES);
    return few || s.v < BLOCK_ROWS * ASSAY_MULTIPROCESSORS;
}

/* Whether dy of all tokens fits into shared memory, where packs are whole. */
template <typename T> static bool takes_few(const assay_call *call, const sizes &s) {
    const int64_t bytes = s.t * s.d * (int64_t)sizeof(T);
    return s.t <= FEW_TOKENS && bytes <= ASSAY_MULTIPROCESSORS * MOST_WAVES * COPIED_BYTES &&
           s.v > 0 && s.d > 0 && s.d % pack<T>::size == 0 && takes_packs(&call->in[DY]) &&
           takes_packs(&call->out[0]);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const sizes s = sizes_of(call);
    if (takes_few<T>(call, s))
        return launch_few<T>(call->stream, ids_of(call), s, rows_of<const T>(&call->in[DY]),
                             rows_of<T>(&call->out[0]),
                             THREADS / cut_for<T>(s.d, SUM_COLUMNS).columns);
    const sorted tokens = sorted_at(call->workspace, s);
    const bool by_place = goes_by_place<T>(s);
    const assay_status status =
        launch_order(call->stream, ids_of(call), s, tokens, rows_of<T>(&call->out[0]), by_place,
                     takes_packs(&call->out[0]));
    if (status != ASSAY_OK)
        return status;
    return by_place ? launch_sums<T, true>(call, tokens) : launch_sums<T, false>(call, tokens);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return stage == ASSAY_BACKWARD ? sorted_bytes(sizes_of(call)) : 0;
}

static assay_status forward(const assay_call *call) {
    return EMBEDDING_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return EMBEDDING_DISPATCH(run_backward, call);
}

static const int32_t tiles[] = {ORDER_THREADS, ORDER_ROWS, THREADS, FEW_ROWS, 0};

ASSAY_VARIANT(embedding, v3) = {
    .op = "embedding",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: 16 bytes at a time; tokens sorted by row for dtable",
    .tiles = tiles,
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
