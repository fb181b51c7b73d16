/*
 * transpose v2, the vendor's library: cuBLAS's geam, C = Aᵀ, a matrix a call; f32 and f64, as that
 * has them. cuBLAS is column-major, so it sees each matrix as its transpose. It adds 0 times
 * another matrix, which it does not read, and so -0 may become 0.
 *
 * Against v1: tiles through shared memory. Bytes: every element is read and written once. It has
 * run on the simulated device alone, and is compiled for CUDA.
 */
#include "device/blas.h"
#include "kernels/transpose/matrices.h"

static cublasStatus_t turn(cublasHandle_t blas, int m, int n, const float *from, int from_stride,
                           float *to, int to_stride) {
    const float one = 1, none = 0;
    return cublasSgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, from, from_stride, &none, to,
                       to_stride, to, to_stride);
}

static cublasStatus_t turn(cublasHandle_t blas, int m, int n, const double *from, int from_stride,
                           double *to, int to_stride) {
    const double one = 1, none = 0;
    return cublasDgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, m, n, &one, from, from_stride, &none, to,
                       to_stride, to, to_stride);
}

template <typename T> static assay_status run(const assay_call *call, assay_stage stage) {
    const assay_tensor *source = source_of(call, stage);
    const sizes s = sizes_of(source);
    const matrix<const T> from = matrix_of<const T>(source);
    const matrix<T> to = matrix_of<T>(&call->out[0]);
    cublasHandle_t blas;
    if (s.rows == 0 || s.columns == 0)
        return ASSAY_OK;
    assay_status status = assay_blas_handle(call->stream, &blas);
    for (int64_t m = 0; status == ASSAY_OK && m < s.matrices; ++m)
        status = assay_blas_check(turn(blas, (int)s.rows, (int)s.columns, from.row(m * s.rows),
                                       (int)from.stride, to.row(m * s.columns), (int)to.stride),
                                  "geam");
    return status;
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const assay_dtype dtype = call->params->dtype;
    const assay_tensor *from = source_of(call, stage), *to = &call->out[0];
    if (dtype != ASSAY_F32 && dtype != ASSAY_F64)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "transpose/v2: cuBLAS has geam for f32 and f64");
    if (assay_tensor_row_stride(from) > INT32_MAX || assay_tensor_row_stride(to) > INT32_MAX)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "transpose/v2: cuBLAS takes 32-bit extents; %lld x %lld are more",
                          (long long)assay_tensor_row_length(to),
                          (long long)assay_tensor_row_length(from));
    return ASSAY_OK;
}

static assay_status run_stage(const assay_call *call, assay_stage stage) {
    return call->params->dtype == ASSAY_F64 ? run<double>(call, stage) : run<float>(call, stage);
}

static assay_status forward(const assay_call *call) {
    return run_stage(call, ASSAY_FORWARD);
}

static assay_status backward(const assay_call *call) {
    return run_stage(call, ASSAY_BACKWARD);
}

ASSAY_VARIANT(transpose, v2) = {
    .op = "transpose",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: geam, a matrix a call",
    .supports = supports,
    .workspace = NULL,
    .forward = forward,
    .backward = backward,
    .library = true,
};
