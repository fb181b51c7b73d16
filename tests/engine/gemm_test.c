/* The fp64 products that a device lends to the oracles for large cases. */
#include "assay/device.h"
#include "assay/rng.h"
#include "tests/shim/assay_test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct product {
    bool ta, tb;
    int64_t m, n, k;
    double beta;
    int64_t pad; /* elements between rows */
} product;

static double *random_matrix(const char *name, int64_t rows, int64_t stride) {
    double *data = malloc((size_t)(rows * stride) * sizeof *data);
    REQUIRE(data != NULL);
    for (int64_t e = 0; e < rows * stride; ++e)
        data[e] = assay_rng_normal(1, assay_rng_stream(name), (uint64_t)e);
    return data;
}

/* Row i of the product by loops; every element within (k + 2) eps of its terms' magnitude. */
static void check_row(const product *p, int64_t i, const double *a, int64_t lda, const double *b,
                      int64_t ldb, const double *c, const double *got) {
    for (int64_t j = 0; j < p->n; ++j) {
        double want = p->beta * c[j], magnitude = fabs(want);
        for (int64_t l = 0; l < p->k; ++l) {
            const double term = (p->ta ? a[l * lda + i] : a[i * lda + l]) *
                                (p->tb ? b[j * ldb + l] : b[l * ldb + j]);
            want += term;
            magnitude += fabs(term);
        }
        const double bound = (double)(p->k + 2) * DBL_EPSILON * magnitude;
        if (!(fabs(got[j] - want) <= bound))
            assay_test_abort(__FILE__, __LINE__, "element (%lld, %lld) is %.17g, by loops %.17g",
                             (long long)i, (long long)j, got[j], want);
    }
}

static void check_product(assay_gemm gemm, const product *p, int64_t rows_checked) {
    const int64_t lda = (p->ta ? p->m : p->k) + p->pad, ldb = (p->tb ? p->k : p->n) + p->pad;
    const int64_t ldc = p->n + p->pad;
    double *a = random_matrix("a", p->ta ? p->k : p->m, lda);
    double *b = random_matrix("b", p->tb ? p->n : p->k, ldb);
    double *c = random_matrix("c", p->m, ldc), *before = random_matrix("c", p->m, ldc);
    REQUIRE_OK(gemm(p->ta, p->tb, p->m, p->n, p->k, a, lda, b, ldb, p->beta, c, ldc));
    for (int64_t r = 0; r < rows_checked; ++r) {
        const int64_t i = r * (p->m - 1) / (rows_checked > 1 ? rows_checked - 1 : 1);
        check_row(p, i, a, lda, b, ldb, before + i * ldc, c + i * ldc);
    }
    for (int64_t e = 0; e < p->m * ldc; ++e) /* what lies between the rows is not touched */
        if (e % ldc >= p->n)
            REQUIRE(c[e] == before[e]);
    free(a);
    free(b);
    free(c);
    free(before);
}

static assay_gemm gemm_of_gpu(void) {
    const assay_device *device = NULL;
    const assay_status status = assay_device_open("cuda", &device);
    if (status == ASSAY_ERR_UNSUPPORTED)
        SKIP_GPU(assay_error());
    REQUIRE_MSG(status == ASSAY_OK, "%s", assay_error());
    REQUIRE(device->gemm != NULL);
    return device->gemm;
}

ASSAY_TEST(device_gemm, is_loops, "gpu check smoke") {
    const assay_gemm gemm = gemm_of_gpu();
    for (int layout = 0; layout < 8; ++layout) {
        const product p = {.ta = layout & 1,
                           .tb = layout & 2,
                           .m = 37,
                           .n = 41,
                           .k = 29,
                           .beta = layout & 4 ? 1 : 0,
                           .pad = layout % 3};
        check_product(gemm, &p, p.m);
    }
}

ASSAY_TEST(device_gemm, is_loops_in_rows_of_large_products, "gpu check") {
    const assay_gemm gemm = gemm_of_gpu();
    const product p = {.tb = true, .m = 3000, .n = 2500, .k = 4096};
    check_product(gemm, &p, 8);
}
