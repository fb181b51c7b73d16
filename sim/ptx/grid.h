/*
 * grid.sync() as cooperative groups compile it: one thread of each block counts its block in a word
 * that the driver gives them, and reads that word until all blocks have come. To the recorder these
 * are arrivals at a barrier and waits for a phase of it. As plain releases and acquires they would
 * order too much: a thread that looks late learns of arrivals for the phase behind the one it waits
 * for.
 */
#ifndef ASSAY_SIM_PTX_GRID_H
#define ASSAY_SIM_PTX_GRID_H

#include <stddef.h>
#include <stdint.h>

/* Of the launch that begins: where the word's structure lies. NULL: no memory. */
uint32_t *ptx_grid_begin(uint64_t n_blocks);
void ptx_grid_end(void);

/* As ptx_context.access. */
void ptx_grid_access(const void *address, size_t bytes, uint32_t how, const void *value,
                     uint32_t site);

#endif
