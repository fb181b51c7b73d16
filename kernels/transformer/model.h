/* The sizes of a model and of its data, from a call's parameters and the shapes of its tensors; and
 * where in a call they lie. */
#ifndef ASSAY_TRANSFORMER_MODEL_H
#define ASSAY_TRANSFORMER_MODEL_H

#include "kernels/transformer/tensors.h"

enum { TOKENS, TARGET, FIRST_PARAMETER }; /* inputs */

typedef struct model {
    int64_t b, t, tokens; /* tokens: b t, of one batch */
    int64_t vocab, d, ff, layers, heads, head_dim;
    int64_t steps, batches;
    double lr, wd;
    assay_dtype dtype; /* of activations; parameters and their gradients are fp32 */
    assay_math math;
} model;

/* What `size` means where layers or heads are not given; the other sizes are the tensors' own. */
static inline void find_depth(const assay_params *params, model *m) {
    static const struct depth {
        int64_t layers, heads;
    } by_size[] = {{2, 2}, {12, 12}, {24, 16}, {36, 20}, {48, 25}, {32, 32}};
    const depth named = by_size[assay_params_int(params, "size")];
    const int64_t layers = assay_params_int(params, "layers");
    const int64_t heads = assay_params_int(params, "heads");
    m->layers = layers != 0 ? layers : named.layers;
    m->heads = heads != 0 ? heads : named.heads;
}

/*
 * Parameters by their number: the embedding, nine a layer, the last norm's weight and the head's;
 * an input each, in this order.
 */
enum { EMBEDDING_WEIGHT, FIRST_LAYER_WEIGHT };
enum layer_weight { LN1, Q, K, V, OUTPUT, LN2, W1, W2, W3, LAYER_WEIGHTS };

static inline int64_t layer_weight(int64_t layer, enum layer_weight which) {
    return FIRST_LAYER_WEIGHT + layer * LAYER_WEIGHTS + which;
}
static inline int64_t final_norm_weight(const model *m) {
    return layer_weight(m->layers, LN1);
}
static inline int64_t head_weight(const model *m) {
    return final_norm_weight(m) + 1;
}
static inline int64_t parameter_count(const model *m) {
    return head_weight(m) + 1;
}

static inline model model_of(const assay_call *call) {
    const assay_params *params = call->params;
    const assay_tensor *tokens = &call->in[TOKENS], *weights = &call->in[FIRST_PARAMETER];
    model m = {};
    m.batches = tokens->shape[0];
    m.b = tokens->shape[1];
    m.t = tokens->shape[2];
    m.tokens = m.b * m.t;
    m.vocab = weights[EMBEDDING_WEIGHT].shape[0];
    m.d = weights[EMBEDDING_WEIGHT].shape[1];
    m.ff = weights[layer_weight(0, W1)].shape[0];
    find_depth(params, &m);
    m.head_dim = m.d / m.heads;
    m.steps = assay_params_int(params, "steps");
    m.lr = assay_params_find(params, "lr")->real;
    m.wd = assay_params_find(params, "wd")->real;
    m.dtype = params->dtype;
    m.math = params->math;
    return m;
}

/* Shape of a parameter: [rows, columns], or [columns] where rows is 0. */
typedef struct parameter_shape {
    int64_t rows, columns;
} parameter_shape;

static inline parameter_shape layer_weight_shape(const model *m, int64_t which) {
    switch (which) {
    case LN1:
    case LN2:
        return {0, m->d};
    case W1:
    case W3:
        return {m->ff, m->d};
    case W2:
        return {m->d, m->ff};
    default:
        return {m->d, m->d};
    }
}

static inline parameter_shape shape_of_parameter(const model *m, int64_t p) {
    if (p == EMBEDDING_WEIGHT || p == head_weight(m))
        return {m->vocab, m->d};
    return layer_weight_shape(m, (p - FIRST_LAYER_WEIGHT) % LAYER_WEIGHTS);
}

#endif
