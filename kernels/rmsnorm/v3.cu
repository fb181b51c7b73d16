/*
 * rmsnorm v3, fused: one pass over memory each way.
 *
 * A group of lanes takes one row and keeps it in registers (kernels/common/row_group.h): forward
 * adds the residual, stores h, sums the squares over the lanes and writes y. Backward, rows of
 * whole packs, more than 32 and up to 640, are taken by teams of lanes, two rows at a time
 * (v3_teams.h). Of other rows groups add up both of a row's sums and write dx and dr; meanwhile
 * each lane adds up dw of its columns over the rows of its block, whose next rows are on their way
 * to shared memory (kernels/common/row_feed.h). Either way blocks leave partial sums in the
 * workspace, which a second kernel sums in a fixed order. Rows of more than 20480 elements of 16
 * bits, 10240 of f32 or 5120 of f64 (backward 6144, 3072 and 1536) read the rest a second time,
 * from the cache, and keep its dw in the workspace.
 *
 * Rows of whole packs, few a lane, have kernels of their own: every load, weights too, begins
 * before the first sum, and there is no code for single elements.
 *
 * bf16, 4096 rows of 2560, H100, cold, forward and backward: 39.9 and 78.4 us with two packs a
 * lane, taken apart as they came; 26.1 and 43.8 us with rows in a warp and packs kept whole; 18.7
 * and 38.5 us when every load began before the first sum, where a step before had waited for one
 * pack of cold weights after the other, and for its code. A copy of as many bytes takes 18.7 and
 * 25.7. Backward by teams, with 32 lanes for a column's partial sums, 33.9 us; 4096 rows of
 * 768 21.3 and 15.8; 512 rows of 768 14.7 and 8.9; 4096 rows of 2560 with a residual 52.3 and 47.7.
 * These of teams are of blocks that summed partial sums and were there before the rows' end, which
 * saved about 1 us and is not kept. With the next rows in registers instead of shared
 * memory, 32.5, 16.5, 8.2 and 54.6. On an H200, as it is: 27.7, 15.6 and 9.1. There, with rows
 * side by side for each block, and with blocks that take rows by turns: 32768 rows of 2560, 143.6
 * and 140.4 us, of 768, 55.0 and 53.3, with a residual 76.8 and 73.0. Then two blocks of a
 * multiprocessor issued some 570 instructions for two rows, two thirds of what there is time for at
 * an H200's bandwidth; 410 are left since addresses are added up, sums of warps are read four at a
 * time, elements of 16 bits are widened by one instruction each and stay wide, and zeros behind the
 * last row are copies. 32768 rows of 2560, of 1600 and of 768, H100, where memory is the limit:
 * 186, 118.9 and 62.5 us before, 183, 117.1 and 61.9 now, and a copy 170.5, 108.3 and 54.5; with
 * rows 128 bytes apart, so that the L2 cache holds all of them, 128, 105 and 46.5 before, 103, 79.8
 * and 37.6 now. On an H200 2560 take 133.6 us, a copy 127 (bench/results/2026-11-28.md).
 *
 * Against v1: every tensor is read and written once. Bytes: x, r, y and h forward; h, dy, dh, dx
 * and dr backward, plus the partial sums, one row of them for at least two rows a group. Flops: as
 * v1.
 *
 * Every sum has one order, given by the shape alone: an address that does not allow 16-byte
 * accesses changes how elements are fetched, not which lane adds them.
 */
#include "kernels/common/partials.h"
#include "kernels/common/row_feed.h"
#include "kernels/rmsnorm/norm.h"
#include "kernels/rmsnorm/v3_teams.h"

enum { FEW_HELD = 4, MOST_HELD = 10, MOST_HELD_BACKWARD = 3 };

/* How rows are shared out. */
struct split {
    int lanes, held; /* lanes to a row, and the packs that each holds */
    int64_t chunks;  /* backward: blocks, each with its own partial dw */
    int64_t rows_per_chunk;
    bool packs; /* all tensors allow 16-byte accesses */
};

/* ---- forward ---- */

/* h = x + r, stored, of one pack. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ pack<T> add_residual(const pack<T> &x, const pack<T> &r, T *h,
                                                       int64_t left, bool packs) {
    acc_t<T> sum[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v)
        sum[v] = widen(x.v[v]) + widen(r.v[v]);
    const pack<T> p = narrow_pack<T>(sum);
    store_part<WHOLE>(h, p, left, packs);
    return p;
}

template <typename T>
static __device__ __forceinline__ void add_squares(const pack<T> &h, acc_t<T> &sum) {
    for (int v = 0; v < pack<T>::size; ++v)
        sum = fma_(widen(h.v[v]), widen(h.v[v]), sum);
}

template <bool WHOLE, typename T>
static __device__ __forceinline__ void store_scaled(const pack<T> &h, const pack<T> &weight,
                                                    acc_t<T> inverse, T *y, int64_t left,
                                                    bool packs) {
    acc_t<T> result[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v)
        result[v] = widen(h.v[v]) * inverse * widen(weight.v[v]);
    store_part<WHOLE>(y, narrow_pack<T>(result), left, packs);
}

/* WHOLE: the lanes hold all of a row, in whole packs. */
template <typename T, int HELD, bool WHOLE, bool RESIDUAL>
static __global__ void __launch_bounds__(GROUP_THREADS, WHOLE ? 4 : 2)
    normalise(matrix<const T> x, matrix<const T> r, const T *w, matrix<T> h, matrix<T> y,
              int64_t rows, int64_t d, acc_t<T> eps, split cut) {
    const group_place<T> at(cut.lanes);
    const bool packs = cut.packs;
    const int64_t i = (int64_t)blockIdx.x * at.groups + at.group, length = i < rows ? d : 0;
    const int there = at.template held_of<HELD>(length);
    pack<T> held[HELD], other[HELD], weight[HELD];
    acc_t<T> sum = 0;
    load_held<WHOLE, true>(x.row(i), length, at, packs, narrow<T>(0), held);
    if constexpr (RESIDUAL)
        load_held<WHOLE, true>(r.row(i), length, at, packs, narrow<T>(0), other);
    if constexpr (WHOLE)
        load_held<WHOLE, false>(w, length, at, packs, narrow<T>(0), weight);
    if constexpr (RESIDUAL) {
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            held[p] = add_residual<WHOLE>(held[p], other[p], h.row(i) + at.column(p),
                                          there - at.column(p), packs);
        keep_packed(held);
    }
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        add_squares(held[p], sum);
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step()) {
        pack<T> more = load_pack(x.row(i) + j, length - j, packs);
        if constexpr (RESIDUAL)
            more = add_residual<false>(more, load_pack(r.row(i) + j, length - j, packs),
                                       h.row(i) + j, length - j, packs);
        add_squares(more, sum);
    }
    sum = reduce_group<group_add>(sum, cut.lanes);
    keep_packed(held);
    if constexpr (WHOLE)
        keep_packed(weight);
    const acc_t<T> inverse = inverse_root(sum, d, eps);
#pragma unroll
    for (int p = 0; p < HELD; ++p) {
        const int j = at.column(p);
        if constexpr (!WHOLE)
            weight[p] = load_pack(w + j, there - j, packs);
        store_scaled<WHOLE>(held[p], weight[p], inverse, y.row(i) + j, there - j, packs);
    }
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step()) {
        const T *from = RESIDUAL ? h.row(i) : x.row(i);
        store_scaled<false>(load_pack(from + j, length - j, packs),
                            load_pack(w + j, length - j, packs), inverse, y.row(i) + j, length - j,
                            packs);
    }
}

/* ---- backward ---- */

/* Adds h² and g h of one pack. */
template <typename T>
static __device__ __forceinline__ void add_sums(const pack<T> &h, const pack<T> &dy,
                                                const pack<T> &weight, acc_t<T> (&sum)[2]) {
    add_squares(h, sum[0]);
    for (int v = 0; v < pack<T>::size; ++v)
        sum[1] = fma_(widen(dy.v[v]) * widen(weight.v[v]), widen(h.v[v]), sum[1]);
}

/* Writes dx and dr of one pack, at column j of row i, and adds its part of dw. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ void
finish_pack(const gradients<T> &t, const pack<T> &h, const pack<T> &dy, const pack<T> &dh,
            const pack<T> &weight, acc_t<T> inverse, acc_t<T> slope, int64_t i, int64_t j,
            int64_t left, bool packs, acc_t<T> (&part)[pack<T>::size]) {
    acc_t<T> g[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> normal = widen(h.v[v]) * inverse;
        g[v] = fma_(-normal, slope, widen(dy.v[v]) * widen(weight.v[v])) * inverse;
        if (t.dh.present())
            g[v] += widen(dh.v[v]);
        part[v] = fma_(widen(dy.v[v]), normal, part[v]);
    }
    const pack<T> p = narrow_pack<T>(g);
    store_part<WHOLE>(t.dx.row(i) + j, p, left, packs);
    if (t.dr.present())
        store_part<WHOLE>(t.dr.row(i) + j, p, left, packs);
}

/* The same for a pack that is not held: memory holds it, and its part of dw. */
template <typename T>
static __device__ __forceinline__ void finish_more(const gradients<T> &t, acc_t<T> inverse,
                                                   acc_t<T> slope, int64_t i, int64_t j,
                                                   int64_t left, bool packs, acc_t<T> *dw) {
    constexpr int V = pack<T>::size;
    acc_t<T> part[V];
    pack<T> dh = {};
    for (int v = 0; v < V; ++v)
        part[v] = v < left ? dw[j + v] : 0;
    if (t.dh.present())
        dh = load_pack(t.dh.row(i) + j, left, packs);
    finish_pack<false>(t, load_pack(t.h.row(i) + j, left, packs),
                       load_pack(t.dy.row(i) + j, left, packs), dh, load_pack(t.w + j, left, packs),
                       inverse, slope, i, j, left, packs, part);
    for (int v = 0; v < V && v < left; ++v)
        dw[j + v] = part[v];
}

template <typename T, int HELD, bool WHOLE>
static __global__ void __launch_bounds__(GROUP_THREADS, 2)
    grad_rows(gradients<T> t, acc_t<T> *partial, int64_t rows, int64_t d, acc_t<T> eps, split cut) {
    constexpr int V = pack<T>::size;
    ASSAY_DYNAMIC_SHARED(pack<T>, shared); /* w, then the rows */
    const group_place<T> at(cut.lanes);
    const int groups = at.groups;
    const bool packs = cut.packs;
    const row_feed<T, HELD, WHOLE> feed = {shared + HELD * cut.lanes, at, t.dh.present() ? 3 : 2,
                                           packs};
    const int64_t begin = blockIdx.x * cut.rows_per_chunk;
    const int64_t end = begin + cut.rows_per_chunk < rows ? begin + cut.rows_per_chunk : rows;
    const auto start = [&](int turn) {
        const int64_t row = begin + turn * groups + at.group, length = row < end ? d : 0;
        feed.start(turn, 0, t.h.row(row), length);
        feed.start(turn, 1, t.dy.row(row), length);
        if (t.dh.present())
            feed.start(turn, 2, t.dh.row(row), length);
        cp_async_commit();
    };
    feed.start_shared(shared, t.w, d);
    cp_async_commit();
    for (int k = 0; k < ROWS_AHEAD; ++k)
        start(k);
    acc_t<T> *dw = partial + blockIdx.x * d;
    acc_t<T> part[HELD][V] = {};
    /* Packs that are not held exist where the block has one group: this lane alone has them. */
    for (int64_t j = at.column(HELD); !WHOLE && j < d; j += at.step())
        for (int v = 0; v < V && j + v < d; ++v)
            dw[j + v] = 0;
    const pack<T> *const weight = shared + at.lane;
    cp_async_wait<ROWS_AHEAD>();
    __syncthreads();
    for (int turn = 0; begin + turn * groups < end; ++turn) {
        const int64_t i = begin + turn * groups + at.group, length = i < end ? d : 0;
        const int there = at.template held_of<HELD>(length);
        pack<T> h[HELD], dy[HELD];
        acc_t<T> sum[2] = {0, 0};
        feed.wait();
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            h[p] = load_kept(feed.place(turn, 0, p));
            dy[p] = load_kept(feed.place(turn, 1, p));
        }
        keep_packed(h);
        keep_packed(dy);
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            add_sums(h[p], dy[p], load_kept(weight + p * cut.lanes), sum);
        for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
            add_sums(load_pack(t.h.row(i) + j, length - j, packs),
                     load_pack(t.dy.row(i) + j, length - j, packs),
                     load_pack(t.w + j, length - j, packs), sum);
        reduce_group<group_add>(sum, cut.lanes, turn % 2);
        keep_packed(h);
        keep_packed(dy);
        const acc_t<T> inverse = inverse_root(sum[0], d, eps);
        const acc_t<T> slope = inverse * (sum[1] / (acc_t<T>)d); /* as v1 has it */
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            pack<T> dh = {};
            if (t.dh.present())
                dh = load_kept(feed.place(turn, 2, p));
            finish_pack<WHOLE>(t, h[p], dy[p], dh, load_kept(weight + p * cut.lanes), inverse,
                               slope, i, j, there - j, packs, part[p]);
        }
        start(turn + ROWS_AHEAD);
        for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
            finish_more(t, inverse, slope, i, j, length - j, packs, dw);
    }
    __syncthreads(); /* before the sums take the places of rows */
    sum_groups(part, at, d, dw);
}

/* ---- launches ---- */

enum { BLOCKS_WANTED = 264, ROWS_PER_GROUP = 2 };

static bool all_take_packs(const tensors &t) {
    const assay_tensor *all[] = {t.x, t.r, t.w, t.h, t.dy, t.dh, t.y, t.dx, t.dr};
    for (const assay_tensor *one : all)
        if (one != NULL && !takes_packs(one))
            return false;
    return true;
}

template <typename T> static split split_for(const tensors &t, int few, int most) {
    const row_share share = share_row<T>(t.d, few, most);
    split cut = {share.lanes, share.held, 0, 0, all_take_packs(t)};
    const int64_t least = (int64_t)GROUP_THREADS / cut.lanes * ROWS_PER_GROUP;
    cut.rows_per_chunk = ceil_div(t.rows, clamp(ceil_div(t.rows, least), 1, BLOCKS_WANTED));
    cut.chunks = cut.rows_per_chunk > 0 ? ceil_div(t.rows, cut.rows_per_chunk) : 1;
    return cut;
}

template <typename T, bool RESIDUAL>
static assay_status launch_forward(const assay_call *call, const tensors &t) {
    const split cut = split_for<T>(t, FEW_HELD, MOST_HELD);
    const row_share share = {cut.lanes, cut.held};
    return with_share<T, FEW_HELD, MOST_HELD>(t.d, share, cut.packs, [&](auto held, auto whole) {
        constexpr int HELD = decltype(held)::value;
        constexpr bool WHOLE = decltype(whole)::value;
        return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(t.rows, GROUP_THREADS / cut.lanes)),
                            dim3(GROUP_THREADS), 0, (normalise<T, HELD, WHOLE, RESIDUAL>),
                            matrix_of<const T>(t.x), matrix_of<const T>(t.r),
                            matrix_of<const T>(t.w).data,
                            RESIDUAL ? matrix_of<T>(t.h) : matrix<T>{NULL, 0}, matrix_of<T>(t.y),
                            t.rows, t.d, (acc_t<T>)t.eps, cut);
    });
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    return t.r != NULL ? launch_forward<T, true>(call, t) : launch_forward<T, false>(call, t);
}

template <typename T, bool WHOLE>
static assay_status launch_rows(const assay_call *call, const tensors &t, const split &cut) {
    const gradients<T> g = gradients_of<T>(t);
    const size_t sums = sum_groups_bytes<T>(t.d, cut.lanes);
    return with_held<2, MOST_HELD_BACKWARD>(cut.held, [&](auto held) {
        constexpr int HELD = decltype(held)::value;
        const size_t rows = row_feed<T, HELD, WHOLE>::bytes(t.dh != NULL ? 3 : 2, cut.lanes);
        return ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.chunks), dim3(GROUP_THREADS),
                            sums > rows ? sums : rows, (grad_rows<T, HELD, WHOLE>), g,
                            static_cast<acc_t<T> *>(call->workspace), t.rows, t.d, (acc_t<T>)t.eps,
                            cut);
    });
}

/* Blocks that leave partial sums of dw. */
template <typename T> static int64_t partial_rows(const tensors &t) {
    return takes_teams<T>(t.d) ? split_teams<T>(t.rows, t.d).blocks
                               : split_for<T>(t, MOST_HELD_BACKWARD, MOST_HELD_BACKWARD).chunks;
}

template <typename T> static assay_status launch_groups(const assay_call *call, const tensors &t) {
    const split cut = split_for<T>(t, MOST_HELD_BACKWARD, MOST_HELD_BACKWARD);
    const bool whole = holds_whole<T>(t.d, {cut.lanes, cut.held}, MOST_HELD_BACKWARD, cut.packs);
    return whole ? launch_rows<T, true>(call, t, cut) : launch_rows<T, false>(call, t, cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const assay_status status = takes_teams<T>(t.d) ? launch_teams<T>(call, t, all_take_packs(t))
                                                    : launch_groups<T>(call, t);
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(call->stream, static_cast<acc_t<T> *>(call->workspace),
                                  partial_rows<T>(t), t.d, matrix_of<T>(t.dw).data, t.d, t.d);
}

template <typename T> static size_t partial_bytes(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return (size_t)(partial_rows<T>(t) * t.d) * sizeof(acc_t<T>);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return stage == ASSAY_FORWARD ? 0 : RMSNORM_DISPATCH(partial_bytes, call);
}

static assay_status forward(const assay_call *call) {
    return RMSNORM_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return RMSNORM_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(rmsnorm, v3) = {
    .op = "rmsnorm",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: rows in registers, 16 bytes at a time; dx, dr and dw in one pass",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
