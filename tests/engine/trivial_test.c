/*
 * Trivial solutions: found where data, or what an operator is on such a shape, let one pass, and
 * nowhere else. The operators' own rules are not asked here.
 */
#include "engine/trivial.h"
#include "tests/shim/assay_test.h"

#include <string.h>

typedef struct search {
    assay_problem p;
    assay_reference ref;
    trivial_findings found;
} search;

/* `change` may spoil the data; NULL: as the case makes them. */
static search search_in(const char *text, void (*change)(assay_problem *p)) {
    search s;
    assay_case c;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_problem_init(&s.p, &c));
    if (change)
        change(&s.p);
    REQUIRE_OK(assay_reference_init(&s.ref, &s.p));
    REQUIRE_OK(trivial_find(&s.p, &s.ref, &s.found));
    return s;
}

static void search_clear(search *s) {
    trivial_clear(&s->found);
    assay_reference_clear(&s->ref);
    assay_problem_clear(&s->p);
}

static void expect_whole(const char *text, void (*change)(assay_problem *p), const char *reason) {
    search s = search_in(text, change);
    CHECK_MSG(strcmp(s.found.whole, reason) == 0, "%s: '%s' instead of '%s'", text, s.found.whole,
              reason);
    search_clear(&s);
}

static void expect_out(const char *text, void (*change)(assay_problem *p), const char *reason) {
    search s = search_in(text, change);
    CHECK_MSG(strcmp(s.found.out[0], reason) == 0, "%s: '%s' instead of '%s'", text, s.found.out[0],
              reason);
    search_clear(&s);
}

static void expect_nothing(const char *text) {
    search s = search_in(text, NULL);
    CHECK_MSG(s.found.whole[0] == '\0', "%s: %s", text, s.found.whole);
    for (int32_t i = 0; i < s.p.sig.n_out; ++i)
        CHECK_MSG(s.found.out[i][0] == '\0', "%s: %s", text, s.found.out[i]);
    for (int32_t i = 0; i < s.p.sig.n_in; ++i)
        CHECK_MSG(s.found.grad[i][0] == '\0', "%s: d%s: %s", text, s.p.sig.in[i].name,
                  s.found.grad[i]);
    search_clear(&s);
}

static void set_input(assay_problem *p, int32_t i, double value) {
    for (int64_t e = 0; e < p->in.size[i]; ++e)
        p->in.data[i][e] = value;
}

static void w_of_ones(assay_problem *p) {
    set_input(p, 1, 1);
}

static void w_of_twos(assay_problem *p) {
    set_input(p, 1, 2);
}

static void x_of_zeros(assay_problem *p) {
    set_input(p, 0, 0);
}

static void dy_of_ones(assay_problem *p) {
    for (int64_t e = 0; e < p->cot.size[0]; ++e)
        p->cot.data[0][e] = 1;
}

/* All rows of x are alike, and so are the elements of y. */
static void equal_rows(assay_problem *p) {
    const int64_t d = p->in.size[1];
    for (int64_t e = d; e < p->in.size[0]; ++e)
        p->in.data[0][e] = p->in.data[0][e - d];
}

#define SUMS "weighted_sum n=7 d=23 dtype=f32"

ASSAY_TEST(trivial, parameters_that_may_be_ignored, "unit smoke") {
    expect_whole(SUMS, w_of_ones, "a kernel that ignores w would pass");
    expect_whole(SUMS, w_of_twos, "a kernel that ignores w would pass"); /* but for one element */
    expect_whole(SUMS, x_of_zeros, "a kernel that ignores x would pass");
    expect_whole(SUMS, dy_of_ones, "a kernel that ignores dy would pass");
    expect_whole("adamw n=50 step=4 beta1=0 dtype=f32", NULL, "a kernel that ignores m would pass");
}

ASSAY_TEST(trivial, constants_means_and_copies, "unit smoke") {
    expect_out(SUMS, equal_rows, "a constant, the mean of all, would pass");
    expect_out("rope b=2 h=3 s=1 d=8 dtype=f32", NULL, "a copy of x would pass");
    expect_out("rope b=2 h=3 s=1 d=8 start=1 dtype=f32", NULL, "");
}

/* What the operators' rules say of data is found without them. */
ASSAY_TEST(trivial, rules_of_operators_are_found, "unit smoke") {
    expect_whole("conv3d_groupnorm_mean n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f32 fill=initial", NULL,
                 "a kernel that ignores gamma would pass");
    expect_out("conv3d_groupnorm_mean n=2 ci=2 co=6 s=4x3x5 k=2 g=6 dtype=f64", NULL,
               "a constant, the mean of all, would pass");
    expect_whole("rmsnorm n=5 d=40 dtype=f32 fill=initial", NULL,
                 "a kernel that ignores w would pass");
    expect_whole("rmsnorm n=5 d=40 residual=1 dtype=bf16 fill=initial", NULL,
                 "a kernel that ignores w would pass");
}

/* dc is a copy of dy, and dbeta the same for all channels, because that is what they are. */
ASSAY_TEST(trivial, definitions_are_no_shortcuts, "unit smoke") {
    expect_nothing("matmul_accumulate m=9 n=11 k=7 iters=2 dtype=f32");
    expect_nothing("matmul_accumulate m=9 n=11 k=7 dtype=bf16 fill=exact");
    expect_nothing("conv3d_groupnorm_mean n=3 ci=2 co=8 s=4x4x5 k=2 g=2 dtype=f32");
    expect_nothing("embedding t=40 v=9 d=12 dtype=bf16");
    expect_nothing("cross_entropy t=9 v=30 gradient=1 dtype=f32");
}

ASSAY_TEST(trivial, large_cases_are_not_searched, "unit smoke") {
    search s = search_in("weighted_sum n=300 d=300 dtype=f32", w_of_ones);
    CHECK(!s.found.searched && s.found.whole[0] == '\0');
    search_clear(&s);
}
