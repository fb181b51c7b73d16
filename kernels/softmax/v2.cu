/*
 * softmax v2, the vendor's library: cudnnSoftmaxForward and cudnnSoftmaxBackward, each row an
 * instance of d channels, CUDNN_SOFTMAX_ACCURATE, which subtracts the maximum. cuDNN takes padded
 * rows as a stride, and tensors of at most 2³¹ - 1 elements with their gaps. Backward asks for y
 * and dy with one stride: where theirs differ, y is copied to workspace as dy lies.
 *
 * Not bf16 and f16: cuDNN 9's y is off by 1.9 bounds in bf16, rows of 513 elements, and by 1.35 in
 * f16, rows of 130 (H100).
 *
 * Against v1: cuDNN's kernels, which let threads walk along a row together. Bytes: what cuDNN
 * moves, and y once more for the copy.
 */
#include "device/dnn.h"
#include "kernels/common/rows.h"

#if ASSAY_DNN

template <typename T> struct dnn_type;
template <> struct dnn_type<double> { static constexpr cudnnDataType_t value = CUDNN_DATA_DOUBLE; };
template <> struct dnn_type<float> { static constexpr cudnnDataType_t value = CUDNN_DATA_FLOAT; };

enum { MAX_TENSORS = 3, THREADS = 256 };

/* The tensors of a call, the result last, and a descriptor of each. */
struct run {
    assay_tensor tensor[MAX_TENSORS];
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
        return assay_dnn_check(
            cudnnSoftmaxForward(r.dnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one,
                                r.shape[0], r.tensor[0].data, &none, r.shape[1], r.tensor[1].data),
            "cudnnSoftmaxForward");
    return assay_dnn_check(cudnnSoftmaxBackward(r.dnn, CUDNN_SOFTMAX_ACCURATE,
                                                CUDNN_SOFTMAX_MODE_INSTANCE, &one, r.shape[0],
                                                r.tensor[0].data, r.shape[1], r.tensor[1].data,
                                                &none, r.shape[2], r.tensor[2].data),
                           "cudnnSoftmaxBackward");
}

template <typename T> static assay_status run_on(const assay_call *call, run r) {
    if (assay_tensor_count(&r.tensor[0]) == 0)
        return ASSAY_OK;
    assay_status status = assay_dnn_handle(call->stream, &r.dnn);
    for (int i = 0; i < r.count && status == ASSAY_OK; ++i)
        status = describe(&r.tensor[i], dnn_type<T>::value, &r.shape[i]);
    if (status == ASSAY_OK)
        status = compute<T>(r);
    for (int i = 0; i < r.count; ++i)
        if (r.shape[i])
            (void)cudnnDestroyTensorDescriptor(r.shape[i]);
    return status;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return run_on<T>(call, {{call->in[0], call->out[0]}, {}, 2, NULL});
}

/* Inputs: x, y, dy. */
static const assay_tensor *y_of(const assay_call *call) {
    return &call->in[1];
}
static const assay_tensor *dy_of(const assay_call *call) {
    return &call->in[2];
}

static bool strides_differ(const assay_call *call) {
    return assay_tensor_row_stride(y_of(call)) != assay_tensor_row_stride(dy_of(call));
}

template <typename T>
static __global__ void copy_rows(matrix<const T> from, matrix<T> to, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads())
        to.row(e / d)[e % d] = from.row(e / d)[e % d];
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const assay_tensor *y = y_of(call);
    const int64_t rows = assay_tensor_rows(y), d = assay_tensor_row_length(y);
    run r = {{*y, *dy_of(call), call->out[0]}, {}, 3, NULL};
    assay_status status = ASSAY_OK;
    if (strides_differ(call) && rows * d > 0) {
        r.tensor[0] = *dy_of(call);
        r.tensor[0].data = call->workspace;
        status = ASSAY_LAUNCH(call->stream, linear_grid(rows * d, THREADS), dim3(THREADS), 0,
                              (copy_rows<T>), matrix_of<const T>(y), matrix_of<T>(&r.tensor[0]),
                              rows, d);
    }
    return status == ASSAY_OK ? run_on<T>(call, r) : status;
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    if (stage == ASSAY_FORWARD || !strides_differ(call))
        return 0;
    const assay_tensor *dy = dy_of(call);
    return (size_t)(assay_tensor_rows(dy) * assay_tensor_row_stride(dy)) *
           assay_dtype_size(dy->dtype);
}

static bool fits(const assay_tensor *t) {
    return assay_tensor_rows(t) * assay_tensor_row_stride(t) <= INT32_MAX;
}

static assay_status supports(assay_stage, const assay_call *call) {
    if (assay_dtype_size(call->params->dtype) == 2)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "softmax/v2: cuDNN's results in %s are beyond their bound",
                          assay_dtype_name(call->params->dtype));
    bool all = fits(&call->out[0]);
    for (int i = 0; i < call->n_in; ++i)
        all = all && fits(&call->in[i]);
    return all ? ASSAY_OK
               : assay_fail(ASSAY_ERR_UNSUPPORTED,
                            "softmax/v2: cuDNN takes at most 2147483647 elements, gaps included");
}

/* Calls it with the storage type of the call. */
#define DISPATCH(function, call)                                                                   \
    ((call)->params->dtype == ASSAY_F64 ? function<double>(call) : function<float>(call))

static assay_status forward(const assay_call *call) {
    return DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return DISPATCH(run_backward, call);
}

#else

/* Never called: the variant says what it lacks. */
static constexpr assay_status (*supports)(assay_stage, const assay_call *) = NULL;
static constexpr size_t (*workspace)(assay_stage, const assay_call *) = NULL;
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
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
