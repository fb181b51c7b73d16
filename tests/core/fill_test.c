/* The families of data, as the operators' problems have them. */
#include "assay/problem.h"
#include "tests/shim/assay_test.h"

#include <float.h>
#include <math.h>

static assay_problem problem_of(const char *text) {
    assay_case c;
    assay_problem p;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_problem_init(&p, &c));
    return p;
}

enum { X, W };
enum { Y };

static double largest(const double *v, int64_t count) {
    double most = 0;
    for (int64_t e = 0; e < count; ++e)
        most = fmax(most, fabs(v[e]));
    return most;
}

static double least(const double *v, int64_t count) {
    double least = INFINITY;
    for (int64_t e = 0; e < count; ++e)
        least = fmin(least, fabs(v[e]));
    return least;
}

ASSAY_TEST(fill, wide_covers_twenty_powers_of_two, "unit") {
    assay_problem p = problem_of("weighted_sum n=50 d=100 dtype=f32 fill=wide");
    CHECK(largest(p.in.data[X], 5000) > 0x1p9 && largest(p.in.data[X], 5000) <= 0x1p10);
    CHECK(least(p.in.data[X], 5000) < 0x1p-9 && least(p.in.data[X], 5000) >= 0x1p-10);
    int64_t negative = 0;
    for (int64_t e = 0; e < 5000; ++e)
        negative += p.in.data[X][e] < 0;
    CHECK(negative > 2300 && negative < 2700);
    assay_problem_clear(&p);
}

ASSAY_TEST(fill, zeros_have_both_signs, "unit") {
    assay_problem p = problem_of("weighted_sum n=50 d=100 dtype=bf16 fill=zeros");
    int64_t plus = 0, minus = 0;
    for (int64_t e = 0; e < 5000; ++e) {
        plus += p.in.data[X][e] == 0 && !signbit(p.in.data[X][e]);
        minus += p.in.data[X][e] == 0 && signbit(p.in.data[X][e]);
    }
    CHECK(plus > 500 && plus < 750 && minus > 500 && minus < 750);
    CHECK(p.in.data[X][0] != 0 && p.in.data[W][0] != 0 && p.cot.data[Y][0] != 0);
    assay_problem_clear(&p);
}

/* Their sums do not cancel for want of size, and are no larger than what two terms leave. */
ASSAY_TEST(fill, cancel_brings_sums_near_zero, "unit") {
    assay_problem p = problem_of("linear m=20 n=20 k=100 dtype=f32 fill=cancel");
    for (int64_t i = 0; i < 20; ++i) {
        double sum = 0, size = 0;
        for (int64_t l = 0; l < 100; ++l) {
            sum += p.in.data[X][i * 100 + l];
            size += fabs(p.in.data[X][i * 100 + l]);
        }
        CHECK(fabs(sum) < 4 && size > 90);
    }
    assay_problem_clear(&p);
}

static void check_denormal(const char *text, double normal) {
    assay_problem p = problem_of(text);
    CHECK(largest(p.in.data[X], p.in.size[X]) < 8 * normal);
    CHECK(largest(p.in.data[X], p.in.size[X]) > 0);
    CHECK(largest(p.in.data[W], p.in.size[W]) > 1);
    assay_problem_clear(&p);
}

ASSAY_TEST(fill, denormal_follows_the_dtype, "unit") {
    check_denormal("weighted_sum n=9 d=40 dtype=f32 fill=denormal", FLT_MIN);
    check_denormal("weighted_sum n=9 d=40 dtype=bf16 fill=denormal", FLT_MIN);
    check_denormal("weighted_sum n=9 d=40 dtype=f64 fill=denormal", DBL_MIN);
    assay_problem p = problem_of("attention b=1 h=1 sq=9 d=8 causal=1 dtype=f16 fill=denormal");
    CHECK(largest(p.in.data[X], p.in.size[X]) < 8 * 0x1p-14);
    assay_problem_clear(&p);
}

/* Near overflow, and the right answer below it: what the oracle says can be stored. */
static void check_huge(const char *text, double large, double most) {
    assay_problem p = problem_of(text);
    assay_reference r;
    REQUIRE_OK(assay_reference_init(&r, &p));
    for (int32_t o = 0; o < r.want.out.count; ++o)
        CHECK(largest(r.want.out.data[o], r.want.out.size[o]) < most);
    for (int32_t i = 0; i < r.want.grad.count; ++i)
        if (r.want.grad.data[i])
            CHECK(largest(r.want.grad.data[i], r.want.grad.size[i]) < most);
    CHECK(largest(p.in.data[X], p.in.size[X]) > large);
    assay_reference_clear(&r);
    assay_problem_clear(&p);
}

ASSAY_TEST(fill, huge_is_near_overflow_and_below, "unit") {
    check_huge("weighted_sum n=300 d=300 dtype=f32 fill=huge", 0x1p100, FLT_MAX);
    check_huge("linear m=40 n=60 k=80 dtype=f64 fill=huge", 0x1p990, DBL_MAX);
    check_huge("matmul_accumulate m=30 n=30 k=30 iters=100 dtype=f32 fill=huge", 0x1p90, FLT_MAX);
    check_huge("kronecker b=3 f=7x8x9 layers=3 dtype=f32 fill=huge", 0x1p60, FLT_MAX);
    check_huge("rmsnorm n=9 d=300 dtype=f32 fill=huge", 0x1p30, FLT_MAX);
}

ASSAY_TEST(fill, mixed_changes_from_row_to_row, "unit") {
    enum { NORMAL, WIDE, ZEROS, DENORMAL, HUGE_NUMBERS, FAMILIES };
    assay_problem p = problem_of("linear m=10 n=10 k=200 dtype=f32 fill=mixed");
    for (int64_t r = 0; r < 10; ++r) {
        const double *x = p.in.data[X] + r * 200, most = largest(x, 200);
        const int family = (int)(r % FAMILIES);
        CHECK((least(x, 200) == 0) == (family == ZEROS));
        CHECK((most < 8 * (double)FLT_MIN) == (family == DENORMAL));
        CHECK((most > 0x1p100) == (family == HUGE_NUMBERS));
        CHECK((most > 100 && most < 2000) == (family == WIDE));
    }
    assay_problem_clear(&p);
}

ASSAY_TEST(fill, subnormal_numbers_are_refused_in_tf32, "unit") {
    assay_case c;
    CHECK(assay_case_parse("linear m=1 n=1 k=1 dtype=f32 math=tf32 fill=denormal", &c) ==
          ASSAY_ERR_USAGE);
    CHECK(assay_case_parse("linear m=1 n=1 k=1 dtype=f32 math=tf32 fill=mixed", &c) ==
          ASSAY_ERR_USAGE);
    REQUIRE_OK(assay_case_parse("linear m=1 n=1 k=1 dtype=f32 math=tf32 fill=wide", &c));
}
