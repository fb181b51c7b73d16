/*
 * A tensor of a whole that a small problem stands for (sample.h), in a buffer without an image: its
 * rows are made, uploaded, downloaded and checked in pieces, so that the host holds one piece
 * of a tensor at a time.
 *
 * Of every element is checked: an input is as it was; an output and a gradient was written; a
 * gradient is 0 but in homes and where there are no rows. Homes' values are kept, and of outputs
 * the least and the greatest among all rows with the same data.
 */
#ifndef ASSAY_ENGINE_PIECES_H
#define ASSAY_ENGINE_PIECES_H

#include "engine/buffer.h"
#include "engine/sample.h"

/* The four groups of a call's tensors, in the order in which case.h numbers them. */
typedef enum pieces_role {
    PIECES_INPUT,
    PIECES_OUTPUT,
    PIECES_COTANGENT,
    PIECES_GRADIENT,
} pieces_role;

typedef struct pieces {
    const sample *s;
    const assay_tensor_spec *whole;
    sample_axis axis;
    pieces_role role;
    bool everywhere;     /* all rows have cotangents; otherwise homes alone */
    const double *small; /* an input's or a cotangent's elements in the small problem */
} pieces;

/* Fills the buffer, which has been reserved: the rows of an input with their data, all else with
 * the NaN pattern. */
assay_status pieces_upload(buffer *b, const pieces *p) ASSAY_MUST_CHECK;

/* Elements of the small problem, dense. */
typedef struct pieces_got {
    double *home;
    _Atomic double *low, *high; /* of all rows; NULL: not asked for */
} pieces_got;

/* The results of a call. ASSAY_ERR_KERNEL names the defect and its place. */
assay_status pieces_take_back(buffer *b, const pieces *p, const pieces_got *got) ASSAY_MUST_CHECK;

/* Checks that nothing has changed since it was uploaded or taken back. */
assay_status pieces_check_unchanged(buffer *b) ASSAY_MUST_CHECK;

#endif
