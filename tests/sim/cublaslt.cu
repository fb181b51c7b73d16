/* The cuBLASLt stand-in against plain loops: transposes, four leading dimensions, C apart from D;
 * and its checks of arguments, alignments and workspace. */
#include "device/blas.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

enum { M = 3, N = 4, K = 5, LDA = 6, LDB = 7, LDC = 8, LDD = 9, CELLS = 64, WORKSPACE = 256 };

struct types {
    cudaDataType type;
    cublasComputeType_t compute;
};
static const types f32 = {CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC};
static const types f64 = {CUDA_R_64F, CUBLAS_COMPUTE_64F_PEDANTIC};
static const types tf32 = {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};

/* D = 2 op(A) op(B) + 3 C. */
struct problem {
    cublasLtMatmulDescOpaque_t desc;
    cublasLtMatrixLayoutOpaque_t a, b, c, d;
    cublasLtMatmulPreferenceOpaque_t preference;
};

static void layout(cublasLtMatrixLayoutOpaque_t *to, cudaDataType type, int rows, int columns,
                   int ld) {
    REQUIRE(cublasLtMatrixLayoutInit(to, type, (uint64_t)rows, (uint64_t)columns, ld) ==
            CUBLAS_STATUS_SUCCESS);
}

template <typename Attribute, typename Value>
static cublasStatus_t prefer(problem *p, Attribute attribute, Value value) {
    return cublasLtMatmulPreferenceSetAttribute(&p->preference, attribute, &value, sizeof value);
}

static problem make(const types &t, cublasOperation_t op_a, cublasOperation_t op_b) {
    problem p;
    REQUIRE(cublasLtMatmulDescInit(&p.desc, t.compute, t.type) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescSetAttribute(&p.desc, CUBLASLT_MATMUL_DESC_TRANSA, &op_a,
                                           sizeof op_a) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescSetAttribute(&p.desc, CUBLASLT_MATMUL_DESC_TRANSB, &op_b,
                                           sizeof op_b) == CUBLAS_STATUS_SUCCESS);
    const bool na = op_a == CUBLAS_OP_N, nb = op_b == CUBLAS_OP_N;
    layout(&p.a, t.type, na ? M : K, na ? K : M, LDA);
    layout(&p.b, t.type, nb ? K : N, nb ? N : K, LDB);
    layout(&p.c, t.type, M, N, LDC);
    layout(&p.d, t.type, M, N, LDD);
    REQUIRE(cublasLtMatmulPreferenceInit(&p.preference) == CUBLAS_STATUS_SUCCESS);
    return p;
}

static cublasLtHandle_t lt() {
    cublasLtHandle_t handle;
    REQUIRE_OK(assay_blas_lt_handle(&handle));
    return handle;
}

static cublasStatus_t search(problem *p, cublasLtMatmulHeuristicResult_t *found) {
    int count = -1;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        lt(), &p->desc, &p->a, &p->b, &p->c, &p->d, &p->preference, 1, found, &count);
    CHECK(count == (status == CUBLAS_STATUS_SUCCESS));
    return status;
}

/* Matrices as aligned as cuBLASLt expects, D full of NaN, the others of small integers. */
template <typename T> struct data {
    alignas(256) T a[CELLS], b[CELLS], c[CELLS], d[CELLS];
    alignas(256) unsigned char workspace[WORKSPACE];

    data() {
        for (int i = 0; i < CELLS; ++i) {
            a[i] = (T)((i * 7 + 1) % 9 - 4);
            b[i] = (T)((i * 7 + 2) % 9 - 4);
            c[i] = (T)((i * 7 + 3) % 9 - 4);
            d[i] = (T)NAN;
        }
    }
};

template <typename T>
static cublasStatus_t multiply(problem *p, const cublasLtMatmulHeuristicResult_t &with, T alpha,
                               T beta, data<T> *x, const T *c, T *d, size_t workspace = WORKSPACE) {
    return cublasLtMatmul(lt(), &p->desc, &alpha, x->a, &p->a, x->b, &p->b, &beta, c, &p->c, d,
                          &p->d, &with.algo, x->workspace, workspace, nullptr);
}

template <typename T>
static T element(const T *a, cublasOperation_t op, int ld, int row, int column) {
    return op == CUBLAS_OP_N ? a[row + column * ld] : a[column + row * ld];
}

template <typename T> static void check_product(const types &t) {
    const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
    for (cublasOperation_t op_a : ops)
        for (cublasOperation_t op_b : ops) {
            problem p = make(t, op_a, op_b);
            const data<T> before;
            data<T> x;
            cublasLtMatmulHeuristicResult_t found;
            REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
            REQUIRE(multiply(&p, found, (T)2, (T)3, &x, x.c, x.d) == CUBLAS_STATUS_SUCCESS);
            CHECK(memcmp(x.c, before.c, sizeof x.c) == 0);
            for (int i = 0; i < CELLS; ++i) {
                const int row = i % LDD, column = i / LDD;
                if (row >= M || column >= N) {
                    CHECK_MSG(isnan(x.d[i]), "element %d between the columns was written", i);
                    continue;
                }
                T want = 3 * x.c[row + column * LDC];
                for (int k = 0; k < K; ++k)
                    want +=
                        2 * element(x.a, op_a, LDA, row, k) * element(x.b, op_b, LDB, k, column);
                CHECK_MSG(x.d[i] == want, "ops %d %d, element %d: %g, not %g", op_a, op_b, i,
                          (double)x.d[i], (double)want);
            }
        }
}

ASSAY_TEST(cublaslt, adds_what_lies_elsewhere, "unit sim") {
    check_product<float>(f32);
    check_product<double>(f64);
    check_product<float>(tf32); /* the data have few bits */
}

ASSAY_TEST(cublaslt, adds_in_place, "unit sim") {
    problem p = make(f64, CUBLAS_OP_N, CUBLAS_OP_N);
    data<double> x, before;
    cublasLtMatmulHeuristicResult_t found;
    REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
    CHECK(multiply(&p, found, 0.0, 3.0, &x, x.c, x.c) == CUBLAS_STATUS_INVALID_VALUE);
    layout(&p.d, CUDA_R_64F, M, N, LDC);
    CHECK(multiply(&p, found, 0.0, 3.0, &x, x.c, x.c) == CUBLAS_STATUS_SUCCESS);
    CHECK(x.c[1 + 2 * LDC] == 3 * before.c[1 + 2 * LDC]);
}

/* Ten bits behind the leading one stay, rounded, in TF32 alone, and C keeps all of its own. */
ASSAY_TEST(cublaslt, tf32_rounds_its_operands, "unit sim") {
    const float kept = 1 + 0x1p-10f, wide = kept + 0x1.8p-11f, next = 1 + 0x1p-9f,
                before = 1 + 0x1p-20f;
    const auto product = [&](const types &t) {
        problem p = make(t, CUBLAS_OP_N, CUBLAS_OP_N);
        data<float> x;
        cublasLtMatmulHeuristicResult_t found;
        memset(x.a, 0, sizeof x.a);
        x.a[0] = wide;
        x.b[0] = -kept;
        x.c[0] = before;
        REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
        REQUIRE(multiply(&p, found, 1.0f, 1.0f, &x, x.c, x.d) == CUBLAS_STATUS_SUCCESS);
        return x.d[0];
    };
    CHECK(product(f32) == before - wide * kept);
    CHECK(product(tf32) == before - next * kept);
}

ASSAY_TEST(cublaslt, beta_0_does_not_read_c, "unit sim") {
    problem p = make(f32, CUBLAS_OP_N, CUBLAS_OP_N);
    data<float> x;
    cublasLtMatmulHeuristicResult_t found;
    for (float &v : x.c)
        v = NAN;
    REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(multiply(&p, found, 1.0f, 0.0f, &x, x.c, x.d) == CUBLAS_STATUS_SUCCESS);
    CHECK(!isnan(x.d[0]) && !isnan(x.d[M - 1 + (N - 1) * LDD]));
}

ASSAY_TEST(cublaslt, an_algorithm_needs_its_alignment, "unit sim") {
    problem p = make(f32, CUBLAS_OP_N, CUBLAS_OP_N);
    data<float> x;
    cublasLtMatmulHeuristicResult_t found;
    REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
    CHECK(multiply(&p, found, 1.0f, 1.0f, &x, x.c + 1, x.d) == CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(prefer(&p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4u) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
    CHECK(multiply(&p, found, 1.0f, 1.0f, &x, x.c + 1, x.d) == CUBLAS_STATUS_SUCCESS);
    CHECK(multiply(&p, found, 1.0f, 1.0f, &x, x.c, x.d + 1) == CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(prefer(&p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 2u) == CUBLAS_STATUS_SUCCESS);
    CHECK(search(&p, &found) == CUBLAS_STATUS_INVALID_VALUE);
}

ASSAY_TEST(cublaslt, may_find_no_algorithm, "unit sim") {
    problem p = make(f32, CUBLAS_OP_N, CUBLAS_OP_N);
    cublasLtMatmulHeuristicResult_t found;
    for (int i = 0; i < 4; ++i) {
        CHECK(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
        const int attribute = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i;
        REQUIRE(prefer(&p, (cublasLtMatmulPreferenceAttributes_t)attribute, 4u) ==
                CUBLAS_STATUS_SUCCESS);
    }
    CHECK(search(&p, &found) == CUBLAS_STATUS_NOT_SUPPORTED);
}

ASSAY_TEST(cublaslt, an_algorithm_takes_its_workspace, "unit sim") {
    problem p = make(f32, CUBLAS_OP_N, CUBLAS_OP_N);
    data<float> x;
    cublasLtMatmulHeuristicResult_t found;
    REQUIRE(prefer(&p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (uint64_t)WORKSPACE - 1) ==
            CUBLAS_STATUS_SUCCESS);
    REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
    CHECK(found.workspaceSize == WORKSPACE - 1);
    memset(x.workspace, 0, sizeof x.workspace);
    CHECK(multiply(&p, found, 1.0f, 1.0f, &x, x.c, x.d, WORKSPACE - 2) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(x.workspace[0] == 0);
    CHECK(multiply(&p, found, 1.0f, 1.0f, &x, x.c, x.d, WORKSPACE - 1) == CUBLAS_STATUS_SUCCESS);
    CHECK(x.workspace[0] != 0 && x.workspace[WORKSPACE - 2] != 0);
    CHECK(x.workspace[WORKSPACE - 1] == 0);
}

ASSAY_TEST(cublaslt, arguments_are_checked, "unit sim") {
    const problem right = make(f32, CUBLAS_OP_T, CUBLAS_OP_N);
    cublasLtMatmulHeuristicResult_t found, other;
    data<float> x;
    const auto with = [&](auto change) {
        problem p = right;
        change(&p);
        return search(&p, &other);
    };
    CHECK(with([](problem *) {}) == CUBLAS_STATUS_SUCCESS);
    CHECK(with([](problem *p) { layout(&p->a, CUDA_R_32F, M, K, LDA); }) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(with([](problem *p) { layout(&p->b, CUDA_R_32F, K, N + 1, LDB); }) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(with([](problem *p) { layout(&p->c, CUDA_R_32F, M + 1, N, LDC); }) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(with([](problem *p) { layout(&p->d, CUDA_R_32F, M, N, M - 1); }) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(with([](problem *p) { layout(&p->c, CUDA_R_16BF, M, N, LDC); }) ==
          CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(with([](problem *p) { memset(&p->desc, 0, sizeof p->desc); }) ==
          CUBLAS_STATUS_INVALID_VALUE);
    CHECK(with([](problem *p) {
              cublasLtMatmulDescInit(&p->desc, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_64F);
          }) == CUBLAS_STATUS_NOT_SUPPORTED);
    problem p = right;
    CHECK(prefer(&p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0u) == CUBLAS_STATUS_INVALID_VALUE);
    const char wrong_size = CUBLAS_OP_T;
    CHECK(cublasLtMatmulDescSetAttribute(&p.desc, CUBLASLT_MATMUL_DESC_TRANSB, &wrong_size,
                                         sizeof wrong_size) == CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(search(&p, &found) == CUBLAS_STATUS_SUCCESS);
    CHECK(multiply<float>(&p, found, 1, 1, &x, nullptr, x.d) == CUBLAS_STATUS_INVALID_VALUE);
    problem transposed = make(f32, CUBLAS_OP_N, CUBLAS_OP_N);
    CHECK(multiply<float>(&transposed, found, 1, 1, &x, x.c, x.d) == CUBLAS_STATUS_INVALID_VALUE);
    int count;
    CHECK(cublasLtMatmulAlgoGetHeuristic(nullptr, &p.desc, &p.a, &p.b, &p.c, &p.d, &p.preference, 1,
                                         &found, &count) == CUBLAS_STATUS_NOT_INITIALIZED);
}
