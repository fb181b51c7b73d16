/* Logits before a token whose v is not finite may be NaN, and no others. */
#include "assay/compare.h"
#include "assay/problem.h"
#include "oracles/transformer/transformer.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>

enum { B = 3, T = 5, VOCAB = 9 };

static bool is_finite_row(const double *logits) {
    for (int64_t c = 0; c < VOCAB; ++c)
        if (!isfinite(logits[c]))
            return false;
    return true;
}

/* What the comparison says of the right logits, but for a NaN at one of them. */
static assay_verdict verdict_of_nan(const assay_reference *r, int64_t at) {
    double got[B * T * VOCAB];
    for (int64_t i = 0; i < B * T * VOCAB; ++i)
        got[i] = r->want.out.data[TRANSFORMER_LOGITS][i];
    got[at] = NAN;
    return assay_compare_bounded(ASSAY_F32, got, &r->want.out, &r->out_bound, TRANSFORMER_LOGITS)
        .verdict;
}

ASSAY_TEST(transformer_hidden, only_logits_before_what_is_not_finite_may_be_nan, "unit") {
    int64_t allowed = 0, refused = 0;
    for (int seed = 0; seed < 12; ++seed) {
        char text[160];
        assay_case c;
        assay_problem p;
        assay_reference r;
        snprintf(text, sizeof text,
                 "transformer size=tiny b=3 t=5 vocab=9 d=8 ff=8 layers=2 heads=2 dtype=f32 "
                 "fill=inf seed=%d",
                 seed);
        REQUIRE_OK(assay_case_parse(text, &c));
        REQUIRE_OK(assay_problem_init(&p, &c));
        REQUIRE_OK(assay_reference_init(&r, &p));
        const double *logits = r.want.out.data[TRANSFORMER_LOGITS];
        for (int64_t token = 0; token < B * T; ++token) {
            bool before = false; /* one of its sample whose logits are not finite */
            for (int64_t later = token + 1; later % T != 0; ++later)
                before = before || !is_finite_row(logits + later * VOCAB);
            if (!is_finite_row(logits + token * VOCAB))
                continue;
            const assay_verdict verdict = verdict_of_nan(&r, token * VOCAB + seed % VOCAB);
            CHECK_MSG((verdict == ASSAY_FAIL) == !before, "%s: token %lld: %s", text,
                      (long long)token, assay_verdict_name(verdict));
            allowed += before;
            refused += !before;
        }
        assay_reference_clear(&r);
        assay_problem_clear(&p);
    }
    CHECK_MSG(allowed > 0 && refused > 0, "%lld, %lld", (long long)allowed, (long long)refused);
}
