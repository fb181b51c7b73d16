#include "sim/libraries/cudnn_number.h"
#include "sim/libraries/cudnn_tensor.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

namespace sim_dnn {
namespace {

/* What a storage type is computed in. */
template <typename T> struct computed { typedef float type; };
template <> struct computed<double> { typedef double type; };

/* One call: forward has x and y, backward y, dy and dx. `in` has one tensor or two. */
struct softmax_call {
    cudnnHandle_t handle;
    cudnnSoftmaxAlgorithm_t algorithm;
    cudnnSoftmaxMode_t mode;
    const void *alpha, *beta;
    cudnnTensorDescriptor_t in_shape[2];
    const void *in[2];
    int n_in;
    cudnnTensorDescriptor_t out_shape;
    void *out;
};

cudnnStatus_t check_tensor(const softmax_call &c, cudnnTensorDescriptor_t shape, const void *data) {
    if (!shape || !data)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!shape->set || shape->type != c.out_shape->type)
        return CUDNN_STATUS_BAD_PARAM;
    if (!std::equal(shape->size, shape->size + RANK, c.out_shape->size))
        return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    return (uintptr_t)data % element_size(shape->type) == 0
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
}

cudnnStatus_t check(const softmax_call &c) {
    if (!c.handle || !c.handle->initialised)
        return CUDNN_STATUS_NOT_INITIALIZED;
    if (!c.alpha || !c.beta || !c.out_shape)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    cudnnStatus_t status = check_tensor(c, c.out_shape, c.out);
    for (int i = 0; i < c.n_in && status == CUDNN_STATUS_SUCCESS; ++i)
        status = check_tensor(c, c.in_shape[i], c.in[i]);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    /* cuDNN 9 says so of y and dy: !isTensorSameStrides(srcDesc, srcDiffDesc). */
    if (c.n_in == 2 &&
        !std::equal(c.in_shape[0]->stride, c.in_shape[0]->stride + RANK, c.in_shape[1]->stride))
        return CUDNN_STATUS_BAD_PARAM;
    return c.algorithm == CUDNN_SOFTMAX_ACCURATE && c.mode == CUDNN_SOFTMAX_MODE_INSTANCE
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

template <typename A> void softmax_row(const A *x, A *y, int64_t d) {
    const A most = *std::max_element(x, x + d);
    A sum = 0;
    for (int64_t j = 0; j < d; ++j)
        sum += y[j] = std::exp(x[j] - most);
    for (int64_t j = 0; j < d; ++j)
        y[j] /= sum;
}

template <typename A> void gradient_row(const A *y, const A *dy, A *dx, int64_t d) {
    A sum = 0;
    for (int64_t j = 0; j < d; ++j)
        sum += y[j] * dy[j];
    for (int64_t j = 0; j < d; ++j)
        dx[j] = y[j] * (dy[j] - sum);
}

template <typename T>
std::vector<typename computed<T>::type> gathered(const cudnnTensorStruct &t, const void *data,
                                                 int64_t count) {
    std::vector<typename computed<T>::type> values((size_t)count);
    const T *from = static_cast<const T *>(data);
    visit_elements(
        t, [&](int64_t place, int64_t dense) { values[(size_t)dense] = loaded(from[place]); });
    return values;
}

template <typename T> void compute(const softmax_call &c) {
    typedef typename computed<T>::type A;
    const cudnnTensorStruct &shape = *c.out_shape;
    int64_t d = 1;
    for (int i = 1; i < RANK; ++i)
        d *= shape.size[i];
    const int64_t count = shape.size[0] * d;
    std::vector<A> in[2], out((size_t)count);
    for (int i = 0; i < c.n_in; ++i)
        in[i] = gathered<T>(*c.in_shape[i], c.in[i], count);
    for (int64_t first = 0; first < count; first += d)
        if (c.n_in == 1)
            softmax_row(&in[0][(size_t)first], &out[(size_t)first], d);
        else
            gradient_row(&in[0][(size_t)first], &in[1][(size_t)first], &out[(size_t)first], d);
    const A alpha = *static_cast<const A *>(c.alpha), beta = *static_cast<const A *>(c.beta);
    T *to = static_cast<T *>(c.out);
    visit_elements(shape, [&](int64_t place, int64_t dense) {
        const A value = alpha * out[(size_t)dense];
        store(&to[place], beta == 0 ? value : value + beta * loaded(to[place]));
    });
}

cudnnStatus_t run(const softmax_call &c) try {
    const cudnnStatus_t status = check(c);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    switch (c.out_shape->type) {
    case CUDNN_DATA_DOUBLE:
        compute<double>(c);
        break;
    case CUDNN_DATA_FLOAT:
        compute<float>(c);
        break;
    case CUDNN_DATA_HALF:
        compute<__half>(c);
        break;
    case CUDNN_DATA_BFLOAT16:
        compute<__nv_bfloat16>(c);
        break;
    }
    return CUDNN_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

} // namespace

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void *alpha,
                                  cudnnTensorDescriptor_t x_shape, const void *x, const void *beta,
                                  cudnnTensorDescriptor_t y_shape, void *y) {
    return run({handle, algorithm, mode, alpha, beta, {x_shape}, {x}, 1, y_shape, y});
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void *alpha,
                                   cudnnTensorDescriptor_t y_shape, const void *y,
                                   cudnnTensorDescriptor_t dy_shape, const void *dy,
                                   const void *beta, cudnnTensorDescriptor_t dx_shape, void *dx) {
    return run(
        {handle, algorithm, mode, alpha, beta, {y_shape, dy_shape}, {y, dy}, 2, dx_shape, dx});
}

} // namespace sim_dnn
