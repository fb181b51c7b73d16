/*
 * mbarriers. The 64 bits that PTX keeps secret are here:
 *
 *   63      the phase that is not complete yet: 0, 1, 0, ...
 *   43-62   arrivals that it still waits for
 *   22-41   arrivals that a phase waits for
 *   0-20    bytes of asynchronous copies that it still waits for, plus 2^20
 *
 * Beside them each barrier is known by its address, with the bits that it must have: a barrier that
 * was never initialised, or was overwritten, is reported as such.
 */
#include "sim/operation.h"
#include "sim/proxy.h"

#include "sim/defect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PENDING = 43, EXPECTED = 22, COUNTS = (1 << 20) - 1, NO_BYTES = 1 << 20, BUCKETS = 1024 };

typedef struct state {
    uint32_t phase, pending, expected;
    int64_t bytes;
} state;

typedef struct mbarrier {
    struct mbarrier *next;
    const void *address;
    uint64_t word;
    uint32_t phases;         /* that are complete */
    sim_site made, ended[2]; /* where the last two of them were completed, by parity */
} mbarrier;

static mbarrier *known[BUCKETS];
static int32_t n_known;

static mbarrier **bucket_of(const void *address) {
    return &known[(uintptr_t)address / sizeof(uint64_t) * 0x9e3779b1u >> 8 & (BUCKETS - 1)];
}

static mbarrier *find(const void *address) {
    mbarrier *m = *bucket_of(address);
    while (m != NULL && m->address != address)
        m = m->next;
    return m;
}

static void drop(mbarrier **link) {
    mbarrier *m = *link;
    *link = m->next;
    free(m);
    --n_known;
}

void sim_mbarrier_forget(void) {
    for (size_t i = 0; n_known > 0 && i < BUCKETS; ++i)
        while (known[i] != NULL)
            drop(&known[i]);
}

void sim_mbarrier_block_end(const sim_range shared[2]) {
    for (size_t i = 0; n_known > 0 && i < BUCKETS; ++i)
        for (mbarrier **link = &known[i]; *link != NULL;)
            if (sim_in_range(&shared[0], (*link)->address) ||
                sim_in_range(&shared[1], (*link)->address))
                drop(link);
            else
                link = &(*link)->next;
}

static uint64_t pack(const state *s) {
    return (uint64_t)s->phase << 63 | (uint64_t)s->pending << PENDING |
           (uint64_t)s->expected << EXPECTED | (uint64_t)(s->bytes + NO_BYTES);
}

static state unpack(uint64_t word) {
    return (state){(uint32_t)(word >> 63), (uint32_t)(word >> PENDING) & COUNTS,
                   (uint32_t)(word >> EXPECTED) & COUNTS, (int64_t)(word & 0x1fffff) - NO_BYTES};
}

SIM_REPORT static void report(const char *what, const sim_site *site) {
    char where[SIM_POSITION];
    sim_defect("wrong mbarrier", site->file, site->line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

SIM_REPORT static void report_made(const char *what, const mbarrier *m, const sim_site *site) {
    char text[200];
    snprintf(text, sizeof text, "%s; it was initialised at %s:%d", what,
             sim_base_name(m->made.file), m->made.line);
    report(text, site);
}

static void check_address(const void *barrier, const sim_site *site) {
    if ((uintptr_t)barrier % sizeof(uint64_t) != 0)
        report("its address is no multiple of 8", site);
}

/* The barrier of an operation, with its bits as they must be. */
static mbarrier *get(const void *barrier, const sim_site *site) {
    uint64_t word;
    check_address(barrier, site);
    mbarrier *m = find(barrier);
    if (m == NULL)
        report("it was not initialised", site);
    memcpy(&word, barrier, sizeof word);
    if (word != m->word)
        report_made("its memory was overwritten while it is in use", m, site);
    return m;
}

SIM_REPORT static void report_early(const sim_operation *op) {
    char where[SIM_POSITION];
    sim_defect("wrong mbarrier", op->site.file, op->site.line,
               "%s: the phase of its mbarrier completes while this copy is under way: more bytes "
               "come than are expected",
               sim_block_thread_text(op->block, op->thread, where));
    sim_abandon();
}

/* A phase for which nothing is missing is complete. */
static void store_by(mbarrier *m, state s, const sim_completion *by) {
    const sim_site *site = by->site;
    if (s.bytes <= -NO_BYTES || s.bytes >= NO_BYTES)
        report("more bytes are expected than 2^20 - 1", site);
    if (s.pending == 0 && s.bytes < 0)
        report_made("more bytes come than are expected", m, site);
    if (s.pending == 0 && s.bytes == 0) {
        const sim_operation *op = sim_operation_under_way(m->address);
        if (op != NULL)
            report_early(op);
        m->ended[s.phase] = *site;
        s.phase ^= 1;
        s.pending = s.expected;
        ++m->phases;
        trace_mbarrier_complete(m->address, by);
        trace_count(SIM_EVENT_MBARRIER_PHASES, 1);
        sim_progress();
    }
    m->word = pack(&s);
    memcpy((void *)(uintptr_t)m->address, &m->word, sizeof m->word);
}

static void store(mbarrier *m, state s, const sim_site *site) {
    const sim_completion by = {site, sim_now.block, sim_now.thread, false};
    store_by(m, s, &by);
}

static void note_access(const void *barrier, const sim_site *site) {
    trace_mbarrier_access(barrier, SIM_READS | SIM_WRITES | SIM_STRONG, site->file, site->line);
}

static bool is_in_use(const mbarrier *m) {
    const state s = unpack(m->word);
    return s.pending != s.expected || s.bytes != 0 || sim_operation_under_way(m->address) != NULL;
}

void sim_mbarrier_init(void *barrier, uint32_t count, const sim_site *site) {
    if (count == 0 || count > COUNTS)
        report("it is initialised with a count that is not 1 to 2^20 - 1", site);
    check_address(barrier, site);
    mbarrier *m = find(barrier);
    if (m != NULL && is_in_use(m))
        report_made("it is initialised again in the middle of a phase", m, site);
    if (m == NULL) {
        m = calloc(1, sizeof *m);
        if (m == NULL)
            report("there is no memory to know it", site);
        m->address = barrier;
        m->next = *bucket_of(barrier);
        *bucket_of(barrier) = m;
        ++n_known;
    }
    const state s = {0, count, count, 0};
    m->word = pack(&s);
    m->made = *site;
    memcpy(barrier, &m->word, sizeof m->word);
    trace_write(barrier, sizeof m->word, site->file, site->line);
    trace_mbarrier(SIM_MBARRIER_INIT, barrier, 0);
    trace_mbarrier_watch(barrier);
}

void sim_mbarrier_invalidate(void *barrier, const sim_site *site) {
    mbarrier *m = get(barrier, site), **link = bucket_of(barrier);
    if (is_in_use(m))
        report_made("it is invalidated in the middle of a phase", m, site);
    while (*link != m)
        link = &(*link)->next;
    drop(link);
    const uint64_t none = UINT64_MAX;
    memcpy(barrier, &none, sizeof none);
    trace_write(barrier, sizeof(uint64_t), site->file, site->line);
}

void sim_mbarrier_expect(void *barrier, int64_t bytes, const sim_site *site) {
    mbarrier *m = get(barrier, site);
    state s = unpack(m->word);
    s.bytes += bytes;
    trace_mbarrier(SIM_MBARRIER_BYTES, barrier, 0);
    store(m, s, site);
    note_access(barrier, site);
}

void sim_mbarrier_bytes(const sim_operation *op) {
    const sim_completion by = {&op->site, op->block, op->thread, true};
    mbarrier *m = get(op->barrier, &op->site);
    state s = unpack(m->word);
    s.bytes -= op->bytes;
    store_by(m, s, &by);
}

uint32_t sim_mbarrier_phases(const void *barrier, const sim_site *site) {
    const uint32_t phases = get(barrier, site)->phases;
    note_access(barrier, site);
    return phases;
}

uint64_t sim_mbarrier_arrive(void *barrier, uint32_t count, int64_t expected, bool drop,
                             bool complete, bool releases, const sim_site *site) {
    mbarrier *m = get(barrier, site);
    const uint64_t before = m->word;
    state s = unpack(before);
    if (count == 0 || count > s.pending)
        report_made("more threads arrive than it was initialised for", m, site);
    s.bytes += expected;
    s.pending -= count;
    s.expected -= drop ? count : 0;
    if (!complete && s.pending == 0 && s.bytes == 0)
        report("an arrival with .noComplete completes its phase", site);
    trace_mbarrier(SIM_MBARRIER_ARRIVE, barrier, !releases);
    store(m, s, site);
    note_access(barrier, site);
    return before;
}

/* What reports of threads that wait in vain name: what is missing. */
static const char *waits_for(const mbarrier *m, bool tries) {
    static char text[160];
    const state s = unpack(m->word);
    snprintf(text, sizeof text,
             "mbarrier.%s, for phase %" PRIu32 " of the mbarrier of %s:%d, which lacks %" PRIu32
             " of %" PRIu32 " arrivals and %" PRId64 " bytes,",
             tries ? "try_wait" : "test_wait", m->phases, sim_base_name(m->made.file), m->made.line,
             s.pending, s.expected, s.bytes);
    return text;
}

/* `phases`: that were complete when the thread saw its own under way, or at its next test. */
SIM_REPORT static void report_missed(const mbarrier *m, uint32_t phases, const sim_site *site) {
    char where[SIM_POSITION];
    const sim_site *ended = &m->ended[unpack(m->word).phase ^ 1];
    sim_defect("missed phase", site->file, site->line,
               "%s: it waits for phase %" PRIu32 " of the mbarrier of %s:%d, and phase %" PRIu32
               " is complete, too, by %s:%d: it would wait for ever",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), phases,
               sim_base_name(m->made.file), m->made.line, phases + 1, sim_base_name(ended->file),
               ended->line);
    sim_abandon();
}

/* A thread that waits gives way; whether it has then missed its phase. The recorder tells of it and
 * goes on, as if the thread had found the phase complete. */
static bool stall(const mbarrier *m, uint32_t wanted, bool tries, const sim_site *site) {
    const uint32_t phases = m->phases, parity = wanted & 1;
    const void *barrier = m->address;
    trace_count(SIM_EVENT_MBARRIER_STALLS, 1);
    if (tries)
        sim_rest((sim_place){waits_for(m, true), site->file, site->line});
    else
        sim_poll(waits_for(m, false), site->file, site->line);
    m = get(barrier, site);
    if (unpack(m->word).phase != parity)
        return false;
    if (m->phases == phases) {
        (void)sim_operation_advance(barrier);
        return false;
    }
    if (!trace_mbarrier_missed(barrier, parity, site))
        report_missed(m, phases, site);
    return true;
}

bool sim_mbarrier_test(const void *barrier, uint32_t wanted, bool tries, bool acquires,
                       const sim_site *site) {
    const mbarrier *m = get(barrier, site);
    const uint32_t parity = wanted & 1;
    bool missed = (wanted & SIM_BY_STATE) == 0 && trace_mbarrier_missed(barrier, parity, site);
    trace_mbarrier_access(barrier, SIM_READS | SIM_STRONG, site->file, site->line);
    if (!missed && unpack(m->word).phase == parity)
        missed = stall(m, wanted, tries, site);
    m = get(barrier, site);
    const bool complete = missed || unpack(m->word).phase != parity;
    if (complete) {
        sim_operation_awaited(barrier, m->phases);
        trace_count(SIM_EVENT_MBARRIER_WAITS, 1);
    }
    if (complete && acquires)
        trace_mbarrier(SIM_MBARRIER_WAIT, barrier, parity);
    if (complete && !missed)
        trace_mbarrier_passed(barrier, acquires, site);
    return complete;
}

/* The copies of this thread are complete at once, which is as late as they may be; `counted`: the
 * arrival is one that the barrier was initialised for. */
void sim_mbarrier_copy_arrive(void *barrier, bool counted, const sim_site *site) {
    sim_cp_async_commit();
    sim_cp_async_wait(0);
    if (counted) {
        (void)sim_mbarrier_arrive(barrier, 1, 0, false, true, true, site);
        return;
    }
    (void)get(barrier, site);
    trace_mbarrier(SIM_MBARRIER_ARRIVE, barrier, 0);
}
