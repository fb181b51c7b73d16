#include "bench/seeds/seeds.h"

#include <math.h>

/* Size and iterations, one row an arm: time, and how many times as fast as PyTorch. */
void seeds_matmul_table(FILE *to, const bench_results *results) {
    const bench_row *of = NULL, *row = NULL;
    fprintf(to, "%-5s %-6s %5s %5s  %-16s %12s %9s %10s\n", "size", "dtype", "math", "iters", "arm",
            "mean ms", "std ms", "speed-up");
    while ((of = seeds_next_case(results, "matmul_accumulate", of))) {
        const double baseline = seeds_mean(seeds_row(results, of, "torch", BENCH_FORWARD));
        while ((row = seeds_next_arm(results, of, BENCH_FORWARD, row))) {
            char dtype[64], math[64];
            const double iterations = seeds_number(of->case_text, "iters");
            seeds_word(of->case_text, "math", math);
            fprintf(to, "%-5.0f %-6s %5s %5.0f  %-16s ", seeds_number(of->case_text, "m"),
                    seeds_word(of->case_text, "dtype", dtype), math[0] ? math : "", iterations,
                    row->arm);
            seeds_cell(to, row, seeds_mean(row), 12, 4);
            seeds_cell(to, row, seeds_deviation(row), 10, 4);
            if (row->status == BENCH_OK && !isnan(baseline))
                fprintf(to, " %9.2fx", baseline / seeds_mean(row));
            fputc('\n', to);
        }
    }
}
