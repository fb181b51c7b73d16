/* exp and log of kernels in fp64 against the host's in extended precision. */
#include "kernels/common/exp64.h"
#include "tests/shim/assay_test.h"

#include <math.h>

/* A function of kernels and its exact value. */
struct function {
    const char *name;
    double (*compute)(double x);
    long double (*exact)(long double x);
    long double max_ulp; /* measured, over 10^8 random doubles, and half a unit of the host's own */
};

static const function functions[] = {
    {"exp_", [](double x) { return exp_(x); }, expl, 0.89L + 0x1p-11L},
    {"log_", [](double x) { return log_(x); }, logl, 0.97L + 0x1p-11L},
};

/* The distance to the next double beyond |value|'s binade's start; subnormals are equally spaced.
 */
static long double ulp(long double value) {
    int exponent;
    frexpl(value, &exponent);
    return ldexpl(1, (exponent > -1021 ? exponent : -1021) - 53);
}

static bool is_right(const function &f, double x) {
    const double got = f.compute(x);
    const long double want = f.exact(x);
    if (isnan(want))
        return isnan(got);
    if (isinf((double)want))
        return got == (double)want;
    return fabsl(got - want) <= f.max_ulp * ulp(want);
}

static void check(double x) {
    for (const function &f : functions)
        CHECK_MSG(is_right(f, x), "%s(%a) = %a, not %La", f.name, x, f.compute(x), f.exact(x));
}

ASSAY_TEST(exp64, doubles_of_the_whole_range, "unit sim") {
    const uint64_t step = UINT64_C(0x40000d1b54a33); /* 2^50 and a little: 16,383 of them */
    for (uint64_t bits = 0; bits <= UINT64_MAX - step; bits += step)
        check(__longlong_as_double((long long)bits));
}

ASSAY_TEST(exp64, results_of_the_whole_range, "unit sim") {
    for (int i = 0; i <= 200000; ++i) {
        check(-746 + i * (1456 / 200000.0)); /* every exponent of exp's */
        check(0.5 + i * (1.5 / 200000));     /* around the zero of log */
    }
}

ASSAY_TEST(exp64, special_values, "unit sim") {
    static const double values[] = {
        0.0, 1.0, INFINITY, NAN, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023};
    for (double x : values) {
        check(x);
        check(-x);
    }
    CHECK(exp_(0.0) == 1 && log_(1.0) == 0);
}
