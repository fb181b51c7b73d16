/* matmul_accumulate v3_hopper in fp64: one chain of fused multiply-adds for each element, k
 * ascending, as v3 has it, in every tile and layout. No bound asks for the order. */
#include <math.h>
#include <random>
#include <vector>

// Behind the headers of C++, which have a __noinline__ of their own.
#include "kernels/matmul_accumulate/hopper_f64.h"
#include "tests/shim/assay_test.h"

namespace {

struct f64_sums {
    int64_t m, n, k;
    std::vector<double> a, b, c, y; /* a[i * k + l], b[l * n + j] */
};

f64_sums random_sums(int64_t m, int64_t n, int64_t k) {
    f64_sums s = {m,
                  n,
                  k,
                  std::vector<double>((size_t)(m * k)),
                  std::vector<double>((size_t)(k * n)),
                  std::vector<double>((size_t)(m * n)),
                  std::vector<double>((size_t)(m * n))};
    std::mt19937 bits;
    std::normal_distribution<double> normal;
    for (std::vector<double> *x : {&s.a, &s.b, &s.c})
        for (double &v : *x)
            v = normal(bits);
    return s;
}

std::vector<double> transposed(const std::vector<double> &x, int64_t rows, int64_t columns) {
    std::vector<double> t(x.size());
    for (int64_t e = 0; e < rows * columns; ++e)
        t[(size_t)(e % columns * rows + e / columns)] = x[(size_t)e];
    return t;
}

/* `multiply` gets the product with each operand as it is and transposed in memory. */
template <typename Multiply> void check_chains(f64_sums s, bool adds, Multiply multiply) {
    const std::vector<double> at = transposed(s.a, s.m, s.k), bt = transposed(s.b, s.k, s.n);
    for (int layout = 0; layout < 4; ++layout) {
        const bool ta = (layout & 1) != 0, tb = (layout & 2) != 0;
        const product<double> p = {{ta ? at.data() : s.a.data(), ta ? s.m : s.k, ta},
                                   {tb ? bt.data() : s.b.data(), tb ? s.k : s.n, tb},
                                   {adds ? s.c.data() : NULL, adds ? s.n : 0, false},
                                   {s.y.data(), s.n, false},
                                   s.m,
                                   s.n,
                                   s.k,
                                   3};
        REQUIRE_OK(multiply(p));
        for (int64_t e = 0; e < s.m * s.n; ++e) {
            double sum = 0;
            for (int64_t l = 0; l < s.k; ++l)
                sum = fma(s.a[(size_t)(e / s.n * s.k + l)], s.b[(size_t)(l * s.n + e % s.n)], sum);
            const double want = adds ? fma(3, sum, s.c[(size_t)e]) : 3 * sum;
            CHECK_MSG(s.y[(size_t)e] == want, "layout %d, element (%d, %d): %a, not %a", layout,
                      (int)(e / s.n), (int)(e % s.n), s.y[(size_t)e], want);
        }
    }
}

template <typename Tile> void check_tile(const f64_sums &s) {
    check_chains(s, true, [](const product<double> &p) {
        return launch_f64<Tile, true>(NULL, p, f64_operands_of(p));
    });
    check_chains(s, false, [](const product<double> &p) {
        return launch_f64<Tile, false>(NULL, p, f64_operands_of(p));
    });
}

template <typename Tile> void check_core(const f64_sums &s) {
    check_chains(s, true, [](const product<double> &x) {
        return launch_for<f64_tall_core<Tile>>(NULL, problem_of(x), !x.left.transposed,
                                               x.right.transposed);
    });
}

} // namespace

/* Even extents, which maps take; tiles at both edges, more than two blocks, and a ring filled
 * twice. */
ASSAY_TEST(matmul_v3, f64_on_hopper_is_a_chain_in_every_tile, "unit matmul_accumulate") {
    check_tile<f64_wide_tile>(random_sums(142, 150, 230));
    check_tile<f64_narrow_tile>(random_sums(142, 130, 230));
    check_tile<f64_thin_tile>(random_sums(142, 90, 290));
    check_tile<f64_thin_tile>(random_sums(2, 6, 2));
}

ASSAY_TEST(matmul_v3, f64_of_tall_instructions_is_a_chain, "unit matmul_accumulate") {
    check_core<large_tile>(random_sums(131, 133, 41));
    check_core<small_tile>(random_sums(37, 35, 41));
}
