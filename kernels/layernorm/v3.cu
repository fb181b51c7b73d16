/*
 * layernorm v3, fused: one pass over memory each way.
 *
 * A group of lanes takes one row and keeps it in registers (kernels/common/row_group.h): the mean,
 * then the squares about it, come from there. Backward keeps x and dy, finds both of the row's sums
 * and writes dx; meanwhile each lane adds up dw and db of its columns over the rows of its block,
 * and blocks leave partial sums in the workspace, which a second kernel sums in a fixed order. Rows
 * of more than 20480 elements of 16 bits, 10240 of f32 or 5120 of f64 (backward 6144, 3072 and
 * 1536) read the rest again, from the cache, and keep its dw and db in the workspace.
 *
 * bf16, 4096 rows of 2560, H100, cold, forward and backward: 45.9 and 122.7 us with two packs a
 * lane, taken apart as they came; 31.2 and 64.1 us with rows in a warp and packs kept whole.
 *
 * Against v1: every tensor is read and written once. Bytes: x and y forward; x, dy and dx backward,
 * plus the partial sums, two rows of them for at least two rows a group. Flops: 8 rows d forward,
 * 16 rows d backward.
 */
#include "kernels/common/partials.h"
#include "kernels/common/row_group.h"
#include "kernels/layernorm/norm.h"

enum { MOST_HELD = 10, MOST_HELD_BACKWARD = 3 };

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
template <typename T>
static __device__ __forceinline__ acc_t<T> add_squares(const pack<T> &x, acc_t<T> mean,
                                                       int64_t left, acc_t<T> sum) {
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> centred = v < left ? widen(x.v[v]) - mean : (acc_t<T>)0;
        sum = fma_(centred, centred, sum);
    }
    return sum;
}

template <typename A> struct moments { A mean, scale; };

template <typename T, int HELD>
static __device__ __forceinline__ moments<acc_t<T>> moments_of(const T *row, pack<T> (&held)[HELD],
                                                               int64_t length, group_place<T> at,
                                                               const split &cut, acc_t<T> eps) {
    const int there = at.template held_of<HELD>(length);
    acc_t<T> sum = 0, squares = 0;
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        sum = add_all(held[p], sum);
    for (int64_t j = at.column(HELD); j < length; j += at.step())
        sum = add_all(load_pack(row + j, length - j, cut.packs), sum);
    const acc_t<T> mean = reduce_group<group_add>(sum, cut.lanes) / (acc_t<T>)cut.d;
    keep_packed(held);
#pragma unroll
    for (int p = 0; p < HELD; ++p)
        squares = add_squares(held[p], mean, there - at.column(p), squares);
    for (int64_t j = at.column(HELD); j < length; j += at.step())
        squares = add_squares(load_pack(row + j, length - j, cut.packs), mean, length - j, squares);
    squares = reduce_group<group_add>(squares, cut.lanes);
    keep_packed(held);
    return {mean, scale_of(squares, cut.d, eps)};
}

/* ---- forward ---- */

template <typename T>
static __device__ __forceinline__ void store_scaled(const pack<T> &x, moments<acc_t<T>> m,
                                                    const T *w, const T *b, T *y, int64_t left,
                                                    bool packs) {
    const pack<T> weight = load_pack(w, left, packs), bias = load_pack(b, left, packs);
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v)
        p.v[v] = narrow<T>(
            fma_((widen(x.v[v]) - m.mean) * m.scale, widen(weight.v[v]), widen(bias.v[v])));
    store_pack(y, p, left, packs);
}

template <typename T, int HELD>
static __global__ void __launch_bounds__(GROUP_THREADS, HELD > 4 ? 2 : 4)
    normalise(matrix<const T> x, const T *w, const T *b, matrix<T> y, acc_t<T> eps, split cut) {
    const group_place<T> at(cut.lanes);
    const int groups = GROUP_THREADS / cut.lanes;
    for (int64_t first = (int64_t)blockIdx.x * groups; first < cut.rows;
         first += (int64_t)gridDim.x * groups) {
        const int64_t i = first + at.group, length = i < cut.rows ? cut.d : 0;
        const int there = at.template held_of<HELD>(length);
        const T *row = x.row(i);
        pack<T> held[HELD];
        load_held(row, length, at, cut.packs, narrow<T>(0), held);
        const moments<acc_t<T>> m = moments_of(row, held, length, at, cut, eps);
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            store_scaled(held[p], m, w + j, b + j, y.row(i) + j, there - j, cut.packs);
        }
        for (int64_t j = at.column(HELD); j < length; j += at.step())
            store_scaled(load_pack(row + j, length - j, cut.packs), m, w + j, b + j, y.row(i) + j,
                         length - j, cut.packs);
    }
}

/* ---- backward ---- */

template <typename T> struct gradients {
    matrix<const T> x, dy;
    const T *w;
    matrix<T> dx;
};

/* Adds g and g x^ of one pack. Where there are no elements, dy is 0. */
template <typename T>
static __device__ __forceinline__ void add_slopes(const pack<T> &x, const pack<T> &dy,
                                                  const pack<T> &weight, moments<acc_t<T>> m,
                                                  int64_t left, acc_t<T> (&sum)[2]) {
    for (int v = 0; v < pack<T>::size; ++v) {
        if (v >= left)
            continue;
        const acc_t<T> g = widen(dy.v[v]) * widen(weight.v[v]);
        sum[0] += g;
        sum[1] = fma_(g, (widen(x.v[v]) - m.mean) * m.scale, sum[1]);
    }
}

/* Writes dx of one pack, at column j of row i, and adds its part of dw and db. */
template <typename T>
static __device__ __forceinline__ void
finish_pack(const gradients<T> &t, const pack<T> &x, const pack<T> &dy, const pack<T> &weight,
            moments<acc_t<T>> m, acc_t<T> level, acc_t<T> slope, int64_t i, int64_t j, int64_t left,
            bool packs, acc_t<T> (&of_w)[pack<T>::size], acc_t<T> (&of_b)[pack<T>::size]) {
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> unit = (widen(x.v[v]) - m.mean) * m.scale, given = widen(dy.v[v]);
        const acc_t<T> g = given * widen(weight.v[v]);
        p.v[v] = narrow<T>(m.scale * fma_(-unit, slope, g - level));
        if (v < left) {
            of_w[v] = fma_(given, unit, of_w[v]);
            of_b[v] += given;
        }
    }
    store_pack(t.dx.row(i) + j, p, left, packs);
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
    finish_pack(t, load_pack(t.x.row(i) + j, left, packs), load_pack(t.dy.row(i) + j, left, packs),
                load_pack(t.w + j, left, packs), m, level, slope, i, j, left, packs, of_w, of_b);
    for (int v = 0; v < V && v < left; ++v) {
        dw[j + v] = of_w[v];
        db[j + v] = of_b[v];
    }
}

template <typename T, int HELD>
static __global__ void __launch_bounds__(GROUP_THREADS, 2)
    grad_rows(gradients<T> t, acc_t<T> *partial_w, acc_t<T> *partial_b, acc_t<T> eps, split cut) {
    constexpr int V = pack<T>::size;
    const group_place<T> at(cut.lanes);
    const int groups = GROUP_THREADS / cut.lanes;
    const int64_t d = cut.d, begin = blockIdx.x * cut.rows_per_chunk;
    const int64_t end =
        begin + cut.rows_per_chunk < cut.rows ? begin + cut.rows_per_chunk : cut.rows;
    acc_t<T> *dw = partial_w + blockIdx.x * d, *db = partial_b + blockIdx.x * d;
    acc_t<T> of_w[HELD][V] = {}, of_b[HELD][V] = {};
    /* Packs that are not held exist where the block has one group: this lane alone has them. */
    for (int64_t j = at.column(HELD); j < d; j += at.step())
        for (int v = 0; v < V && j + v < d; ++v)
            dw[j + v] = db[j + v] = 0;
    pack<T> weight[HELD];
    load_held(t.w, d, at, cut.packs, narrow<T>(0), weight);
    for (int64_t first = begin; first < end; first += groups) {
        const int64_t i = first + at.group, length = i < end ? d : 0;
        const int there = at.template held_of<HELD>(length);
        pack<T> x[HELD], dy[HELD];
        load_held(t.x.row(i), length, at, cut.packs, narrow<T>(0), x);
        load_held(t.dy.row(i), length, at, cut.packs, narrow<T>(0), dy);
        const moments<acc_t<T>> m = moments_of(t.x.row(i), x, length, at, cut, eps);
        acc_t<T> sum[2] = {0, 0}; /* of g, and of g x^ */
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            add_slopes(x[p], dy[p], weight[p], m, there - at.column(p), sum);
        for (int64_t j = at.column(HELD); j < length; j += at.step())
            add_slopes(load_pack(t.x.row(i) + j, length - j, cut.packs),
                       load_pack(t.dy.row(i) + j, length - j, cut.packs),
                       load_pack(t.w + j, length - j, cut.packs), m, length - j, sum);
        reduce_group<group_add>(sum, cut.lanes);
        keep_packed(x);
        keep_packed(dy);
        keep_packed(weight);
        const acc_t<T> level = sum[0] / (acc_t<T>)d, slope = sum[1] / (acc_t<T>)d;
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            finish_pack(t, x[p], dy[p], weight[p], m, level, slope, i, j, there - j, cut.packs,
                        of_w[p], of_b[p]);
        }
        for (int64_t j = at.column(HELD); j < length; j += at.step())
            finish_more(t, m, level, slope, i, j, length - j, cut.packs, dw, db);
    }
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

template <typename T> static split split_for(const tensors &t, int most_held) {
    const row_share share = share_row<T>(t.d, most_held);
    split cut = {t.rows, t.d, share.lanes, share.held, 1, 0, all_take_packs(t)};
    const int64_t least = (int64_t)GROUP_THREADS / cut.lanes * ROWS_PER_GROUP;
    cut.rows_per_chunk = ceil_div(t.rows, clamp(ceil_div(t.rows, least), 1, BLOCKS_WANTED));
    if (cut.rows_per_chunk > 0)
        cut.chunks = ceil_div(t.rows, cut.rows_per_chunk);
    return cut;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_for<T>(t, MOST_HELD);
    return with_held<2, 4, 8, MOST_HELD>(cut.held, [&](auto held) {
        constexpr int HELD = decltype(held)::value;
        return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, GROUP_THREADS / cut.lanes),
                            dim3(GROUP_THREADS), 0, (normalise<T, HELD>), matrix_of<const T>(t.x),
                            matrix_of<const T>(t.w).data, matrix_of<const T>(t.b).data,
                            matrix_of<T>(t.y), (acc_t<T>)t.eps, cut);
    });
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_for<T>(t, MOST_HELD_BACKWARD);
    acc_t<T> *of_w = static_cast<acc_t<T> *>(call->workspace), *of_b = of_w + cut.chunks * t.d;
    const gradients<T> g = {matrix_of<const T>(t.x), matrix_of<const T>(t.dy),
                            matrix_of<const T>(t.w).data, matrix_of<T>(t.dx)};
    const size_t shared = cut.lanes < GROUP_THREADS ? (size_t)t.d * sizeof(acc_t<T>) : 0;
    assay_status status = with_held<2, MOST_HELD_BACKWARD>(cut.held, [&](auto held) {
        constexpr int HELD = decltype(held)::value;
        return ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.chunks), dim3(GROUP_THREADS), shared,
                            (grad_rows<T, HELD>), g, of_w, of_b, (acc_t<T>)t.eps, cut);
    });
    if (status == ASSAY_OK)
        status = launch_sum_partials<T>(call->stream, of_w, cut.chunks, t.d,
                                        matrix_of<T>(t.dw).data, t.d, t.d);
    if (status == ASSAY_OK)
        status = launch_sum_partials<T>(call->stream, of_b, cut.chunks, t.d,
                                        matrix_of<T>(t.db).data, t.d, t.d);
    return status;
}

template <typename T> static size_t partial_bytes(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return (size_t)(2 * split_for<T>(t, MOST_HELD_BACKWARD).chunks * t.d) * sizeof(acc_t<T>);
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
