/*
 * The wrappers of what the GPU's modules call, linked into them with -DASSAY_CUDA_FAULTS=ON. The
 * program that loads a module may be able to inject faults; in any other they hand every call on.
 */
#include "tests/faults/inject/inject.h"
#include "tests/faults/inject/shape.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

/* cuDNN's headers may be missing: the values of version 9. */
enum {
    CUDNN_HOST_ALLOCATION_FAILED = 4003,
    CUDNN_BAD_PARAM = 2000,
    CUDNN_EXECUTION_FAILED = 5000,
};

#pragma weak inject_fires

/* What cudaGetLastError() is to say, once. */
static _Thread_local cudaError_t remembered;

static bool fires(const char *name) {
    return inject_fires != NULL && inject_fires(name);
}

#define DECLARE(name)                                                                              \
    word __real_##name(MANY_WORDS);                                                                \
    word __wrap_##name(MANY_WORDS);                                                                \
    word __wrap_##name(MANY_WORDS)

#define CUDA(name, error)                                                                          \
    DECLARE(name) {                                                                                \
        if (!fires(#name))                                                                         \
            return __real_##name(MANY_GIVEN);                                                      \
        remembered = error;                                                                        \
        return error;                                                                              \
    }

#define LIBRARY(name, error)                                                                       \
    DECLARE(name) {                                                                                \
        return fires(#name) ? (word)error : __real_##name(MANY_GIVEN);                             \
    }

#define LAST(name)                                                                                 \
    DECLARE(name) {                                                                                \
        const cudaError_t kept = remembered;                                                       \
        remembered = cudaSuccess;                                                                  \
        const word real = __real_##name(MANY_GIVEN);                                               \
        if (kept != cudaSuccess)                                                                   \
            return kept;                                                                           \
        return fires(#name) ? (word)cudaErrorLaunchFailure : real;                                 \
    }

#include "tests/faults/cuda/calls.def"
