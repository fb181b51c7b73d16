#include "bench/report/missing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 3 /* cases in words */ };

static bool same_reason(const missing *a, const view_section *section, const bench_row *row) {
    return a->section == section && view_is_arm(a->row, row) && a->row->status == row->status &&
           strcmp(a->row->reason, row->reason) == 0;
}

static missing *find(missing_list *list, const view_section *section, const bench_row *row) {
    for (int64_t i = 0; i < list->count; ++i)
        if (same_reason(&list->item[i], section, row))
            return &list->item[i];
    list->item[list->count] = (missing){.section = section, .row = row};
    return &list->item[list->count++];
}

static bool lacks(const view_row *row, missing_what what) {
    return what == MISSING_TIME ? !view_timed(row) : view_timed(row) && row->row->reason[0] != '\0';
}

/* Whether the same row in the other cache state, shown before, is missing too. */
static bool told(const view_group *group, const view_section *section, const bench_row *row,
                 missing_what what) {
    if (group == section->group || group->cache == BENCH_COLD)
        return false;
    const view_group *cold = group - 1;
    if (cold->stage != group->stage || strcmp(cold->case_text, group->case_text) != 0)
        return false;
    for (int64_t r = 0; r < cold->count; ++r)
        if (view_is_arm(cold->row[r].row, row) && lacks(&cold->row[r], what))
            return true;
    return false;
}

static void add_case(missing *item, const view_group *group) {
    const size_t used = strlen(item->cases);
    if (item->count++ < NAMED)
        snprintf(item->cases + used, sizeof item->cases - used, "%s%s%s%s", used > 0 ? "; " : "",
                 group->label, group->label[0] != '\0' ? " " : "", bench_stage_name(group->stage));
}

/* The heaviest first; then as they came. */
static int by_weight(const void *left, const void *right) {
    static const int weight[BENCH_STATUSES] = {
        [BENCH_REFUSED] = 4, [BENCH_ERROR] = 3, [BENCH_OOM] = 2, [BENCH_UNAVAILABLE] = 1};
    const missing *a = left, *b = right;
    const int of_a = weight[a->row->status], of_b = weight[b->row->status];
    return of_a != of_b ? of_b - of_a : (a->row > b->row) - (a->row < b->row);
}

assay_status missing_init(missing_list *list, const view *v, missing_what what) {
    *list = (missing_list){0};
    list->item = malloc((size_t)(v->n_rows + 1) * sizeof *list->item);
    if (list->item == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to list what is missing");
    for (int64_t s = 0; s < v->n_sections; ++s) {
        const view_section *section = &v->section[s];
        for (int64_t g = 0; g < section->count; ++g) {
            const view_group *group = &section->group[g];
            for (int64_t r = 0; r < group->count; ++r)
                if (lacks(&group->row[r], what) && !told(group, section, group->row[r].row, what))
                    add_case(find(list, section, group->row[r].row), group);
        }
    }
    for (int64_t i = 0; i < list->count; ++i) {
        missing *item = &list->item[i];
        const size_t used = strlen(item->cases);
        if (item->count > NAMED)
            snprintf(item->cases + used, sizeof item->cases - used, "; and %" PRId64 " more",
                     item->count - NAMED);
    }
    qsort(list->item, (size_t)list->count, sizeof *list->item, by_weight);
    return ASSAY_OK;
}

void missing_clear(missing_list *list) {
    free(list->item);
    *list = (missing_list){0};
}
