/* Kernels whose requests can be counted by hand. */
#ifndef ASSAY_TESTS_SIM_COUNT_H
#define ASSAY_TESTS_SIM_COUNT_H

#include "assay/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum count_kernel {
    COALESCED,
    STRIDED,
    SHIFTED,
    ONE_FOR_ALL,
    WHOLE,
    EVERY_OTHER,
    LAST_WARP_NOT_FULL,
    TRIPS_BY_LANE,
    HALF_WARPS,
    ROUNDS_OF_BLOCKS,
    ROUNDS_OF_WARPS,
    TRANSPOSED,
    TRANSPOSED_PADDED,
    WIDE_SHARED,
    CONFLICTS_OF_EIGHT,
    ATOMICS,
    MATRICES,
    MATRICES_IN_LINE,
    ASYNC_COPY,
    COLLECTIVES,
    HOPPER,
    COUNT_KERNELS,
} count_kernel;

enum { COUNT_INTS = 4096 };

/* Launches a kernel on COUNT_INTS ints each. */
assay_status count_launch(count_kernel kernel, int *in, int *out);

#ifdef __cplusplus
}
#endif

#endif
