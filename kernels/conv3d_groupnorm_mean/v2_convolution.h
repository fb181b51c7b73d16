/*
 * One convolution without bias, y = x * w, as cuDNN is given it: packed data, aligned to 16 bytes.
 *
 * Algorithms follow from shapes, never from timings. Winograd and FFT are less exact than a sum of
 * products. Of the others, the first that cuDNN has for a shape is taken; in fp32 dx is first asked
 * of ALGO_0, which adds atomically, in any order, and takes half of the time.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V2_CONVOLUTION_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V2_CONVOLUTION_H

#include "device/dnn.h"
#include "kernels/conv3d_groupnorm_mean/conv.h"

#if ASSAY_DNN

enum { DNN_ALIGNMENT = 16, CONVOLUTION_AXES = 5 };

/* Shapes: x (samples, in_channels, in), w (out_channels, in_channels, taps),
 * y (samples, out_channels, out). */
struct shape {
    int64_t samples, in_channels, out_channels;
    volume in, taps, out;
    int64_t padding;
    bool flipped; /* w is turned round, as mathematicians convolve */
    bool swapped; /* x and y lie in memory with their first two axes exchanged */
};

struct convolution {
    cudnnHandle_t dnn;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t definition;
};

static bool succeeded(assay_status *status, cudnnStatus_t returned, const char *call) {
    *status = assay_dnn_check(returned, call);
    return *status == ASSAY_OK;
}

static cudnnStatus_t describe(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int64_t samples,
                              int64_t channels, const volume &v, bool swapped) {
    const int64_t per_sample = swapped ? 1 : channels, per_channel = swapped ? samples : 1;
    const int size[] = {(int)samples, (int)channels, (int)v.d, (int)v.h, (int)v.w};
    const int stride[] = {(int)(per_sample * size_of(v)), (int)(per_channel * size_of(v)),
                          (int)(v.h * v.w), (int)v.w, 1};
    return cudnnSetTensorNdDescriptor(tensor, type, CONVOLUTION_AXES, size, stride);
}

static cudnnStatus_t describe(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                              const shape &s) {
    const int size[] = {(int)s.out_channels, (int)s.in_channels, (int)s.taps.d, (int)s.taps.h,
                        (int)s.taps.w};
    return cudnnSetFilterNdDescriptor(filter, type, CUDNN_TENSOR_NCHW, CONVOLUTION_AXES, size);
}

static cudnnStatus_t describe(cudnnConvolutionDescriptor_t definition, cudnnDataType_t type,
                              const shape &s) {
    const int p = (int)s.padding;
    const int padding[] = {p, p, p}, stride[] = {1, 1, 1}, dilation[] = {1, 1, 1};
    return cudnnSetConvolutionNdDescriptor(
        definition, CONVOLUTION_AXES - 2, padding, stride, dilation,
        s.flipped ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION, type);
}

static void close_convolution(const convolution &conv) {
    if (conv.x)
        (void)cudnnDestroyTensorDescriptor(conv.x);
    if (conv.y)
        (void)cudnnDestroyTensorDescriptor(conv.y);
    if (conv.w)
        (void)cudnnDestroyFilterDescriptor(conv.w);
    if (conv.definition)
        (void)cudnnDestroyConvolutionDescriptor(conv.definition);
}

/* Into an empty `conv`, which is to be closed also when this fails. */
static assay_status open_convolution(const assay_call *call, const shape &s, convolution *conv) {
    const cudnnDataType_t type =
        call->params->dtype == ASSAY_F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const cudnnMathType_t math =
        call->params->math == ASSAY_TF32 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    assay_status status = assay_dnn_handle(call->stream, &conv->dnn);
    if (status != ASSAY_OK)
        return status;
    (void)(succeeded(&status, cudnnCreateTensorDescriptor(&conv->x), "tensor of x") &&
           succeeded(&status, cudnnCreateTensorDescriptor(&conv->y), "tensor of y") &&
           succeeded(&status, cudnnCreateFilterDescriptor(&conv->w), "filter") &&
           succeeded(&status, cudnnCreateConvolutionDescriptor(&conv->definition), "convolution") &&
           succeeded(&status, describe(conv->x, type, s.samples, s.in_channels, s.in, s.swapped),
                     "sizes of x") &&
           succeeded(&status, describe(conv->y, type, s.samples, s.out_channels, s.out, s.swapped),
                     "sizes of y") &&
           succeeded(&status, describe(conv->w, type, s), "sizes of w") &&
           succeeded(&status, describe(conv->definition, type, s),
                     "cudnnSetConvolutionNdDescriptor") &&
           succeeded(&status, cudnnSetConvolutionMathType(conv->definition, math),
                     "cudnnSetConvolutionMathType"));
    return status;
}

/* An algorithm, and the bytes of workspace that it needs. */
template <typename Algorithm> struct choice {
    Algorithm algorithm;
    size_t bytes;
};
typedef choice<cudnnConvolutionFwdAlgo_t> forward_choice;
typedef choice<cudnnConvolutionBwdDataAlgo_t> data_choice;
typedef choice<cudnnConvolutionBwdFilterAlgo_t> filter_choice;

static assay_status choose_forward(const convolution &conv, forward_choice *chosen) {
    const cudnnConvolutionFwdAlgo_t candidates[] = {
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
    assay_status status = ASSAY_ERR_UNSUPPORTED;
    for (int i = 0; i < 2 && status == ASSAY_ERR_UNSUPPORTED; ++i) {
        chosen->algorithm = candidates[i];
        status = assay_dnn_check(
            cudnnGetConvolutionForwardWorkspaceSize(conv.dnn, conv.x, conv.w, conv.definition,
                                                    conv.y, candidates[i], &chosen->bytes),
            "cudnnGetConvolutionForwardWorkspaceSize");
    }
    return status;
}

static assay_status choose_data(const convolution &conv, bool any_order, data_choice *chosen) {
    const cudnnConvolutionBwdDataAlgo_t candidates[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                                                        CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
    assay_status status = ASSAY_ERR_UNSUPPORTED;
    for (int i = any_order ? 0 : 1; i < 2 && status == ASSAY_ERR_UNSUPPORTED; ++i) {
        chosen->algorithm = candidates[i];
        status = assay_dnn_check(
            cudnnGetConvolutionBackwardDataWorkspaceSize(conv.dnn, conv.w, conv.y, conv.definition,
                                                         conv.x, candidates[i], &chosen->bytes),
            "cudnnGetConvolutionBackwardDataWorkspaceSize");
    }
    return status;
}

static assay_status choose_filter(const convolution &conv, filter_choice *chosen) {
    chosen->algorithm = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
    return assay_dnn_check(
        cudnnGetConvolutionBackwardFilterWorkspaceSize(conv.dnn, conv.x, conv.y, conv.definition,
                                                       conv.w, chosen->algorithm, &chosen->bytes),
        "cudnnGetConvolutionBackwardFilterWorkspaceSize");
}

/* y = x * w */
template <typename T>
static assay_status convolve(const convolution &conv, const forward_choice &chosen, const T *x,
                             const T *w, void *workspace, T *y) {
    const T one = 1, zero = 0;
    return assay_dnn_check(cudnnConvolutionForward(conv.dnn, &one, conv.x, x, conv.w, w,
                                                   conv.definition, chosen.algorithm, workspace,
                                                   chosen.bytes, &zero, conv.y, y),
                           "cudnnConvolutionForward");
}

template <typename T>
static assay_status convolve_data(const convolution &conv, const data_choice &chosen, const T *w,
                                  const T *dy, void *workspace, T *dx) {
    const T one = 1, zero = 0;
    return assay_dnn_check(cudnnConvolutionBackwardData(conv.dnn, &one, conv.w, w, conv.y, dy,
                                                        conv.definition, chosen.algorithm,
                                                        workspace, chosen.bytes, &zero, conv.x, dx),
                           "cudnnConvolutionBackwardData");
}

template <typename T>
static assay_status convolve_filter(const convolution &conv, const filter_choice &chosen,
                                    const T *x, const T *dy, void *workspace, T *dw) {
    const T one = 1, zero = 0;
    return assay_dnn_check(cudnnConvolutionBackwardFilter(
                               conv.dnn, &one, conv.x, x, conv.y, dy, conv.definition,
                               chosen.algorithm, workspace, chosen.bytes, &zero, conv.w, dw),
                           "cudnnConvolutionBackwardFilter");
}

#endif
#endif
