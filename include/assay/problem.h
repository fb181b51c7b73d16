/*
 * A problem is a case with its data; a reference has the oracle's answers and their bounds.
 */
#ifndef ASSAY_PROBLEM_H
#define ASSAY_PROBLEM_H

#include "assay/case.h"
#include "assay/device.h"
#include "assay/op.h"

#ifdef __cplusplus
extern "C" {
#endif

struct assay_sample;

typedef struct assay_problem {
    assay_case c;
    assay_signature sig;
    assay_arrays in;  /* n_in, each rounded to its spec's dtype */
    assay_arrays cot; /* n_out, absent where not differentiable; rounded likewise */

    /* Not NULL: it stands for a larger problem, each of whose rows is a copy of one of its own, and
     * variants run on the larger one (engine/sample.h). */
    const struct assay_sample *sample;
} assay_problem;

/* Allocates the arrays and fills them as the case says. Not for fill=golden, whose data lies in a
 * golden file (golden.h). The data of a tensor depends on the case's seed, the fill, the tensor's
 * name and its shape, and on nothing else. */
assay_status assay_problem_init(assay_problem *p, const assay_case *c) ASSAY_MUST_CHECK;

/* The same without data: arrays are zero. */
assay_status assay_problem_init_empty(assay_problem *p, const assay_case *c) ASSAY_MUST_CHECK;
void assay_problem_clear(assay_problem *p);

/* Whether backward is asked for: the operator has one, and an input has a gradient. */
bool assay_problem_has_backward(const assay_problem *p);

/* The number of operands that exponent= may change (case.h). */
int64_t assay_problem_operands(const assay_signature *sig);

/* Results of one side, an oracle or a variant, widened to fp64. */
typedef struct assay_results {
    assay_arrays out;  /* n_out */
    assay_arrays grad; /* n_in, absent where not differentiable */

    /* Where the problem stands for a larger one: the least and the greatest value of all copies of
     * each element of `out` and, when all rows had cotangents, of `grad`; otherwise empty. NaN: one
     * copy was NaN. */
    assay_arrays out_low, out_high, grad_low, grad_high;

    bool again;     /* set before a run: the data have run before, and are not rehearsed */
    bool any_order; /* set by a run: the variant's sums have no order of their own (variant.h) */
} assay_results;

assay_status assay_results_init(assay_results *r, const assay_signature *sig) ASSAY_MUST_CHECK;
void assay_results_clear(assay_results *r);

typedef struct assay_reference {
    assay_results want;
    assay_bounds out_bound, grad_bound; /* all 0 in the exact tier, where want is rounded */
} assay_reference;

/* Runs the oracle forward and backward and derives the bounds. */
assay_status assay_reference_init(assay_reference *r, const assay_problem *p) ASSAY_MUST_CHECK;

/* The same with bounds for a computation in `dtype`: with ASSAY_F64, how far another fp64
 * computation (a foreign golden) may be from our oracle. Never exact, whatever the fill. */
assay_status assay_reference_init_as(assay_reference *r, const assay_problem *p,
                                     assay_dtype dtype) ASSAY_MUST_CHECK;

/* assay_reference_init() with a device's help where the case is large: its oracle for the operator
 * if it has one, otherwise its fp64 products. NULL: without help. */
assay_status assay_reference_init_with(assay_reference *r, const assay_problem *p,
                                       const assay_device *device) ASSAY_MUST_CHECK;

/* Asks that oracle, one of the device's, whatever the case's size. Not for fill=exact. */
assay_status assay_reference_init_by(assay_reference *r, const assay_problem *p,
                                     const assay_device *device,
                                     const assay_device_oracle *oracle) ASSAY_MUST_CHECK;
/* The device's oracle for the operator; NULL: it has none. */
const assay_device_oracle *assay_device_oracle_find(const assay_device *device, const assay_op *op);

void assay_reference_clear(assay_reference *r);

#ifdef __cplusplus
}
#endif

#endif
