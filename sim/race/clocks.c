/* The clocks of a launch's blocks, from their begin to their end, and the thread that runs. */
#include "sim/race/clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sim_running sim_running_now = {.thread = -1};

static struct {
    uint32_t first, last; /* serials of this launch's blocks: first ... last - 1 */
    uint64_t *block_of;
    size_t capacity;
    sim_clocks *live, *free; /* free: their ends have been cleaned up */
} order = {.first = SIM_SERIALS, .last = SIM_SERIALS};

void *sim_clocks_need(void *memory) {
    if (!memory) {
        fprintf(stderr, "assay: no memory to record the order of accesses\n");
        abort();
    }
    return memory;
}

/* ---- blocks ---- */

/* Beyond this an order would be taken for another: no verdict rather than a wrong one. */
static void check_room(uint32_t count, const char *what) {
    if (count < UINT32_MAX - 1)
        return;
    fprintf(stderr, "the race recorder can count no more %s; choose a smaller case\n", what);
    abort();
}

uint32_t sim_clocks_next(sim_clocks *c) {
    check_room(c->top, "barriers and fences of a block");
    return ++c->top;
}

static void drop_ties(sim_clocks *c) {
    for (int32_t t = 0; c->tied && t < c->n_threads; ++t) {
        sim_ties *ties = &c->ties[t];
        sim_known_drop(ties->known);
        for (int s = 0; s < SCOPES; ++s) {
            sim_known_drop(ties->released[s]);
            sim_known_drop(ties->pending[s]);
        }
        *ties = (sim_ties){0};
    }
    for (int32_t i = 0; i < SIM_BARRIERS; ++i) {
        sim_known_drop(c->arrived[i]);
        c->arrived[i] = NULL;
    }
    for (int32_t t = 0; c->fenced && t < c->n_threads; ++t)
        c->fences[t].n = 0;
    c->tied = c->fenced = false;
    c->n_mbarriers = 0;
    c->unmet = 0;
}

uint32_t sim_order_launch(int32_t n_threads) {
    order.first = order.last;
    sim_known_begin(n_threads);
    return order.first;
}

static void retire(sim_clocks *c) {
    sim_clocks **link = &order.live;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    drop_ties(c);
    c->next = order.free;
    order.free = c;
}

void sim_order_launch_end(void) {
    while (order.live)
        retire(order.live);
    sim_locations_forget();
    sim_running_now = (sim_running){.thread = -1};
}

uint64_t sim_order_block_of(uint32_t serial) {
    return order.block_of[(serial - order.first) / SIM_SERIALS];
}

static void note_block(uint64_t block) {
    const size_t i = (order.last - order.first) / SIM_SERIALS;
    if (i == order.capacity) {
        order.capacity = order.capacity == 0 ? 1024 : 2 * order.capacity;
        order.block_of =
            sim_clocks_need(realloc(order.block_of, order.capacity * sizeof *order.block_of));
    }
    order.block_of[i] = block;
}

sim_clocks *sim_order_block(uint64_t block, uint32_t rank, int32_t n_threads) {
    sim_clocks *c = order.free;
    if (c)
        order.free = c->next;
    else
        c = sim_clocks_need(calloc(1, sizeof *c));
    check_room(order.last + SIM_SERIALS, "blocks");
    note_block(block);
    c->serial = order.last;
    order.last += SIM_SERIALS;
    c->first = c->serial - rank * SIM_SERIALS;
    c->block = block;
    c->n_threads = n_threads;
    c->base = c->top = 1;
    memset(c->clock, 0, (size_t)n_threads * sizeof c->clock[0]);
    for (int32_t w = 0; w * SIM_WARP < n_threads; ++w) {
        c->warp_base[w] = 0;
        if (c->warp_met[w])
            memset(c->seen[w * SIM_WARP], 0, SIM_WARP * sizeof c->seen[0]);
        c->warp_met[w] = false;
    }
    c->next = order.live;
    order.live = c;
    return c;
}

void sim_order_block_end(sim_clocks *c) {
    retire(c);
}

/* ---- the thread that runs ---- */

void sim_clocks_refresh(void) {
    sim_running *r = &sim_running_now;
    if (r->thread < 0)
        return;
    const sim_clocks *c = r->clocks;
    r->serial = c->serial;
    r->first = order.first;
    r->lane = 1u << r->thread % SIM_WARP;
    r->time = sim_clocks_time(c, r->thread);
    r->base = c->base;
    r->warp_base = c->warp_base[r->thread / SIM_WARP];
}

void sim_order_run(sim_clocks *clocks, int32_t thread) {
    sim_running_now.clocks = clocks;
    sim_running_now.thread = thread;
    sim_clocks_refresh();
}

void sim_clocks_tick(sim_clocks *c, int32_t thread) {
    c->clock[thread] = sim_clocks_time(c, thread) + 1;
    if (c->clock[thread] > c->top)
        c->top = sim_clocks_next(c);
    sim_clocks_refresh();
}

sim_known *sim_clocks_knowledge(sim_clocks *c, int32_t thread) {
    sim_moment m[2 + SIM_WARP];
    const int32_t first = thread / SIM_WARP * SIM_WARP;
    size_t n = 0;
    m[n++] = (sim_moment){sim_whole_block(c->serial), c->base};
    for (int32_t t = first; t < first + SIM_WARP && t < c->n_threads; ++t) {
        const uint32_t warp_base = c->warp_base[t / SIM_WARP];
        uint32_t until = c->seen[thread][t - first];
        until = until > warp_base ? until : warp_base;
        if (t == thread)
            until = sim_clocks_time(c, t) + 1;
        if (until > c->base)
            m[n++] = (sim_moment){sim_one_thread(c->serial, t), until};
    }
    sim_known *known = sim_known_new(m, n);
    sim_known_add(&known, c->ties[thread].known);
    return known;
}

sim_clocks *sim_clocks_of(uint32_t serial) {
    sim_clocks *c = order.live;
    while (c && c->serial != serial)
        c = c->next;
    return c;
}
