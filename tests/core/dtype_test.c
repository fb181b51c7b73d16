#include "assay/dtype.h"
#include "assay/rng.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

static const assay_dtype half_width[] = {ASSAY_BF16, ASSAY_F16};

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* The value of a 16-bit pattern by the definition of the format. */
static double value_of(int exponent_bits, uint16_t pattern) {
    const int fraction_bits = 15 - exponent_bits;
    const int top = (1 << exponent_bits) - 1, bias = top / 2;
    const int exponent = pattern >> fraction_bits & top;
    const int fraction = pattern & ((1 << fraction_bits) - 1);
    const double sign = pattern >> 15 ? -1 : 1;
    if (exponent == top)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

ASSAY_TEST(dtype, widens_every_16_bit_pattern, "unit") {
    for (unsigned i = 0; i < 65536; ++i) {
        const uint16_t pattern = (uint16_t)i;
        double bf16, f16;
        assay_dtype_widen(ASSAY_BF16, &pattern, &bf16, 1);
        assay_dtype_widen(ASSAY_F16, &pattern, &f16, 1);
        CHECK_MSG(same(bf16, value_of(8, pattern)), "bf16 %04x gives %a", i, bf16);
        CHECK_MSG(same(f16, value_of(5, pattern)), "f16 %04x gives %a", i, f16);
    }
}

ASSAY_TEST(dtype, narrows_every_16_bit_value_to_itself, "unit") {
    for (int d = 0; d < 2; ++d) {
        for (unsigned i = 0; i < 65536; ++i) {
            const uint16_t pattern = (uint16_t)i;
            uint16_t back;
            double value;
            assay_dtype_widen(half_width[d], &pattern, &value, 1);
            assay_dtype_narrow(half_width[d], &value, &back, 1);
            CHECK_MSG(back == pattern, "%s %04x comes back as %04x",
                      assay_dtype_name(half_width[d]), i, back);
        }
    }
}

static double ulp_below(assay_dtype dtype, double v) {
    return v - assay_dtype_round(dtype, v * (1 - assay_dtype_unit(dtype)));
}

/* Between each two neighbours: the middle goes to the even one, a hair beside it to the nearer. */
ASSAY_TEST(dtype, rounds_to_nearest_even_between_all_neighbours, "unit") {
    for (int d = 0; d < 2; ++d) {
        const assay_dtype dtype = half_width[d];
        const unsigned largest = dtype == ASSAY_BF16 ? 0x7f7f : 0x7bff;
        for (unsigned i = 0; i <= largest; ++i) {
            const uint16_t pair[2] = {(uint16_t)i, (uint16_t)(i + 1)};
            double v[2];
            assay_dtype_widen(dtype, pair, v, 2);
            if (i == largest) /* what a wider exponent would hold next */
                v[1] = v[0] + ulp_below(dtype, v[0]);
            const double middle = v[0] + (v[1] - v[0]) / 2;
            const double up = i == largest ? INFINITY : v[1];
            const double even = i % 2 == 0 ? v[0] : up;
            CHECK(same(assay_dtype_round(dtype, middle), even));
            CHECK(same(assay_dtype_round(dtype, nextafter(middle, 0)), v[0]));
            CHECK(same(assay_dtype_round(dtype, nextafter(middle, INFINITY)), up));
            CHECK(same(assay_dtype_round(dtype, -middle), -even));
        }
    }
}

ASSAY_TEST(dtype, rounds_to_f32_as_a_cast_does, "unit") {
    for (uint64_t i = 0; i < 2000000; ++i) {
        uint64_t bits = assay_rng_bits(1, 2, i);
        if (i % 2 == 0) /* the exponents around f32's, where the work is */
            bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (UINT64_C(860) + bits % 310) << 52;
        if (i % 6 == 0) /* ties */
            bits = (bits & ~((UINT64_C(1) << 29) - 1)) | UINT64_C(1) << 28;
        const double value = from_bits(bits);
        const double want = (double)(float)value;
        float stored;
        double back;
        assay_dtype_narrow(ASSAY_F32, &value, &stored, 1);
        assay_dtype_widen(ASSAY_F32, &stored, &back, 1);
        CHECK_MSG(same(assay_dtype_round(ASSAY_F32, value), want), "%a rounds to %a", value,
                  assay_dtype_round(ASSAY_F32, value));
        CHECK_MSG(same(back, want), "%a is stored as %a", value, back);
    }
}

/* 1 + 2^-8 + 2^-40 lies above the middle of two bf16 values; by way of f32 it would fall on it. */
ASSAY_TEST(dtype, rounds_once, "unit") {
    CHECK(assay_dtype_round(ASSAY_BF16, 0x1.01p0 + 0x1p-40) == 0x1.02p0);
    CHECK(assay_dtype_round(ASSAY_BF16, 0x1.01p0) == 1);
}

ASSAY_TEST(dtype, constants_agree_with_the_rounding, "unit") {
    for (int i = 0; i < ASSAY_DTYPES; ++i) {
        const assay_dtype d = (assay_dtype)i;
        const double max = assay_dtype_max(d), tiny = assay_dtype_denorm_min(d);
        assay_dtype parsed;
        CHECK(assay_dtype_parse(assay_dtype_name(d), strlen(assay_dtype_name(d)), &parsed) &&
              parsed == d);
        CHECK(assay_dtype_unit(d) == ldexp(1, -assay_dtype_significand(d)));
        CHECK(assay_dtype_round(d, max) == max && assay_dtype_round(d, tiny) == tiny);
        CHECK(same(assay_dtype_round(d, -0.0), -0.0) && isnan(assay_dtype_round(d, NAN)));
        CHECK(same(assay_dtype_round(d, -INFINITY), -INFINITY));
        CHECK(isnan(assay_dtype_round(d, from_bits(UINT64_C(0x7ff0000000000001)))));
        if (d == ASSAY_F64)
            continue;
        CHECK(assay_dtype_round(d, tiny / 2) == 0 && assay_dtype_round(d, tiny * 0.75) == tiny);
        CHECK(isinf(assay_dtype_round(d, max * (1 + assay_dtype_unit(d)))));
        CHECK(assay_dtype_round(d, 1 + assay_dtype_unit(d)) == 1);
        CHECK(assay_dtype_round(d, 1 + 3 * assay_dtype_unit(d)) == 1 + 4 * assay_dtype_unit(d));
    }
    assay_dtype parsed;
    CHECK(!assay_dtype_parse("f3", 2, &parsed) && !assay_dtype_parse("f320", 4, &parsed));
    CHECK(assay_dtype_size(ASSAY_F64) == 8 && assay_dtype_size(ASSAY_F16) == 2);
}

ASSAY_TEST(dtype, no_elements_are_none, "unit") {
    double wide = 7;
    float narrow = 7;
    assay_dtype_widen(ASSAY_F32, &narrow, &wide, 0);
    assay_dtype_narrow(ASSAY_F32, &wide, &narrow, -1);
    CHECK(wide == 7 && narrow == 7);
}

ASSAY_TEST(dtype, indices_are_kept, "unit") {
    static const double integers[] = {0, 1, -1, 2147483647, -2147483648.0, 10000};
    int32_t stored[6];
    double back[6];
    assay_dtype_narrow(ASSAY_I32, integers, stored, 6);
    assay_dtype_widen(ASSAY_I32, stored, back, 6);
    for (int i = 0; i < 6; ++i)
        CHECK(back[i] == integers[i] && assay_dtype_round(ASSAY_I32, integers[i]) == integers[i]);
    CHECK(assay_dtype_round(ASSAY_I32, 1e10) == 2147483647);
    CHECK(assay_dtype_round(ASSAY_I32, NAN) == 0);
    CHECK_STREQ(assay_dtype_name(ASSAY_I32), "i32");
    CHECK(assay_dtype_size(ASSAY_I32) == 4);
}
