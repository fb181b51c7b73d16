#include "assay/op.h"

#include <inttypes.h>
#include <stdlib.h>

/* Saturates: the dimensions of a case may be legal one by one and their product too large for any
 * memory, which assay_arrays_add then says. */
int64_t assay_spec_count(const assay_tensor_spec *spec) {
    int64_t count = 1;
    bool overflow = false;
    for (int32_t i = 0; i < spec->rank; ++i) {
        if (spec->shape[i] == 0)
            return 0;
        overflow = overflow || __builtin_mul_overflow(count, spec->shape[i], &count);
    }
    return overflow ? INT64_MAX : count;
}

assay_status assay_signature_init(assay_signature *sig, int32_t n_in, int32_t n_out) {
    const size_t count = (size_t)n_in + (size_t)n_out;
    *sig = (assay_signature){0};
    assay_tensor_spec *specs = calloc(count > 0 ? count : 1, sizeof *specs);
    if (specs == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a signature of %zu tensors", count);
    *sig = (assay_signature){.n_in = n_in, .n_out = n_out, .in = specs, .out = specs + n_in};
    return ASSAY_OK;
}

bool assay_signature_has_gradients(const assay_signature *sig) {
    for (int32_t i = 0; i < sig->n_in; ++i)
        if (sig->in[i].differentiable)
            return true;
    return false;
}

void assay_signature_drop_gradients(assay_signature *sig) {
    for (int32_t i = 0; i < sig->n_in; ++i)
        sig->in[i].differentiable = false;
}

assay_status assay_case_signature(const assay_case *c, assay_signature *sig) {
    const assay_status status = c->op->signature(&c->params, sig);
    if (status == ASSAY_OK && c->forward_only)
        assay_signature_drop_gradients(sig);
    return status;
}

void assay_signature_clear(assay_signature *sig) {
    free(sig->in);
    *sig = (assay_signature){0};
}
