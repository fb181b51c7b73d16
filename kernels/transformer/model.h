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

/* Parameters by their number: the embedding, nine a layer, the last norm's weight and the head's;
 * an input each, in this order. */
static constexpr int64_t EMBEDDING_WEIGHT = 0, FIRST_LAYER_WEIGHT = 1;
enum layer_weight { LN1, Q, K, V, OUTPUT, LN2, W1, W2, W3, LAYER_WEIGHTS };

static inline int64_t parameter_count(const model *m) {
    return FIRST_LAYER_WEIGHT + m->layers * LAYER_WEIGHTS + 2;
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
    m.ff = weights[FIRST_LAYER_WEIGHT + W1].shape[0];
    find_depth(params, &m);
    m.head_dim = m.d / m.heads;
    m.steps = assay_params_int(params, "steps");
    m.lr = assay_params_find(params, "lr")->real;
    m.wd = assay_params_find(params, "wd")->real;
    m.dtype = params->dtype;
    m.math = params->math;
    return m;
}

/*
 * The model works with blocks of parameters: those that multiply the same input lie on each other
 * as one matrix, so that one product serves q, k and v, and one both gates. Blocks by their number:
 * the embedding, six a layer, the last norm and the head.
 */
enum { EMBEDDING, FIRST_LAYER_BLOCK };
enum layer_block { FIRST_NORM, QKV, PROJECTION, SECOND_NORM, GATES, DOWN, LAYER_BLOCKS };

static inline int64_t block_in(int64_t layer, enum layer_block which) {
    return FIRST_LAYER_BLOCK + layer * LAYER_BLOCKS + which;
}
static inline int64_t last_norm_block(const model *m) {
    return block_in(m->layers, FIRST_NORM);
}
static inline int64_t head_block(const model *m) {
    return last_norm_block(m) + 1;
}

/* `count` parameters, the first one's number and the distance to the next one's. Each has the shape
 * (rows, columns), or (columns) where rows is 0. */
typedef struct block {
    int64_t first, step, count;
    int64_t rows, columns;
} block;

static inline block block_of_layer(const model *m, int64_t first, int64_t which) {
    switch (which) {
    case FIRST_NORM:
        return {first + LN1, 0, 1, 0, m->d};
    case QKV:
        return {first + Q, 1, 3, m->d, m->d};
    case PROJECTION:
        return {first + OUTPUT, 0, 1, m->d, m->d};
    case SECOND_NORM:
        return {first + LN2, 0, 1, 0, m->d};
    case GATES:
        return {first + W1, W3 - W1, 2, m->ff, m->d};
    default:
        return {first + W2, 0, 1, m->d, m->ff};
    }
}

static inline block block_of(const model *m, int64_t number) {
    if (number == EMBEDDING)
        return {EMBEDDING_WEIGHT, 0, 1, m->vocab, m->d};
    if (number == head_block(m))
        return {parameter_count(m) - 1, 0, 1, m->vocab, m->d};
    const int64_t layer = (number - FIRST_LAYER_BLOCK) / LAYER_BLOCKS;
    return block_of_layer(m, FIRST_LAYER_WEIGHT + layer * LAYER_WEIGHTS,
                          (number - FIRST_LAYER_BLOCK) % LAYER_BLOCKS);
}

/* Elements of one parameter of a block. */
static inline int64_t part_length(const block *b) {
    return (b->rows > 0 ? b->rows : 1) * b->columns;
}

#endif
