/*
 * adamw v1, naive: a kernel for each of m, v and p, one thread for each parameter. No vendor's
 * library has an optimizer, so there is no v2.
 *
 * Bytes: 11 n elements, as the kernels of m and v both read g, and that of p reads what they wrote.
 * Flops: 14 n.
 */
#include "kernels/adamw/update.h"

enum { THREADS = 256 };

template <typename T> static __global__ void move_m(state<T> s, constants<T> k) {
    for (int64_t i = grid_thread(); i < s.n; i += grid_threads())
        s.new_m[i] = new_m(k, s.g[i], s.m != NULL ? s.m[i] : 0);
}

template <typename T> static __global__ void move_v(state<T> s, constants<T> k) {
    for (int64_t i = grid_thread(); i < s.n; i += grid_threads())
        s.new_v[i] = new_v(k, s.g[i], s.v != NULL ? s.v[i] : 0);
}

template <typename T> static __global__ void move_p(state<T> s, constants<T> k) {
    for (int64_t i = grid_thread(); i < s.n; i += grid_threads())
        s.new_p[i] = new_p(k, s.p[i], s.new_m[i], s.new_v[i]);
}

template <typename T> static assay_status run(const assay_call *call) {
    const state<T> s = state_of<T>(call);
    const constants<T> k = constants_of<T>(call->params);
    const dim3 grid = linear_grid(s.n, THREADS), block = dim3(THREADS);
    assay_status status = ASSAY_LAUNCH(call->stream, grid, block, 0, (move_m<T>), s, k);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, grid, block, 0, (move_v<T>), s, k);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, grid, block, 0, (move_p<T>), s, k);
    return status;
}

static assay_status forward(const assay_call *call) {
    return ADAMW_DISPATCH(run, call);
}

ASSAY_VARIANT(adamw, v1) = {
    .op = "adamw",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: a kernel each for m, v and p",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = NULL,
};
