/* The ways into the race recorder. */
#ifndef ASSAY_SIM_RACE_RACE_ACCESS_H
#define ASSAY_SIM_RACE_RACE_ACCESS_H

#include "sim/race/race.h"
#include "sim/trace.h"

/* The current thread accesses memory, if one runs; memory that nothing watches is ignored. `place`:
 * a return address. */
void sim_race_access(const volatile void *address, size_t bytes, sim_access kind, uint64_t place);

/* The same by a call of memcpy and the like, which may be the runtime's own. */
void sim_race_copied(const volatile void *address, size_t bytes, sim_access kind, uint64_t place);

#endif
