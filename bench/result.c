#include "bench/result.h"

#include <stdlib.h>
#include <string.h>

static const char *const status_names[BENCH_STATUSES] = {
    [BENCH_OK] = "ok",       [BENCH_REFUSED] = "refused",
    [BENCH_OOM] = "oom",     [BENCH_UNAVAILABLE] = "unavailable",
    [BENCH_ERROR] = "error",
};
static const char *const stage_names[BENCH_STAGES] = {
    [BENCH_FORWARD] = "forward",
    [BENCH_BACKWARD] = "backward",
    [BENCH_BOTH] = "forward+backward",
};

const char *bench_status_name(bench_status s) {
    return status_names[s];
}

const char *bench_stage_name(bench_stage s) {
    return stage_names[s];
}

const char *bench_cache_name(bench_cache c) {
    return c == BENCH_COLD ? "cold" : "warm";
}

static bool same_place(const bench_row *a, const bench_row *b) {
    return a->stage == b->stage && a->cache == b->cache && strcmp(a->arm, b->arm) == 0 &&
           strcmp(a->case_text, b->case_text) == 0 && strcmp(a->experiment, b->experiment) == 0;
}

const bench_row *bench_results_find(const bench_results *results, const bench_row *like) {
    for (int64_t i = 0; i < results->count; ++i)
        if (same_place(&results->row[i], like))
            return &results->row[i];
    return NULL;
}

static assay_status make_room(bench_results *results) {
    if (results->count < results->room)
        return ASSAY_OK;
    const int64_t room = results->room > 0 ? 2 * results->room : 16;
    bench_row *row = realloc(results->row, (size_t)room * sizeof *row);
    if (row == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %lld rows of results", (long long)room);
    results->row = row;
    results->room = room;
    return ASSAY_OK;
}

assay_status bench_results_add(bench_results *results, const bench_row *row) {
    const bench_row *known = bench_results_find(results, row);
    if (known != NULL) {
        bench_row *place = &results->row[known - results->row];
        if (place->sample != row->sample)
            free(place->sample);
        *place = *row;
        return ASSAY_OK;
    }
    const assay_status status = make_room(results);
    if (status == ASSAY_OK)
        results->row[results->count++] = *row;
    return status;
}

void bench_results_remove(bench_results *results, const bench_row *like) {
    const bench_row *known = bench_results_find(results, like);
    if (known == NULL)
        return;
    bench_row *place = &results->row[known - results->row];
    const int64_t after = results->row + results->count - (place + 1);
    free(place->sample);
    memmove(place, place + 1, (size_t)after * sizeof *place);
    --results->count;
}

static bool same_case(const bench_row *a, const bench_row *b) {
    return strcmp(a->case_text, b->case_text) == 0 && strcmp(a->experiment, b->experiment) == 0;
}

static void remove_case(bench_results *results, const bench_row *like) {
    int64_t kept = 0;
    for (int64_t i = 0; i < results->count; ++i)
        if (same_case(&results->row[i], like))
            free(results->row[i].sample);
        else
            results->row[kept++] = results->row[i];
    results->count = kept;
}

assay_status bench_results_merge(bench_results *results, bench_results *other) {
    for (int64_t i = 0; i < other->count; ++i)
        remove_case(results, &other->row[i]);
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; status == ASSAY_OK && i < other->count; ++i) {
        status = bench_results_add(results, &other->row[i]);
        if (status == ASSAY_OK)
            other->row[i].sample = NULL;
    }
    results->seconds += other->seconds;
    bench_results_clear(other);
    return status;
}

void bench_results_clear(bench_results *results) {
    for (int64_t i = 0; i < results->count; ++i)
        free(results->row[i].sample);
    free(results->row);
    *results = (bench_results){0};
}
