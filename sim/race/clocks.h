/*
 * The clocks of blocks and threads, for the files that keep their order (order.h): how they go on,
 * and what they say that a thread knows.
 */
#ifndef ASSAY_SIM_RACE_CLOCKS_H
#define ASSAY_SIM_RACE_CLOCKS_H

#include "sim/race/order.h"

/* What a thread releases, and what it has read, is kept by scope. */
enum { BLOCK_SCOPE, GPU_SCOPE, SCOPES };

/* Aborts the process where there is no memory. */
void *sim_clocks_need(void *memory);

/* A time of the block's that no clock of it has shown. */
uint32_t sim_clocks_next(sim_clocks *c);

static inline uint32_t sim_clocks_time(const sim_clocks *c, int32_t thread) {
    return c->clock[thread] > c->base ? c->clock[thread] : c->base;
}

/* The thread's work from now on is later than the work that it lets others know now. */
void sim_clocks_tick(sim_clocks *c, int32_t thread);

/* Brings the copies in sim_running_now up to date. */
void sim_clocks_refresh(void);

static inline sim_ties *sim_clocks_ties(sim_clocks *c, int32_t thread) {
    c->tied = true;
    return &c->ties[thread];
}

/* All that the thread knows, its own past included. Counted. */
sim_known *sim_clocks_knowledge(sim_clocks *c, int32_t thread);

/* Those of a block that has not ended, by its serial, or NULL. */
sim_clocks *sim_clocks_of(uint32_t serial);

static inline void sim_known_replace(sim_known **known, sim_known *by) {
    sim_known *old = *known;
    *known = sim_known_keep(by);
    sim_known_drop(old);
}

/* Drops what all locations in memory let others know. */
void sim_locations_forget(void);

/* The agent `number` of that kind, of the block `owner`, works for the running thread. */
sim_async sim_agent_ask(uint32_t owner, sim_agent agent, uint32_t number, uint32_t time);

#endif
