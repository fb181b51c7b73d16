/* What the programs here share: each prints "ok" when its numbers are right. */
#ifndef ASSAY_TESTS_EXEC_CHECK_H
#define ASSAY_TESTS_EXEC_CHECK_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define CUDA(call)                                                                                 \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Returns the error, which the program then asks for. */
#define FAILS(call, error)                                                                         \
    do {                                                                                           \
        EXPECT((call) == (error));                                                                 \
        EXPECT(cudaGetLastError() == (error));                                                     \
    } while (0)

#endif
