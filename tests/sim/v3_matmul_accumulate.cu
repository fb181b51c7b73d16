/*
 * matmul_accumulate v3 in strict fp32: the order of its sums, to the last bit, and the accuracy
 * that v3_core.h claims for it. No bound asks for either.
 */
#include "tests/sim/sums.h"

// Behind the headers of C++, which have a __noinline__ of their own.
#include "kernels/matmul_accumulate/v3_fma.h"
#include "tests/shim/assay_test.h"

namespace {

/* Each operand with its k as lines in memory, or with its rows. */
template <typename Tile> void multiply_with(sums &s, bool left_k, bool right_k, int times) {
    const std::vector<float> a = left_k ? s.a : transposed(s.a, s.m, s.k);
    const std::vector<float> b = right_k ? s.b : transposed(s.b, s.n, s.k);
    const problem<float> p = {{a.data(), left_k ? s.k : s.m, s.m, s.k, false},
                              {b.data(), right_k ? s.k : s.n, s.n, s.k, false},
                              {s.c.data(), s.n, false},
                              {s.y.data(), s.n, false},
                              s.m,
                              s.n,
                              s.k,
                              (float)times};
    REQUIRE_OK(launch_strict<Tile>(NULL, p, left_k, right_k));
}

template <typename Tile> void check_order(const sums &original, int times) {
    for (int layout = 0; layout < 4; ++layout) {
        sums s = original;
        multiply_with<Tile>(s, (layout & 1) != 0, (layout & 2) != 0, times);
        for (int64_t e = 0; e < s.m * s.n; ++e) {
            const float *a = &s.a[(size_t)(e / s.n * s.k)], *b = &s.b[(size_t)(e % s.n * s.k)];
            const float want = fmaf((float)times, sum_in_runs(a, b, s.k, 128), s.c[(size_t)e]);
            CHECK_MSG(s.y[(size_t)e] == want, "layout %d, element (%d, %d): %a, not %a", layout,
                      (int)(e / s.n), (int)(e % s.n), (double)s.y[(size_t)e], (double)want);
        }
    }
}

} // namespace

ASSAY_TEST(matmul_v3, strict_sums_have_one_order, "unit matmul_accumulate") {
    check_order<fma_small>(sums(41, 35, 300), 1);
    check_order<fma_small>(sums(3, 5, 127), 3);
    check_order<fma_small>(sums(2, 33, 256), 1);
    check_order<fma_small>(sums(17, 36, 700), 1);
    check_order<fma_middle>(sums(33, 68, 641), 1);
    check_order<fma_square>(sums(100, 97, 289), 1);
    check_order<fma_ragged>(sums(100, 97, 289), 1);
    check_order<fma_large>(sums(65, 132, 417), 1);
}

ASSAY_TEST(matmul_v3, strict_sums_are_as_accurate_as_claimed, "unit matmul_accumulate") {
    const int64_t k = 4096, run = 128;
    sums s(32, 32, k);
    for (float &c : s.c)
        c = 0;
    multiply_with<fma_small>(s, true, true, 1);
    const accuracy v3 =
        measure(s, [&](const float *, const float *, int64_t e) { return s.y[(size_t)e]; });
    const accuracy chain = measure(
        s, [&](const float *a, const float *b, int64_t) { return sum_in_runs(a, b, k, k); });
    const double claimed = sqrt((double)run / (double)k + 1 / (double)run);
    CHECK_MSG(fabs(v3.whole / chain.whole - claimed) <= 0.1 * claimed,
              "%.3g u, and one chain %.3g u: %.3g of it, not %.3g", v3.whole, chain.whole,
              v3.whole / chain.whole, claimed);
    CHECK_MSG(v3.line <= chain.whole / 2, "a row or column is off by %.3g u, one chain by %.3g u",
              v3.line, chain.whole);
}
