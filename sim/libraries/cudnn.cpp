#include "sim/libraries/cudnn_tensor.h"

#include <string.h>

#include <algorithm>
#include <new>
#include <vector>

namespace sim_dnn {

enum { ALIGNMENT = 16 };

struct cudnnFilterStruct {
    cudnnDataType_t type;
    int size[RANK];
    bool set;
};
struct cudnnConvolutionStruct {
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
    int padding[SPATIAL];
    bool set;
};

namespace {

/* y[n, co, p] = sum over ci and k of x[n, ci, p + k] w[co, ci, k]; sizes of dense arrays. */
struct shape {
    int n, ci, co;
    int x[SPATIAL], w[SPATIAL], y[SPATIAL], padding[SPATIAL];
};

int64_t volume(const int *extent) {
    return (int64_t)extent[0] * extent[1] * extent[2];
}
int64_t x_count(const shape &s) {
    return (int64_t)s.n * s.ci * volume(s.x);
}
int64_t w_count(const shape &s) {
    return (int64_t)s.co * s.ci * volume(s.w);
}
int64_t y_count(const shape &s) {
    return (int64_t)s.n * s.co * volume(s.y);
}

int64_t line_offset(const int *extent, int64_t channel, int z, int y) {
    return ((channel * extent[0] + z) * extent[1] + y) * (int64_t)extent[2];
}

bool is_within(int place, int extent) {
    return place >= 0 && place < extent;
}

/* How the lines are walked: with the filter turned round, and from the last to the first. */
struct walk {
    bool flipped, backwards;
};

int64_t place_of(int64_t i, int64_t count, const walk &way) {
    return way.backwards ? count - 1 - i : i;
}

/* Calls visit(first of x, element of w, first of y, how many) for all lines along the last axis, of
 * one sample and pair of channels. Elements in the padding are left out. */
template <typename Visit>
void visit_lines(const shape &s, const walk &way, int n, int co, int ci, Visit visit) {
    const int64_t weights = volume(s.w), first = ((int64_t)co * s.ci + ci) * weights;
    const int64_t from = (int64_t)n * s.ci + ci, to = (int64_t)n * s.co + co;
    for (int64_t i = 0; i < weights; ++i) {
        const int64_t k = place_of(i, weights, way);
        const int kz = (int)(k / s.w[2] / s.w[1]) - s.padding[0];
        const int ky = (int)(k / s.w[2] % s.w[1]) - s.padding[1];
        const int kx = (int)(k % s.w[2]) - s.padding[2];
        const int begin = std::max(0, -kx), end = std::min(s.y[2], s.x[2] - kx);
        const int64_t weight = first + (way.flipped ? weights - 1 - k : k);
        const int lines = s.y[0] * s.y[1];
        for (int line = 0; line < lines; ++line) {
            const int zy = (int)place_of(line, lines, way), z = zy / s.y[1], y = zy % s.y[1];
            if (is_within(z + kz, s.x[0]) && is_within(y + ky, s.x[1]) && begin < end)
                visit(line_offset(s.x, from, z + kz, y + ky) + kx + begin, weight,
                      line_offset(s.y, to, z, y) + begin, end - begin);
        }
    }
}

template <typename Visit> void visit_lines(const shape &s, const walk &way, Visit visit) {
    for (int n = 0; n < s.n; ++n)
        for (int co = 0; co < s.co; ++co)
            for (int ci = 0; ci < s.ci; ++ci)
                visit_lines(s, way, (int)place_of(n, s.n, way), (int)place_of(co, s.co, way), ci,
                            visit);
}

/* Drops the 13 bits that TF32 lacks, toward zero, as tensor cores take their operands. */
void cut_to_tf32(std::vector<float> &values) {
    for (float &value : values)
        value = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
}
void cut_to_tf32(std::vector<double> &) {
}

/* A filter is a tensor without gaps. */
cudnnTensorStruct dense_tensor(const cudnnFilterStruct &filter) {
    cudnnTensorStruct t = {filter.type, {}, {}, filter.set};
    int stride = 1;
    for (int i = RANK - 1; i >= 0; --i) {
        t.size[i] = filter.size[i];
        t.stride[i] = stride;
        stride *= t.size[i];
    }
    return t;
}

bool is_dense(const cudnnTensorStruct &t) {
    int64_t stride = 1;
    for (int i = RANK - 1; i >= 0; --i) {
        if (t.size[i] > 1 && t.stride[i] != stride)
            return false;
        stride *= t.size[i];
    }
    return true;
}

int64_t count(const cudnnTensorStruct &t) {
    int64_t elements = 1;
    for (int size : t.size)
        elements *= size;
    return elements;
}

template <typename T>
std::vector<T> gathered(const cudnnTensorStruct &t, const void *data, cudnnMathType_t math) {
    std::vector<T> values((size_t)count(t));
    const T *from = static_cast<const T *>(data);
    visit_elements(t, [&](int64_t place, int64_t dense) { values[(size_t)dense] = from[place]; });
    if (math != CUDNN_FMA_MATH)
        cut_to_tf32(values);
    return values;
}

template <typename T>
void scatter(const cudnnTensorStruct &t, T alpha, const std::vector<T> &values, T beta,
             void *data) {
    T *to = static_cast<T *>(data);
    visit_elements(t, [&](int64_t place, int64_t dense) {
        const T value = alpha * values[(size_t)dense];
        to[place] = beta == 0 ? value : value + beta * to[place];
    });
}

enum pass_kind { FORWARD, BACKWARD_DATA, BACKWARD_FILTER };

/* One call: the tensors by their part in the forward convolution, whichever of them is written. */
struct problem {
    cudnnHandle_t handle;
    cudnnConvolutionDescriptor_t convolution;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    pass_kind pass;
    int algorithm;
};

bool fits(const problem &p, shape *s) {
    const int *x = p.x->size, *w = p.w->size, *y = p.y->size;
    const int *padding = p.convolution->padding;
    *s = {x[0],
          x[1],
          w[0],
          {x[2], x[3], x[4]},
          {w[2], w[3], w[4]},
          {y[2], y[3], y[4]},
          {padding[0], padding[1], padding[2]}};
    bool fit = y[0] == s->n && y[1] == s->co && w[1] == s->ci;
    for (int i = 0; i < SPATIAL; ++i)
        fit = fit && s->y[i] == s->x[i] + 2 * s->padding[i] - s->w[i] + 1;
    return fit;
}

bool is_supported(const problem &p) {
    if (p.pass != FORWARD) /* ALGO_0 and ALGO_1 */
        return (p.algorithm == 0 || (p.algorithm == 1 && p.x->type == CUDNN_DATA_FLOAT)) &&
               is_dense(*p.x) && is_dense(*p.y);
    return p.algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
           (p.algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
            p.x->type == CUDNN_DATA_FLOAT);
}

cudnnStatus_t check(const problem &p, shape *s) {
    if (!p.handle || !p.handle->initialised)
        return CUDNN_STATUS_NOT_INITIALIZED;
    if (!p.x || !p.w || !p.y || !p.convolution)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!p.x->set || !p.w->set || !p.y->set || !p.convolution->set)
        return CUDNN_STATUS_BAD_PARAM;
    if (p.w->type != p.x->type || p.y->type != p.x->type || p.convolution->compute != p.x->type)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!fits(p, s))
        return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    return is_supported(p) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

/* What an algorithm asks for: indices of a filter, or in fp64 one sample's gradient of x or the
 * gradient of w. */
size_t workspace_of(const problem &p, const shape &s) {
    if (p.pass == BACKWARD_DATA)
        return p.algorithm == 1 ? sizeof(double) * (size_t)(s.ci * volume(s.x)) : 0;
    if (p.pass == BACKWARD_FILTER)
        return p.algorithm == 1 ? sizeof(double) * (size_t)w_count(s) : 0;
    return p.algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM
               ? sizeof(int) * (size_t)(s.ci * volume(s.w))
               : 0;
}

cudnnStatus_t workspace_size(const problem &p, size_t *bytes) {
    shape s;
    const cudnnStatus_t status = check(p, &s);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *bytes = workspace_of(p, s);
    return CUDNN_STATUS_SUCCESS;
}

struct arrays {
    const void *alpha, *beta;
    void *x, *w, *y, *workspace; /* only the result is written */
    size_t workspace_bytes;
};

cudnnStatus_t check_arrays(const problem &p, const shape &s, const arrays &a) {
    const size_t needed = workspace_of(p, s);
    if (!a.alpha || !a.beta || !a.x || !a.w || !a.y || (needed > 0 && !a.workspace))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    for (const void *data : {a.x, a.w, a.y, a.workspace})
        if ((uintptr_t)data % ALIGNMENT != 0)
            return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    return a.workspace_bytes < needed ? CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT
                                      : CUDNN_STATUS_SUCCESS;
}

/* ALGO_0 of the backward convolutions adds in no fixed order: here, every other time backwards. */
bool is_backwards(const problem &p) {
    if (p.pass == FORWARD || p.algorithm != 0)
        return false;
    return p.handle->unordered[p.pass == BACKWARD_DATA]++ % 2 == 1;
}

template <typename T> void convolve(const problem &p, const shape &s, const arrays &a) {
    const T alpha = *static_cast<const T *>(a.alpha), beta = *static_cast<const T *>(a.beta);
    const walk way = {p.convolution->mode == CUDNN_CONVOLUTION, is_backwards(p)};
    const cudnnMathType_t math = p.convolution->math;
    const cudnnTensorStruct filter = dense_tensor(*p.w);
    std::vector<T> x((size_t)x_count(s)), w((size_t)w_count(s)), y((size_t)y_count(s));
    if (p.pass != BACKWARD_DATA)
        x = gathered<T>(*p.x, a.x, math);
    if (p.pass != BACKWARD_FILTER)
        w = gathered<T>(filter, a.w, math);
    if (p.pass != FORWARD)
        y = gathered<T>(*p.y, a.y, math);
    visit_lines(s, way, [&](int64_t at_x, int64_t at_w, int64_t at_y, int length) {
        T *in = &x[(size_t)at_x], *weight = &w[(size_t)at_w], *out = &y[(size_t)at_y];
        for (int i = 0; i < length; ++i)
            if (p.pass == FORWARD)
                out[i] += in[i] * *weight;
            else if (p.pass == BACKWARD_DATA)
                in[i] += out[i] * *weight;
            else
                *weight += in[i] * out[i];
    });
    if (p.pass == FORWARD)
        scatter(*p.y, alpha, y, beta, a.y);
    else if (p.pass == BACKWARD_DATA)
        scatter(*p.x, alpha, x, beta, a.x);
    else
        scatter(filter, alpha, w, beta, a.w);
}

cudnnStatus_t run(const problem &p, const arrays &a) try {
    shape s;
    cudnnStatus_t status = check(p, &s);
    if (status == CUDNN_STATUS_SUCCESS)
        status = check_arrays(p, s, a);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (a.workspace) /* all of it may be used */
        memset(a.workspace, 0xff, workspace_of(p, s));
    if (p.x->type == CUDNN_DATA_FLOAT)
        convolve<float>(p, s, a);
    else
        convolve<double>(p, s, a);
    return CUDNN_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

bool is_type(cudnnDataType_t type) {
    return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
           type == CUDNN_DATA_BFLOAT16;
}

template <typename Descriptor> cudnnStatus_t create(Descriptor **made) {
    if (!made)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *made = new (std::nothrow) Descriptor();
    return *made ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

template <typename Descriptor> cudnnStatus_t destroy(Descriptor *descriptor) {
    delete descriptor;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_sizes(const void *descriptor, cudnnDataType_t type, int dimensions,
                          const int *size) {
    if (!descriptor || !size)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!is_type(type) || dimensions != RANK)
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < RANK; ++i)
        if (size[i] <= 0)
            return CUDNN_STATUS_BAD_PARAM;
    return CUDNN_STATUS_SUCCESS;
}

} // namespace

const char *cudnnGetErrorString(cudnnStatus_t status) {
    switch (status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER:
        return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER:
        return "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER";
    case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED:
        return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT:
        return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH:
        return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES:
        return "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES";
    case CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE:
        return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
        return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    }
    return "unknown cuDNN status";
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t) {
    return handle && handle->initialised ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_INITIALIZED;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *made) {
    return create(made);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
    return destroy(tensor);
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type,
                                         int dimensions, const int size[], const int stride[]) {
    const cudnnStatus_t status = check_sizes(tensor, type, dimensions, size);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!stride)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    for (int i = 0; i < RANK; ++i)
        if (stride[i] <= 0)
            return CUDNN_STATUS_BAD_PARAM;
    tensor->type = type;
    std::copy(size, size + RANK, tensor->size);
    std::copy(stride, stride + RANK, tensor->stride);
    tensor->set = true;
    return CUDNN_STATUS_SUCCESS;
}

/* The fifth axis has one element, so that its stride does not matter. */
cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensor, cudnnDataType_t type,
                                           int n, int c, int h, int w, int n_stride, int c_stride,
                                           int h_stride, int w_stride) {
    const int size[RANK] = {n, c, 1, h, w};
    const int stride[RANK] = {n_stride, c_stride, h_stride, h_stride, w_stride};
    return cudnnSetTensorNdDescriptor(tensor, type, RANK, size, stride);
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *made) {
    return create(made);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
    return destroy(filter);
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int dimensions,
                                         const int size[]) {
    const cudnnStatus_t status = check_sizes(filter, type, dimensions, size);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (format != CUDNN_TENSOR_NCHW)
        return CUDNN_STATUS_NOT_SUPPORTED;
    filter->type = type;
    std::copy(size, size + RANK, filter->size);
    filter->set = true;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *made) {
    return create(made);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
    return destroy(convolution);
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution,
                                              int spatial_dimensions, const int padding[],
                                              const int stride[], const int dilation[],
                                              cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
    if (!convolution || !padding || !stride || !dilation)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (spatial_dimensions != SPATIAL ||
        (compute != CUDNN_DATA_FLOAT && compute != CUDNN_DATA_DOUBLE))
        return CUDNN_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < SPATIAL; ++i)
        if (padding[i] < 0)
            return CUDNN_STATUS_BAD_PARAM;
        else if (stride[i] != 1 || dilation[i] != 1)
            return CUDNN_STATUS_NOT_SUPPORTED;
    *convolution = {mode, compute, CUDNN_DEFAULT_MATH, {padding[0], padding[1], padding[2]}, true};
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution,
                                          cudnnMathType_t math) {
    if (!convolution)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    convolution->math = math;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes) {
    return workspace_size({handle, convolution, x, y, w, FORWARD, algorithm}, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *bytes) {
    return workspace_size({handle, convolution, dx, dy, w, BACKWARD_DATA, algorithm}, bytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,
    cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *bytes) {
    return workspace_size({handle, convolution, x, dy, dw, BACKWARD_FILTER, algorithm}, bytes);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      cudnnTensorDescriptor_t x_shape, const void *x,
                                      cudnnFilterDescriptor_t w_shape, const void *w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
                                      size_t workspace_bytes, const void *beta,
                                      cudnnTensorDescriptor_t y_shape, void *y) {
    return run(
        {handle, convolution, x_shape, y_shape, w_shape, FORWARD, algorithm},
        {alpha, beta, const_cast<void *>(x), const_cast<void *>(w), y, workspace, workspace_bytes});
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           cudnnFilterDescriptor_t w_shape, const void *w,
                                           cudnnTensorDescriptor_t dy_shape, const void *dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace,
                                           size_t workspace_bytes, const void *beta,
                                           cudnnTensorDescriptor_t dx_shape, void *dx) {
    return run({handle, convolution, dx_shape, dy_shape, w_shape, BACKWARD_DATA, algorithm},
               {alpha, beta, dx, const_cast<void *>(w), const_cast<void *>(dy), workspace,
                workspace_bytes});
}

cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, cudnnTensorDescriptor_t x_shape, const void *x,
    cudnnTensorDescriptor_t dy_shape, const void *dy, cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionBwdFilterAlgo_t algorithm, void *workspace, size_t workspace_bytes,
    const void *beta, cudnnFilterDescriptor_t dw_shape, void *dw) {
    return run({handle, convolution, x_shape, dy_shape, dw_shape, BACKWARD_FILTER, algorithm},
               {alpha, beta, const_cast<void *>(x), dw, const_cast<void *>(dy), workspace,
                workspace_bytes});
}

} // namespace sim_dnn

assay_status assay_dnn_check(cudnnStatus_t status, const char *call) {
    if (status == CUDNN_STATUS_SUCCESS)
        return ASSAY_OK;
    return assay_fail(status == CUDNN_STATUS_NOT_SUPPORTED ? ASSAY_ERR_UNSUPPORTED
                                                           : ASSAY_ERR_DEVICE,
                      "sim: %s: %s", call, cudnnGetErrorString(status));
}

assay_status assay_dnn_bind(cudnnHandle_t *handle, void *) {
    static cudnnContext context = {true, {}};
    *handle = &context;
    return ASSAY_OK;
}

assay_status assay_dnn_handle(void *stream, cudnnHandle_t *handle) {
    return assay_dnn_bind(handle, stream);
}
