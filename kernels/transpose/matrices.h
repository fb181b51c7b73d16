/* Shared by the versions of transpose: matrices one after the other, whose rows are `stride`
 * apart. Backward is the same copy, of dy. */
#ifndef ASSAY_TRANSPOSE_MATRICES_H
#define ASSAY_TRANSPOSE_MATRICES_H

#include "kernels/common/rows.h"

struct sizes {
    int64_t matrices, rows, columns; /* of what is read */
};

static inline sizes sizes_of(const assay_tensor *from) {
    const int64_t rows = from->shape[from->rank - 2], columns = assay_tensor_row_length(from);
    return {rows > 0 ? assay_tensor_rows(from) / rows : 0, rows, columns};
}

/* What is read and written: x and y, or dy and dx. */
static inline const assay_tensor *source_of(const assay_call *call, assay_stage stage) {
    return stage == ASSAY_FORWARD ? &call->in[0] : &call->in[2];
}

#endif
