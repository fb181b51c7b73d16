/*
 * rmsnorm v3, fused: one pass over memory each way.
 *
 * A group of lanes takes one row and keeps it in registers (kernels/common/row_group.h): forward
 * adds the residual, stores h, sums the squares over the lanes and writes y. Backward keeps h and
 * dy likewise, finds both of the row's sums at once and writes dx and dr; meanwhile each lane adds
 * up dw of its columns over the rows of its block, and blocks leave partial sums in the workspace,
 * which a second kernel sums in a fixed order. Rows of more than 20480 elements of 16 bits, 10240
 * of f32 or 5120 of f64 (backward 6144, 3072 and 1536) read the rest a second time, from the cache,
 * and keep its dw in the workspace.
 *
 * bf16, 4096 rows of 2560, H100, cold, forward and backward: 39.9 and 78.4 us with two packs a
 * lane, taken apart as they came; 25.9 and 44.3 us with rows in a warp and packs kept whole.
 *
 * Against v1: every tensor is read and written once. Bytes: x, r, y and h forward; h, dy, dh, dx
 * and dr backward, plus the partial sums, one row of them for at least two rows a group. Flops: as
 * v1.
 *
 * Every sum has one order, given by the shape alone: an address that does not allow 16-byte
 * accesses changes how elements are fetched, not which lane adds them.
 */
#include "kernels/common/partials.h"
#include "kernels/common/row_group.h"
#include "kernels/rmsnorm/norm.h"

enum { MOST_HELD = 10, MOST_HELD_BACKWARD = 3 };

/* How rows are shared out. */
struct split {
    int lanes, held; /* lanes to a row, and the packs that each holds */
    int64_t chunks;  /* backward: blocks, each with its own partial dw */
    int64_t rows_per_chunk;
    bool packs; /* all tensors allow 16-byte accesses */
};

/* ---- forward ---- */

/* h = x + r, stored, of one pack; x where there is no r. */
template <typename T>
static __device__ __forceinline__ void add_residual(pack<T> &x, const pack<T> &r, T *h,
                                                    int64_t left, bool packs) {
    for (int v = 0; v < pack<T>::size; ++v)
        x.v[v] = narrow<T>(widen(x.v[v]) + widen(r.v[v]));
    store_pack(h, x, left, packs);
}

template <typename T>
static __device__ __forceinline__ void add_squares(const pack<T> &h, acc_t<T> &sum) {
    for (int v = 0; v < pack<T>::size; ++v)
        sum = fma_(widen(h.v[v]), widen(h.v[v]), sum);
}

template <typename T>
static __device__ __forceinline__ void store_scaled(const pack<T> &h, const T *w, acc_t<T> inverse,
                                                    T *y, int64_t left, bool packs) {
    const pack<T> weight = load_pack(w, left, packs);
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v)
        p.v[v] = narrow<T>(widen(h.v[v]) * inverse * widen(weight.v[v]));
    store_pack(y, p, left, packs);
}

template <typename T, int HELD>
static __global__ void __launch_bounds__(GROUP_THREADS, HELD > 4 ? 2 : 4)
    normalise(matrix<const T> x, matrix<const T> r, const T *w, matrix<T> h, matrix<T> y,
              int64_t rows, int64_t d, acc_t<T> eps, split cut) {
    const group_place<T> at(cut.lanes);
    const int groups = GROUP_THREADS / cut.lanes;
    const bool packs = cut.packs;
    for (int64_t first = (int64_t)blockIdx.x * groups; first < rows;
         first += (int64_t)gridDim.x * groups) {
        const int64_t i = first + at.group, length = i < rows ? d : 0;
        const int there = at.template held_of<HELD>(length);
        pack<T> held[HELD], other[HELD];
        acc_t<T> sum[1] = {0};
        load_held(x.row(i), length, at, packs, narrow<T>(0), held);
        if (r.present())
            load_held(r.row(i), length, at, packs, narrow<T>(0), other);
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            if (r.present())
                add_residual(held[p], other[p], h.row(i) + j, there - j, packs);
            add_squares(held[p], sum[0]);
        }
        for (int64_t j = at.column(HELD); j < length; j += at.step()) {
            pack<T> more = load_pack(x.row(i) + j, length - j, packs);
            if (r.present())
                add_residual(more, load_pack(r.row(i) + j, length - j, packs), h.row(i) + j,
                             length - j, packs);
            add_squares(more, sum[0]);
        }
        reduce_group<group_add>(sum, cut.lanes);
        keep_packed(held);
        const acc_t<T> inverse = inverse_root(sum[0], d, eps);
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            store_scaled(held[p], w + j, inverse, y.row(i) + j, there - j, packs);
        }
        for (int64_t j = at.column(HELD); j < length; j += at.step()) {
            const T *from = r.present() ? h.row(i) : x.row(i);
            store_scaled(load_pack(from + j, length - j, packs), w + j, inverse, y.row(i) + j,
                         length - j, packs);
        }
    }
}

/* ---- backward ---- */

template <typename T> struct gradients {
    matrix<const T> h, dy, dh;
    const T *w;
    matrix<T> dx, dr;
};

/* Adds h² and g h of one pack. */
template <typename T>
static __device__ __forceinline__ void add_sums(const pack<T> &h, const pack<T> &dy,
                                                const pack<T> &weight, acc_t<T> (&sum)[2]) {
    add_squares(h, sum[0]);
    for (int v = 0; v < pack<T>::size; ++v)
        sum[1] = fma_(widen(dy.v[v]) * widen(weight.v[v]), widen(h.v[v]), sum[1]);
}

/* Writes dx and dr of one pack, at column j of row i, and adds its part of dw. */
template <typename T>
static __device__ __forceinline__ void
finish_pack(const gradients<T> &t, const pack<T> &h, const pack<T> &dy, const pack<T> &dh,
            const pack<T> &weight, acc_t<T> inverse, acc_t<T> slope, int64_t i, int64_t j,
            int64_t left, bool packs, acc_t<T> (&part)[pack<T>::size]) {
    pack<T> p;
    for (int v = 0; v < pack<T>::size; ++v) {
        const acc_t<T> normal = widen(h.v[v]) * inverse;
        acc_t<T> g = fma_(-normal, slope, widen(dy.v[v]) * widen(weight.v[v])) * inverse;
        if (t.dh.present())
            g += widen(dh.v[v]);
        p.v[v] = narrow<T>(g);
        part[v] = fma_(widen(dy.v[v]), normal, part[v]);
    }
    store_pack(t.dx.row(i) + j, p, left, packs);
    if (t.dr.present())
        store_pack(t.dr.row(i) + j, p, left, packs);
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
    finish_pack(t, load_pack(t.h.row(i) + j, left, packs), load_pack(t.dy.row(i) + j, left, packs),
                dh, load_pack(t.w + j, left, packs), inverse, slope, i, j, left, packs, part);
    for (int v = 0; v < V && v < left; ++v)
        dw[j + v] = part[v];
}

template <typename T, int HELD>
static __global__ void __launch_bounds__(GROUP_THREADS, 2)
    grad_rows(gradients<T> t, acc_t<T> *partial, int64_t rows, int64_t d, acc_t<T> eps, split cut) {
    constexpr int V = pack<T>::size;
    const group_place<T> at(cut.lanes);
    const int groups = GROUP_THREADS / cut.lanes;
    const bool packs = cut.packs;
    const int64_t begin = blockIdx.x * cut.rows_per_chunk;
    const int64_t end = begin + cut.rows_per_chunk < rows ? begin + cut.rows_per_chunk : rows;
    acc_t<T> *dw = partial + blockIdx.x * d;
    acc_t<T> part[HELD][V] = {};
    /* Packs that are not held exist where the block has one group: this lane alone has them. */
    for (int64_t j = at.column(HELD); j < d; j += at.step())
        for (int v = 0; v < V && j + v < d; ++v)
            dw[j + v] = 0;
    pack<T> weight[HELD];
    load_held(t.w, d, at, packs, narrow<T>(0), weight);
    for (int64_t first = begin; first < end; first += groups) {
        const int64_t i = first + at.group, length = i < end ? d : 0;
        const int there = at.template held_of<HELD>(length);
        pack<T> h[HELD], dy[HELD], dh[HELD] = {};
        acc_t<T> sum[2] = {0, 0};
        load_held(t.h.row(i), length, at, packs, narrow<T>(0), h);
        load_held(t.dy.row(i), length, at, packs, narrow<T>(0), dy);
        if (t.dh.present())
            load_held(t.dh.row(i), length, at, packs, narrow<T>(0), dh);
#pragma unroll
        for (int p = 0; p < HELD; ++p)
            add_sums(h[p], dy[p], weight[p], sum);
        for (int64_t j = at.column(HELD); j < length; j += at.step())
            add_sums(load_pack(t.h.row(i) + j, length - j, packs),
                     load_pack(t.dy.row(i) + j, length - j, packs),
                     load_pack(t.w + j, length - j, packs), sum);
        reduce_group<group_add>(sum, cut.lanes);
        keep_packed(h);
        keep_packed(dy);
        keep_packed(weight);
        const acc_t<T> inverse = inverse_root(sum[0], d, eps);
        const acc_t<T> slope = inverse * (sum[1] / (acc_t<T>)d); /* as v1 has it */
#pragma unroll
        for (int p = 0; p < HELD; ++p) {
            const int j = at.column(p);
            finish_pack(t, h[p], dy[p], dh[p], weight[p], inverse, slope, i, j, there - j, packs,
                        part[p]);
        }
        for (int64_t j = at.column(HELD); j < length; j += at.step())
            finish_more(t, inverse, slope, i, j, length - j, packs, dw);
    }
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

template <typename T> static split split_for(const tensors &t, int most_held) {
    const row_share share = share_row<T>(t.d, most_held);
    split cut = {share.lanes, share.held, 0, 0, all_take_packs(t)};
    const int64_t least = (int64_t)GROUP_THREADS / cut.lanes * ROWS_PER_GROUP;
    cut.rows_per_chunk = ceil_div(t.rows, clamp(ceil_div(t.rows, least), 1, BLOCKS_WANTED));
    cut.chunks = cut.rows_per_chunk > 0 ? ceil_div(t.rows, cut.rows_per_chunk) : 1;
    return cut;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_for<T>(t, MOST_HELD);
    const matrix<T> h = t.r != NULL ? matrix_of<T>(t.h) : matrix<T>{NULL, 0};
    return with_held<2, 4, 8, MOST_HELD>(cut.held, [&](auto held) {
        constexpr int HELD = decltype(held)::value;
        return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, GROUP_THREADS / cut.lanes),
                            dim3(GROUP_THREADS), 0, (normalise<T, HELD>), matrix_of<const T>(t.x),
                            matrix_of<const T>(t.r), matrix_of<const T>(t.w).data, h,
                            matrix_of<T>(t.y), t.rows, t.d, (acc_t<T>)t.eps, cut);
    });
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_for<T>(t, MOST_HELD_BACKWARD);
    acc_t<T> *partial = static_cast<acc_t<T> *>(call->workspace);
    const gradients<T> g = {matrix_of<const T>(t.h),  matrix_of<const T>(t.dy),
                            matrix_of<const T>(t.dh), matrix_of<const T>(t.w).data,
                            matrix_of<T>(t.dx),       matrix_of<T>(t.dr)};
    const size_t shared = cut.lanes < GROUP_THREADS ? (size_t)t.d * sizeof(acc_t<T>) : 0;
    const assay_status status = with_held<2, MOST_HELD_BACKWARD>(cut.held, [&](auto held) {
        constexpr int HELD = decltype(held)::value;
        return ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.chunks), dim3(GROUP_THREADS), shared,
                            (grad_rows<T, HELD>), g, partial, t.rows, t.d, (acc_t<T>)t.eps, cut);
    });
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(call->stream, partial, cut.chunks, t.d, matrix_of<T>(t.dw).data,
                                  t.d, t.d);
}

template <typename T> static size_t partial_bytes(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return (size_t)(split_for<T>(t, MOST_HELD_BACKWARD).chunks * t.d) * sizeof(acc_t<T>);
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
