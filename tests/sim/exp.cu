/* exp, exp2 and log of kernels against the host's in fp64. */
#include "kernels/common/exp.h"
#include "tests/shim/assay_test.h"

#include <math.h>

/* A function of kernels and its exact value. */
struct function {
    const char *name;
    float (*compute)(float x);
    double (*exact)(double x);
    double max_ulp; /* measured, over all 2^32 floats */
};

static const function functions[] = {
    {"exp_", [](float x) { return exp_(x); }, exp, 0.91},
    {"exp2_", [](float x) { return exp2_(x); }, exp2, 0.96},
    {"log_", [](float x) { return log_(x); }, log, 0.86},
};

/* The distance to the next float beyond |value|'s binade's start; subnormals are equally spaced. */
static double ulp(double value) {
    int exponent;
    frexp(value, &exponent);
    return ldexp(1.0, (exponent > -125 ? exponent : -125) - 24);
}

static bool is_right(const function &f, float x) {
    const double got = f.compute(x), want = f.exact((double)x);
    if (isnan(want))
        return isnan(got);
    if (isinf((float)want)) /* at most half an ulp beyond the largest float counts as it */
        return got == (double)(float)want;
    return fabs(got - want) <= f.max_ulp * ulp(want);
}

ASSAY_TEST(exp, floats_of_the_whole_range, "unit sim") {
    for (const function &f : functions)
        for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
            const float x = __uint_as_float((unsigned)bits);
            CHECK_MSG(is_right(f, x), "%s(%a) = %a, not %a", f.name, (double)x,
                      (double)f.compute(x), f.exact((double)x));
        }
}

ASSAY_TEST(exp, special_values_and_the_ends_of_the_range, "unit sim") {
    static const float values[] = {0.0f,
                                   1.0f,
                                   INFINITY,
                                   NAN,
                                   0x1p-149f,       /* the smallest subnormal */
                                   0x1p-126f,       /* the smallest normal */
                                   0x1.fffffep127f, /* the largest float */
                                   0x1.62e42ep6f,   /* the largest with a finite exp */
                                   0x1.62e43p6f,
                                   0x1.9d1d9ep6f, /* e^-x becomes subnormal, 2^-150, less */
                                   0x1.9fe368p6f,
                                   0x1.9fe36ap6f,
                                   0x1.fffffep6f, /* 2^x becomes infinite */
                                   128.0f,
                                   149.0f,
                                   150.0f,
                                   0x1.2c0002p7f,
                                   0x1.6a09e4p-1f, /* either side of sqrt(1/2) and sqrt(2) */
                                   0x1.6a09e6p-1f,
                                   0x1.6a09e6p0f,
                                   0x1.6a09e8p0f};
    for (const function &f : functions)
        for (float value : values)
            for (int sign = -1; sign <= 1; sign += 2) {
                const float x = (float)sign * value;
                CHECK_MSG(is_right(f, x), "%s(%a) = %a, not %a", f.name, (double)x,
                          (double)f.compute(x), f.exact((double)x));
            }
    CHECK(exp_(0.0f) == 1.0f && exp2_(-0.0f) == 1.0f && log_(1.0f) == 0.0f);
    CHECK(exp_(-INFINITY) == 0.0f && exp_nonpositive(-INFINITY) == 0.0f);
    CHECK(log_(0.0f) == -INFINITY && log_(-0.0f) == -INFINITY);
    CHECK(exp2_(-150.0f) == 0.0f && exp2_(-149.0f) == 0x1p-149f);
}

ASSAY_TEST(exp, exp2_product_has_the_bits_of_exp2, "unit sim") {
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
        const float x = __uint_as_float((unsigned)bits);
        if (x < 63.0f)
            CHECK_MSG(__float_as_uint(exp2_product(x, 1, -151)) == __float_as_uint(exp2_(x)), "%a",
                      (double)x);
    }
    CHECK(isnan(exp2_product(NAN, 1, -151)));
}

/* 1 ulp, and |x| 2^-25 of the value for the constant; subnormal results are off by one at most. */
ASSAY_TEST(exp, exp_nonpositive_is_exp, "unit sim") {
    for (float x = 0; x > -110; x -= 0.0037f) {
        const double want = exp((double)x), got = (double)exp_nonpositive(x);
        CHECK_MSG(fabs(got - want) <= ulp(want) + want * fabs((double)x) * 0x1p-25,
                  "%a: %a, not %a", (double)x, got, want);
    }
    CHECK(exp_nonpositive(0.0f) == 1.0f && isnan(exp_nonpositive(NAN)));
    CHECK(exp_nonpositive(-0x1.fffffep127f) == 0.0f);
}
