#include "bench/seeds/seeds.h"

#include <math.h>
#include <string.h>

/* Against the arm that the published guide calls its baseline. */
static void lines(FILE *to, const bench_results *results, const bench_row *of, bench_stage stage) {
    const double baseline = seeds_mean(seeds_row(results, of, "torch-matmul", stage));
    const bench_row *row = NULL;
    while ((row = seeds_next_arm(results, of, stage, row))) {
        const double mean = seeds_mean(row);
        fprintf(to, "%-35s: ", row->label);
        if (row->status != BENCH_OK)
            fprintf(to, "%s: %s\n", bench_status_name(row->status), row->reason);
        else if (isnan(baseline))
            fprintf(to, "%8.4f ms\n", mean);
        else
            fprintf(to, "%8.4f ms (speedup: %.2fx)\n", mean, baseline / mean);
    }
}

void seeds_weighted_sum_table(FILE *to, const bench_results *results) {
    const bench_row *of = NULL;
    while ((of = seeds_next_case(results, "weighted_sum", of)))
        for (bench_stage stage = BENCH_FORWARD; stage <= BENCH_BACKWARD; ++stage) {
            if (!seeds_next_arm(results, of, stage, NULL))
                continue;
            fprintf(to, "Batch size %.0f, input dim %.0f, %s\n", seeds_number(of->case_text, "n"),
                    seeds_number(of->case_text, "d"), bench_stage_name(stage));
            lines(to, results, of, stage);
            fputc('\n', to);
        }
}
