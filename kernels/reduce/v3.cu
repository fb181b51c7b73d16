/*
 * reduce v3: where the last axis is reduced, a group of lanes makes a result (kernels/common/
 * row_group.h), 16 bytes a lane at a time; where it is kept, a thread makes one, and a warp reads
 * 32 that lie beside each other. Where results are few, the elements of one are shared out among
 * blocks, whose parts are joined in one order. Backward, one thread 16 bytes of dx; for max the
 * number of the largest elements, or the first of them, is found before, as a result is.
 *
 * Against v1: whole sectors are read, and all of the device works on few results. Bytes: x is read
 * once (backward, max: twice), dx written once. Flops: one an element.
 *
 * Backward of a sum over either axis of 4096 x 4096, f32, H100, cold: 147 us with one element a
 * thread, each of which divided its number by the extents; 42 with 16 bytes.
 */
#include "kernels/common/row_group.h"
#include "kernels/reduce/plan.h"

enum { THREADS = GROUP_THREADS, SEGMENT = 4096, MOST_PARTS = 1024, LEAST_TERMS = 64 };

/* ---- what is made of elements: A begin(), add(), join() ---- */

template <typename T> struct of_sum {
    typedef acc_t<T> A;
    static __device__ __forceinline__ A begin() {
        return 0;
    }
    static __device__ __forceinline__ A add(A all, T v, acc_t<T>, int64_t) {
        return all + widen(v);
    }
    static __device__ __forceinline__ A of(A a, A b) {
        return a + b;
    }
};
template <typename T> struct of_most {
    typedef acc_t<T> A;
    static __device__ __forceinline__ A begin() {
        return -INFINITY;
    }
    static __device__ __forceinline__ A add(A all, T v, acc_t<T>, int64_t) {
        return larger(all, widen(v));
    }
    static __device__ __forceinline__ A of(A a, A b) {
        return larger(a, b);
    }
};
/* How many elements are y. Whole numbers, as double. */
template <typename T> struct of_ties {
    typedef double A;
    static __device__ __forceinline__ A begin() {
        return 0;
    }
    static __device__ __forceinline__ A add(A all, T v, acc_t<T> y, int64_t) {
        return is_most(widen(v), y) ? all + 1 : all;
    }
    static __device__ __forceinline__ A of(A a, A b) {
        return a + b;
    }
};
/* The number of the first that is. */
template <typename T> struct of_first {
    typedef double A;
    static __device__ __forceinline__ A begin() {
        return INFINITY;
    }
    static __device__ __forceinline__ A add(A all, T v, acc_t<T> y, int64_t r) {
        return is_most(widen(v), y) && (double)r < all ? (double)r : all;
    }
    static __device__ __forceinline__ A of(A a, A b) {
        return b < a ? b : a;
    }
};

/* ---- shares ---- */

/* The elements of a result are units: pieces of its rows, at most SEGMENT long, or, where the last
 * axis is kept, single elements. Each part has as many, in their order. */
struct split {
    int64_t parts, units; /* of a part */
    int64_t all, pieces;  /* units of a result, and of a row of it */
    int lanes;            /* to a result; 0: the last axis is kept */
    bool packs;           /* every row of x starts where a pack may */
};

static inline int64_t row_of(const plan &p) {
    return p.reduced.size[p.reduced.count - 1];
}

/* A lane adds up to PIECES packs of a row, one of a piece of it. */
template <typename T> static int lanes_for(int64_t row, bool whole) {
    constexpr int PIECES = pack<T>::size > 4 ? 2 : 4;
    const int64_t packs = ceil_div(row, pack<T>::size);
    int lanes = 1;
    while (lanes < THREADS && lanes * (whole ? PIECES : 1) < packs)
        lanes *= 2;
    return lanes;
}

template <typename T> static split split_for(const plan &p, const assay_tensor *x) {
    const int64_t wanted = 2 * (int64_t)ASSAY_MULTIPROCESSORS;
    split s = {1, 1, p.reduced.total, 1, 0, false};
    if (p.last) {
        s.pieces = ceil_div(row_of(p), SEGMENT);
        s.all = p.reduced.total / (row_of(p) > 0 ? row_of(p) : 1) * s.pieces;
        s.lanes = lanes_for<T>(row_of(p), s.pieces == 1);
        s.packs = takes_packs(x);
    }
    const int64_t a_block = s.lanes > 0 ? THREADS / s.lanes : (int)THREADS;
    const int64_t blocks = clamp(ceil_div(p.kept.total, a_block), 1, wanted);
    const int64_t least = s.lanes > 0 ? 2 : (int)LEAST_TERMS;
    const int64_t most = clamp(ceil_div(s.all, least), 1, MOST_PARTS);
    s.units = clamp(ceil_div(s.all, clamp(ceil_div(wanted, blocks), 1, most)), 1, INT64_MAX);
    s.parts = clamp(ceil_div(s.all, s.units), 1, MOST_PARTS);
    return s;
}

/* ---- parts[part, result] ---- */

/* The lane's elements of one unit: `r` is the number of the first of the unit. */
template <typename T, typename Op>
static __device__ __forceinline__ typename Op::A add_piece(const T *row, int64_t r, int64_t length,
                                                           const group_place<T> &at, bool packs,
                                                           acc_t<T> y, typename Op::A all) {
    for (int64_t j = (int64_t)at.lane * pack<T>::size; j < length; j += at.step()) {
        const pack<T> held = load_pack(row + j, length - j, packs);
#pragma unroll
        for (int v = 0; v < pack<T>::size; ++v)
            if (j + v < length)
                all = Op::add(all, held.v[v], y, r + j + v);
    }
    return all;
}

/* y: NULL, or what elements are compared with. */
template <typename T, typename Op>
static __global__ void __launch_bounds__(THREADS)
    make_rows(matrix<const T> x, matrix<const T> y, typename Op::A *parts, plan p, split s) {
    const group_place<T> at(s.lanes);
    const int groups = THREADS / s.lanes;
    const int64_t row = p.reduced.size[p.reduced.count - 1];
    const int64_t strips = (p.results() + groups - 1) / groups;
    for (int64_t b = blockIdx.x; b < strips * s.parts; b += gridDim.x) {
        const int64_t o = b % strips * groups + at.group, part = b / strips;
        const int64_t end = (part + 1) * s.units < s.all ? (part + 1) * s.units : s.all;
        typename Op::A all = Op::begin();
        if (o < p.results()) {
            const T *from = x.data + p.kept.at(o);
            const acc_t<T> most = y.data != NULL ? widen(*p.result(y, o)) : 0;
            for (int64_t u = part * s.units; u < end; ++u) {
                const int64_t first = u % s.pieces * SEGMENT, r = u / s.pieces * row + first;
                const int64_t length = row - first < SEGMENT ? row - first : (int64_t)SEGMENT;
                all = add_piece<T, Op>(from + p.reduced.at(r), r, length, at, s.packs, most, all);
            }
        }
        all = reduce_group<Op>(all, s.lanes);
        if (at.lane == 0 && o < p.results())
            parts[part * p.results() + o] = all;
    }
}

template <typename T, typename Op>
static __global__ void make_columns(matrix<const T> x, matrix<const T> y, typename Op::A *parts,
                                    plan p, split s) {
    for (int64_t t = grid_thread(); t < p.results() * s.parts; t += grid_threads()) {
        const int64_t o = t % p.results(), part = t / p.results();
        const int64_t end = (part + 1) * s.units < s.all ? (part + 1) * s.units : s.all;
        const T *from = x.data + p.kept.at(o);
        const acc_t<T> most = y.data != NULL ? widen(*p.result(y, o)) : 0;
        typename Op::A all = Op::begin();
        for (int64_t r = part * s.units; r < end; ++r)
            all = Op::add(all, from[p.reduced.at(r)], most, r);
        parts[t] = all;
    }
}

template <typename Op>
static __device__ __forceinline__ typename Op::A join(const typename Op::A *parts, int64_t o,
                                                      int64_t results, int64_t count) {
    typename Op::A all = parts[o];
    for (int64_t i = 1; i < count; ++i)
        all = Op::of(all, parts[i * results + o]);
    return all;
}

template <typename T, typename Op>
static __global__ void store_results(const typename Op::A *parts, matrix<T> y, plan p, split s) {
    for (int64_t o = grid_thread(); o < p.results(); o += grid_threads()) {
        const acc_t<T> all = join<Op>(parts, o, p.results(), s.parts);
        *p.result(y, o) = narrow<T>(p.kind == MEAN ? all / (acc_t<T>)p.reduced.total : all);
    }
}

/* In parts[result], from where dx takes it. */
template <typename Op> static __global__ void join_parts(typename Op::A *parts, plan p, split s) {
    for (int64_t o = grid_thread(); o < p.results(); o += grid_threads())
        parts[o] = join<Op>(parts, o, p.results(), s.parts);
}

template <typename T, typename Op>
static assay_status make_parts(const assay_call *call, const plan &p, const split &s,
                               matrix<const T> y, typename Op::A *parts) {
    const matrix<const T> x = matrix_of<const T>(&call->in[0]);
    if (s.lanes == 0)
        return ASSAY_LAUNCH(call->stream, linear_grid(p.kept.total * s.parts, THREADS),
                            dim3(THREADS), 0, (make_columns<T, Op>), x, y, parts, p, s);
    const int64_t strips = ceil_div(p.kept.total, THREADS / s.lanes);
    return ASSAY_LAUNCH(call->stream, linear_grid(strips * s.parts, 1), dim3(THREADS), 0,
                        (make_rows<T, Op>), x, y, parts, p, s);
}

/* ---- dx ---- */

/* x's rows, along the last axis, in the order of memory: where each lies in x and in dx, the number
 * of its first element's result, and that element's own among its result's. Along a row the number
 * of the result goes up by `result`, or that of the element by `number`: one of them is 0. */
struct walk {
    int rank; /* of the axes before the last */
    int64_t rows, length, result, number;
    int64_t size[ASSAY_MAX_RANK], x[ASSAY_MAX_RANK], dx[ASSAY_MAX_RANK], results[ASSAY_MAX_RANK],
        numbers[ASSAY_MAX_RANK];
    bool packs; /* rows of x and dx allow 16-byte accesses */
};

static walk walk_of(const assay_call *call) {
    const assay_tensor *x = &call->in[0], *dx = &call->out[0];
    walk w = {};
    int64_t result = 1, number = 1;
    w.rank = x->rank - 1;
    w.rows = w.length = 1;
    for (int a = x->rank - 1; a >= 0; --a) {
        const bool reduced = is_reduced(call, a), last = a == x->rank - 1;
        (last ? w.length : w.rows) *= x->shape[a];
        (last ? w.result : w.results[a]) = reduced ? 0 : result;
        (last ? w.number : w.numbers[a]) = reduced ? number : 0;
        w.size[a] = x->shape[a];
        w.x[a] = x->stride[a];
        w.dx[a] = dx->stride[a];
        result *= reduced ? 1 : x->shape[a];
        number *= reduced ? x->shape[a] : 1;
    }
    w.packs = takes_packs(x) && takes_packs(dx);
    return w;
}

/* A thread writes a pack of dx at a time. found: of max, how many elements are y, or the number of
 * the first. */
template <typename T, bool BY_MAX>
static __global__ void __launch_bounds__(THREADS)
    give(matrix<const T> x, matrix<const T> y, matrix<const T> dy, T *dx, const double *found,
         plan p, walk w) {
    constexpr int V = pack<T>::size;
    const int64_t row_packs = ceil_div(w.length, V);
    for (int64_t q = grid_thread(); q < w.rows * row_packs; q += grid_threads()) {
        int64_t rest = q / row_packs;
        const int64_t j = (q - rest * row_packs) * V, left = w.length - j;
        int64_t at = j, to = j, o = j * w.result, r = j * w.number;
        for (int a = w.rank - 1; a >= 0; --a) {
            const int64_t above = rest / w.size[a], i = rest - above * w.size[a];
            rest = above;
            at += i * w.x[a];
            to += i * w.dx[a];
            o += i * w.results[a];
            r += i * w.numbers[a];
        }
        /* Results of a row's elements are one, or lie side by side. */
        const T *const given = p.result(dy, o);
        pack<T> element, part;
        if constexpr (BY_MAX)
            element = load_pack(x.data + at, left, w.packs);
        for (int v = 0; v < V; ++v) {
            acc_t<T> share = v < left ? widen(given[v * w.result]) : (acc_t<T>)0;
            if (p.kind == MEAN)
                share /= (acc_t<T>)p.reduced.total;
            if (BY_MAX && v < left) {
                const double of_result = found[o + v * w.result];
                const T *const most = p.result(y, o) + v * w.result;
                const bool has = p.first ? of_result == (double)(r + v * w.number)
                                         : is_most(widen(element.v[v]), widen(*most));
                share = has ? (p.first ? share : share / (acc_t<T>)of_result) : 0;
            }
            part.v[v] = narrow<T>(share);
        }
        store_pack(dx + to, part, left, w.packs);
    }
}

/* ---- launches ---- */

template <typename T, typename Op>
static assay_status run_kind(const assay_call *call, const plan &p, const split &s) {
    typedef typename Op::A A;
    A *parts = static_cast<A *>(call->workspace);
    const assay_status status = make_parts<T, Op>(call, p, s, {NULL, 0}, parts);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(p.kept.total, THREADS), dim3(THREADS), 0,
                        (store_results<T, Op>), parts, matrix_of<T>(&call->out[0]), p, s);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const plan p = plan_of(call, &call->in[0]);
    const split s = split_for<T>(p, &call->in[0]);
    return p.kind == MAX ? run_kind<T, of_most<T>>(call, p, s) : run_kind<T, of_sum<T>>(call, p, s);
}

template <typename T, typename Op>
static assay_status find(const assay_call *call, const plan &p, double *parts) {
    const split s = split_for<T>(p, &call->in[0]);
    const assay_status status =
        make_parts<T, Op>(call, p, s, matrix_of<const T>(&call->in[1]), parts);
    if (status != ASSAY_OK || s.parts == 1)
        return status;
    return ASSAY_LAUNCH(call->stream, linear_grid(p.kept.total, THREADS), dim3(THREADS), 0,
                        (join_parts<Op>), parts, p, s);
}

/* Inputs: x, y, dy. */
template <typename T> static assay_status run_backward(const assay_call *call) {
    const plan p = plan_of(call, &call->in[0]);
    const walk w = walk_of(call);
    double *found = static_cast<double *>(call->workspace);
    assay_status status = ASSAY_OK;
    if (p.kind == MAX)
        status =
            p.first ? find<T, of_first<T>>(call, p, found) : find<T, of_ties<T>>(call, p, found);
    if (status != ASSAY_OK)
        return status;
    return ASSAY_LAUNCH(
        call->stream, linear_grid(w.rows * ceil_div(w.length, pack<T>::size), THREADS),
        dim3(THREADS), 0, (p.kind == MAX ? give<T, true> : give<T, false>),
        matrix_of<const T>(&call->in[0]), matrix_of<const T>(&call->in[1]),
        matrix_of<const T>(&call->in[2]), static_cast<T *>(call->out[0].data), found, p, w);
}

template <typename T> static int64_t parts_of(const plan &p, const assay_tensor *x) {
    return split_for<T>(p, x).parts;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const assay_tensor *x = &call->in[0];
    const plan p = plan_of(call, x);
    const int64_t parts = call->params->dtype == ASSAY_F64    ? parts_of<double>(p, x)
                          : call->params->dtype == ASSAY_BF16 ? parts_of<__nv_bfloat16>(p, x)
                          : call->params->dtype == ASSAY_F16  ? parts_of<__half>(p, x)
                                                              : parts_of<float>(p, x);
    const bool wide = call->params->dtype == ASSAY_F64 || stage == ASSAY_BACKWARD;
    if (stage == ASSAY_BACKWARD && p.kind != MAX)
        return 0;
    return (size_t)(parts * p.kept.total) * (wide ? sizeof(double) : sizeof(float));
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(reduce, v3) = {
    .op = "reduce",
    .name = "v3",
    .device = ASSAY_DEVICE_NAME,
    .summary = "groups of lanes or threads side by side, few results shared by blocks",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
