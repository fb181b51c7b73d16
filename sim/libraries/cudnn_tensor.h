/* Parts that the files of the stand-in for cuDNN share: the handle, tensors, and the walk over one.
 */
#ifndef ASSAY_SIM_LIBRARIES_CUDNN_TENSOR_H
#define ASSAY_SIM_LIBRARIES_CUDNN_TENSOR_H

#include "device/dnn.h"

#include <atomic>

namespace sim_dnn {

enum { SPATIAL = 3, RANK = 2 + SPATIAL };

struct cudnnContext {
    bool initialised;
    std::atomic<unsigned> unordered[2]; /* calls of algorithms that add in no fixed order */
};
struct cudnnTensorStruct {
    cudnnDataType_t type;
    int size[RANK], stride[RANK];
    bool set;
};

/* Calls visit(place in the array, place in a dense one) for all elements. */
template <typename Visit> void visit_elements(const cudnnTensorStruct &t, Visit visit) {
    int64_t dense = 0;
    int at[RANK] = {};
    for (;;) {
        int64_t place = 0;
        for (int i = 0; i < RANK; ++i)
            place += (int64_t)at[i] * t.stride[i];
        visit(place, dense++);
        int axis = RANK - 1;
        while (axis >= 0 && ++at[axis] == t.size[axis])
            at[axis--] = 0;
        if (axis < 0)
            return;
    }
}

} // namespace sim_dnn

#endif
