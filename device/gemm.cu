/*
 * The matrices are copied to the GPU packed, multiplied by cublasDgemm in pedantic mode (fp64
 * throughout) and copied back. cuBLAS is column-major: it sees every matrix as its transpose and
 * computes Cᵀ = op(B)ᵀ op(A)ᵀ.
 */
#include "device/blas.h"
#include "device/gemm.h"

/* A row-major matrix on the GPU, its rows packed. */
struct device_matrix {
    double *data;
    int64_t rows, columns;
};

static assay_status allocate(device_matrix *matrix) {
    const size_t bytes = sizeof(double) * (size_t)matrix->rows * (size_t)matrix->columns;
    return assay_cuda_check(cudaMalloc(&matrix->data, bytes), "memory for an fp64 product");
}

/* Host rows are `stride` elements apart. */
static assay_status upload(const device_matrix &to, const double *from, int64_t stride) {
    const size_t row = sizeof(double) * (size_t)to.columns;
    return assay_cuda_check(cudaMemcpy2D(to.data, row, from, sizeof(double) * (size_t)stride, row,
                                         (size_t)to.rows, cudaMemcpyHostToDevice),
                            "upload of a factor");
}

static assay_status download(const device_matrix &from, double *to, int64_t stride) {
    const size_t row = sizeof(double) * (size_t)from.columns;
    return assay_cuda_check(cudaMemcpy2D(to, sizeof(double) * (size_t)stride, from.data, row, row,
                                         (size_t)from.rows, cudaMemcpyDeviceToHost),
                            "download of a product");
}

static assay_status multiply(bool ta, bool tb, int64_t k, const device_matrix &a,
                             const device_matrix &b, double beta, const device_matrix &c) {
    const double one = 1;
    cublasHandle_t blas;
    const assay_status status = assay_blas_handle(NULL, &blas);
    if (status != ASSAY_OK)
        return status;
    return assay_blas_check(cublasDgemm_64(blas, tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                                           ta ? CUBLAS_OP_T : CUBLAS_OP_N, c.columns, c.rows, k,
                                           &one, b.data, b.columns, a.data, a.columns, &beta,
                                           c.data, c.columns),
                            "cublasDgemm");
}

assay_status assay_cuda_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a,
                             int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                             int64_t ldc) {
    device_matrix left = {NULL, ta ? k : m, ta ? m : k};
    device_matrix right = {NULL, tb ? n : k, tb ? k : n};
    device_matrix product = {NULL, m, n};
    assay_status status = allocate(&left);
    if (status == ASSAY_OK)
        status = allocate(&right);
    if (status == ASSAY_OK)
        status = allocate(&product);
    if (status == ASSAY_OK)
        status = upload(left, a, lda);
    if (status == ASSAY_OK)
        status = upload(right, b, ldb);
    if (status == ASSAY_OK && beta != 0)
        status = upload(product, c, ldc);
    if (status == ASSAY_OK)
        status = multiply(ta, tb, k, left, right, beta, product);
    if (status == ASSAY_OK)
        status = download(product, c, ldc);
    (void)cudaFree(left.data);
    (void)cudaFree(right.data);
    (void)cudaFree(product.data);
    if (status != ASSAY_OK)
        (void)cudaGetLastError(); /* it would be blamed on the next launch */
    return status;
}
