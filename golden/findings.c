#include "golden/findings.h"
#include "golden/state.h"

#include <stdio.h>

static assay_status put_texts(tensor_writer *w, const char *group, const assay_finding_record *r) {
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
        status = writer_put_text(w, group, texts[i].name, texts[i].text);
    return status;
}

/* Oracles' numbers keep all their digits. */
static assay_status put_reference(tensor_writer *w, const char *number, const assay_signature *sig,
                                  const assay_reference *ref) {
    const struct {
        const char *name;
        const assay_tensor_spec *specs;
        const assay_arrays *arrays;
    } groups[] = {{"want_out", sig->out, &ref->want.out},
                  {"want_grad", sig->in, &ref->want.grad},
                  {"bound_out", sig->out, &ref->out_bound.element},
                  {"bound_grad", sig->in, &ref->grad_bound.element}};
    char name[WRITER_NAME];
    assay_status status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < sizeof groups / sizeof *groups; ++i) {
        snprintf(name, sizeof name, "%s/%s", number, groups[i].name);
        status = writer_put_arrays(w, name, groups[i].specs, groups[i].arrays, true);
    }
    return status;
}

assay_status assay_findings_add(tensor_writer *w, int32_t number, const assay_finding_record *r) {
    char name[16], prefix[STATE_PREFIX];
    state_finding_name(number, name);
    snprintf(prefix, sizeof prefix, "%s/", name);
    assay_status status = put_texts(w, name, r);
    if (status == ASSAY_OK)
        status = state_put(w, prefix, r->problem, r->got);
    if (status == ASSAY_OK && r->reference)
        status = put_reference(w, name, &r->problem->sig, r->reference);
    return status;
}
