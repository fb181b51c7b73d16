/*
 * softmax v2, the vendor's library: cudnnSoftmaxForward and cudnnSoftmaxBackward, each row an
 * instance of d channels, CUDNN_SOFTMAX_ACCURATE, which subtracts the maximum. cuDNN takes padded
 * rows as a stride, and tensors of at most 2³¹ - 1 elements with their gaps.
 *
 * Against v1: cuDNN's kernels, which let threads walk along a row together. Bytes: what cuDNN
 * moves. It has run on the simulated device alone, and is compiled for CUDA.
 */
#include "device/dnn.h"
#include "kernels/common/rows.h"

#if ASSAY_DNN

template <typename T> struct dnn_type;
template <> struct dnn_type<double> { static constexpr cudnnDataType_t value = CUDNN_DATA_DOUBLE; };
template <> struct dnn_type<float> { static constexpr cudnnDataType_t value = CUDNN_DATA_FLOAT; };
template <> struct dnn_type<__half> { static constexpr cudnnDataType_t value = CUDNN_DATA_HALF; };
template <> struct dnn_type<__nv_bfloat16> {
    static constexpr cudnnDataType_t value = CUDNN_DATA_BFLOAT16;
};

enum { MAX_TENSORS = 3 };

/* The tensors of a call, the result last, and a descriptor of each. */
struct run {
    const assay_tensor *tensor[MAX_TENSORS];
    cudnnTensorDescriptor_t shape[MAX_TENSORS];
    int count;
    cudnnHandle_t dnn;
};

static assay_status describe(const assay_tensor *t, cudnnDataType_t type,
                             cudnnTensorDescriptor_t *made) {
    const int rows = (int)assay_tensor_rows(t), d = (int)assay_tensor_row_length(t);
    assay_status status =
        assay_dnn_check(cudnnCreateTensorDescriptor(made), "cudnnCreateTensorDescriptor");
    if (status == ASSAY_OK)
        status =
            assay_dnn_check(cudnnSetTensor4dDescriptorEx(*made, type, rows, d, 1, 1,
                                                         (int)assay_tensor_row_stride(t), 1, 1, 1),
                            "cudnnSetTensor4dDescriptorEx");
    return status;
}

/* Before the result: x, or y and dy. */
template <typename T> static assay_status compute(const run &r) {
    const acc_t<T> one = 1, none = 0;
    if (r.count == 2)
        return assay_dnn_check(cudnnSoftmaxForward(r.dnn, CUDNN_SOFTMAX_ACCURATE,
                                                   CUDNN_SOFTMAX_MODE_INSTANCE, &one, r.shape[0],
                                                   r.tensor[0]->data, &none, r.shape[1],
                                                   r.tensor[1]->data),
                               "cudnnSoftmaxForward");
    return assay_dnn_check(cudnnSoftmaxBackward(r.dnn, CUDNN_SOFTMAX_ACCURATE,
                                                CUDNN_SOFTMAX_MODE_INSTANCE, &one, r.shape[0],
                                                r.tensor[0]->data, r.shape[1], r.tensor[1]->data,
                                                &none, r.shape[2], r.tensor[2]->data),
                           "cudnnSoftmaxBackward");
}

template <typename T> static assay_status run_on(const assay_call *call, run r) {
    if (assay_tensor_count(r.tensor[0]) == 0)
        return ASSAY_OK;
    assay_status status = assay_dnn_handle(call->stream, &r.dnn);
    for (int i = 0; i < r.count && status == ASSAY_OK; ++i)
        status = describe(r.tensor[i], dnn_type<T>::value, &r.shape[i]);
    if (status == ASSAY_OK)
        status = compute<T>(r);
    for (int i = 0; i < r.count; ++i)
        if (r.shape[i])
            (void)cudnnDestroyTensorDescriptor(r.shape[i]);
    return status;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return run_on<T>(call, {{&call->in[0], &call->out[0]}, {}, 2, NULL});
}

/* Inputs: x, y, dy. */
template <typename T> static assay_status run_backward(const assay_call *call) {
    return run_on<T>(call, {{&call->in[1], &call->in[2], &call->out[0]}, {}, 3, NULL});
}

static bool fits(const assay_tensor *t) {
    return assay_tensor_rows(t) * assay_tensor_row_stride(t) <= INT32_MAX;
}

static assay_status supports(assay_stage, const assay_call *call) {
    bool all = fits(&call->out[0]);
    for (int i = 0; i < call->n_in; ++i)
        all = all && fits(&call->in[i]);
    return all ? ASSAY_OK
               : assay_fail(ASSAY_ERR_UNSUPPORTED,
                            "softmax/v2: cuDNN takes at most 2147483647 elements, gaps included");
}

static assay_status forward(const assay_call *call) {
    return ROWS_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ROWS_DISPATCH(run_backward, call);
}

#else

/* Never called: the variant says what it lacks. */
static constexpr assay_status (*supports)(assay_stage, const assay_call *) = NULL;
static constexpr assay_status (*forward)(const assay_call *) = NULL;
static constexpr assay_status (*backward)(const assay_call *) = NULL;

#endif

ASSAY_VARIANT(softmax, v2) = {
    .op = "softmax",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuDNN's softmax",
    .lacks = ASSAY_DNN_LACKS,
    .supports = supports,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
    .library = true,
};
