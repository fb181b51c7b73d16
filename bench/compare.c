#include "bench/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool timed(const bench_row *row) {
    return row != NULL && row->status == BENCH_OK && row->n_samples > 0;
}

static bool has_case(const bench_results *results, const bench_row *like) {
    for (int64_t i = 0; i < results->count; ++i)
        if (strcmp(results->row[i].case_text, like->case_text) == 0 &&
            strcmp(results->row[i].experiment, like->experiment) == 0)
            return true;
    return false;
}

static assay_status same_device(const bench_environment *before, const bench_environment *after) {
    if (strcmp(before->device, after->device) == 0 && before->simulated == after->simulated)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE,
                      "these times cannot be compared: the earlier ones are of %.120s%s, these of "
                      "%.120s%s; run both on one device",
                      before->device, before->simulated ? " (simulated)" : "", after->device,
                      after->simulated ? " (simulated)" : "");
}

static assay_status add(bench_comparison *c, const bench_row *before, const bench_row *after) {
    bench_change *change = &c->change[c->count++];
    assay_status status = ASSAY_OK;
    *change = (bench_change){.before = before,
                             .after = after,
                             .ratio = {NAN, NAN, NAN, BENCH_UNCLEAR},
                             .regression = timed(before) && before->ours && !timed(after)};
    if (timed(before) && timed(after)) {
        status = bench_compare(after->sample, after->n_samples, before->sample, before->n_samples,
                               c->margin, &change->ratio);
        change->regression = after->ours && change->ratio.verdict == BENCH_SLOWER;
    }
    c->regressions += change->regression;
    return status;
}

assay_status bench_compare_results(const bench_results *before, const bench_results *after,
                                   double margin, bench_comparison *comparison) {
    const size_t room = (size_t)(before->count + after->count);
    assay_status status = same_device(&before->environment, &after->environment);
    *comparison = (bench_comparison){.margin = margin,
                                     .device = after->environment.device,
                                     .simulated = after->environment.simulated};
    if (status != ASSAY_OK)
        return status;
    comparison->change = malloc((room > 0 ? room : 1) * sizeof *comparison->change);
    if (comparison->change == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to compare %zu rows", room);
    for (int64_t i = 0; i < after->count && status == ASSAY_OK; ++i)
        status = add(comparison, bench_results_find(before, &after->row[i]), &after->row[i]);
    for (int64_t i = 0; i < before->count && status == ASSAY_OK; ++i) {
        const bench_row *row = &before->row[i];
        if (!has_case(after, row))
            ++comparison->left_out;
        else if (bench_results_find(after, row) == NULL)
            status = add(comparison, row, NULL);
    }
    if (status != ASSAY_OK)
        bench_comparison_clear(comparison);
    return status;
}

void bench_comparison_clear(bench_comparison *comparison) {
    free(comparison->change);
    *comparison = (bench_comparison){0};
}
