/*
 * reduce v1, naive: one thread a result, which walks over the elements that make it; backward the
 * same, for max once more to count those that are the largest.
 *
 * Bytes: every element is read once (backward, max: twice) and every result written. Where the last
 * axis is reduced, the threads of a warp read from 32 rows. Flops: one an element.
 */
#include "kernels/reduce/plan.h"

enum { THREADS = 128 };

template <typename T> static __global__ void reduce(matrix<const T> x, matrix<T> y, plan p) {
    for (int64_t o = grid_thread(); o < p.results(); o += grid_threads()) {
        const T *from = x.data + p.kept.at(o);
        acc_t<T> all = p.kind == MAX ? -INFINITY : 0;
        for (int64_t r = 0; r < p.reduced.total; ++r) {
            const acc_t<T> v = widen(from[p.reduced.at(r)]);
            all = p.kind == MAX ? larger(all, v) : all + v;
        }
        *p.result(y, o) = narrow<T>(p.kind == MEAN ? all / (acc_t<T>)p.reduced.total : all);
    }
}

/* dx has a layout of its own. */
template <typename T> static __global__ void spread(matrix<const T> dy, T *dx, plan p) {
    for (int64_t o = grid_thread(); o < p.results(); o += grid_threads()) {
        const acc_t<T> given = widen(*p.result(dy, o));
        const acc_t<T> part = p.kind == MEAN ? given / (acc_t<T>)p.reduced.total : given;
        for (int64_t r = 0; r < p.reduced.total; ++r)
            dx[p.kept.at(o) + p.reduced.at(r)] = narrow<T>(part);
    }
}

template <typename T>
static __global__ void share(matrix<const T> x, matrix<const T> y, matrix<const T> dy, T *dx,
                             plan p, plan to) {
    for (int64_t o = grid_thread(); o < p.results(); o += grid_threads()) {
        const T *from = x.data + p.kept.at(o);
        T *target = dx + to.kept.at(o);
        const acc_t<T> most = widen(*p.result(y, o)), given = widen(*p.result(dy, o));
        int64_t ties = 0;
        for (int64_t r = 0; r < p.reduced.total; ++r)
            ties += is_most(widen(from[p.reduced.at(r)]), most);
        const acc_t<T> part = p.first ? given : given / (acc_t<T>)ties;
        bool left = true;
        for (int64_t r = 0; r < p.reduced.total; ++r) {
            const bool has = is_most(widen(from[p.reduced.at(r)]), most) && left;
            target[to.reduced.at(r)] = narrow<T>(has ? part : 0);
            left = left && !(has && p.first);
        }
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const plan p = plan_of(call, &call->in[0]);
    return ASSAY_LAUNCH(call->stream, linear_grid(p.kept.total, THREADS), dim3(THREADS), 0,
                        (reduce<T>), matrix_of<const T>(&call->in[0]), matrix_of<T>(&call->out[0]),
                        p);
}

/* Inputs: x, y, dy. */
template <typename T> static assay_status run_backward(const assay_call *call) {
    const assay_tensor *x = &call->in[0], *dx = &call->out[0];
    const plan p = plan_of(call, x), to = plan_of(call, dx);
    const matrix<const T> y = matrix_of<const T>(&call->in[1]),
                          dy = matrix_of<const T>(&call->in[2]);
    T *target = static_cast<T *>(dx->data);
    if (p.kind == MAX)
        return ASSAY_LAUNCH(call->stream, linear_grid(p.kept.total, THREADS), dim3(THREADS), 0,
                            (share<T>), matrix_of<const T>(x), y, dy, target, p, to);
    return ASSAY_LAUNCH(call->stream, linear_grid(p.kept.total, THREADS), dim3(THREADS), 0,
                        (spread<T>), dy, target, to);
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(reduce, v1) = {
    .op = "reduce",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread a result",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
