/* cuBLAS and cuBLASLt: row-major products by swapped operands, transposes, batches, a vector, bf16
 * in and f32 out, a captured product, and an epilogue. */
#include "check.h"

#include <cmath>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>

#define BLAS(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)

enum { M = 5, N = 3, K = 4 };
static float a[M * K], b[K * N], want[M * N]; /* row-major */

static float *device(const float *from, int n) {
    float *to;
    CUDA(cudaMalloc(&to, n * sizeof *to));
    if (from != NULL)
        CUDA(cudaMemcpy(to, from, n * sizeof *to, cudaMemcpyHostToDevice));
    return to;
}

static void expect(const float *d, const float *right, int n) {
    float got[64];
    CUDA(cudaMemcpy(got, d, n * sizeof *got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i)
        EXPECT(fabsf(got[i] - right[i]) < 1e-5f);
}

static void products(cublasHandle_t blas, const float *da, const float *db, float *dc) {
    const float one = 1, zero = 0, two = 2;
    float transposed[M * K], *dt, y[M], *dy;
    BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, db, N, da, K, &zero, dc, N));
    expect(dc, want, M * N);
    for (int i = 0; i < M; ++i)
        for (int k = 0; k < K; ++k)
            transposed[k * M + i] = a[i * K + k];
    dt = device(transposed, M * K);
    BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, N, M, K, &two, db, N, dt, M, &zero, dc, N));
    float doubled[M * N];
    for (int i = 0; i < M * N; ++i)
        doubled[i] = 2 * want[i];
    expect(dc, doubled, M * N);
    /* A column of B: every N-th element. */
    dy = device(NULL, M);
    BLAS(cublasSgemv(blas, CUBLAS_OP_T, K, M, &one, da, K, db + 1, N, &zero, dy, 1));
    for (int i = 0; i < M; ++i)
        y[i] = want[i * N + 1];
    expect(dy, y, M);
    EXPECT(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, db, N - 1, da, K, &zero, dc,
                       N) == CUBLAS_STATUS_INVALID_VALUE);
    CUDA(cudaFree(dt));
    CUDA(cudaFree(dy));
}

static void narrow(cublasHandle_t blas, float *dc) {
    __nv_bfloat16 na[M * K], nb[K * N], *da, *db;
    const float one = 1, zero = 0;
    for (int i = 0; i < M * K; ++i)
        na[i] = __float2bfloat16(a[i]);
    for (int i = 0; i < K * N; ++i)
        nb[i] = __float2bfloat16(b[i]);
    CUDA(cudaMalloc(&da, sizeof na));
    CUDA(cudaMalloc(&db, sizeof nb));
    CUDA(cudaMemcpy(da, na, sizeof na, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(db, nb, sizeof nb, cudaMemcpyHostToDevice));
    BLAS(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, db, CUDA_R_16BF, N, da,
                      CUDA_R_16BF, K, &zero, dc, CUDA_R_32F, N, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    expect(dc, want, M * N);
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
}

static void captured(cublasHandle_t blas, const float *da, const float *db, float *dc) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    const float one = 1;
    float tripled[M * N];
    CUDA(cudaStreamCreate(&stream));
    BLAS(cublasSetStream(blas, stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, db, N, da, K, &one, dc, N));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CUDA(cudaMemset(dc, 0, M * N * sizeof *dc));
    for (int i = 0; i < 3; ++i)
        CUDA(cudaGraphLaunch(replay, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < M * N; ++i)
        tripled[i] = 3 * want[i];
    expect(dc, tripled, M * N);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(graph));
    BLAS(cublasSetStream(blas, NULL));
    CUDA(cudaStreamDestroy(stream));
}

/* Column-major: C (N x M) = B (N x K) A (K x M), a bias for each of the N, ReLU. */
static void lt(const float *da, const float *db, float *dc) {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t left, right, out;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    const float one = 1, zero = 0, bias[N] = {-8, 0, 8};
    float right_one[M * N], *dbias = device(bias, N);
    int n = 0;
    BLAS(cublasLtCreate(&handle));
    BLAS(cublasLtMatmulDescCreate(&what, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                        sizeof epilogue));
    BLAS(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &dbias,
                                        sizeof dbias));
    BLAS(cublasLtMatrixLayoutCreate(&left, CUDA_R_32F, N, K, N));
    BLAS(cublasLtMatrixLayoutCreate(&right, CUDA_R_32F, K, M, K));
    BLAS(cublasLtMatrixLayoutCreate(&out, CUDA_R_32F, N, M, N));
    BLAS(cublasLtMatmulPreferenceCreate(&preference));
    BLAS(cublasLtMatmulAlgoGetHeuristic(handle, what, left, right, out, out, preference, 1, &found,
                                        &n));
    EXPECT(n == 1);
    BLAS(cublasLtMatmul(handle, what, &one, db, left, da, right, &zero, dc, out, dc, out,
                        &found.algo, NULL, 0, 0));
    for (int i = 0; i < M * N; ++i)
        right_one[i] = fmaxf(want[i] + bias[i % N], 0);
    expect(dc, right_one, M * N);
    BLAS(cublasLtMatmulPreferenceDestroy(preference));
    BLAS(cublasLtMatrixLayoutDestroy(left));
    BLAS(cublasLtMatrixLayoutDestroy(right));
    BLAS(cublasLtMatrixLayoutDestroy(out));
    BLAS(cublasLtMatmulDescDestroy(what));
    BLAS(cublasLtDestroy(handle));
    CUDA(cudaFree(dbias));
}

int main() {
    cublasHandle_t blas;
    float *da, *db, *dc;
    for (int i = 0; i < M * K; ++i)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; ++i)
        b[i] = (float)(i % 5 - 2);
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j)
            for (int k = 0; k < K; ++k)
                want[i * N + j] += a[i * K + k] * b[k * N + j];
    da = device(a, M * K);
    db = device(b, K * N);
    dc = device(NULL, M * N);
    BLAS(cublasCreate(&blas));
    products(blas, da, db, dc);
    narrow(blas, dc);
    captured(blas, da, db, dc);
    lt(da, db, dc);
    BLAS(cublasDestroy(blas));
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dc));
    puts("ok");
}
