/* weighted_sum with a forward of one bug in each variant. */
#include "kernels/weighted_sum/v1.cu"
#include "tests/fuzz/planted/planted.h"

enum bug { ALIGNED, SHORT_INDEX, NO_BARRIER, CRASHES, TWO_BUGS };
enum { PARTS = 32, WIDE = 4096, ALIGNMENT = 16 };

/* The row's first element, as hardware has it that drops the low bits of an address. */
template <typename T> static __device__ __forceinline__ const T *rounded(const T *row) {
    return reinterpret_cast<const T *>(reinterpret_cast<uintptr_t>(row) / ALIGNMENT * ALIGNMENT);
}

/* A block a row; its threads' parts are summed by the first one. */
template <typename T, bug Bug>
static __global__ void sum_rows(const T *x, int64_t x_stride, const T *w, T *y, spread places,
                                int64_t rows, int64_t d) {
    __shared__ acc_t<T> part[PARTS];
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const int64_t from = Bug == SHORT_INDEX ? (int64_t)(int16_t)row : row;
        const T *own = x + (from < 0 ? 0 : from) * x_stride;
        if (Bug == ALIGNED)
            own = rounded(own);
        acc_t<T> sum = 0;
        for (int64_t j = threadIdx.x; j < d; j += PARTS)
            sum = fma_(widen(own[j]), widen(w[j]), sum);
        part[threadIdx.x] = Bug == TWO_BUGS && row > 0 ? 2 * sum : sum;
        if ((Bug == CRASHES || Bug == TWO_BUGS) && d > WIDE)
            __builtin_trap(); /* an array was too short */
        if (Bug != NO_BARRIER)
            __syncthreads();
        if (threadIdx.x == 0) {
            for (int i = 1; i < PARTS; ++i)
                sum += part[i];
            y[place(places, row)] = narrow<T>(sum);
        }
        __syncthreads();
    }
}

template <bug Bug> struct planted {
    template <typename T> static assay_status run(const assay_call *call) {
        const tensors t = tensors_of(call, ASSAY_FORWARD);
        return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, 1), dim3(PARTS), 0,
                            (sum_rows<T, Bug>), data_of<const T>(t.x), assay_tensor_row_stride(t.x),
                            data_of<const T>(t.w), data_of<T>(t.y), spread_of(t.y), t.rows, t.d);
    }
    static assay_status forward(const assay_call *call) {
        return WEIGHTED_SUM_DISPATCH(run, call);
    }
};

PLANTED(weighted_sum, aligned_rows, "takes rows for aligned to 16 bytes", planted<ALIGNED>::forward,
        backward);
PLANTED(weighted_sum, short_index, "row numbers of 16 bits", planted<SHORT_INDEX>::forward,
        backward);
PLANTED(weighted_sum, unordered, "reads other threads' parts before they are there",
        planted<NO_BARRIER>::forward, backward);
PLANTED(weighted_sum, crashes_wide, "falls over more than 4096 columns", planted<CRASHES>::forward,
        backward);
PLANTED(weighted_sum, two_bugs, "falls over more than 4096 columns, and all rows but one are wrong",
        planted<TWO_BUGS>::forward, backward);
