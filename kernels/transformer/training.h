/*
 * Training: N steps of AdamW from the parameters of the call to its results. Each step reads all
 * parameters once, to make the weights that it works with, and updates each as soon as it has its
 * gradient. The first step finds no moments, so nothing is cleared for it.
 */
#ifndef ASSAY_TRANSFORMER_TRAINING_H
#define ASSAY_TRANSFORMER_TRAINING_H

#include "kernels/transformer/backward.h"
#include "kernels/transformer/batches.h"

/* The head: its loss, its own gradient, and that of the last norm's result. */
static inline void head_both(walk *w, assay_tensor target, const last_norm *last, assay_tensor loss,
                             assay_tensor dlast) {
    const size_t before = mark(w);
    const assay_tensor logits = take_rows(w, w->m.vocab), dlogits = take_rows(w, w->m.vocab);
    const assay_tensor lse = take_vector(w, ASSAY_F32, w->m.tokens);
    linear_forward(w, last->y, weight_of(w, head_block(&w->m)), logits);
    cross_entropy_both(w, logits, target, loss, lse, dlogits);
    backward_linear(w, last->y, head_block(&w->m), dlogits, dlast);
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

/* losses (steps), then the new parameters. All steps need the same memory: to measure, and to ask,
 * one is enough. */
static inline void train(walk *w, const assay_tensor *given, const batches *data,
                         const assay_tensor *losses, const assay_tensor *results) {
    const assay_tensor m = take_flat(w, ASSAY_F32);
    training now = {given, results, m, take_flat(w, ASSAY_F32), 0};
    w->weights = take_flat(w, w->m.dtype);
    w->angles = take_angles(w);
    w->training = &now;
    const int64_t steps = w->purpose == RUN ? w->m.steps : 1;
    for (; now.step < steps; ++now.step) {
        const int64_t batch = now.step % w->m.batches;
        load_weights(w, now.step == 0 ? given : results);
        gradients_of_batch(w, batch_of(w, &data->tokens, batch), batch_of(w, &data->target, batch),
                           vector_in(losses, now.step, 1));
    }
    w->training = NULL;
}

#endif
