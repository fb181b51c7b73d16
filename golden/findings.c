#include "golden/findings.h"
#include "core/replace.h"
#include "golden/attribute.h"
#include "golden/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assay_findings_file {
    char *path;
    replacement temporary;
    golden_file file;
    int32_t count;
};

static assay_status unwritten(const assay_findings_file *f) {
    return assay_fail(ASSAY_ERR_FILE, "%s: cannot write finding %d; is the disk full?", f->path,
                      (int)f->count);
}

assay_status assay_findings_begin(assay_findings_file **file, const char *path) {
    *file = NULL;
    assay_findings_file *f = calloc(1, sizeof *f);
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", path);
    }
    assay_status status = replacement_begin(&f->temporary, f->path);
    if (status == ASSAY_OK)
        status = golden_file_create(&f->file, f->temporary.path);
    if (status == ASSAY_OK) {
        *file = f;
        return ASSAY_OK;
    }
    replacement_clear(&f->temporary);
    free(f->path);
    free(f);
    return status;
}

/* ---- one finding ---- */

static assay_status write_texts(const assay_findings_file *f, hid_t group,
                                const assay_finding_record *r) {
    char text[ASSAY_CASE_TEXT];
    const struct {
        const char *name, *text;
    } texts[] = {{"case", assay_case_format(&r->problem->c, text)},
                 {"variant", r->variant},
                 {"device", r->device},
                 {"kind", r->kind},
                 {"relation", r->relation},
                 {"tensor", r->tensor},
                 {"reason", r->reason},
                 {"found", r->found}};
    assay_status status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < sizeof texts / sizeof *texts; ++i)
        status = golden_put_text(&f->file, group, texts[i].name, texts[i].text);
    return status;
}

/* Oracles' numbers keep all their digits. */
static assay_status write_as_f64(const assay_findings_file *f, hid_t group, const char *name,
                                 const assay_tensor_spec *specs, const assay_arrays *arrays) {
    assay_tensor_spec *wide = calloc((size_t)arrays->count + 1, sizeof *wide);
    if (!wide)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %s", f->path);
    for (int32_t i = 0; i < arrays->count; ++i) {
        wide[i] = specs[i];
        wide[i].dtype = ASSAY_F64;
    }
    const assay_status status = state_write_group(&f->file, group, name, wide, arrays);
    free(wide);
    return status;
}

static assay_status write_reference(const assay_findings_file *f, hid_t group,
                                    const assay_signature *sig, const assay_reference *ref) {
    assay_status status = write_as_f64(f, group, "want_out", sig->out, &ref->want.out);
    if (status == ASSAY_OK)
        status = write_as_f64(f, group, "want_grad", sig->in, &ref->want.grad);
    if (status == ASSAY_OK)
        status = write_as_f64(f, group, "bound_out", sig->out, &ref->out_bound.element);
    if (status == ASSAY_OK)
        status = write_as_f64(f, group, "bound_grad", sig->in, &ref->grad_bound.element);
    return status;
}

static assay_status write_record(const assay_findings_file *f, hid_t group,
                                 const assay_finding_record *r) {
    const assay_problem *p = r->problem;
    assay_status status = write_texts(f, group, r);
    if (status == ASSAY_OK)
        status = state_write_group(&f->file, group, "in", p->sig.in, &p->in);
    if (status == ASSAY_OK)
        status = state_write_group(&f->file, group, "cot", p->sig.out, &p->cot);
    if (status == ASSAY_OK && r->got)
        status = state_write_group(&f->file, group, "out", p->sig.out, &r->got->out);
    if (status == ASSAY_OK && r->got)
        status = state_write_group(&f->file, group, "grad", p->sig.in, &r->got->grad);
    if (status == ASSAY_OK && r->reference)
        status = write_reference(f, group, &p->sig, r->reference);
    return status;
}

assay_status assay_findings_add(assay_findings_file *f, const assay_finding_record *record) {
    char name[16];
    snprintf(name, sizeof name, "%04d", (int)++f->count);
    const hid_t creation = golden_untimed(H5P_GROUP_CREATE);
    const hid_t group = H5Gcreate2(f->file.id, name, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    if (group < 0)
        return unwritten(f);
    assay_status status = write_record(f, group, record);
    if (H5Gclose(group) < 0 && status == ASSAY_OK)
        status = unwritten(f);
    return status;
}

/* ---- its end ---- */

void assay_findings_discard(assay_findings_file *f) {
    if (!f)
        return;
    if (golden_file_close(&f->file) != ASSAY_OK)
        f->count = 0; /* it goes anyway */
    replacement_clear(&f->temporary);
    free(f->path);
    free(f);
}

assay_status assay_findings_commit(assay_findings_file *f) {
    assay_status status = golden_file_close(&f->file);
    if (status == ASSAY_OK)
        status = replacement_commit(&f->temporary);
    assay_findings_discard(f);
    return status;
}
