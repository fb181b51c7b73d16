/*
 * matmul_accumulate/v3 in strict fp32 settles its sums: behind every RUN products of an element a
 * new sum begins, and the sums are added up. No bound asks for that, and mutants that leave it out
 * for some rows or columns compute what v1 computes. What it is for is accuracy: so the error of
 * every row and of every column is measured, against that of one chain.
 */
#include "engine/runner.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 75, N = 105, K = 4096 };

static const assay_variant *variant_of(const assay_device *sim, const char *name) {
    for (int32_t i = 0; i < sim->n_variants; ++i)
        if (strcmp(sim->variants[i]->op, "matmul_accumulate") == 0 &&
            strcmp(sim->variants[i]->name, name) == 0)
            return sim->variants[i];
    return NULL;
}

/* The largest root mean square of error / (u √Σ terms²) of a row, and of a column. */
static double worst_line(const assay_problem *p, const assay_results *got) {
    static double rows[M], columns[N];
    const double *a = p->in.data[0], *b = p->in.data[1], *c = p->in.data[2];
    double worst = 0;
    memset(rows, 0, sizeof rows);
    memset(columns, 0, sizeof columns);
    for (int64_t i = 0; i < M; ++i)
        for (int64_t j = 0; j < N; ++j) {
            long double sum = c[i * N + j];
            double squares = 0;
            for (int64_t l = 0; l < K; ++l) {
                const double term = a[i * K + l] * b[l * N + j];
                sum += (long double)term;
                squares += term * term;
            }
            const double error = (double)(got->out.data[0][i * N + j] - sum);
            const double square = error * error / (0x1p-48 * squares);
            rows[i] += square / N;
            columns[j] += square / M;
        }
    for (int64_t i = 0; i < M; ++i)
        worst = fmax(worst, sqrt(rows[i]));
    for (int64_t j = 0; j < N; ++j)
        worst = fmax(worst, sqrt(columns[j]));
    return worst;
}

static double measure(const assay_device *sim, const char *name, const assay_problem *p) {
    assay_results got;
    REQUIRE_OK(assay_results_init(&got, &p->sig));
    REQUIRE_OK(assay_run(variant_of(sim, name), sim, p, &got));
    const double worst = worst_line(p, &got);
    assay_results_clear(&got);
    return worst;
}

ASSAY_TEST(matmul_accuracy, every_row_and_column_is_settled, "check matmul_accumulate") {
    const double settled = 7; /* one chain of 4096 products has 18, sums of 128 have 3.7 */
    const assay_device *sim;
    assay_case c;
    assay_problem p;
    char text[ASSAY_CASE_TEXT];
    REQUIRE_OK(assay_device_open("sim", &sim));
    snprintf(text, sizeof text, "matmul_accumulate m=%d n=%d k=%d dtype=f32", M, N, K);
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_problem_init(&p, &c));
    const double v3 = measure(sim, "v3", &p), v1 = measure(sim, "v1", &p);
    CHECK_MSG(v3 < settled, "a row or column of v3 is off by %g u", v3);
    CHECK_MSG(v1 > 2 * settled, "one chain is off by %g u, and should have been told", v1);
    assay_problem_clear(&p);
}
