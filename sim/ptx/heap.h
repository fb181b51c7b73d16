/*
 * The device's heap: malloc() and free() of kernels. Memory lives on from one launch to the next.
 * What a kernel gives back is taken again from the next launch on, so that a race recorder does not
 * take its two owners for one.
 */
#ifndef ASSAY_SIM_PTX_HEAP_H
#define ASSAY_SIM_PTX_HEAP_H

#include "sim/ptx/device/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cudaLimitMallocHeapSize, 8 MiB at first: how much may be taken at a time. */
void ptx_heap_limit(uint64_t bytes);

/* At a multiple of 16, filled with bytes of 0xff; NULL: the limit is reached. */
void *ptx_heap_take(uint64_t bytes);
/* NULL is nothing; stops the kernel where the heap has not given that, or has taken it back. */
void ptx_heap_return(void *memory, const sim_site *site);

/* A launch has ended. */
void ptx_heap_settle(void);

/* "byte 3 of 100 from malloc()", "byte 0 behind 100 from malloc()", "byte 3 of 100 that were
 * freed"; false: the heap does not lie there. */
bool ptx_heap_describe(const volatile void *address, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
