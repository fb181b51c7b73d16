#include "device/blas.h"

#include <limits.h>
#include <string.h>

#include <algorithm>
#include <initializer_list>

namespace sim_blas {

struct cublasLtContext {
    bool initialised;
};

namespace {

/* What the opaque structures hold. A descriptor starts with its mark, so that one which was never
 * initialised is noticed. */
enum mark : uint32_t { DESC = 0x6c740001, LAYOUT, PREFERENCE };

struct desc_t {
    mark made;
    cublasComputeType_t compute;
    cudaDataType scale;
    cublasOperation_t op_a, op_b;
};

struct layout_t {
    mark made;
    cudaDataType type;
    uint64_t rows, columns;
    int64_t ld;
};

struct alignments {
    uint32_t a, b, c, d;
};

struct preference_t {
    mark made;
    uint32_t reductions;
    uint64_t workspace;
    alignments least;
};

/* One product, as far as an algorithm depends on it. */
struct product {
    cublasComputeType_t compute;
    cublasOperation_t op_a, op_b;
    int m, n, k;
};

struct algorithm_t {
    product found_for;
    alignments least;
    uint64_t workspace;
};

template <typename T, typename Opaque> T read(const Opaque *opaque) {
    static_assert(sizeof(T) <= sizeof *opaque);
    T value;
    memcpy(&value, opaque, sizeof value);
    return value;
}

template <typename T, typename Opaque> void write(Opaque *opaque, const T &value) {
    static_assert(sizeof(T) <= sizeof *opaque);
    memset(opaque, 0, sizeof *opaque);
    memcpy(opaque, &value, sizeof value);
}

/* Takes an attribute's value, which must have that type's size. */
template <typename T> cublasStatus_t take(T *to, const void *value, size_t bytes) {
    if (!value || bytes != sizeof *to)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

bool is_op(cublasOperation_t op) {
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

/* The type of all four matrices under `desc`, if it is one of those supported. */
bool is_supported(const desc_t &desc, cudaDataType *type) {
    *type = desc.compute == CUBLAS_COMPUTE_64F_PEDANTIC ? CUDA_R_64F : CUDA_R_32F;
    return (desc.compute == CUBLAS_COMPUTE_64F_PEDANTIC ||
            desc.compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
            desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32) &&
           desc.scale == *type;
}

size_t size_of(cublasComputeType_t compute) {
    return compute == CUBLAS_COMPUTE_64F_PEDANTIC ? sizeof(double) : sizeof(float);
}

struct layouts {
    layout_t a, b, c, d;
};

/* What all calls check of a product's description; fills `p` with it. */
cublasStatus_t check(cublasLtHandle_t handle, const desc_t &desc, const layouts &l, product *p) {
    if (!handle || !handle->initialised)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (desc.made != DESC || !is_op(desc.op_a) || !is_op(desc.op_b))
        return CUBLAS_STATUS_INVALID_VALUE;
    cudaDataType type;
    const bool supported = is_supported(desc, &type);
    for (const layout_t &x : {l.a, l.b, l.c, l.d}) {
        if (x.made != LAYOUT || x.rows < 1 || x.columns < 1 || x.ld < (int64_t)x.rows)
            return CUBLAS_STATUS_INVALID_VALUE;
        if (!supported || x.type != type || x.ld > INT_MAX || x.columns > INT_MAX)
            return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const bool ta = desc.op_a != CUBLAS_OP_N, tb = desc.op_b != CUBLAS_OP_N;
    const uint64_t k = ta ? l.a.rows : l.a.columns;
    if ((ta ? l.a.columns : l.a.rows) != l.d.rows || (tb ? l.b.columns : l.b.rows) != k ||
        (tb ? l.b.rows : l.b.columns) != l.d.columns || l.c.rows != l.d.rows ||
        l.c.columns != l.d.columns)
        return CUBLAS_STATUS_INVALID_VALUE;
    *p = {desc.compute, desc.op_a, desc.op_b, (int)l.d.rows, (int)l.d.columns, (int)k};
    return CUBLAS_STATUS_SUCCESS;
}

bool same(const product &p, const product &q) {
    return p.compute == q.compute && p.op_a == q.op_a && p.op_b == q.op_b && p.m == q.m &&
           p.n == q.n && p.k == q.k;
}

bool is_aligned(const void *data, uint32_t bytes) {
    return (uintptr_t)data % bytes == 0;
}

bool is_power_of_two(uint32_t x) {
    return x != 0 && (x & (x - 1)) == 0;
}

/* Alignments to less than an element are none. */
bool are_legal(const alignments &x, size_t element) {
    for (uint32_t bytes : {x.a, x.b, x.c, x.d})
        if (!is_power_of_two(bytes) || bytes < element)
            return false;
    return true;
}

void copy_columns(const layout_t &from, const void *source, const layout_t &to, void *target,
                  size_t element) {
    for (uint64_t j = 0; j < from.columns; ++j)
        memcpy(static_cast<char *>(target) + j * (uint64_t)to.ld * element,
               static_cast<const char *>(source) + j * (uint64_t)from.ld * element,
               from.rows * element);
}

bool is_zero(const void *scalar, size_t element) {
    return element == sizeof(double) ? *static_cast<const double *>(scalar) == 0
                                     : *static_cast<const float *>(scalar) == 0;
}

} // namespace

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t desc, cublasComputeType_t compute,
                                      cudaDataType scale) {
    write(desc, desc_t{DESC, compute, scale, CUBLAS_OP_N, CUBLAS_OP_N});
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes) {
    desc_t d = read<desc_t>(desc);
    const cublasStatus_t status =
        take(attribute == CUBLASLT_MATMUL_DESC_TRANSA ? &d.op_a : &d.op_b, value, bytes);
    write(desc, d);
    return status;
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                        uint64_t rows, uint64_t columns, int64_t ld) {
    write(layout, layout_t{LAYOUT, type, rows, columns, ld});
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
    write(preference,
          preference_t{PREFERENCE, CUBLASLT_REDUCTION_SCHEME_MASK, 0, {256, 256, 256, 256}});
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t prefer(preference_t *p, cublasLtMatmulPreferenceAttributes_t attribute,
                             const void *value, size_t bytes) {
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return take(&p->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return take(&p->reductions, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
        return take(&p->least.a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
        return take(&p->least.b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
        return take(&p->least.c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        return take(&p->least.d, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t bytes) {
    preference_t p = read<preference_t>(preference);
    const cublasStatus_t status = prefer(&p, attribute, value, bytes);
    write(preference, p);
    return status;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int *returned) {
    const layouts l = {read<layout_t>(a), read<layout_t>(b), read<layout_t>(c), read<layout_t>(d)};
    const preference_t prefers = read<preference_t>(preference);
    algorithm_t found = {{}, prefers.least, prefers.workspace};
    const cublasStatus_t status = check(handle, read<desc_t>(desc), l, &found.found_for);
    *returned = 0;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    const size_t element = size_of(found.found_for.compute);
    if (prefers.made != PREFERENCE || requested < 1 || !are_legal(prefers.least, element))
        return CUBLAS_STATUS_INVALID_VALUE;
    const alignments &least = prefers.least;
    if (std::max({least.a, least.b, least.c, least.d}) == element)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < requested; ++i) /* there must be room for that many */
        results[i] = {};
    write(&results[0].algo, found);
    results[0].workspaceSize = found.workspace;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *returned = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t) {
    const layouts l = {read<layout_t>(a_layout), read<layout_t>(b_layout), read<layout_t>(c_layout),
                       read<layout_t>(d_layout)};
    product p;
    const cublasStatus_t status = check(handle, read<desc_t>(desc), l, &p);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    const algorithm_t with = read<algorithm_t>(algo);
    if (!alpha || !a || !b || !beta || !c || !d || !same(p, with.found_for))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_aligned(a, with.least.a) || !is_aligned(b, with.least.b) ||
        !is_aligned(c, with.least.c) || !is_aligned(d, with.least.d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (workspace_bytes < with.workspace || (with.workspace > 0 && !workspace) ||
        !is_aligned(workspace, 256) || (c == d && l.c.ld != l.d.ld))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (with.workspace > 0)
        memset(workspace, 0xa5, with.workspace);
    const size_t element = size_of(p.compute);
    if (c != d && !is_zero(beta, element))
        copy_columns(l.c, c, l.d, d, element);
    cublasHandle_t blas;
    if (assay_blas_handle(nullptr, &blas) != ASSAY_OK)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return cublasGemmEx(blas, p.op_a, p.op_b, p.m, p.n, p.k, alpha, a, l.a.type, (int)l.a.ld, b,
                        l.b.type, (int)l.b.ld, beta, d, l.d.type, (int)l.d.ld, p.compute,
                        CUBLAS_GEMM_DEFAULT);
}

} // namespace sim_blas

assay_status assay_blas_lt_handle(cublasLtHandle_t *handle) {
    static cublasLtContext context = {true};
    *handle = &context;
    return ASSAY_OK;
}
