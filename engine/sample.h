/*
 * A large case, the whole, judged through a small one, for operators whose rows stand alone
 * (assay_op.by_rows). The whole has few different rows: each is a copy of a row of the small
 * problem. Variants run on the whole, the oracle on the small problem, and the bound of a small row
 * holds for all of its copies. For each element of the small outputs, the least and the greatest
 * value of all copies are compared.
 *
 * Backward runs twice. The first time each row has the cotangents of its small row, and the
 * gradients of all rows are compared like outputs. The second time only homes have cotangents; each
 * small row has one home, a row of the whole. Tensors without rows have gradients that are sums
 * over all rows; these must then be those of the small problem, and gradients in all rows but the
 * homes must be 0.
 *
 * With fill=exact, data are integers, and their sums over all rows may be exact. Then the first
 * run's gradients of tensors without rows are compared with these sums, bit for bit.
 *
 * Homes, in this order until half of them are given: the first and the last row; both sides of the
 * elements and of the bytes 2^31 and 2^32 of each tensor; both sides of the first and the last
 * border of tiles, and of the largest grid of blocks but in x. The others are drawn.
 */
#ifndef ASSAY_ENGINE_SAMPLE_H
#define ASSAY_ENGINE_SAMPLE_H

#include "assay/problem.h"

#include <stdint.h>

struct variant_runs; /* variant_run.h */

enum { SAMPLE_MOST_ROWS = 4096 };

typedef struct assay_sample {
    assay_case whole;
    assay_signature sig; /* of the whole */
    int64_t rows;        /* of the whole */
    int64_t *home;       /* of each small row, in ascending order */
    int64_t count;       /* small rows */
} sample;

/* How rows lie in a tensor: (outer, rows, inner), packed. inner 0: it has no rows. */
typedef struct sample_axis {
    int64_t outer, inner;
} sample_axis;

/* `part`: the tensor of that spec in the small problem. */
sample_axis sample_axis_of(const assay_tensor_spec *whole, const assay_tensor_spec *part);

/* Gives homes to `count` rows, or to as many as there are; `t`: the variants, for their tiles.
 * ASSAY_ERR_USAGE when the case has no rows that stand alone, or data that cannot be dealt out. */
assay_status sample_init(sample *s, const assay_case *whole, int64_t count,
                         const struct variant_runs *t) ASSAY_MUST_CHECK;
void sample_clear(sample *s);

/* The small problem's case. */
assay_case sample_case(const sample *s);

/* The problem, which refers to the sample. */
assay_status sample_problem(const sample *s, assay_problem *p) ASSAY_MUST_CHECK;

/* Whether the data are integers whose sums over all rows of the whole are exact as well. */
bool sample_is_exact(const sample *s);

/* If they are: the gradients of tensors without rows, summed over all rows, when all rows have
 * cotangents; absent otherwise. */
assay_status sample_sums(const assay_problem *p, const assay_reference *ref,
                         assay_arrays *sums) ASSAY_MUST_CHECK;

/* Results of the problem, or of any other. */
assay_status sample_results(const assay_problem *p, assay_results *r) ASSAY_MUST_CHECK;

/* Nothing has been seen yet. */
void sample_begin_ranges(assay_results *r);

/* Replaces the result of each home by that copy's result which is farthest from `want`. */
void sample_choose_worst(const assay_problem *p, assay_results *r, const assay_results *want);

/* The small row whose data a row of the whole has; at home, its own. */
int64_t sample_twin(const sample *s, int64_t row);

/* Where an element of the small tensor is at home in the whole. */
int64_t sample_home(const sample *s, sample_axis axis, int64_t element);

/* Calls `visit` for each stretch of a row that lies in elements first..last of a whole tensor: its
 * first element there, its twin's in the small tensor, its length. Of a tensor without rows it is
 * all one. */
typedef void (*sample_visitor)(void *context, int64_t at, int64_t small, int64_t count);
void sample_visit(const sample *s, sample_axis axis, int64_t first, int64_t last,
                  sample_visitor visit, void *context);

/* The same for homes alone. */
void sample_visit_homes(const sample *s, sample_axis axis, int64_t first, int64_t last,
                        sample_visitor visit, void *context);

/* Bytes of all tensors of the whole: inputs, outputs, and their cotangents and gradients. */
double sample_bytes(const sample *s);

#endif
