/* The cuBLAS stand-in against plain loops: transposes, leading dimensions, batch steps, storage
 * types; and its argument checks. */
#include "device/blas.h"
#include "tests/shim/assay_test.h"

#include <math.h>

#include <initializer_list>

enum { M = 3, N = 4, K = 5, LD = 7, BATCH = 2, STRIDE = 64, CELLS = BATCH * STRIDE };

static cublasHandle_t blas() {
    cublasHandle_t handle;
    REQUIRE_OK(assay_blas_handle(nullptr, &handle));
    return handle;
}

/* Small integers: every sum is exact in every type. */
template <typename T> static void fill(T *array, int seed) {
    for (int i = 0; i < CELLS; ++i)
        array[i] = (T)((i * 7 + seed) % 9 - 4);
}

template <typename T> static double at(const T *a, cublasOperation_t op, int row, int column) {
    return (double)(op == CUBLAS_OP_N ? a[row + column * LD] : a[column + row * LD]);
}

template <typename T, typename Call> static void check_gemm(Call call) {
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    for (cublasOperation_t op_a : ops)
        for (cublasOperation_t op_b : ops) {
            T a[CELLS], b[CELLS], c[CELLS], before[CELLS];
            fill(a, 1);
            fill(b, 2);
            fill(c, 3);
            fill(before, 3);
            REQUIRE_OK(assay_blas_check(call(op_a, op_b, (T)2, a, b, (T)3, c), "gemm"));
            for (int i = 0; i < CELLS; ++i) {
                int batch = i / STRIDE, row = i % STRIDE % LD, column = i % STRIDE / LD;
                double want = (double)before[i];
                if (row < M && column < N) {
                    want *= 3;
                    for (int k = 0; k < K; ++k)
                        want += 2 * at(a + batch * STRIDE, op_a, row, k) *
                                at(b + batch * STRIDE, op_b, k, column);
                }
                CHECK_MSG((double)c[i] == want, "ops %d %d, element %d: %g, not %g", op_a, op_b, i,
                          (double)c[i], want);
            }
        }
}

ASSAY_TEST(cublas, gemm_transposes_and_strides, "unit sim") {
    cublasHandle_t h = blas();
    check_gemm<double>([h](auto ta, auto tb, double alpha, auto *a, auto *b, double beta, auto *c) {
        return cublasDgemmStridedBatched(h, ta, tb, M, N, K, &alpha, a, LD, STRIDE, b, LD, STRIDE,
                                         &beta, c, LD, STRIDE, BATCH);
    });
    check_gemm<float>([h](auto ta, auto tb, float alpha, auto *a, auto *b, float beta, auto *c) {
        return cublasSgemmStridedBatched_64(h, ta, tb, M, N, K, &alpha, a, LD, STRIDE, b, LD,
                                            STRIDE, &beta, c, LD, STRIDE, BATCH);
    });
    check_gemm<float>([h](auto ta, auto tb, float alpha, auto *a, auto *b, float beta, auto *c) {
        cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
        for (int i = 0; i < BATCH && status == CUBLAS_STATUS_SUCCESS; ++i)
            status = cublasSgemm(h, ta, tb, M, N, K, &alpha, a + i * STRIDE, LD, b + i * STRIDE, LD,
                                 &beta, c + i * STRIDE, LD);
        return status;
    });
    check_gemm<double>([h](auto ta, auto tb, double alpha, auto *a, auto *b, double beta, auto *c) {
        return cublasGemmStridedBatchedEx(h, ta, tb, M, N, K, &alpha, a, CUDA_R_64F, LD, STRIDE, b,
                                          CUDA_R_64F, LD, STRIDE, &beta, c, CUDA_R_64F, LD, STRIDE,
                                          BATCH, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
    });
}

struct bf16 {
    static constexpr cudaDataType type = CUDA_R_16BF;
    typedef __nv_bfloat16 storage;
    static storage narrow(float v) {
        return __float2bfloat16_rn(v);
    }
    static float widen(storage v) {
        return __bfloat162float(v);
    }
};
struct f16 {
    static constexpr cudaDataType type = CUDA_R_16F;
    typedef __half storage;
    static storage narrow(float v) {
        return __float2half_rn(v);
    }
    static float widen(storage v) {
        return __half2float(v);
    }
};

/* The result has more bits than bf16: it must be rounded once, from an fp32 sum. */
template <typename F> static void check_narrow() {
    typename F::storage a[M * K], b[K * N], c[M * N];
    float wide[M * N], alpha = 1, beta = 0;
    for (int i = 0; i < M * K; ++i)
        a[i] = F::narrow((float)(101 + 2 * i));
    for (int i = 0; i < K * N; ++i)
        b[i] = F::narrow((float)(3 + i));
    for (int i = 0; i < M * N; ++i) {
        c[i] = F::narrow(NAN);
        wide[i] = NAN;
    }
    REQUIRE_OK(assay_blas_check(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, a,
                                             F::type, M, b, F::type, K, &beta, c, F::type, M,
                                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                                "cublasGemmEx"));
    REQUIRE_OK(assay_blas_check(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, a,
                                             F::type, M, b, F::type, K, &beta, wide, CUDA_R_32F, M,
                                             CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT),
                                "cublasGemmEx"));
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float want = 0;
            for (int k = 0; k < K; ++k)
                want += F::widen(a[i + k * M]) * F::widen(b[k + j * K]);
            CHECK(wide[i + j * M] == want);
            CHECK(F::widen(c[i + j * M]) == F::widen(F::narrow(want)));
        }
}

ASSAY_TEST(cublas, gemm_ex_rounds_once, "unit sim") {
    check_narrow<bf16>();
    check_narrow<f16>();
}

/* Ten bits behind the leading one stay of either operand, rounded to nearest and even; C keeps all.
 */
ASSAY_TEST(cublas, tf32_rounds_its_operands, "unit sim") {
    const float kept = 1 + 0x1p-10f, wide = kept + 0x1.8p-11f, next = 1 + 0x1p-9f,
                before = 1 + 0x1p-20f;
    const auto multiply = [&](float a, float b, cublasComputeType_t compute) {
        const float one = 1;
        float c = before;
        REQUIRE_OK(assay_blas_check(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one,
                                                 &a, CUDA_R_32F, 1, &b, CUDA_R_32F, 1, &one, &c,
                                                 CUDA_R_32F, 1, compute, CUBLAS_GEMM_DEFAULT),
                                    "cublasGemmEx"));
        return c;
    };
    CHECK(multiply(wide, -kept, CUBLAS_COMPUTE_32F) == before - wide * kept);
    CHECK(multiply(wide, -kept, CUBLAS_COMPUTE_32F_FAST_TF32) == before - next * kept);
    CHECK(multiply(-kept, wide, CUBLAS_COMPUTE_32F_FAST_TF32) == before - next * kept);
    const float between = kept + 0x1p-11f, below = 1 + 0x1p-11f;
    CHECK(multiply(between, -1, CUBLAS_COMPUTE_32F_FAST_TF32) == before - next);
    CHECK(multiply(below, -1, CUBLAS_COMPUTE_32F_FAST_TF32) == before - 1);
    CHECK(isinf(multiply(INFINITY, 1, CUBLAS_COMPUTE_32F_FAST_TF32)));
    CHECK(isnan(multiply(__uint_as_float(0x7f800001u), 1, CUBLAS_COMPUTE_32F_FAST_TF32)));
}

ASSAY_TEST(cublas, beta_0_does_not_read_the_result, "unit sim") {
    double a[M * K], b[K * N], c[M * N], y[M], alpha = 1, beta = 0;
    for (double &v : a)
        v = 1;
    for (double &v : b)
        v = 2;
    for (double &v : c)
        v = NAN;
    for (double &v : y)
        v = NAN;
    REQUIRE_OK(assay_blas_check(
        cublasDgemm(blas(), CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &alpha, a, M, b, K, &beta, c, M),
        "cublasDgemm"));
    CHECK(c[0] == 2 * K && c[M * N - 1] == 2 * K);
    REQUIRE_OK(assay_blas_check(
        cublasDgemv(blas(), CUBLAS_OP_N, M, K, &alpha, a, M, b, 1, &beta, y, 1), "cublasDgemv"));
    CHECK(y[0] == 2 * K && y[M - 1] == 2 * K);
    c[0] = NAN;
    REQUIRE_OK(assay_blas_check(
        cublasDgemm(blas(), CUBLAS_OP_N, CUBLAS_OP_N, M, N, 0, &alpha, a, M, b, 1, &beta, c, M),
        "cublasDgemm"));
    CHECK(c[0] == 0);
}

/* 2 · 2^1023 is no number of fp64. */
ASSAY_TEST(cublas, alpha_multiplies_sums, "unit sim") {
    const double large = 0x1p1023, quarter = 0.25, alpha = 2, beta = 0;
    double y = 0;
    REQUIRE_OK(assay_blas_check(cublasDgemm(blas(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &alpha,
                                            &quarter, 1, &large, 1, &beta, &y, 1),
                                "cublasDgemm"));
    CHECK(y == 0x1p1022);
    y = 0;
    REQUIRE_OK(assay_blas_check(
        cublasDgemv(blas(), CUBLAS_OP_N, 1, 1, &alpha, &quarter, 1, &large, 1, &beta, &y, 1),
        "cublasDgemv"));
    CHECK(y == 0x1p1022);
}

ASSAY_TEST(cublas, vectors_and_diagonals, "unit sim") {
    double a[CELLS], x[CELLS], y[CELLS], old[CELLS], alpha = 2, beta = 3;
    fill(a, 1);
    fill(x, 2);
    for (cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        int rows = op == CUBLAS_OP_N ? M : N, columns = op == CUBLAS_OP_N ? N : M;
        fill(y, 3);
        fill(old, 3);
        REQUIRE_OK(
            assay_blas_check(cublasDgemvStridedBatched(blas(), op, M, N, &alpha, a, LD, STRIDE, x,
                                                       2, STRIDE, &beta, y, 3, STRIDE, BATCH),
                             "cublasDgemvStridedBatched"));
        for (int i = 0; i < BATCH * rows; ++i) {
            int batch = i / rows * STRIDE, row = i % rows;
            double want = 3 * old[batch + 3 * row];
            for (int j = 0; j < columns; ++j)
                want += 2 * at(a + batch, op, row, j) * x[batch + 2 * j];
            CHECK(y[batch + 3 * row] == want);
        }
    }
    REQUIRE_OK(assay_blas_check(
        cublasDgeam(blas(), CUBLAS_OP_T, CUBLAS_OP_N, M, N, &alpha, a, LD, &beta, x, LD, y, LD),
        "cublasDgeam"));
    CHECK(y[1 + 2 * LD] == 2 * a[2 + 1 * LD] + 3 * x[1 + 2 * LD]);
    REQUIRE_OK(assay_blas_check(cublasDdgmm(blas(), CUBLAS_SIDE_LEFT, M, N, a, LD, x, 2, y, LD),
                                "cublasDdgmm"));
    CHECK(y[1 + 2 * LD] == a[1 + 2 * LD] * x[2]);
    REQUIRE_OK(assay_blas_check(cublasDdgmm(blas(), CUBLAS_SIDE_RIGHT, M, N, a, LD, x, 2, y, LD),
                                "cublasDdgmm"));
    CHECK(y[1 + 2 * LD] == a[1 + 2 * LD] * x[4]);
    REQUIRE_OK(assay_blas_check(cublasDscal(blas(), 2, &alpha, x, 5), "cublasDscal"));
    fill(old, 2);
    CHECK(x[5] == 2 * old[5] && x[1] == old[1] && x[10] == old[10]);
}

ASSAY_TEST(cublas, arguments_are_checked, "unit sim") {
    double a[CELLS], one = 1;
    fill(a, 0);
    auto gemm = [&](int m, int n, int k, int lda, int ldb, int ldc) {
        return cublasDgemm(blas(), CUBLAS_OP_N, CUBLAS_OP_T, m, n, k, &one, a, lda, a, ldb, &one,
                           a + STRIDE, ldc);
    };
    CHECK(gemm(M, N, K, M, N, M) == CUBLAS_STATUS_SUCCESS);
    CHECK(gemm(M, N, K, M - 1, N, M) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(gemm(M, N, K, M, N - 1, M) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(gemm(M, N, K, M, N, M - 1) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(gemm(M, N, -1, M, N, M) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(gemm(0, N, K, 0, N, 1) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(gemm(0, N, K, 1, N, 1) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasDgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &one, a, 1) ==
          CUBLAS_STATUS_NOT_INITIALIZED);
    CHECK(cublasDgemm(blas(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, nullptr, a, 1, a, 1, &one, a, 1) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasDgemm_64(blas(), CUBLAS_OP_N, CUBLAS_OP_N, int64_t{1} << 32, 1, 1, &one, a,
                         int64_t{1} << 32, a, 1, &one, a,
                         int64_t{1} << 32) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(cublasDgemv(blas(), CUBLAS_OP_N, M, N, &one, a, M, a, 0, &one, a, 1) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(cublasGemmEx(blas(), CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16BF, 1, a,
                       CUDA_R_16BF, 1, &one, a, CUDA_R_16BF, 1, CUBLAS_COMPUTE_32F_FAST_TF32,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK_FAILS(assay_blas_check(CUBLAS_STATUS_INVALID_VALUE, "cublasDgemm"), ASSAY_ERR_DEVICE,
                "cublasDgemm: CUBLAS_STATUS_INVALID_VALUE");
}
