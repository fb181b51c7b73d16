/* Copies of boxes of tensors, drawn at random, with all swizzles and over the tensor's edges: what
 * an H200 left of each (tma.def), for the simulated device to leave, too. */
#ifndef ASSAY_TESTS_TMA_H
#define ASSAY_TESTS_TMA_H

#include "sim/ptx/tensor_map.h"

#include <stdint.h>

enum {
    TMA_SHARED = 16384,
    TMA_MEMORY = 1 << 17,
    TMA_CASES = 12,
    TMA_SWIZZLES = 4,
    TMA_THREADS = 128
};

typedef enum tma_mode { TMA_LOAD, TMA_STORE, TMA_ADD, TMA_MODES } tma_mode;

typedef struct tma_case {
    ptx_tensor tensor; /* its base is NULL */
    int32_t start[PTX_TENSOR_RANK];
} tma_case;

/* One of TMA_CASES of a rank and a swizzle. */
tma_case tma_draw(uint32_t rank, uint32_t swizzle, tma_mode mode, int32_t i);

/* A kernel `k`: parameters are the image of shared memory, where it is to be stored, the map's
 * address and five coordinates. */
const char *tma_kernel(const tma_case *c, tma_mode mode);

/* What shared memory and the tensor's memory hold before. */
void tma_fill(void *shared, void *memory);
uint64_t tma_hash(uint64_t hash, const void *shared, const void *memory);

typedef struct tma_parameters {
    uint64_t image, out, map;
    int32_t start[PTX_TENSOR_RANK];
} tma_parameters;

#endif
