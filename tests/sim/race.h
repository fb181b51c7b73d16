/* Kernels with one race each, and the same without it. */
#ifndef ASSAY_TESTS_SIM_RACE_H
#define ASSAY_TESTS_SIM_RACE_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a block: two warps, the second of them not full. */
enum { RACE_THREADS = 48, RACE_BLOCKS = 3, RACE_INTS = 4 * RACE_THREADS * RACE_BLOCKS };

typedef enum race_kernel {
    READ_BEFORE_BARRIER,
    WRITE_AFTER_READ,
    SHARED_HISTOGRAM,
    GLOBAL_HISTOGRAM,
    BLOCKS_MEET,
    READ_OTHER_BLOCK,
    NO_SYNCWARP,
    SHUFFLE_FOR_SYNCWARP,
    HALF_A_WARP,
    NEVER_WRITTEN,
    NEVER_WRITTEN_DYNAMIC,
    READ_BESIDE_ATOMIC,
    CLEAR_BESIDE_ATOMIC,
    VECTOR_COPY,
    BYTES_OF_A_WORD,
    WRITE_AFTER_OTHER_READERS,
    WRITE_AFTER_OTHER_BLOCK,
    WIDE_ROWS,
    HANDED_OVER,
    CHECKED_READ,
    RETURNED_VECTOR,
    RETURNED_STRUCTURE,
    RACE_KERNELS,
} race_kernel;

/* The source lines of the two accesses that race, known once the kernel has run; [1] is 0 for an
 * uninitialised read. */
extern int race_lines[RACE_KERNELS][2];

/* Not 0: each block's clock shows that much when its kernel begins, as behind so many barriers. */
extern uint32_t race_late;
void race_be_late(void); /* what each thread of it calls; in race_test.c */

/* Launches a kernel on RACE_INTS ints of device memory. */
assay_status race_launch(race_kernel kernel, bool right, int *memory);

/* A tiled product of n x n matrices, n a multiple of 16, for the recorder's speed. */
assay_status race_matmul(int n, const float *a, const float *b, float *c);

#ifdef __cplusplus
}
#endif

#endif
