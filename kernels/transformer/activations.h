/*
 * The tensors of a layer that its backward needs again. A store has room for every layer, or for
 * one, whose tensors the next layer overwrites.
 *
 * Bytes of a layer, with e bytes an element: tokens (9 d + 3 ff) e, and tokens heads 4 for lse;
 * each tensor rounded up to 256.
 */
#ifndef ASSAY_TRANSFORMER_ACTIVATIONS_H
#define ASSAY_TRANSFORMER_ACTIVATIONS_H

#include "kernels/transformer/walk.h"

typedef struct activations {
    assay_tensor x, first; /* the residual stream as it enters, normalised */
    assay_tensor rotated;  /* q and k by heads, one behind the other */
    assay_tensor v;        /* by heads */
    assay_tensor o, lse, merged;
    assay_tensor middle, second; /* the stream behind attention, normalised */
    assay_tensor gates, gated;   /* swiglu's a and b beside each other; its y */
} activations;

static inline activations take_activations(walk *w) {
    const model *m = &w->m;
    const int64_t rows_of_scores[] = {m->b, m->heads, m->t};
    activations s = {};
    s.x = take_rows(w, m->d);
    s.first = take_rows(w, m->d);
    s.rotated = take_heads(w, 2);
    s.v = take_heads(w, 1);
    s.o = take_heads(w, 1);
    s.lse = dense_at(take(w, m->tokens * m->heads, ASSAY_F32), ASSAY_F32, 3, rows_of_scores);
    s.merged = take_rows(w, m->d);
    s.middle = take_rows(w, m->d);
    s.second = take_rows(w, m->d);
    s.gates = take_rows(w, 2 * m->ff);
    s.gated = take_rows(w, m->ff);
    return s;
}

typedef struct store {
    size_t first, size; /* in the arena: where it begins, bytes of a layer */
    bool all;           /* whether every layer has its own */
} store;

static inline store take_store(walk *w, bool all) {
    store s = {};
    s.first = mark(w);
    s.all = all;
    (void)take_activations(w);
    s.size = mark(w) - s.first;
    for (int64_t layer = 1; all && layer < w->m.layers; ++layer)
        (void)take_activations(w);
    return s;
}

static inline activations activations_of(walk *w, const store *s, int64_t layer) {
    const size_t now = mark(w);
    go_back(w, s->first + (s->all ? (size_t)layer * s->size : 0));
    const activations found = take_activations(w);
    go_back(w, now);
    return found;
}

#endif
