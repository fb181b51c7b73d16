#include "bench/profile/record_trace.h"
#include "bench/profile/trace.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    HOST,
    DEVICE,
    CALLS = 0 /* the row of the variant's calls; threads have their own numbers */
};

static profile_row row_of(const profile_record *r) {
    if (r->kind == PROFILE_CALL)
        return (profile_row){HOST, CALLS};
    return (profile_row){r->kind == PROFILE_API ? HOST : DEVICE, (int32_t)r->row};
}

static bool same_row(profile_row a, profile_row b) {
    return a.process == b.process && a.thread == b.thread;
}

/* Whether no record before it is in its row. */
static bool first_of_row(const profile_records *records, int64_t i) {
    for (int64_t j = 0; j < i; ++j)
        if (same_row(row_of(&records->record[j]), row_of(&records->record[i])))
            return false;
    return true;
}

static void name_rows(profile_trace *trace, const profile_records *records) {
    for (int64_t i = 0; i < records->count; ++i) {
        const profile_record *r = &records->record[i];
        char name[32];
        if (!first_of_row(records, i))
            continue;
        if (r->kind == PROFILE_CALL)
            snprintf(name, sizeof name, "calls of the variant");
        else
            snprintf(name, sizeof name, "%s %" PRIu32, r->kind == PROFILE_API ? "thread" : "stream",
                     r->row);
        trace_name(trace, row_of(r), row_of(r).process == HOST ? "host" : "GPU", name);
    }
}

static double microseconds(uint64_t time, uint64_t zero) {
    return (double)(time - zero) / 1e3;
}

static void put_event(profile_trace *trace, const profile_record *r, uint64_t zero) {
    char grid[48], block[48];
    profile_note notes[8] = {{"stage", assay_stage_name(r->stage), 0}};
    int32_t n = 1;
    if (r->kind == PROFILE_KERNEL) {
        snprintf(grid, sizeof grid, "%ux%ux%u", r->grid[0], r->grid[1], r->grid[2]);
        snprintf(block, sizeof block, "%ux%ux%u", r->block[0], r->block[1], r->block[2]);
        notes[n++] = (profile_note){"grid", grid, 0};
        notes[n++] = (profile_note){"block", block, 0};
        notes[n++] = (profile_note){"registers", NULL, r->registers};
        notes[n++] = (profile_note){"static shared", NULL, r->static_shared};
        notes[n++] = (profile_note){"dynamic shared", NULL, r->dynamic_shared};
    }
    if (r->kind == PROFILE_COPY || r->kind == PROFILE_FILL)
        notes[n++] = (profile_note){"bytes", NULL, (double)r->bytes};
    if (r->correlation != 0)
        notes[n++] = (profile_note){"correlation", NULL, r->correlation};
    trace_event(trace, row_of(r), r->name, microseconds(r->start, zero),
                microseconds(r->end, r->start), notes, n);
}

/* ---- arrows: from the call to what it has the device do ---- */

static int by_correlation(const void *a, const void *b) {
    const profile_record *x = *(const profile_record *const *)a;
    const profile_record *y = *(const profile_record *const *)b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* The first API call of that correlation; NULL: none was recorded. */
static const profile_record *find(const profile_record *const *calls, int64_t n,
                                  uint32_t correlation) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (calls[middle]->correlation < correlation)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && calls[low]->correlation == correlation ? calls[low] : NULL;
}

static void put_arrows(profile_trace *trace, const profile_records *records,
                       const profile_record *const *calls, int64_t n, uint64_t zero) {
    for (int64_t i = 0; i < records->count; ++i) {
        const profile_record *to = &records->record[i];
        const bool on_device = row_of(to).process == DEVICE && to->correlation != 0;
        const profile_record *from = on_device ? find(calls, n, to->correlation) : NULL;
        if (from != NULL)
            trace_arrow(trace, to->correlation, row_of(from), microseconds(from->start, zero),
                        row_of(to), microseconds(to->start, zero));
    }
}

static assay_status put_all_arrows(profile_trace *trace, const profile_records *records,
                                   uint64_t zero) {
    const profile_record **calls = calloc((size_t)records->count + 1, sizeof *calls);
    int64_t n = 0;
    if (calls == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the trace; leave --trace out");
    for (int64_t i = 0; i < records->count; ++i)
        if (records->record[i].kind == PROFILE_API)
            calls[n++] = &records->record[i];
    qsort(calls, (size_t)n, sizeof *calls, by_correlation);
    put_arrows(trace, records, calls, n, zero);
    free(calls);
    return ASSAY_OK;
}

assay_status records_trace(FILE *to, const char *title, const profile_records *records) {
    profile_trace trace;
    uint64_t zero = UINT64_MAX;
    for (int64_t i = 0; i < records->count; ++i)
        zero = records->record[i].start < zero ? records->record[i].start : zero;
    trace_begin(&trace, to, title, "microseconds from the first record on, by CUPTI's clock");
    name_rows(&trace, records);
    for (int64_t i = 0; i < records->count; ++i)
        put_event(&trace, &records->record[i], zero);
    const assay_status status = put_all_arrows(&trace, records, zero);
    trace_end(&trace);
    return status;
}
