/* What a walk's composition may do inside of products. */
#ifndef ASSAY_TRANSFORMER_FUSE_H
#define ASSAY_TRANSFORMER_FUSE_H

#include "kernels/transformer/walk.h"

/* Parts are asked and measured one by one, which needs no less. */
static inline const fusions *may_fuse(const walk *w) {
    return w->purpose == RUN && w->m.dtype == ASSAY_BF16 ? w->parts->fused : NULL;
}
static inline const fusions *fused_gates(const walk *w) {
    const fusions *f = may_fuse(w);
    return f != NULL && f->rows_fit(w->m.tokens, w->m.ff, w->m.d) ? f : NULL;
}
static inline const fusions *fused_heads(const walk *w) {
    const model *m = &w->m;
    const fusions *f = may_fuse(w);
    return f != NULL && f->heads_fit(m->tokens, m->t, m->d, m->head_dim) ? f : NULL;
}

#endif
