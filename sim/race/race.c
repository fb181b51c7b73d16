/*
 * The race recorder: which accesses conflict (docs/simulated-device.md, "Races"). Two do if they
 * are of different threads, at least one writes, not both are strong with scopes that include both,
 * and nothing orders them (order.h). So the findings do not depend on the values that were seen,
 * but only on each thread's accesses and waits.
 */
#include "sim/allocation.h"
#include "sim/block.h"
#include "sim/cluster.h"
#include "sim/count/count_access.h"
#include "sim/race/host.h"
#include "sim/race/order.h"
#include "sim/race/place.h"
#include "sim/race/race_access.h"
#include "sim/race/race_report.h"
#include "sim/race/shadow.h"
#include "sim/shared.h"
#include "sim/templates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sim_trace_on;

static struct {
    sim_range shared[2]; /* static and dynamic, of the block that runs */
    bool everywhere;     /* all memory is watched, but the stacks */
    bool proxies;        /* the asynchronous proxy takes part */
    bool plain; /* nothing but barriers of the whole block and __syncwarp has ordered anything */
} race;

/* ---- an access ---- */

typedef struct access {
    const volatile char *address; /* of the word's first byte that is accessed */
    uint32_t serial, time, lane, what, how, place;
    uint32_t first; /* serial of the launch */
    uint32_t own;   /* serial of the thread's block; `serial` may be an agent's */
    uint32_t since; /* serial of the first block of its cluster */
    bool shared;
    const char *value; /* what will be written there; NULL: not known */
} access;

static uint32_t how_of(uint32_t what) {
    return what & ((1u << SIM_HOW_BITS) - 1);
}
static uint32_t bytes_of(uint32_t what) {
    return what >> SIM_BYTES_SHIFT & 15;
}
static uint32_t warp_of(uint32_t what) {
    return what >> SIM_WARP_SHIFT & 31;
}

static bool both_strong(const access *a, const sim_entry *e) {
    const uint32_t how = how_of(e->what);
    return (a->how & how & SIM_STRONG) != 0 &&
           (e->serial == a->serial || ((a->how | how) & SIM_BLOCK_SCOPE) == 0);
}

static bool conflicts(const access *a, const sim_entry *e) {
    return (a->what & e->what & 15u << SIM_BYTES_SHIFT) != 0 &&
           ((a->how | e->what) & SIM_WRITES) != 0 && !both_strong(a, e);
}

/* Whatever conflicts with the entry, and comes behind the access, conflicts with the access. */
static bool covers(const access *a, const sim_entry *e) {
    const uint32_t how = how_of(e->what), bytes = bytes_of(e->what);
    return (bytes & ~bytes_of(a->what)) == 0 &&
           ((a->how & SIM_WRITES) != 0 || (how & SIM_WRITES) == 0) &&
           ((a->how & SIM_STRONG) == 0 || (how & SIM_STRONG) != 0) &&
           ((a->how & SIM_BLOCK_SCOPE) != 0 || (how & SIM_BLOCK_SCOPE) == 0 ||
            (a->how & SIM_STRONG) == 0);
}

/* A write of what is there already, beside one that put it there. */
static bool equal_values(const access *a, const sim_entry *e) {
    if (!a->value || (a->how & SIM_READS) != 0 || (how_of(e->what) & SIM_READS) != 0)
        return false;
    const int n = __builtin_popcount(bytes_of(a->what));
    for (int i = 0; i < n; ++i)
        if (a->address[i] != a->value[i])
            return false;
    return true;
}

static sim_race_reason reason_of(const access *a, const sim_entry *e, uint32_t lanes) {
    if ((a->how & how_of(e->what) & SIM_STRONG) != 0)
        return SIM_SCOPE_OF_BLOCK;
    if (sim_is_thread(a->serial) && !sim_is_thread(e->serial))
        return SIM_NO_WAIT;
    if (sim_order_lacks_fence(e->serial, warp_of(e->what), lanes, e->time))
        return SIM_NO_FENCE;
    return sim_order_block_of(e->serial) == sim_order_block_of(a->serial) ? SIM_NO_BARRIER
                                                                          : SIM_NO_ORDER_OF_BLOCKS;
}

static bool is_shared(const volatile void *address) {
    sim_range of_other;
    uint32_t rank;
    return sim_in_range(&race.shared[1], address) || sim_in_range(&race.shared[0], address) ||
           sim_templates_of(address) != NULL || sim_cluster_find(address, &rank, &of_other);
}

static sim_range memory_of(const volatile void *address, bool *dynamic) {
    const sim_range *of_template = sim_templates_of(address);
    for (int i = 0; i < 2; ++i)
        if ((const volatile char *)address >= race.shared[i].low &&
            (const volatile char *)address < race.shared[i].high) {
            *dynamic = i == 1;
            return race.shared[i];
        }
    sim_range range = of_template ? *of_template : (sim_range){NULL, NULL};
    uint32_t rank;
    *dynamic = sim_cluster_find(address, &rank, &range);
    return range;
}

static sim_race_found found_by(const access *a, sim_race_class class) {
    sim_race_found f = {.class = class,
                        .after = {.how = a->how,
                                  .place = a->place,
                                  .block = sim_running_now.clocks->block,
                                  .thread = sim_running_now.thread,
                                  .async = !sim_is_thread(a->serial)},
                        .address = a->address,
                        .bytes = (uint32_t)__builtin_popcount(bytes_of(a->what))};
    f.memory = memory_of(a->address, &f.dynamic);
    return f;
}

SIM_REPORT static sim_race_class report(const access *a, const sim_entry *e, uint32_t lanes,
                                        bool unfenced) {
    const sim_race_class class = equal_values(a, e) ? SIM_RACE_EQUAL : SIM_RACE;
    const uint32_t place = e->what >> SIM_PLACE_SHIFT;
    if (sim_race_again(class, a->place, place))
        return class;
    sim_race_found f = found_by(a, class);
    f.before =
        (sim_race_side){.how = how_of(e->what), .place = place, .async = !sim_is_thread(e->serial)};
    sim_order_issuer(e->serial, (int32_t)(warp_of(e->what) * SIM_WARP) + __builtin_ctz(lanes),
                     &f.before.block, &f.before.thread);
    f.reason = unfenced ? SIM_NO_PROXY_FENCE : reason_of(a, e, lanes);
    sim_race_add(&f);
    return class;
}

SIM_REPORT static void report_beyond(const access *a, size_t bytes) {
    if (sim_race_again(SIM_BEYOND, a->place, 0))
        return;
    sim_race_found f = found_by(a, SIM_BEYOND);
    f.memory = race.shared[1];
    f.dynamic = true;
    f.bytes = (uint32_t)bytes;
    sim_race_add(&f);
}

SIM_REPORT static void report_stray(const access *a, size_t bytes) {
    if (sim_race_again(SIM_STRAY, a->place, 0))
        return;
    sim_race_found f = found_by(a, SIM_STRAY);
    f.bytes = (uint32_t)bytes;
    sim_race_add(&f);
}

/* Behind the shared memory that the block has, where other launches have theirs, or before it. */
static bool is_beyond(const volatile void *address) {
    const sim_range room = {race.shared[1].low - SIM_DYNAMIC_GUARD,
                            race.shared[1].low + ASSAY_MAX_SHARED + SIM_DYNAMIC_GUARD};
    return race.shared[1].low && sim_in_range(&room, address);
}

SIM_REPORT static void report_uninitialised(const access *a) {
    if (sim_race_again(SIM_UNINITIALISED, a->place, 0))
        return;
    const sim_race_found f = found_by(a, SIM_UNINITIALISED);
    sim_race_add(&f);
}

/* ---- the entries of a cell ---- */

/* Nothing that follows can conflict with it. Writes of threads stay where the asynchronous proxy
 * may read them, which a barrier alone does not let see them. */
static inline bool is_dead(const access *a, const sim_entry *e) {
    if (e->serial < a->first)
        return true;
    if (!a->shared || e->serial < a->since)
        return a->shared;
    if (!sim_is_thread(e->serial) || sim_cluster_size() > 1)
        return false;
    return e->serial != a->own ||
           (e->time < sim_running_now.base && !(race.proxies && (e->what & SIM_WRITES) != 0));
}

/* The lanes whose writes an agent may not see: what is ordered needs a fence of theirs, too. A read
 * of the thread that asks the agent to write there is in front of it in the program only, until
 * anything has made it wait or told others. */
static inline uint32_t unfenced_of(const access *a, const sim_entry *e, uint32_t before) {
    if (sim_is_thread(a->serial) || !sim_is_thread(e->serial))
        return 0;
    if ((e->what & SIM_WRITES) == 0)
        return e->serial == a->own && (a->how & SIM_WRITES) != 0 &&
                       warp_of(e->what) == (uint32_t)sim_running_now.thread / SIM_WARP &&
                       !sim_order_told(e->time)
                   ? before & sim_running_now.lane
                   : 0;
    return before & ~sim_order_fenced(e->serial, warp_of(e->what), before, e->time);
}

/* Compares an entry with the access, and takes from it the lanes that need not be kept. */
static inline void compare(const access *a, sim_entry *e) {
    const bool own_past =
        e->serial == a->serial && sim_is_thread(e->serial) && e->time < sim_running_now.base;
    if (own_past) {
        if (covers(a, e))
            e->lanes = 0;
        return;
    }
    if (!conflicts(a, e))
        return;
    const uint32_t before = sim_order_before(e->serial, warp_of(e->what), e->lanes, e->time);
    const uint32_t unfenced = unfenced_of(a, e, before);
    bool told = before != e->lanes && report(a, e, e->lanes & ~before, false) == SIM_RACE;
    told |= unfenced != 0 && report(a, e, unfenced, true) == SIM_RACE;
    if (covers(a, e)) /* what has been told need not be told again */
        e->lanes = told ? 0 : e->lanes & ~before;
}

/* Two entries of one kind that the access comes behind in no case: any later thread conflicts with
 * one of them as it would with this access. */
static bool is_represented(const access *a, const sim_entry *e, const sim_entry *other) {
    return e->serial != other->serial ||
           (e->serial == a->serial && warp_of(e->what) != warp_of(other->what));
}

static inline bool is_alike(const access *a, const sim_entry *e) {
    return how_of(e->what) == a->how && (bytes_of(a->what) & ~bytes_of(e->what)) == 0 &&
           (e->serial != a->serial || e->time >= sim_running_now.base);
}

typedef struct visit {
    sim_entry *same;        /* the entry that the access joins */
    const sim_entry *alike; /* one that stands for it to all but some */
    bool represented;
    int32_t n; /* entries that are kept */
} visit;

/* Walks a list of entries; what is dropped makes room. False: the list did not end. */
static inline bool walk(const access *a, sim_entry *entries, int32_t room, visit *v) {
    int32_t i = 0, kept = 0;
    for (; i < room && entries[i].serial != 0; ++i) {
        sim_entry *e = &entries[i];
        if (is_dead(a, e))
            continue;
        if (e->serial == a->serial && e->what == a->what && !sim_is_thread(a->serial) &&
            e->lanes == a->lane && (a->how & SIM_WRITES) == 0)
            e->time = a->time; /* an agent works in order: to know this is to know all before it */
        if (e->what == a->what && e->time == a->time && e->serial == a->serial) {
            v->same = &entries[kept];
            if ((a->how & SIM_WRITES) != 0 && (a->how & SIM_STRONG) == 0 &&
                (e->lanes & ~a->lane) != 0)
                compare(a, e); /* two lanes of one store */
            e->lanes |= a->lane;
        } else {
            compare(a, e);
            if (e->lanes == 0)
                continue;
            if (race.plain && is_alike(a, e)) {
                v->represented |= v->alike && is_represented(a, e, v->alike);
                v->alike = v->alike ? v->alike : &entries[kept];
            }
        }
        if (kept != i)
            entries[kept] = *e;
        ++kept;
    }
    for (int32_t k = kept; k < i; ++k)
        entries[k].serial = 0;
    v->n = kept;
    return i == room;
}

/* Of a full cell: an entry of the same kind gives way, of its own block if there is one. */
static sim_entry *victim(const access *a, sim_entry *entries) {
    sim_entry *found = &entries[SIM_CELL_ENTRIES - 1];
    for (int32_t i = SIM_CELL_ENTRIES - 1; i >= 0; --i)
        if (how_of(entries[i].what) == a->how) {
            found = &entries[i];
            if (found->serial == a->serial)
                break;
        }
    return found;
}

static void visit_word(const access *a, sim_page *page, size_t word) {
    sim_entry *entries = page->cell[word].entry;
    const sim_entry own = {a->serial, a->time, a->lane, a->what};
    visit v = {0};
    const bool full = walk(a, entries, SIM_CELL_ENTRIES, &v);
    sim_entry *to = v.n < SIM_CELL_ENTRIES ? &entries[v.n] : NULL;
    if (full && a->shared) {
        sim_more *more = sim_shadow_more(page);
        (void)walk(a, more[word].entry, SIM_MORE_ENTRIES, &v);
        if (!to && v.n < SIM_MORE_ENTRIES)
            to = &more[word].entry[v.n];
    }
    if (v.same || v.represented)
        return;
    *(to ? to : victim(a, entries)) = own;
}

static inline void check_written(const access *a, sim_page *page, size_t word, uint32_t bytes) {
    unsigned char *written = &page->written[word];
    if ((a->how & SIM_READS) != 0 && (*written & bytes) != bytes)
        report_uninitialised(a);
    *written |= (unsigned char)bytes; /* after a bad read too: one report for each place */
}

/* What the thread that runs has accessed of late. */
static struct {
    const volatile void *last;
    uint64_t changes, accesses; /* changes: from one place to another, and writes */
} trail;

sim_turn_kind sim_trace_turn(void) {
    const sim_turn_kind kind = trail.accesses == 0  ? SIM_TURN_IDLE
                               : trail.changes <= 1 ? SIM_TURN_READING
                                                    : SIM_TURN_BUSY;
    trail.changes = trail.accesses = 0;
    return kind;
}

static inline void note_trail(const volatile void *address, uint32_t how) {
    trail.changes += address != trail.last || (how & (SIM_WRITES | SIM_STRONG)) != 0;
    trail.last = address;
    ++trail.accesses;
}

/* `by`: an agent; NULL: the thread itself. */
static void record(const volatile void *address, size_t bytes, uint32_t how, const void *value,
                   uint32_t place, const sim_async *by) {
    const sim_running *r = &sim_running_now;
    const uint32_t thread = by ? by->number : (uint32_t)r->thread;
    access a = {.address = address,
                .serial = by ? by->serial : r->serial,
                .time = by ? by->time : r->time,
                .lane = 1u << thread % SIM_WARP,
                .own = r->serial,
                .since = r->clocks->first,
                .how = how & ((1u << SIM_HOW_BITS) - 1),
                .place = place < SIM_MOST_PLACES ? place : 0,
                .first = r->first,
                .value = value};
    a.shared = is_shared(a.address);
    const uint32_t what = a.how | thread / SIM_WARP << SIM_WARP_SHIFT | a.place << SIM_PLACE_SHIFT;
    if (!a.shared && is_beyond(address)) {
        report_beyond(&a, bytes);
        return;
    }
    while (bytes > 0) {
        const uintptr_t at = (uintptr_t)a.address;
        const size_t first = at % SIM_WORD;
        const size_t count = SIM_WORD - first < bytes ? SIM_WORD - first : bytes;
        const uint32_t mask = ((1u << count) - 1) << first;
        const size_t word = at % SIM_PAGE / SIM_WORD;
        sim_page *page = sim_shadow_page(a.address);
        a.what = what | mask << SIM_BYTES_SHIFT;
        if (page && page->guarded && (page->guarded[word] & mask) != 0) {
            report_stray(&a, bytes);
        } else if (page) {
            if (a.shared && page->written)
                check_written(&a, page, word, mask);
            visit_word(&a, page, word);
        }
        a.address += count;
        a.value = a.value ? a.value + count : NULL;
        bytes -= count;
    }
    if ((how & SIM_STRONG) != 0 && !by) {
        race.plain &= (how & (SIM_ACQUIRE | SIM_RELEASE)) == 0;
        sim_order_strong(address, how);
    }
}

/*
 * The usual case of an access to a whole word: it has not been accessed, or has only been read, in
 * this time of this block, by the same warp or by two others. False: nothing is done.
 */
static inline bool is_quick(sim_entry *entries, uint32_t what) {
    const sim_running *r = &sim_running_now;
    const uint32_t kind = (1u << SIM_WARP_SHIFT) - 1, warp = 31u << SIM_WARP_SHIFT;
    const sim_entry *alike = NULL;
    if (entries[0].serial < r->first && entries[1].serial == 0) {
        entries[0] = (sim_entry){r->serial, r->time, r->lane, what};
        return true;
    }
    for (int i = 0; i < SIM_CELL_ENTRIES && (what & SIM_WRITES) == 0; ++i) {
        sim_entry *e = &entries[i];
        if (e->serial != r->serial || e->time != r->time || (e->what & SIM_WRITES) != 0)
            return false;
        if (e->what == what) {
            e->lanes |= r->lane;
            return true;
        }
        if (!race.plain || ((e->what ^ what) & kind) != 0)
            continue;
        if (alike && ((e->what ^ alike->what) & warp) != 0)
            return true;
        alike = alike ? alike : e;
    }
    return false;
}

/* Words that lie in one page which has been accessed of late; those of stacks never are. */
static inline bool record_quick(const volatile void *address, size_t bytes, uint32_t how,
                                uint32_t place) {
    const uintptr_t at = (uintptr_t)address, number = at / SIM_PAGE + 1;
    const struct sim_recent *recent = &sim_recent[number % SIM_RECENT];
    if (((at | bytes) % SIM_WORD) != 0 || at % SIM_PAGE + bytes > SIM_PAGE ||
        (how & SIM_STRONG) != 0 || recent->number != number || place >= SIM_MOST_PLACES)
        return false;
    const uint32_t what = how | 15u << SIM_BYTES_SHIFT |
                          (uint32_t)sim_running_now.thread / SIM_WARP << SIM_WARP_SHIFT |
                          place << SIM_PLACE_SHIFT;
    const sim_page *page = recent->page;
    if (page->written && !sim_in_range(&race.shared[1], address))
        return false;
    for (size_t word = at % SIM_PAGE / SIM_WORD, n = bytes / SIM_WORD; n > 0; ++word, --n) {
        if (page->written && (how & SIM_READS) != 0 && page->written[word] != 15)
            return false;
        if (page->guarded && page->guarded[word] != 0)
            return false;
        if (!is_quick(page->cell[word].entry, what))
            return false; /* the words before are then visited again, which is no harm */
        if (page->written)
            page->written[word] = 15;
    }
    return true;
}

void sim_trace_site(const void *address, size_t bytes, uint32_t how, const void *value,
                    uint32_t site) {
    note_trail(address, how);
    if (record_quick(address, bytes, how, site + 1) || sim_in_range(&sim_stacks, address))
        return;
    record(address, bytes, how, value, site + 1, NULL);
}

/* ---- accesses of C++, by the compiler's hooks ---- */

static bool describe(const volatile void *address, char *text, size_t size) {
    const sim_range *range = sim_allocation_of(address);
    if (!range)
        return false;
    snprintf(text, size, "byte %td of an allocation of %td",
             (const volatile char *)address - range->low, range->high - range->low);
    return true;
}

static uint32_t how_of_kind(sim_access kind) {
    return kind == SIM_READ    ? SIM_READS
           : kind == SIM_WRITE ? SIM_WRITES
                               : SIM_READS | SIM_WRITES | SIM_STRONG;
}

static bool is_watched(const volatile void *address) {
    return is_shared(address) || is_beyond(address) ||
           (!sim_in_range(&sim_stacks, address) && sim_allocation_of(address));
}

/* Neither the device's nor what kernels of C++ may use of the host's. */
static bool is_lost(const volatile void *address) {
    return !sim_in_range(&sim_stacks, address) && !sim_is_host(address);
}

static void record_watched(const volatile void *address, size_t bytes, uint32_t how,
                           uint32_t place) {
    if (!record_quick(address, bytes, how, place))
        record(address, bytes, how, NULL, place, NULL);
}

/* An access that only a kernel can have made. */
static void record_own(const volatile void *address, size_t bytes, uint32_t how, uint32_t place) {
    if (is_watched(address))
        record_watched(address, bytes, how, place);
    else if (is_lost(address))
        report_stray(&(access){.address = address,
                               .serial = sim_running_now.serial,
                               .how = how,
                               .place = place < SIM_MOST_PLACES ? place : 0,
                               .what = 1u << SIM_BYTES_SHIFT},
                     bytes);
}

void sim_race_access(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (!sim_trace_on || sim_running_now.thread < 0)
        return;
    if (sim_count_on())
        sim_count_access(address, bytes, kind, place, true);
    else
        record_own(address, bytes, how_of_kind(kind), sim_place_of_address((uintptr_t)place));
}

void sim_race_copied(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (!sim_trace_on || sim_running_now.thread < 0)
        return;
    if (sim_count_on())
        sim_count_access(address, bytes, kind, place, false);
    else if (is_watched(address))
        record_watched(address, bytes, how_of_kind(kind), sim_place_of_address((uintptr_t)place));
}

/* ---- what the runtime tells ---- */

void trace_launch_begin(const sim_launch *launch) {
    sim_trace_on = launch->records;
    if (!sim_trace_on)
        return;
    if (sim_count_on())
        sim_count_launch(launch->kernel);
    if (!sim_race_describe)
        sim_race_describe = describe;
    race.plain = true;
    race.proxies = launch->proxies;
    race.everywhere = launch->sites != NULL;
    sim_host_launch(launch);
    sim_order_launch(sim_now.n_threads);
    sim_shadow_launch(sim_running_now.first);
    sim_places_begin(launch->sites, launch->n_sites);
    sim_race_begin();
}

void trace_launch_end(void) {
    if (!sim_trace_on)
        return;
    if (sim_count_on())
        sim_count_launch_end();
    sim_order_launch_end();
    sim_race_end();
    race.shared[0] = race.shared[1] = (sim_range){NULL, NULL};
    sim_trace_on = false;
}

sim_clocks *sim_trace_block_begin(const sim_range shared[2]) {
    if (sim_count_on())
        sim_count_block(shared);
    for (int i = 0; i < 2; ++i)
        sim_shadow_unwritten(shared[i]);
    sim_templates_visit(sim_shadow_unwritten);
    return sim_order_block(sim_now.block, sim_cluster_rank(), sim_now.n_threads);
}

SIM_REPORT static void report_exit(const sim_clocks *c, const sim_entry *e, uint32_t lanes) {
    char who[SIM_POSITION], whose[SIM_POSITION];
    uint64_t block;
    int32_t thread;
    const sim_source source = sim_place_source(e->what >> SIM_PLACE_SHIFT);
    sim_order_issuer(e->serial, (int32_t)(warp_of(e->what) * SIM_WARP) + __builtin_ctz(lanes),
                     &block, &thread);
    sim_defect(
        "exited block", source.file, source.line,
        "%s accesses shared memory of the block of %s, which may have exited by then: nothing "
        "orders the access before its end",
        sim_block_thread_text(block, thread, who), sim_block_thread_text(c->block, 0, whose));
}

/* What other blocks of the cluster have accessed of the block's shared memory comes before its
 * end. */
static void check_end(const sim_clocks *c, const sim_range *shared) {
    for (const char *at = shared->low; at < shared->high; at += SIM_WORD) {
        const sim_page *page = sim_shadow_page(at);
        const sim_entry *e = page ? page->cell[(uintptr_t)at % SIM_PAGE / SIM_WORD].entry : NULL;
        for (int i = 0; e && i < SIM_CELL_ENTRIES && e[i].serial != 0; ++i) {
            if (e[i].serial < c->first || e[i].serial - e[i].serial % SIM_SERIALS == c->serial ||
                !sim_is_thread(e[i].serial))
                continue;
            const uint32_t after =
                e[i].lanes &
                ~sim_order_before_end(c, e[i].serial, warp_of(e[i].what), e[i].lanes, e[i].time);
            if (after != 0) {
                report_exit(c, &e[i], after);
                return;
            }
        }
    }
}

void sim_trace_block_end(sim_clocks *clocks) {
    if (sim_count_on())
        sim_count_block_end();
    if (sim_cluster_size() > 1 && !sim_count_on())
        check_end(clocks, &race.shared[1]);
    sim_order_block_end(clocks);
}

void sim_trace_thread(sim_clocks *clocks, const sim_range shared[2], int32_t thread) {
    race.shared[0] = shared[0];
    race.shared[1] = shared[1];
    sim_order_run(clocks, thread);
}

void sim_trace_barrier(int32_t id, const uint32_t lanes[], int32_t live) {
    sim_clocks *c = sim_running_now.clocks;
    int32_t n = 0;
    if (sim_count_on())
        sim_count_barrier();
    for (int32_t w = 0; w * SIM_WARP < c->n_threads; ++w)
        n += __builtin_popcount(lanes[w]);
    race.plain &= n == live;
    sim_order_barrier(c, id, lanes, live);
}

void sim_trace_barrier_arrive(int32_t id) {
    race.plain = false;
    sim_order_arrive(id);
}

void sim_trace_met(sim_collective kind, int32_t warp, uint32_t lanes) {
    if (kind == SIM_SYNCWARP)
        sim_order_syncwarp(sim_running_now.clocks, warp, lanes);
    if (sim_count_on())
        sim_count_met(kind, warp, lanes);
}

void sim_trace_fence(uint32_t how) {
    race.plain = false;
    sim_order_fence(how);
}

void sim_trace_mbarrier(sim_mbarrier_step step, const volatile void *barrier, uint32_t parity) {
    race.plain = false;
    switch (step) {
    case SIM_MBARRIER_INIT:
        sim_order_mbarrier_init(barrier);
        break;
    case SIM_MBARRIER_ARRIVE:
        sim_order_mbarrier_arrive(barrier, parity != 0);
        break;
    case SIM_MBARRIER_COMPLETE:
        sim_order_mbarrier_complete(barrier);
        break;
    case SIM_MBARRIER_WAIT:
        sim_order_mbarrier_wait(barrier, parity);
        break;
    }
}

void sim_trace_access(const volatile void *address, size_t bytes, uint32_t how, const char *file,
                      int line) {
    if (sim_running_now.thread < 0)
        return;
    if (sim_count_on()) {
        if ((how & SIM_STRONG) != 0)
            sim_count_access(address, bytes, SIM_ATOMIC, sim_place_of_line(file, line), true);
        return;
    }
    const uint32_t at = sim_place_of_line(file, line);
    if (!race.everywhere)
        record_own(address, bytes, how, at);
    else if (!sim_in_range(&sim_stacks, address))
        record(address, bytes, how, NULL, at, NULL);
}

sim_async sim_trace_agent(sim_agent agent, uint32_t number, uint32_t time) {
    race.plain = false;
    return sim_order_agent(agent, number, time);
}

sim_async sim_trace_mbarrier_agent(const volatile void *barrier) {
    race.plain = false;
    return sim_order_mbarrier_agent(barrier);
}

void sim_trace_async(const sim_async *who, const volatile void *address, size_t bytes, uint32_t how,
                     const char *file, int line) {
    race.proxies = true;
    if (sim_running_now.thread < 0 || sim_count_on())
        return;
    if (race.everywhere ? !sim_in_range(&sim_stacks, address) : is_watched(address))
        record(address, bytes, how, NULL, sim_place_of_line(file, line), who);
}

void sim_trace_done(sim_agent agent, uint32_t number, uint32_t until) {
    race.plain = false;
    sim_order_done(agent, number, until);
}

void sim_trace_proxy_fence(void) {
    race.plain = false;
    sim_order_proxy_fence();
}

void sim_trace_unwritten(sim_range shared) {
    if (sim_running_now.thread >= 0 && !sim_count_on())
        sim_shadow_unwritten(shared);
}

void sim_trace_mbarrier_access(const void *barrier, uint32_t how, const char *file, int line) {
    if (!sim_count_on())
        sim_trace_access(barrier, sizeof(uint64_t), how, file, line);
}

void sim_trace_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                    const char *file, int line) {
    if (sim_count_on())
        sim_count_copy(shared, global, bytes, valid, sim_place_of_line(file, line));
}

void sim_trace_row(const void *row, size_t bytes, const char *file, int line) {
    if (sim_count_on())
        sim_count_access(row, bytes, SIM_READ, sim_place_of_line(file, line), true);
}

void sim_trace_count(sim_event event, uint64_t amount) {
    if (sim_count_on())
        sim_count_event(event, amount);
}

void sim_race_accessed(void (*see)(uintptr_t low, uintptr_t high, bool writes)) {
    sim_shadow_each(see);
}

uint64_t sim_race_unwatched(void) {
    return sim_shadow_unwatched();
}
