/*
 * Training: N steps of AdamW from the parameters of the call. Parameters, their moments and their
 * gradients are flat fp32 buffers, so that a step's update is one call, in place
 * (kernels/adamw/update.h). bf16 computes with a rounded copy of the parameters, made again before
 * each step.
 */
#ifndef ASSAY_TRANSFORMER_TRAINING_H
#define ASSAY_TRANSFORMER_TRAINING_H

#include "kernels/transformer/backward.h"
#include "kernels/transformer/batches.h"

typedef struct moving {
    parameters p, m, v;
} moving;

static inline moving take_moving(walk *w) {
    const parameters p = take_parameters(w, ASSAY_F32), m = take_parameters(w, ASSAY_F32);
    return {p, m, take_parameters(w, ASSAY_F32)};
}

static inline optimiser_state state_of(const walk *w, const moving *s) {
    return {as_vector(w, &s->p), as_vector(w, &s->m), as_vector(w, &s->v)};
}

static inline void copy_parameters(walk *w, const parameters *from, const parameters *to) {
    for (int64_t p = 0; p < parameter_count(&w->m); ++p)
        copy(w, parameter_of(&w->m, from, p), parameter_of(&w->m, to, p));
}

/* A fresh optimiser. The gaps between gradients are 0 from here on, and so are all others. */
static inline void start_training(walk *w, const parameters *given, const moving *s) {
    clear(w, as_vector(w, &s->p));
    clear(w, as_vector(w, &s->m));
    clear(w, as_vector(w, &s->v));
    clear(w, as_vector(w, &w->gradients));
    copy_parameters(w, given, &s->p);
}

/* The head: its loss, its own gradient, and that of the last norm's result. */
static inline void head_both(walk *w, assay_tensor target, const last_norm *last, assay_tensor loss,
                             assay_tensor dlast) {
    const size_t before = mark(w);
    const assay_tensor logits = take_rows(w, w->m.vocab), dlogits = take_rows(w, w->m.vocab);
    const assay_tensor lse = take_vector(w, ASSAY_F32, w->m.tokens);
    linear_forward(w, last->y, weight_of(w, head_weight(&w->m)), logits);
    cross_entropy_both(w, logits, target, loss, lse, dlogits);
    backward_linear(w, last->y, head_weight(&w->m), dlogits, dlast);
    go_back(w, before);
}

/* The gradients of one batch. */
static inline void gradients_of_batch(walk *w, assay_tensor tokens, assay_tensor target,
                                      assay_tensor loss) {
    const size_t before = mark(w);
    const store kept = take_store(w, true);
    const last_norm last = take_last_norm(w);
    const assay_tensor dlast = take_rows(w, w->m.d);
    forward_layers(w, tokens, &kept, &last);
    head_both(w, target, &last, loss, dlast);
    backward_layers(w, tokens, &kept, &last, dlast);
    go_back(w, before);
}

/* Element `at` of a vector, as a vector of one. */
static inline assay_tensor element_of(const assay_tensor *t, int64_t at) {
    float *data = static_cast<float *>(t->data);
    return vector_at(data != NULL ? data + at : NULL, t->dtype, 1);
}

/* losses [steps], then the new parameters. All steps need the same memory: to measure, and to ask,
 * one is enough. */
static inline void train(walk *w, const parameters *given, const batches *data,
                         const assay_tensor *losses, const parameters *results) {
    const moving now = take_moving(w);
    w->gradients = take_parameters(w, ASSAY_F32);
    if (w->m.dtype != ASSAY_F32)
        w->weights = take_parameters(w, w->m.dtype);
    start_training(w, given, &now);
    const int64_t steps = w->purpose == RUN ? w->m.steps : 1;
    for (int64_t step = 0; step < steps; ++step) {
        if (w->m.dtype == ASSAY_F32)
            w->weights = now.p;
        else
            copy(w, as_vector(w, &now.p), as_vector(w, &w->weights));
        const int64_t batch = step % w->m.batches;
        gradients_of_batch(w, batch_of(w, &data->tokens, batch), batch_of(w, &data->target, batch),
                           element_of(losses, step));
        adamw_step(w, step + 1, as_vector(w, &w->gradients), state_of(w, &now));
    }
    copy_parameters(w, &now.p, results);
}

#endif
