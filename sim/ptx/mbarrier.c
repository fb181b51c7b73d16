/*
 * mbarriers. The 64 bits that PTX keeps secret are here:
 *
 *   63      the phase that is not complete yet: 0, 1, 0, ...
 *   43-62   arrivals that it still waits for
 *   22-41   arrivals that a phase waits for
 *   0-20    bytes of asynchronous copies that it still waits for, plus 2^20
 *
 * Bits 21 and 42 are 0, so memory that was never written (all ones) is none of it.
 */
#include "sim/ptx/internal.h"

#include "sim/block.h"

#include <string.h>

enum { PENDING = 43, EXPECTED = 22, COUNTS = (1 << 20) - 1, NO_BYTES = 1 << 20 };

typedef struct state {
    uint32_t phase, pending, expected;
    int64_t bytes;
} state;

static uint64_t pack(const state *s) {
    return (uint64_t)s->phase << 63 | (uint64_t)s->pending << PENDING |
           (uint64_t)s->expected << EXPECTED | (uint64_t)(s->bytes + NO_BYTES);
}

SIM_REPORT static void report(const char *what, const ptx_site *site) {
    char where[SIM_POSITION];
    sim_defect("wrong mbarrier", site->file, site->line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

static uint64_t load(const void *barrier, const ptx_site *site) {
    uint64_t word;
    if ((uintptr_t)barrier % sizeof word != 0)
        report("its address is no multiple of 8", site);
    memcpy(&word, barrier, sizeof word);
    return word;
}

static state unpack(const void *barrier, const ptx_site *site) {
    const uint64_t word = load(barrier, site);
    if ((word >> 21 & 1) != 0 || (word >> 42 & 1) != 0)
        report("it was not initialised", site);
    return (state){(uint32_t)(word >> 63), (uint32_t)(word >> PENDING) & COUNTS,
                   (uint32_t)(word >> EXPECTED) & COUNTS, (int64_t)(word & 0x1fffff) - NO_BYTES};
}

/* Writes the state back; a phase for which nothing is missing is complete. */
static void store(void *barrier, state s, const ptx_site *site) {
    if (s.bytes <= -NO_BYTES || s.bytes >= NO_BYTES)
        report("more bytes are expected than 2^20 - 1", site);
    if (s.pending == 0 && s.bytes == 0) {
        s.phase ^= 1;
        s.pending = s.expected;
        trace_mbarrier(SIM_MBARRIER_COMPLETE, barrier);
        sim_progress();
    }
    const uint64_t word = pack(&s);
    memcpy(barrier, &word, sizeof word);
    trace_access(barrier, sizeof word, SIM_READS | SIM_WRITES | SIM_STRONG, site->file, site->line);
}

static void call_init(void *barrier, uint32_t count, const ptx_site *site) {
    if (count == 0 || count > COUNTS)
        report("it is initialised with a count that is not 1 to 2^20 - 1", site);
    (void)load(barrier, site);
    const state s = {0, count, count, 0};
    const uint64_t word = pack(&s);
    memcpy(barrier, &word, sizeof word);
    trace_write(barrier, sizeof word, site->file, site->line);
    trace_mbarrier(SIM_MBARRIER_INIT, barrier);
}

static void call_invalidate(void *barrier, const ptx_site *site) {
    (void)unpack(barrier, site);
    memset(barrier, 0xff, sizeof(uint64_t));
    trace_write(barrier, sizeof(uint64_t), site->file, site->line);
}

static void call_expect(void *barrier, int64_t bytes, const ptx_site *site) {
    state s = unpack(barrier, site);
    s.bytes += bytes;
    store(barrier, s, site);
}

static uint64_t call_arrive(void *barrier, uint32_t count, int64_t expected, bool drop,
                            bool complete, bool releases, const ptx_site *site) {
    state s = unpack(barrier, site);
    const uint64_t before = pack(&s);
    if (count == 0 || count > s.pending)
        report("more threads arrive than it was initialised for", site);
    s.bytes += expected;
    s.pending -= count;
    s.expected -= drop ? count : 0;
    if (!complete && s.pending == 0 && s.bytes == 0)
        report("an arrival with .noComplete completes its phase", site);
    if (releases)
        trace_mbarrier(SIM_MBARRIER_ARRIVE, barrier);
    store(barrier, s, site);
    return before;
}

/* A thread that waits gives way. */
static bool call_test(const void *barrier, uint32_t parity, bool try, bool acquires,
                      const ptx_site *site) {
    bool complete = unpack(barrier, site).phase != parity;
    trace_access(barrier, sizeof(uint64_t), SIM_READS | SIM_STRONG, site->file, site->line);
    if (!complete && try)
        sim_rest((sim_place){"mbarrier.try_wait", site->file, site->line});
    else if (!complete)
        sim_poll("mbarrier.test_wait", site->file, site->line);
    complete = unpack(barrier, site).phase != parity;
    if (complete && acquires)
        trace_mbarrier(SIM_MBARRIER_WAIT, barrier);
    return complete;
}

/* The copies of this thread are complete at once, which is as late as they may be; `counted`: the
 * arrival is one that the barrier was initialised for. */
static void call_copy_arrive(void *barrier, bool counted, const ptx_site *site) {
    sim_cp_async_commit();
    sim_cp_async_wait(0);
    if (counted) {
        (void)call_arrive(barrier, 1, 0, false, true, true, site);
        return;
    }
    (void)unpack(barrier, site);
    trace_mbarrier(SIM_MBARRIER_ARRIVE, barrier);
}

void ptx_mbarrier_fill(ptx_context *x) {
    x->mbarrier_init = call_init;
    x->mbarrier_invalidate = call_invalidate;
    x->mbarrier_expect = call_expect;
    x->mbarrier_arrive = call_arrive;
    x->mbarrier_test = call_test;
    x->copy_arrive = call_copy_arrive;
}
