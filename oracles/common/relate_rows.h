/* Relations of operators on rows (n…, d), each row by itself: helpers that their sources need
 * beside relate.h. */
#ifndef ASSAY_ORACLES_COMMON_RELATE_ROWS_H
#define ASSAY_ORACLES_COMMON_RELATE_ROWS_H

#include "oracles/common/relate.h"

/* Reverses the last axis of every tensor, or the first: `axis` -1 or 0. A tensor of one axis is a
 * row's, unless there are no others. */
void relate_rows_reverse_all(const assay_tensor_spec *specs, int32_t axis, const assay_arrays *from,
                             assay_arrays *to);

/* The relations row_permutation, column_permutation and cotangent_linearity of such an operator. */
bool relate_rows_has_batch(const assay_case *c);
assay_status relate_rows_reverse_rows(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_rows_unreverse_rows(const assay_problem *base, const assay_problem *derived,
                                        const assay_results *results, assay_results *want);
assay_status relate_rows_reverse_columns(const assay_problem *base, int32_t i,
                                         assay_problem *derived);
assay_status relate_rows_unreverse_columns(const assay_problem *base, const assay_problem *derived,
                                           const assay_results *results, assay_results *want);
assay_status relate_rows_split_cotangents(const assay_problem *base, int32_t i,
                                          assay_problem *derived);
assay_status relate_rows_add_gradients(const assay_problem *base, const assay_problem *derived,
                                       const assay_results *results, assay_results *want);

#define RELATE_ROWS_PERMUTATIONS                                                                   \
    {.name = "row_permutation",                                                                    \
     .why = "reversing the batch reverses every result that has one, the rest stays",              \
     .applies = relate_rows_has_batch,                                                             \
     .n_derived = 1,                                                                               \
     .derive = relate_rows_reverse_rows,                                                           \
     .predict = relate_rows_unreverse_rows},                                                       \
    {                                                                                              \
        .name = "column_permutation",                                                              \
        .why = "reversing the columns of all tensors reverses those of every result",              \
        .n_derived = 1, .derive = relate_rows_reverse_columns,                                     \
        .predict = relate_rows_unreverse_columns                                                   \
    }

/* The relation shift of an operator to whose results a number added to all of input 0 makes no
 * difference, in cases of which most elements are below 4. */
bool relate_rows_is_moderate(const assay_case *c);
assay_status relate_rows_make_coarse(assay_problem *base);
assay_status relate_rows_shift(const assay_problem *base, int32_t i, assay_problem *derived);
assay_status relate_rows_unshift(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want);

#define RELATE_ROWS_SHIFT                                                                          \
    {                                                                                              \
        .name = "shift", .why = "x + 4 leaves every result as it was",                             \
        .applies = relate_rows_is_moderate, .prepare = relate_rows_make_coarse, .n_derived = 1,    \
        .derive = relate_rows_shift, .predict = relate_rows_unshift                                \
    }

#define RELATE_ROWS_COTANGENTS                                                                     \
    {                                                                                              \
        .name = "cotangent_linearity",                                                             \
        .why = "dy = dya + dyb: every gradient is the sum of theirs, y stays", .n_derived = 2,     \
        .derive = relate_rows_split_cotangents, .predict = relate_rows_add_gradients               \
    }

#endif
