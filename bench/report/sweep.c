#include "bench/report/sweep.h"

#include "bench/report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEP_KEYS = ASSAY_MAX_KEYS + 8 /* of a case: its operator's, and those of all cases */ };

void sweeps_clear(sweeps *s) {
    for (int32_t i = 0; i < s->count; ++i)
        free(s->item[i].point);
    free(s->item);
    *s = (sweeps){0};
}

static int by_size(const void *a, const void *b) {
    const double x = ((const sweep_point *)a)->size, y = ((const sweep_point *)b)->size;
    return (x > y) - (x < y);
}

/* ---- templates ---- */

/* A case's text with the value of one key replaced by `*`; together: wherever that value stands. */
typedef struct template {
    char text[ASSAY_CASE_TEXT], axis[BENCH_NAME];
    double size;
}
template;

static bool same_text(const char *a, int n_a, const char *b, int n_b) {
    return n_a == n_b && memcmp(a, b, (size_t)n_a) == 0;
}

static bool find_key(const char *text, const words_pair *key, words_pair *found) {
    while (words_next(&text, found))
        if (same_text(found->key, found->key_length, key->key, key->key_length))
            return true;
    return false;
}

static void append(char *text, size_t room, const char *more, int length) {
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%.*s", length, more);
}

/* False where the key has no value that is a size. */
static bool make_template(const char *text, const words_pair *key, bool together, template *t) {
    words_pair swept, pair;
    *t = (template){.text = ""};
    if (!find_key(text, key, &swept) || !words_integer(&swept, &t->size))
        return false;
    while (words_next(&text, &pair)) {
        const bool same = !same_text(pair.key, pair.key_length, "seed", 4) &&
                          same_text(pair.value, pair.value_length, swept.value, swept.value_length);
        const bool is_size = pair.key == swept.key || (together && same);
        append(t->text, sizeof t->text, pair.key, pair.key_length);
        append(t->text, sizeof t->text, is_size ? "=* " : "=", is_size ? 3 : 1);
        if (!is_size)
            append(t->text, sizeof t->text, pair.value, pair.value_length + 1);
        else {
            append(t->axis, sizeof t->axis, " = ", t->axis[0] != '\0' ? 3 : 0);
            append(t->axis, sizeof t->axis, pair.key, pair.key_length);
        }
    }
    return true;
}

/* ---- one section's curves of one stage ---- */

typedef struct search {
    sweeps *found;
    const view *v;
    const view_section *section;
    bench_stage stage;
    bool *covered; /* groups that a curve goes through */
} search;

static bool belongs(const search *s, const view_group *group) {
    if (group->stage != s->stage || group->cache != s->v->cache)
        return false;
    for (int64_t r = 0; r < group->count; ++r)
        if (view_timed(&group->row[r]))
            return true;
    return false;
}

/* A curve that could be drawn: over `key`, of the template of the group at `first`. */
typedef struct candidate {
    words_pair key;
    bool together;
    int64_t first;
    int32_t count, order;
} candidate;

/* Groups of the same template as the first one, unless an earlier one begins that curve. */
static int32_t collect(const search *s, const candidate *c, sweep_point *point) {
    template of_first, t;
    int32_t count = 0;
    if (!belongs(s, &s->section->group[c->first]) ||
        !make_template(s->section->group[c->first].case_text, &c->key, c->together, &of_first))
        return 0;
    for (int64_t g = 0; g < s->section->count; ++g) {
        const view_group *group = &s->section->group[g];
        if (!belongs(s, group) || !make_template(group->case_text, &c->key, c->together, &t) ||
            strcmp(t.text, of_first.text) != 0)
            continue;
        if (g < c->first)
            return 0;
        point[count++] = (sweep_point){t.size, group};
    }
    return count;
}

static bool goes_somewhere_new(const search *s, const sweep_point *point, int32_t count) {
    for (int32_t i = 0; i < count; ++i)
        if (!s->covered[point[i].group - s->section->group])
            return true;
    return false;
}

static assay_status keep(const search *s, const sweep_point *point, int32_t count,
                         const char *axis) {
    sweeps *found = s->found;
    if (found->count == found->room) {
        const int32_t room = found->room > 0 ? 2 * found->room : 8;
        sweep *item = realloc(found->item, (size_t)room * sizeof *item);
        if (item == NULL)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d curves", room);
        found->item = item;
        found->room = room;
    }
    sweep *it = &found->item[found->count];
    *it = (sweep){.section = s->section, .stage = s->stage, .count = count};
    it->point = malloc((size_t)count * sizeof *point);
    if (it->point == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a curve of %d points", count);
    ++found->count;
    memcpy(it->point, point, (size_t)count * sizeof *point);
    qsort(it->point, (size_t)count, sizeof *point, by_size);
    snprintf(it->axis, sizeof it->axis, "%s", axis);
    snprintf(it->fixed, sizeof it->fixed, "%s", point[0].group->label);
    for (int32_t i = 0; i < count; ++i) {
        words_keep_shared(it->fixed, point[i].group->case_text);
        s->covered[point[i].group - s->section->group] = true;
    }
    return ASSAY_OK;
}

static int by_length(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    return a->count != b->count ? (a->count < b->count) - (a->count > b->count)
                                : a->order - b->order;
}

/* Over one key: a candidate for each template. Returns how many there are then. */
static int32_t find_over(const search *s, const words_pair *key, bool together, candidate *found,
                         int32_t n, sweep_point *point) {
    for (int64_t g = 0; g < s->section->count; ++g) {
        candidate it = {.key = *key, .together = together, .first = g, .order = n};
        it.count = collect(s, &it, point);
        if (it.count >= SWEEP_LEAST)
            found[n++] = it;
    }
    return n;
}

static int32_t find_candidates(const search *s, candidate *found, sweep_point *point) {
    const char *words = s->section->group->case_text;
    words_pair key;
    int32_t n = 0;
    for (int keys = 0; keys < SWEEP_KEYS && words_next(&words, &key); ++keys)
        for (int together = 0; together < 2; ++together)
            if (!same_text(key.key, key.key_length, "seed", 4))
                n = find_over(s, &key, together, found, n, point);
    qsort(found, (size_t)n, sizeof *found, by_length);
    return n;
}

static assay_status add_curves(const search *s, const candidate *found, int32_t n,
                               sweep_point *point) {
    template t;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t count = collect(s, &found[i], point);
        if (!goes_somewhere_new(s, point, count) ||
            !make_template(point[0].group->case_text, &found[i].key, found[i].together, &t))
            continue;
        const assay_status status = keep(s, point, count, t.axis);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Over the bytes that the cases move. */
static assay_status add_by_bytes(const search *s, sweep_point *point) {
    int32_t count = 0;
    for (int64_t g = 0; g < s->section->count; ++g) {
        const view_group *group = &s->section->group[g];
        const double bytes = group->row->row->bytes;
        bool known = false;
        for (int32_t i = 0; i < count; ++i)
            known |= point[i].size == bytes;
        if (belongs(s, group) && bytes > 0 && !known)
            point[count++] = (sweep_point){bytes, group};
    }
    if (count < SWEEP_LEAST)
        return ASSAY_OK;
    const assay_status status = keep(s, point, count, "bytes read and written");
    if (status == ASSAY_OK)
        s->found->item[s->found->count - 1].by_bytes = true;
    return status;
}

static assay_status search_section(search *s, sweep_point *point) {
    const size_t room = (size_t)s->section->count * SWEEP_KEYS * 2;
    candidate *found = malloc(room * sizeof *found);
    if (found == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to look for curves");
    const int32_t n = find_candidates(s, found, point);
    const assay_status status = n > 0 ? add_curves(s, found, n, point) : add_by_bytes(s, point);
    free(found);
    return status;
}

assay_status sweeps_init(sweeps *found, const view *v) {
    const size_t room = (size_t)v->n_groups + 1;
    sweep_point *point = malloc(room * sizeof *point);
    bool *covered = malloc(room * sizeof *covered);
    assay_status status = ASSAY_OK;
    *found = (sweeps){0};
    if (point == NULL || covered == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory to look for curves");
    for (int64_t i = 0; i < v->n_sections && status == ASSAY_OK; ++i) {
        for (int stage = BENCH_FORWARD; stage <= BENCH_BOTH && status == ASSAY_OK; ++stage) {
            search s = {found, v, &v->section[i], (bench_stage)stage, covered};
            memset(covered, 0, room * sizeof *covered);
            status = search_section(&s, point);
        }
    }
    free(point);
    free(covered);
    if (status != ASSAY_OK)
        sweeps_clear(found);
    return status;
}
