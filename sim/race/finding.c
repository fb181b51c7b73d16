/* Makes findings of accesses: both sides of a conflict, the reason, and the memory. */
#include "sim/cluster.h"
#include "sim/race/guess.h"
#include "sim/race/order.h"
#include "sim/race/record.h"
#include "sim/templates.h"

/* A write of bytes that are there already, beside the write that put them there. */
static bool equal_values(const sim_word_access *a, const sim_entry *e) {
    if (!a->value || (a->how & SIM_READS) != 0 || (sim_entry_how(e->what) & SIM_READS) != 0)
        return false;
    const int n = __builtin_popcount(sim_entry_bytes(a->what));
    for (int i = 0; i < n; ++i)
        if (a->address[i] != a->value[i])
            return false;
    return true;
}

static sim_race_reason reason_of(const sim_word_access *a, const sim_entry *e, uint32_t lanes) {
    if ((a->how & sim_entry_how(e->what) & SIM_STRONG) != 0)
        return SIM_SCOPE_OF_BLOCK;
    if (sim_is_thread(a->serial) && !sim_is_thread(e->serial))
        return SIM_NO_WAIT;
    if (sim_order_lacks_fence(e->serial, sim_entry_warp(e->what), lanes, e->time))
        return SIM_NO_FENCE;
    return sim_order_block_of(e->serial) == sim_order_block_of(a->serial) ? SIM_NO_BARRIER
                                                                          : SIM_NO_ORDER_OF_BLOCKS;
}

static sim_range memory_of(const volatile void *address, bool *dynamic) {
    const sim_range *of_template = sim_templates_of(address);
    for (int i = 0; i < 2; ++i)
        if ((const volatile char *)address >= sim_recorder_now.shared[i].low &&
            (const volatile char *)address < sim_recorder_now.shared[i].high) {
            *dynamic = i == 1;
            return sim_recorder_now.shared[i];
        }
    sim_range range = of_template ? *of_template : (sim_range){NULL, NULL};
    uint32_t rank;
    *dynamic = sim_cluster_find(address, &rank, &range);
    return range;
}

static sim_race_found found_by(const sim_word_access *a, sim_race_class class) {
    sim_race_found f = {.class = class,
                        .after = {.how = a->how,
                                  .place = a->place,
                                  .block = sim_running_now.clocks->block,
                                  .thread = sim_running_now.thread,
                                  .async = !sim_is_thread(a->serial)},
                        .address = a->address,
                        .bytes = (uint32_t)__builtin_popcount(sim_entry_bytes(a->what))};
    f.memory = memory_of(a->address, &f.dynamic);
    return f;
}

/* One side reads plainly, and the other writes strongly. */
static bool may_be_guess(const sim_word_access *a, const sim_entry *e) {
    enum { STRONGLY = SIM_WRITES | SIM_STRONG };
    const uint32_t how = sim_entry_how(e->what);
    return sim_is_thread(a->serial) && sim_is_thread(e->serial) &&
           ((a->how == SIM_READS && (how & STRONGLY) == STRONGLY) ||
            (how == SIM_READS && (a->how & STRONGLY) == STRONGLY));
}

static sim_race_found conflict_of(const sim_word_access *a, const sim_entry *e, uint32_t lanes,
                                  sim_race_class class) {
    sim_race_found f = found_by(a, class);
    f.before = (sim_race_side){.how = sim_entry_how(e->what),
                               .place = e->what >> SIM_PLACE_SHIFT,
                               .async = !sim_is_thread(e->serial)};
    sim_order_issuer(e->serial,
                     (int32_t)(sim_entry_warp(e->what) * SIM_WARP) + __builtin_ctz(lanes),
                     &f.before.block, &f.before.thread);
    f.reason = reason_of(a, e, lanes);
    return f;
}

/* What its reader does next decides whether the conflict is one. */
static void wait_for_reader(const sim_word_access *a, const sim_entry *e, uint32_t lanes) {
    sim_guess_reader reader = {.serial = a->serial,
                               .thread = sim_running_now.thread,
                               .address = a->address,
                               .bytes = (uint32_t)__builtin_popcount(sim_entry_bytes(a->what))};
    if (a->how == SIM_READS) {
        const sim_race_found f = conflict_of(a, e, lanes, SIM_RACE);
        sim_guess_wait(&f, &reader, a->address);
        return;
    }
    const uintptr_t word = (uintptr_t)a->address / SIM_WORD * SIM_WORD;
    reader.serial = e->serial;
    reader.address = (const volatile char *)word + __builtin_ctz(sim_entry_bytes(e->what));
    reader.bytes = (uint32_t)__builtin_popcount(sim_entry_bytes(e->what));
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const sim_race_found f = conflict_of(a, e, rest, SIM_RACE);
        reader.thread = f.before.thread;
        sim_guess_wait(&f, &reader, NULL);
    }
}

sim_race_class sim_find_conflict(const sim_word_access *a, const sim_entry *e, uint32_t lanes,
                                 bool unfenced) {
    const sim_race_class class = equal_values(a, e) ? SIM_RACE_EQUAL : SIM_RACE;
    if (sim_race_again(class, a->place, e->what >> SIM_PLACE_SHIFT))
        return class;
    if (may_be_guess(a, e)) {
        wait_for_reader(a, e, lanes);
        return SIM_RACE_GUESS;
    }
    sim_race_found f = conflict_of(a, e, lanes, class);
    f.reason = unfenced ? SIM_NO_PROXY_FENCE : f.reason;
    sim_race_add(&f);
    return class;
}

void sim_find_missed(const volatile void *barrier, uint32_t next, const sim_race_side *waits,
                     const sim_race_side *by) {
    sim_race_found f = {.class = SIM_MISSED,
                        .after = *waits,
                        .before = *by,
                        .address = barrier,
                        .bytes = sizeof(uint64_t),
                        .phase = next};
    f.memory = memory_of(barrier, &f.dynamic);
    sim_race_add(&f);
}

void sim_find_single(const sim_word_access *a, sim_race_class class, size_t bytes) {
    if (sim_race_again(class, a->place, 0))
        return;
    sim_race_found f = found_by(a, class);
    if (class == SIM_BEYOND) {
        f.memory = sim_recorder_now.shared[1];
        f.dynamic = true;
    }
    f.bytes = (uint32_t)bytes;
    sim_race_add(&f);
}
