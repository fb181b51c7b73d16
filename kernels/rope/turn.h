/* The angle of a pair of rope's, and the rotation of one. */
#ifndef ASSAY_ROPE_TURN_H
#define ASSAY_ROPE_TURN_H

#include "kernels/common/exp64.h"
#include "kernels/common/numeric.h"
#include "kernels/common/trig.h"

/* cos and sin of position theta^(-pair / pairs), made in fp64 whatever the tensors' type. */
static __device__ __forceinline__ turn turn_at(double log_theta, double direction, int64_t position,
                                               int64_t pair, int64_t pairs) {
    const double exponent = -log_theta * ((double)pair / (double)pairs);
    const turn t = turn_of((double)position * exp_(exponent));
    return {t.cosine, direction * t.sine};
}

/* Rotates (a, b), in the accumulator's type. */
template <typename T>
static __device__ __forceinline__ void rotate(T a, T b, acc_t<T> cosine, acc_t<T> sine, T *to_a,
                                              T *to_b) {
    const acc_t<T> x = widen(a), y = widen(b);
    *to_a = narrow<T>(fma_(x, cosine, -(y * sine)));
    *to_b = narrow<T>(fma_(x, sine, y * cosine));
}

#endif
