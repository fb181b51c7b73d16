/*
 * kronecker v3_bf16x6: results scale as lines do, to the last bit, whatever way their powers go;
 * lines without digits are chains of multiply-adds and disturb no other; two modes in one launch
 * have the bits of two. No bound asks for any of these.
 */
#include <math.h>
#include <random>
#include <vector>

// Behind the headers of C++, which have a __noinline__ of their own.
#include "kernels/kronecker/digit_gradient.h"
#include "kernels/kronecker/digit_pair.h"
#include "kernels/kronecker/digit_small.h"
#include "tests/shim/assay_test.h"

namespace {

typedef std::vector<float> numbers;

numbers random_numbers(int64_t count, unsigned seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    numbers x((size_t)count);
    for (float &v : x)
        v = normal(bits);
    return x;
}

/* Element e of column c in a state whose mode has `extent` elements. */
size_t place(const stage &s, int64_t extent, int64_t c, int64_t e) {
    return (size_t)((c / s.right * extent + e) * s.right + c % s.right);
}

int64_t columns_of(const stage &s, int64_t rows) {
    return rows * s.left * s.right;
}

numbers contract(const stage &s, int64_t rows, const numbers &in, const numbers &w) {
    numbers out((size_t)(columns_of(s, rows) * s.q), NAN);
    const state<const float> from = {in.data(), s.left * s.p * s.right};
    const state<float> to = {out.data(), s.left * s.q * s.right};
    REQUIRE_OK(contract_digits(NULL, {axes_of(s, rows),
                                      digit_state_of(from, s, s.p),
                                      digit_state_of(to, s, s.q),
                                      {w.data(), s.q, 1}}));
    return out;
}

numbers gradient(const stage &s, int64_t rows, const numbers &in, const numbers &cotangent) {
    numbers dw((size_t)(s.p * s.q), NAN);
    const int64_t splits = digit_splits(s, rows);
    numbers partial((size_t)(splits * s.p * s.q));
    const state<const float> from = {in.data(), s.left * s.p * s.right};
    const state<const float> dy = {cotangent.data(), s.left * s.q * s.right};
    REQUIRE_OK(gradient_digits(NULL,
                               {axes_of(s, rows), digit_state_of(from, s, s.p),
                                digit_state_of(dy, s, s.q), partial.data()},
                               splits));
    REQUIRE_OK(
        launch_sum_gradients(NULL, {{{partial.data(), splits, s.p, s.q, {dw.data(), s.q, 1}}}}, 1));
    return dw;
}

/* Powers of a warp's 16 lines in turn: numbers and results are scaled in one step or in two. */
int power_of_line(int64_t i) {
    static const int powers[] = {0, -48, -149, 61, -92, 88, -30, 7};
    return powers[i / 16 % 8];
}
int power_of_column(int64_t j) {
    static const int powers[] = {0, 1, -20, 60, 30, -48, 12};
    return powers[j % 7];
}

/* Numbers of few bits, which stay as they are where they become subnormal. */
numbers few_bits(numbers x) {
    for (float &v : x)
        v = rintf(3 * v);
    return x;
}

/* scaled = 2^(power of the line and of the column) plain, where that is a normal number. */
void check_scaled(float scaled, float plain, int64_t p, int64_t line, int64_t column) {
    const int power = power_of_line(line) + power_of_column(column);
    const float want = ldexpf(plain, power);
    if (power > -110 && power < 110)
        REQUIRE_MSG(scaled == want, "p %d, (%d, %d): %a, not %a", (int)p, (int)line, (int)column,
                    (double)scaled, (double)want);
}

bool same(float a, float b) {
    return a == b || (isnan(a) && isnan(b));
}

/* A stage of the last axis, of another, of one slice and of two. */
const struct {
    stage s;
    int64_t rows;
} stages_of_all_kinds[] = {
    {{0, 3, 64, 64, 1}, 23},  {{0, 1, 100, 65, 1}, 130}, {{0, 2, 64, 128, 5}, 7},
    {{0, 1, 128, 66, 64}, 2}, {{0, 1, 70, 128, 68}, 3},
};

} // namespace

ASSAY_TEST(kronecker_v3_bf16x6, results_scale_with_lines, "unit kronecker") {
    for (const auto &k : stages_of_all_kinds) {
        const stage &s = k.s;
        const int64_t columns = columns_of(s, k.rows);
        numbers in = few_bits(random_numbers(columns * s.p, 1)), w = random_numbers(s.p * s.q, 2);
        const numbers plain = contract(s, k.rows, in, w);
        for (int64_t c = 0; c < columns; ++c)
            for (int64_t i = 0; i < s.p; ++i)
                in[place(s, s.p, c, i)] = ldexpf(in[place(s, s.p, c, i)], power_of_line(c));
        for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = 0; j < s.q; ++j)
                w[(size_t)(i * s.q + j)] = ldexpf(w[(size_t)(i * s.q + j)], power_of_column(j));
        const numbers scaled = contract(s, k.rows, in, w);
        for (int64_t c = 0; c < columns; ++c)
            for (int64_t j = 0; j < s.q; ++j)
                check_scaled(scaled[place(s, s.q, c, j)], plain[place(s, s.q, c, j)], s.p, c, j);
    }
}

ASSAY_TEST(kronecker_v3_bf16x6, marked_lines_are_chains, "unit kronecker") {
    for (const auto &k : stages_of_all_kinds) {
        const stage &s = k.s;
        const int64_t columns = columns_of(s, k.rows), line = columns - 2, column = s.q - 1;
        numbers in = random_numbers(columns * s.p, 3), w = random_numbers(s.p * s.q, 4);
        const numbers plain = contract(s, k.rows, in, w);
        in[place(s, s.p, line, 3)] = ldexpf(1, 60);
        in[place(s, s.p, line, s.p - 1)] = ldexpf(1, -60);
        w[(size_t)column] = ldexpf(1, 50);
        w[(size_t)((s.p - 1) * s.q + column)] = ldexpf(1, -50);
        const numbers marked = contract(s, k.rows, in, w);
        for (int64_t c = 0; c < columns; ++c)
            for (int64_t j = 0; j < s.q; ++j) {
                const size_t e = place(s, s.q, c, j);
                float want = plain[e];
                if (c == line || j == column) {
                    want = 0;
                    for (int64_t i = 0; i < s.p; ++i)
                        want = fmaf(in[place(s, s.p, c, i)], w[(size_t)(i * s.q + j)], want);
                }
                REQUIRE_MSG(marked[e] == want, "p %d, column %d, %d: %a, not %a", (int)s.p, (int)c,
                            (int)j, (double)marked[e], (double)want);
            }
    }
}

/* Lines of a gradient's slices are a mode's extents. */
ASSAY_TEST(kronecker_v3_bf16x6, gradients_scale_with_lines, "unit kronecker") {
    for (const auto &k : stages_of_all_kinds) {
        const stage &s = k.s;
        const int64_t columns = columns_of(s, k.rows);
        numbers in = few_bits(random_numbers(columns * s.p, 5)),
                dy = random_numbers(columns * s.q, 6);
        const numbers plain = gradient(s, k.rows, in, dy);
        for (int64_t c = 0; c < columns; ++c) {
            for (int64_t i = 0; i < s.p; ++i)
                in[place(s, s.p, c, i)] = ldexpf(in[place(s, s.p, c, i)], power_of_line(i));
            for (int64_t j = 0; j < s.q; ++j)
                dy[place(s, s.q, c, j)] = ldexpf(dy[place(s, s.q, c, j)], power_of_column(j));
        }
        const numbers scaled = gradient(s, k.rows, in, dy);
        for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = 0; j < s.q; ++j)
                check_scaled(scaled[(size_t)(i * s.q + j)], plain[(size_t)(i * s.q + j)], s.p, i,
                             j);
    }
}

ASSAY_TEST(kronecker_v3_bf16x6, marked_lines_of_gradients_are_chains, "unit kronecker") {
    for (const stage &s : {stage{0, 4, 64, 70, 1}, stage{0, 1, 66, 64, 4}, stage{0, 4, 100, 70, 1},
                           stage{0, 1, 66, 128, 4}}) {
        const int64_t rows = 2 * LINES / (s.left * s.right); /* two slices, one with numbers */
        numbers in = random_numbers(LINES * s.p, 7), dy = random_numbers(LINES * s.q, 8);
        in.resize(2 * in.size());
        dy.resize(2 * dy.size());
        const numbers plain = gradient(s, rows, in, dy);
        const int64_t line = 5, column = s.q - 3;
        in[place(s, s.p, 0, line)] = ldexpf(1, 60);
        in[place(s, s.p, LINES - 1, line)] = ldexpf(1, -60);
        dy[place(s, s.q, 1, column)] = ldexpf(1, 50);
        dy[place(s, s.q, 40, column)] = ldexpf(1, -50);
        const numbers marked = gradient(s, rows, in, dy);
        for (int64_t i = 0; i < s.p; ++i)
            for (int64_t j = 0; j < s.q; ++j) {
                const size_t e = (size_t)(i * s.q + j);
                float want = plain[e];
                if (i == line || j == column) {
                    want = 0;
                    for (int64_t c = 0; c < LINES; ++c)
                        want = fmaf(in[place(s, s.p, c, i)], dy[place(s, s.q, c, j)], want);
                }
                REQUIRE_MSG(marked[e] == want, "p %d, (%d, %d): %a, not %a", (int)s.p, (int)i,
                            (int)j, (double)marked[e], (double)want);
            }
    }
}

namespace {

/* Two modes' stages, factors of numbers with an Inf and powers too far apart, and what two launches
 * make of them, forward or, of cotangents, backward. */
struct two_modes {
    stage last, upper;
    int64_t rows;
    numbers in, w[2], middle, out;
};

factor<const float> transposed(const numbers &w, int64_t q) {
    return {w.data(), 1, q};
}

numbers contract_back(const stage &s, int64_t rows, const numbers &in, const numbers &w) {
    numbers out((size_t)(columns_of(s, rows) * s.p), NAN);
    const state<const float> from = {in.data(), s.left * s.q * s.right};
    const state<float> to = {out.data(), s.left * s.p * s.right};
    REQUIRE_OK(contract_digits(NULL, {axes_of(s, rows), digit_state_of(from, s, s.q),
                                      digit_state_of(to, s, s.p), transposed(w, s.q)}));
    return out;
}

/* p and q of the last mode and of the one in front of it. */
two_modes modes_of(const int64_t (&last)[2], const int64_t (&upper)[2], int64_t rows, int64_t left,
                   bool back) {
    two_modes t = {{0, left * upper[0], last[0], last[1], 1},
                   {1, left, upper[0], upper[1], last[1]},
                   rows,
                   {},
                   {random_numbers(last[0] * last[1], 10), random_numbers(upper[0] * upper[1], 11)},
                   {},
                   {}};
    const int64_t unit = back ? last[1] * upper[1] : last[0] * upper[0];
    t.in = random_numbers(rows * left * unit, 9);
    t.in[(size_t)unit + 70] = INFINITY;
    t.in[(size_t)unit * 2 - 200] = ldexpf(1, 90);
    t.w[1][(size_t)(3 * upper[1] + 9)] = ldexpf(1, 100);
    t.middle =
        back ? contract_back(t.upper, rows, t.in, t.w[1]) : contract(t.last, rows, t.in, t.w[0]);
    t.out = back ? contract_back(t.last, rows, t.middle, t.w[0])
                 : contract(t.upper, rows, t.middle, t.w[1]);
    return t;
}

void check_two(const two_modes &t, const numbers &between, const numbers &out) {
    for (size_t e = 0; e < out.size(); ++e)
        REQUIRE_MSG(same(out[e], t.out[e]), "%d: %a, not %a", (int)e, (double)out[e],
                    (double)t.out[e]);
    for (size_t e = 0; e < between.size(); ++e)
        REQUIRE_MSG(same(between[e], t.middle[e]), "between, %d: %a, not %a", (int)e,
                    (double)between[e], (double)t.middle[e]);
}

} // namespace

ASSAY_TEST(kronecker_v3_bf16x6, a_pair_has_the_bits_of_two_passes, "unit kronecker") {
    for (const bool back : {false, true}) {
        const two_modes t = modes_of({LINES, LINES}, {LINES, LINES}, 9, 2, back);
        const stage &s = back ? t.upper : t.last;
        numbers between(t.in.size(), -1), out(t.in.size(), -1);
        const int64_t stride = 2 * LINES * LINES;
        const state<const float> from = {t.in.data(), stride};
        const state<float> kept = {between.data(), stride}, to = {out.data(), stride};
        digit_pair p = {axes_of(t.last, t.rows),
                        axes_of(s, t.rows),
                        digit_state_of(from, s, LINES),
                        digit_state_of(kept, t.last, LINES),
                        digit_state_of(to, t.last, LINES),
                        {{t.w[0].data(), LINES, 1}, {t.w[1].data(), LINES, 1}}};
        if (back) {
            p.w[0] = transposed(t.w[1], LINES);
            p.w[1] = transposed(t.w[0], LINES);
        }
        REQUIRE_OK((back ? launch_pair<false, true>(NULL, p) : launch_pair<true, true>(NULL, p)));
        check_two(t, between, out);
        if (!back) {
            numbers alone(t.in.size(), -1);
            p.between = {};
            p.out = digit_state_of(state<float>{alone.data(), stride}, t.last, LINES);
            REQUIRE_OK((launch_pair<true, false>(NULL, p)));
            check_two(t, {}, alone);
        }
    }
}

ASSAY_TEST(kronecker_v3_bf16x6, a_small_launch_has_the_bits_of_two, "unit kronecker") {
    const struct {
        int64_t last[2], upper[2];
    } sizes[] = {{{100, 65}, {64, 127}}, {{128, 128}, {70, 64}}};
    for (const auto &z : sizes) {
        const two_modes t = modes_of(z.last, z.upper, 2, 2, false);
        numbers out(t.out.size(), -1);
        const state<const float> from = {t.in.data(), (int64_t)t.in.size() / t.rows};
        const state<float> to = {out.data(), (int64_t)out.size() / t.rows};
        REQUIRE_OK(
            launch_small(NULL, {axes_of(t.last, t.rows),
                                digit_state_of(from, t.last, t.last.p),
                                {{t.w[0].data(), z.last[1], 1}, {t.w[1].data(), z.upper[1], 1}},
                                {(int32_t)t.last.p, (int32_t)t.upper.p},
                                {(int32_t)t.last.q, (int32_t)t.upper.q},
                                to,
                                (uint32_t)t.upper.left,
                                digit_state_of(to, t.last, t.last.q).pairs}));
        check_two(t, {}, out);
    }
}
