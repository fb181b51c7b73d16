/*
 * The properties of the simulated device: the kernels' limits of an H200, compute capability 9.0,
 * and few multiprocessors and a small cache, since programs choose the size of their work by them.
 */
#ifndef ASSAY_SIM_EXEC_PROPERTIES_H
#define ASSAY_SIM_EXEC_PROPERTIES_H

#include "sim/exec/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    EXEC_MULTIPROCESSORS = 4,
    EXEC_MOST_THREADS = 1024, /* of a block */
    EXEC_SHARED = 49152,      /* of a block that has not asked for more */
    EXEC_MOST_SHARED = 232448,
    EXEC_RESERVED_SHARED = 1024, /* by CUDA, of each block */
    EXEC_MULTIPROCESSOR_SHARED = 233472,
    EXEC_MULTIPROCESSOR_THREADS = 2048,
    EXEC_MULTIPROCESSOR_REGISTERS = 65536,
    EXEC_MULTIPROCESSOR_BLOCKS = 32,
    EXEC_CACHE = 1 << 20, /* bytes of L2 */
    EXEC_CLOCK = 1000000, /* kHz; nothing is timed by it */
};

#define EXEC_DEVICE_NAME "assay simulated device (sm_90)"
#define EXEC_BUS_ID      "0000:00:00.0"

/* By the number that cudaDeviceAttr and CUdevice_attribute share. EXEC_INVALID_VALUE */
exec_error exec_attribute(int attribute, int *value);

/* Limits, kept and given back: the host's memory is what limits kernels here. By the number that
 * cudaLimit and CUlimit share. EXEC_UNSUPPORTED_LIMIT */
exec_error exec_set_limit(int limit, size_t value);
void exec_limits_reset(void);
void exec_limits_launched(bool allocates, bool prints); /* a kernel that calls malloc(), printf() */
exec_error exec_get_limit(int limit, size_t *value);

#endif
