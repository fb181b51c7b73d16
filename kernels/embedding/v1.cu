/*
 * embedding v1, naive: one thread for each element of y; one for each element of dtable, which
 * looks through all ids for its row's and adds their dy in the order of tokens. No vendor's library
 * has this operator, so there is no v2.
 *
 * Bytes: forward reads and writes t d elements. Backward reads the t ids v d times, from caches for
 * the most part, dy once, and writes dtable. Flops: t d additions backward.
 */
#include "kernels/embedding/table.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void gather(const int32_t *ids, rows<const T> table, rows<T> y, sizes s) {
    for (int64_t e = grid_thread(); e < s.t * s.d; e += grid_threads()) {
        const int64_t i = e / s.d, j = e % s.d;
        y.data[i * y.stride + j] = table.data[ids[i] * table.stride + j];
    }
}

template <typename T>
static __global__ void grad_table(const int32_t *ids, rows<const T> dy, rows<T> dtable, sizes s) {
    for (int64_t e = grid_thread(); e < s.v * s.d; e += grid_threads()) {
        const int64_t w = e / s.d, j = e % s.d;
        acc_t<T> sum = 0;
        for (int64_t i = 0; i < s.t; ++i)
            if (ids[i] == w)
                sum += widen(dy.data[i * dy.stride + j]);
        dtable.data[w * dtable.stride + j] = narrow<T>(sum);
    }
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const sizes s = sizes_of(call);
    return ASSAY_LAUNCH(call->stream, linear_grid(s.t * s.d, THREADS), dim3(THREADS), 0,
                        (gather<T>), ids_of(call), rows_of<const T>(&call->in[1]),
                        rows_of<T>(&call->out[0]), s);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const sizes s = sizes_of(call);
    return ASSAY_LAUNCH(call->stream, linear_grid(s.v * s.d, THREADS), dim3(THREADS), 0,
                        (grad_table<T>), ids_of(call), rows_of<const T>(&call->in[DY]),
                        rows_of<T>(&call->out[0]), s);
}

static assay_status forward(const assay_call *call) {
    return EMBEDDING_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return EMBEDDING_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(embedding, v1) = {
    .op = "embedding",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread for each element of y and dtable",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
