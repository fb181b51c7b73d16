/*
 * The race recorder: which accesses conflict (docs/simulated-device.md, "Races"). Two do if they
 * are of different threads, at least one writes, not both are atomic, and nothing orders them: in
 * one block, no barrier and no chain of __syncwarps; across the blocks of a launch, nothing ever.
 * What is found thus does not depend on the schedule, only on what each thread accesses.
 */
#include "sim/count/count_access.h"
#include "sim/race/race_access.h"
#include "sim/race/race_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARPS = SIM_MAX_THREADS / SIM_WARP, STAMP_BITS = 24, THREAD_BITS = 16 };

/* Where the epochs of a block start. */
typedef struct block_start {
    uint64_t epoch, block;
} block_start;

static struct {
    /* Epochs, as sim_record.when with stamp 0: now, the first of this block, of this launch. */
    uint64_t epoch, block_epoch, launch_epoch;
    block_start *starts; /* of this launch */
    size_t n_starts, capacity;
    uint32_t stamp[MAX_WARPS];
    /* What a thread did before stamp seen[its own thread][lane] of `lane` of its warp is ordered
     * before what it does next: a vector clock for each lane. */
    uint32_t seen[SIM_MAX_THREADS][SIM_WARP];
    /* Of the thread that runs. */
    uint32_t thread;
    uint64_t when;
} clocks;

static uint32_t stamp_of(const sim_record *r) {
    return (uint32_t)r->when & ((1u << STAMP_BITS) - 1);
}

static uint32_t thread_of(const sim_record *r) {
    return (uint32_t)r->who & ((1u << THREAD_BITS) - 1);
}

static bool in_this_epoch(const sim_record *r) {
    return r->when >= clocks.epoch;
}

static bool in_other_block(const sim_record *r) {
    return r->when >= clocks.launch_epoch && r->when < clocks.block_epoch;
}

static bool same_warp(uint32_t a, uint32_t b) {
    return (a ^ b) < SIM_WARP;
}

/* Whether a record of this epoch comes before whatever the current thread does next. */
static bool ordered(const sim_record *r) {
    uint32_t thread = thread_of(r);
    return thread == clocks.thread || (same_warp(thread, clocks.thread) &&
                                       stamp_of(r) < clocks.seen[clocks.thread][thread % SIM_WARP]);
}

static uint64_t block_of(const sim_record *r) {
    size_t low = 0, high = clocks.n_starts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (clocks.starts[middle].epoch <= r->when)
            low = middle;
        else
            high = middle;
    }
    return clocks.starts[low].block;
}

/* An access on its way through the shadow. */
typedef struct access {
    const sim_region *region;
    const volatile char *address;
    uint64_t since; /* whatever was before conflicts with nothing now */
    sim_access kind;
    sim_record record;
} access;

static sim_race_side side_of(sim_access kind, const sim_record *r) {
    return (sim_race_side){kind, r->who >> THREAD_BITS, block_of(r), (int32_t)thread_of(r)};
}

static void report(const access *a, sim_access kind, const sim_record *before) {
    if (sim_race_again(a->record.who >> THREAD_BITS, before->who >> THREAD_BITS))
        return;
    sim_race_side after = side_of(a->kind, &a->record), earlier = side_of(kind, before);
    sim_race_found(a->region, a->address, &after, &earlier);
}

static void report_uninitialised(const access *a) {
    if (sim_race_again(a->record.who >> THREAD_BITS, 0))
        return;
    sim_race_side after = side_of(a->kind, &a->record);
    sim_race_found(a->region, a->address, &after, NULL);
}

static sim_record *second_of(sim_cell *cell, sim_older *older, sim_access kind) {
    return kind == SIM_READ ? &cell->second_read : &older->second[kind];
}

static void compare(const access *a, sim_cell *cell, sim_older *older, sim_access kind) {
    const sim_record *newest = &cell->newest[kind];
    if (in_this_epoch(newest)) {
        const sim_record *second = second_of(cell, older, kind);
        if (!ordered(newest))
            report(a, kind, newest);
        else if (in_this_epoch(second) && !ordered(second))
            report(a, kind, second);
    }
    if (a->region->shared)
        return;
    if (in_other_block(newest))
        report(a, kind, newest);
    else if (in_other_block(&older->other_block[kind]))
        report(a, kind, &older->other_block[kind]);
}

/*
 * Keeps the two records that conflict with the most of what may follow. One that is ordered before
 * this access can go: whatever comes after this access comes after it too. Of two warps each
 * thread conflicts with at least one.
 */
static inline void keep(const access *a, sim_cell *cell, sim_older *older) {
    sim_record *newest = &cell->newest[a->kind];
    if (!in_this_epoch(newest)) {
        if (!a->region->shared && in_other_block(newest))
            older->other_block[a->kind] = *newest;
        *newest = a->record;
        return;
    }
    sim_record *second = second_of(cell, older, a->kind);
    bool second_counts = in_this_epoch(second) && !ordered(second);
    if (ordered(newest)) {
        *newest = a->record;
        if (!second_counts)
            second->when = 0;
        return;
    }
    bool one_warp = same_warp(thread_of(newest), thread_of(second));
    if (!second_counts ||
        (one_warp && (!same_warp(thread_of(newest), clocks.thread) || second->when < clocks.when)))
        *second = a->record;
}

/* A kind's newest record says of its others, too, whether any is late enough to conflict. */
static inline void visit(const access *a, const sim_cells *cells, size_t i) {
    sim_cell *cell = &cells->cell[i];
    sim_older *older = &cells->older[i];
    for (sim_access kind = SIM_READ; kind <= SIM_ATOMIC; ++kind)
        if (cell->newest[kind].when >= a->since && (kind != a->kind || kind == SIM_WRITE))
            compare(a, cell, older, kind);
    keep(a, cell, older);
}

/* `count` bytes of a word, from its byte `first` on. */
static void visit_word(access *a, sim_region *region, size_t word, size_t first, size_t count) {
    unsigned char *state = &region->state[word];
    if (region->shared) {
        unsigned char bytes = (unsigned char)(((1u << count) - 1) << first);
        if (a->kind != SIM_WRITE && (*state & bytes) != bytes)
            report_uninitialised(a);
        *state |= bytes; /* after a bad read too: one report for each place */
    }
    if (count == SIM_WORD && (*state & SIM_SPLIT) == 0) {
        visit(a, &region->word, word);
        return;
    }
    if ((*state & SIM_SPLIT) == 0)
        sim_shadow_split(region, word);
    for (size_t i = first; i < first + count; ++i)
        visit(a, &region->byte, word * SIM_WORD + i);
}

void sim_race_access(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (sim_now.thread < 0)
        return;
    if (sim_count_on()) {
        sim_count_access(address, bytes, kind, place, true);
        return;
    }
    sim_region *region = sim_shadow_find(address);
    if (!region)
        return;
    access a = {.region = region, .address = address, .kind = kind};
    a.since = region->shared ? clocks.epoch : clocks.launch_epoch;
    a.record = (sim_record){place << THREAD_BITS | clocks.thread, clocks.when};
    size_t room = (size_t)(region->range.high - a.address);
    if (bytes > room)
        bytes = room;
    size_t low = (uintptr_t)region->range.low / SIM_WORD;
    while (bytes > 0) {
        size_t first = (uintptr_t)a.address % SIM_WORD;
        size_t count = SIM_WORD - first < bytes ? SIM_WORD - first : bytes;
        visit_word(&a, region, (uintptr_t)a.address / SIM_WORD - low, first, count);
        a.address += count;
        bytes -= count;
    }
}

void sim_race_copied(const volatile void *address, size_t bytes, sim_access kind, uint64_t place) {
    if (!sim_count_on())
        sim_race_access(address, bytes, kind, place);
    else if (sim_now.thread >= 0)
        sim_count_access(address, bytes, kind, place, false);
}

void trace_alloc(void *memory, size_t bytes) {
    sim_shadow_alloc((sim_range){memory, (char *)memory + bytes});
}

void trace_release(void *memory) {
    sim_shadow_release(memory);
}

/* Beyond this an order would be taken for another: no verdict rather than a wrong one. */
static void check_room(bool room, const char *what) {
    if (room)
        return;
    fprintf(stderr, "the race recorder can count no more %s; choose a smaller case\n", what);
    abort();
}

static uint64_t next_epoch(void) {
    check_room(clocks.epoch < UINT64_MAX - (2u << STAMP_BITS), "barriers, blocks and launches");
    clocks.epoch += 1u << STAMP_BITS;
    return clocks.epoch;
}

void trace_launch_begin(const char *kernel) {
    if (sim_count_on())
        sim_count_launch(kernel);
    clocks.launch_epoch = next_epoch();
    clocks.n_starts = 0;
    sim_race_begin();
}

void trace_launch_end(void) {
    if (sim_count_on())
        sim_count_launch_end();
    sim_race_end();
}

static void note_start(uint64_t block) {
    if (clocks.n_starts == clocks.capacity) {
        clocks.capacity = clocks.capacity == 0 ? 1024 : 2 * clocks.capacity;
        clocks.starts = realloc(clocks.starts, clocks.capacity * sizeof clocks.starts[0]);
        if (!clocks.starts)
            abort();
    }
    clocks.starts[clocks.n_starts++] = (block_start){clocks.epoch, block};
}

/* The stamps of a warp start again with each block. */
static void forget_stamps(void) {
    for (int32_t warp = 0; warp < MAX_WARPS; ++warp) {
        if (clocks.stamp[warp] == 0)
            continue;
        clocks.stamp[warp] = 0;
        memset(clocks.seen[warp * SIM_WARP], 0, SIM_WARP * sizeof clocks.seen[0]);
    }
}

void trace_block_begin(uint64_t block, int32_t n_threads, const sim_range shared[2]) {
    (void)n_threads;
    if (sim_count_on())
        sim_count_block(shared);
    clocks.block_epoch = next_epoch();
    note_start(block);
    forget_stamps();
    sim_shadow_shared(0, shared[0]);
    sim_shadow_shared(1, shared[1]);
}

void trace_block_end(void) {
    if (sim_count_on())
        sim_count_block_end();
}

void trace_thread(int32_t thread) {
    if (thread < 0)
        return;
    clocks.thread = (uint32_t)thread;
    clocks.when = clocks.epoch | clocks.stamp[clocks.thread / SIM_WARP];
}

void trace_barrier(void) {
    if (sim_count_on())
        sim_count_barrier();
    next_epoch();
    trace_thread(sim_now.thread);
}

void trace_syncwarp(int32_t warp, uint32_t mask) {
    check_room(clocks.stamp[warp] + 1 < 1u << STAMP_BITS, "calls of __syncwarp() in one block");
    uint32_t stamp = ++clocks.stamp[warp], joined[SIM_WARP] = {0};
    uint32_t(*seen)[SIM_WARP] = &clocks.seen[warp * SIM_WARP];
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        int32_t lane = __builtin_ctz(rest);
        for (int32_t i = 0; i < SIM_WARP; ++i)
            joined[i] = joined[i] > seen[lane][i] ? joined[i] : seen[lane][i];
    }
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        joined[__builtin_ctz(rest)] = stamp;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
        memcpy(seen[__builtin_ctz(rest)], joined, sizeof joined);
    trace_thread(sim_now.thread);
}

void trace_atomic(const volatile void *address, size_t bytes, const char *file, int line) {
    sim_race_access(address, bytes, SIM_ATOMIC, sim_race_place(file, line));
}

void trace_read(const volatile void *address, size_t bytes, const char *file, int line) {
    if (!sim_count_on())
        sim_race_access(address, bytes, SIM_READ, sim_race_place(file, line));
}

void trace_write(const volatile void *address, size_t bytes, const char *file, int line) {
    if (!sim_count_on())
        sim_race_access(address, bytes, SIM_WRITE, sim_race_place(file, line));
}

void trace_met(sim_collective kind, int32_t warp, uint32_t lanes) {
    if (sim_count_on())
        sim_count_met(kind, warp, lanes);
}

void trace_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                const char *file, int line) {
    if (sim_count_on())
        sim_count_copy(shared, global, bytes, valid, sim_race_place(file, line));
}

void trace_row(const void *row, size_t bytes, const char *file, int line) {
    if (sim_count_on())
        sim_count_access(row, bytes, SIM_READ, sim_race_place(file, line), true);
}
