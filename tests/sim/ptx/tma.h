/* Copies of boxes of tensors, drawn at random, with all swizzles and over the tensor's edges: what
 * an H200 left of each in memory (tma.def), for the simulated device to leave, too. */
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

/* The bytes of its box. */
uint32_t tma_bytes(const tma_case *c);

/* A kernel `k` of tma_parameters, for a block of TMA_THREADS. */
const char *tma_kernel(uint32_t rank, tma_mode mode);

/* What shared memory and the tensor's memory hold before. */
void tma_fill(void *shared, void *memory);
uint64_t tma_hash(uint64_t hash, const void *shared, const void *memory);

typedef struct tma_parameters {
    uint64_t image; /* of shared memory, before; TMA_SHARED bytes */
    uint64_t out;   /* of shared memory, behind the copy */
    uint64_t map;
    int32_t start[PTX_TENSOR_RANK];
    uint32_t bytes;
} tma_parameters;

#endif
