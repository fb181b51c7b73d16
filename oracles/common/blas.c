#include "oracles/common/blas.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* rows a call: CBLAS counts in int */
enum { PACKED_ROWS = 256, PACKED_COLUMNS = 2048 };

static assay_gemm delegate;
static const double large = 0x1p31; /* multiplications */

/* A device gets copies of the operands, so that each element must be worth its way. */
static bool is_worth_delegating(int64_t m, int64_t n, int64_t k) {
    const double rows = (double)m, columns = (double)n, terms = (double)k;
    const double work = rows * columns * terms;
    const double elements = rows * terms + terms * columns + rows * columns;
    return work >= large || (work >= 0x1p27 && work >= 128 * elements);
}

/* OpenBLAS starts a thread for each processor. Oracles multiply small matrices, many processes at a
 * time, whose threads would wait for each other's processors. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_procs(void) __attribute__((weak));

static void use_threads(double work) {
    static bool many = true; /* as it was started */
    const bool wanted = work >= large;
    if (openblas_set_num_threads && openblas_get_num_procs && many != wanted)
        openblas_set_num_threads(wanted ? openblas_get_num_procs() : 1);
    many = wanted;
}

void blas_delegate(assay_gemm gemm) {
    delegate = gemm;
}

static int at_least_one(int64_t ld) {
    return ld > 0 ? (int)ld
                  : 1; /* CBLAS refuses a leading dimension of 0 even for an empty array */
}

static void scale(int64_t m, int64_t n, double beta, double *c, int64_t ldc) {
    for (int64_t i = 0; i < m; ++i) {
        if (beta == 0)
            memset(c + i * ldc, 0, (size_t)n * sizeof *c);
        else
            cblas_dscal((int)n, beta, c + i * ldc, 1);
    }
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* For bᵀ the reference BLAS computes one dot product after another, each a chain of additions. For
 * a copy of bᵀ it adds multiples of rows, many elements at a time: 1.7 times as fast at 20 x 700 x
 * 64. Each sum has the same order. False: not worth it, or no memory. */
static bool multiply_by_copy(bool ta, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
                             const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
    if (m < 4 || n < 8)
        return false;
    double *copy = malloc((size_t)(least(n, PACKED_COLUMNS) * PACKED_ROWS) * sizeof *copy);
    if (!copy)
        return false;
    for (int64_t j = 0; j < n; j += PACKED_COLUMNS) {
        const int64_t columns = least(n - j, PACKED_COLUMNS);
        for (int64_t l = 0; l < k; l += PACKED_ROWS) {
            const int64_t terms = least(k - l, PACKED_ROWS);
            for (int64_t e = 0; e < columns; ++e)
                for (int64_t t = 0; t < terms; ++t)
                    copy[t * columns + e] = b[(j + e) * ldb + l + t];
            for (int64_t i = 0; i < m; i += PIECE)
                cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, CblasNoTrans,
                            (int)least(m - i, PIECE), (int)columns, (int)terms, 1.0,
                            ta ? a + l * lda + i : a + i * lda + l, at_least_one(lda), copy,
                            (int)columns, l == 0 ? beta : 1.0, c + i * ldc + j, at_least_one(ldc));
        }
    }
    free(copy);
    return true;
}

void blas_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
               const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
    if (m == 0 || n == 0)
        return;
    if (k == 0) {
        scale(m, n, beta, c, ldc);
        return;
    }
    const double work = (double)m * (double)n * (double)k;
    if (delegate && is_worth_delegating(m, n, k) &&
        delegate(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc) == ASSAY_OK)
        return;
    use_threads(work);
    if (tb && multiply_by_copy(ta, m, n, k, a, lda, b, ldb, beta, c, ldc))
        return;
    const CBLAS_TRANSPOSE op_a = ta ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE op_b = tb ? CblasTrans : CblasNoTrans;
    for (int64_t i = 0; i < m; i += PIECE) {
        const int rows = (int)(m - i < PIECE ? m - i : PIECE);
        for (int64_t j = 0; j < k; j += PIECE) {
            const int terms = (int)(k - j < PIECE ? k - j : PIECE);
            cblas_dgemm(CblasRowMajor, op_a, op_b, rows, (int)n, terms, 1.0,
                        ta ? a + j * lda + i : a + i * lda + j, at_least_one(lda),
                        tb ? b + j : b + j * ldb, at_least_one(ldb), j == 0 ? beta : 1.0,
                        c + i * ldc, at_least_one(ldc));
        }
    }
}
