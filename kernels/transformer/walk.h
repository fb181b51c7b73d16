/*
 * A walk through the model. One code says what is computed; a walk asks every part whether it can
 * do its share, or measures the workspace, or runs. The first failure stays, and all that follows
 * it does nothing, so that a composition reads as a list of steps.
 */
#ifndef ASSAY_TRANSFORMER_WALK_H
#define ASSAY_TRANSFORMER_WALK_H

#include "kernels/common/variants.h"
#include "kernels/transformer/arena.h"
#include "kernels/transformer/composition.h"
#include "kernels/transformer/parameters.h"

typedef enum walk_purpose { ASK, MEASURE, RUN } walk_purpose;

typedef struct walk {
    walk_purpose purpose;
    const composition *parts;
    model m;
    assay_tensor weights; /* flat, as the operators read them: in the dtype of activations */
    assay_tensor angles;  /* of rope: heads.h */
    const assay_tensor *parameters; /* that weights are made of: weights.h */
    bool ahead;                     /* products copy them, a layer behind theirs, … */
    bool spare;                     /* … or by spare blocks, … */
    int64_t next, done;             /* … from this block on, of which so many pieces are copied */
    const assay_tensor *gradients;  /* where backward leaves each parameter's, fp32 … */
    const struct training *training; /* … or what is done with them instead */
    struct layer_gradients *layer;   /* those of the layer at work, if they wait for each other */
    arena memory;
    void *stream;
    assay_status status;
} walk;

/* Whether work may be enqueued now: not without the memory that it needs. */
static inline bool runs(const walk *w) {
    return w->purpose == RUN && w->status == ASSAY_OK && !arena_exhausted(&w->memory);
}

/* ---- memory ---- */

static inline size_t mark(const walk *w) {
    return w->memory.used;
}
static inline void go_back(walk *w, size_t to) {
    w->memory.used = to;
}

static inline void *take(walk *w, int64_t count, assay_dtype dtype) {
    return arena_take(&w->memory, (size_t)count * assay_dtype_size(dtype));
}

/* (tokens, columns), in the dtype of activations. */
static inline assay_tensor take_rows(walk *w, int64_t columns) {
    void *data = take(w, w->m.tokens * columns, w->m.dtype);
    return matrix_at(data, w->m.dtype, w->m.tokens, columns);
}

static inline assay_tensor take_vector(walk *w, assay_dtype dtype, int64_t n) {
    return vector_at(take(w, n, dtype), dtype, n);
}

/* (count·b, heads, t, head_dim) */
static inline assay_tensor take_heads(walk *w, int64_t count) {
    const model *m = &w->m;
    const int64_t shape[] = {count * m->b, m->heads, m->t, m->head_dim};
    return dense_at(take(w, count * m->tokens * m->d, m->dtype), m->dtype, 4, shape);
}

/* A number for every parameter. */
static inline assay_tensor take_flat(walk *w, assay_dtype dtype) {
    return take_vector(w, dtype, flat_length(&w->m));
}

static inline assay_tensor weight_of(const walk *w, int64_t block) {
    return block_in_flat(&w->m, &w->weights, block);
}

/* ---- calls of parts ---- */

/* A variant of an operator, NULL with the walk's status set where it cannot run at all. */
static inline const assay_variant *find_part(walk *w, const char *op, const char *name) {
    const assay_variant *part = variant_of(op, name);
    if (part != NULL && part->lacks == NULL)
        return part;
    w->status = assay_fail(
        ASSAY_ERR_UNSUPPORTED, "transformer/%s is made of %s/%s, which cannot run here: %s",
        w->parts->name, op, name, part != NULL ? part->lacks : "this device has no such variant");
    return NULL;
}

/* The part's own workspace is taken for this call alone. */
static inline void call_part(walk *w, const char *op, const char *name, assay_stage stage,
                             assay_call *call) {
    const assay_variant *part = w->status == ASSAY_OK ? find_part(w, op, name) : NULL;
    if (part == NULL)
        return;
    if (w->purpose == ASK) {
        w->status = part->supports != NULL ? part->supports(stage, call) : ASSAY_OK;
        return;
    }
    const size_t before = mark(w);
    call->workspace_bytes = part->workspace != NULL ? part->workspace(stage, call) : 0;
    call->workspace = arena_take(&w->memory, call->workspace_bytes);
    call->stream = w->stream;
    if (runs(w))
        w->status = stage == ASSAY_FORWARD ? part->forward(call) : part->backward(call);
    go_back(w, before);
}

/* The same with arrays of tensors. */
template <int N_IN, int N_OUT>
static inline void call_part(walk *w, const char *op, const char *name, assay_stage stage,
                             const assay_params *params, const assay_tensor (&in)[N_IN],
                             const assay_tensor (&out)[N_OUT]) {
    assay_call call = {};
    call.params = params;
    call.n_in = N_IN;
    call.n_out = N_OUT;
    call.in = in;
    call.out = out;
    call_part(w, op, name, stage, &call);
}

/* ---- parameters of parts, each with all of its operator's keys in their order ---- */

static inline assay_params strict_params(assay_dtype dtype) {
    assay_params params = {};
    params.dtype = dtype;
    params.math = ASSAY_STRICT;
    return params;
}
static inline void add_int(assay_params *params, const char *name, int64_t value) {
    assay_param *item = &params->item[params->count++];
    item->name = name;
    item->count = 1;
    item->value[0] = value;
}
static inline void add_real(assay_params *params, const char *name, double value) {
    assay_param *item = &params->item[params->count++];
    item->name = name;
    item->real = value;
}

#endif
