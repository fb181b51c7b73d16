/* Sizes and words that no single key's range excludes: each operator refuses them by one line. */
#include "assay/op.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static const struct {
    const char *text, *line;
} refused[] = {
    {"embedding t=1 v=0 d=1", "embedding: v=0 leaves no row for a token"},
    {"embedding t=2147483647 v=1 d=2147483647", "embedding: a tensor would have 4.61e+18 elements"},
    {"linear m=1 n=1 k=1 dtype=bf16 math=tf32", "math=tf32 is a mode of dtype=f32, not of bf16"},
    {"linear m=2147483647 n=2147483647 k=1", "linear: a tensor would have 4.61e+18 elements"},
    {"matmul_accumulate m=1 n=1 k=1 dtype=f64 math=tf32", "a mode of dtype=f32, not of f64"},
    {"matmul_accumulate m=1 n=2147483647 k=2147483647", "would have 4.61e+18 elements"},
    {"reduce n=none axes=0 kind=sum", "reduce: n=none has no axis to reduce"},
    {"reduce n=2x3 axes=2 kind=sum",
     "reduce: axis 2 is none of the 2 axes of n; the last one is 1"},
    {"reduce n=2x3 axes=1x1 kind=sum", "reduce: axes names axis 1 twice"},
    {"reduce n=2147483647x2147483647 axes=0 kind=sum", "would have 4.61e+18 elements"},
    {"reduce n=2x3 axes=0 kind=sum first=1", "reduce: first=1 is for kind=max"},
    {"reduce n=2x0 axes=1 kind=max", "reduce: the max of no elements is not defined"},
    {"rope b=1 h=1 s=1 d=3", "rope: d=3 is odd, and elements rotate in pairs; use 4"},
    {"rope b=1 h=1 s=2 d=2 start=16777216", "rope: the last position would be 16777217"},
    {"rope b=2147483647 h=2147483647 s=1 d=2", "rope: x would have 9.22e+18 elements"},
    {"scan n=2x3 axis=2", "scan: axis=2 is none of the 2 axes of n; the last one is 1"},
    {"scan n=2147483647x2147483647 axis=0", "scan: a tensor would have 4.61e+18 elements"},
    {"transpose n=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1 r=1 c=1", "transpose: n has 15 axes; at most 14"},
    {"transpose n=none r=2147483647 c=2147483647", "would have 4.61e+18 elements"},
};

/* Of so many terms no sum of integers is exact. */
ASSAY_TEST(legal, sums_may_be_too_long_for_exact_data, "unit") {
    static const char *const texts[] = {"weighted_sum n=1 d=33554432",
                                        "matmul_accumulate m=1 n=1 k=33554432"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        assay_case c;
        assay_signature sig;
        REQUIRE_OK(assay_case_parse(texts[i], &c));
        REQUIRE_OK(c.op->signature(&c.params, &sig));
        CHECK_MSG(!(sig.in[0].exact_limit >= 1), "%s: %g", texts[i], sig.in[0].exact_limit);
        assay_signature_clear(&sig);
    }
}

ASSAY_TEST(legal, each_rule_has_its_line, "unit") {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        assay_case c;
        const assay_status status = assay_case_parse(refused[i].text, &c);
        CHECK_MSG(status == ASSAY_ERR_USAGE, "%s: is taken", refused[i].text);
        CHECK_MSG(status != ASSAY_ERR_USAGE || strstr(assay_error(), refused[i].line) != NULL,
                  "%s: \"%s\" does not say: %s", refused[i].text, assay_error(), refused[i].line);
    }
}
