#include "bench/seeds/seeds.h"

#include <math.h>
#include <string.h>

/* A backend of SDPA that ran. */
static bool is_sdpa(const bench_row *row) {
    return strncmp(row->arm, "sdpa-", 5) == 0 && row->status == BENCH_OK;
}

static void line(FILE *to, const bench_results *results, const bench_row *of, bench_stage stage) {
    const bench_row *vanilla = seeds_row(results, of, "torch", stage),
                    *compiled = seeds_row(results, of, "torch-compile", stage),
                    *sdpa = seeds_fastest(results, of, stage, is_sdpa),
                    *ours = seeds_fastest(results, of, stage, seeds_is_ours);
    char dtype[64];
    fprintf(to, "%4.0f %6.0f %-5s %6s ", seeds_number(of->case_text, "d"),
            seeds_number(of->case_text, "sq"), seeds_word(of->case_text, "dtype", dtype),
            seeds_number(of->case_text, "causal") > 0 ? "yes" : "no");
    seeds_cell(to, vanilla, seeds_mean(vanilla), 11, 4);
    seeds_cell(to, compiled, seeds_mean(compiled), 11, 4);
    seeds_times(to, seeds_mean(vanilla) / seeds_mean(compiled), 8);
    seeds_cell(to, sdpa, seeds_mean(sdpa), 11, 4);
    fprintf(to, " %-9s", sdpa ? sdpa->arm + 5 : "");
    seeds_cell(to, ours, seeds_mean(ours), 11, 4);
    seeds_times(to, seeds_mean(vanilla) / seeds_mean(ours), 8);
    seeds_times(to, seeds_mean(sdpa) / seeds_mean(ours), 9);
    fprintf(to, "  %s\n", ours ? ours->arm : "");
}

void seeds_attention_table(FILE *to, const bench_results *results) {
    for (bench_stage stage = BENCH_FORWARD; stage <= BENCH_BACKWARD; ++stage) {
        const bench_row *of = NULL;
        fprintf(to, "%s, mean ms\n%4s %6s %-5s %6s %10s %10s %9s %10s %-9s %10s %8s %8s  variant\n",
                bench_stage_name(stage), "d", "seq", "dtype", "causal", "vanilla", "compiled",
                "speed-up", "best SDPA", "", "assay ms", "/vanilla", "/SDPA");
        while ((of = seeds_next_case(results, "attention", of)))
            line(to, results, of, stage);
        fputc('\n', to);
    }
}

/* ---- the published columns, and the arm ---- */

static void number(FILE *to, double value) {
    if (isnan(value))
        fputc(',', to);
    else
        fprintf(to, "%.6f,", value);
}

static void csv_line(FILE *to, const bench_results *results, const bench_row *forward) {
    static const double mb = 1 << 20;
    const bench_row *backward = seeds_row(results, forward, forward->arm, BENCH_BACKWARD);
    const bench_row *failed = forward->status != BENCH_OK                ? forward
                              : backward && backward->status != BENCH_OK ? backward
                                                                         : NULL;
    char dtype[64];
    fprintf(to, "%.0f,%.0f,%.0f,%s,", seeds_number(forward->case_text, "b"),
            seeds_number(forward->case_text, "sq"), seeds_number(forward->case_text, "d"),
            strcmp(forward->arm, "torch-compile") == 0 ? "True" : "False");
    number(to, seeds_mean(forward));
    number(to, seeds_deviation(forward));
    number(to, seeds_mean(backward));
    number(to, seeds_deviation(backward));
    number(to, seeds_mean(forward) + seeds_mean(backward));
    number(to, backward ? (double)backward->before_backward_bytes / mb : NAN);
    number(to, backward ? (double)backward->peak_bytes / mb : NAN);
    fprintf(to, "%s,\"", !failed ? "success" : failed->status == BENCH_OOM ? "OOM" : "SKIPPED");
    for (const char *at = failed ? failed->reason : ""; *at != '\0'; ++at)
        fprintf(to, *at == '"' ? "\"\"" : "%c", *at);
    fprintf(to, "\",%s,%s,%.0f\n", forward->arm, seeds_word(forward->case_text, "dtype", dtype),
            seeds_number(forward->case_text, "causal"));
}

assay_status seeds_attention_csv(FILE *to, const bench_results *results) {
    const bench_row *of = NULL, *row = NULL;
    fputs("batch_size,seq_len,d_model,compiled,forward_mean_ms,forward_std_ms,backward_mean_ms,"
          "backward_std_ms,total_mean_ms,memory_before_backward_mb,peak_memory_mb,status,error,"
          "arm,dtype,causal\n",
          to);
    while ((of = seeds_next_case(results, "attention", of)))
        while ((row = seeds_next_arm(results, of, BENCH_FORWARD, row)))
            csv_line(to, results, row);
    return ASSAY_OK;
}
