/* Accesses as they come, of kernels and of the runtime for them: they are recorded word by word. */
#include "sim/race/record.h"
#include "sim/allocation.h"
#include "sim/block.h"
#include "sim/cluster.h"
#include "sim/count/count_access.h"
#include "sim/race/host.h"
#include "sim/race/order.h"
#include "sim/race/place.h"
#include "sim/race/race_access.h"
#include "sim/shared.h"
#include "sim/templates.h"

sim_recorder sim_recorder_now;

/* The last accesses of the thread that runs. */
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

/* ---- an access, word by word ---- */

static inline bool is_own_shared(const volatile void *address) {
    return sim_in_range(&sim_recorder_now.shared[1], address) ||
           sim_in_range(&sim_recorder_now.shared[0], address);
}

static bool is_other_shared(const volatile void *address) {
    sim_range of_other;
    uint32_t rank;
    return sim_templates_of(address) != NULL || sim_cluster_find(address, &rank, &of_other);
}

static inline bool is_shared(const volatile void *address) {
    return is_own_shared(address) || (!sim_is_allocated(address) && is_other_shared(address));
}

/* Behind the shared memory that the block has, where other launches have theirs, or before it. */
static bool is_beyond(const volatile void *address) {
    const sim_range room = {sim_recorder_now.shared[1].low - SIM_DYNAMIC_GUARD,
                            sim_recorder_now.shared[1].low + ASSAY_MAX_SHARED + SIM_DYNAMIC_GUARD};
    return sim_recorder_now.shared[1].low && sim_in_range(&room, address);
}

static inline void check_written(const sim_word_access *a, sim_page *page, size_t word,
                                 uint32_t bytes) {
    unsigned char *written = &page->written[word];
    if ((a->how & SIM_READS) != 0 && (*written & bytes) != bytes)
        sim_find_single(a, SIM_UNINITIALISED, (size_t)__builtin_popcount(bytes));
    *written |= (unsigned char)bytes; /* after a bad read too: one report for each place */
}

/* Most cells are far from those of the accesses before: the processor brings those of an access
 * together. */
static inline void fetch_ahead(const volatile void *address, size_t bytes) {
    enum { MOST = 32 }; /* words */
    const uintptr_t at = (uintptr_t)address, number = at / SIM_PAGE + 1;
    const struct sim_recent *recent = &sim_recent[number % SIM_RECENT];
    const size_t first = at % SIM_PAGE / SIM_WORD, end = first + (bytes + SIM_WORD - 1) / SIM_WORD;
    if (recent->number != number)
        return;
    for (size_t word = first; word < end && word < first + MOST && word < SIM_PAGE_WORDS; ++word) {
        __builtin_prefetch(&recent->page->cell[word], 1);
        if (recent->page->more)
            __builtin_prefetch(&recent->page->more[word], 1);
    }
}

/* `by`: an agent; NULL: the thread itself. */
static void record(const volatile void *address, size_t bytes, uint32_t how, const void *value,
                   uint32_t place, const sim_async *by) {
    const sim_running *r = &sim_running_now;
    const uint32_t thread = by ? by->number : (uint32_t)r->thread;
    sim_word_access a = {.address = address,
                         .serial = by ? by->serial : r->serial,
                         .time = by ? by->time : r->time,
                         .lane = 1u << thread % SIM_WARP,
                         .own = r->serial,
                         .since = r->clocks->first,
                         .how = how & ((1u << SIM_HOW_BITS) - 1),
                         .place = place < SIM_MOST_PLACES ? place : 0,
                         .first = r->first,
                         .compares = (how & SIM_COMPARES) != 0,
                         .value = value};
    a.shared = is_shared(address);
    const uint32_t what = a.how | thread / SIM_WARP << SIM_WARP_SHIFT | a.place << SIM_PLACE_SHIFT;
    if (!a.shared && is_beyond(address)) {
        sim_find_single(&a, SIM_BEYOND, bytes);
        return;
    }
    fetch_ahead(address, bytes);
    while (bytes > 0) {
        const uintptr_t at = (uintptr_t)a.address;
        const size_t first = at % SIM_WORD;
        const size_t count = SIM_WORD - first < bytes ? SIM_WORD - first : bytes;
        const uint32_t mask = ((1u << count) - 1) << first;
        const size_t word = at % SIM_PAGE / SIM_WORD;
        sim_page *page = sim_shadow_page(a.address);
        a.what = what | mask << SIM_BYTES_SHIFT;
        if (page && page->guarded && (page->guarded[word] & mask) != 0) {
            sim_find_single(&a, SIM_STRAY, bytes);
        } else if (page) {
            if (a.shared && page->written)
                check_written(&a, page, word, mask);
            sim_race_word(&a, page, word);
        }
        a.address += count;
        a.value = a.value ? a.value + count : NULL;
        bytes -= count;
    }
    if ((how & SIM_STRONG) != 0 && !by) {
        sim_recorder_now.plain &= (how & (SIM_ACQUIRE | SIM_RELEASE)) == 0;
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
        if (!sim_recorder_now.plain || ((e->what ^ what) & kind) != 0)
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
    if (page->written && !is_own_shared(address) && !sim_templates_of(address))
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

static uint32_t how_of_kind(sim_access kind) {
    return kind == SIM_READ    ? SIM_READS
           : kind == SIM_WRITE ? SIM_WRITES
                               : SIM_READS | SIM_WRITES | SIM_STRONG;
}

/* The most frequent first. */
static bool is_watched(const volatile void *address) {
    return is_own_shared(address) ||
           (!sim_in_range(&sim_stacks, address) &&
            (sim_is_allocated(address) || is_other_shared(address) || is_beyond(address)));
}

/* Neither the device's memory nor any of the host's that kernels of C++ may use. */
static bool is_lost(const volatile void *address) {
    return !sim_in_range(&sim_stacks, address) && !sim_is_host(address);
}

static void record_watched(const volatile void *address, size_t bytes, uint32_t how,
                           const void *value, uint32_t place) {
    if (!record_quick(address, bytes, how, place))
        record(address, bytes, how, value, place, NULL);
}

/* An access that only a kernel can have made. */
static void record_own(const volatile void *address, size_t bytes, uint32_t how, const void *value,
                       uint32_t place) {
    if (is_watched(address))
        record_watched(address, bytes, how, value, place);
    else if (is_lost(address))
        sim_find_single(&(sim_word_access){.address = address,
                                           .serial = sim_running_now.serial,
                                           .how = how,
                                           .place = place < SIM_MOST_PLACES ? place : 0,
                                           .what = 1u << SIM_BYTES_SHIFT},
                        SIM_STRAY, bytes);
}

/* Most accesses: to shared memory of the block, or to the device's in a page that has been accessed
 * of late. */
static inline bool is_usual(const volatile void *address) {
    const uintptr_t number = (uintptr_t)address / SIM_PAGE + 1;
    const struct sim_recent *recent = &sim_recent[number % SIM_RECENT];
    return recent->number == number && (recent->device || is_own_shared(address));
}

static void __attribute__((noinline))
record_hooked(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (sim_count_on())
        sim_count_access(address, bytes, kind, place, true);
    else if (is_usual(address))
        record_watched(address, bytes, how_of_kind(kind), NULL,
                       sim_place_of_address((uintptr_t)place));
    else
        record_own(address, bytes, how_of_kind(kind), NULL, sim_place_of_address((uintptr_t)place));
}

/* Accesses to a thread's own array, which many are, end before any register is saved. */
void sim_race_access(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (sim_in_range(&sim_stacks, address) || !sim_trace_on || sim_running_now.thread < 0)
        return;
    record_hooked(address, bytes, kind, place);
}

void sim_race_copied(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (!sim_trace_on || sim_running_now.thread < 0)
        return;
    if (sim_count_on())
        sim_count_access(address, bytes, kind, place, false);
    else if (is_watched(address))
        record_watched(address, bytes, how_of_kind(kind), NULL,
                       sim_place_of_address((uintptr_t)place));
}

/* ---- accesses that the runtime carries out ---- */

static void trace(const volatile void *address, size_t bytes, uint32_t how, const void *value,
                  const char *file, int line) {
    if (sim_running_now.thread < 0)
        return;
    if (sim_count_on()) {
        if ((how & SIM_STRONG) != 0)
            sim_count_access(address, bytes, SIM_ATOMIC, sim_place_of_line(file, line), true);
        return;
    }
    const uint32_t at = sim_place_of_line(file, line);
    if (!sim_recorder_now.everywhere)
        record_own(address, bytes, how, value, at);
    else if (!sim_in_range(&sim_stacks, address))
        record(address, bytes, how, value, at, NULL);
}

void sim_trace_access(const volatile void *address, size_t bytes, uint32_t how, const char *file,
                      int line) {
    trace(address, bytes, how, NULL, file, line);
}

void sim_trace_compare(const volatile void *address, size_t bytes, const void *compared,
                       const char *file, int line) {
    trace(address, bytes, SIM_READS | SIM_WRITES | SIM_STRONG | SIM_COMPARES, compared, file, line);
}

void sim_trace_async(const sim_async *who, const volatile void *address, size_t bytes, uint32_t how,
                     const char *file, int line) {
    sim_recorder_now.proxies = true;
    if (sim_running_now.thread < 0 || sim_count_on())
        return;
    if (sim_recorder_now.everywhere ? !sim_in_range(&sim_stacks, address) : is_watched(address))
        record(address, bytes, how, NULL, sim_place_of_line(file, line), who);
}

void sim_trace_mbarrier_access(const void *barrier, uint32_t how, const char *file, int line) {
    if (!sim_count_on())
        sim_trace_access(barrier, sizeof(uint64_t), how, file, line);
}
