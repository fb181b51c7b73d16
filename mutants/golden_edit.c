#include "mutants/golden_edit.h"

#include "engine/golden.h"
#include "golden/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *golden_edit_name(golden_edit edit) {
    static const char *const names[GOLDEN_EDITS] = {"ulp", "element", "row", "swap"};
    return names[edit];
}

/* ---- the edits: each undoes itself when it is made a second time, or gives back the old value */

typedef struct change {
    golden_record *record;
    golden_entry *entry, *other; /* other: the one that it is swapped with */
    int64_t first, count;        /* elements that change */
    double *before;
} change;

static int64_t largest_element(const double *data, int64_t size) {
    int64_t largest = 0;
    for (int64_t e = 1; e < size; ++e)
        if (fabs(data[e]) > fabs(data[largest]))
            largest = e;
    return largest;
}

static bool same_numbers(const golden_entry *a, const golden_entry *b) {
    return memcmp(*a->data, *b->data, (size_t)*a->size * sizeof **a->data) == 0;
}

static golden_entry *find_partner(golden_record *r, const golden_entry *entry) {
    for (int32_t i = 0; i < r->n_entries; ++i) {
        golden_entry *other = &r->entry[i];
        if (other > entry && other->group == entry->group && *other->data &&
            *other->size == *entry->size && !same_numbers(other, entry))
            return other;
    }
    return NULL;
}

static void swap(golden_entry *a, golden_entry *b) {
    double *data = *a->data;
    *a->data = *b->data;
    *b->data = data;
}

static double changed(golden_edit edit, double x) {
    switch (edit) {
    case GOLDEN_ULP:
        return nextafter(x, INFINITY);
    case GOLDEN_ELEMENT:
        return x == 0 ? 1 : x * 1.03;
    case GOLDEN_ROW:
    case GOLDEN_SWAP:
        break;
    }
    return 0;
}

/* Which elements the edit is of. */
static void aim(change *c, golden_edit edit) {
    const assay_tensor_spec *spec = c->entry->spec;
    const int64_t size = *c->entry->size;
    const int64_t row = spec->rank > 0 ? spec->shape[spec->rank - 1] : 1;
    c->first = edit == GOLDEN_ULP       ? size / 2
               : edit == GOLDEN_ELEMENT ? largest_element(*c->entry->data, size)
                                        : size - row;
    c->count = edit == GOLDEN_ROW ? row : 1;
}

/* False: there is nothing to change, or it would change nothing. */
static bool make(change *c, golden_edit edit) {
    if (edit == GOLDEN_SWAP) {
        c->other = find_partner(c->record, c->entry);
        if (c->other)
            swap(c->entry, c->other);
        return c->other != NULL;
    }
    if (*c->entry->size == 0)
        return false;
    aim(c, edit);
    double *data = *c->entry->data + c->first;
    bool differs = false;
    for (int64_t e = 0; e < c->count; ++e) {
        c->before[e] = data[e];
        data[e] = changed(edit, data[e]);
        differs = differs || data[e] != c->before[e];
    }
    return differs;
}

static void undo(change *c, golden_edit edit) {
    if (edit == GOLDEN_SWAP && c->other)
        swap(c->entry, c->other);
    for (int64_t e = 0; edit != GOLDEN_SWAP && e < c->count; ++e)
        (*c->entry->data)[c->first + e] = c->before[e];
}

/* ---- the file ---- */

typedef struct edit_run {
    const assay_op *op;
    char path[512];       /* the changed file */
    golden_file original; /* open */
    golden_score *score;
    golden_edit_visitor visit;
    void *context;
} edit_run;

static assay_status write_case(const edit_run *d, golden_record *record) {
    golden_file file;
    assay_status status = golden_file_create(&file, d->path);
    if (status != ASSAY_OK)
        return status;
    status = golden_save(&file, record);
    const assay_status closed = golden_file_close(&file);
    return status == ASSAY_OK ? closed : status;
}

static void note_line(const golden_line *line, void *context) {
    if (line->verdict == ASSAY_FAIL)
        *(bool *)context = true;
}

/* Reads it as any reader does. */
static assay_status check(const edit_run *d, const golden_record *record, bool *refused,
                          bool *wrong) {
    golden_check check;
    *refused = *wrong = false;
    assay_status status =
        golden_check_init(&check, d->path, &record->golden.problem.c, NULL, NULL, 0);
    if (status == ASSAY_ERR_FILE) {
        *refused = true;
        return ASSAY_OK;
    }
    if (status != ASSAY_OK)
        return status;
    status = golden_check_oracle(&check, note_line, wrong);
    golden_check_clear(&check);
    return status;
}

static assay_status try_edit(const edit_run *d, golden_record *record, golden_entry *entry,
                             double *before, golden_edit edit) {
    change c = {.record = record, .entry = entry, .before = before};
    golden_score *score = &d->score[edit];
    bool refused = false, wrong = false;
    if (!make(&c, edit)) {
        undo(&c, edit);
        return ASSAY_OK;
    }
    assay_status status = write_case(d, record);
    if (status == ASSAY_OK)
        status = check(d, record, &refused, &wrong);
    undo(&c, edit);
    if (status != ASSAY_OK)
        return status;
    ++score->made;
    score->refused += refused;
    score->wrong += wrong;
    score->within += !refused && !wrong;
    if (!refused && !wrong && entry->group != GOLDEN_IN)
        d->visit(record->text, entry->name, edit, d->context);
    return ASSAY_OK;
}

static assay_status try_record(const edit_run *d, golden_record *record) {
    int64_t most = 1;
    for (int32_t i = 0; i < record->n_entries; ++i)
        if (*record->entry[i].data && *record->entry[i].size > most)
            most = *record->entry[i].size;
    double *before = calloc((size_t)most, sizeof *before);
    if (!before)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the edits of a golden file");
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < record->n_entries; ++i)
        for (int edit = 0; edit < GOLDEN_EDITS && status == ASSAY_OK; ++edit)
            if (*record->entry[i].data)
                status = try_edit(d, record, &record->entry[i], before, (golden_edit)edit);
    free(before);
    return status;
}

static assay_status try_case(const char *text, const char *source, bool foreign, void *context) {
    const edit_run *d = context;
    assay_case c;
    golden_record record;
    (void)source;
    (void)foreign;
    assay_status status = assay_case_parse(text, &c);
    if (status == ASSAY_OK)
        status = golden_load(&d->original, &c, &record);
    if (status != ASSAY_OK)
        return status;
    status = try_record(d, &record);
    golden_record_clear(&record);
    return status;
}

assay_status golden_edits_check(const assay_op *op, const char *folder,
                                golden_score score[GOLDEN_EDITS], golden_edit_visitor visit,
                                void *context) {
    char path[4096];
    edit_run d = {.op = op, .score = score, .visit = visit, .context = context};
    snprintf(d.path, sizeof d.path, "%.400s/%.60s.h5", folder, op->name);
    assay_status status = assay_golden_path(op, path, sizeof path);
    if (status == ASSAY_OK)
        status = golden_file_open(&d.original, path);
    if (status != ASSAY_OK)
        return status;
    status = golden_visit(&d.original, try_case, &d);
    (void)golden_file_close(&d.original);
    (void)unlink(d.path);
    return status;
}
