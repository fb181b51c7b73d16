/* Locations in memory that order threads, for the files that keep them. */
#ifndef ASSAY_SIM_RACE_LOCATIONS_H
#define ASSAY_SIM_RACE_LOCATIONS_H

#include "sim/race/clocks.h"

enum { SIM_PHASES = 16 };

/* The knowledge that a location gives to its strong readers: since its last strong write, or
 * through a chain of atomics. Likewise an mbarrier, of its phases that are complete. */
typedef struct sim_location {
    const volatile void *address; /* NULL: free */
    sim_known *released[SCOPES];
    uint32_t block;     /* whose released[BLOCK_SCOPE] is */
    sim_known *pending; /* of an mbarrier's phase that is not complete */
    uint32_t agent;     /* of an mbarrier: the number of its agent, + 1 */
    uint32_t owner;     /* serial of the block that counts it */
    uint32_t phases;    /* that are complete */
    sim_known
        *completed[SIM_PHASES]; /* the knowledge that the last of them gave, by their number */
    struct sim_waits *waits;    /* for its phases (waits.h); NULL: they are not watched */
} sim_location;

/* NULL: there is none. */
sim_location *sim_location_find(const volatile void *address);
sim_location *sim_location_make(const volatile void *address);
void sim_locations_each(void (*see)(sim_location *l));

#endif
