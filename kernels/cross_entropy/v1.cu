/*
 * cross_entropy v1, naive: one thread reads a token's logits twice, for their maximum and for the
 * sum of exps, another one thread sums the loss, and each element of dlogits has its own. With
 * gradient=1 forward ends with backward's kernel. No vendor's library has this operator with an lse
 * to keep, so v2 is left out.
 *
 * Bytes: forward reads the logits twice, neighbouring threads a row apart; backward, or gradient=1,
 * reads them once more and writes as much. Flops: an exp for each logit, forward and backward.
 */
#include "kernels/cross_entropy/tokens.h"

enum { THREADS = 256 };

template <typename T> static __global__ void sum_exps(tokens<T> x, acc_t<T> *lse) {
    for (int64_t i = grid_thread(); i < x.t; i += grid_threads()) {
        const T *row = x.logits + i * x.stride;
        acc_t<T> maximum = widen(row[0]), sum = 0;
        for (int64_t j = 1; j < x.v; ++j)
            maximum = widen(row[j]) > maximum ? widen(row[j]) : maximum;
        const acc_t<T> shift = shift_of(maximum);
        for (int64_t j = 0; j < x.v; ++j)
            sum += exp_(widen(row[j]) - shift);
        lse[i] = shift + log_(sum);
    }
}

template <typename T>
static __global__ void mean_loss(tokens<T> x, const acc_t<T> *lse, acc_t<T> *loss) {
    acc_t<T> sum = 0;
    for (int64_t i = 0; i < x.t; ++i)
        sum += loss_of(x, i, lse[i]);
    *loss = sum / (acc_t<T>)x.t;
}

template <typename T> static __global__ void grad_logits(tokens<T> x, gradient<T> g) {
    const acc_t<T> scale = scale_of(x, g);
    for (int64_t e = grid_thread(); e < x.t * x.v; e += grid_threads()) {
        const int64_t i = e / x.v, j = e % x.v;
        const acc_t<T> p = exp_(widen(x.logits[i * x.stride + j]) - g.lse[i]);
        g.dlogits[i * g.stride + j] = narrow<T>(gradient_at(p, j == x.target[i], scale));
    }
}

template <typename T>
static assay_status launch_grad_logits(const assay_call *call, const gradient<T> &g) {
    const tokens<T> x = tokens_of<T>(call);
    return ASSAY_LAUNCH(call->stream, linear_grid(x.t * x.v, THREADS), dim3(THREADS), 0,
                        (grad_logits<T>), x, g);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tokens<T> x = tokens_of<T>(call);
    acc_t<T> *loss = static_cast<acc_t<T> *>(call->out[0].data);
    acc_t<T> *lse = static_cast<acc_t<T> *>(call->out[1].data);
    assay_status status = ASSAY_LAUNCH(call->stream, linear_grid(x.t, THREADS), dim3(THREADS), 0,
                                       (sum_exps<T>), x, lse);
    if (status == ASSAY_OK)
        status = ASSAY_LAUNCH(call->stream, dim3(1), dim3(1), 0, (mean_loss<T>), x,
                              static_cast<const acc_t<T> *>(lse), loss);
    if (status == ASSAY_OK && wants_gradient(call))
        status = launch_grad_logits(call, gradient_of_one<T>(call));
    return status;
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return launch_grad_logits(call, gradient_of<T>(call));
}

static assay_status forward(const assay_call *call) {
    return CROSS_ENTROPY_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return CROSS_ENTROPY_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(cross_entropy, v1) = {
    .op = "cross_entropy",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: one thread a token, one for each element of dlogits",
    .supports = NULL,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
};
