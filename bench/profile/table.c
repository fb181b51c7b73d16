#include "bench/profile/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool on_device(const profile_record *r) {
    return r->kind == PROFILE_KERNEL || r->kind == PROFILE_COPY || r->kind == PROFILE_FILL;
}

static bool alike(const profile_record *a, const profile_record *b) {
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 && a->registers == b->registers &&
           a->static_shared == b->static_shared && a->dynamic_shared == b->dynamic_shared;
}

static profile_line *line_of(profile_table *table, const profile_record *r) {
    int64_t i = 0;
    while (i < table->count && !alike(&table->line[i].like, r))
        ++i;
    if (i == table->count)
        table->line[table->count++] = (profile_line){.like = *r};
    return &table->line[i];
}

static int by_total(const void *a, const void *b) {
    const profile_line *x = a, *y = b;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    return strcmp(x->like.name, y->like.name);
}

assay_status table_make(const profile_records *records, assay_stage stage, profile_table *table) {
    uint64_t first = UINT64_MAX, last = 0;
    *table = (profile_table){.line = calloc((size_t)records->count + 1, sizeof *table->line)};
    if (table->line == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the table of kernels");
    for (int64_t i = 0; i < records->count; ++i) {
        const profile_record *r = &records->record[i];
        if (!on_device(r) || r->stage != stage)
            continue;
        profile_line *line = line_of(table, r);
        const double time = (double)(r->end - r->start) / 1e3;
        ++line->calls;
        line->total += time;
        line->bytes += r->bytes;
        table->total += time;
        first = r->start < first ? r->start : first;
        last = r->end > last ? r->end : last;
    }
    for (int64_t i = 0; i < table->count; ++i)
        table->line[i].share = table->total > 0 ? table->line[i].total / table->total : 0;
    table->span = table->count > 0 ? (double)(last - first) / 1e3 : 0;
    qsort(table->line, (size_t)table->count, sizeof *table->line, by_total);
    return ASSAY_OK;
}

void table_clear(profile_table *table) {
    free(table->line);
    *table = (profile_table){0};
}
