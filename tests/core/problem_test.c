#include "assay/problem.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

/* ---- an operator that exists only here: x, ids -> y, aux ------------------------------------- */

enum { X, IDS };
enum { Y, AUX };

static double exact_limit = 1e6;
static assay_dtype dtype = ASSAY_F32;

static assay_tensor_spec spec(const char *name, int64_t n, bool differentiable) {
    assay_tensor_spec s = {.dtype = dtype,
                           .rank = 1,
                           .inner = 1,
                           .shape = {n},
                           .scale = 3,
                           .exact_limit = exact_limit,
                           .differentiable = differentiable};
    strcpy(s.name, name);
    return s;
}

static assay_status toy_signature(const assay_params *params, assay_signature *sig) {
    (void)params;
    assay_status status = assay_signature_init(sig, 2, 2);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = spec("x", 20000, true);
    sig->in[IDS] = spec("ids", 10, false);
    sig->out[Y] = spec("y", 20000, true);
    sig->out[AUX] = spec("aux", 0, false);
    return ASSAY_OK;
}

static const assay_op toy = {.name = "toy", .signature = toy_signature};

static assay_case toy_case(assay_fill fill, uint64_t seed) {
    exact_limit = 1e6;
    dtype = ASSAY_F32;
    return (assay_case){.op = &toy, .fill = fill, .seed = seed};
}

typedef struct summary {
    double mean, rms, min, max;
} summary;

static summary summarise(const double *v, int64_t n) {
    summary s = {.min = INFINITY, .max = -INFINITY};
    for (int64_t i = 0; i < n; ++i) {
        s.mean += v[i] / (double)n;
        s.rms += v[i] * v[i] / (double)n;
        s.min = fmin(s.min, v[i]);
        s.max = fmax(s.max, v[i]);
    }
    s.rms = sqrt(s.rms);
    return s;
}

static bool equal(const assay_arrays *a, const assay_arrays *b, int32_t i) {
    return a->size[i] == b->size[i] &&
           memcmp(a->data[i], b->data[i], (size_t)a->size[i] * sizeof(double)) == 0;
}

ASSAY_TEST(problem, arrays_follow_the_signature, "unit") {
    assay_case c = toy_case(ASSAY_FILL_NORMAL, 1);
    assay_problem p;
    REQUIRE_OK(assay_problem_init_empty(&p, &c));
    CHECK(p.in.size[X] == 20000 && p.in.size[IDS] == 10 && p.in.data[X][19999] == 0);
    CHECK(p.cot.data[Y] != NULL && p.cot.data[AUX] == NULL);
    assay_results r;
    REQUIRE_OK(assay_results_init(&r, &p.sig));
    CHECK(r.out.data[Y] != NULL && r.out.data[AUX] != NULL);
    CHECK(r.grad.data[X] != NULL && r.grad.data[IDS] == NULL);
    assay_results_clear(&r);
    assay_problem_clear(&p);
}

ASSAY_TEST(problem, data_depends_on_seed_fill_and_name, "unit") {
    assay_case c = toy_case(ASSAY_FILL_NORMAL, 1), other_seed = toy_case(ASSAY_FILL_NORMAL, 2);
    assay_case other_layout = c;
    other_layout.pad = 3;
    other_layout.schedule = ASSAY_SCHEDULE_RANDOM;
    assay_problem p, again, other;
    REQUIRE_OK(assay_problem_init(&p, &c));
    REQUIRE_OK(assay_problem_init(&again, &other_layout));
    REQUIRE_OK(assay_problem_init(&other, &other_seed));
    CHECK(equal(&p.in, &again.in, X) && equal(&p.cot, &again.cot, Y));
    CHECK(!equal(&p.in, &other.in, X));
    for (int64_t i = 0; i < 10; ++i) {
        const double x = 3 * assay_rng_normal(1, assay_rng_stream("x"), (uint64_t)i);
        const double dy = assay_rng_normal(1, assay_rng_stream("dy"), (uint64_t)i);
        CHECK(p.in.data[X][i] == (double)(float)x);
        CHECK(p.cot.data[Y][i] == (double)(float)dy); /* a cotangent's scale is 1 */
        CHECK(p.in.data[X][i] != p.in.data[IDS][i]);
    }
    assay_problem_clear(&p);
    assay_problem_clear(&again);
    assay_problem_clear(&other);
}

ASSAY_TEST(problem, fills_have_their_root_mean_square, "unit") {
    static const assay_fill fills[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_UNIFORM, ASSAY_FILL_POSITIVE};
    for (int f = 0; f < 3; ++f) {
        assay_case c = toy_case(fills[f], 1);
        assay_problem p;
        REQUIRE_OK(assay_problem_init(&p, &c));
        const summary x = summarise(p.in.data[X], p.in.size[X]);
        const summary dy = summarise(p.cot.data[Y], p.cot.size[Y]);
        CHECK(fabs(x.rms - 3) < 0.1 && fabs(dy.rms - 1) < 0.04);
        if (fills[f] == ASSAY_FILL_POSITIVE)
            CHECK(x.min > 0 && x.max < 3 * 1.7321 && fabs(x.mean - 1.5 * 1.7321) < 0.1);
        else
            CHECK(fabs(x.mean) < 0.15 && x.min < -4 && x.max > 4);
        if (fills[f] == ASSAY_FILL_UNIFORM)
            CHECK(x.min > -3 * 1.7321 && x.max < 3 * 1.7321);
        assay_problem_clear(&p);
    }
}

ASSAY_TEST(problem, one_operand_of_another_size, "unit") {
    assay_case c = toy_case(ASSAY_FILL_NORMAL, 1), scaled = c;
    assay_problem p, q;
    REQUIRE_OK(assay_problem_init(&p, &c));
    for (scaled.operand = 0; scaled.operand < 3; ++scaled.operand) {
        scaled.exponent = -130;
        REQUIRE_OK(assay_problem_init(&q, &scaled));
        CHECK(equal(&p.in, &q.in, X) == (scaled.operand != 0));
        CHECK(equal(&p.in, &q.in, IDS) == (scaled.operand != 1));
        CHECK(equal(&p.cot, &q.cot, Y) == (scaled.operand != 2));
        const double *was = scaled.operand == 0 ? p.in.data[X] : p.cot.data[Y];
        const double *is = scaled.operand == 0 ? q.in.data[X] : q.cot.data[Y];
        for (int64_t e = 0; scaled.operand != 1 && e < 100; ++e)
            CHECK(is[e] == assay_dtype_round(ASSAY_F32, ldexp(was[e], -130)));
        assay_problem_clear(&q);
    }
    scaled = (assay_case){.op = &toy, .exponent = 1100, .seed = 1};
    REQUIRE_OK(assay_problem_init(&q, &scaled));
    for (int64_t e = 0; e < 100; ++e)
        CHECK(fabs(q.in.data[X][e]) == assay_dtype_max(ASSAY_F32));
    assay_problem_clear(&q);
    scaled.operand = 3;
    CHECK_FAILS(assay_problem_init(&q, &scaled), ASSAY_ERR_USAGE, "there is no operand 3");
    assay_problem_clear(&p);
}

static void check_odd_integers(double limit, assay_dtype stored, double largest) {
    assay_case c = toy_case(ASSAY_FILL_EXACT, 4);
    exact_limit = limit;
    dtype = stored;
    assay_problem p;
    REQUIRE_OK(assay_problem_init(&p, &c));
    double least = INFINITY, most = 0;
    int64_t negative = 0;
    for (int64_t i = 0; i < p.in.size[X]; ++i) {
        const double x = p.in.data[X][i], dy = p.cot.data[Y][i];
        CHECK_MSG(fmod(fabs(x), 2) == 1 && fmod(fabs(dy), 2) == 1, "%g, %g", x, dy);
        negative += x < 0;
        least = fmin(least, fabs(x));
        most = fmax(most, fmax(fabs(x), fabs(dy)));
    }
    CHECK(most <= largest && most > 0.99 * largest && least <= 1 + largest / 1000);
    CHECK(negative > 9500 && negative < 10500);
    assay_problem_clear(&p);
}

ASSAY_TEST(problem, exact_data_are_odd_integers_within_the_limit, "unit") {
    check_odd_integers(7.9, ASSAY_F32, 7);
    check_odd_integers(8, ASSAY_F32, 7);
    check_odd_integers(9, ASSAY_F32, 9);
    check_odd_integers(1, ASSAY_F32, 1);
    check_odd_integers(1e30, ASSAY_F32, 0x1p24 - 1);
    check_odd_integers(1e30, ASSAY_BF16, 255);
    check_odd_integers(1e30, ASSAY_F64, 0x1p53 - 1);
}

ASSAY_TEST(problem, says_when_there_is_no_data, "unit") {
    assay_case c = toy_case(ASSAY_FILL_EXACT, 1);
    assay_problem p;
    exact_limit = 0.5;
    CHECK_FAILS(assay_problem_init(&p, &c), ASSAY_ERR_UNSUPPORTED, "case has no exact data");
    exact_limit = NAN;
    CHECK_FAILS(assay_problem_init(&p, &c), ASSAY_ERR_UNSUPPORTED, "case has no exact data");
    assay_problem_clear(&p);
    c = toy_case(ASSAY_FILL_GOLDEN, 1);
    CHECK_FAILS(assay_problem_init(&p, &c), ASSAY_ERR_USAGE, "golden file");
    assay_problem_clear(&p);
}

/* Element 0 of the input that the seed names, and nothing else; -Inf behind the last input. */
ASSAY_TEST(problem, one_element_is_not_finite, "unit") {
    for (uint64_t seed = 0; seed < 4; ++seed) {
        const uint64_t chosen = seed % 2;
        assay_case c = toy_case(ASSAY_FILL_NORMAL, seed);
        assay_problem normal, inf, nan;
        REQUIRE_OK(assay_problem_init(&normal, &c));
        c.fill = ASSAY_FILL_INF;
        REQUIRE_OK(assay_problem_init(&inf, &c));
        c.fill = ASSAY_FILL_NAN;
        REQUIRE_OK(assay_problem_init(&nan, &c));
        CHECK(inf.in.data[chosen][0] == (seed < 2 ? INFINITY : -INFINITY));
        CHECK(isnan(nan.in.data[chosen][0]));
        for (int32_t i = 0; i < normal.sig.n_in; ++i)
            for (int64_t e = (uint64_t)i == chosen; e < normal.in.size[i]; ++e)
                CHECK(inf.in.data[i][e] == normal.in.data[i][e] &&
                      nan.in.data[i][e] == normal.in.data[i][e]);
        assay_problem_clear(&normal);
        assay_problem_clear(&inf);
        assay_problem_clear(&nan);
    }
}

static assay_status dress(assay_problem *p) {
    for (int64_t e = 0; e < p->in.size[X]; ++e)
        p->in.data[X][e] = fabs(p->in.data[X][e]) + 1 + 0x1p-30;
    return ASSAY_OK;
}

/* Data that an operator makes of normal ones are rounded to the dtype again. */
ASSAY_TEST(problem, dressed_data_are_rounded, "unit") {
    assay_op dressed = toy;
    dressed.fills = ASSAY_FILL_BIT(ASSAY_FILL_HUGE);
    dressed.dress = dress;
    assay_case c = toy_case(ASSAY_FILL_HUGE, 1);
    c.op = &dressed;
    assay_problem p;
    REQUIRE_OK(assay_problem_init(&p, &c));
    for (int64_t e = 0; e < p.in.size[X]; ++e)
        CHECK(p.in.data[X][e] >= 1 && (double)(float)p.in.data[X][e] == p.in.data[X][e]);
    assay_problem_clear(&p);
}

static assay_status make_thirds(assay_problem *p) {
    for (int64_t e = 0; e < p->in.size[X]; ++e)
        p->in.data[X][e] = 1.0 / 3;
    return ASSAY_OK;
}

/* An operator's own data are those of every fill, rounded, before the fill does what it does. */
ASSAY_TEST(problem, data_of_an_operator_are_rounded, "unit") {
    static const assay_fill fills[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_UNIFORM, ASSAY_FILL_NAN};
    assay_op own = toy;
    own.data = make_thirds;
    for (size_t f = 0; f < sizeof fills / sizeof *fills; ++f) {
        assay_case c = toy_case(fills[f], 0);
        c.op = &own;
        assay_problem p;
        REQUIRE_OK(assay_problem_init(&p, &c));
        CHECK(isnan(p.in.data[X][0]) == (fills[f] == ASSAY_FILL_NAN));
        for (int64_t e = 1; e < p.in.size[X]; ++e)
            CHECK(p.in.data[X][e] == (double)(1.0f / 3));
        assay_problem_clear(&p);
    }
}

static assay_status indexed_signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = toy_signature(params, sig);
    if (status == ASSAY_OK) {
        sig->in[X].dtype = ASSAY_I32;
        sig->in[X].differentiable = false;
        sig->in[X].indices = 7;
    }
    return status;
}

/* Whatever the fill, indices are indices, and the element that is not finite is elsewhere. */
ASSAY_TEST(problem, indices_are_within_their_limit, "unit") {
    static const assay_fill fills[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_EXACT, ASSAY_FILL_NAN};
    assay_op indexed = toy;
    indexed.signature = indexed_signature;
    for (size_t f = 0; f < sizeof fills / sizeof *fills; ++f) {
        assay_case c = toy_case(fills[f], 4);
        c.op = &indexed;
        assay_problem p;
        REQUIRE_OK(assay_problem_init(&p, &c));
        int64_t seen[7] = {0};
        for (int64_t e = 0; e < p.in.size[X]; ++e) {
            const double index = p.in.data[X][e];
            REQUIRE(index >= 0 && index < 7 && index == floor(index));
            ++seen[(int)index];
        }
        for (int i = 0; i < 7; ++i)
            CHECK(seen[i] > 2500 && seen[i] < 3300);
        CHECK(isnan(p.in.data[IDS][0]) == (fills[f] == ASSAY_FILL_NAN));
        assay_problem_clear(&p);
    }
}

static assay_status unsigned_signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = toy_signature(params, sig);
    if (status == ASSAY_OK)
        sig->in[X].magnitudes = true;
    return status;
}

ASSAY_TEST(problem, magnitudes_are_absolute_values, "unit") {
    assay_op without_sign = toy;
    without_sign.signature = unsigned_signature;
    assay_case c = toy_case(ASSAY_FILL_NORMAL, 3);
    assay_problem p, absolute;
    REQUIRE_OK(assay_problem_init(&p, &c));
    c.op = &without_sign;
    REQUIRE_OK(assay_problem_init(&absolute, &c));
    for (int64_t e = 0; e < p.in.size[X]; ++e)
        CHECK(absolute.in.data[X][e] == fabs(p.in.data[X][e]));
    CHECK(absolute.in.data[IDS][1] == p.in.data[IDS][1]);
    assay_problem_clear(&p);
    assay_problem_clear(&absolute);
}
