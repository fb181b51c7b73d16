#include "golden/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *golden_group_name(golden_group group) {
    static const char *const names[GOLDEN_GROUPS] = {"bound", "grad", "in", "out"};
    return names[group];
}

assay_case golden_stored_case(const assay_case *c) {
    assay_case stored = *c;
    stored.pad = 0;
    stored.misalign = 0;
    stored.schedule = ASSAY_SCHEDULE_IN_ORDER;
    if (stored.fill == ASSAY_FILL_GOLDEN)
        stored.params.math = ASSAY_STRICT;
    return stored;
}

/* ---- entries ---- */

static void add_entry(golden_record *r, golden_group group, const char *prefix,
                      const assay_tensor_spec *spec, assay_arrays *arrays, int32_t i) {
    golden_entry *e = &r->entry[r->n_entries++];
    *e = (golden_entry){
        .group = group, .spec = spec, .data = &arrays->data[i], .size = &arrays->size[i]};
    snprintf(e->name, sizeof e->name, "%s%s", prefix, spec->name);
}

static int by_place(const void *a, const void *b) {
    const golden_entry *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return strcmp(x->name, y->name);
}

static assay_status list_entries(golden_record *r) {
    assay_problem *p = &r->golden.problem;
    const assay_signature *sig = &p->sig;
    r->entry = calloc(3 * ((size_t)sig->n_in + (size_t)sig->n_out), sizeof *r->entry);
    if (r->entry == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the tensors of %s", r->text);
    for (int32_t i = 0; i < sig->n_in; ++i) {
        add_entry(r, GOLDEN_IN, "", &sig->in[i], &p->in, i);
        if (!sig->in[i].differentiable)
            continue;
        add_entry(r, GOLDEN_GRAD, "d", &sig->in[i], &r->golden.want.grad, i);
        add_entry(r, GOLDEN_BOUND, "d", &sig->in[i], &r->grad_bound, i);
    }
    for (int32_t o = 0; o < sig->n_out; ++o) {
        add_entry(r, GOLDEN_OUT, "", &sig->out[o], &r->golden.want.out, o);
        add_entry(r, GOLDEN_BOUND, "", &sig->out[o], &r->out_bound, o);
        if (sig->out[o].differentiable)
            add_entry(r, GOLDEN_IN, "d", &sig->out[o], &p->cot, o);
    }
    qsort(r->entry, (size_t)r->n_entries, sizeof *r->entry, by_place);
    return ASSAY_OK;
}

assay_status golden_entry_add(golden_entry *entry) {
    assay_arrays one = {.count = 1, .size = entry->size, .data = entry->data};
    return assay_arrays_add(&one, 0, assay_spec_count(entry->spec));
}

/* ---- records ---- */

assay_status golden_record_init(golden_record *record, const assay_case *c) {
    *record = (golden_record){0};
    assay_problem *p = &record->golden.problem;
    p->c = *c;
    assay_case_format(c, record->text);
    assay_status status = c->op->signature(&c->params, &p->sig);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&p->in, p->sig.n_in);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&p->cot, p->sig.n_out);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&record->golden.want.out, p->sig.n_out);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&record->golden.want.grad, p->sig.n_in);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&record->out_bound, p->sig.n_out);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&record->grad_bound, p->sig.n_in);
    if (status == ASSAY_OK)
        status = list_entries(record);
    if (status != ASSAY_OK)
        golden_record_clear(record);
    return status;
}

void golden_record_clear(golden_record *record) {
    free(record->entry);
    assay_arrays_clear(&record->out_bound);
    assay_arrays_clear(&record->grad_bound);
    assay_golden_clear(&record->golden);
    *record = (golden_record){0};
}
