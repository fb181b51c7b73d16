/*
 * Which accesses to a word conflict (docs/simulated-device.md, "Races"). Two do if they are of
 * different threads, at least one writes, not both are strong with scopes that include both, and
 * nothing orders them (order.h). So the findings do not depend on the values that were seen, but
 * only on each thread's accesses and waits.
 */
#include "sim/cluster.h"
#include "sim/race/guess.h"
#include "sim/race/order.h"
#include "sim/race/record.h"

static bool both_strong(const sim_word_access *a, const sim_entry *e) {
    const uint32_t how = sim_entry_how(e->what);
    return (a->how & how & SIM_STRONG) != 0 &&
           (e->serial == a->serial || ((a->how | how) & SIM_BLOCK_SCOPE) == 0);
}

static bool conflicts(const sim_word_access *a, const sim_entry *e) {
    return (a->what & e->what & 15u << SIM_BYTES_SHIFT) != 0 &&
           ((a->how | e->what) & SIM_WRITES) != 0 && !both_strong(a, e);
}

/* Whatever conflicts with the entry, and comes behind the access, conflicts with the access. */
static bool covers(const sim_word_access *a, const sim_entry *e) {
    const uint32_t how = sim_entry_how(e->what), bytes = sim_entry_bytes(e->what);
    return (bytes & ~sim_entry_bytes(a->what)) == 0 &&
           ((a->how & SIM_WRITES) != 0 || (how & SIM_WRITES) == 0) &&
           ((a->how & SIM_STRONG) == 0 || (how & SIM_STRONG) != 0) &&
           ((a->how & SIM_BLOCK_SCOPE) != 0 || (how & SIM_BLOCK_SCOPE) == 0 ||
            (a->how & SIM_STRONG) == 0);
}

/* ---- the entries of a cell ---- */

/* Nothing that follows can conflict with it. Writes of threads stay where the asynchronous proxy
 * may read them, which a barrier alone does not let see them. */
static inline bool is_dead(const sim_word_access *a, const sim_entry *e) {
    if (e->serial < a->first)
        return true;
    if (!a->shared || e->serial < a->since)
        return a->shared;
    if (!sim_is_thread(e->serial) || sim_cluster_size() > 1)
        return false;
    return e->serial != a->own || (e->time < sim_running_now.base &&
                                   !(sim_recorder_now.proxies && (e->what & SIM_WRITES) != 0));
}

/* The lanes whose writes an agent may not see: beside the order they need a fence, too. A read
 * of the thread that asks the agent to write there is in front of it in the program only, until
 * anything has made it wait or told others. */
static inline uint32_t unfenced_of(const sim_word_access *a, const sim_entry *e, uint32_t before) {
    if (sim_is_thread(a->serial) || !sim_is_thread(e->serial))
        return 0;
    if ((e->what & SIM_WRITES) == 0)
        return e->serial == a->own && (a->how & SIM_WRITES) != 0 &&
                       sim_entry_warp(e->what) == (uint32_t)sim_running_now.thread / SIM_WARP &&
                       !sim_order_told(e->time)
                   ? before & sim_running_now.lane
                   : 0;
    return before & ~sim_order_fenced(e->serial, sim_entry_warp(e->what), before, e->time);
}

/* Compares an entry with the access, and takes from it the lanes that need not be kept. */
static inline void compare(const sim_word_access *a, sim_entry *e) {
    const bool own_past =
        e->serial == a->serial && sim_is_thread(e->serial) && e->time < sim_running_now.base;
    if (own_past) {
        if (covers(a, e))
            e->lanes = 0;
        return;
    }
    if (!conflicts(a, e))
        return;
    const uint32_t before = sim_order_before(e->serial, sim_entry_warp(e->what), e->lanes, e->time);
    const uint32_t unfenced = unfenced_of(a, e, before);
    bool told =
        before != e->lanes && sim_find_conflict(a, e, e->lanes & ~before, false) == SIM_RACE;
    told |= unfenced != 0 && sim_find_conflict(a, e, unfenced, true) == SIM_RACE;
    if (covers(a, e)) /* a race that has been told need not be told again */
        e->lanes = told ? 0 : e->lanes & ~before;
}

/* Two entries of one kind that the access comes behind in no case: any later thread conflicts with
 * one of them as it would with this access. */
static bool is_represented(const sim_word_access *a, const sim_entry *e, const sim_entry *other) {
    return e->serial != other->serial ||
           (e->serial == a->serial && sim_entry_warp(e->what) != sim_entry_warp(other->what));
}

static inline bool is_alike(const sim_word_access *a, const sim_entry *e) {
    return sim_entry_how(e->what) == a->how &&
           (sim_entry_bytes(a->what) & ~sim_entry_bytes(e->what)) == 0 &&
           (e->serial != a->serial || e->time >= sim_running_now.base);
}

/* Threads and agents work in order: to know a read is to know those before it. The last one of a
 * kind stands for all. */
static inline void succeed(const sim_word_access *a, sim_entry *e) {
    if (e->lanes == a->lane)
        e->time = a->time;
    else if (e->time != a->time)
        e->lanes &= ~a->lane;
}

typedef struct visit {
    sim_entry *same;        /* the entry that the access joins */
    const sim_entry *alike; /* one that stands for it to all but some */
    bool represented;
    int32_t n; /* entries that are kept */
} visit;

/* Walks a list of entries; those that are dropped make room. False: the list did not end. */
static inline bool walk(const sim_word_access *a, sim_entry *entries, int32_t room, visit *v) {
    int32_t i = 0, kept = 0;
    for (; i < room && entries[i].serial != 0; ++i) {
        sim_entry *e = &entries[i];
        if (is_dead(a, e))
            continue;
        if (e->serial == a->serial && e->what == a->what && (a->how & SIM_WRITES) == 0)
            succeed(a, e);
        if (e->what == a->what && e->time == a->time && e->serial == a->serial) {
            if ((a->how & SIM_WRITES) != 0 && (a->how & SIM_STRONG) == 0 &&
                (e->lanes & ~a->lane) != 0)
                compare(a, e); /* two lanes of one store */
            e->lanes |= a->lane;
            if (v->same) { /* both have become so */
                v->same->lanes |= e->lanes;
                continue;
            }
            v->same = &entries[kept];
        } else {
            compare(a, e);
            if (e->lanes == 0)
                continue;
            if (sim_recorder_now.plain && is_alike(a, e)) {
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
static sim_entry *victim(const sim_word_access *a, sim_entry *entries) {
    sim_entry *found = &entries[SIM_CELL_ENTRIES - 1];
    for (int32_t i = SIM_CELL_ENTRIES - 1; i >= 0; --i)
        if (sim_entry_how(entries[i].what) == a->how) {
            found = &entries[i];
            if (found->serial == a->serial)
                break;
        }
    return found;
}

/* The last plain read of the thread's to the word, where a compare-and-swap has found that its
 * value is still there: the two are as one. */
static bool absorb(const sim_word_access *a, sim_entry *entries, int32_t room) {
    for (int32_t i = room - 1; i >= 0; --i) {
        sim_entry *e = &entries[i];
        if (e->serial != a->serial || e->time != a->time || (e->lanes & a->lane) == 0 ||
            sim_entry_how(e->what) != SIM_READS ||
            sim_entry_bytes(e->what) != sim_entry_bytes(a->what) ||
            sim_entry_warp(e->what) != sim_entry_warp(a->what))
            continue;
        e->lanes &= ~a->lane;
        return true;
    }
    return false;
}

static void see_guesses(const sim_word_access *a, sim_page *page, size_t word) {
    if (a->how == SIM_READS && sim_guesses_waiting > 0)
        sim_guess_again(a);
    if (!a->compares)
        return;
    sim_guess_compared(a);
    if (sim_guess_holds(a) && !(page->more && absorb(a, page->more[word].entry, SIM_MORE_ENTRIES)))
        (void)absorb(a, page->cell[word].entry, SIM_CELL_ENTRIES);
}

void sim_race_word(const sim_word_access *a, sim_page *page, size_t word) {
    see_guesses(a, page, word);
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
