/*
 * weighted_sum with faults in large tensors alone, which a check by some rows must find.
 * Each variant is v1 but for one launch. On a GPU an index is too short from element 2^31 on; on
 * the simulated device from 2^10 on, which is less to wait for.
 */
#include "kernels/weighted_sum/v1.cu"
#include "tests/fuzz/planted/planted.h"

enum bug {
    READS_WRAPPED,
    WRITES_WRAPPED,
    GRADIENT_WRAPPED,
    DROPS_ROWS,
    DROPS_ONE,
    ONE_ROW,
    ONE_GRADIENT,
    STRAY_ROW,
    OVERWRITES
};
#if defined(__CUDACC__)
static constexpr int64_t SHORT = INT64_C(1) << 31;
#else
static constexpr int64_t SHORT = 1 << 10;
#endif
static constexpr int64_t STRAY = 777;

static __device__ __forceinline__ int64_t wrapped(bool wraps, int64_t index) {
    return wraps ? index % SHORT : index;
}

template <typename T, bug Bug>
static __global__ void sums(const T *x, int64_t x_stride, const T *w, T *y, int64_t rows,
                            int64_t d) {
    for (int64_t row = grid_thread(); row < rows; row += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t j = 0; j < d; ++j)
            sum =
                fma_(widen(x[wrapped(Bug == READS_WRAPPED, row * x_stride + j)]), widen(w[j]), sum);
        if (Bug == ONE_ROW && row == STRAY)
            sum = sum / 2;
        y[wrapped(Bug == WRITES_WRAPPED, row * d) / d] = narrow<T>(sum);
        if (Bug == OVERWRITES && row == STRAY)
            const_cast<T *>(x)[row * x_stride] = narrow<T>(sum);
    }
}

template <typename T, bug Bug>
static __global__ void gradients(const T *w, const T *dy, T *dx, int64_t dx_stride, int64_t rows,
                                 int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t row = e / d, j = e % d;
        acc_t<T> product = widen(dy[row]) * widen(w[j]);
        if (Bug == ONE_GRADIENT && row == STRAY)
            product = product / 2;
        dx[wrapped(Bug == GRADIENT_WRAPPED, row * dx_stride + j)] =
            narrow<T>(Bug == STRAY_ROW && row == STRAY ? product + widen(w[j]) : product);
    }
}

template <typename T>
static __global__ void grad_w_but_one(const T *x, int64_t x_stride, const T *dy, T *dw,
                                      int64_t rows, int64_t d) {
    for (int64_t j = grid_thread(); j < d; j += grid_threads()) {
        acc_t<T> sum = 0;
        for (int64_t row = 0; row < rows; ++row)
            if (row != STRAY)
                sum = fma_(widen(dy[row]), widen(x[row * x_stride + j]), sum);
        dw[j] = narrow<T>(sum);
    }
}

template <bug Bug> struct large {
    template <typename T> static assay_status run_sums(const assay_call *call) {
        const tensors t = tensors_of(call, ASSAY_FORWARD);
        return ASSAY_LAUNCH(call->stream, linear_grid(t.rows, THREADS), dim3(THREADS), 0,
                            (sums<T, Bug>), data_of<const T>(t.x), assay_tensor_row_stride(t.x),
                            data_of<const T>(t.w), data_of<T>(t.y), t.rows, t.d);
    }
    template <typename T> static assay_status run_gradients(const assay_call *call) {
        const tensors t = tensors_of(call, ASSAY_BACKWARD);
        const int64_t summed = Bug == DROPS_ROWS && t.rows * t.d > SHORT ? SHORT / t.d : t.rows;
        const T *x = data_of<const T>(t.x), *w = data_of<const T>(t.w),
                *dy = data_of<const T>(t.dy);
        const assay_status status = ASSAY_LAUNCH(
            call->stream, linear_grid(t.rows * t.d, THREADS), dim3(THREADS), 0, (gradients<T, Bug>),
            w, dy, data_of<T>(t.dx), assay_tensor_row_stride(t.dx), t.rows, t.d);
        if (status != ASSAY_OK)
            return status;
        if (Bug == DROPS_ONE)
            return ASSAY_LAUNCH(call->stream, linear_grid(t.d, THREADS), dim3(THREADS), 0,
                                (grad_w_but_one<T>), x, assay_tensor_row_stride(t.x), dy,
                                data_of<T>(t.dw), t.rows, t.d);
        return ASSAY_LAUNCH(call->stream, linear_grid(t.d, THREADS), dim3(THREADS), 0, (grad_w<T>),
                            x, assay_tensor_row_stride(t.x), dy, spread_of(t.dy), data_of<T>(t.dw),
                            summed, t.d);
    }
    static assay_status forward(const assay_call *call) {
        return WEIGHTED_SUM_DISPATCH(run_sums, call);
    }
    static assay_status backward(const assay_call *call) {
        return WEIGHTED_SUM_DISPATCH(run_gradients, call);
    }
};

#define LARGE(bug_name, bug, what)                                                                 \
    PLANTED(weighted_sum, bug_name, what, large<bug>::forward, large<bug>::backward)

LARGE(reads_wrapped, READS_WRAPPED, "reads x by an index that is too short");
LARGE(writes_wrapped, WRITES_WRAPPED, "writes y by an index that is too short");
LARGE(gradient_wrapped, GRADIENT_WRAPPED, "writes dx by an index that is too short");
LARGE(drops_rows, DROPS_ROWS, "dw without the rows that a short number does not count");
LARGE(drops_one, DROPS_ONE, "dw without one row");
LARGE(one_row, ONE_ROW, "y of one row is wrong");
LARGE(one_gradient, ONE_GRADIENT, "dx of one row is wrong");
LARGE(stray_row, STRAY_ROW, "dx of one row is not linear in dy");
LARGE(overwrites, OVERWRITES, "changes an element of x");
