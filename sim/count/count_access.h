/* The way into the counters: the recorder calls these while they are on. */
#ifndef ASSAY_SIM_COUNT_COUNT_ACCESS_H
#define ASSAY_SIM_COUNT_COUNT_ACCESS_H

#include "sim/race/race.h"
#include "sim/runtime.h"
#include "sim/trace.h"

extern bool sim_counting;
static inline bool sim_count_on(void) {
    return sim_counting;
}

/* As the trace_ hooks of the same names (trace.h). */
void sim_count_launch(const char *kernel);
void sim_count_launch_end(void);
void sim_count_block(const sim_range shared[2]);
void sim_count_block_end(void);
void sim_count_barrier(void);
void sim_count_met(sim_collective kind, int32_t warp, uint32_t lanes);
void sim_count_event(sim_event event, uint64_t amount);

/* The current thread accesses memory; as sim_race_access. `statics`: variables of the program that
 * are in no kernel file's section count as shared memory. */
void sim_count_access(const volatile void *address, size_t bytes, sim_access kind, uint64_t place,
                      bool statics);

/* It issues a cp.async. */
void sim_count_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                    uint64_t place);

#endif
