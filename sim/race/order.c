#include "sim/race/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SCOPE, GPU_SCOPE, SCOPES, PHASES = 16 };

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
    sim_known *completed[PHASES]; /* what the last of them let others know, by their number */
} location;

sim_running sim_running_now = {.thread = -1};

static struct {
    uint32_t first, last; /* serials of this launch's blocks: first ... last - 1 */
    uint64_t *block_of;
    size_t capacity;
    sim_clocks *live, *free; /* free: their ends have been cleaned up */
    int32_t n_threads;
    location *locations; /* by a hash of the address, open addressing */
    size_t n_locations, room;
} order = {.first = SIM_SERIALS, .last = SIM_SERIALS};

static void *need(void *memory) {
    if (!memory) {
        fprintf(stderr, "assay: no memory to record the order of accesses\n");
        abort();
    }
    return memory;
}

/* ---- locations ---- */

static location *slot_of(const volatile void *address) {
    const size_t mask = order.room - 1;
    size_t i = (size_t)(((uintptr_t)address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 20);
    for (;; ++i)
        if (order.locations[i & mask].address == address || !order.locations[i & mask].address)
            return &order.locations[i & mask];
}

/* NULL: there is none. */
static location *find_location(const volatile void *address) {
    location *l = order.n_locations > 0 ? slot_of(address) : NULL;
    return l && l->address ? l : NULL;
}

static void grow_locations(void) {
    location *old = order.locations;
    const size_t n = order.room;
    order.room = n == 0 ? 256 : 2 * n;
    order.locations = need(calloc(order.room, sizeof *old));
    for (size_t i = 0; i < n; ++i)
        if (old[i].address)
            *slot_of(old[i].address) = old[i];
    free(old);
}

static location *make_location(const volatile void *address) {
    if (2 * (order.n_locations + 1) > order.room)
        grow_locations();
    location *l = slot_of(address);
    order.n_locations += l->address == NULL;
    l->address = address;
    return l;
}

static void replace(sim_known **known, sim_known *by) {
    sim_known *old = *known;
    *known = sim_known_keep(by);
    sim_known_drop(old);
}

static void forget_locations(void) {
    for (size_t i = 0; i < order.room && order.n_locations > 0; ++i) {
        location *l = &order.locations[i];
        if (!l->address)
            continue;
        sim_known_drop(l->released[BLOCK_SCOPE]);
        sim_known_drop(l->released[GPU_SCOPE]);
        sim_known_drop(l->pending);
        for (int p = 0; p < PHASES; ++p)
            sim_known_drop(l->completed[p]);
        *l = (location){0};
        --order.n_locations;
    }
}

/* ---- blocks ---- */

/* Beyond this an order would be taken for another: no verdict rather than a wrong one. */
static void check_room(uint32_t count, const char *what) {
    if (count < UINT32_MAX - 1)
        return;
    fprintf(stderr, "the race recorder can count no more %s; choose a smaller case\n", what);
    abort();
}

static uint32_t next_time(sim_clocks *c) {
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
}

void sim_order_launch(int32_t n_threads) {
    order.first = order.last;
    order.n_threads = n_threads;
    sim_known_begin(n_threads);
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
    forget_locations();
    sim_running_now = (sim_running){.thread = -1};
}

uint64_t sim_order_block_of(uint32_t serial) {
    return order.block_of[(serial - order.first) / SIM_SERIALS];
}

static void note_block(uint64_t block) {
    const size_t i = (order.last - order.first) / SIM_SERIALS;
    if (i == order.capacity) {
        order.capacity = order.capacity == 0 ? 1024 : 2 * order.capacity;
        order.block_of = need(realloc(order.block_of, order.capacity * sizeof *order.block_of));
    }
    order.block_of[i] = block;
}

sim_clocks *sim_order_block(uint64_t block, uint32_t rank, int32_t n_threads) {
    sim_clocks *c = order.free;
    if (c)
        order.free = c->next;
    else
        c = need(calloc(1, sizeof *c));
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

static uint32_t time_of(const sim_clocks *c, int32_t thread) {
    return c->clock[thread] > c->base ? c->clock[thread] : c->base;
}

/* Copies what accesses ask first. */
static void refresh(void) {
    sim_running *r = &sim_running_now;
    if (r->thread < 0)
        return;
    const sim_clocks *c = r->clocks;
    r->serial = c->serial;
    r->first = order.first;
    r->lane = 1u << r->thread % SIM_WARP;
    r->time = time_of(c, r->thread);
    r->base = c->base;
    r->warp_base = c->warp_base[r->thread / SIM_WARP];
}

void sim_order_run(sim_clocks *clocks, int32_t thread) {
    sim_running_now.clocks = clocks;
    sim_running_now.thread = thread;
    refresh();
}

/* What the thread does from now on is later than what it lets others know now. */
static void tick(sim_clocks *c, int32_t thread) {
    c->clock[thread] = time_of(c, thread) + 1;
    if (c->clock[thread] > c->top)
        c->top = next_time(c);
    refresh();
}

static sim_ties *ties_of(sim_clocks *c, int32_t thread) {
    c->tied = true;
    return &c->ties[thread];
}

/* All that the thread knows, its own past included. Counted. */
static sim_known *knowledge(sim_clocks *c, int32_t thread) {
    sim_moment m[2 + SIM_WARP];
    const int32_t first = thread / SIM_WARP * SIM_WARP;
    size_t n = 0;
    m[n++] = (sim_moment){sim_whole_block(c->serial), c->base};
    for (int32_t t = first; t < first + SIM_WARP && t < c->n_threads; ++t) {
        const uint32_t warp_base = c->warp_base[t / SIM_WARP];
        uint32_t until = c->seen[thread][t - first];
        until = until > warp_base ? until : warp_base;
        if (t == thread)
            until = time_of(c, t) + 1;
        if (until > c->base)
            m[n++] = (sim_moment){sim_one_thread(c->serial, t), until};
    }
    sim_known *known = sim_known_new(m, n);
    sim_known_add(&known, c->ties[thread].known);
    return known;
}

/* ---- what comes before what ---- */

static uint32_t known_lanes(const sim_clocks *c, sim_known *known, uint32_t serial, uint32_t warp,
                            uint32_t lanes, uint32_t time) {
    uint32_t before = 0;
    (void)c;
    for (uint32_t rest = lanes; known && rest != 0; rest &= rest - 1) {
        const int32_t lane = __builtin_ctz(rest);
        if (time < sim_known_until(known, serial, (int32_t)warp * SIM_WARP + lane))
            before |= 1u << lane;
    }
    return before;
}

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
        before |= known_lanes(c, c->ties[r->thread].known, serial, warp, lanes & ~before, time);
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

static const sim_clocks *clocks_of(uint32_t serial) {
    const sim_clocks *c = order.live;
    while (c && c->serial != serial)
        c = c->next;
    return c;
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
    const sim_clocks *c = clocks_of(serial);
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
            before |= known_lanes(c, c->ties[t].known, serial, warp, lanes & ~before, time);
    return before;
}

bool sim_order_lacks_fence(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time) {
    const sim_clocks *c = sim_running_now.clocks;
    if (!c->tied)
        return false;
    const sim_ties *ties = &c->ties[sim_running_now.thread];
    return known_lanes(c, ties->pending[GPU_SCOPE], serial, warp, lanes, time) != 0 ||
           known_lanes(c, ties->pending[BLOCK_SCOPE], serial, warp, lanes, time) != 0;
}

/* ---- barriers ---- */

/* What any of the threads has of `field`, all of them get. */
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
            replace(field(&c->ties[t]), all);
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

/* What all of them did before is ordered before what any of them does next. */
static void meet(sim_clocks *c, const uint32_t lanes[SIM_WARPS], sim_known *more) {
    static sim_moment m[1 + SIM_MAX_THREADS];
    sim_known *all = NULL;
    size_t n = 0;
    const uint32_t time = next_time(c);
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
        c->base = next_time(c);
    } else {
        meet(c, lanes, arrived);
    }
    sim_known_drop(arrived);
    refresh();
}

void sim_order_arrive(int32_t id) {
    sim_clocks *c = sim_running_now.clocks;
    sim_known *known = knowledge(c, sim_running_now.thread);
    c->tied = true; /* its end drops arrivals that no thread waits for */
    sim_known_add(&c->arrived[id], known);
    sim_known_drop(known);
    tick(c, sim_running_now.thread);
}

void sim_order_syncwarp(sim_clocks *c, int32_t warp, uint32_t mask) {
    uint32_t joined[SIM_WARP] = {0}, lanes[SIM_WARPS] = {0};
    uint32_t(*seen)[SIM_WARP] = &c->seen[warp * SIM_WARP];
    const int32_t exist = c->n_threads - warp * SIM_WARP;
    const uint32_t all = exist >= SIM_WARP ? UINT32_MAX : (1u << exist) - 1;
    const uint32_t time = next_time(c);
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
    refresh();
}

/* ---- memory ---- */

void sim_order_fence(uint32_t how) {
    sim_clocks *c = sim_running_now.clocks;
    const int32_t thread = sim_running_now.thread;
    sim_ties *ties = ties_of(c, thread);
    const int scope = (how & SIM_BLOCK_SCOPE) != 0 ? BLOCK_SCOPE : GPU_SCOPE;
    for (int s = 0; (how & SIM_ACQUIRE) != 0 && s <= scope; ++s) {
        sim_known_add(&ties->known, ties->pending[s]);
        replace(&ties->pending[s], NULL);
    }
    if ((how & SIM_RELEASE) == 0)
        return;
    sim_known *known = knowledge(c, thread);
    for (int s = 0; s <= scope; ++s)
        replace(&ties->released[s], known);
    sim_known_drop(known);
    tick(c, thread);
}

static void acquire_from(const location *l, sim_clocks *c, uint32_t how) {
    sim_ties *ties = ties_of(c, sim_running_now.thread);
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
        released[BLOCK_SCOPE] = knowledge(c, thread);
        released[GPU_SCOPE] = sim_known_keep(released[BLOCK_SCOPE]);
        tick(c, thread);
    } else if (c->tied) {
        released[BLOCK_SCOPE] = sim_known_keep(c->ties[thread].released[BLOCK_SCOPE]);
        released[GPU_SCOPE] = sim_known_keep(c->ties[thread].released[GPU_SCOPE]);
    }
    if (!l && released[BLOCK_SCOPE])
        l = make_location(address);
    if (l && (!reads || l->block != c->serial))
        replace(&l->released[BLOCK_SCOPE], NULL);
    if (l && !reads)
        replace(&l->released[GPU_SCOPE], NULL);
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
    replace(&l->released[BLOCK_SCOPE], NULL);
    replace(&l->released[GPU_SCOPE], NULL);
    replace(&l->pending, NULL);
    for (int p = 0; p < PHASES; ++p)
        replace(&l->completed[p], NULL);
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
    sim_known *known = knowledge(c, sim_running_now.thread);
    sim_known_add(&make_location(barrier)->pending, known);
    sim_known_drop(known);
    tick(c, sim_running_now.thread);
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
    replace(completed, l->released[BLOCK_SCOPE]);
    replace(&l->pending, NULL);
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
    sim_ties *ties = ties_of(c, sim_running_now.thread);
    uint32_t phase =
        sim_known_until(ties->known, l->owner + SIM_AGENT_MBARRIER, (int32_t)l->agent - 1);
    phase += (phase & 1) != parity;
    if (phase < l->phases && l->phases - phase > PHASES)
        phase = l->phases - PHASES + ((l->phases - PHASES + parity) & 1);
    if (phase < l->phases)
        sim_known_add(&ties->known, l->completed[phase % PHASES]);
}

/* ---- agents ---- */

static sim_async ask(uint32_t owner, sim_agent agent, uint32_t number, uint32_t time) {
    sim_clocks *c = (sim_clocks *)clocks_of(owner);
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
    return ask(c->serial, agent, number, time);
}

sim_async sim_order_mbarrier_agent(const volatile void *barrier) {
    sim_clocks *c = sim_running_now.clocks;
    const location *l = make_location(barrier);
    c->tied = true;
    return ask(l->owner, SIM_AGENT_MBARRIER, l->agent - 1, l->phases);
}

void sim_order_done(sim_agent agent, uint32_t number, uint32_t until) {
    sim_clocks *c = sim_running_now.clocks;
    const sim_moment m = {
        sim_one_thread(c->serial + (uint32_t)agent, (int32_t)(number % SIM_MAX_THREADS)), until};
    sim_known *known = sim_known_new(&m, 1);
    sim_known_add(&ties_of(c, sim_running_now.thread)->known, known);
    sim_known_drop(known);
}

void sim_order_proxy_fence(void) {
    sim_clocks *c = sim_running_now.clocks;
    const int32_t thread = sim_running_now.thread;
    sim_fences *f = &c->fences[thread];
    if (f->n == f->room) {
        f->room = f->room == 0 ? 16 : 2 * f->room;
        f->time = need(realloc(f->time, f->room * sizeof *f->time));
    }
    c->fenced = true;
    f->time[f->n++] = time_of(c, thread);
    tick(c, thread);
}

void sim_order_issuer(uint32_t serial, int32_t number, uint64_t *block, int32_t *thread) {
    const sim_clocks *c = clocks_of(serial - serial % SIM_SERIALS);
    *block = sim_order_block_of(serial);
    *thread = number;
    if (sim_is_thread(serial) || !c)
        return;
    *block = c->issuer[serial % SIM_SERIALS][number].block;
    *thread = c->issuer[serial % SIM_SERIALS][number].thread;
}
