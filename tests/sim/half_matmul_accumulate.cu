/*
 * matmul_accumulate v3_f16x3: two fp16 digits lose as little as claimed; which elements three
 * products do not prove, and that these have the bits of six bf16 products; and that without that
 * rule, or without the power of two of the lower digit, results are wrong.
 */
#include "tests/sim/sums.h"

// Behind the headers of C++, which have a __noinline__ of their own.
#include "kernels/matmul_accumulate/digit_multiply.h"
#include "kernels/matmul_accumulate/half_multiply.h"
#include "tests/shim/assay_test.h"

namespace {

void multiply_by_halves(sums &s, bool left_k, bool right_k) {
    multiply_by(half_multiply, half_bytes, s, left_k, right_k);
}

void multiply_by_six(sums &s, bool left_k, bool right_k) {
    multiply_by(digit_multiply, digit_bytes, s, left_k, right_k);
}

/* |y - Σ a b| in u Σ |a b|. */
double error_of(const sums &s, int64_t i, int64_t j) {
    double exact = 0, magnitude = 0;
    for (int64_t l = 0; l < s.k; ++l) {
        const double term = (double)s.a[(size_t)(i * s.k + l)] * (double)s.b[(size_t)(j * s.k + l)];
        exact += term;
        magnitude += fabs(term);
    }
    return fabs((double)s.y[(size_t)(i * s.n + j)] - exact) / (0x1p-24 * magnitude);
}

} // namespace

/* All significands, at both ends of the numbers that are not small: on this docs/numerics.md
 * builds. */
ASSAY_TEST(matmul_v3_f16x3, digits_lose_as_little_as_claimed, "unit matmul_accumulate") {
    float low = 0, lost = 0;
    for (uint32_t m = 0x800000; m < 0x1000000; ++m)
        for (const float scale : {SMALL * 0x1p-23f, 0x1p-9f}) {
            const float x = (float)m * scale;
            __half digit[f16x3::digits];
            f16x3::split(x, digit);
            const float h = __half2float(digit[0]), l = __half2float(digit[1]) / (1 << LOW);
            low = fmaxf(low, fabsf(l) / x);
            lost = fmaxf(lost, fabsf(x - h - l) / x);
        }
    CHECK_MSG(low <= 0x1p-11f && lost <= 0x1p-23f, "a digit of %a, and a loss of %a", (double)low,
              (double)lost);
}

/* Numbers that are 2^-45 of the largest in row 130 and column 5. Their products alone are column 7
 * by row 130 and row 3 by column 5: all that three products have of these is lost bits. */
ASSAY_TEST(matmul_v3_f16x3, what_is_not_proven_has_the_bits_of_six_products,
           "unit matmul_accumulate") {
    const int64_t row = 130, column = 5, other_column = 7, other_row = 3;
    sums s(133, 140, 70);
    for (float &c : s.c)
        c = 0;
    for (int64_t l = 0; l < s.k; ++l) {
        if (l > 0) {
            s.a[(size_t)(row * s.k + l)] *= 0x1p-45f;
            s.b[(size_t)(column * s.k + l)] *= 0x1p-45f;
        } else {
            s.b[(size_t)(other_column * s.k + l)] = s.a[(size_t)(other_row * s.k + l)] = 0;
        }
    }
    sums plain = s;
    plain.a[(size_t)(row * s.k)] = plain.b[(size_t)(column * s.k)] = 0;
    for (int layout = 0; layout < 4; ++layout) {
        sums six = s;
        multiply_by_halves(s, (layout & 1) != 0, (layout & 2) != 0);
        multiply_by_six(six, (layout & 1) != 0, (layout & 2) != 0);
        multiply_by_halves(plain, (layout & 1) != 0, (layout & 2) != 0);
        int64_t different = 0;
        for (int64_t i = 0; i < s.m; ++i)
            for (int64_t j = 0; j < s.n; ++j) {
                const size_t e = (size_t)(i * s.n + j);
                CHECK_MSG(error_of(s, i, j) <= 64, "layout %d, element (%d, %d): %g u of its terms",
                          layout, (int)i, (int)j, error_of(s, i, j));
                if (i != row && j != column) {
                    CHECK_MSG(s.y[e] == plain.y[e], "layout %d, element (%d, %d) changed", layout,
                              (int)i, (int)j);
                    different += s.y[e] != six.y[e];
                }
            }
        for (const size_t e :
             {(size_t)(row * s.n + other_column), (size_t)(other_row * s.n + column)})
            CHECK_MSG(s.y[e] == six.y[e], "layout %d, element %d: %a, not %a", layout, (int)e,
                      (double)s.y[e], (double)six.y[e]);
        CHECK_MSG(different > 0, "layout %d: all is of six products", layout);
    }
}

/* A largest number that rounds up, and a single small number, by the side of each other. */
ASSAY_TEST(matmul_v3_f16x3, small_numbers_are_counted, "unit matmul_accumulate") {
    const int64_t lines = 3, depth = 70;
    std::vector<float> x((size_t)(lines * depth), 0x1.fffffep0f);
    x[(size_t)(depth + 67)] = 0x1p-28f;     /* line 1: one */
    x[(size_t)(2 * depth + 67)] = 0x1p-27f; /* line 2: none */
    x[(size_t)(2 * depth + 68)] = 0;
    const digit_operand of = {{x.data(), depth, false}, lines, depth};
    size_t used = 0;
    (void)place_digits<f16x3>(of, NULL, &used);
    std::vector<char> workspace(used);
    used = 0;
    const digit_lines<f16x3> to = place_digits<f16x3>(of, workspace.data(), &used);
    REQUIRE_OK(split_operand(NULL, of, to));
    CHECK(to.small[0] == 0 && to.small[1] == 1 && to.small[2] == 0);
    CHECK(__half2float(to.digits[0]) == (float)(2 << HALF_TOP));
}

/* What scaling, the rule and 2^LOW are for: the first sum of such a row, from its digits. */
ASSAY_TEST(matmul_v3_f16x3, small_numbers_are_lost_without_the_rule, "unit matmul_accumulate") {
    const float x = 0x1.800ffep-31f; /* 45 binades below a largest of 2^14 */
    __half digit[f16x3::digits];
    f16x3::split(x, digit);
    const float sum = __half2float(digit[0]) + __half2float(digit[1]) / (1 << LOW);
    CHECK(fabsf(sum - x) > 0x1p-15f * x);
    CHECK(!is_proven(sum * 0x1p14f, 1, 0) && !is_proven(sum * 0x1p14f, 0, 1));
    CHECK(is_proven(0, 0, 0) && is_proven(-SMALL_SHARE, 1, 0) && !is_proven(SMALL_SHARE, 1, 1));
    const float y = 0x1.800ffep-11f; /* not small; its lower digit is subnormal without 2^LOW */
    f16x3::split(y, digit);
    const float rest = y - __half2float(digit[0]);
    CHECK(y - __half2float(digit[0]) - __half2float(digit[1]) / (1 << LOW) == 0);
    CHECK(rest - __half2float(__float2half_rn(rest)) != 0);
    CHECK(__half2float(__float2half_rn(0x1.800ffep-31f)) == 0 &&
          isinf(__half2float(__float2half_rn(0x1p17f)))); /* numbers that are not scaled */
}

/* That of v3 is held to √(128 / k + 1 / 128) of a chain's. */
ASSAY_TEST(matmul_v3_f16x3, sums_are_nearly_as_accurate_as_those_of_v3, "unit matmul_accumulate") {
    const int64_t k = 4096, run = 128;
    sums s(16, 24, k);
    for (float &c : s.c)
        c = 0;
    multiply_by_halves(s, true, false);
    const accuracy digits =
        measure(s, [&](const float *, const float *, int64_t e) { return s.y[(size_t)e]; });
    const accuracy v3 = measure(
        s, [&](const float *a, const float *b, int64_t) { return sum_in_runs(a, b, k, run); });
    const accuracy v1 = measure(
        s, [&](const float *a, const float *b, int64_t) { return sum_in_runs(a, b, k, k); });
    CHECK_MSG(digits.whole <= 1.5 * v3.whole && digits.whole <= v1.whole / 2,
              "%.3g u, v3 %.3g u and v1 %.3g u", digits.whole, v3.whole, v1.whole);
}
