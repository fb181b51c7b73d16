/*
 * Writing: every case of the old file is read, verified and written again in the order of names, so
 * that a file's bytes depend on its contents and not on its history.
 */
#include "core/replace.h"
#include "golden/contents.h"
#include "golden/manifest.h"
#include "golden/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the new case ---- */

static void view_arrays(assay_arrays *to, const assay_arrays *from) {
    for (int32_t i = 0; i < from->count; ++i) {
        to->data[i] = from->data[i];
        to->size[i] = from->size[i];
    }
}

/* A view of the caller's arrays: only the list of entries is the record's own. */
static assay_status view(golden_record *r, const assay_problem *problem, const assay_results *want,
                         const char *source, bool foreign) {
    const assay_case stored = golden_stored_case(&problem->c);
    const assay_status status = golden_record_init(r, &stored);
    if (status != ASSAY_OK)
        return status;
    view_arrays(&r->golden.problem.in, &problem->in);
    view_arrays(&r->golden.problem.cot, &problem->cot);
    view_arrays(&r->golden.want.out, &want->out);
    view_arrays(&r->golden.want.grad, &want->grad);
    snprintf(r->golden.source, sizeof r->golden.source, "%s", source);
    r->golden.foreign = foreign;
    snprintf(r->library, sizeof r->library, foreign ? "imported" : "assay");
    snprintf(r->version, sizeof r->version, ASSAY_VERSION);
    return ASSAY_OK;
}

static void view_clear(golden_record *r) {
    for (int32_t i = 0; i < r->n_entries; ++i)
        *r->entry[i].data = NULL;
    golden_record_clear(r);
}

/* ---- the file ---- */

typedef struct plan {
    const char *path;
    golden_record *fresh;
    golden_contents contents;
    golden_file old; /* not open when there is none */
} plan;

static assay_status note_case(const char *text, const char *source, bool foreign, void *context) {
    plan *p = context;
    if (foreign && strcmp(text, p->fresh->text) == 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "%s: %s: this golden case comes from another program (%.100s) and "
                          "is not replaced; choose another case",
                          p->path, text, source);
    return golden_contents_add(&p->contents, text);
}

static assay_status survey(plan *p) {
    assay_status status = golden_contents_add(&p->contents, p->fresh->text);
    if (status != ASSAY_OK)
        return status;
    if (access(p->path, F_OK) != 0) /* what cannot be looked at may hold cases */
        return errno == ENOENT ? ASSAY_OK
                               : assay_fail(ASSAY_ERR_FILE, "%s: %s; check its folder", p->path,
                                            strerror(errno));
    status = golden_file_open(&p->old, p->path);
    return status == ASSAY_OK ? golden_visit(&p->old, note_case, p) : status;
}

static assay_status load_text(const golden_file *file, const char *text, golden_record *record) {
    assay_case c;
    const assay_status status = assay_case_parse(text, &c);
    return status == ASSAY_OK ? golden_load(file, &c, record) : status;
}

static assay_status save_item(const plan *p, const golden_file *to, golden_item *item) {
    if (strcmp(item->text, p->fresh->text) == 0) {
        const assay_status status = golden_save(to, p->fresh);
        memcpy(item->seal, p->fresh->seal, sizeof item->seal);
        return status;
    }
    golden_record record;
    assay_status status = load_text(&p->old, item->text, &record);
    if (status != ASSAY_OK)
        return status;
    status = golden_save(to, &record);
    memcpy(item->seal, record.seal, sizeof item->seal);
    golden_record_clear(&record);
    return status;
}

static assay_status save_all(plan *p, const char *path) {
    golden_file to;
    assay_status status = golden_file_create(&to, path);
    if (status != ASSAY_OK)
        return status;
    for (size_t i = 0; status == ASSAY_OK && i < p->contents.count; ++i)
        status = save_item(p, &to, &p->contents.item[i]);
    const assay_status closed = golden_file_close(&to);
    return status == ASSAY_OK ? closed : status;
}

/* The temporary file must give back the values that were meant. */
static assay_status verify_all(const plan *p, const char *path) {
    golden_file file;
    assay_status status = golden_file_open(&file, path);
    if (status != ASSAY_OK)
        return status;
    for (size_t i = 0; status == ASSAY_OK && i < p->contents.count; ++i) {
        const golden_item *item = &p->contents.item[i];
        golden_record record;
        status = load_text(&file, item->text, &record);
        if (status != ASSAY_OK)
            break;
        if (strcmp(record.seal, item->seal) != 0)
            status = golden_damaged(&file, item->text, "read back other than it was written");
        golden_record_clear(&record);
    }
    golden_file_close(&file);
    return status;
}

static assay_status write_plan(plan *p) {
    replacement temporary;
    assay_status status = survey(p);
    if (status != ASSAY_OK)
        return status;
    status = replacement_begin(&temporary, p->path);
    if (status != ASSAY_OK)
        return status;
    status = save_all(p, temporary.path);
    if (status == ASSAY_OK)
        status = verify_all(p, temporary.path);
    if (status == ASSAY_OK)
        status = replacement_commit(&temporary);
    replacement_clear(&temporary);
    return status == ASSAY_OK ? golden_manifest_update(p->path) : status;
}

static assay_status write_record(const char *path, golden_record *fresh) {
    plan p = {.path = path, .fresh = fresh, .old = {.id = H5I_INVALID_HID}};
    const assay_status status = write_plan(&p);
    golden_file_close(&p.old);
    golden_contents_clear(&p.contents);
    view_clear(fresh);
    return status;
}

assay_status assay_golden_write(const char *path, const assay_problem *problem,
                                const assay_reference *reference) {
    golden_record fresh;
    const assay_status status =
        view(&fresh, problem, &reference->want, "assay " ASSAY_VERSION ", its own oracle", false);
    if (status != ASSAY_OK)
        return status;
    view_arrays(&fresh.out_bound, &reference->out_bound.element);
    view_arrays(&fresh.grad_bound, &reference->grad_bound.element);
    return write_record(path, &fresh);
}

assay_status assay_golden_import(const char *path, const assay_problem *problem,
                                 const assay_results *want, const char *source) {
    golden_record fresh;
    const assay_status status = view(&fresh, problem, want, source, true);
    return status == ASSAY_OK ? write_record(path, &fresh) : status;
}
