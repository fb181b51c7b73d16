/*
 * v2's addition: D = alpha op_a(A) op_b(B) + C by cuBLASLt, which reads C where it lies. C and D
 * have one type and shape, and each its own leading dimension.
 *
 * Pedantic compute types keep fp32 and fp64 as they are; FAST_TF32 is what math=tf32 asks for. Of
 * the ways to split k only the one is allowed whose partial sums are kept in the compute type and
 * added in a step of its own: no other rounding, and one order. cuBLASLt takes pointers to be
 * aligned to 256 bytes unless it is told of less, and may then have no algorithm.
 */
#ifndef ASSAY_MATMUL_ACCUMULATE_V2_FUSED_H
#define ASSAY_MATMUL_ACCUMULATE_V2_FUSED_H

#include "kernels/matmul_accumulate/v2_gemm.h"

#include <initializer_list>

/* Partial results for which cuBLASLt gets workspace, as far as 32 MiB go. */
enum { MOST_PARTS = 16, MOST_WORKSPACE = 32 << 20, MOST_ALIGNMENT = 256 };

template <typename T> struct fused {
    shape s;
    T alpha;
    const T *a, *b, *c;
    int ldc;
    T *d;
};

/* What cuBLASLt is told of it. */
struct description {
    cublasLtMatmulDescOpaque_t desc;
    cublasLtMatrixLayoutOpaque_t a, b, c, d;
    cublasLtMatmulPreferenceOpaque_t preference;
};

static inline size_t fused_workspace(size_t result_bytes) {
    const size_t most = MOST_WORKSPACE;
    return result_bytes < most / MOST_PARTS ? MOST_PARTS * result_bytes : most;
}

static inline cublasStatus_t first_failure(std::initializer_list<cublasStatus_t> statuses) {
    for (cublasStatus_t status : statuses)
        if (status != CUBLAS_STATUS_SUCCESS)
            return status;
    return CUBLAS_STATUS_SUCCESS;
}

/* One attribute by its size, as all of cuBLASLt's setters take it. */
template <typename Setter, typename Object, typename Attribute, typename Value>
static cublasStatus_t set(Setter setter, Object *object, Attribute attribute, Value value) {
    return setter(object, attribute, &value, sizeof value);
}

static inline cublasStatus_t layout(cublasLtMatrixLayoutOpaque_t *to, cudaDataType type,
                                    cublasOperation_t op, int rows, int columns, int ld) {
    const bool stored = op == CUBLAS_OP_N;
    return cublasLtMatrixLayoutInit(to, type, (uint64_t)(stored ? rows : columns),
                                    (uint64_t)(stored ? columns : rows), ld);
}

/* The largest power of two, up to what cuBLASLt asks for at most, that divides the address. */
static inline uint32_t alignment_of(const void *data) {
    uint32_t bytes = MOST_ALIGNMENT;
    while ((uintptr_t)data % bytes != 0)
        bytes /= 2;
    return bytes;
}

template <typename T>
static cublasStatus_t describe(const fused<T> &f, assay_math math, description *to) {
    const bool wide = sizeof(T) == sizeof(double);
    const cudaDataType type = wide ? CUDA_R_64F : CUDA_R_32F;
    const cublasComputeType_t compute = wide                 ? CUBLAS_COMPUTE_64F_PEDANTIC
                                        : math == ASSAY_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                             : CUBLAS_COMPUTE_32F_PEDANTIC;
    const shape &s = f.s;
    return first_failure({
        cublasLtMatmulDescInit(&to->desc, compute, type),
        set(cublasLtMatmulDescSetAttribute, &to->desc, CUBLASLT_MATMUL_DESC_TRANSA,
            (int32_t)s.op_a),
        set(cublasLtMatmulDescSetAttribute, &to->desc, CUBLASLT_MATMUL_DESC_TRANSB,
            (int32_t)s.op_b),
        layout(&to->a, type, s.op_a, s.m, s.k, s.lda),
        layout(&to->b, type, s.op_b, s.k, s.n, s.ldb),
        layout(&to->c, type, CUBLAS_OP_N, s.m, s.n, f.ldc),
        layout(&to->d, type, CUBLAS_OP_N, s.m, s.n, s.ld_result),
    });
}

template <typename T>
static cublasStatus_t prefer(const fused<T> &f, size_t workspace,
                             cublasLtMatmulPreferenceOpaque_t *to) {
    const auto setter = cublasLtMatmulPreferenceSetAttribute;
    return first_failure({
        cublasLtMatmulPreferenceInit(to),
        set(setter, to, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (uint64_t)workspace),
        set(setter, to, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
            (uint32_t)CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE),
        set(setter, to, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(f.a)),
        set(setter, to, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(f.b)),
        set(setter, to, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(f.c)),
        set(setter, to, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(f.d)),
    });
}

/* The best algorithm that cuBLASLt knows; *count is 0 where it has none. */
static inline assay_status search(cublasLtHandle_t blas, description *d,
                                  cublasLtMatmulHeuristicResult_t *best, int *count) {
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        blas, &d->desc, &d->a, &d->b, &d->c, &d->d, &d->preference, 1, best, count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED ||
        (status == CUBLAS_STATUS_SUCCESS && *count > 0 && best->state != CUBLAS_STATUS_SUCCESS)) {
        *count = 0;
        return ASSAY_OK;
    }
    return assay_blas_check(status, "cublasLtMatmulAlgoGetHeuristic");
}

/* With all of the call's workspace. Sets *done, or leaves it and D as they were where there is no
 * algorithm for the layout. */
template <typename T>
static assay_status add_fused(const assay_call *call, const fused<T> &f, bool *done) {
    const T one = 1;
    description d;
    cublasLtHandle_t blas;
    cublasLtMatmulHeuristicResult_t best = {};
    int count = 0;
    assay_status status = assay_blas_lt_handle(&blas);
    if (status == ASSAY_OK)
        status = assay_blas_check(describe(f, call->params->math, &d), "cublasLt descriptions");
    if (status == ASSAY_OK)
        status = assay_blas_check(prefer(f, call->workspace_bytes, &d.preference),
                                  "cublasLt preferences");
    if (status == ASSAY_OK)
        status = search(blas, &d, &best, &count);
    if (status != ASSAY_OK || count == 0)
        return status;
    *done = true;
    return assay_blas_check(cublasLtMatmul(blas, &d.desc, &f.alpha, f.a, &d.a, f.b, &d.b, &one, f.c,
                                           &d.c, f.d, &d.d, &best.algo, call->workspace,
                                           call->workspace_bytes,
                                           static_cast<cudaStream_t>(call->stream)),
                            "cublasLtMatmul");
}

#endif
