/* Shared by kernels of operators on rows: where the rows of a tensor begin, and the choice of the
 * storage type. */
#ifndef ASSAY_KERNELS_COMMON_ROWS_H
#define ASSAY_KERNELS_COMMON_ROWS_H

#include "device/grid.h"
#include "kernels/common/numeric.h"

/* The rows of a tensor; no data where the call has no such tensor. */
template <typename T> struct matrix {
    T *data;
    int64_t stride;

    __host__ __device__ __forceinline__ T *row(int64_t i) const {
        return data + i * stride;
    }
    __host__ __device__ __forceinline__ bool present() const {
        return data != NULL;
    }
};

template <typename T> static inline matrix<T> matrix_of(const assay_tensor *t) {
    if (t == NULL)
        return {NULL, 0};
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t)};
}

/* Calls `function<T>(call)` with the storage type of the call. */
#define ROWS_DISPATCH(function, call)                                                              \
    ((call)->params->dtype == ASSAY_F64    ? function<double>(call)                                \
     : (call)->params->dtype == ASSAY_BF16 ? function<__nv_bfloat16>(call)                         \
     : (call)->params->dtype == ASSAY_F16  ? function<__half>(call)                                \
                                           : function<float>(call))

#endif
