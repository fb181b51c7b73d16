/* Locations in memory that order threads: flags, counters, and mbarriers. */
#include "sim/race/clocks.h"

#include <stdlib.h>

enum { PHASES = 16 };

/* The knowledge that a location gives to its strong readers: since its last strong write, or
 * through a chain of atomics. Likewise an mbarrier, of its phases that are complete. */
typedef struct location {
    const volatile void *address; /* NULL: free */
    sim_known *released[SCOPES];
    uint32_t block;               /* whose released[BLOCK_SCOPE] is */
    sim_known *pending;           /* of an mbarrier's phase that is not complete */
    uint32_t agent;               /* of an mbarrier: the number of its agent, + 1 */
    uint32_t owner;               /* serial of the block that counts it */
    uint32_t phases;              /* that are complete */
    sim_known *completed[PHASES]; /* the knowledge that the last of them gave, by their number */
} location;

static struct {
    location *at; /* by a hash of the address, open addressing */
    size_t n, room;
} table;

static location *slot_of(const volatile void *address) {
    const size_t mask = table.room - 1;
    size_t i = (size_t)(((uintptr_t)address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    for (;; ++i)
        if (table.at[i & mask].address == address || !table.at[i & mask].address)
            return &table.at[i & mask];
}

/* NULL: there is none. */
static location *find_location(const volatile void *address) {
    location *l = table.n > 0 ? slot_of(address) : NULL;
    return l && l->address ? l : NULL;
}

static void grow_locations(void) {
    location *old = table.at;
    const size_t n = table.room;
    table.room = n == 0 ? 256 : 2 * n;
    table.at = sim_clocks_need(calloc(table.room, sizeof *old));
    for (size_t i = 0; i < n; ++i)
        if (old[i].address)
            *slot_of(old[i].address) = old[i];
    free(old);
}

static location *make_location(const volatile void *address) {
    if (2 * (table.n + 1) > table.room)
        grow_locations();
    location *l = slot_of(address);
    table.n += l->address == NULL;
    l->address = address;
    return l;
}

void sim_locations_forget(void) {
    for (size_t i = 0; i < table.room && table.n > 0; ++i) {
        location *l = &table.at[i];
        if (!l->address)
            continue;
        sim_known_drop(l->released[BLOCK_SCOPE]);
        sim_known_drop(l->released[GPU_SCOPE]);
        sim_known_drop(l->pending);
        for (int p = 0; p < PHASES; ++p)
            sim_known_drop(l->completed[p]);
        *l = (location){0};
        --table.n;
    }
}

/* ---- fences, and strong accesses ---- */

void sim_order_fence(uint32_t how) {
    sim_clocks *c = sim_running_now.clocks;
    const int32_t thread = sim_running_now.thread;
    sim_ties *ties = sim_clocks_ties(c, thread);
    const int scope = (how & SIM_BLOCK_SCOPE) != 0 ? BLOCK_SCOPE : GPU_SCOPE;
    for (int s = 0; (how & SIM_ACQUIRE) != 0 && s <= scope; ++s) {
        sim_known_add(&ties->known, ties->pending[s]);
        sim_known_replace(&ties->pending[s], NULL);
    }
    if ((how & SIM_RELEASE) == 0)
        return;
    sim_known *known = sim_clocks_knowledge(c, thread);
    for (int s = 0; s <= scope; ++s)
        sim_known_replace(&ties->released[s], known);
    sim_known_drop(known);
    sim_clocks_tick(c, thread);
}

static void acquire_from(const location *l, sim_clocks *c, uint32_t how) {
    sim_ties *ties = sim_clocks_ties(c, sim_running_now.thread);
    const bool now = (how & SIM_ACQUIRE) != 0;
    if (l->block == c->serial)
        sim_known_add(now ? &ties->known : &ties->pending[BLOCK_SCOPE], l->released[BLOCK_SCOPE]);
    if ((how & SIM_BLOCK_SCOPE) == 0)
        sim_known_add(now ? &ties->known : &ties->pending[GPU_SCOPE], l->released[GPU_SCOPE]);
}

/* A store ends what the location let others know; an atomic adds to it. */
static void release_to(const volatile void *address, location *l, sim_clocks *c, uint32_t how) {
    const int32_t thread = sim_running_now.thread;
    const bool reads = (how & SIM_READS) != 0;
    sim_known *released[SCOPES] = {NULL, NULL};
    if ((how & SIM_RELEASE) != 0) {
        released[BLOCK_SCOPE] = sim_clocks_knowledge(c, thread);
        released[GPU_SCOPE] = sim_known_keep(released[BLOCK_SCOPE]);
        sim_clocks_tick(c, thread);
    } else if (c->tied) {
        released[BLOCK_SCOPE] = sim_known_keep(c->ties[thread].released[BLOCK_SCOPE]);
        released[GPU_SCOPE] = sim_known_keep(c->ties[thread].released[GPU_SCOPE]);
    }
    if (!l && released[BLOCK_SCOPE])
        l = make_location(address);
    if (l && (!reads || l->block != c->serial))
        sim_known_replace(&l->released[BLOCK_SCOPE], NULL);
    if (l && !reads)
        sim_known_replace(&l->released[GPU_SCOPE], NULL);
    if (l) {
        l->block = c->serial;
        sim_known_add(&l->released[BLOCK_SCOPE], released[BLOCK_SCOPE]);
        if ((how & SIM_BLOCK_SCOPE) == 0)
            sim_known_add(&l->released[GPU_SCOPE], released[GPU_SCOPE]);
    }
    sim_known_drop(released[BLOCK_SCOPE]);
    sim_known_drop(released[GPU_SCOPE]);
}

void sim_order_strong(const volatile void *address, uint32_t how) {
    sim_clocks *c = sim_running_now.clocks;
    location *l = find_location(address);
    if (l && (how & SIM_READS) != 0)
        acquire_from(l, c, how);
    if ((how & SIM_WRITES) != 0)
        release_to(address, l, c, how);
}

/* ---- mbarriers ---- */

/* Each has an agent, whose clock counts phases: so a thread knows how many are complete, by
 * whatever way it came to know. */
void sim_order_mbarrier_init(const volatile void *barrier) {
    sim_clocks *c = sim_running_now.clocks;
    location *l = make_location(barrier);
    sim_known_replace(&l->released[BLOCK_SCOPE], NULL);
    sim_known_replace(&l->released[GPU_SCOPE], NULL);
    sim_known_replace(&l->pending, NULL);
    for (int p = 0; p < PHASES; ++p)
        sim_known_replace(&l->completed[p], NULL);
    l->owner = c->serial;
    l->agent = 1 + c->n_mbarriers++ % SIM_MAX_THREADS;
    l->phases = 0;
}

void sim_order_mbarrier_arrive(const volatile void *barrier, bool relaxed) {
    sim_clocks *c = sim_running_now.clocks;
    if (relaxed) {
        if (c->tied)
            sim_known_add(&make_location(barrier)->pending,
                          c->ties[sim_running_now.thread].released[GPU_SCOPE]);
        return;
    }
    sim_known *known = sim_clocks_knowledge(c, sim_running_now.thread);
    sim_known_add(&make_location(barrier)->pending, known);
    sim_known_drop(known);
    sim_clocks_tick(c, sim_running_now.thread);
}

void sim_order_mbarrier_complete(const volatile void *barrier) {
    location *l = find_location(barrier);
    if (!l)
        return;
    sim_known **completed = &l->completed[l->phases++ % PHASES];
    const sim_moment m = {sim_one_thread(l->owner + SIM_AGENT_MBARRIER, (int32_t)l->agent - 1),
                          l->phases};
    sim_known *known = sim_known_new(&m, 1);
    sim_known_add(&l->released[BLOCK_SCOPE], known);
    sim_known_add(&l->released[BLOCK_SCOPE], l->pending);
    sim_known_settle(l->released[BLOCK_SCOPE]);
    sim_known_drop(known);
    sim_known_replace(completed, l->released[BLOCK_SCOPE]);
    sim_known_replace(&l->pending, NULL);
}

/*
 * A wait is for the first phase of its parity that the thread does not know to be complete. It may
 * find later ones complete, too, which another time it does not: what those would let it know is
 * not what it has waited for.
 */
void sim_order_mbarrier_wait(const volatile void *barrier, uint32_t parity) {
    sim_clocks *c = sim_running_now.clocks;
    location *l = find_location(barrier);
    if (!l)
        return;
    sim_ties *ties = sim_clocks_ties(c, sim_running_now.thread);
    uint32_t phase =
        sim_known_until(ties->known, l->owner + SIM_AGENT_MBARRIER, (int32_t)l->agent - 1);
    phase += (phase & 1) != parity;
    if (phase < l->phases && l->phases - phase > PHASES)
        phase = l->phases - PHASES + ((l->phases - PHASES + parity) & 1);
    if (phase < l->phases)
        sim_known_add(&ties->known, l->completed[phase % PHASES]);
}

sim_async sim_order_mbarrier_agent(const volatile void *barrier) {
    sim_clocks *c = sim_running_now.clocks;
    const location *l = make_location(barrier);
    c->tied = true;
    return sim_agent_ask(l->owner, SIM_AGENT_MBARRIER, l->agent - 1, l->phases);
}
