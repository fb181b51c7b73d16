/*
 * The convolution of conv3d_groupnorm_mean, without its bias, as cuDNN is given it: x, w and c are
 * packed and aligned to 16 bytes.
 *
 * Algorithms follow from shapes, never from timings, and are deterministic ones: ALGO_0 of both
 * backward convolutions adds atomically, Winograd and FFT are less exact than a sum of products. Of
 * the others, the first that cuDNN has for a shape is taken.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V2_CONVOLUTION_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V2_CONVOLUTION_H

#include "kernels/conv3d_groupnorm_mean/conv.h"
#include "kernels/device/dnn.h"

#if ASSAY_DNN

enum { DNN_ALIGNMENT = 16 };

struct convolution {
    cudnnHandle_t dnn;
    cudnnTensorDescriptor_t x, c;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t definition;
};

/* Keeps the first status that is not a success; says whether all went well. */
static bool succeeded(assay_status *status, cudnnStatus_t returned, const char *call) {
    *status = assay_dnn_check(returned, call);
    return *status == ASSAY_OK;
}

static cudnnStatus_t describe(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int64_t samples,
                              int64_t channels, const volume &v) {
    const int size[] = {(int)samples, (int)channels, (int)v.d, (int)v.h, (int)v.w};
    const int stride[] = {(int)(channels * size_of(v)), (int)size_of(v), (int)(v.h * v.w), (int)v.w,
                          1};
    return cudnnSetTensorNdDescriptor(tensor, type, 5, size, stride);
}

static cudnnStatus_t describe(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                              const sizes &z) {
    const int size[] = {(int)z.co, (int)z.ci, (int)z.k, (int)z.k, (int)z.k};
    return cudnnSetFilterNdDescriptor(filter, type, CUDNN_TENSOR_NCHW, 5, size);
}

static cudnnStatus_t describe(cudnnConvolutionDescriptor_t definition, cudnnDataType_t type) {
    const int padding[] = {0, 0, 0}, stride[] = {1, 1, 1}, dilation[] = {1, 1, 1};
    return cudnnSetConvolutionNdDescriptor(definition, 3, padding, stride, dilation,
                                           CUDNN_CROSS_CORRELATION, type);
}

static void close_convolution(const convolution &conv) {
    if (conv.x)
        (void)cudnnDestroyTensorDescriptor(conv.x);
    if (conv.c)
        (void)cudnnDestroyTensorDescriptor(conv.c);
    if (conv.w)
        (void)cudnnDestroyFilterDescriptor(conv.w);
    if (conv.definition)
        (void)cudnnDestroyConvolutionDescriptor(conv.definition);
}

/* To be closed also when this fails. */
static assay_status open_convolution(const assay_call *call, const sizes &z, convolution *conv) {
    const cudnnDataType_t type =
        call->params->dtype == ASSAY_F64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const cudnnMathType_t math =
        call->params->math == ASSAY_TF32 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    *conv = {};
    assay_status status = assay_dnn_handle(call->stream, &conv->dnn);
    if (status != ASSAY_OK)
        return status;
    (void)(succeeded(&status, cudnnCreateTensorDescriptor(&conv->x), "tensor of x") &&
           succeeded(&status, cudnnCreateTensorDescriptor(&conv->c), "tensor of c") &&
           succeeded(&status, cudnnCreateFilterDescriptor(&conv->w), "filter") &&
           succeeded(&status, cudnnCreateConvolutionDescriptor(&conv->definition), "convolution") &&
           succeeded(&status, describe(conv->x, type, z.n, z.ci, z.in), "sizes of x") &&
           succeeded(&status, describe(conv->c, type, z.n, z.co, z.out), "sizes of c") &&
           succeeded(&status, describe(conv->w, type, z), "sizes of w") &&
           succeeded(&status, describe(conv->definition, type),
                     "cudnnSetConvolutionNdDescriptor") &&
           succeeded(&status, cudnnSetConvolutionMathType(conv->definition, math),
                     "cudnnSetConvolutionMathType"));
    return status;
}

template <typename Algorithm> struct choice {
    Algorithm algorithm;
    size_t bytes; /* of workspace */
};

/* `query(candidate, &bytes)` asks cuDNN what a candidate needs; `what` names the question. */
template <typename Algorithm, size_t count, typename Query>
static assay_status choose(const Algorithm (&candidates)[count], const char *what, Query query,
                           choice<Algorithm> *chosen) {
    assay_status status = ASSAY_ERR_UNSUPPORTED;
    for (size_t i = 0; i < count && status == ASSAY_ERR_UNSUPPORTED; ++i) {
        chosen->algorithm = candidates[i];
        status = assay_dnn_check(query(candidates[i], &chosen->bytes), what);
    }
    return status;
}

static assay_status choose_forward(const convolution &conv,
                                   choice<cudnnConvolutionFwdAlgo_t> *chosen) {
    const cudnnConvolutionFwdAlgo_t candidates[] = {
        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
    return choose(
        candidates, "cudnnGetConvolutionForwardWorkspaceSize",
        [&](cudnnConvolutionFwdAlgo_t candidate, size_t *bytes) {
            return cudnnGetConvolutionForwardWorkspaceSize(
                conv.dnn, conv.x, conv.w, conv.definition, conv.c, candidate, bytes);
        },
        chosen);
}

static assay_status choose_data(const convolution &conv,
                                choice<cudnnConvolutionBwdDataAlgo_t> *chosen) {
    const cudnnConvolutionBwdDataAlgo_t candidates[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
    return choose(
        candidates, "cudnnGetConvolutionBackwardDataWorkspaceSize",
        [&](cudnnConvolutionBwdDataAlgo_t candidate, size_t *bytes) {
            return cudnnGetConvolutionBackwardDataWorkspaceSize(
                conv.dnn, conv.w, conv.c, conv.definition, conv.x, candidate, bytes);
        },
        chosen);
}

static assay_status choose_filter(const convolution &conv,
                                  choice<cudnnConvolutionBwdFilterAlgo_t> *chosen) {
    const cudnnConvolutionBwdFilterAlgo_t candidates[] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};
    return choose(
        candidates, "cudnnGetConvolutionBackwardFilterWorkspaceSize",
        [&](cudnnConvolutionBwdFilterAlgo_t candidate, size_t *bytes) {
            return cudnnGetConvolutionBackwardFilterWorkspaceSize(
                conv.dnn, conv.x, conv.c, conv.definition, conv.w, candidate, bytes);
        },
        chosen);
}

struct choices {
    choice<cudnnConvolutionFwdAlgo_t> forward;
    choice<cudnnConvolutionBwdDataAlgo_t> data;
    choice<cudnnConvolutionBwdFilterAlgo_t> filter;
    size_t bytes; /* the calls of a stage share one workspace */
};

static inline size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static assay_status choose_all(assay_stage stage, const convolution &conv, choices *chosen) {
    *chosen = {};
    assay_status status = choose_forward(conv, &chosen->forward);
    if (status == ASSAY_OK && stage == ASSAY_BACKWARD)
        status = choose_data(conv, &chosen->data);
    if (status == ASSAY_OK && stage == ASSAY_BACKWARD)
        status = choose_filter(conv, &chosen->filter);
    chosen->bytes = larger(chosen->forward.bytes, larger(chosen->data.bytes, chosen->filter.bytes));
    return status;
}

/* c = x * w */
template <typename T>
static assay_status convolve(const convolution &conv, const choices &chosen, const T *x, const T *w,
                             void *workspace, T *c) {
    const T one = 1, zero = 0;
    return assay_dnn_check(cudnnConvolutionForward(conv.dnn, &one, conv.x, x, conv.w, w,
                                                   conv.definition, chosen.forward.algorithm,
                                                   workspace, chosen.forward.bytes, &zero, conv.c,
                                                   c),
                           "cudnnConvolutionForward");
}

template <typename T>
static assay_status convolve_data(const convolution &conv, const choices &chosen, const T *w,
                                  const T *dc, void *workspace, T *dx) {
    const T one = 1, zero = 0;
    return assay_dnn_check(cudnnConvolutionBackwardData(conv.dnn, &one, conv.w, w, conv.c, dc,
                                                        conv.definition, chosen.data.algorithm,
                                                        workspace, chosen.data.bytes, &zero, conv.x,
                                                        dx),
                           "cudnnConvolutionBackwardData");
}

template <typename T>
static assay_status convolve_filter(const convolution &conv, const choices &chosen, const T *x,
                                    const T *dc, void *workspace, T *dw) {
    const T one = 1, zero = 0;
    return assay_dnn_check(cudnnConvolutionBackwardFilter(conv.dnn, &one, conv.x, x, conv.c, dc,
                                                          conv.definition, chosen.filter.algorithm,
                                                          workspace, chosen.filter.bytes, &zero,
                                                          conv.w, dw),
                           "cudnnConvolutionBackwardFilter");
}

#endif
#endif
