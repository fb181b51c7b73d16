/* Training: parameters with AdamW's state, and one step of both. */
#ifndef ASSAY_ORACLES_TRANSFORMER_TRAINING_H
#define ASSAY_ORACLES_TRANSFORMER_TRAINING_H

#include "oracles/transformer/graph.h"

typedef struct transformer_state {
    assay_arrays p, m, v; /* one array a parameter */
} transformer_state;

/* A copy of the case's parameters, m and v 0. */
assay_status transformer_state_init(transformer_state *state,
                                    const assay_oracle_args *args) ASSAY_MUST_CHECK;
void transformer_state_clear(transformer_state *state);

/* One array for each parameter, zeroed. */
assay_status transformer_parameters_init(assay_arrays *arrays,
                                         const assay_oracle_args *args) ASSAY_MUST_CHECK;

/* What a pass is given (transformer_graph.h): these parameters and the words of a batch. The list
 * is freed by the caller; NULL: out of memory. */
double **transformer_given(const assay_oracle_args *args, double *const *parameters, int64_t batch);

/* AdamW's case for a parameter of that many elements. */
void transformer_adamw(const transformer_sizes *s, int64_t count, int64_t step,
                       assay_params *params);

/* An AdamW step, from 1, of one parameter: p, g, m, v and the new p, m, v. */
enum { ADAMW_P, ADAMW_G, ADAMW_M, ADAMW_V, ADAMW_INPUTS };
enum { ADAMW_NEW_P, ADAMW_NEW_M, ADAMW_NEW_V, ADAMW_OUTPUTS };

/* Replaces p, m and v of parameter i by those after the step of adamw's `params`. `bounds`, with
 * room for the three and how the kernel rounds: how far each may be off, and where the definition
 * ends; NULL: not asked. */
assay_status transformer_update_one(transformer_state *state, int32_t i, const assay_params *params,
                                    double *gradient, bool plain, const assay_rounding *r,
                                    assay_bounds *bounds) ASSAY_MUST_CHECK;

/* Replaces p, m and v by those after the step, given the gradients. */
assay_status transformer_update(transformer_state *state, const transformer_sizes *s, int64_t step,
                                const assay_arrays *gradient, bool plain) ASSAY_MUST_CHECK;

#endif
