/* Tokens and targets of all batches, without the padding that rows of a call may have. */
#ifndef ASSAY_TRANSFORMER_BATCHES_H
#define ASSAY_TRANSFORMER_BATCHES_H

#include "kernels/transformer/elementwise.h"

typedef struct batches {
    assay_tensor tokens, target; /* [batches b, t] */
} batches;

static inline assay_tensor take_packed(walk *w, const assay_tensor *from) {
    const int64_t rows = assay_tensor_rows(from), columns = assay_tensor_row_length(from);
    const assay_tensor to = matrix_at(take(w, rows * columns, ASSAY_I32), ASSAY_I32, rows, columns);
    copy(w, as_matrix(from), to);
    return to;
}

static inline batches take_batches(walk *w, const assay_call *call) {
    const assay_tensor tokens = take_packed(w, &call->in[TOKENS]);
    return {tokens, take_packed(w, &call->in[TARGET])};
}

/* [tokens] of one batch. */
static inline assay_tensor batch_of(const walk *w, const assay_tensor *all, int64_t batch) {
    int32_t *data = static_cast<int32_t *>(all->data);
    return vector_at(data != NULL ? data + batch * w->m.tokens : NULL, ASSAY_I32, w->m.tokens);
}

#endif
