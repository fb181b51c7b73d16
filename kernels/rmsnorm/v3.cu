/*
 * rmsnorm v3, fused: one pass over memory each way.
 *
 * A group of lanes (1 to 32, or 2 to 8 warps) takes one row and keeps it in registers, up to four
 * packs of 16 bytes a lane: forward adds the residual, stores h, sums the squares over the lanes
 * and writes y. Backward keeps h and dy likewise, finds both of the row's sums at once and writes
 * dx and dr; meanwhile each lane adds up dw of its columns over the rows of its block, and blocks
 * leave partial sums in the workspace, which a second kernel sums in a fixed order. Rows of more
 * than 4096 elements (f64: 2048) read the rest a second time, from the cache, and keep its dw in
 * the workspace.
 *
 * Against v1: every tensor is read and written once. Bytes: x, r, y and h forward; h, dy, dh, dx
 * and dr backward, plus the partial sums, one row of them for at least two rows a group. Flops: as
 * v1.
 *
 * Every sum has one order, given by the shape alone: an address that does not allow 16-byte
 * accesses changes how elements are fetched, not which lane adds them.
 */
#include "kernels/common/pack.h"
#include "kernels/common/partials.h"
#include "kernels/rmsnorm/norm.h"

enum { THREADS = 256, WARP = 32 };

/* Packs of a row that a lane keeps: as many as leave registers to two blocks of a processor. */
template <typename T> constexpr int HELD = pack<T>::size > 4 ? 2 : 4;

/* How rows are shared out. */
struct split {
    int lanes;      /* to a row */
    int64_t chunks; /* backward: blocks, each with its own partial dw */
    int64_t rows_per_chunk;
    bool packs; /* all tensors allow 16-byte accesses */
};

/* A lane's place: the group of lanes it is in, and the first column of its pack number `p`. */
template <typename T> struct place {
    int group, lane, lanes;

    __device__ __forceinline__ explicit place(int lanes_)
        : group((int)threadIdx.x / lanes_), lane((int)threadIdx.x % lanes_), lanes(lanes_) {
    }
    __device__ __forceinline__ int64_t column(int64_t p) const {
        return (p * lanes + lane) * pack<T>::size;
    }
    /* From one of the lane's packs to its next. */
    __device__ __forceinline__ int64_t step() const {
        return (int64_t)lanes * pack<T>::size;
    }
};

/* The lane's first packs of a row of that length. */
template <typename T>
static __device__ __forceinline__ void load_held(const T *row, int64_t length, place<T> at,
                                                 bool packs, pack<T> (&to)[HELD<T>]) {
#pragma unroll
    for (int p = 0; p < HELD<T>; ++p)
        to[p] = load_pack(row + at.column(p), length - at.column(p), packs);
}

/* Room for the sums of each warp. No template: gcc keeps a template's variables out of the section
 * in which the simulated device watches shared memory. */
enum { SUMS = 2, WARPS = THREADS / WARP };

static __device__ __forceinline__ float *room_for_warps(float) {
    __shared__ float room[SUMS * WARPS];
    return room;
}
static __device__ __forceinline__ double *room_for_warps(double) {
    __shared__ double room[SUMS * WARPS];
    return room;
}

/* Each sum over the lanes of each group, in one order; every lane gets it. All threads of the block
 * must come here. */
template <int N, typename A>
static __device__ __forceinline__ void sum_lanes(A (&sum)[N], int lanes) {
    for (int offset = (lanes < WARP ? lanes : WARP) / 2; offset > 0; offset /= 2)
        for (int k = 0; k < N; ++k)
            sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], offset);
    if (lanes <= WARP)
        return;
    static_assert(N <= SUMS, "each warp has room for as many sums");
    A *warps = room_for_warps(A());
    const int warp = (int)threadIdx.x / WARP, first = warp * WARP / lanes * lanes / WARP;
    for (int k = 0; k < N; ++k)
        if (threadIdx.x % WARP == 0)
            warps[k * WARPS + warp] = sum[k];
    __syncthreads();
    for (int k = 0; k < N; ++k) {
        sum[k] = warps[k * WARPS + first];
        for (int i = 1; i < lanes / WARP; ++i)
            sum[k] += warps[k * WARPS + first + i];
    }
    __syncthreads();
}

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

template <typename T>
static __global__ void __launch_bounds__(THREADS, 4)
    normalise(matrix<const T> x, matrix<const T> r, const T *w, matrix<T> h, matrix<T> y,
              int64_t rows, int64_t d, acc_t<T> eps, split cut) {
    const place<T> at(cut.lanes);
    const int groups = THREADS / cut.lanes;
    const bool packs = cut.packs;
    for (int64_t first = (int64_t)blockIdx.x * groups; first < rows;
         first += (int64_t)gridDim.x * groups) {
        const int64_t i = first + at.group, length = i < rows ? d : 0;
        pack<T> held[HELD<T>], other[HELD<T>];
        acc_t<T> sum[1] = {0};
        load_held(x.row(i), length, at, packs, held);
        if (r.present())
            load_held(r.row(i), length, at, packs, other);
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            if (r.present())
                add_residual(held[p], other[p], h.row(i) + j, length - j, packs);
            add_squares(held[p], sum[0]);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step()) {
            pack<T> more = load_pack(x.row(i) + j, length - j, packs);
            if (r.present())
                add_residual(more, load_pack(r.row(i) + j, length - j, packs), h.row(i) + j,
                             length - j, packs);
            add_squares(more, sum[0]);
        }
        sum_lanes(sum, cut.lanes);
        const acc_t<T> inverse = inverse_root(sum[0], d, eps);
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            store_scaled(held[p], w + j, inverse, y.row(i) + j, length - j, packs);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step()) {
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
static __device__ __forceinline__ void add_sums(const pack<T> &h, const pack<T> &dy, const T *w,
                                                int64_t left, bool packs, acc_t<T> (&sum)[2]) {
    const pack<T> weight = load_pack(w, left, packs);
    add_squares(h, sum[0]);
    for (int v = 0; v < pack<T>::size; ++v)
        sum[1] = fma_(widen(dy.v[v]) * widen(weight.v[v]), widen(h.v[v]), sum[1]);
}

/* Writes dx and dr of one pack, at column j of row i, and adds its part of dw. */
template <typename T>
static __device__ __forceinline__ void
finish_pack(const gradients<T> &t, const pack<T> &h, const pack<T> &dy, const pack<T> &dh,
            acc_t<T> inverse, acc_t<T> slope, int64_t i, int64_t j, int64_t left, bool packs,
            acc_t<T> (&part)[pack<T>::size]) {
    const pack<T> weight = load_pack(t.w + j, left, packs);
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
                dh, inverse, slope, i, j, left, packs, part);
    for (int v = 0; v < V && v < left; ++v)
        dw[j + v] = part[v];
}

/* Sums the groups' parts of dw: first inside each warp, then one warp, or group of warps, after the
 * other, in shared memory. */
template <typename T>
static __device__ __forceinline__ void write_partial(acc_t<T> (&part)[HELD<T>][pack<T>::size],
                                                     place<T> at, int64_t d, acc_t<T> *dw) {
    constexpr int V = pack<T>::size;
    for (int offset = at.lanes; offset < WARP; offset *= 2)
        for (int p = 0; p < HELD<T>; ++p)
            for (int v = 0; v < V; ++v)
                part[p][v] += __shfl_xor_sync(0xffffffffu, part[p][v], offset);
    ASSAY_DYNAMIC_SHARED(acc_t<T>, shared);
    const int width = at.lanes < WARP ? WARP : at.lanes, turns = THREADS / width;
    acc_t<T> *all = turns > 1 ? shared : dw;
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
    for (int64_t j = threadIdx.x; turns > 1 && j < d; j += THREADS)
        dw[j] = shared[j];
}

template <typename T>
static __global__ void __launch_bounds__(THREADS, 2)
    grad_rows(gradients<T> t, acc_t<T> *partial, int64_t rows, int64_t d, acc_t<T> eps, split cut) {
    constexpr int V = pack<T>::size;
    const place<T> at(cut.lanes);
    const int groups = THREADS / cut.lanes;
    const bool packs = cut.packs;
    const int64_t begin = blockIdx.x * cut.rows_per_chunk;
    const int64_t end = begin + cut.rows_per_chunk < rows ? begin + cut.rows_per_chunk : rows;
    acc_t<T> *dw = partial + blockIdx.x * d;
    acc_t<T> part[HELD<T>][V] = {};
    /* Packs that are not held exist where the block has one group: this lane alone has them. */
    for (int64_t j = at.column(HELD<T>); j < d; j += at.step())
        for (int v = 0; v < V && j + v < d; ++v)
            dw[j + v] = 0;
    for (int64_t first = begin; first < end; first += groups) {
        const int64_t i = first + at.group, length = i < end ? d : 0;
        pack<T> h[HELD<T>], dy[HELD<T>], dh[HELD<T>] = {};
        acc_t<T> sum[2] = {0, 0};
        load_held(t.h.row(i), length, at, packs, h);
        load_held(t.dy.row(i), length, at, packs, dy);
        if (t.dh.present())
            load_held(t.dh.row(i), length, at, packs, dh);
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            add_sums(h[p], dy[p], t.w + j, length - j, packs, sum);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
            add_sums(load_pack(t.h.row(i) + j, length - j, packs),
                     load_pack(t.dy.row(i) + j, length - j, packs), t.w + j, length - j, packs,
                     sum);
        sum_lanes(sum, cut.lanes);
        const acc_t<T> inverse = inverse_root(sum[0], d, eps);
        const acc_t<T> slope = inverse * (sum[1] / (acc_t<T>)d); /* as v1 has it */
#pragma unroll
        for (int p = 0; p < HELD<T>; ++p) {
            const int64_t j = at.column(p);
            finish_pack(t, h[p], dy[p], dh[p], inverse, slope, i, j, length - j, packs, part[p]);
        }
        for (int64_t j = at.column(HELD<T>); j < length; j += at.step())
            finish_more(t, inverse, slope, i, j, length - j, packs, dw);
    }
    write_partial(part, at, d, dw);
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

template <typename T> static split split_for(const tensors &t) {
    const int64_t packs = ceil_div(t.d, pack<T>::size);
    split cut = {1, 0, 0, all_take_packs(t)};
    while (cut.lanes < THREADS && (int64_t)cut.lanes * HELD<T> < packs)
        cut.lanes *= 2;
    const int64_t least = (int64_t)THREADS / cut.lanes * ROWS_PER_GROUP;
    cut.rows_per_chunk = ceil_div(t.rows, clamp(ceil_div(t.rows, least), 1, BLOCKS_WANTED));
    cut.chunks = cut.rows_per_chunk > 0 ? ceil_div(t.rows, cut.rows_per_chunk) : 1;
    return cut;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const split cut = split_for<T>(t);
    const matrix<T> h = t.r != NULL ? matrix_of<T>(t.h) : matrix<T>{NULL, 0};
    return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS / cut.lanes), dim3(THREADS), 0,
                        (normalise<T>), matrix_of<const T>(t.x), matrix_of<const T>(t.r),
                        matrix_of<const T>(t.w).data, h, matrix_of<T>(t.y), t.rows, t.d,
                        (acc_t<T>)t.eps, cut);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const split cut = split_for<T>(t);
    acc_t<T> *partial = static_cast<acc_t<T> *>(call->workspace);
    const gradients<T> g = {matrix_of<const T>(t.h),  matrix_of<const T>(t.dy),
                            matrix_of<const T>(t.dh), matrix_of<const T>(t.w).data,
                            matrix_of<T>(t.dx),       matrix_of<T>(t.dr)};
    const size_t shared = cut.lanes < THREADS ? (size_t)t.d * sizeof(acc_t<T>) : 0;
    const assay_status status =
        ASSAY_LAUNCH(call->stream, dim3((unsigned)cut.chunks), dim3(THREADS), shared,
                     (grad_rows<T>), g, partial, t.rows, t.d, (acc_t<T>)t.eps, cut);
    if (status != ASSAY_OK)
        return status;
    return launch_sum_partials<T>(call->stream, partial, cut.chunks, t.d, matrix_of<T>(t.dw).data,
                                  t.d, t.d);
}

template <typename T> static size_t partial_bytes(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    return (size_t)(split_for<T>(t).chunks * t.d) * sizeof(acc_t<T>);
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
