#include "bench/seeds/seeds.h"

#include <math.h>
#include <stdlib.h>

enum { ARMS = 32 };

static int by_time(const void *a, const void *b) {
    const double x = seeds_mean(*(const bench_row *const *)a),
                 y = seeds_mean(*(const bench_row *const *)b);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static void ranking(FILE *to, const bench_results *results, const bench_row *of,
                    bench_stage stage) {
    const bench_row *rows[ARMS], *row = NULL;
    size_t count = 0;
    while (count < ARMS && (row = seeds_next_arm(results, of, stage, row)))
        rows[count++] = row;
    qsort(rows, count, sizeof *rows, by_time);
    fprintf(to, "%s, %s\n\n| Implementation | Time (ms) | Relative Performance |\n|---|---|---|\n",
            of->case_text, bench_stage_name(stage));
    for (size_t i = 0; i < count; ++i) {
        const double mean = seeds_mean(rows[i]);
        fprintf(to, "| %s | ", rows[i]->label);
        if (rows[i]->status == BENCH_REFUSED)
            fprintf(to, "REFUSED | %s |\n", rows[i]->reason);
        else if (rows[i]->status != BENCH_OK)
            fprintf(to, "%s | %s |\n", bench_status_name(rows[i]->status), rows[i]->reason);
        else if (i == 0)
            fprintf(to, "%.4f ms | Fastest (1.00x) |\n", mean);
        else
            fprintf(to, "%.4f ms | %.2fx slower |\n", mean, mean / seeds_mean(rows[0]));
    }
    fputc('\n', to);
}

void seeds_conv3d_table(FILE *to, const bench_results *results) {
    const bench_row *of = NULL;
    while ((of = seeds_next_case(results, "conv3d_groupnorm_mean", of)))
        for (bench_stage stage = BENCH_FORWARD; stage <= BENCH_BACKWARD; ++stage)
            if (seeds_next_arm(results, of, stage, NULL))
                ranking(to, results, of, stage);
}
