/* Apart from form.c: this end holds the operators' definitions, and so their oracles. */
#include "bench/arms/form.h"

#include <stdio.h>
#include <string.h>

static void fill(form *f, const assay_case *c, const assay_signature *sig) {
    memset(f, 0, sizeof *f); /* no stale byte goes through the pipe */
    f->params = c->params;
    f->pad = c->pad;
    f->misalign = c->misalign;
    f->schedule = c->schedule;
    f->seed = c->seed;
    f->gradients = c->op->backward && assay_signature_has_gradients(sig);
    f->own_forward = c->op->own_forward;
    f->sig = *sig;
    snprintf(f->op, sizeof f->op, "%s", c->op->name);
    for (int32_t i = 0; i < c->params.count; ++i)
        snprintf(f->key[i], sizeof f->key[i], "%s", c->params.item[i].name);
}

static bool send(FILE *to, const form *f) {
    const assay_signature *sig = &f->sig;
    return fwrite(f, sizeof *f, 1, to) == 1 &&
           fwrite(sig->in, sizeof *sig->in, (size_t)sig->n_in, to) == (size_t)sig->n_in &&
           fwrite(sig->out, sizeof *sig->out, (size_t)sig->n_out, to) == (size_t)sig->n_out;
}

assay_status form_write(FILE *to, const char *case_text) {
    assay_case c;
    assay_signature sig = {0};
    form f;
    assay_status status = assay_case_parse(case_text, &c);
    if (status == ASSAY_OK)
        status = c.op->signature(&c.params, &sig);
    bool sent = fwrite(&status, sizeof status, 1, to) == 1;
    if (status != ASSAY_OK) {
        sent = sent && fputs(assay_error(), to) >= 0;
    } else {
        fill(&f, &c, &sig);
        sent = sent && send(to, &f);
        assay_signature_clear(&sig);
    }
    return sent && fflush(to) == 0
               ? ASSAY_OK
               : assay_fail(ASSAY_ERR_FILE, "the program that reads the case's form has ended");
}
