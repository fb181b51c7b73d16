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

/* With steps, from both ends; what copies, and what gives numbers, to the host or the device. */
static void vectors(cublasHandle_t blas) {
    enum { N_X = 4, STEP = 2 };
    const float x[N_X * STEP] = {1, 0, -4, 0, 3, 0, 2, 0}, two = 2, right[N_X] = {2, 3, -4, 1};
    float *dx = device(NULL, N_X * STEP), *dy = device(right, N_X), got[N_X], *dot, sum;
    int *place, index;
    BLAS(cublasSetVector(N_X, sizeof *x, x, STEP, dx, STEP));
    BLAS(cublasGetVector(N_X, sizeof *x, dx, STEP, got, 1));
    EXPECT(got[0] == 1 && got[1] == -4 && got[2] == 3 && got[3] == 2);
    BLAS(cublasIsamax(blas, N_X, dx, STEP, &index));
    EXPECT(index == 2);
    BLAS(cublasIsamin(blas, N_X, dx, STEP, &index));
    EXPECT(index == 1);
    BLAS(cublasSasum(blas, N_X, dx, STEP, &sum));
    EXPECT(sum == 10);
    BLAS(cublasSnrm2(blas, N_X, dx, STEP, &sum));
    EXPECT(fabsf(sum - sqrtf(30)) < 1e-5f);
    BLAS(cublasSdot(blas, N_X, dx, -STEP, dy, 1, &sum)); /* 2, 3, -4, 1 from its far end */
    EXPECT(sum == 30);
    BLAS(cublasSaxpy(blas, N_X, &two, dx, STEP, dy, 1));
    const float added[N_X] = {4, -5, 2, 5};
    expect(dy, added, N_X);
    BLAS(cublasScopy(blas, N_X, dy, 1, dx, 1));
    BLAS(cublasSscal(blas, N_X, &two, dx, 1));
    BLAS(cublasSswap(blas, N_X, dx, 1, dy, 1));
    const float scaled[N_X] = {8, -10, 4, 10};
    expect(dy, scaled, N_X);
    expect(dx, added, N_X);
    CUDA(cudaMalloc(&dot, sizeof *dot));
    CUDA(cudaMalloc(&place, sizeof *place));
    BLAS(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE));
    BLAS(cublasSdot(blas, N_X, dx, 1, dx, 1, dot));
    BLAS(cublasSscal(blas, N_X, dot, dx, 1));
    BLAS(cublasIsamax(blas, N_X, dx, 1, place));
    BLAS(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST));
    const float seventy[N_X] = {280, -350, 140, 350};
    expect(dx, seventy, N_X);
    CUDA(cudaMemcpy(&index, place, sizeof index, cudaMemcpyDeviceToHost));
    EXPECT(index == 2);
    EXPECT(cublasSetVector(N_X, sizeof *x, x, 0, dx, 1) == CUBLAS_STATUS_INVALID_VALUE);
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
    CUDA(cudaFree(dot));
    CUDA(cudaFree(place));
}

/* Column-major, 2 x 3. */
static void matrices(cublasHandle_t blas) {
    const float x[6] = {1, 2, 3, 4, 5, 6}, one = 1, two = 2, zero = 0;
    float *dx = device(NULL, 9), *dy = device(NULL, 6), got[6];
    BLAS(cublasSetMatrix(2, 3, sizeof *x, x, 2, dx, 3));
    BLAS(cublasSgeam(blas, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &two, dx, 3, &zero, NULL, 3, dy, 3));
    const float turned[6] = {2, 6, 10, 4, 8, 12};
    expect(dy, turned, 6);
    /* In place only as it lies. */
    EXPECT(cublasSgeam(blas, CUBLAS_OP_N, CUBLAS_OP_T, 2, 3, &one, dx, 3, &one, dy, 3, dy, 2) ==
           CUBLAS_STATUS_INVALID_VALUE);
    BLAS(cublasSgeam(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, &one, dx, 3, &one, dy, 3, dy, 3));
    const float added[6] = {3, 8, 10, 7, 12, 12};
    expect(dy, added, 6);
    BLAS(cublasSetMatrix(2, 3, sizeof *x, x, 2, dy, 2));
    BLAS(cublasSdgmm(blas, CUBLAS_SIDE_RIGHT, 2, 3, dy, 2, dx, 3, dy, 2)); /* by 1, 3, 5 */
    const float columns[6] = {1, 2, 9, 12, 25, 30};
    expect(dy, columns, 6);
    BLAS(cublasSdgmm(blas, CUBLAS_SIDE_LEFT, 2, 3, dy, 2, dx, 1, dy, 2)); /* by 1, 2 */
    const float rows[6] = {1, 4, 9, 24, 25, 60};
    expect(dy, rows, 6);
    BLAS(cublasSger(blas, 2, 3, &two, dx, 1, dx, 3, dy, 2)); /* 1, 2 times 1, 3, 5 */
    const float outer[6] = {3, 8, 15, 36, 35, 80};
    expect(dy, outer, 6);
    BLAS(cublasGetMatrix(2, 3, sizeof *got, dy, 2, got, 2));
    EXPECT(got[5] == 80);
    CUDA(cudaFree(dx));
    CUDA(cudaFree(dy));
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
    vectors(blas);
    matrices(blas);
    captured(blas, da, db, dc);
    lt(da, db, dc);
    BLAS(cublasDestroy(blas));
    CUDA(cudaFree(da));
    CUDA(cudaFree(db));
    CUDA(cudaFree(dc));
    puts("ok");
}
