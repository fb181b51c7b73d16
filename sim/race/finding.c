/* Makes findings of accesses: both sides of a conflict, the reason, and the memory. */
#include "sim/cluster.h"
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

sim_race_class sim_find_conflict(const sim_word_access *a, const sim_entry *e, uint32_t lanes,
                                 bool unfenced) {
    const sim_race_class class = equal_values(a, e) ? SIM_RACE_EQUAL : SIM_RACE;
    const uint32_t place = e->what >> SIM_PLACE_SHIFT;
    if (sim_race_again(class, a->place, place))
        return class;
    sim_race_found f = found_by(a, class);
    f.before = (sim_race_side){
        .how = sim_entry_how(e->what), .place = place, .async = !sim_is_thread(e->serial)};
    sim_order_issuer(e->serial,
                     (int32_t)(sim_entry_warp(e->what) * SIM_WARP) + __builtin_ctz(lanes),
                     &f.before.block, &f.before.thread);
    f.reason = unfenced ? SIM_NO_PROXY_FENCE : reason_of(a, e, lanes);
    sim_race_add(&f);
    return class;
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
