/* The runtime's events, for the recorder: launches, blocks, and meetings of threads. */
#include "sim/allocation.h"
#include "sim/block.h"
#include "sim/cluster.h"
#include "sim/count/count_access.h"
#include "sim/race/guess.h"
#include "sim/race/host.h"
#include "sim/race/order.h"
#include "sim/race/place.h"
#include "sim/race/record.h"
#include "sim/race/waits.h"
#include "sim/templates.h"

#include <stdio.h>

bool sim_trace_on;

/* ---- launches and blocks ---- */

static bool describe(const volatile void *address, char *text, size_t size) {
    const sim_range *range = sim_allocation_of(address);
    if (!range)
        return false;
    snprintf(text, size, "byte %td of an allocation of %td",
             (const volatile char *)address - range->low, range->high - range->low);
    return true;
}

void trace_launch_begin(const sim_launch *launch) {
    sim_trace_on = launch->records;
    if (!sim_trace_on)
        return;
    if (sim_count_on())
        sim_count_launch(launch->kernel);
    if (!sim_race_describe)
        sim_race_describe = describe;
    sim_recorder_now.plain = true;
    sim_recorder_now.proxies = launch->proxies;
    sim_recorder_now.everywhere = launch->sites != NULL;
    sim_host_launch(launch);
    sim_shadow_launch(sim_order_launch(sim_now.n_threads));
    sim_places_begin(launch->sites, launch->n_sites);
    sim_race_begin();
    sim_guess_begin();
}

void trace_launch_end(void) {
    if (!sim_trace_on)
        return;
    if (sim_count_on())
        sim_count_launch_end();
    sim_order_launch_end();
    sim_guess_end();
    sim_race_end();
    sim_recorder_now.shared[0] = sim_recorder_now.shared[1] = (sim_range){NULL, NULL};
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
    sim_order_issuer(e->serial,
                     (int32_t)(sim_entry_warp(e->what) * SIM_WARP) + __builtin_ctz(lanes), &block,
                     &thread);
    sim_defect(
        "exited block", source.file, source.line,
        "%s accesses shared memory of the block of %s, which may have exited by then: nothing "
        "orders the access before its end",
        sim_block_thread_text(block, thread, who), sim_block_thread_text(c->block, 0, whose));
}

/* Accesses of other blocks of the cluster to the block's shared memory come before its end. */
static void check_end(const sim_clocks *c, const sim_range *shared) {
    for (const char *at = shared->low; at < shared->high; at += SIM_WORD) {
        const sim_page *page = sim_shadow_page(at);
        const sim_entry *e = page ? page->cell[(uintptr_t)at % SIM_PAGE / SIM_WORD].entry : NULL;
        for (int i = 0; e && i < SIM_CELL_ENTRIES && e[i].serial != 0; ++i) {
            if (e[i].serial < c->first || e[i].serial - e[i].serial % SIM_SERIALS == c->serial ||
                !sim_is_thread(e[i].serial))
                continue;
            const uint32_t after =
                e[i].lanes & ~sim_order_before_end(c, e[i].serial, sim_entry_warp(e[i].what),
                                                   e[i].lanes, e[i].time);
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
        check_end(clocks, &sim_recorder_now.shared[1]);
    sim_order_block_end(clocks);
}

void sim_trace_thread(sim_clocks *clocks, const sim_range shared[2], int32_t thread) {
    sim_recorder_now.shared[0] = shared[0];
    sim_recorder_now.shared[1] = shared[1];
    sim_order_run(clocks, thread);
}

/* ---- meetings, fences and agents ---- */

void sim_trace_barrier(int32_t id, const uint32_t lanes[], int32_t live) {
    sim_clocks *c = sim_running_now.clocks;
    int32_t n = 0;
    if (sim_count_on())
        sim_count_barrier();
    for (int32_t w = 0; w * SIM_WARP < c->n_threads; ++w)
        n += __builtin_popcount(lanes[w]);
    sim_recorder_now.plain &= n == live;
    sim_order_barrier(c, id, lanes, live);
}

void sim_trace_barrier_arrive(int32_t id) {
    sim_recorder_now.plain = false;
    sim_order_arrive(id);
}

void sim_trace_met(sim_collective kind, int32_t warp, uint32_t lanes) {
    if (kind == SIM_SYNCWARP)
        sim_order_syncwarp(sim_running_now.clocks, warp, lanes);
    else
        sim_waits_met(sim_running_now.clocks, warp, lanes);
    if (sim_count_on())
        sim_count_met(kind, warp, lanes);
}

void sim_trace_fence(uint32_t how) {
    sim_recorder_now.plain = false;
    sim_order_fence(how);
}

void sim_trace_mbarrier(sim_mbarrier_step step, const volatile void *barrier, uint32_t parity) {
    sim_recorder_now.plain = false;
    switch (step) {
    case SIM_MBARRIER_INIT:
        sim_order_mbarrier_init(barrier);
        break;
    case SIM_MBARRIER_ARRIVE:
        sim_order_mbarrier_arrive(barrier, parity != 0);
        break;
    case SIM_MBARRIER_COMPLETE:
        sim_order_mbarrier_complete(barrier, NULL);
        break;
    case SIM_MBARRIER_WAIT:
        sim_order_mbarrier_wait(barrier, parity);
        break;
    case SIM_MBARRIER_BYTES:
        sim_order_mbarrier_bytes(barrier);
        break;
    }
}

void sim_trace_mbarrier_watch(const void *barrier) {
    if (!sim_count_on())
        sim_order_mbarrier_watch(barrier);
}

void sim_trace_mbarrier_complete(const void *barrier, const sim_completion *by) {
    const sim_race_side side = {.how = SIM_WRITES,
                                .place = sim_place_of_line(by->site->file, by->site->line),
                                .block = by->block,
                                .thread = by->thread,
                                .async = by->copy};
    sim_recorder_now.plain = false;
    sim_order_mbarrier_complete(barrier, &side);
}

bool sim_trace_mbarrier_missed(const void *barrier, uint32_t parity, const sim_site *site) {
    return sim_order_mbarrier_missed(barrier, parity, sim_place_of_line(site->file, site->line));
}

void sim_trace_mbarrier_passed(const void *barrier, bool acquires, const sim_site *site) {
    sim_order_mbarrier_passed(barrier, acquires, sim_place_of_line(site->file, site->line));
}

sim_async sim_trace_agent(sim_agent agent, uint32_t number, uint32_t time) {
    sim_recorder_now.plain = false;
    return sim_order_agent(agent, number, time);
}

sim_async sim_trace_mbarrier_agent(const volatile void *barrier) {
    sim_recorder_now.plain = false;
    return sim_order_mbarrier_agent(barrier);
}

void sim_trace_done(sim_agent agent, uint32_t number, uint32_t until) {
    sim_recorder_now.plain = false;
    sim_order_done(agent, number, until);
}

void sim_trace_proxy_fence(void) {
    sim_recorder_now.plain = false;
    sim_order_proxy_fence();
}

void sim_trace_unwritten(sim_range shared) {
    if (sim_running_now.thread >= 0 && !sim_count_on())
        sim_shadow_unwritten(shared);
}

/* ---- counts alone ---- */

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
