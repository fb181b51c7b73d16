/*
 * rope v1, naive: the definition, one thread for each pair, which makes its own angle in fp64.
 *
 * No vendor's library has the operator, so that there is no v2.
 *
 * Bytes: x once and y once, in pairs of elements; backward likewise with dy and dx. Flops: 6 for
 * the rotation of a pair, and about 150 in fp64 for its angle, its sine and its cosine.
 */
#include "kernels/rope/pairs.h"

enum { THREADS = 256 };

template <typename T>
static __global__ void rotate_pairs(matrix<const T> from, matrix<T> to, int64_t rows, int64_t s,
                                    int64_t pairs, int64_t start, double theta, double direction) {
    for (int64_t e = grid_thread(); e < rows * pairs; e += grid_threads()) {
        const int64_t i = e / pairs, pair = e % pairs;
        const turn t = turn_at(log_(theta), direction, start + i % s, pair, pairs);
        const T *x = from.row(i) + 2 * pair;
        T *y = to.row(i) + 2 * pair;
        rotate(x[0], x[1], (acc_t<T>)t.cosine, (acc_t<T>)t.sine, &y[0], &y[1]);
    }
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const rotation t = rotation_of(call, stage);
    const int64_t rows = t.heads * t.s;
    return ASSAY_LAUNCH(call->stream, linear_grid(rows * t.pairs, THREADS), dim3(THREADS), 0,
                        (rotate_pairs<T>), matrix_of<const T>(t.from), matrix_of<T>(t.to), rows,
                        t.s, t.pairs, t.start, t.theta, t.direction);
}

static assay_status forward(const assay_call *call) {
    return ROPE_DISPATCH(run, call, ASSAY_FORWARD);
}

static assay_status backward(const assay_call *call) {
    return ROPE_DISPATCH(run, call, ASSAY_BACKWARD);
}

ASSAY_VARIANT(rope, v1) = {
    .op = "rope",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread a pair, its angle in fp64",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
