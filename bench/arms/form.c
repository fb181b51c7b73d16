#include "bench/arms/form.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 512 };

void form_clear(form *f) {
    assay_signature_clear(&f->sig);
    *f = (form){0};
}

/* The tensors' specs follow the form itself. */
static bool receive(FILE *from, form *f) {
    assay_signature sig;
    if (fread(f, sizeof *f, 1, from) != 1)
        return false;
    for (int32_t i = 0; i < f->params.count; ++i)
        f->params.item[i].name = f->key[i];
    const int32_t n_in = f->sig.n_in, n_out = f->sig.n_out;
    f->sig = (assay_signature){0}; /* its pointers are the sender's */
    if (assay_signature_init(&sig, n_in, n_out) != ASSAY_OK)
        return false;
    f->sig = sig;
    return fread(sig.in, sizeof *sig.in, (size_t)n_in, from) == (size_t)n_in &&
           fread(sig.out, sizeof *sig.out, (size_t)n_out, from) == (size_t)n_out;
}

assay_status form_read(FILE *from, form *f) {
    assay_status status;
    char line[LINE] = "";
    *f = (form){0};
    if (fread(&status, sizeof status, 1, from) != 1)
        return assay_fail(ASSAY_ERR_FILE, "assay_arm_case, which reads cases, gave no answer");
    if (status != ASSAY_OK) {
        const size_t n = fread(line, 1, sizeof line - 1, from);
        line[n] = '\0';
        return assay_fail(status, "%s", line);
    }
    if (receive(from, f))
        return ASSAY_OK;
    form_clear(f);
    return assay_fail(ASSAY_ERR_FILE, "assay_arm_case, which reads cases, ended too early");
}
