/* Shared by the versions of scan: lines along one axis. Backward scans dy from the other end. */
#ifndef ASSAY_SCAN_LINES_H
#define ASSAY_SCAN_LINES_H

#include "kernels/common/rows.h"

/* Where the elements of a line lie. Tensors are rows of `columns` elements; along another axis than
 * the last a line has an element in every `middle`th row. */
struct lines {
    int64_t count, length;
    int64_t middle, columns; /* of the lines beside each other; the last axis: 0 and its length */
    bool exclusive, backwards;

    /* Element k of a line, from the end where the scan begins. */
    template <typename T>
    __device__ __forceinline__ T *at(const matrix<T> &m, int64_t line, int64_t k) const {
        const int64_t place = backwards ? length - 1 - k : k;
        if (middle == 0)
            return m.row(line) + place;
        const int64_t beside = middle * columns, o = line / beside, in = line % beside;
        return m.row((o * length + place) * middle + in / columns) + in % columns;
    }
};

static inline lines lines_of(const assay_call *call, assay_stage stage) {
    const assay_tensor *x = &call->in[0];
    const int64_t axis = assay_params_int(call->params, "axis");
    lines s = {1,
               x->shape[axis],
               1,
               assay_tensor_row_length(x),
               assay_params_int(call->params, "exclusive") != 0,
               stage == ASSAY_BACKWARD};
    for (int32_t a = 0; a < x->rank; ++a) {
        s.count *= a == axis ? 1 : x->shape[a];
        s.middle *= a > axis && a < x->rank - 1 ? x->shape[a] : 1;
    }
    if (axis == x->rank - 1)
        s.middle = 0;
    return s;
}

/* What is read: x, or of x, y, dy the last. */
static inline const assay_tensor *source_of(const assay_call *call, assay_stage stage) {
    return stage == ASSAY_FORWARD ? &call->in[0] : &call->in[2];
}

#endif
