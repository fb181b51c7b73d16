/* Threads that meet: barriers of a block, and __syncwarp. */
#include "sim/race/clocks.h"

#include <string.h>

/* A field of ties, which all threads that meet then have in common. */
typedef sim_known **field_of(sim_ties *ties);
static sim_known **field_known(sim_ties *t) {
    return &t->known;
}
static sim_known **field_released_block(sim_ties *t) {
    return &t->released[BLOCK_SCOPE];
}
static sim_known **field_released_gpu(sim_ties *t) {
    return &t->released[GPU_SCOPE];
}
static sim_known **field_pending_block(sim_ties *t) {
    return &t->pending[BLOCK_SCOPE];
}
static sim_known **field_pending_gpu(sim_ties *t) {
    return &t->pending[GPU_SCOPE];
}

static void share_field(sim_clocks *c, const uint32_t lanes[SIM_WARPS], field_of *field,
                        sim_known *more) {
    sim_known *all = NULL, *last = NULL;
    sim_known_add(&all, more);
    for (int32_t t = 0; t < c->n_threads; ++t) {
        sim_known *own = *field(&c->ties[t]);
        if ((lanes[t / SIM_WARP] >> t % SIM_WARP & 1) != 0 && own != last)
            sim_known_add(&all, own);
        last = own;
    }
    sim_known_settle(all);
    for (int32_t t = 0; all && t < c->n_threads; ++t)
        if ((lanes[t / SIM_WARP] >> t % SIM_WARP & 1) != 0 && *field(&c->ties[t]) != all)
            sim_known_replace(field(&c->ties[t]), all);
    sim_known_drop(all);
}

/*
 * A fence in front of a barrier counts for the thread that sets a flag behind it, and one behind a
 * barrier for the thread in front of it that has read the flag: fences are cumulative.
 */
static void share(sim_clocks *c, const uint32_t lanes[SIM_WARPS], sim_known *more) {
    static field_of *const fields[] = {field_released_block, field_released_gpu,
                                       field_pending_block, field_pending_gpu};
    if (!c->tied && !more)
        return;
    c->tied = true;
    share_field(c, lanes, field_known, more);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        share_field(c, lanes, fields[i], NULL);
}

static bool is_whole(const sim_clocks *c, const uint32_t lanes[SIM_WARPS], int32_t live) {
    int32_t n = 0;
    for (int32_t w = 0; w * SIM_WARP < c->n_threads; ++w)
        n += __builtin_popcount(lanes[w]);
    return n == live;
}

/* The past work of all of them is ordered before the next work of each. */
static void meet(sim_clocks *c, const uint32_t lanes[SIM_WARPS], sim_known *more) {
    static sim_moment m[1 + SIM_MAX_THREADS];
    sim_known *all = NULL;
    size_t n = 0;
    const uint32_t time = sim_clocks_next(c);
    m[n++] = (sim_moment){sim_whole_block(c->serial), c->base};
    for (int32_t t = 0; t < c->n_threads; ++t) {
        const int32_t w = t / SIM_WARP;
        if ((lanes[w] >> t % SIM_WARP & 1) != 0)
            m[n++] = (sim_moment){sim_one_thread(c->serial, t), time};
        else if (lanes[w] != 0) { /* as much as one of its warp that is here knows */
            uint32_t until = c->warp_base[w];
            for (uint32_t rest = lanes[w]; c->warp_met[w] && rest != 0; rest &= rest - 1) {
                const uint32_t seen = c->seen[w * SIM_WARP + __builtin_ctz(rest)][t % SIM_WARP];
                until = seen > until ? seen : until;
            }
            if (until > c->base)
                m[n++] = (sim_moment){sim_one_thread(c->serial, t), until};
        }
    }
    all = sim_known_new(m, n);
    sim_known_add(&all, more);
    share(c, lanes, all);
    sim_known_drop(all);
    for (int32_t t = 0; t < c->n_threads; ++t)
        if ((lanes[t / SIM_WARP] >> t % SIM_WARP & 1) != 0)
            c->clock[t] = time;
}

void sim_order_barrier(sim_clocks *c, int32_t id, const uint32_t lanes[SIM_WARPS], int32_t live) {
    sim_known *arrived = c->arrived[id];
    c->arrived[id] = NULL;
    if (!arrived && is_whole(c, lanes, live)) {
        share(c, lanes, NULL);
        c->base = sim_clocks_next(c);
    } else {
        meet(c, lanes, arrived);
    }
    sim_known_drop(arrived);
    sim_clocks_refresh();
}

void sim_order_arrive(int32_t id) {
    sim_clocks *c = sim_running_now.clocks;
    sim_known *known = sim_clocks_knowledge(c, sim_running_now.thread);
    c->tied = true; /* its end drops arrivals that no thread waits for */
    sim_known_add(&c->arrived[id], known);
    sim_known_drop(known);
    sim_clocks_tick(c, sim_running_now.thread);
}

void sim_order_syncwarp(sim_clocks *c, int32_t warp, uint32_t mask) {
    uint32_t joined[SIM_WARP] = {0}, lanes[SIM_WARPS] = {0};
    uint32_t(*seen)[SIM_WARP] = &c->seen[warp * SIM_WARP];
    const int32_t exist = c->n_threads - warp * SIM_WARP;
    const uint32_t all = exist >= SIM_WARP ? UINT32_MAX : (1u << exist) - 1;
    const uint32_t time = sim_clocks_next(c);
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int32_t lane = __builtin_ctz(rest);
        for (int32_t i = 0; c->warp_met[warp] && i < SIM_WARP; ++i)
            joined[i] = joined[i] > seen[lane][i] ? joined[i] : seen[lane][i];
        c->clock[warp * SIM_WARP + lane] = time;
    }
    if (mask == all) {
        c->warp_base[warp] = time;
    } else {
        c->warp_met[warp] = true;
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
            joined[__builtin_ctz(rest)] = time;
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
            memcpy(seen[__builtin_ctz(rest)], joined, sizeof joined);
    }
    lanes[warp] = mask;
    share(c, lanes, NULL);
    sim_clocks_refresh();
}
