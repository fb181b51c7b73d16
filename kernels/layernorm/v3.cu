/*
 * layernorm v3, fused: one pass over memory each way.
 *
 * A group of lanes takes one row and keeps it in registers (kernels/common/row_group.h): the mean,
 * then the squares about it, come from there. Backward keeps x and dy, finds both of the row's sums
 * and writes dx; meanwhile each lane adds up dw and db of its columns over the rows of its block,
 * and blocks leave partial sums in the workspace, which a second kernel sums in a fixed order. Rows
 * of more than 4096 elements (f64: 2048) read the rest again, from the cache, and keep its dw and
 * db in the workspace.
 *
 * Against v1: every tensor is read and written once. Bytes: x and y forward; x, dy and dx backward,
 * plus the partial sums, two rows of them for at least two rows a group. Flops: 8 rows d forward,
 * 16 rows d backward.
 */
#include "kernels/common/partials.h"
#include "kernels/common/row_group.h"
#include "kernels/layernorm/norm.h"

/* How rows are shared out. */
struct split {
    int64_t rows, d;
    int lanes;      /* to a row */
    int64_t chunks; /* backward: blocks, each with its own partial dw and db */
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

template <typename T>
static __device__ __forceinline__ moments<acc_t<T>>
moments_of(const T *row, const pack<T> (&held)[HELD<T>], int64_t length, group_place<T> at,
           const split &cut, acc_t<T> eps) {
    acc_t<T> sum = 0, squares = 0;
#pragma unroll
    for (int p = 0; p < HELD<T>; ++p)
        sum = add_all(held[p], sum);
    for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
        sum = add_all(load_pack(row + j, length - j, cut.packs), sum);
    const acc_t<T> mean = reduce_group<group_add>(sum, cut.lanes) / (acc_t<T>)cut.d;
#pragma unroll
    for (int p = 0; p < HELD<T>; ++p)
        squares = add_squares(held[p], mean, length - at.column(p), squares);
    for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
        squares = add_squares(load_pack(row + j, length - j, cut.packs), mean, length - j, squares);
    return {mean, scale_of(reduce_group<group_add>(squares, cut.lanes), cut.d, eps)};
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

template <typename T>
static __global__ void __launch_bounds__(GROUP_THREADS, 4)
    normalise(matrix<const T> x, const T *w, const T *b, matrix<T> y, acc_t<T> eps, split cut) {
    const group_place<T> at(cut.lanes);
    const int groups = GROUP_THREADS / cut.lanes;
    for (int64_t first = (int64_t)blockIdx.x * groups; first < cut.rows;
         first += (int64_t)gridDim.x * groups) {
        const int64_t i = first + at.group, length = i < cut.rows ? cut.d : 0;
        const T *row = x.row(i);
        pack<T> held[HELD<T>];
        load_held(row, length, at, cut.packs, narrow<T>(0), held);
        const moments<acc_t<T>> m = moments_of(row, held, length, at, cut, eps);
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            store_scaled(held[p], m, w + j, b + j, y.row(i) + j, length - j, cut.packs);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
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
static __device__ __forceinline__ void add_slopes(const pack<T> &x, const pack<T> &dy, const T *w,
                                                  moments<acc_t<T>> m, int64_t left, bool packs,
                                                  acc_t<T> &sum, acc_t<T> &along) {
    const pack<T> weight = load_pack(w, left, packs);
    for (int v = 0; v < pack<T>::size; ++v) {
        if (v >= left)
            continue;
        const acc_t<T> g = widen(dy.v[v]) * widen(weight.v[v]);
        sum += g;
        along = fma_(g, (widen(x.v[v]) - m.mean) * m.scale, along);
    }
}

/* Writes dx of one pack, at column j of row i, and adds its part of dw and db. */
template <typename T>
static __device__ __forceinline__ void
finish_pack(const gradients<T> &t, const pack<T> &x, const pack<T> &dy, moments<acc_t<T>> m,
            acc_t<T> level, acc_t<T> slope, int64_t i, int64_t j, int64_t left, bool packs,
            acc_t<T> (&of_w)[pack<T>::size], acc_t<T> (&of_b)[pack<T>::size]) {
    const pack<T> weight = load_pack(t.w + j, left, packs);
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
                m, level, slope, i, j, left, packs, of_w, of_b);
    for (int v = 0; v < V && v < left; ++v) {
        dw[j + v] = of_w[v];
        db[j + v] = of_b[v];
    }
}

/* Sums the groups' parts of dw or db: first inside each warp, then one warp, or group of warps,
 * after the other, in shared memory. */
template <typename T>
static __device__ __forceinline__ void write_partial(acc_t<T> (&part)[HELD<T>][pack<T>::size],
                                                     group_place<T> at, int64_t d, acc_t<T> *to) {
    constexpr int V = pack<T>::size;
    for (int offset = at.lanes; offset < GROUP_WARP; offset *= 2)
        for (int p = 0; p < HELD<T>; ++p)
            for (int v = 0; v < V; ++v)
                part[p][v] += __shfl_xor_sync(0xffffffffu, part[p][v], offset);
    ASSAY_DYNAMIC_SHARED(acc_t<T>, shared);
    const int width = at.lanes < GROUP_WARP ? GROUP_WARP : at.lanes, turns = GROUP_THREADS / width;
    acc_t<T> *all = turns > 1 ? shared : to;
    for (int turn = 0; turn < turns; ++turn) {
        if ((int)threadIdx.x / width == turn && (int)threadIdx.x % width < at.lanes)
            for (int p = 0; p < HELD<T>; ++p)
                for (int v = 0; v < V; ++v) {
                    const int64_t j = at.column(p) + v;
                    if (j < d)
                        all[j] = turn == 0 ? part[p][v] : all[j] + part[p][v];
                }
        __syncthreads();
    }
    for (int64_t j = threadIdx.x; turns > 1 && j < d; j += GROUP_THREADS)
        to[j] = shared[j];
    __syncthreads();
}

template <typename T>
static __global__ void __launch_bounds__(GROUP_THREADS, 2)
    grad_rows(gradients<T> t, acc_t<T> *partial_w, acc_t<T> *partial_b, acc_t<T> eps, split cut) {
    constexpr int V = pack<T>::size;
    const group_place<T> at(cut.lanes);
    const int groups = GROUP_THREADS / cut.lanes;
    const int64_t d = cut.d, begin = blockIdx.x * cut.rows_per_chunk;
    const int64_t end =
        begin + cut.rows_per_chunk < cut.rows ? begin + cut.rows_per_chunk : cut.rows;
    acc_t<T> *dw = partial_w + blockIdx.x * d, *db = partial_b + blockIdx.x * d;
    acc_t<T> of_w[HELD<T>][V] = {}, of_b[HELD<T>][V] = {};
    /* Packs that are not held exist where the block has one group: this lane alone has them. */
    for (int64_t j = at.column(HELD<T>); j < d; j += at.step())
        for (int v = 0; v < V && j + v < d; ++v)
            dw[j + v] = db[j + v] = 0;
    for (int64_t first = begin; first < end; first += groups) {
        const int64_t i = first + at.group, length = i < end ? d : 0;
        pack<T> x[HELD<T>], dy[HELD<T>];
        load_held(t.x.row(i), length, at, cut.packs, narrow<T>(0), x);
        load_held(t.dy.row(i), length, at, cut.packs, narrow<T>(0), dy);
        const moments<acc_t<T>> m = moments_of(t.x.row(i), x, length, at, cut, eps);
        acc_t<T> sum = 0, along = 0;
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            add_slopes(x[p], dy[p], t.w + j, m, length - j, cut.packs, sum, along);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
            add_slopes(load_pack(t.x.row(i) + j, length - j, cut.packs),
                       load_pack(t.dy.row(i) + j, length - j, cut.packs), t.w + j, m, length - j,
                       cut.packs, sum, along);
        const acc_t<T> level = reduce_group<group_add>(sum, cut.lanes) / (acc_t<T>)d;
        const acc_t<T> slope = reduce_group<group_add>(along, cut.lanes) / (acc_t<T>)d;
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            finish_pack(t, x[p], dy[p], m, level, slope, i, j, length - j, cut.packs, of_w[p],
                        of_b[p]);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
            finish_more(t, m, level, slope, i, j, length - j, cut.packs, dw, db);
    }
    write_partial(of_w, at, d, dw);
    write_partial(of_b, at, d, db);
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

template <typename T> static split split_for(const tensors &t) {
    split cut = {t.rows, t.d, group_lanes<T>(t.d), 1, 0, all_take_packs(t)};
    const int64_t least = (int64_t)GROUP_THREADS / cut.lanes * ROWS_PER_GROUP;
    cut.rows_per_chunk = ceil_div(t.rows, clamp(ceil_div(t.rows, least), 1, BLOCKS_WANTED));
    if (cut.rows_per_chunk > 0)
        cut.chunks = ceil_div(t.rows, cut.rows_per_chunk);
    return cut;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_for<T>(t);
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, GROUP_THREADS / cut.lanes),
                        dim3(GROUP_THREADS), 0, (normalise<T>), matrix_of<const T>(t.x),
                        matrix_of<const T>(t.w).data, matrix_of<const T>(t.b).data,
                        matrix_of<T>(t.y), (acc_t<T>)t.eps, cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_for<T>(t);
    acc_t<T> *of_w = static_cast<acc_t<T> *>(call->workspace), *of_b = of_w + cut.chunks * t.d;
    const gradients<T> g = {matrix_of<const T>(t.x), matrix_of<const T>(t.dy),
                            matrix_of<const T>(t.w).data, matrix_of<T>(t.dx)};
    const size_t shared = cut.lanes < GROUP_THREADS ? (size_t)t.d * sizeof(acc_t<T>) : 0;
    assay_status status =
        ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.chunks), dim3(GROUP_THREADS), shared,
                     (grad_rows<T>), g, of_w, of_b, (acc_t<T>)t.eps, cut);
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
    return (size_t)(2 * split_for<T>(t).chunks * t.d) * sizeof(acc_t<T>);
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
