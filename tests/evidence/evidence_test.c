/* The instruments with which evidence is taken: a number that they get wrong is worth nothing. */
#include "tests/evidence/faults.h"
#include "tests/evidence/ledger.h"
#include "tests/evidence/methods.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- histograms and ledgers ---- */

ASSAY_TEST(evidence, histogram_finds_its_quantiles, "unit") {
    histogram h = {0};
    for (int i = 1; i <= 1000; ++i)
        histogram_add(&h, i);
    CHECK(fabs(histogram_quantile(&h, 0.5) / 500 - 1) < 0.025);
    CHECK(fabs(histogram_quantile(&h, 0.99) / 990 - 1) < 0.025);
    CHECK(h.largest == 1000 && fabs(histogram_quantile(&h, 1) / 1000 - 1) < 0.025);
    for (int i = 0; i < 1001; ++i)
        histogram_add(&h, 0);
    CHECK(histogram_quantile(&h, 0.5) == 0 && histogram_positive(&h) == 1000);
    histogram_add(&h, NAN);
    CHECK(h.beyond == 1 && isinf(h.largest) && isinf(histogram_quantile(&h, 1)));
}

/* Sizes of errors are powers of 2^(1/4): each comes back as itself. */
ASSAY_TEST(evidence, histogram_keeps_powers_of_two, "unit") {
    for (int k = -240; k <= 96; ++k) {
        histogram h = {0};
        histogram_add(&h, exp2(k / 4.0));
        h.largest = INFINITY;
        CHECK(histogram_quantile(&h, 0.5) == exp2(k / 4.0));
    }
}

static const char *const two_series[] = {"ratio", "allclose 1e-2: all*(1+d)"};

static void open_ledger(ledger *l, const modes *m) {
    REQUIRE_OK(ledger_init(l, m, two_series, 2));
}

ASSAY_TEST(evidence, ledger_adds_up_over_files, "unit") {
    static modes m;
    ledger written, read;
    char path[] = "/tmp/assay_ledger_XXXXXX";
    REQUIRE_OK(modes_add(&m, assay_op_find("linear", strlen("linear"))));
    open_ledger(&written, &m);
    open_ledger(&read, &m);
    const double values[] = {0, 1e-9, 0.3, 0.3, 7, INFINITY};
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        histogram_add(ledger_at(&written, 1, 1), values[i]);
    histogram_add(ledger_at(&written, 2, 0), 0.7);
    FILE *to = fdopen(mkstemp(path), "w");
    REQUIRE(to != NULL);
    ledger_write(&written, to);
    fclose(to);
    REQUIRE_OK(ledger_read(&read, path));
    REQUIRE_OK(ledger_read(&read, path));
    ledger_merge(&written, &written);
    CHECK(memcmp(written.page, read.page, (size_t)(m.count * 2) * sizeof *read.page) == 0);
    to = fopen(path, "a");
    REQUIRE(to != NULL);
    fprintf(to, "linear,f32,strict,ratio,much,1\n");
    fclose(to);
    CHECK_FAILS(ledger_read(&read, path), ASSAY_ERR_FILE, "not a line of a ledger");
    unlink(path);
    ledger_clear(&written);
    ledger_clear(&read);
}

/* ---- methods ---- */

/* Whether a method rejects 1 + error beside a 1 that is right. */
static bool rejects(method m, assay_dtype dtype, double error) {
    const double want[] = {1, 1}, got[] = {1, 1 + error}, bound[] = {0x1p-20, 0x1p-20};
    const subject s = {
        .dtype = dtype, .count = 2, .got = got, .want = want, .bound = bound, .stored = want};
    return method_rejects(m, &s);
}

ASSAY_TEST(evidence, methods_have_their_published_limits, "unit") {
    const struct {
        method method;
        assay_dtype dtype;
        double limit;
    } known[] = {
        {METHOD_ASSAY, ASSAY_F32, 0x1p-20},          {METHOD_ALLCLOSE_2, ASSAY_F32, 2e-2},
        {METHOD_ALLCLOSE_4, ASSAY_F32, 2e-4},        {METHOD_NMSE, ASSAY_F32, sqrt(2e-7)},
        {METHOD_ASSERT_CLOSE, ASSAY_F64, 2e-7},      {METHOD_ASSERT_CLOSE, ASSAY_F32, 1.13e-5},
        {METHOD_ASSERT_CLOSE, ASSAY_BF16, 1.601e-2}, {METHOD_ASSERT_CLOSE, ASSAY_F16, 1.01e-3},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        const char *name = method_name(known[i].method);
        CHECK_MSG(!rejects(known[i].method, known[i].dtype, 0.99 * known[i].limit), "%s", name);
        CHECK_MSG(rejects(known[i].method, known[i].dtype, 1.01 * known[i].limit), "%s", name);
        CHECK_MSG(rejects(known[i].method, known[i].dtype, NAN), "%s", name);
    }
}

/* ---- errors and faults ---- */

static int differences(const double *a, const double *b, int count) {
    int n = 0;
    for (int i = 0; i < count; ++i)
        n += !(a[i] == b[i]);
    return n;
}

ASSAY_TEST(evidence, errors_are_where_and_what_they_say, "unit") {
    enum { N = 5 };
    const double right[N] = {0, 3, -0.1, 4, 0}; /* rms √5 */
    const double rms = sqrt((9 + 0.01 + 16) / 5);
    double wrong[N];
    for (uint64_t place = 0; place < N; ++place) {
        error_inject(ERROR_ELEMENT_RELATIVE, 0.5, place, ASSAY_F64, right, wrong, N);
        CHECK(differences(right, wrong, N) == 1 && (wrong[1] == 4.5 || wrong[3] == 6));
        error_inject(ERROR_ELEMENT_ABSOLUTE, 0.5, place, ASSAY_F64, right, wrong, N);
        CHECK(differences(right, wrong, N) == 1);
        CHECK(fabs(wrong[place] - right[place] - rms / 2) < 1e-15);
    }
    error_inject(ERROR_ALL_RELATIVE, 0.5, 0, ASSAY_F64, right, wrong, N);
    CHECK(differences(right, wrong, N) == 3 && wrong[2] == -0.1 * 1.5);
    error_inject(ERROR_ALL_ABSOLUTE, -1, 0, ASSAY_F64, right, wrong, N);
    CHECK(differences(right, wrong, N) == N && fabs(wrong[4] + rms) < 1e-15);
    error_inject(ERROR_ALL_RELATIVE, 0x1p-10, 0, ASSAY_BF16, right, wrong, N);
    CHECK(wrong[1] == 3 && wrong[3] == 4); /* too little for bf16 to store */
}

static int changed(const assay_arrays *a, const assay_arrays *b) {
    int n = 0;
    for (int32_t i = 0; i < a->count; ++i)
        for (int64_t e = 0; a->data[i] && e < a->size[i]; ++e)
            n += !(a->data[i][e] == b->data[i][e]);
    return n;
}

ASSAY_TEST(evidence, faults_change_what_they_say, "unit") {
    assay_case c;
    assay_problem right, wrong;
    REQUIRE_OK(assay_case_parse("linear m=3 n=4 k=5 dtype=f32 seed=1", &c));
    REQUIRE_OK(assay_problem_init(&right, &c));
    const int operands = 3 * 5 + 4 * 5, cotangents = 3 * 4;
    for (int kind = 0; fault_is_of_problem((fault_kind)kind); ++kind) {
        assay_rng rng = {.seed = 1};
        REQUIRE_OK(assay_problem_init(&wrong, &c));
        fault_of_problem((fault_kind)kind, &rng, &wrong);
        const int in = changed(&right.in, &wrong.in), cot = changed(&right.cot, &wrong.cot);
        if (kind == FAULT_TF32 || kind == FAULT_BF16)
            CHECK(in >= operands - 2 && cot >= cotangents - 2);
        else if (kind == FAULT_DROPPED)
            CHECK(in == 1 && cot == 0);
        else if (kind == FAULT_COTANGENT)
            CHECK(in == 0 && cot == cotangents);
        else
            CHECK(in == 0 && cot == 0); /* f32 operands in f32 */
        for (int64_t e = 0; kind == FAULT_TF32 && e < right.in.size[0]; ++e)
            CHECK(fabs(wrong.in.data[0][e] / right.in.data[0][e] - 1) <= 0x1p-11);
        assay_problem_clear(&wrong);
    }
    assay_problem_clear(&right);
}

ASSAY_TEST(evidence, faults_of_results_change_one_tensor, "unit") {
    static const int expected[FAULT_KINDS] = {
        [FAULT_NAN] = 1, [FAULT_SWAPPED] = 2, [FAULT_ROW] = 2, [FAULT_GRADIENT] = 6};
    assay_case c;
    assay_problem p;
    assay_results right, wrong;
    REQUIRE_OK(assay_case_parse("linear m=2 n=2 k=3 dtype=f32 seed=1", &c));
    REQUIRE_OK(assay_problem_init(&p, &c));
    for (int kind = FAULT_NAN; kind < FAULT_KINDS; ++kind) {
        assay_rng rng = {.seed = 1};
        REQUIRE_OK(assay_results_init(&right, &p.sig));
        REQUIRE_OK(assay_results_init(&wrong, &p.sig));
        for (int32_t i = 0; i < 3; ++i) {
            int64_t count;
            double *a = results_tensor(&right, i, &count), *b = results_tensor(&wrong, i, &count);
            for (int64_t e = 0; e < count; ++e)
                a[e] = b[e] = 1 + (double)e;
        }
        fault_of_results((fault_kind)kind, &rng, &p.sig, &wrong);
        const int n = changed(&right.out, &wrong.out) + changed(&right.grad, &wrong.grad);
        CHECK_MSG(n == expected[kind] || (kind == FAULT_ROW && n == 3), "%s: %d elements changed",
                  fault_name((fault_kind)kind), n);
        assay_results_clear(&right);
        assay_results_clear(&wrong);
    }
    assay_problem_clear(&p);
}
