/* Locations in memory that order threads: flags and counters. */
#include "sim/race/locations.h"
#include "sim/race/waits.h"

#include <stdlib.h>

static struct {
    sim_location *at; /* by a hash of the address, open addressing */
    size_t n, room;
} table;

static sim_location *slot_of(const volatile void *address) {
    const size_t mask = table.room - 1;
    size_t i = (size_t)(((uintptr_t)address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    for (;; ++i)
        if (table.at[i & mask].address == address || !table.at[i & mask].address)
            return &table.at[i & mask];
}

sim_location *sim_location_find(const volatile void *address) {
    sim_location *l = table.n > 0 ? slot_of(address) : NULL;
    return l && l->address ? l : NULL;
}

static void grow_locations(void) {
    sim_location *old = table.at;
    const size_t n = table.room;
    table.room = n == 0 ? 256 : 2 * n;
    table.at = sim_clocks_need(calloc(table.room, sizeof *old));
    for (size_t i = 0; i < n; ++i)
        if (old[i].address)
            *slot_of(old[i].address) = old[i];
    free(old);
}

sim_location *sim_location_make(const volatile void *address) {
    if (2 * (table.n + 1) > table.room)
        grow_locations();
    sim_location *l = slot_of(address);
    table.n += l->address == NULL;
    l->address = address;
    return l;
}

void sim_locations_each(void (*see)(sim_location *l)) {
    for (size_t i = 0; i < table.room && table.n > 0; ++i)
        if (table.at[i].address)
            see(&table.at[i]);
}

void sim_locations_forget(void) {
    for (size_t i = 0; i < table.room && table.n > 0; ++i) {
        sim_location *l = &table.at[i];
        if (!l->address)
            continue;
        sim_known_drop(l->released[BLOCK_SCOPE]);
        sim_known_drop(l->released[GPU_SCOPE]);
        sim_known_drop(l->pending);
        for (int p = 0; p < SIM_PHASES; ++p)
            sim_known_drop(l->completed[p]);
        sim_waits_forget(l);
        *l = (sim_location){0};
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

static void acquire_from(const sim_location *l, sim_clocks *c, uint32_t how) {
    sim_ties *ties = sim_clocks_ties(c, sim_running_now.thread);
    const bool now = (how & SIM_ACQUIRE) != 0;
    if (l->block == c->serial)
        sim_known_add(now ? &ties->known : &ties->pending[BLOCK_SCOPE], l->released[BLOCK_SCOPE]);
    if ((how & SIM_BLOCK_SCOPE) == 0)
        sim_known_add(now ? &ties->known : &ties->pending[GPU_SCOPE], l->released[GPU_SCOPE]);
}

/* A store ends what the location let others know; an atomic adds to it. */
static void release_to(const volatile void *address, sim_location *l, sim_clocks *c, uint32_t how) {
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
        l = sim_location_make(address);
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
    sim_location *l = sim_location_find(address);
    if (l && (how & SIM_READS) != 0)
        acquire_from(l, c, how);
    if ((how & SIM_WRITES) != 0)
        release_to(address, l, c, how);
}
