#include "bench/arms/form.h"

#include <string.h>

void form_clear(form *f) {
    assay_signature_clear(&f->sig);
    *f = (form){0};
}

/* The tensors' specs follow the form itself. */
assay_status form_read(const void *memory, size_t room, form *f) {
    const char *at = memory;
    assay_signature sig;
    *f = (form){0};
    if (room < sizeof *f)
        return assay_fail(ASSAY_ERR_USAGE, "the shared memory ends before the case does");
    memcpy(f, at, sizeof *f);
    const int32_t n_in = f->sig.n_in, n_out = f->sig.n_out;
    f->sig = (assay_signature){0}; /* its pointers are the sender's */
    if (n_in < 1 || n_out < 1 || f->params.count < 0 || f->params.count > ASSAY_MAX_KEYS ||
        (room - sizeof *f) / sizeof *sig.in < (size_t)n_in + (size_t)n_out)
        return assay_fail(ASSAY_ERR_USAGE, "the shared memory holds no case there");
    for (int32_t i = 0; i < f->params.count; ++i)
        f->params.item[i].name = f->key[i];
    const assay_status status = assay_signature_init(&sig, n_in, n_out);
    if (status != ASSAY_OK)
        return status;
    at += sizeof *f;
    memcpy(sig.in, at, (size_t)n_in * sizeof *sig.in);
    memcpy(sig.out, at + (size_t)n_in * sizeof *sig.in, (size_t)n_out * sizeof *sig.out);
    f->sig = sig;
    return ASSAY_OK;
}
