/* CUDA C under nvcc: the interface of device/kernel.h, on top of the toolkit. */
#ifndef ASSAY_DEVICE_CUDA_H
#define ASSAY_DEVICE_CUDA_H

#include "assay/status.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <type_traits>

#define ASSAY_DEVICE      cuda
#define ASSAY_DEVICE_NAME "cuda"

/* 227 KB, sm_90: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". */
#define ASSAY_MAX_SHARED    232448
#define ASSAY_SHARED_BUDGET ASSAY_MAX_SHARED

#define ASSAY_MAX_GRID 2147483647

/* Of an H100 or H200 (SXM); plans that want a block for each ask for no more. */
#define ASSAY_MULTIPROCESSORS 132

#define ASSAY_DYNAMIC_SHARED(type, name)                                                           \
    extern __shared__ __align__(16) unsigned char assay_dynamic_shared[];                          \
    type *name = reinterpret_cast<type *>(assay_dynamic_shared)

/* ASSAY_OK, or ASSAY_ERR_DEVICE with one line: `what`, and the error in CUDA's own words. */
static inline assay_status assay_cuda_check(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_DEVICE, "cuda: %s: %s (%s)", what, cudaGetErrorString(error),
                      cudaGetErrorName(error));
}

template <class T> static __device__ __forceinline__ T load_whole(const T *from) {
    return *from;
}

/* Held by the thread whose scope it stands in, if it asks. <mutex> would be two fifths of the time
 * that nvcc takes for a small kernel. */
struct assay_cuda_hold {
    pthread_mutex_t *held; /* or NULL */
    explicit assay_cuda_hold(pthread_mutex_t *mutex) : held(mutex) {
        if (held != NULL)
            (void)pthread_mutex_lock(held);
    }
    ~assay_cuda_hold() {
        if (held != NULL)
            (void)pthread_mutex_unlock(held);
    }
    assay_cuda_hold(const assay_cuda_hold &) = delete;
    assay_cuda_hold &operator=(const assay_cuda_hold &) = delete;
};

/* The launch's error is the last one. */
template <class... P, class... A>
static inline void assay_cuda_launch_clusters(void *stream, unsigned cluster, dim3 grid, dim3 block,
                                              size_t shared_bytes, void (*kernel)(P...),
                                              A... arguments) {
    cudaLaunchAttribute shape = {};
    shape.id = cudaLaunchAttributeClusterDimension;
    shape.val.clusterDim.x = cluster;
    shape.val.clusterDim.y = shape.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = static_cast<cudaStream_t>(stream);
    config.attrs = &shape;
    config.numAttrs = 1;
    (void)cudaLaunchKernelEx(&config, kernel, static_cast<P>(arguments)...);
}

template <class... P, class... A>
static inline assay_status assay_cuda_launch(const char *name, void *stream, unsigned cluster,
                                             dim3 grid, dim3 block, size_t shared_bytes,
                                             void (*kernel)(P...), A... arguments) {
    static_assert(sizeof...(P) == sizeof...(A), "a launch needs one argument for each parameter");
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return ASSAY_OK;
    /* Without opting in, static and dynamic shared memory together may have 48 KB. The kernel keeps
     * the number, and no other thread may set a smaller one before the launch. */
    static pthread_mutex_t setting = PTHREAD_MUTEX_INITIALIZER;
    const assay_cuda_hold hold(shared_bytes > 0 ? &setting : NULL);
    if (shared_bytes > 0) {
        cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel),
                                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 static_cast<int>(shared_bytes));
        if (error != cudaSuccess) {
            (void)cudaGetLastError(); /* it would be blamed on the next launch */
            return assay_fail(
                ASSAY_ERR_DEVICE, "cuda: launch of %s: %zu bytes of dynamic shared memory: %s (%s)",
                name, shared_bytes, cudaGetErrorString(error), cudaGetErrorName(error));
        }
    }
    if (cluster > 1)
        assay_cuda_launch_clusters(stream, cluster, grid, block, shared_bytes, kernel,
                                   arguments...);
    else
        kernel<<<grid, block, shared_bytes, static_cast<cudaStream_t>(stream)>>>(arguments...);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_DEVICE,
                      "cuda: launch of %s, grid %u x %u x %u, block %u x %u x %u: %s (%s)", name,
                      grid.x, grid.y, grid.z, block.x, block.y, block.z, cudaGetErrorString(error),
                      cudaGetErrorName(error));
}

#define ASSAY_LAUNCH(stream, grid, block, shared_bytes, kernel, ...)                               \
    assay_cuda_launch(#kernel, (stream), 1, (grid), (block), (shared_bytes),                       \
                      kernel __VA_OPT__(, ) __VA_ARGS__)

#define ASSAY_LAUNCH_CLUSTERS(stream, cluster, grid, block, shared_bytes, kernel, ...)             \
    assay_cuda_launch(#kernel, (stream), (cluster), (grid), (block), (shared_bytes),               \
                      kernel __VA_OPT__(, ) __VA_ARGS__)

#endif
