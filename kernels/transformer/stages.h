/*
 * The stages of a call. The workspace of each is an arena; how much that is, the same walk finds
 * out without running.
 *
 * With T tokens of a batch, P parameters, B of them in the largest block or, where they wait for
 * each other, in a layer, e bytes an element of an activation, A = T (9 d + 3 ff) e + 4 T heads
 * bytes of a layer's activations, and C = max(7 d, 3 ff) T e for the backward of its larger branch,
 * the arena has
 *
 *     forward     e P + A + 6 T d e
 *     backward    e P + layers A + 3 T d e + max(2 T vocab e, 4 T d e + C) + e B
 *     training    as much and 8 P; in bf16 and 4 B
 *
 * bytes, 8 to 12 for each token and batch, 4 head_dim for each position, and the workspace of a
 * part.
 */
#ifndef ASSAY_TRANSFORMER_STAGES_H
#define ASSAY_TRANSFORMER_STAGES_H

#include "kernels/transformer/training.h"

/* Outputs: logits, loss. */
static inline void predict(walk *w, const assay_call *call, const assay_tensor *given) {
    const assay_tensor logits = as_matrix(&call->out[0]);
    w->weights = take_flat(w, w->m.dtype);
    load_weights(w, given);
    w->angles = take_angles(w);
    const batches data = take_batches(w, call);
    const store kept = take_store(w, false);
    const last_norm last = take_last_norm(w);
    const assay_tensor lse = take_vector(w, ASSAY_F32, w->m.tokens);
    forward_layers(w, batch_of(w, &data.tokens, 0), &kept, &last);
    linear_forward(w, last.y, weight_of(w, head_block(&w->m)), logits);
    cross_entropy_forward(w, logits, batch_of(w, &data.target, 0), call->out[1], lse);
}

/* The head again, which nothing of forward's is needed for, and back. */
static inline void head_backward(walk *w, assay_tensor dloss, assay_tensor target,
                                 const last_norm *last, assay_tensor dlast) {
    const size_t before = mark(w);
    const assay_tensor logits = take_rows(w, w->m.vocab), dlogits = take_rows(w, w->m.vocab);
    const assay_tensor lse = take_vector(w, ASSAY_F32, w->m.tokens);
    const assay_tensor loss = take_vector(w, ASSAY_F32, 1);
    linear_forward(w, last->y, weight_of(w, head_block(&w->m)), logits);
    cross_entropy_forward(w, logits, target, loss, lse);
    cross_entropy_backward(w, logits, target, loss, lse, dloss, dlogits);
    backward_linear(w, last->y, head_block(&w->m), dlogits, dlast);
    go_back(w, before);
}

/* Inputs behind the parameters: logits and loss, as forward left them, and dloss. */
static inline void differentiate(walk *w, const assay_call *call, const assay_tensor *given) {
    const assay_tensor dloss = given[parameter_count(&w->m) + 2];
    w->gradients = call->out;
    w->weights = take_flat(w, w->m.dtype);
    load_weights(w, given);
    w->angles = take_angles(w);
    const batches data = take_batches(w, call);
    const assay_tensor tokens = batch_of(w, &data.tokens, 0);
    const store kept = take_store(w, true);
    const last_norm last = take_last_norm(w);
    const assay_tensor dlast = take_rows(w, w->m.d);
    forward_layers(w, tokens, &kept, &last);
    head_backward(w, dloss, batch_of(w, &data.target, 0), &last, dlast);
    backward_layers(w, tokens, &kept, &last, dlast);
}

/* Outputs: losses, new parameters. */
static inline void train_call(walk *w, const assay_call *call, const assay_tensor *given) {
    const batches data = take_batches(w, call);
    train(w, given, &data, &call->out[0], call->out + 1);
}

static inline void walk_stage(walk *w, assay_stage stage, const assay_call *call) {
    const assay_tensor *given = call->in + FIRST_PARAMETER;
    if (call->n_out == 0) /* backward of training: nothing is differentiable */
        return;
    if (stage == ASSAY_BACKWARD)
        differentiate(w, call, given);
    else if (w->m.steps > 0)
        train_call(w, call, given);
    else
        predict(w, call, given);
}

static inline walk start_walk(walk_purpose purpose, const composition *parts,
                              const assay_call *call) {
    walk w = {};
    w.purpose = purpose;
    w.parts = parts;
    w.memory.bytes = SIZE_MAX;
    w.m = model_of(call);
    w.status = ASSAY_OK;
    return w;
}

static inline size_t planned_bytes(const composition *parts, assay_stage stage,
                                   const assay_call *call) {
    walk w = start_walk(MEASURE, parts, call);
    walk_stage(&w, stage, call);
    return w.memory.most;
}

static inline assay_status too_little_memory(const composition *parts, assay_stage stage,
                                             const assay_call *call) {
    return assay_fail(ASSAY_ERR_MEMORY,
                      "transformer/%s: %s needs %zu bytes of workspace, %zu are available",
                      parts->name, assay_stage_name(stage), planned_bytes(parts, stage, call),
                      call->workspace_bytes);
}

static inline assay_status run_stage(const composition *parts, assay_stage stage,
                                     const assay_call *call) {
    walk w = start_walk(RUN, parts, call);
    w.memory.memory = static_cast<unsigned char *>(call->workspace);
    w.memory.bytes = call->workspace_bytes;
    w.stream = call->stream;
    walk_stage(&w, stage, call);
    return arena_exhausted(&w.memory) ? too_little_memory(parts, stage, call) : w.status;
}

/* ---- the members of a variant, for one composition ---- */

template <const composition &PARTS>
static assay_status supports(assay_stage stage, const assay_call *call) {
    walk w = start_walk(ASK, &PARTS, call);
    walk_stage(&w, stage, call);
    return w.status;
}

template <const composition &PARTS>
static size_t workspace(assay_stage stage, const assay_call *call) {
    return planned_bytes(&PARTS, stage, call);
}

template <const composition &PARTS> static assay_status forward(const assay_call *call) {
    return run_stage(&PARTS, ASSAY_FORWARD, call);
}

template <const composition &PARTS> static assay_status backward(const assay_call *call) {
    return run_stage(&PARTS, ASSAY_BACKWARD, call);
}

#endif
