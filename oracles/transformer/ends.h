/*
 * Where the definition of the model ends. Each of its operators says of which results its own
 * definition says nothing, because a right kernel may overflow on the way to them (range.h). All
 * that is computed from such a result may be anything too: values that follow it, and all gradients
 * that come by it. What does not depend on it stays defined.
 */
#ifndef ASSAY_ORACLES_TRANSFORMER_ENDS_H
#define ASSAY_ORACLES_TRANSFORMER_ENDS_H

#include "oracles/transformer/graph.h"

typedef struct transformer_ends {
    char (*value)[ASSAY_WHY];    /* of each value a line as in assay_bounds.outside, "" for most */
    char (*gradient)[ASSAY_WHY]; /* of its gradient */
} transformer_ends;

assay_status transformer_ends_init(transformer_ends *e,
                                   const transformer_graph *g) ASSAY_MUST_CHECK;
void transformer_ends_clear(transformer_ends *e);

/* What a node's `outside` says; the caller clears both bounds, in any case. */
assay_status transformer_ask(const transformer_node *node, const assay_oracle_args *args,
                             const assay_rounding *r, assay_bounds *out,
                             assay_bounds *grad) ASSAY_MUST_CHECK;

/* For the hooks of a pass (graph.h) at the exact values. */
assay_status transformer_ends_forward(transformer_ends *e, const transformer_node *node,
                                      const assay_oracle_args *args,
                                      const assay_rounding *r) ASSAY_MUST_CHECK;
assay_status transformer_ends_backward(transformer_ends *e, const transformer_node *node,
                                       const assay_oracle_args *args,
                                       const assay_rounding *r) ASSAY_MUST_CHECK;
void transformer_ends_sum(transformer_ends *e, const transformer_node *node, int32_t slot,
                          double *sum, int64_t size, const assay_rounding *r);

/* Copies a line unless it is empty. */
void transformer_end(const char from[ASSAY_WHY], char to[ASSAY_WHY]);

#endif
