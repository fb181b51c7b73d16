/* sin and cos of kernels in fp64 against the host's in extended precision. */
#include "kernels/common/trig.h"
#include "tests/shim/assay_test.h"

#include <math.h>

/* Measured, over 2 10^7 random doubles; and a unit of the host's own. */
static const long double max_ulp = 1.49L + 0x1p-11L;
static const double largest = 0x1p24;

/* The distance to the next double beyond |value|'s binade's start. */
static long double ulp(long double value) {
    int exponent;
    frexpl(value, &exponent);
    return ldexpl(1, exponent - 53);
}

static bool is_right(double got, long double want) {
    return fabsl(got - want) <= max_ulp * ulp(want);
}

static void check(double x) {
    const turn got = turn_of(x);
    CHECK_MSG(is_right(got.sine, sinl(x)), "sin(%a) = %a, not %La", x, got.sine, sinl(x));
    CHECK_MSG(is_right(got.cosine, cosl(x)), "cos(%a) = %a, not %La", x, got.cosine, cosl(x));
}

ASSAY_TEST(trig, angles_of_every_size, "unit sim") {
    const uint64_t step = UINT64_C(0xd1b54a32d19); /* 2^43.7: hundreds of each exponent */
    const uint64_t first = (uint64_t)__double_as_longlong(0x1p-30);
    const uint64_t last = (uint64_t)__double_as_longlong(largest);
    for (uint64_t bits = first; bits <= last; bits += step) {
        const double x = __longlong_as_double((long long)bits);
        check(x);
        check(-x);
    }
}

/* Next to multiples of pi/2 nearly all of the angle is taken off. */
ASSAY_TEST(trig, next_to_where_they_vanish, "unit sim") {
    const long double half_pi = 0xc.90fdaa22168c235p-3L;
    for (int64_t n = 1; (double)(n * half_pi) < largest; n += 1 + n / 997) {
        const double x = (double)(n * half_pi);
        check(nextafter(x, 0));
        check(x);
        check(nextafter(x, largest));
    }
}

ASSAY_TEST(trig, special_values, "unit sim") {
    const turn none = turn_of(0.0);
    CHECK(none.sine == 0 && none.cosine == 1);
    static const double values[] = {INFINITY, -INFINITY, NAN};
    for (double x : values)
        CHECK(isnan(turn_of(x).sine) && isnan(turn_of(x).cosine));
}
