#include "bench/report/view.h"

#include "bench/report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ---- */

/* What a row's section is called: a part of the row's text. */
typedef struct name {
    const char *text;
    size_t length;
} name;

static name section_name(const bench_row *row) {
    if (row->experiment[0] != '\0')
        return (name){row->experiment, strlen(row->experiment)};
    return (name){row->case_text, words_operator(row->case_text, BENCH_NAME - 1)};
}

static bool same_section(const bench_row *a, const bench_row *b) {
    const name of_a = section_name(a), of_b = section_name(b);
    return of_a.length == of_b.length && memcmp(of_a.text, of_b.text, of_a.length) == 0;
}

/* Where a row goes: sections and cases in the order in which they first appear. */
typedef struct ranked {
    int64_t section, first_of_case, at;
    const bench_row *row;
} ranked;

static int by_integer(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    int order = by_integer(a->section, b->section);
    if (order == 0)
        order = by_integer(a->first_of_case, b->first_of_case);
    if (order == 0)
        order = by_integer(a->row->stage, b->row->stage);
    if (order == 0)
        order = by_integer(a->row->cache, b->row->cache);
    if (order == 0)
        order = by_integer(b->row->ours, a->row->ours);
    return order != 0 ? order : by_integer(a->at, b->at);
}

static void rank(const bench_results *results, ranked *order) {
    for (int64_t i = 0; i < results->count; ++i) {
        const bench_row *row = &results->row[i];
        order[i] = (ranked){.section = i, .first_of_case = i, .at = i, .row = row};
        for (int64_t j = 0; j < i; ++j) {
            if (!same_section(row, order[j].row))
                continue;
            order[i].section = order[j].section;
            if (strcmp(order[j].row->case_text, row->case_text) == 0) {
                order[i].first_of_case = order[j].first_of_case;
                break;
            }
        }
    }
    qsort(order, (size_t)results->count, sizeof *order, by_place);
}

/* ---- groups ---- */

const char *view_name(const bench_row *row) {
    return row->label[0] != '\0' ? row->label : row->arm;
}

bool view_timed(const view_row *row) {
    return row->row->status == BENCH_OK && row->derived.time.count > 0;
}

static const view_row *quicker(const view_row *best, const view_row *row) {
    if (!view_timed(row))
        return best;
    return best == NULL || row->derived.time.median < best->derived.time.median ? row : best;
}

/* a: whose speed is told. */
static assay_status versus(const view_row *a, const view_row *b, bench_ratio *ratio) {
    return bench_compare(a->row->sample, a->row->n_samples, b->row->sample, b->row->n_samples,
                         BENCH_MARGIN, ratio);
}

static assay_status compare_group(view_group *group) {
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < group->count; ++i) {
        const view_row *row = &group->row[i];
        if (row->row->ours)
            group->ours = quicker(group->ours, row);
        else
            group->peer = quicker(group->peer, row);
    }
    for (int64_t i = 0; i < group->count && status == ASSAY_OK; ++i) {
        view_row *row = &group->row[i];
        const view_row *other = row->row->ours ? group->peer : group->ours;
        row->versus = (bench_ratio){NAN, NAN, NAN, BENCH_UNCLEAR};
        if (other != NULL && view_timed(row))
            status = row->row->ours ? versus(row, other, &row->versus)
                                    : versus(other, row, &row->versus);
    }
    return status;
}

bool view_ratio(const view_group *group, bench_ratio *ratio) {
    if (group->ours == NULL || group->peer == NULL)
        return false;
    *ratio = group->ours->versus;
    return true;
}

static bool begins_group(const ranked *row) {
    return row->section != row[-1].section || row->first_of_case != row[-1].first_of_case ||
           row->row->stage != row[-1].row->stage || row->row->cache != row[-1].row->cache;
}

static assay_status make_groups(view *v, const ranked *order) {
    for (int64_t i = 0; i < v->n_rows; ++i) {
        view_row *row = &v->row[i];
        row->row = order[i].row;
        const assay_status status = bench_derive(row->row, &row->derived);
        if (status != ASSAY_OK)
            return status;
        if (i == 0 || begins_group(&order[i]))
            v->group[v->n_groups++] = (view_group){.row = row,
                                                   .case_text = row->row->case_text,
                                                   .stage = row->row->stage,
                                                   .cache = row->row->cache};
        ++v->group[v->n_groups - 1].count;
    }
    for (int64_t g = 0; g < v->n_groups; ++g) {
        const assay_status status = compare_group(&v->group[g]);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* ---- sections ---- */

static void name_section(view_section *section) {
    const bench_row *row = section->group->row->row;
    snprintf(section->op, sizeof section->op, "%.*s",
             (int)words_operator(row->case_text, BENCH_NAME - 1), row->case_text);
    section->name = row->experiment[0] != '\0' ? row->experiment : section->op;
}

static void label_section(view_section *section) {
    words_after_operator(section->group->case_text, section->common);
    for (int64_t g = 0; g < section->count; ++g)
        words_keep_shared(section->common, section->group[g].case_text);
    for (int64_t g = 0; g < section->count; ++g) {
        view_group *group = &section->group[g];
        words_after_operator(group->case_text, group->label);
        words_drop(group->label, section->common);
    }
}

static void make_sections(view *v) {
    for (int64_t g = 0; g < v->n_groups; ++g) {
        view_group *group = &v->group[g];
        if (g == 0 || !same_section(group->row->row, group[-1].row->row)) {
            v->section[v->n_sections++] = (view_section){.group = group};
            name_section(&v->section[v->n_sections - 1]);
        }
        ++v->section[v->n_sections - 1].count;
    }
    for (int64_t s = 0; s < v->n_sections; ++s)
        label_section(&v->section[s]);
}

/* ---- arms ---- */

bool view_is_arm(const bench_row *row, const bench_row *arm) {
    return row->ours == arm->ours && strcmp(row->arm, arm->arm) == 0;
}

static int32_t add_arms(const view_section *section, bool ours, const bench_row **arm,
                        int32_t count, int32_t most) {
    for (int64_t g = 0; g < section->count; ++g) {
        for (int64_t r = 0; r < section->group[g].count; ++r) {
            const bench_row *row = section->group[g].row[r].row;
            int32_t known = 0;
            while (known < count && !view_is_arm(row, arm[known]))
                ++known;
            if (row->ours == ours && known == count && count < most)
                arm[count++] = row;
        }
    }
    return count;
}

int32_t view_arms(const view_section *section, const bench_row **arm, int32_t most) {
    return add_arms(section, false, arm, add_arms(section, true, arm, 0, most), most);
}

const bench_row *view_main_arm(const view *v, const view_section *section) {
    const bench_row *main = NULL;
    int64_t most = 0;
    for (int64_t g = 0; g < section->count; ++g) {
        int64_t count = 0;
        if (section->group[g].ours == NULL || section->group[g].cache != v->cache)
            continue;
        for (int64_t h = 0; h < section->count; ++h)
            count += section->group[h].ours != NULL && section->group[h].cache == v->cache &&
                     view_is_arm(section->group[h].ours->row, section->group[g].ours->row);
        if (count > most) {
            most = count;
            main = section->group[g].ours->row;
        }
    }
    return main;
}

/* ---- the summary ---- */

static bench_cache summary_cache(const view *v) {
    for (int64_t i = 0; i < v->n_rows; ++i)
        if (v->row[i].row->cache == BENCH_COLD && view_timed(&v->row[i]))
            return BENCH_COLD;
    for (int64_t i = 0; i < v->n_rows; ++i)
        if (view_timed(&v->row[i]))
            return BENCH_WARM;
    return BENCH_COLD;
}

static double geometric_mean(double logarithms, int64_t count) {
    return count > 0 ? exp(logarithms / (double)count) : (double)NAN;
}

double view_mean(const view *v, const view_section *section, bench_stage stage, int64_t *count) {
    double logarithms = 0;
    bench_ratio ratio;
    *count = 0;
    for (int64_t g = 0; g < section->count; ++g) {
        const view_group *group = &section->group[g];
        if (group->stage == stage && group->cache == v->cache && view_ratio(group, &ratio)) {
            logarithms += log(ratio.ratio);
            ++*count;
        }
    }
    return geometric_mean(logarithms, *count);
}

static void tally_rows(view *v) {
    for (int64_t i = 0; i < v->n_rows; ++i) {
        const bench_row *row = v->row[i].row;
        ++v->statuses[row->status];
        if (row->status != BENCH_OK)
            continue;
        v->uncompared += isnan(row->ratio);
        if (!isnan(row->ratio) && (v->worst == NULL || row->ratio > v->worst->ratio))
            v->worst = row;
    }
}

static void tally_groups(view *v) {
    double logarithms = 0;
    int64_t count = 0;
    bench_ratio ratio;
    for (int64_t g = 0; g < v->n_groups; ++g) {
        if (v->group[g].cache != v->cache)
            continue;
        if (!view_ratio(&v->group[g], &ratio)) {
            ++v->alone;
            continue;
        }
        ++v->verdicts[ratio.verdict];
        logarithms += log(ratio.ratio);
        ++count;
    }
    v->mean = geometric_mean(logarithms, count);
}

assay_status view_init(view *v, const bench_results *results) {
    const size_t n = (size_t)results->count, room = n > 0 ? n : 1;
    ranked *order = malloc(room * sizeof *order);
    assay_status status = ASSAY_OK;
    *v = (view){.results = results, .n_rows = results->count};
    v->section = malloc(room * sizeof *v->section);
    v->group = malloc(room * sizeof *v->group);
    v->row = calloc(room, sizeof *v->row);
    if (order == NULL || v->section == NULL || v->group == NULL || v->row == NULL) {
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory to report on %zu rows", n);
        goto done;
    }
    rank(results, order);
    if ((status = make_groups(v, order)) != ASSAY_OK)
        goto done;
    make_sections(v);
    v->cache = summary_cache(v);
    tally_rows(v);
    tally_groups(v);
done:
    free(order);
    if (status != ASSAY_OK)
        view_clear(v);
    return status;
}

void view_clear(view *v) {
    free(v->section);
    free(v->group);
    free(v->row);
    *v = (view){0};
}
