#include "sim/race/waits.h"

#include "sim/proxy.h"
#include "sim/race/record.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 16, GROUP_WARPS = 4 };

/* Lanes of a warp that have found the last phase complete. */
typedef struct passed {
    uint32_t serial, warp, lanes, time;
    uint32_t products; /* that the warp had issued */
    uint32_t met;      /* lanes of the next collective, which began at `met_time` */
    uint32_t met_time;
    uint32_t place;
} passed;

typedef struct arrival {
    uint32_t serial, time;
    int32_t thread;
} arrival;

typedef struct phase {
    sim_known *causes; /* what it comes behind beside what it lets threads know */
    bool copies;       /* it waits for copies, too */
    uint32_t n, room;
    arrival *arrivals;
    sim_race_side by; /* what completed it */
} phase;

struct sim_waits {
    phase last[KEPT]; /* by number */
    uint32_t n, room;
    passed *passed;
    uint32_t gathered; /* phases that gather() has come to */
};

static phase *phase_of(sim_location *l, uint32_t number) {
    return &l->waits->last[number % KEPT];
}

static void clear(phase *p) {
    sim_known_replace(&p->causes, NULL);
    p->copies = false;
    p->n = 0;
}

void sim_waits_begin(sim_location *l) {
    if (!l->waits)
        l->waits = sim_clocks_need(calloc(1, sizeof *l->waits));
    for (uint32_t i = 0; i < KEPT; ++i)
        clear(&l->waits->last[i]);
    l->waits->n = 0;
}

void sim_waits_forget(sim_location *l) {
    if (!l->waits)
        return;
    for (uint32_t i = 0; i < KEPT; ++i) {
        clear(&l->waits->last[i]);
        free(l->waits->last[i].arrivals);
    }
    free(l->waits->passed);
    free(l->waits);
    l->waits = NULL;
}

static void *grown(void *array, uint32_t n, uint32_t *room, size_t bytes) {
    if (n < *room)
        return array;
    *room = *room == 0 ? 32 : 2 * *room;
    return sim_clocks_need(realloc(array, *room * bytes));
}

/* ---- what completes a phase ---- */

void sim_waits_arrival(sim_location *l, sim_known *known, bool relaxed) {
    if (!l->waits)
        return;
    const sim_running *r = &sim_running_now;
    phase *p = phase_of(l, l->phases);
    p->arrivals = grown(p->arrivals, p->n, &p->room, sizeof *p->arrivals);
    p->arrivals[p->n++] = (arrival){r->serial, r->time, r->thread};
    if (relaxed)
        sim_known_add(&p->causes, known);
}

void sim_waits_copy(sim_location *l, sim_known *known) {
    if (!l->waits)
        return;
    phase *p = phase_of(l, l->phases);
    p->copies = true;
    sim_known_add(&p->causes, known);
}

/* ---- whether waits come before it ---- */

static uint32_t lanes_until(sim_known *known, const passed *w, uint32_t lanes, uint32_t time) {
    uint32_t before = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int32_t lane = __builtin_ctz(rest);
        if (sim_known_until(known, w->serial, (int32_t)w->warp * SIM_WARP + lane) > time)
            before |= 1u << lane;
    }
    return before;
}

/* The lanes whose wait is not among what is known: neither are they, nor a lane that they have met
 * since, nor a product that their warp has issued since. */
static uint32_t unordered(const passed *w, sim_known *known) {
    const uint32_t products =
        sim_known_until(known, w->serial + SIM_AGENT_WGMMA, (int32_t)(w->warp / GROUP_WARPS));
    if (products > w->products || lanes_until(known, w, w->met, w->met_time) != 0)
        return 0;
    return w->lanes & ~lanes_until(known, w, w->lanes, w->time);
}

static uint32_t known_phases(sim_known *known, const sim_location *l) {
    const int32_t agent = (int32_t)l->agent - 1;
    const uint32_t awaited = sim_known_until(known, l->owner + SIM_AGENT_MBARRIER, agent);
    const uint32_t seen = sim_known_until(known, l->owner + SIM_AGENT_PHASES, agent);
    return awaited > seen ? awaited : seen;
}

/* All that must have happened: causes of phases that are known to be complete are known. */
static struct {
    sim_known *known;
    bool grows;
} all;

static void gather(sim_location *l) {
    if (!l->waits)
        return;
    const uint32_t until = known_phases(all.known, l);
    uint32_t from = l->waits->gathered;
    if (l->phases >= KEPT && from + KEPT <= l->phases)
        from = l->phases - KEPT + 1;
    for (; from < until && from < l->phases; ++from)
        if (phase_of(l, from)->causes) {
            sim_known_add(&all.known, phase_of(l, from)->causes);
            all.grows = true;
        }
    l->waits->gathered = from;
}

static void forget_gathered(sim_location *l) {
    if (l->waits)
        l->waits->gathered = 0;
}

static void gather_all(sim_known *known, sim_known *causes) {
    all.known = sim_known_keep(known);
    sim_known_add(&all.known, causes);
    sim_locations_each(forget_gathered);
    do {
        all.grows = false;
        sim_locations_each(gather);
    } while (all.grows);
}

static void find(const sim_location *l, const passed *w, uint32_t lanes, const sim_race_side *by) {
    if (sim_race_again(SIM_MISSED, w->place, by->place))
        return;
    const sim_race_side waits = {
        .how = SIM_READS,
        .place = w->place,
        .block = sim_order_block_of(w->serial),
        .thread = (int32_t)w->warp * SIM_WARP + __builtin_ctz(lanes),
    };
    sim_find_missed(l->address, l->phases - 1, &waits, by);
}

void sim_waits_complete(sim_location *l, const sim_race_side *by) {
    struct sim_waits *waits = l->waits;
    if (!waits)
        return;
    const uint32_t number = l->phases - 1;
    sim_known *known = l->completed[number % SIM_PHASES];
    phase *p = phase_of(l, number);
    bool gathered = false;
    p->by = *by;
    for (uint32_t i = 0; i < waits->n; ++i) {
        const passed *w = &waits->passed[i];
        if (unordered(w, known) == 0)
            continue;
        if (!gathered)
            gather_all(known, p->causes);
        gathered = true;
        const uint32_t lanes = unordered(w, all.known);
        if (lanes != 0)
            find(l, w, lanes, by);
    }
    if (gathered)
        sim_known_drop(all.known);
    waits->n = 0;
    clear(phase_of(l, l->phases));
}

/* ---- waits ---- */

/* Whether the running thread knows all arrivals of a phase. Then the phase is complete, even if the
 * thread has not waited for it. */
static bool knows_arrivals(const phase *p) {
    for (uint32_t i = 0; i < p->n; ++i) {
        const arrival *a = &p->arrivals[i];
        const uint32_t lane = 1u << a->thread % SIM_WARP;
        if (sim_order_before(a->serial, (uint32_t)a->thread / SIM_WARP, lane, a->time) == 0)
            return false;
    }
    return !p->copies;
}

/* `complete`: phases that the thread knows to be. */
static bool is_missed(const sim_location *l, uint32_t complete, uint32_t parity) {
    const uint32_t next = complete + ((complete & 1) == parity); /* the phase behind its own */
    return complete <= l->phases && l->phases > next;
}

bool sim_waits_missed(sim_location *l, uint32_t parity, uint32_t place) {
    if (!l->waits)
        return false;
    const sim_running *r = &sim_running_now;
    uint32_t complete = known_phases(sim_clocks_ties(r->clocks, r->thread)->known, l);
    if (!is_missed(l, complete, parity))
        return false;
    for (uint32_t i = 1; i < KEPT && i <= l->phases - complete; ++i)
        if (knows_arrivals(phase_of(l, l->phases - i))) {
            complete = l->phases - i + 1;
            break;
        }
    if (!is_missed(l, complete, parity))
        return false;
    const uint32_t next = complete + ((complete & 1) == parity);
    const sim_race_side *by = &phase_of(l, l->phases - next < KEPT ? next : l->phases - 1)->by;
    const sim_race_side waits = {
        .how = SIM_READS, .place = place, .block = r->clocks->block, .thread = r->thread};
    if (!sim_race_again(SIM_MISSED, place, by->place))
        sim_find_missed(l->address, next, &waits, by);
    return true;
}

static bool joins(passed *w, const passed *other) {
    if (w->serial != other->serial || w->warp != other->warp || w->time != other->time ||
        w->products != other->products || w->place != other->place || w->met != 0)
        return false;
    w->lanes |= other->lanes;
    return true;
}

/* Its thread knows how many phases are complete, though it acquires nothing by it. */
static void know_phases(const sim_location *l) {
    const sim_moment m = {sim_one_thread(l->owner + SIM_AGENT_PHASES, (int32_t)l->agent - 1),
                          l->phases};
    sim_known *known = sim_known_new(&m, 1);
    sim_known_add(&sim_clocks_ties(sim_running_now.clocks, sim_running_now.thread)->known, known);
    sim_known_drop(known);
}

void sim_waits_passed(sim_location *l, bool acquires, uint32_t place) {
    const sim_running *r = &sim_running_now;
    struct sim_waits *waits = l->waits;
    if (!waits)
        return;
    const passed w = {.serial = r->serial,
                      .warp = (uint32_t)r->thread / SIM_WARP,
                      .lanes = r->lane,
                      .time = r->time,
                      .products = sim_wgmma_issued(),
                      .place = place};
    if (!acquires)
        know_phases(l);
    if (waits->n > 0 && joins(&waits->passed[waits->n - 1], &w))
        return;
    waits->passed = grown(waits->passed, waits->n, &waits->room, sizeof *waits->passed);
    waits->passed[waits->n++] = w;
    r->clocks->unmet |= 1u << w.warp;
}

/* ---- collectives ---- */

static struct {
    const sim_clocks *clocks;
    uint32_t warp, lanes, time;
    bool found, left; /* waits that meet; that do not yet */
} meeting;

static bool is_unmet(const passed *w) {
    return w->serial == meeting.clocks->serial && w->warp == meeting.warp && w->met == 0;
}

/* Lanes that do not take part are parted. */
static void meet(sim_location *l) {
    struct sim_waits *waits = l->waits;
    for (uint32_t i = 0, n = waits ? waits->n : 0; i < n; ++i) {
        passed w = waits->passed[i];
        if (!is_unmet(&w))
            continue;
        meeting.left |= (w.lanes & ~meeting.lanes) != 0;
        if ((w.lanes & meeting.lanes) == 0)
            continue;
        meeting.found = true;
        w.lanes &= ~meeting.lanes;
        if (w.lanes != 0) {
            waits->passed = grown(waits->passed, waits->n, &waits->room, sizeof *waits->passed);
            waits->passed[waits->n++] = w;
        }
        waits->passed[i].lanes &= meeting.lanes;
        waits->passed[i].met = meeting.lanes;
        waits->passed[i].met_time = meeting.time;
    }
}

/* Later arrivals of all these lanes come behind the waits of each. */
void sim_waits_met(sim_clocks *c, int32_t warp, uint32_t lanes) {
    const uint32_t bit = 1u << warp;
    if ((c->unmet & bit) == 0)
        return;
    meeting.clocks = c;
    meeting.warp = (uint32_t)warp;
    meeting.lanes = lanes;
    meeting.time = sim_clocks_next(c);
    meeting.found = meeting.left = false;
    sim_locations_each(meet);
    for (uint32_t rest = meeting.found ? lanes : 0; rest != 0; rest &= rest - 1)
        c->clock[warp * SIM_WARP + __builtin_ctz(rest)] = meeting.time;
    if (!meeting.left)
        c->unmet &= ~bit;
    sim_clocks_refresh();
}
