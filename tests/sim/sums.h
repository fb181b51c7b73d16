/* Products whose sums are compared with others, and with the exact ones. */
#ifndef ASSAY_TESTS_SIM_SUMS_H
#define ASSAY_TESTS_SIM_SUMS_H

#include "assay/variant.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <random>
#include <stdint.h>
#include <vector>

namespace {

/* A product of random numbers; a[i * k + l] and b[j * k + l] lie so in memory, or transposed. */
struct sums {
    int64_t m, n, k;
    std::vector<float> a, b, c, y;

    sums(int64_t m_, int64_t n_, int64_t k_)
        : m(m_), n(n_), k(k_), a((size_t)(m * k)), b((size_t)(n * k)), c((size_t)(m * n)),
          y((size_t)(m * n)) {
        std::mt19937 bits;
        std::normal_distribution<float> normal;
        for (std::vector<float> *x : {&a, &b, &c})
            for (float &v : *x)
                v = normal(bits);
    }
};

std::vector<float> transposed(const std::vector<float> &x, int64_t rows, int64_t columns) {
    std::vector<float> t(x.size());
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t l = 0; l < columns; ++l)
            t[(size_t)(l * rows + i)] = x[(size_t)(i * columns + l)];
    return t;
}

/* y = c + a b by launches that P, a product's description, is given to; each operand with its k as
 * lines in memory, or with its rows. */
template <typename P>
void multiply_by(assay_status (*multiply)(const assay_call *, const P &),
                 size_t (*bytes)(const P &), sums &s, bool left_k, bool right_k) {
    const std::vector<float> a = left_k ? s.a : transposed(s.a, s.m, s.k);
    const std::vector<float> b = right_k ? s.b : transposed(s.b, s.n, s.k);
    const P p = {{a.data(), left_k ? s.k : s.m, !left_k},
                 {b.data(), right_k ? s.k : s.n, right_k},
                 {s.c.data(), s.n, false},
                 {s.y.data(), s.n, false},
                 s.m,
                 s.n,
                 s.k,
                 1};
    std::vector<char> workspace(bytes(p) + 256);
    assay_call call = {};
    call.workspace =
        workspace.data() + (256 - reinterpret_cast<uintptr_t>(workspace.data()) % 256) % 256;
    REQUIRE_OK(multiply(&call, p));
}

/* k ascending, in sums of `run` products that are added up. */
float sum_in_runs(const float *a, const float *b, int64_t k, int64_t run) {
    float total = 0, sum = 0;
    for (int64_t l = 0; l < k; ++l) {
        sum = fmaf(a[l], b[l], sum);
        if ((l + 1) % run == 0) {
            total += sum;
            sum = 0;
        }
    }
    return total + sum;
}

/* The root mean square of error / (u √Σ terms²) of the whole, and of the worst row and column. */
struct accuracy {
    double whole, line;
};

template <typename Sum> accuracy measure(const sums &s, Sum sum) {
    std::vector<double> rows((size_t)s.m), columns((size_t)s.n);
    double whole = 0, line = 0;
    for (int64_t e = 0; e < s.m * s.n; ++e) {
        const float *a = &s.a[(size_t)(e / s.n * s.k)], *b = &s.b[(size_t)(e % s.n * s.k)];
        double exact = 0, squares = 0; /* its own error is 2^-29 of what is measured */
        for (int64_t l = 0; l < s.k; ++l) {
            const double term = (double)a[l] * (double)b[l];
            exact += term;
            squares += term * term;
        }
        const double error = (double)sum(a, b, e) - exact;
        const double square = error * error / (0x1p-48 * squares);
        whole += square / (double)(s.m * s.n);
        rows[(size_t)(e / s.n)] += square / (double)s.n;
        columns[(size_t)(e % s.n)] += square / (double)s.m;
    }
    for (double square : rows)
        line = fmax(line, square);
    for (double square : columns)
        line = fmax(line, square);
    return {sqrt(whole), sqrt(line)};
}

} // namespace

#endif
