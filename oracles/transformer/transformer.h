/* transformer: what the files of its oracle share. oracles/transformer/transformer.c has the
 * definition. */
#ifndef ASSAY_ORACLES_TRANSFORMER_TRANSFORMER_H
#define ASSAY_ORACLES_TRANSFORMER_TRANSFORMER_H

#include "assay/op.h"
#include "assay/problem.h"
#include "assay/relation.h"

enum {
    TRANSFORMER_SIZE,
    TRANSFORMER_B,
    TRANSFORMER_T,
    TRANSFORMER_STEPS,
    TRANSFORMER_BATCHES,
    TRANSFORMER_VOCAB,
    TRANSFORMER_D,
    TRANSFORMER_FF,
    TRANSFORMER_LAYERS,
    TRANSFORMER_HEADS,
    TRANSFORMER_LR,
    TRANSFORMER_WD,
    TRANSFORMER_KEYS
};

/* Inputs: tokens and target, then the parameters. Outputs of a training: losses, parameters. */
enum { TRANSFORMER_TOKENS, TRANSFORMER_TARGET, TRANSFORMER_FIRST };
enum { TRANSFORMER_LOGITS, TRANSFORMER_LOSS };
enum { TRANSFORMER_LOSSES, TRANSFORMER_FIRST_NEW };

/* The parameters in their order: the embedding, LAYER of each layer, then the last two. */
enum {
    LAYER_LN1,
    LAYER_Q,
    LAYER_K,
    LAYER_V,
    LAYER_OUTPUT,
    LAYER_LN2,
    LAYER_W1,
    LAYER_W2,
    LAYER_W3,
    LAYER_PARAMETERS
};

typedef struct transformer_sizes {
    int64_t b, t, tokens; /* tokens = b t, of one batch */
    int64_t vocab, d, ff, layers, heads, head_dim;
    int64_t steps, batches;
    int32_t parameters; /* tensors of them */
    double lr, wd;
} transformer_sizes;

transformer_sizes transformer_sizes_of(const assay_params *params);

/* The numbers of parameter tensors: of the embedding, of one of a layer, of ln_final and head. */
enum { TRANSFORMER_EMBEDDING };
int32_t transformer_layer(int64_t layer, int32_t which);
int32_t transformer_ln_final(const transformer_sizes *s);
int32_t transformer_head(const transformer_sizes *s);

assay_status transformer_signature(const assay_params *params, assay_signature *sig);
assay_status transformer_data(assay_problem *p);

enum { TRANSFORMER_RELATIONS = 6 };
extern const assay_relation transformer_relations[TRANSFORMER_RELATIONS];

assay_status transformer_forward(const assay_oracle_args *args, assay_arrays *result);
assay_status transformer_backward(const assay_oracle_args *args, assay_arrays *result);
assay_status transformer_forward_plain(const assay_oracle_args *args, assay_arrays *result);
assay_status transformer_backward_plain(const assay_oracle_args *args, assay_arrays *result);

assay_status transformer_forward_bound(const assay_oracle_args *args,
                                       const assay_rounding *rounding, const assay_arrays *want,
                                       assay_bounds *bounds);
assay_status transformer_backward_bound(const assay_oracle_args *args,
                                        const assay_rounding *rounding, const assay_arrays *want,
                                        assay_bounds *bounds);

/* As assay_op.outside. */
assay_status transformer_outside(const assay_oracle_args *args, const assay_rounding *rounding,
                                 assay_bounds *out, assay_bounds *grad);

#endif
