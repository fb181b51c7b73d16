/*
 * How v3 takes its operands. A core has
 *     storage                     their type
 *     operand(v)                  v as the products take it
 *     ROUNDS                      whether that is not v itself
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V3_CORE_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V3_CORE_H

#include "kernels/conv3d_groupnorm_mean/v3_tile.h"

/* On CUDA cores. */
template <typename T> struct fma_core {
    typedef T storage;
    static constexpr bool ROUNDS = false;

    static __device__ __forceinline__ T operand(T v) {
        return v;
    }
};

/* v so that, cut to TF32 by the instruction, it is rounded to nearest, ties away from zero. An
 * infinity is one still when it is cut; a NaN, whose bits could carry over, stays what it is. */
static __device__ __forceinline__ float round_to_tf32(float v) {
    return v == v ? __uint_as_float(__float_as_uint(v) + 0x1000u) : v;
}

/* Rounded to TF32, on tensor cores. */
struct tf32_core {
    typedef float storage;
    static constexpr bool ROUNDS = true;

    static __device__ __forceinline__ float operand(float v) {
        return round_to_tf32(v);
    }
};

#endif
