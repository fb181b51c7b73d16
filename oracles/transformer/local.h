/*
 * Local bounds of the operators inside the model, and passes that are disturbed by them.
 *
 * A kernel stores what each operator gives, and each stored tensor is off by its operator's own
 * bound at most, whatever was off before: `transformer_local` holds these bounds, one for each
 * element, as they are at the exact values. Two more things are rounded: a gradient to which
 * another contribution is added, and, where the dtype is narrower than the parameters, the copies
 * of these that kernels compute with.
 *
 * Part of a bound may be common to many elements: a norm's root to a row, what tensor cores cut to
 * all. The rounding of stored values is not: each element's is its own, to nearest. The parts that
 * TF32 cuts of operands have a mean, at most 2^-9 of each value, and deviations from it are not
 * common. So there are two limits: of each element by itself, and of the common part of elements.
 *
 * A disturbed pass is the model with every stored element moved by its local bound, up or down, so
 * that the disturbances travel through the true nonlinear model.
 */
#ifndef ASSAY_ORACLES_TRANSFORMER_LOCAL_H
#define ASSAY_ORACLES_TRANSFORMER_LOCAL_H

#include "oracles/transformer/ends.h"
#include "oracles/transformer/spread.h"

typedef struct transformer_limits {
    assay_rounding rounding;
    double **value;               /* of each value; NULL: it is exact */
    double **contribution, **sum; /* of each node's input slots, NODE_INPUTS a node */
} transformer_limits;

/*
 * A disturbance says how far errors reach as long as twice of it does twice as much. That ends
 * where a row that is normalised may have a length quite different from the exact one: the signs of
 * its elements are not known then, and all that follows may be anything.
 */
typedef struct transformer_local {
    const transformer_graph *graph;
    double **inverse; /* of each node that normalises: s of its rows (rmsnorm.h), exactly */
    double product;   /* what TF32 cuts of a value at most */
    transformer_limits each, common;
    transformer_ends ends; /* of the definition, at the exact values */
} transformer_local;

assay_status transformer_local_init(transformer_local *l, const transformer_graph *g,
                                    const assay_rounding *r) ASSAY_MUST_CHECK;
void transformer_local_clear(transformer_local *l);

/* The place of a node's input slot in `contribution` and `sum`. */
int32_t transformer_slot(const transformer_local *l, const transformer_node *node, int32_t slot);

/* Hooks that measure: for a pass at the exact values. */
transformer_hooks transformer_measuring(transformer_local *l);

/* The local bound of parameter i's gradient; NULL: it is exact. */
const double *transformer_local_gradient(const transformer_local *l, int32_t parameter);

/* Which way disturbances point. */
typedef enum transformer_pattern {
    PATTERN_ELEMENTS, /* each element's at random */
    PATTERN_ROWS,     /* a row's all away from 0 or all toward 0, at random: a common factor */
    PATTERN_AWAY,     /* all away from 0 */
    PATTERN_TOWARD    /* all toward 0, as what is cut */
} transformer_pattern;

/* Every disturbed run of a bound: `count` of them, the same in every call. */
enum { TRANSFORMER_ELEMENT_RUNS = 16, TRANSFORMER_ROW_RUNS = 4, TRANSFORMER_RUNS = 22 };
transformer_pattern transformer_pattern_of(int32_t run);

typedef struct transformer_disturbance {
    const transformer_local *local;
    int32_t run;
    int64_t step; /* of a training: other signs in each */
    double gain;  /* of all disturbances, see transformer_gain() */
    bool *astray; /* set when s of a row, or the loss, is off by a half */

    /* What is recorded, before it is disturbed itself, and the exact values. NULL: it is not. */
    transformer_spread *of_gradients; /* one for each parameter */
    transformer_spread *of_logits, *of_loss;
    double *const *gradients;
    const double *logits, *loss;
} transformer_disturbance;

transformer_hooks transformer_disturbing(transformer_disturbance *d);

/* Places of disturbances that are in no pass: a parameter's copy, and AdamW's results. */
enum { PLACE_COPY, PLACE_P, PLACE_M, PLACE_V, PLACES };

/* Moves each element by gain · bound. */
void transformer_disturb(const transformer_disturbance *d, int32_t parameter, int32_t place,
                         const double *bound, double *data, int64_t size);

/* The copies of the parameters that a kernel computes with: rounded, so disturbed. */
void transformer_disturb_copies(const transformer_disturbance *d, const assay_arrays *parameters,
                                assay_arrays *copies);

/* Rounding of fp64 itself would hide disturbances of its size: they are made larger, and what they
 * do is divided by the same factor. */
double transformer_gain(const assay_rounding *r);

#endif
