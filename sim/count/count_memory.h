/* Which of the device's memories an address lies in. */
#ifndef ASSAY_SIM_COUNT_COUNT_MEMORY_H
#define ASSAY_SIM_COUNT_COUNT_MEMORY_H

#include "sim/trace.h"

#include <stdbool.h>

/* A launch begins; a block, with its static and its dynamic shared memory. */
void sim_memory_launch(void);
void sim_memory_block(const sim_range shared[2]);

/* False: the memory is the host's own, or a local of the thread. In shared memory, where the bank
 * counts, `place` is counted from the start of its part. `statics`: variables of the program that
 * are in no kernel file's section are shared memory, too. */
bool sim_memory_find(const volatile void *address, bool statics, bool *shared, uintptr_t *place);

#endif
