/* mbarriers: what their phases let threads know. */
#include "sim/race/locations.h"
#include "sim/race/waits.h"

/* Each has an agent, whose clock counts phases: so a thread knows how many are complete, by
 * whatever way it came to know. */
void sim_order_mbarrier_init(const volatile void *barrier) {
    sim_clocks *c = sim_running_now.clocks;
    sim_location *l = sim_location_make(barrier);
    sim_known_replace(&l->released[BLOCK_SCOPE], NULL);
    sim_known_replace(&l->released[GPU_SCOPE], NULL);
    sim_known_replace(&l->pending, NULL);
    for (int p = 0; p < SIM_PHASES; ++p)
        sim_known_replace(&l->completed[p], NULL);
    l->owner = c->serial;
    l->agent = 1 + c->n_mbarriers++ % SIM_MAX_THREADS;
    l->phases = 0;
    sim_waits_forget(l);
}

void sim_order_mbarrier_watch(const volatile void *barrier) {
    sim_waits_begin(sim_location_make(barrier));
}

void sim_order_mbarrier_arrive(const volatile void *barrier, bool relaxed) {
    sim_clocks *c = sim_running_now.clocks;
    const int32_t thread = sim_running_now.thread;
    sim_location *l = sim_location_make(barrier);
    sim_known *known = sim_clocks_knowledge(c, thread);
    if (!relaxed)
        sim_known_add(&l->pending, known);
    else if (c->tied)
        sim_known_add(&l->pending, c->ties[thread].released[GPU_SCOPE]);
    sim_waits_arrival(l, known, relaxed);
    sim_known_drop(known);
    sim_clocks_tick(c, thread);
}

void sim_order_mbarrier_bytes(const volatile void *barrier) {
    sim_clocks *c = sim_running_now.clocks;
    sim_known *known = sim_clocks_knowledge(c, sim_running_now.thread);
    sim_waits_copy(sim_location_make(barrier), known);
    sim_known_drop(known);
    sim_clocks_tick(c, sim_running_now.thread);
}

void sim_order_mbarrier_complete(const volatile void *barrier, const sim_race_side *by) {
    sim_location *l = sim_location_find(barrier);
    if (!l)
        return;
    sim_known **completed = &l->completed[l->phases++ % SIM_PHASES];
    const sim_moment m = {sim_one_thread(l->owner + SIM_AGENT_MBARRIER, (int32_t)l->agent - 1),
                          l->phases};
    sim_known *known = sim_known_new(&m, 1);
    sim_known_add(&l->released[BLOCK_SCOPE], known);
    sim_known_add(&l->released[BLOCK_SCOPE], l->pending);
    sim_known_settle(l->released[BLOCK_SCOPE]);
    sim_known_drop(known);
    sim_known_replace(completed, l->released[BLOCK_SCOPE]);
    sim_known_replace(&l->pending, NULL);
    if (by)
        sim_waits_complete(l, by);
}

/*
 * A wait is for the first phase of its parity that the thread does not know to be complete. It may
 * find later ones complete, too, which another time it does not: what those would let it know is
 * not what it has waited for.
 */
void sim_order_mbarrier_wait(const volatile void *barrier, uint32_t parity) {
    sim_clocks *c = sim_running_now.clocks;
    sim_location *l = sim_location_find(barrier);
    if (!l)
        return;
    sim_ties *ties = sim_clocks_ties(c, sim_running_now.thread);
    uint32_t phase =
        sim_known_until(ties->known, l->owner + SIM_AGENT_MBARRIER, (int32_t)l->agent - 1);
    phase += (phase & 1) != parity;
    if (phase < l->phases && l->phases - phase > SIM_PHASES)
        phase = l->phases - SIM_PHASES + ((l->phases - SIM_PHASES + parity) & 1);
    if (phase < l->phases)
        sim_known_add(&ties->known, l->completed[phase % SIM_PHASES]);
}

bool sim_order_mbarrier_missed(const volatile void *barrier, uint32_t parity, uint32_t place) {
    sim_location *l = sim_location_find(barrier);
    return l && sim_waits_missed(l, parity, place);
}

void sim_order_mbarrier_passed(const volatile void *barrier, bool acquires, uint32_t place) {
    sim_location *l = sim_location_find(barrier);
    if (l)
        sim_waits_passed(l, acquires, place);
}

sim_async sim_order_mbarrier_agent(const volatile void *barrier) {
    sim_clocks *c = sim_running_now.clocks;
    sim_location *l = sim_location_make(barrier);
    c->tied = true;
    if (l->waits)
        sim_order_mbarrier_bytes(barrier);
    return sim_agent_ask(l->owner, SIM_AGENT_MBARRIER, l->agent - 1, l->phases);
}
