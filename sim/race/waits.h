/*
 * Waits that miss their phase. A wait tests a parity, so it finds its phase complete only as long
 * as the next one is not: a thread that comes later takes two phases for none, and waits for ever.
 * So each wait must be ordered before what completes the next phase. Whether it is does not depend
 * on the schedule.
 *
 * Other than accesses to memory, waits are ordered by whatever lets one thing happen only after
 * another: collectives of a warp, products of a warpgroup, relaxed arrivals, the issue of a copy.
 */
#ifndef ASSAY_SIM_RACE_WAITS_H
#define ASSAY_SIM_RACE_WAITS_H

#include "sim/race/locations.h"
#include "sim/race/race_report.h"

/* The waits of an mbarrier are watched, from its initialisation on; no longer. */
void sim_waits_begin(sim_location *l);
void sim_waits_forget(sim_location *l);

/* The running thread arrives, or issues a copy, and `known` is what it knows; before its clock goes
 * on. What an arrival knows is told others unless it is relaxed. */
void sim_waits_arrival(sim_location *l, sim_known *known, bool relaxed);
void sim_waits_copy(sim_location *l, sim_known *known);

/* A phase, that is counted already, is complete by what `by` did. */
void sim_waits_complete(sim_location *l, const sim_race_side *by);

/* The running thread is about to test a parity: it has missed its phase. */
bool sim_waits_missed(sim_location *l, uint32_t parity, uint32_t place);
/* It has found the last phase complete. */
void sim_waits_passed(sim_location *l, bool acquires, uint32_t place);

/* Lanes of a warp have met. */
void sim_waits_met(sim_clocks *c, int32_t warp, uint32_t lanes);

#endif
