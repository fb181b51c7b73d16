/* attention that divides by the sum of a softmax, whatever it is: a row that sees no key is 0/0. */
#include "kernels/attention/v1.cu"
#include "tests/fuzz/planted/planted.h"

template <typename T> static __global__ void divide_by_sum(sizes n, const float *lse, rows<T> o) {
    for (int64_t e = grid_thread(); e < n.sq * n.d; e += grid_threads()) {
        const int64_t i = e / n.d, c = e % n.d;
        row(o, i)[c] = narrow<T>(widen(row(o, i)[c]) / (lse[i] == NO_SCORE ? 0.0f : 1.0f));
    }
}

template <typename T> static assay_status run_careless(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    assay_status status = run_forward<T>(call);
    for (int64_t head = 0; head < n.heads && status == ASSAY_OK; ++head)
        status =
            LAUNCH_EACH(call, n.sq * n.d, (divide_by_sum<T>), n, row(rows_of<float>(t.lse), head),
                        rows_from(rows_of<T>(t.o), head * n.sq));
    return status;
}

static assay_status careless_forward(const assay_call *call) {
    return ATTENTION_DISPATCH(run_careless, call);
}

ASSAY_VARIANT(attention, masked_row) = {
    .op = "attention",
    .name = "masked_row",
    .device = ASSAY_DEVICE_NAME,
    .summary = "a row that sees no key is NaN",
    .supports = NULL,
    .workspace = workspace,
    .forward = careless_forward,
    .backward = backward,
};
