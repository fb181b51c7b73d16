#include "bench/seeds/seeds.h"

#include <stdlib.h>
#include <string.h>

enum { MODES = 16 };

static int extents(const char *f, double extent[MODES]) {
    int count = 0;
    char *end;
    for (const char *at = f; *at != '\0' && count < MODES; at = *end == 'x' ? end + 1 : end)
        extent[count++] = strtod(at, &end);
    return count;
}

/* State size, and multiply-adds of a layer over the elements of its input, output and factors. */
static void head(FILE *to, const bench_row *of, const double *extent, int count, double *work) {
    const double b = seeds_number(of->case_text, "b");
    double state = 1, sum = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
        state *= extent[i];
        sum += extent[i];
        squares += extent[i] * extent[i];
    }
    *work = b * state * sum;
    fprintf(to, "state size : %.0f\n", state);
    fprintf(to, "AI         : %.1e\n", *work / (2 * b * state + squares));
}

static void benchmark(FILE *to, const bench_results *results, const bench_row *of,
                      bench_stage stage, double work) {
    char f[64], label[128];
    int length = snprintf(label, sizeof label, "%.0f", seeds_number(of->case_text, "b"));
    seeds_word(of->case_text, "f", f);
    for (const char *at = f; *at != '\0'; ++at) {
        if (at == f || *at == 'x')
            length += snprintf(label + length, sizeof label - (size_t)length, " x ");
        if (*at != 'x')
            length += snprintf(label + length, sizeof label - (size_t)length, "%c", *at);
    }
    snprintf(label + length, sizeof label - (size_t)length, " (%.3e)", work);
    fprintf(to, "[------------------ benchmark: %s ------------------]\n%*s",
            bench_stage_name(stage), (int)strlen(label) + 6, "");
    const bench_row *row = NULL;
    while ((row = seeds_next_arm(results, of, stage, row)))
        fprintf(to, "  |  %13s", row->arm);
    fprintf(to, "\n1 threads: %.*s\n      %s", 40, "----------------------------------------",
            label);
    while ((row = seeds_next_arm(results, of, stage, row))) {
        fputs("  |  ", to);
        seeds_cell(to, row, 1e3 * seeds_mean(row), 13, 1);
    }
    fputs("\n\n", to);
}

void seeds_kronecker_table(FILE *to, const bench_results *results) {
    const bench_row *of = NULL;
    while ((of = seeds_next_case(results, "kronecker", of))) {
        double extent[MODES], work;
        char f[64];
        const int count = extents(seeds_word(of->case_text, "f", f), extent);
        head(to, of, extent, count, &work);
        benchmark(to, results, of, BENCH_FORWARD, work);
        benchmark(to, results, of, BENCH_BACKWARD, work);
    }
    fputs("Times are in microseconds (us).\n", to);
}
