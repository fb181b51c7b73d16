/*
 * matmul_accumulate v3_bf16x6: digits are exact, sums as accurate as chains of fp32 multiply-adds,
 * and lines without digits have v3's bits and disturb no other. No bound asks for any of these.
 */
#include "tests/sim/sums.h"

// Behind the headers of C++, which have a __noinline__ of their own.
#include "kernels/matmul_accumulate/digit_multiply.h"
#include "tests/shim/assay_test.h"

namespace {

void multiply_by_digits_of(sums &s, bool left_k, bool right_k) {
    multiply_by(digit_multiply, digit_bytes, s, left_k, right_k);
}

/* Numbers of all binades that a line with digits may have, subnormal ones, too, and zeros. */
std::vector<float> wide_numbers(int64_t lines, int64_t depth) {
    std::mt19937 bits;
    std::vector<float> x;
    for (int64_t i = 0; i < lines; ++i) {
        const int top = (int)(bits() % 254) - 126; /* of this line's binades */
        for (int64_t k = 0; k < depth; ++k) {
            const int below = k == depth - 1 ? 0 : 1 + (int)(bits() % MOST_BINADES);
            const float significand = (float)(0x800000 | (bits() & 0x7fffff)) * 0x1p-23f;
            const float v = k % 17 == 5 ? 0 : ldexpf(significand, top - below);
            x.push_back(bits() % 2 ? v : -v);
        }
    }
    return x;
}

} // namespace

ASSAY_TEST(matmul_v3_bf16x6, digits_are_exact, "unit matmul_accumulate") {
    const int64_t lines = 37, depth = REACH + 66; /* the largest number lies behind REACH */
    const std::vector<float> x = wide_numbers(lines, depth);
    const digit_operand of = {{x.data(), depth, false}, lines, depth};
    size_t used = 0;
    (void)place_digits<bf16x6>(of, NULL, &used);
    std::vector<char> workspace(used);
    used = 0;
    const digit_lines<bf16x6> to = place_digits<bf16x6>(of, workspace.data(), &used);
    REQUIRE_OK(split_operand(NULL, of, to));
    for (int64_t i = 0; i < lines; ++i) {
        const int power = ilogbf(x[(size_t)((i + 1) * depth - 1)]) - TOP;
        REQUIRE_MSG(to.power[i] == power, "line %d has the power %d, not %d", (int)i,
                    (int)to.power[i], power);
        for (int64_t k = 0; k < to.padded; ++k) {
            double sum = 0, scale = ldexp(1, to.power[i]);
            for (int g = 0; g < DIGITS; ++g)
                sum += (double)__bfloat162float(to.digits[(g * lines + i) * to.padded + k]);
            const double want = k < depth ? (double)x[(size_t)(i * depth + k)] : 0;
            CHECK_MSG(sum * scale == want, "(%d, %d): %a, not %a", (int)i, (int)k, sum * scale,
                      want);
        }
    }
}

/* All significands: |d1| <= 2^-8 |x|, |d2| <= 2^-17 |x|, on which docs/numerics.md builds. */
ASSAY_TEST(matmul_v3_bf16x6, digits_are_as_small_as_claimed, "unit matmul_accumulate") {
    float most[DIGITS] = {};
    int64_t inexact = 0;
    for (uint32_t m = 0x800000; m < 0x1000000; ++m) {
        const float x = (float)m;
        const digits_of d(x);
        float digit[DIGITS];
        for (int g = 0; g < DIGITS; ++g) {
            digit[g] = __bfloat162float(d.digit[g]);
            most[g] = fmaxf(most[g], fabsf(digit[g]) / x);
        }
        inexact += digit[0] + (digit[1] + digit[2]) != x;
    }
    CHECK_MSG(inexact == 0, "%lld sums of digits are not the number", (long long)inexact);
    CHECK_MSG(most[1] <= 0x1p-8f && most[2] <= 0x1p-17f, "digits of %a and %a", (double)most[1],
              (double)most[2]);
}

ASSAY_TEST(matmul_v3_bf16x6, lines_of_too_many_binades_are_marked, "unit matmul_accumulate") {
    const struct {
        float largest, smallest;
        bool marked;
    } line[] = {{1, 0x1p-86f, false},
                {1, 0x1p-87f, true},
                {0x1.fffffep127f, 0x1p41f, false},
                {0x1p127f, 0x1p40f, true},
                {0x1p-63f, 0x1p-149f, false},
                {0x1p-62f, 0x1p-149f, true},
                {0x1p-149f, 0x1p-149f, false},
                {0, 0, false},
                {INFINITY, 1, true},
                {1, NAN, true}};
    const int64_t lines = sizeof line / sizeof *line, depth = 70;
    std::vector<float> x((size_t)(lines * depth));
    for (int64_t i = 0; i < lines; ++i) {
        x[(size_t)(i * depth + 3)] = line[i].largest;
        x[(size_t)(i * depth + 69)] = -line[i].smallest;
    }
    for (int layout = 0; layout < 2; ++layout) {
        const std::vector<float> y = layout ? transposed(x, lines, depth) : x;
        const digit_operand of = {{y.data(), layout ? lines : depth, layout == 1}, lines, depth};
        size_t used = 0;
        (void)place_digits<bf16x6>(of, NULL, &used);
        std::vector<char> workspace(used);
        used = 0;
        const digit_lines<bf16x6> to = place_digits<bf16x6>(of, workspace.data(), &used);
        REQUIRE_OK(split_operand(NULL, of, to));
        for (int64_t i = 0; i < lines; ++i)
            CHECK_MSG((to.power[i] == MARKED) == line[i].marked, "line %d has the power %d", (int)i,
                      (int)to.power[i]);
    }
}

/* That of v3 is held to √(128 / k + 1 / 128) of a chain's. */
ASSAY_TEST(matmul_v3_bf16x6, sums_are_as_accurate_as_those_of_v3, "unit matmul_accumulate") {
    const int64_t k = 4096, run = 128;
    sums s(16, 24, k);
    for (float &c : s.c)
        c = 0;
    multiply_by_digits_of(s, true, false);
    const accuracy digits =
        measure(s, [&](const float *, const float *, int64_t e) { return s.y[(size_t)e]; });
    const accuracy v3 = measure(
        s, [&](const float *a, const float *b, int64_t) { return sum_in_runs(a, b, k, run); });
    CHECK_MSG(digits.whole <= v3.whole, "%.3g u, and v3 %.3g u", digits.whole, v3.whole);
}

ASSAY_TEST(matmul_v3_bf16x6, marked_lines_have_the_bits_of_v3, "unit matmul_accumulate") {
    const int64_t row = 130, column = 5;
    sums plain(133, 70, 65);
    for (int layout = 0; layout < 4; ++layout) {
        sums marked = plain;
        multiply_by_digits_of(plain, (layout & 1) != 0, (layout & 2) != 0);
        marked.a[(size_t)(row * marked.k + 64)] = ldexpf(1, 100);
        marked.b[(size_t)(column * marked.k + 2)] = ldexpf(1, -100);
        multiply_by_digits_of(marked, (layout & 1) != 0, (layout & 2) != 0);
        for (int64_t e = 0; e < plain.m * plain.n; ++e) {
            const float *a = &marked.a[(size_t)(e / plain.n * plain.k)];
            const float *b = &marked.b[(size_t)(e % plain.n * plain.k)];
            const bool has_digits = e / plain.n != row && e % plain.n != column;
            const float want = has_digits ? plain.y[(size_t)e]
                                          : sum_in_runs(a, b, plain.k, 128) + plain.c[(size_t)e];
            CHECK_MSG(marked.y[(size_t)e] == want, "layout %d, element (%d, %d): %a, not %a",
                      layout, (int)(e / plain.n), (int)(e % plain.n), (double)marked.y[(size_t)e],
                      (double)want);
        }
    }
}
