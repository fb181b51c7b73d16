/* CUDA's vector types, with the alignment that CUDA gives them. */
#ifndef ASSAY_SIM_VECTOR_H
#define ASSAY_SIM_VECTOR_H

#include "sim/runtime.h"

#define SIM_VECTOR_TYPES(scalar, name, align2, align4)                                             \
    struct name##1 {                                                                               \
        scalar x;                                                                                  \
    };                                                                                             \
    struct alignas(align2) name##2 {                                                               \
        scalar x, y;                                                                               \
    };                                                                                             \
    struct alignas(align4) name##4 {                                                               \
        scalar x, y, z, w;                                                                         \
    };                                                                                             \
    static inline __attribute__((unused)) name##1 make_##name##1(scalar x) {                       \
        return {x};                                                                                \
    }                                                                                              \
    static inline __attribute__((unused)) name##2 make_##name##2(scalar x, scalar y) {             \
        return {x, y};                                                                             \
    }                                                                                              \
    static inline __attribute__((unused)) name##3 make_##name##3(scalar x, scalar y, scalar z) {   \
        return {x, y, z};                                                                          \
    }                                                                                              \
    static inline __attribute__((unused))                                                          \
    name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) {                               \
        return {x, y, z, w};                                                                       \
    }
#define SIM_VECTOR(scalar, name, align2, align4)                                                   \
    struct name##3 {                                                                               \
        scalar x, y, z;                                                                            \
    };                                                                                             \
    SIM_VECTOR_TYPES(scalar, name, align2, align4)

SIM_VECTOR(signed char, char, 2, 4)
SIM_VECTOR(unsigned char, uchar, 2, 4)
SIM_VECTOR(short, short, 4, 8)
SIM_VECTOR(unsigned short, ushort, 4, 8)
SIM_VECTOR(int, int, 8, 16)
SIM_VECTOR_TYPES(unsigned int, uint, 8, 16) /* uint3 is the runtime's */
SIM_VECTOR(long, long, 16, 16)
SIM_VECTOR(unsigned long, ulong, 16, 16)
SIM_VECTOR(long long, longlong, 16, 16)
SIM_VECTOR(unsigned long long, ulonglong, 16, 16)
SIM_VECTOR(float, float, 8, 16)
SIM_VECTOR(double, double, 16, 16)

#undef SIM_VECTOR
#undef SIM_VECTOR_TYPES

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_) {
    }
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {
    }
    constexpr operator uint3() const {
        return {x, y, z};
    }
};

#endif
