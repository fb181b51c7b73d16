#include "bench/seeds/seeds.h"

#include "bench/statistics.h"

#include <math.h>
#include <string.h>

static bool is_of(const bench_row *row, const char *experiment) {
    return row->cache == BENCH_COLD && strcmp(row->experiment, experiment) == 0;
}

static bool is_first_of_case(const bench_results *results, const bench_row *row) {
    for (const bench_row *before = results->row; before < row; ++before)
        if (is_of(before, row->experiment) && strcmp(before->case_text, row->case_text) == 0)
            return false;
    return true;
}

const bench_row *seeds_next_case(const bench_results *results, const char *experiment,
                                 const bench_row *after) {
    const bench_row *end = results->row + results->count;
    for (const bench_row *row = after ? after + 1 : results->row; row < end; ++row)
        if (is_of(row, experiment) && is_first_of_case(results, row))
            return row;
    return NULL;
}

const bench_row *seeds_next_arm(const bench_results *results, const bench_row *of,
                                bench_stage stage, const bench_row *after) {
    const bench_row *end = results->row + results->count;
    for (const bench_row *row = after ? after + 1 : results->row; row < end; ++row)
        if (is_of(row, of->experiment) && strcmp(row->case_text, of->case_text) == 0 &&
            row->stage == stage)
            return row;
    return NULL;
}

const bench_row *seeds_row(const bench_results *results, const bench_row *of, const char *arm,
                           bench_stage stage) {
    const bench_row *row = NULL;
    while ((row = seeds_next_arm(results, of, stage, row)))
        if (strcmp(row->arm, arm) == 0)
            return row;
    return NULL;
}

static bench_summary summary_of(const bench_row *row) {
    bench_summary summary = {.mean = NAN, .deviation = NAN};
    if (!row || row->status != BENCH_OK ||
        bench_summarise(row->sample, row->n_samples, &summary) != ASSAY_OK)
        summary.mean = summary.deviation = NAN;
    return summary;
}

double seeds_mean(const bench_row *row) {
    return 1e-3 * summary_of(row).mean;
}

double seeds_deviation(const bench_row *row) {
    return 1e-3 * summary_of(row).deviation;
}

const char *seeds_word(const char *case_text, const char *key, char word[64]) {
    const size_t length = strlen(key);
    word[0] = '\0';
    for (const char *at = strchr(case_text, ' '); at; at = strchr(at + 1, ' '))
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=') {
            const char *value = at + 2 + length;
            snprintf(word, 64, "%.*s", (int)strcspn(value, " "), value);
        }
    return word;
}

double seeds_number(const char *case_text, const char *key) {
    assay_case c;
    if (assay_case_parse(case_text, &c) != ASSAY_OK)
        return NAN;
    for (int32_t i = 0; i < c.params.count; ++i)
        if (strcmp(c.params.item[i].name, key) == 0)
            return (double)c.params.item[i].value[0];
    return NAN;
}

bool seeds_is_ours(const bench_row *row) {
    return row->ours;
}

const bench_row *seeds_fastest(const bench_results *results, const bench_row *of, bench_stage stage,
                               bool (*is_meant)(const bench_row *row)) {
    const bench_row *best = NULL, *row = NULL;
    while ((row = seeds_next_arm(results, of, stage, row)))
        if (is_meant(row) &&
            (!best || isnan(seeds_mean(best)) || seeds_mean(row) < seeds_mean(best)))
            best = row;
    return best;
}

void seeds_cell(FILE *to, const bench_row *row, double value, int width, int digits) {
    if (row && row->status == BENCH_OK)
        fprintf(to, "%*.*f", width, digits, value);
    else
        fprintf(to, "%*s", width, row ? bench_status_name(row->status) : "-");
}

void seeds_times(FILE *to, double ratio, int width) {
    if (isnan(ratio))
        fprintf(to, "%*s", width + 1, "-");
    else
        fprintf(to, "%*.2fx", width, ratio);
}
