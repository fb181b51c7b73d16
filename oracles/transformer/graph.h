/*
 * The model of `transformer` as a list of applied operators, in the order in which a forward pass
 * runs them, and one run through it: values forward, gradients backward. Nothing is computed here
 * that is not computed by an operator's own oracle; beside those of the registry there are three
 * small ones: the sum of a residual connection, and the turns from tokens to heads and back.
 */
#ifndef ASSAY_ORACLES_TRANSFORMER_GRAPH_H
#define ASSAY_ORACLES_TRANSFORMER_GRAPH_H

#include "oracles/transformer/transformer.h"

enum { NODE_INPUTS = 3, NODE_OUTPUTS = 2 };

/* One applied operator. Its inputs and outputs are values, by number. */
typedef struct transformer_node {
    const assay_op *op;
    assay_params params;
    assay_signature sig; /* empty for the three small ones, whose inputs all have gradients */
    int32_t n_in, n_out;
    int32_t in[NODE_INPUTS], out[NODE_OUTPUTS];
} transformer_node;

/* Values 0 to parameters - 1 are the parameters; tokens and targets follow; then what the nodes
 * give. */
typedef struct transformer_graph {
    transformer_sizes sizes;
    transformer_node *node;
    int64_t *size;                    /* elements of each value */
    int32_t *uses;                    /* how many nodes read it */
    bool *kept;                       /* whether a backward pass reads it */
    int32_t n_nodes, n_values, given; /* given: values that come from outside */
    int32_t logits, loss;
} transformer_graph;

/* The value of an operator's key; keys that are not set are 0. A list ends with a NULL key. */
typedef struct transformer_setting {
    const char *key;
    double value;
} transformer_setting;
void transformer_params(const assay_op *op, const transformer_setting *settings,
                        assay_params *params);

/* x + y; (b, t, h, e) to (b, h, t, e), and back. */
extern const assay_op transformer_op_add, transformer_op_split, transformer_op_merge;

assay_status transformer_graph_init(transformer_graph *g,
                                    const assay_params *params) ASSAY_MUST_CHECK;
void transformer_graph_clear(transformer_graph *g);

/* Whether input `slot` of a node has a gradient. */
bool transformer_has_gradient(const transformer_node *node, int32_t slot);

/*
 * What a caller does with tensors as they are stored: measures how far a kernel's may be off,
 * disturbs them, rounds them. `forward` and `backward` see a node's results; `sum` sees a gradient
 * to which the contribution of a node's input `slot` was added. All may change them.
 */
typedef struct transformer_hooks {
    void *context;
    assay_status (*forward)(void *context, const transformer_node *node,
                            const assay_oracle_args *args, assay_arrays *result);
    assay_status (*backward)(void *context, const transformer_node *node,
                             const assay_oracle_args *args, assay_arrays *result);
    assay_status (*sum)(void *context, const transformer_node *node, int32_t slot, double *sum,
                        int64_t size);
} transformer_hooks;

/* One pass through the graph. */
typedef struct transformer_pass {
    const transformer_graph *graph;
    const transformer_hooks *hooks; /* NULL: none */
    bool plain;                     /* by the operators' plain twins */
    double **value;                 /* by number; those given belong to the caller */
    double **grad;                  /* likewise; the caller gives those of the parameters */
    int32_t *unread;                /* uses that are still to come */
} transformer_pass;

/* given: the parameters, tokens and targets of one batch. */
assay_status transformer_pass_init(transformer_pass *p, const transformer_graph *g,
                                   double *const *given) ASSAY_MUST_CHECK;
void transformer_pass_clear(transformer_pass *p);

assay_status transformer_pass_forward(transformer_pass *p) ASSAY_MUST_CHECK;

/* After forward, once: writes the gradient of parameter i to grad[i]. `dloss` is the cotangent of
 * the loss. Values and gradients are freed on the way. */
assay_status transformer_pass_backward(transformer_pass *p, double dloss,
                                       double *const *grad) ASSAY_MUST_CHECK;

#endif
