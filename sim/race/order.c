/* What comes before what: questions of the running thread to the clocks. */
#include "sim/race/clocks.h"

uint32_t sim_order_before(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time) {
    const sim_running *r = &sim_running_now;
    const sim_clocks *c = r->clocks;
    uint32_t before = 0;
    if (serial == c->serial) {
        if (time < c->base)
            return lanes;
        if (warp == (uint32_t)r->thread / SIM_WARP) {
            if (time < r->warp_base)
                return lanes;
            before = 1u << r->thread % SIM_WARP & lanes;
            for (uint32_t rest = lanes & ~before; c->warp_met[warp] && rest != 0; rest &= rest - 1)
                if (time < c->seen[r->thread][__builtin_ctz(rest)])
                    before |= rest & -rest;
        }
    }
    if (c->tied && before != lanes)
        before |= sim_known_before(c->ties[r->thread].known, serial, warp, lanes & ~before, time);
    return before;
}

static bool has_fence(const sim_fences *f, uint32_t from, uint32_t until) {
    uint32_t low = 0, high = f->n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (f->time[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->n && f->time[low] < until;
}

/* How much the running thread knows of another one's clock. */
static uint32_t known_until(uint32_t serial, int32_t thread) {
    const sim_running *r = &sim_running_now;
    const sim_clocks *c = r->clocks;
    uint32_t until = 0;
    if (serial == c->serial) {
        until = c->base;
        if (thread / SIM_WARP == r->thread / SIM_WARP) {
            const uint32_t seen = c->seen[r->thread][thread % SIM_WARP];
            until = r->warp_base > until ? r->warp_base : until;
            until = seen > until ? seen : until;
        }
        if (thread == r->thread)
            until = r->time + 1;
    }
    if (c->tied) {
        const uint32_t more = sim_known_until(c->ties[r->thread].known, serial, thread);
        until = more > until ? more : until;
    }
    return until;
}

bool sim_order_told(uint32_t time) {
    const sim_running *r = &sim_running_now;
    const sim_clocks *c = r->clocks;
    const sim_known *known = c->tied ? c->ties[r->thread].known : NULL;
    return time < r->base || time < r->warp_base ||
           time < c->seen[r->thread][r->thread % SIM_WARP] ||
           time < sim_known_until((sim_known *)known, r->serial, r->thread) ||
           has_fence(&c->fences[r->thread], time, r->time + 1);
}

uint32_t sim_order_fenced(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time) {
    const sim_clocks *c = sim_clocks_of(serial);
    uint32_t fenced = 0;
    if (!c) /* its block has ended */
        return lanes;
    for (uint32_t rest = lanes; c->fenced && rest != 0; rest &= rest - 1) {
        const int32_t thread = (int32_t)warp * SIM_WARP + __builtin_ctz(rest);
        if (has_fence(&c->fences[thread], time, known_until(serial, thread)))
            fenced |= rest & -rest;
    }
    return fenced;
}

uint32_t sim_order_before_end(const sim_clocks *c, uint32_t serial, uint32_t warp, uint32_t lanes,
                              uint32_t time) {
    uint32_t before = 0;
    for (int32_t t = 0; c->tied && t < c->n_threads && before != lanes; ++t)
        if (t == 0 || c->ties[t].known != c->ties[t - 1].known)
            before |= sim_known_before(c->ties[t].known, serial, warp, lanes & ~before, time);
    return before;
}

bool sim_order_lacks_fence(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time) {
    const sim_clocks *c = sim_running_now.clocks;
    if (!c->tied)
        return false;
    const sim_ties *ties = &c->ties[sim_running_now.thread];
    return sim_known_before(ties->pending[GPU_SCOPE], serial, warp, lanes, time) != 0 ||
           sim_known_before(ties->pending[BLOCK_SCOPE], serial, warp, lanes, time) != 0;
}
