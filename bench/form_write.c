/* Apart from form.c: this end holds the operators' definitions, and so their oracles. */
#include "bench/arms/form.h"

#include <stdio.h>
#include <string.h>

static void fill(form *f, const assay_case *c, const assay_signature *sig) {
    memset(f, 0, sizeof *f); /* no stale byte is shared */
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

assay_status form_write(void *memory, size_t room, const assay_case *c) {
    assay_signature sig;
    form f;
    char *at = memory;
    const assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    const size_t in = (size_t)sig.n_in * sizeof *sig.in, out = (size_t)sig.n_out * sizeof *sig.out;
    const bool fits = room >= sizeof f + in + out;
    if (fits) {
        fill(&f, c, &sig);
        memcpy(at, &f, sizeof f);
        memcpy(at + sizeof f, sig.in, in);
        memcpy(at + sizeof f + in, sig.out, out);
    }
    assay_signature_clear(&sig);
    return fits ? ASSAY_OK
                : assay_fail(ASSAY_ERR_MEMORY, "no room for the case in the arms' memory");
}
