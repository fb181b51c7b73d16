/*
 * Shared by the versions of conv3d_groupnorm_mean: the sizes of a call, and its tensors as plain
 * arrays.
 *
 *     c[n, co, p]  = b[co] + sum over ci and taps of w[co, ci, tap] x[n, ci, p + tap]
 *     x̂            = (c - mean) / sqrt(variance + eps), over the channels and positions of a group
 *     y[n]         = mean over channels and positions of gamma x̂ + beta
 *
 * A tap is an offset (kd, kh, kw) in the cubic kernel, a position a place p in the output volume.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_CONV_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_CONV_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

/* A volume's extents; its last axis is packed. */
struct volume {
    int64_t d, h, w;
};

static __host__ __device__ __forceinline__ int64_t size_of(const volume &v) {
    return v.d * v.h * v.w;
}

/* The element at place `i` of a packed volume. */
static __host__ __device__ __forceinline__ volume place_in(const volume &v, int64_t i) {
    return {i / v.w / v.h, i / v.w % v.h, i % v.w};
}

static __host__ __device__ __forceinline__ int64_t index_in(const volume &v, int64_t d, int64_t h,
                                                            int64_t w) {
    return (d * v.h + h) * v.w + w;
}

struct sizes {
    int64_t n, ci, co, k;
    volume in, out;
    int64_t taps;            /* of one input channel: k^3 */
    int64_t positions;       /* of one output channel */
    int64_t groups, members; /* channels of a group: co = groups * members */
    double eps;
};

static inline sizes sizes_of(const assay_call *call) {
    const assay_param *s = assay_params_find(call->params, "s");
    sizes z = {};
    z.n = assay_params_int(call->params, "n");
    z.ci = assay_params_int(call->params, "ci");
    z.co = assay_params_int(call->params, "co");
    z.k = assay_params_int(call->params, "k");
    z.in = {s->value[0], s->value[1], s->value[2]};
    z.out = {z.in.d - z.k + 1, z.in.h - z.k + 1, z.in.w - z.k + 1};
    z.taps = z.k * z.k * z.k;
    z.positions = size_of(z.out);
    z.groups = assay_params_int(call->params, "g");
    z.members = z.co / z.groups;
    z.eps = assay_params_find(call->params, "eps")->real;
    return z;
}

/* Packed rows `stride` elements apart: the volumes (n, ci) of x, the kernels (co, ci) of w. */
template <typename T> struct rows {
    T *data;
    int64_t stride;
};

template <typename T> static inline rows<T> rows_of(const assay_tensor *t) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t)};
}

template <typename T> static inline T *packed(const assay_tensor *t) {
    return static_cast<T *>(t->data);
}

template <typename T> struct inputs {
    rows<const T> x, w;
    const T *b, *gamma, *beta;
};

template <typename T> static inline inputs<T> inputs_of(const assay_call *call) {
    return {rows_of<const T>(&call->in[0]), rows_of<const T>(&call->in[1]),
            packed<const T>(&call->in[2]), packed<const T>(&call->in[3]),
            packed<const T>(&call->in[4])};
}

/* Forward writes y. Backward finds it among its inputs, followed by its cotangent. */
template <typename T> static inline T *y_of(const assay_call *call) {
    return packed<T>(&call->out[0]);
}
template <typename T> static inline const T *dy_of(const assay_call *call) {
    return packed<const T>(&call->in[6]);
}

template <typename T> struct gradients {
    rows<T> dx, dw;
    T *db, *dgamma, *dbeta;
};

template <typename T> static inline gradients<T> gradients_of(const assay_call *call) {
    return {rows_of<T>(&call->out[0]), rows_of<T>(&call->out[1]), packed<T>(&call->out[2]),
            packed<T>(&call->out[3]), packed<T>(&call->out[4])};
}

static __device__ __forceinline__ float square_root(float v) {
    return sqrtf(v);
}
static __device__ __forceinline__ double square_root(double v) {
    return sqrt(v);
}

#define CONV_DISPATCH(function, ...)                                                               \
    (call->params->dtype == ASSAY_F64 ? function<double>(__VA_ARGS__)                              \
                                      : function<float>(__VA_ARGS__))

#endif
