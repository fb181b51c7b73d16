#include "assay/device.h"
#include "engine/oracle_pace.h"
#include "tests/shim/assay_test.h"

static assay_status product(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a,
                            int64_t lda, const double *b, int64_t ldb, double beta, double *c,
                            int64_t ldc) {
    (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)b, (void)ldb;
    (void)beta, (void)c, (void)ldc;
    return ASSAY_OK;
}

static oracle_pace pace_of(const char *text, const assay_device *device, bool backward) {
    assay_case c;
    oracle_pace pace = ORACLE_MINUTES;
    CHECK(assay_case_parse(text, &c) == ASSAY_OK);
    CHECK(oracle_pace_of(&c, device, backward, &pace) == ASSAY_OK);
    return pace;
}

ASSAY_TEST(oracle_pace, is_by_its_work_and_by_what_helps, "unit") {
    const assay_device plain = {.name = "plain"}, helped = {.name = "helped", .gemm = product};
    const char *const small = "weighted_sum n=64 d=128", *const large =
                                                             "attention b=4 h=16 sq=8192 d=64";
    CHECK(pace_of(small, &plain, true) == ORACLE_QUICK);
    CHECK(pace_of("attention b=1 h=2 sq=1500 d=64", &plain, false) == ORACLE_SECONDS);
    CHECK(pace_of(large, &plain, true) == ORACLE_MINUTES);
    CHECK(pace_of("transformer size=small b=4 t=128 dtype=bf16", &helped, true) == ORACLE_MINUTES);
    CHECK(pace_of(large, &helped, true) == ORACLE_MINUTES); /* not by products alone */
    CHECK(pace_of("matmul_accumulate m=8192 n=8192 k=8192", &plain, false) == ORACLE_MINUTES);
    CHECK(pace_of("matmul_accumulate m=8192 n=8192 k=8192", &helped, false) == ORACLE_QUICK);
}
