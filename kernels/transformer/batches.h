/* Tokens and targets of all batches, without the padding that rows of a call may have. */
#ifndef ASSAY_TRANSFORMER_BATCHES_H
#define ASSAY_TRANSFORMER_BATCHES_H

#include "kernels/transformer/copies.h"

typedef struct batches {
    assay_tensor tokens, target; /* (batches·b, t) */
} batches;

static inline batches take_batches(walk *w, const assay_call *call) {
    const assay_tensor tokens = take_packed(w, &call->in[TOKENS]);
    return {tokens, take_packed(w, &call->in[TARGET])};
}

/* (tokens) of one batch. */
static inline assay_tensor batch_of(const walk *w, const assay_tensor *all, int64_t batch) {
    return vector_in(all, batch * w->m.tokens, w->m.tokens);
}

#endif
