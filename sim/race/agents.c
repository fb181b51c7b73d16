/* Agents: asynchronous work that threads ask for, and its proxy's fences. */
#include "sim/race/clocks.h"

#include <stdlib.h>

sim_async sim_agent_ask(uint32_t owner, sim_agent agent, uint32_t number, uint32_t time) {
    sim_clocks *c = sim_clocks_of(owner);
    number %= SIM_MAX_THREADS;
    if (c) {
        c->issuer[agent][number].thread = sim_running_now.thread;
        c->issuer[agent][number].block = sim_running_now.clocks->block;
    }
    return (sim_async){owner + (uint32_t)agent, number, time};
}

sim_async sim_order_agent(sim_agent agent, uint32_t number, uint32_t time) {
    sim_clocks *c = sim_running_now.clocks;
    c->tied = true;
    return sim_agent_ask(c->serial, agent, number, time);
}

void sim_order_done(sim_agent agent, uint32_t number, uint32_t until) {
    sim_clocks *c = sim_running_now.clocks;
    const sim_moment m = {
        sim_one_thread(c->serial + (uint32_t)agent, (int32_t)(number % SIM_MAX_THREADS)), until};
    sim_known *known = sim_known_new(&m, 1);
    sim_known_add(&sim_clocks_ties(c, sim_running_now.thread)->known, known);
    sim_known_drop(known);
}

void sim_order_proxy_fence(void) {
    sim_clocks *c = sim_running_now.clocks;
    const int32_t thread = sim_running_now.thread;
    sim_fences *f = &c->fences[thread];
    if (f->n == f->room) {
        f->room = f->room == 0 ? 16 : 2 * f->room;
        f->time = sim_clocks_need(realloc(f->time, f->room * sizeof *f->time));
    }
    c->fenced = true;
    f->time[f->n++] = sim_clocks_time(c, thread);
    sim_clocks_tick(c, thread);
}

void sim_order_issuer(uint32_t serial, int32_t number, uint64_t *block, int32_t *thread) {
    const sim_clocks *c = sim_clocks_of(serial - serial % SIM_SERIALS);
    *block = sim_order_block_of(serial);
    *thread = number;
    if (sim_is_thread(serial) || !c)
        return;
    *block = c->issuer[serial % SIM_SERIALS][number].block;
    *thread = c->issuer[serial % SIM_SERIALS][number].thread;
}
