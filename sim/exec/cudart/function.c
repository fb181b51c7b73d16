/* Facts about kernels before they run: attributes, occupancy, names. */
#include "sim/exec/cudart/cudart.h"
#include "sim/exec/module.h"
#include "sim/exec/properties.h"

#include <string.h>

typedef struct function_attributes {
    size_t shared, constants, local;
    int threads, registers, ptx, binary, cached, most_dynamic_shared, carveout;
    int needs_cluster, cluster[3], scheduling, any_cluster_size;
    int reserved[16];
} function_attributes;

static exec_error attributes_of(function_attributes *a, const void *function) {
    exec_kernel *k;
    if (a == NULL)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_kernel_of(function, &k);
    if (error != EXEC_SUCCESS)
        return error;
    const size_t own = k->function->shared_bytes;
    const int left = own < EXEC_SHARED ? (int)(EXEC_SHARED - own) : 0;
    const function_attributes filled = {
        .shared = own,
        .local = k->function->local_bytes,
        .threads = exec_kernel_threads(k),
        .registers = exec_kernel_registers(k),
        .ptx = EXEC_ARCHITECTURE,
        .binary = EXEC_ARCHITECTURE,
        .most_dynamic_shared = k->most_dynamic_shared >= 0 ? k->most_dynamic_shared : left,
        .carveout = k->carveout,
        .cluster = {k->cluster[0], k->cluster[1], k->cluster[2]},
        .any_cluster_size = k->any_cluster_size,
    };
    /* The struct has grown from one CUDA to the next: what every one has. */
    memcpy(a, &filled,
           EXEC_CUDART >= 12 ? sizeof filled : offsetof(function_attributes, needs_cluster));
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaFuncGetAttributes(function_attributes *attributes, const void *function) {
    EXEC_CALL(attributes_of(attributes, function));
}

static exec_error set_attribute(const void *function, int attribute, int value) {
    exec_kernel *k;
    const exec_error error = exec_kernel_of(function, &k);
    return error == EXEC_SUCCESS ? exec_kernel_set(k, attribute, value) : error;
}

EXPORT exec_error cudaFuncSetAttribute(const void *function, int attribute, int value) {
    EXEC_CALL(set_attribute(function, attribute, value));
}

static exec_error known(const void *function) {
    exec_kernel *k;
    return exec_kernel_of(function, &k);
}

EXPORT exec_error cudaFuncSetCacheConfig(const void *function, int preference) {
    (void)preference;
    EXEC_CALL(known(function));
}
EXPORT exec_error cudaFuncSetSharedMemConfig(const void *function, int width) {
    (void)width;
    EXEC_CALL(known(function));
}

static exec_error name_of(const char **name, const void *function) {
    exec_kernel *k;
    const exec_error error = name != NULL ? exec_kernel_of(function, &k) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *name = k->name;
    return error;
}

EXPORT exec_error cudaFuncGetName(const char **name, const void *function) {
    EXEC_CALL(name_of(name, function));
}

static exec_error parameter_of(const void *function, size_t i, size_t *offset, size_t *bytes) {
    exec_kernel *k;
    const exec_error error = offset != NULL ? exec_kernel_of(function, &k) : EXEC_INVALID_VALUE;
    if (error != EXEC_SUCCESS)
        return error;
    if (i >= (size_t)k->function->n_parameters)
        return EXEC_INVALID_VALUE;
    *offset = k->function->parameters[i].offset;
    if (bytes != NULL)
        *bytes = k->function->parameters[i].bytes;
    return EXEC_SUCCESS;
}

EXPORT exec_error cudaFuncGetParamInfo(const void *function, size_t i, size_t *offset,
                                       size_t *bytes) {
    EXEC_CALL(parameter_of(function, i, offset, bytes));
}

/* A kernel by a handle that launches and graphs take as they take the stub's address. */
static exec_error handle_of(void **handle, const void *function) {
    exec_kernel *k;
    const exec_error error = handle != NULL ? exec_kernel_of(function, &k) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *handle = k;
    return error;
}

EXPORT exec_error cudaGetFuncBySymbol(void **handle, const void *function) {
    EXEC_CALL(handle_of(handle, function));
}
EXPORT exec_error cudaGetKernel(void **handle, const void *function) {
    EXEC_CALL(handle_of(handle, function));
}

/* ---- occupancy ---- */

static exec_error blocks(int *n, const void *function, int threads, size_t dynamic_shared) {
    exec_kernel *k;
    if (n == NULL || threads <= 0)
        return EXEC_INVALID_VALUE;
    const exec_error error = exec_kernel_of(function, &k);
    if (error == EXEC_SUCCESS)
        *n = exec_blocks_per_multiprocessor(k, (uint64_t)threads, dynamic_shared);
    return error;
}

EXPORT exec_error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *function,
                                                                int threads,
                                                                size_t dynamic_shared) {
    EXEC_CALL(blocks(n, function, threads, dynamic_shared));
}
EXPORT exec_error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *n, const void *function, int threads, size_t dynamic_shared, unsigned flags) {
    EXEC_CALL(flags <= 1 ? blocks(n, function, threads, dynamic_shared) : EXEC_INVALID_VALUE);
}

static exec_error shared_for(size_t *bytes, const void *function, int n, int threads) {
    exec_kernel *k;
    const exec_error error = bytes != NULL ? exec_kernel_of(function, &k) : EXEC_INVALID_VALUE;
    return error == EXEC_SUCCESS ? exec_shared_for_blocks(k, n, threads, bytes) : error;
}

EXPORT exec_error cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function,
                                                            int n, int threads) {
    EXEC_CALL(shared_for(bytes, function, n, threads));
}

static exec_error clusters(int *n, const void *function, const launch_config *config) {
    int per = 0;
    if (n == NULL || config == NULL)
        return EXEC_INVALID_VALUE;
    const exec_launch l = cudart_launch_of(config);
    const exec_dim b = config->block;
    const exec_error error = blocks(&per, function, (int)(b.x * b.y * b.z), config->dynamic_shared);
    const uint32_t size = l.cluster.x > 0 ? l.cluster.x * l.cluster.y * l.cluster.z : 1;
    if (error == EXEC_SUCCESS)
        *n = per * EXEC_MULTIPROCESSORS / (int)(size > 0 ? size : 1);
    return error;
}

EXPORT exec_error cudaOccupancyMaxActiveClusters(int *n, const void *function,
                                                 const launch_config *config) {
    EXEC_CALL(clusters(n, function, config));
}

static exec_error cluster_size(int *size, const void *function) {
    exec_kernel *k;
    const exec_error error = size != NULL ? exec_kernel_of(function, &k) : EXEC_INVALID_VALUE;
    if (error == EXEC_SUCCESS)
        *size = k->any_cluster_size ? 16 : 8;
    return error;
}

EXPORT exec_error cudaOccupancyMaxPotentialClusterSize(int *size, const void *function,
                                                       const launch_config *config) {
    (void)config;
    EXEC_CALL(cluster_size(size, function));
}
