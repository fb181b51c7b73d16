/*
 * layernorm v3, fused: one pass over memory each way.
 *
 * A group of lanes takes one row and keeps it in registers (kernels/common/row_group.h): the mean,
 * then the squares about it, come from there. Backward, rows of whole packs, more than 32 and up to
 * 640, are taken by teams of lanes, two rows at a time (v3_teams.h). Of other rows groups find both
 * of a row's sums and write dx; meanwhile each lane adds up dw and db of its columns over the rows
 * of its block, whose next rows are on their way to shared memory (kernels/common/row_feed.h).
 * Either way blocks leave partial sums in the workspace, which a second kernel sums in a fixed
 * order. Rows of more than 20480 elements of 16 bits, 10240 of f32 or 5120 of f64 (backward 6144,
 * 3072 and 1536) read the rest again, from the cache, and keep its dw and db in the workspace.
 *
 * Rows of whole packs, few a lane, have kernels of their own: every load, w and b too, begins
 * before the first sum, and there is no code for single elements.
 *
 * bf16, 4096 rows of 2560, H100, cold, forward and backward: 45.9 and 122.7 us with two packs a
 * lane, taken apart as they came; 30.8 and 64.1 us with rows in a warp and packs kept whole; 21.3
 * and 47.0 us when every load began before the first sum, where a step before had waited for one
 * pack of cold weights after the other, and for its code. A copy of as many bytes takes 18.7 and
 * 25.7. Backward by teams, with 32 lanes for a column's partial sums, 37.3 us; 4096 rows of
 * 768 29.4 and 17.3; 512 rows of 768 22.3 and 8.9. These of teams are of blocks that summed partial
 * sums and were there before the rows' end, which saved about 1 us and is not kept. With the next
 * rows in registers instead of shared memory, 41.3, 19.1 and 9.8. On an H200, as it is: 37.7, 18.0
 * and 10.2. The instructions of two rows were the limit: with fewer, as in rmsnorm/v3.cu, and with
 * x turned into x^ where it is held, not made three times, 4096 rows of 2560, 1600, 768 and 5120
 * take 35.3, 25.2, 17.0 and 66.8 us on the H100, where they took 38.1, 29.9, 18.4 and 76.1 in the
 * same run; 32768 rows of 2560, 1600 and 768 take 188, 120 and 63.7, before 203, 161 and 69.5, and
 * a copy 170.5, 108.3 and 54.4. In f32, 32768 rows of 2560, 360, before 353, and a copy 336 to 353;
 * with rows that the L2 cache holds, 263 and 342.
 *
 * Against v1: every tensor is read and written once. Bytes: x and y forward; x, dy and dx backward,
 * plus the partial sums, two rows of them for at least two rows a group. Flops: 8 rows d forward,
 * 16 rows d backward.
 */
#include "kernels/common/partials.h"
#include "kernels/common/row_feed.h"
#include "kernels/layernorm/norm.h"
#include "kernels/layernorm/v3_teams.h"

enum { FEW_HELD = 4, MOST_HELD = 10, MOST_HELD_BACKWARD = 3 };

/* How rows are shared out. */
struct split {
    int64_t rows, d;
    int lanes, held; /* lanes to a row, and the packs that each holds */
    int64_t chunks;  /* backward: blocks, each with its own partial dw and db */
    int64_t rows_per_chunk;
    bool packs; /* all tensors allow 16-byte accesses */
};

/* ---- the row's mean and scale ---- */

template <typename T>
static __device__ __forceinline__ acc_t<T> add_all(const pack<T> &x, acc_t<T> sum) {
    for (int v = 0; v < pack<T>::size; ++v)
        sum += widen(x.v[v]);
    return sum;
}

/* Of the elements that there are: others would count as 0 - mean. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ acc_t<T> add_squares(const pack<T> &x, acc_t<T> mean,
                                                       int64_t left, acc_t<T> sum) {
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> centred = (WHOLE ? 0 : v) < left ? widen(x.v[v]) - mean : (acc_t<T>)0;
        sum = fma_(centred, centred, sum);
    }
    return sum;
}

template <typename A> struct moments { A mean, scale; };

/* each(use): use(pack, left) for the packs of the row that the lane holds. */
template <bool WHOLE, typename T, typename Each>
static __device__ __forceinline__ moments<acc_t<T>>
moments_of(Each each, const T *row, int64_t first, int64_t step, int64_t length, const split &cut,
           acc_t<T> eps) {
    acc_t<T> sum = 0, squares = 0;
    each([&](const pack<T> &x, int) { sum = add_all(x, sum); });
    for (int64_t j = first; !WHOLE && j < length; j += step)
        sum = add_all(load_pack(row + j, length - j, cut.packs), sum);
    const acc_t<T> mean = reduce_group<group_add>(sum, cut.lanes, 0) / (acc_t<T>)cut.d;
    each([&](const pack<T> &x, int left) { squares = add_squares<WHOLE>(x, mean, left, squares); });
    for (int64_t j = first; !WHOLE && j < length; j += step)
        squares = add_squares<false>(load_pack(row + j, length - j, cut.packs), mean, length - j,
                                     squares);
    squares = reduce_group<group_add>(squares, cut.lanes, 1);
    return {mean, scale_of(squares, cut.d, eps)};
}

/* ---- forward ---- */

template <bool WHOLE, typename T>
static __device__ __forceinline__ void store_scaled(const pack<T> &x, moments<acc_t<T>> m,
                                                    const pack<T> &weight, const pack<T> &bias,
                                                    T *y, int64_t left, bool packs) {
    acc_t<T> result[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v)
        result[v] = fma_((widen(x.v[v]) - m.mean) * m.scale, widen(weight.v[v]), widen(bias.v[v]));
    store_part<WHOLE>(y, narrow_pack<T>(result), left, packs);
}

/* WHOLE: the lanes hold all of a row, in whole packs. */
template <typename T, int HELD, bool WHOLE>
static __global__ void __launch_bounds__(GROUP_THREADS, WHOLE ? 4 : 2)
    normalise(matrix<const T> x, const T *w, const T *b, matrix<T> y, acc_t<T> eps, split cut) {
    const group_place<T> at(cut.lanes);
    const int64_t i = (int64_t)blockIdx.x * at.groups + at.group, length = i < cut.rows ? cut.d : 0;
    const int there = at.template held_of<HELD>(length);
    const T *row = x.row(i);
    pack<T> held[HELD], weight[HELD], bias[HELD];
    load_held<WHOLE, true>(row, length, at, cut.packs, narrow<T>(0), held);
    if constexpr (WHOLE) {
        load_held<WHOLE, false>(w, length, at, cut.packs, narrow<T>(0), weight);
        load_held<WHOLE, false>(b, length, at, cut.packs, narrow<T>(0), bias);
    }
    const auto each = [&](auto use) {
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            use(held[p], there - at.column(p));
        keep_packed(held);
    };
    const moments<acc_t<T>> m =
        moments_of<WHOLE>(each, row, at.column(HELD), at.step(), length, cut, eps);
    if constexpr (WHOLE) {
        keep_packed(weight);
        keep_packed(bias);
    }
#pragma unroll
    for (int p = 0; p < HELD; ++p) {
        const int j = at.column(p);
        if constexpr (!WHOLE) {
            weight[p] = load_pack(w + j, there - j, cut.packs);
            bias[p] = load_pack(b + j, there - j, cut.packs);
        }
        store_scaled<WHOLE>(held[p], m, weight[p], bias[p], y.row(i) + j, there - j, cut.packs);
    }
    for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
        store_scaled<false>(
            load_pack(row + j, length - j, cut.packs), m, load_pack(w + j, length - j, cut.packs),
            load_pack(b + j, length - j, cut.packs), y.row(i) + j, length - j, cut.packs);
}

/* ---- backward ---- */

/* Adds g and g x^ of one pack. Where there are no elements, dy is 0. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ void add_slopes(const pack<T> &x, const pack<T> &dy,
                                                  const pack<T> &weight, moments<acc_t<T>> m,
                                                  int64_t left, acc_t<T> (&sum)[2]) {
    for (int v = 0; v < pack<T>::size; ++v) {
        if ((WHOLE ? 0 : v) >= left)
            continue;
        const acc_t<T> g = widen(dy.v[v]) * widen(weight.v[v]);
        sum[0] += g;
        sum[1] = fma_(g, (widen(x.v[v]) - m.mean) * m.scale, sum[1]);
    }
}

/* Writes dx of one pack, at column j of row i, and adds its part of dw and db. */
template <bool WHOLE, typename T>
static __device__ __forceinline__ void
finish_pack(const gradients<T> &t, const pack<T> &x, const pack<T> &dy, const pack<T> &weight,
            moments<acc_t<T>> m, acc_t<T> level, acc_t<T> slope, int64_t i, int64_t j, int64_t left,
            bool packs, acc_t<T> (&of_w)[pack<T>::size], acc_t<T> (&of_b)[pack<T>::size]) {
    acc_t<T> result[pack<T>::size];
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> unit = (widen(x.v[v]) - m.mean) * m.scale, given = widen(dy.v[v]);
        const acc_t<T> g = given * widen(weight.v[v]);
        result[v] = m.scale * fma_(-unit, slope, g - level);
        if ((WHOLE ? 0 : v) < left) {
            of_w[v] = fma_(given, unit, of_w[v]);
            of_b[v] += given;
        }
    }
    store_part<WHOLE>(t.dx.row(i) + j, narrow_pack<T>(result), left, packs);
}

/* The same for a pack that is not held: memory holds it, and its part of dw and db. */
template <typename T>
static __device__ __forceinline__ void
finish_more(const gradients<T> &t, moments<acc_t<T>> m, acc_t<T> level, acc_t<T> slope, int64_t i,
            int64_t j, int64_t left, bool packs, acc_t<T> *dw, acc_t<T> *db) {
    constexpr int V = pack<T>::size;
    acc_t<T> of_w[V], of_b[V];
    for (int v = 0; v < V; ++v) {
        of_w[v] = v < left ? dw[j + v] : 0;
        of_b[v] = v < left ? db[j + v] : 0;
    }
    finish_pack<false>(t, load_pack(t.x.row(i) + j, left, packs),
                       load_pack(t.dy.row(i) + j, left, packs), load_pack(t.w + j, left, packs), m,
                       level, slope, i, j, left, packs, of_w, of_b);
    for (int v = 0; v < V && v < left; ++v) {
        dw[j + v] = of_w[v];
        db[j + v] = of_b[v];
    }
}

template <typename T, int HELD, bool WHOLE>
static __global__ void __launch_bounds__(GROUP_THREADS, 2)
    grad_rows(gradients<T> t, acc_t<T> *partial_w, acc_t<T> *partial_b, acc_t<T> eps, split cut) {
    constexpr int V = pack<T>::size;
    ASSAY_DYNAMIC_SHARED(pack<T>, shared); /* w, then the rows */
    const group_place<T> at(cut.lanes);
    const row_feed<T, HELD, WHOLE> feed = {shared + HELD * cut.lanes, at, 2, cut.packs};
    const int groups = at.groups;
    const int64_t d = cut.d, begin = blockIdx.x * cut.rows_per_chunk;
    const int64_t end =
        begin + cut.rows_per_chunk < cut.rows ? begin + cut.rows_per_chunk : cut.rows;
    const auto start = [&](int turn) {
        const int64_t row = begin + turn * groups + at.group, length = row < end ? d : 0;
        feed.start(turn, 0, t.x.row(row), length);
        feed.start(turn, 1, t.dy.row(row), length);
        cp_async_commit();
    };
    feed.start_shared(shared, t.w, d);
    cp_async_commit();
    for (int k = 0; k < ROWS_AHEAD; ++k)
        start(k);
    acc_t<T> *dw = partial_w + blockIdx.x * d, *db = partial_b + blockIdx.x * d;
    acc_t<T> of_w[HELD][V] = {}, of_b[HELD][V] = {};
    /* Packs that are not held exist where the block has one group: this lane alone has them. */
    for (int64_t j = at.column(HELD); !WHOLE && j < d; j += at.step())
        for (int v = 0; v < V && j + v < d; ++v)
            dw[j + v] = db[j + v] = 0;
    const pack<T> *const weight = shared + at.lane;
    cp_async_wait<ROWS_AHEAD>();
    __syncthreads();
    for (int turn = 0; begin + turn * groups < end; ++turn) {
        const int64_t i = begin + turn * groups + at.group, length = i < end ? d : 0;
        const int there = at.template held_of<HELD>(length);
        feed.wait();
        const auto each = [&](auto use) {
#pragma unroll
            for (int p = 0; p < HELD; ++p)
                use(load_kept(feed.place(turn, 0, p)), there - at.column(p));
        };
        const moments<acc_t<T>> m =
            moments_of<WHOLE>(each, t.x.row(i), at.column(HELD), at.step(), length, cut, eps);
        acc_t<T> sum[2] = {0, 0}; /* of g, and of g x^ */
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            add_slopes<WHOLE>(load_kept(feed.place(turn, 0, p)), load_kept(feed.place(turn, 1, p)),
                              load_kept(weight + p * cut.lanes), m, there - at.column(p), sum);
        for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
            add_slopes<false>(load_pack(t.x.row(i) + j, length - j, cut.packs),
                              load_pack(t.dy.row(i) + j, length - j, cut.packs),
                              load_pack(t.w + j, length - j, cut.packs), m, length - j, sum);
        reduce_group<group_add>(sum, cut.lanes, 2);
        const acc_t<T> level = sum[0] / (acc_t<T>)d, slope = sum[1] / (acc_t<T>)d;
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            finish_pack<WHOLE>(t, load_kept(feed.place(turn, 0, p)),
                               load_kept(feed.place(turn, 1, p)), load_kept(weight + p * cut.lanes),
                               m, level, slope, i, j, there - j, cut.packs, of_w[p], of_b[p]);
        }
        start(turn + ROWS_AHEAD);
        for (int64_t j = at.column(HELD); !WHOLE && j < length; j += at.step())
            finish_more(t, m, level, slope, i, j, length - j, cut.packs, dw, db);
    }
    __syncthreads(); /* before the sums take the places of rows */
    sum_groups(of_w, at, d, dw);
    sum_groups(of_b, at, d, db);
}

/* ---- launches ---- */

enum { BLOCKS_WANTED = 264, ROWS_PER_GROUP = 2 };

static bool all_take_packs(const tensors &t) {
    const assay_tensor *all[] = {t.x, t.w, t.b, t.y, t.dy, t.dx};
    for (const assay_tensor *one : all)
        if (one != NULL && !takes_packs(one))
            return false;
    return true;
}

template <typename T> static split split_for(const tensors &t, int few, int most) {
    const row_share share = share_row<T>(t.d, few, most);
    split cut = {t.rows, t.d, share.lanes, share.held, 1, 0, all_take_packs(t)};
    const int64_t least = (int64_t)GROUP_THREADS / cut.lanes * ROWS_PER_GROUP;
    cut.rows_per_chunk = ceil_div(t.rows, clamp(ceil_div(t.rows, least), 1, BLOCKS_WANTED));
    if (cut.rows_per_chunk > 0)
        cut.chunks = ceil_div(t.rows, cut.rows_per_chunk);
    return cut;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_for<T>(t, FEW_HELD, MOST_HELD);
    const row_share share = {cut.lanes, cut.held};
    return with_share<T, FEW_HELD, MOST_HELD>(t.d, share, cut.packs, [&](auto held, auto whole) {
        constexpr int HELD = decltype(held)::value;
        constexpr bool WHOLE = decltype(whole)::value;
        return ASSAY_LAUNCH(call->stream, whole_grid(ceil_div(t.rows, GROUP_THREADS / cut.lanes)),
                            dim3(GROUP_THREADS), 0, (normalise<T, HELD, WHOLE>),
                            matrix_of<const T>(t.x), matrix_of<const T>(t.w).data,
                            matrix_of<const T>(t.b).data, matrix_of<T>(t.y), (acc_t<T>)t.eps, cut);
    });
}

template <typename T, bool WHOLE>
static assay_status launch_rows(const assay_call *call, const tensors &t, const split &cut,
                                acc_t<T> *of_w, acc_t<T> *of_b) {
    const gradients<T> g = gradients_of<T>(t);
    const size_t sums = sum_groups_bytes<T>(t.d, cut.lanes);
    return with_held<2, MOST_HELD_BACKWARD>(cut.held, [&](auto held) {
        constexpr int HELD = decltype(held)::value;
        const size_t rows = row_feed<T, HELD, WHOLE>::bytes(2, cut.lanes);
        return ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.chunks), dim3(GROUP_THREADS),
                            sums > rows ? sums : rows, (grad_rows<T, HELD, WHOLE>), g, of_w, of_b,
                            (acc_t<T>)t.eps, cut);
    });
}

/* Blocks that leave partial sums of dw and db. */
template <typename T> static int64_t partial_rows(const tensors &t) {
    return takes_teams<T>(t.d) ? split_teams<T>(t.rows, t.d).blocks
                               : split_for<T>(t, MOST_HELD_BACKWARD, MOST_HELD_BACKWARD).chunks;
}

template <typename T>
static assay_status launch_groups(const assay_call *call, const tensors &t, acc_t<T> *of_w,
                                  acc_t<T> *of_b) {
    const split cut = split_for<T>(t, MOST_HELD_BACKWARD, MOST_HELD_BACKWARD);
    const bool whole = holds_whole<T>(t.d, {cut.lanes, cut.held}, MOST_HELD_BACKWARD, cut.packs);
    return whole ? launch_rows<T, true>(call, t, cut, of_w, of_b)
                 : launch_rows<T, false>(call, t, cut, of_w, of_b);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const int64_t parts = partial_rows<T>(t);
    acc_t<T> *of_w = static_cast<acc_t<T> *>(call->workspace), *of_b = of_w + parts * t.d;
    const assay_status status = takes_teams<T>(t.d)
                                    ? launch_teams<T>(call, t, of_w, of_b, all_take_packs(t))
                                    : launch_groups<T>(call, t, of_w, of_b);
    if (status != ASSAY_OK)
        return status;
    const sums_to<T> dw = {of_w, matrix_of<T>(t.dw).data}, db = {of_b, matrix_of<T>(t.db).data};
    return launch_sum_partials_of<T>(call->stream, dw, db, parts, t.d);
}

template <typename T> static size_t partial_bytes(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return (size_t)(2 * partial_rows<T>(t) * t.d) * sizeof(acc_t<T>);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    return stage == ASSAY_FORWARD ? 0 : ROWS_DISPATCH(partial_bytes, call);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(layernorm, v3) = {
    .op = "layernorm",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "fused: rows in registers, 16 bytes at a time; dx, dw and db in one pass",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
