/* Shared by v1 and v2 of layernorm: y and dx from what is known of each row, one thread an element.
 */
#ifndef ASSAY_LAYERNORM_STEPS_H
#define ASSAY_LAYERNORM_STEPS_H

#include "kernels/layernorm/norm.h"

template <typename T>
static __global__ void normalise(matrix<const T> x, const T *w, const T *b, const acc_t<T> *mean,
                                 const acc_t<T> *scale, matrix<T> y, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        const acc_t<T> unit = (widen(x.row(i)[j]) - mean[i]) * scale[i];
        y.row(i)[j] = narrow<T>(fma_(unit, widen(w[j]), widen(b[j])));
    }
}

/* level: mean(g). slope: mean(g x^). */
template <typename T>
static __global__ void grad_x(matrix<const T> x, const T *w, matrix<const T> dy,
                              const acc_t<T> *mean, const acc_t<T> *scale, const acc_t<T> *level,
                              const acc_t<T> *slope, matrix<T> dx, int64_t rows, int64_t d) {
    for (int64_t e = grid_thread(); e < rows * d; e += grid_threads()) {
        const int64_t i = e / d, j = e % d;
        const acc_t<T> unit = (widen(x.row(i)[j]) - mean[i]) * scale[i];
        const acc_t<T> g = widen(dy.row(i)[j]) * widen(w[j]);
        dx.row(i)[j] = narrow<T>(scale[i] * fma_(-unit, slope[i], g - level[i]));
    }
}

#endif
