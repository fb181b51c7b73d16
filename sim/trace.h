/*
 * The seam between the simulated device's runtime and the race recorder. The runtime calls the
 * trace_ hooks; while a launch is recorded the recorder (race/record.c) gets them. Nothing here is
 * called from more than one host thread.
 */
#ifndef ASSAY_SIM_TRACE_H
#define ASSAY_SIM_TRACE_H

#include "sim/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIM_WARP = 32, SIM_MAX_THREADS = 1024 };

/* The thread that runs at this moment; written by the runtime only. */
typedef struct sim_current {
    const char *kernel; /* as written in ASSAY_LAUNCH; NULL outside a launch */
    uint64_t block;     /* linear: x fastest, then y, then z */
    int32_t thread;     /* linear within its block; its warp is thread / SIM_WARP; -1: no thread
                           runs */
    int32_t n_threads;  /* of a block */
} sim_current;
extern sim_current sim_now;

typedef struct sim_range {
    char *low, *high; /* high excluded */
} sim_range;

static inline bool sim_in_range(const sim_range *range, const volatile void *address) {
    return (const volatile char *)address >= range->low &&
           (const volatile char *)address < range->high;
}

/* All fiber stacks lie in here, so accesses to it are a thread's own locals. */
extern sim_range sim_stacks;

enum { SIM_POSITION = 96 };

/* "block (0,0,0) thread (5,0,0)" and "thread (5,0,0)" of the current launch. */
const char *sim_block_thread_text(uint64_t block, int32_t thread, char text[SIM_POSITION]);
const char *sim_thread_text(int32_t thread, char text[SIM_POSITION]);

/*
 * Records a defect of the current launch as "file:line: kind in kernel: message"; `file` loses its
 * folders; NULL: no location is known, and "file:line: " is left out. Only the first is kept; the
 * launch's line ends with how many more were like it (of the same kind). The launch goes on, and
 * returns ASSAY_ERR_KERNEL when it ends. May be called up to and within trace_launch_end.
 */
void sim_defect(const char *kind, const char *file, int line, const char *format, ...)
    ASSAY_PRINTF(4, 5);
/* Counts one more of `kind` without composing a message; false when it would be the first defect
 * of the launch and thus needs sim_defect. */
bool sim_defect_again(const char *kind);

/* How memory is accessed. Strong: atomic, volatile, or with an order such as .relaxed. */
enum {
    SIM_READS = 1,
    SIM_WRITES = 2,
    SIM_STRONG = 4,
    SIM_BLOCK_SCOPE = 8, /* .cta or .cluster; otherwise .gpu or .sys */
    SIM_ACQUIRE = 16,
    SIM_RELEASE = 32,
    SIM_COMPARES = 64, /* a compare-and-swap; `value` is what it compares with */
};

typedef enum sim_mbarrier_step {
    SIM_MBARRIER_INIT,
    SIM_MBARRIER_ARRIVE,
    SIM_MBARRIER_COMPLETE, /* a phase */
    SIM_MBARRIER_WAIT,     /* a thread has found a phase of a parity complete */
    SIM_MBARRIER_BYTES,    /* a thread has changed how many a phase waits for */
} sim_mbarrier_step;

/* What completes a phase of an mbarrier: a thread's arrival, or a copy that it has issued. */
typedef struct sim_completion {
    const sim_site *site;
    uint64_t block;
    int32_t thread;
    bool copy;
} sim_completion;

/*
 * The asynchronous proxy works for threads beside them: agents, each of which does its work in
 * order and has a clock of its own. Numbers are those of threads, of warpgroups; an mbarrier gets
 * one.
 */
typedef enum sim_agent {
    SIM_AGENT_NONE,
    SIM_AGENT_MBARRIER, /* copies that an mbarrier is told of; its clock counts phases */
    SIM_AGENT_READS,    /* the reads of a thread's bulk groups; it counts groups */
    SIM_AGENT_WRITES,   /* and their writes */
    SIM_AGENT_WGMMA,    /* the reads of a warpgroup's products; it counts them */
    SIM_AGENT_PHASES,   /* an mbarrier's, of which threads have learnt no more than that they are
                           complete; by its number there */
    SIM_AGENTS,
} sim_agent;

/* One access's agent; `serial` as the recorder counts (race/order.h). */
typedef struct sim_async {
    uint32_t serial, number, time;
} sim_async;

/* The clocks of a block (race/order.h). */
typedef struct sim_clocks sim_clocks;

extern bool sim_trace_on; /* the launch that runs is recorded */
/* The program has the functions by which kernels of C++ report their accesses (race/race_access.c).
 */
extern bool sim_race_compiled;

/* Memory of the device is allocated; is about to be released (NULL: nothing is). Only these, and
 * shared memory, are watched in kernels of C++. */
void trace_alloc(void *memory, size_t bytes);
void trace_release(void *memory);

/* No kernel may access this memory of the device's, the harness says, or it may again. NULL: that
 * is not noted, as in a program that records no accesses. */
extern void (*sim_race_guard)(void *memory, size_t bytes, bool on);
static inline void trace_guard(void *memory, size_t bytes, bool on) {
    if (sim_race_guard)
        sim_race_guard(memory, bytes, on);
}

/* A launch starts, ends. */
void trace_launch_begin(const sim_launch *launch);
void trace_launch_end(void);

sim_clocks *sim_trace_block_begin(const sim_range shared[2]);
void sim_trace_block_end(sim_clocks *clocks);
void sim_trace_thread(sim_clocks *clocks, const sim_range shared[2], int32_t thread);
void sim_trace_barrier(int32_t id, const uint32_t lanes[], int32_t live);
void sim_trace_barrier_arrive(int32_t id);
void sim_trace_met(sim_collective kind, int32_t warp, uint32_t lanes);
void sim_trace_fence(uint32_t how);
void sim_trace_mbarrier(sim_mbarrier_step step, const volatile void *barrier, uint32_t parity);
void sim_trace_mbarrier_watch(const void *barrier);
void sim_trace_mbarrier_complete(const void *barrier, const sim_completion *by);
bool sim_trace_mbarrier_missed(const void *barrier, uint32_t parity, const sim_site *site);
void sim_trace_mbarrier_passed(const void *barrier, bool acquires, const sim_site *site);
sim_async sim_trace_agent(sim_agent agent, uint32_t number, uint32_t time);
sim_async sim_trace_mbarrier_agent(const volatile void *barrier);
void sim_trace_async(const sim_async *who, const volatile void *address, size_t bytes, uint32_t how,
                     const char *file, int line);
void sim_trace_done(sim_agent agent, uint32_t number, uint32_t until);
void sim_trace_proxy_fence(void);
void sim_trace_access(const volatile void *address, size_t bytes, uint32_t how, const char *file,
                      int line);
void sim_trace_compare(const volatile void *address, size_t bytes, const void *compared,
                       const char *file, int line);
void sim_trace_mbarrier_access(const void *barrier, uint32_t how, const char *file, int line);
void sim_trace_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                    const char *file, int line);
void sim_trace_row(const void *row, size_t bytes, const char *file, int line);
void sim_trace_count(sim_event event, uint64_t amount);

void sim_trace_unwritten(sim_range shared);

/* The current thread accesses memory at a site of the launch; `value`: the value that it writes or,
 * with SIM_COMPARES, compares with; or NULL. */
void sim_trace_site(const void *address, size_t bytes, uint32_t how, const void *value,
                    uint32_t site);

/* The current thread's accesses since the last call: it read one place only, accessed nothing, or
 * did more than that. */
typedef enum sim_turn_kind { SIM_TURN_READING, SIM_TURN_IDLE, SIM_TURN_BUSY } sim_turn_kind;
sim_turn_kind sim_trace_turn(void);

/* A block starts: no accesses before count. `shared` are the bytes of static and of dynamic shared
 * memory, each maybe empty; they are filled anew for each block, before this call. NULL when the
 * launch is not recorded. */
static inline sim_clocks *trace_block_begin(const sim_range shared[2]) {
    return sim_trace_on ? sim_trace_block_begin(shared) : NULL;
}
static inline void trace_block_end(sim_clocks *clocks) {
    if (sim_trace_on)
        sim_trace_block_end(clocks);
}

/* `thread` of a block runs from now on; -1: none, the runtime itself. */
static inline void trace_thread(sim_clocks *clocks, const sim_range shared[2], int32_t thread) {
    if (sim_trace_on)
        sim_trace_thread(clocks, shared, thread);
}

/* The threads in `lanes` (a word for each warp) have met at barrier `id`, of `live` that have not
 * exited: their work before the barrier is ordered before the work after it. Others arrived and
 * went on. */
static inline void trace_barrier(int32_t id, const uint32_t lanes[], int32_t live) {
    if (sim_trace_on)
        sim_trace_barrier(id, lanes, live);
}
static inline void trace_barrier_arrive(int32_t id) {
    if (sim_trace_on)
        sim_trace_barrier_arrive(id);
}

/* The lanes in `lanes` of `warp` met in a collective. __syncwarp orders their memory accesses;
 * shuffles, votes and reductions do not. */
static inline void trace_met(sim_collective kind, int32_t warp, uint32_t lanes) {
    if (sim_trace_on)
        sim_trace_met(kind, warp, lanes);
}

/* The current thread executes a fence: SIM_ACQUIRE, SIM_RELEASE, SIM_BLOCK_SCOPE. */
static inline void trace_fence(uint32_t how) {
    if (sim_trace_on)
        sim_trace_fence(how);
}

/* `parity`: of the awaited phase; 1 of an arrival: a relaxed one, which tells others only of the
 * work before the thread's last fence. */
static inline void trace_mbarrier(sim_mbarrier_step step, const volatile void *barrier,
                                  uint32_t parity) {
    if (sim_trace_on)
        sim_trace_mbarrier(step, barrier, parity);
}

/* The waits for an mbarrier are for phases that its user counts, from its initialisation on: a
 * phase is complete; the current thread is about to test a parity, and has missed its phase; it has
 * found its phase complete. */
static inline void trace_mbarrier_watch(const void *barrier) {
    if (sim_trace_on)
        sim_trace_mbarrier_watch(barrier);
}
static inline void trace_mbarrier_complete(const void *barrier, const sim_completion *by) {
    if (sim_trace_on)
        sim_trace_mbarrier_complete(barrier, by);
}
static inline bool trace_mbarrier_missed(const void *barrier, uint32_t parity,
                                         const sim_site *site) {
    return sim_trace_on && sim_trace_mbarrier_missed(barrier, parity, site);
}
static inline void trace_mbarrier_passed(const void *barrier, bool acquires, const sim_site *site) {
    if (sim_trace_on)
        sim_trace_mbarrier_passed(barrier, acquires, site);
}

/* The agent that does the current thread's next request; its accesses; the current thread has
 * waited for an agent's work before `until`; it executes fence.proxy.async. */
static inline sim_async trace_agent(sim_agent agent, uint32_t number, uint32_t time) {
    return sim_trace_on ? sim_trace_agent(agent, number, time) : (sim_async){0, 0, 0};
}
static inline sim_async trace_mbarrier_agent(const volatile void *barrier) {
    return sim_trace_on ? sim_trace_mbarrier_agent(barrier) : (sim_async){0, 0, 0};
}
static inline void trace_async(const sim_async *who, const volatile void *address, size_t bytes,
                               uint32_t how, const char *file, int line) {
    if (sim_trace_on)
        sim_trace_async(who, address, bytes, how, file, line);
}
static inline void trace_done(sim_agent agent, uint32_t number, uint32_t until) {
    if (sim_trace_on)
        sim_trace_done(agent, number, until);
}
static inline void trace_proxy_fence(void) {
    if (sim_trace_on)
        sim_trace_proxy_fence();
}

/* The current thread accesses memory by an instruction that the runtime carries out. */
static inline void trace_access(const volatile void *address, size_t bytes, uint32_t how,
                                const char *file, int line) {
    if (sim_trace_on)
        sim_trace_access(address, bytes, how, file, line);
}
static inline void trace_read(const volatile void *address, size_t bytes, const char *file,
                              int line) {
    trace_access(address, bytes, SIM_READS, file, line);
}
static inline void trace_write(const volatile void *address, size_t bytes, const char *file,
                               int line) {
    trace_access(address, bytes, SIM_WRITES, file, line);
}

/* It compares and swaps, in front of which `compared` is looked for in memory. */
static inline void trace_compare(const volatile void *address, size_t bytes, const void *compared,
                                 const char *file, int line) {
    if (sim_trace_on)
        sim_trace_compare(address, bytes, compared, file, line);
}

/* The same of an mbarrier, by an instruction of its own: the counters have events for them. */
static inline void trace_mbarrier_access(const void *barrier, uint32_t how, const char *file,
                                         int line) {
    if (sim_trace_on)
        sim_trace_mbarrier_access(barrier, how, file, line);
}

/* The bytes there are not defined until they are written again. */
static inline void trace_unwritten(void *shared, size_t bytes) {
    if (sim_trace_on)
        sim_trace_unwritten((sim_range){shared, (char *)shared + bytes});
}

/* It issues a cp.async; it gives a row to ldmatrix. For the counters, which leave out the reads and
 * writes that those instructions consist of. */
static inline void trace_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                              const char *file, int line) {
    if (sim_trace_on)
        sim_trace_copy(shared, global, bytes, valid, file, line);
}
static inline void trace_row(const void *row, size_t bytes, const char *file, int line) {
    if (sim_trace_on)
        sim_trace_row(row, bytes, file, line);
}
static inline void trace_count(sim_event event, uint64_t amount) {
    if (sim_trace_on)
        sim_trace_count(event, amount);
}

#ifdef __cplusplus
}
#endif

#endif
