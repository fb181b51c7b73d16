/*
 * The use of a block's gradients. Those of a layer go into their outputs together, in one launch,
 * or AdamW makes a step with each as soon as it is computed, while it may still be in cache. The
 * block's weights are no longer needed then.
 */
#ifndef ASSAY_TRANSFORMER_GRADIENTS_H
#define ASSAY_TRANSFORMER_GRADIENTS_H

#include "kernels/transformer/copies.h"
#include "kernels/transformer/operators.h"

/* Parameters on their way from `given` to `results`, where they are from the first step on. */
typedef struct training {
    const assay_tensor *given, *results;
    assay_tensor m, v; /* flat, fp32; of no value before the first step */
    int64_t step;      /* from 0 on */
} training;

/* Room for a layer's gradients, which lie as its parameters do in a flat buffer. */
typedef struct layer_gradients {
    void *room;
    int64_t first; /* block */
    copies list;
} layer_gradients;

static inline layer_gradients take_layer_gradients(walk *w, int64_t layer) {
    layer_gradients all = {};
    all.room = take(w, layer_length(&w->m), w->m.dtype);
    all.first = block_in(layer, FIRST_NORM);
    return all;
}

static inline void add_gradient(const walk *w, copies *list, const block *b,
                                const assay_tensor *made) {
    for (int64_t i = 0; i < b->count; ++i)
        add_copy(list, part_of(made, i, b->count), w->gradients[b->first + i * b->step]);
}

static inline void give_gradient(walk *w, const block *b, const assay_tensor *made) {
    copies list = {};
    add_gradient(w, &list, b, made);
    copy_all(w, &list);
}

static inline bool is_dense(const assay_tensor *t) {
    return assay_tensor_row_stride(t) == assay_tensor_row_length(t);
}

static inline assay_tensor as_vector(const assay_tensor *t) {
    return vector_at(t->data, t->dtype, assay_tensor_count(t));
}

/* adamw knows no rows: where they are padded, it works on a copy without. */
static inline void update_parameter(walk *w, int64_t p, assay_tensor g, assay_tensor m,
                                    assay_tensor v) {
    const training *now = w->training;
    const size_t before = mark(w);
    const assay_tensor *to = &now->results[p], *from = now->step == 0 ? &now->given[p] : to;
    const bool direct = is_dense(from) && is_dense(to);
    const assay_tensor result = direct ? *to : take_packed(w, from);
    adamw_step(w, now->step + 1, as_vector(direct ? from : &result), g, {as_vector(&result), m, v});
    if (!direct)
        copy(w, result, *to);
    go_back(w, before);
}

/* A step with a block's gradient g, in fp32. */
static inline void update_block(walk *w, int64_t number, const block *b, const assay_tensor *g) {
    const assay_tensor m = block_in_flat(&w->m, &w->training->m, number);
    const assay_tensor v = block_in_flat(&w->m, &w->training->v, number);
    const int64_t n = part_length(b);
    for (int64_t i = 0; i < b->count; ++i)
        update_parameter(w, b->first + i * b->step, vector_in(g, i * n, n), vector_in(&m, i * n, n),
                         vector_in(&v, i * n, n));
}

static inline assay_tensor take_wide_gradient(walk *w, const block *b) {
    return block_at(take(w, b->count * part_length(b), ASSAY_F32), ASSAY_F32, b);
}

static inline void step_with(walk *w, int64_t number, const block *b, const assay_tensor *made) {
    const size_t before = mark(w);
    assay_tensor g = *made;
    if (made->dtype != ASSAY_F32) {
        g = take_wide_gradient(w, b);
        copy(w, *made, g);
    }
    update_block(w, number, b, &g);
    go_back(w, before);
}

/* Where a block's gradient is wanted in fp32: in the call's outputs, or for a step. */
static inline grad_parts wanted_gradient(walk *w, const block *b) {
    grad_parts to = {};
    if (w->training != NULL) {
        to.part[to.count++] = take_wide_gradient(w, b);
        return to;
    }
    for (; to.count < b->count; ++to.count)
        to.part[to.count] = w->gradients[b->first + to.count * b->step];
    return to;
}

/* Room for a block's gradient, in the dtype that the operators make it in. */
static inline assay_tensor gradient_room(walk *w, int64_t number) {
    const block b = block_of(&w->m, number);
    if (w->layer == NULL)
        return block_at(take(w, b.count * part_length(&b), w->m.dtype), w->m.dtype, &b);
    const int64_t before = block_offset(&w->m, number) - block_offset(&w->m, w->layer->first);
    const assay_tensor all = vector_at(w->layer->room, w->m.dtype, layer_length(&w->m));
    return block_at(address_in(&all, before), w->m.dtype, &b);
}

static inline void deliver_gradient(walk *w, int64_t number, assay_tensor made) {
    const block b = block_of(&w->m, number);
    if (w->training != NULL)
        step_with(w, number, &b, &made);
    else if (w->layer != NULL)
        add_gradient(w, &w->layer->list, &b, &made);
    else
        give_gradient(w, &b, &made);
}

#endif
