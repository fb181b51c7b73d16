/*
 * The seam between the simulated device's runtime and the race recorder. The runtime calls the
 * trace_ hooks; with ASSAY_RACE the recorder (race.c) implements them, otherwise they are empty.
 * Nothing here is called from more than one host thread.
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

/* What runs at this moment; written by the runtime only. */
typedef struct sim_current {
    const char *kernel; /* as written in ASSAY_LAUNCH; NULL outside a launch */
    uint64_t block;     /* linear: x fastest, then y, then z */
    int32_t thread;     /* linear within its block; its warp is thread / SIM_WARP; -1: none runs */
    int32_t n_threads;  /* of a block */
} sim_current;
extern sim_current sim_now;

typedef struct sim_range {
    char *low, *high; /* high excluded */
} sim_range;

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

#if defined(ASSAY_RACE)

/* Memory of the device is allocated; is about to be released (NULL: nothing is). */
void trace_alloc(void *memory, size_t bytes);
void trace_release(void *memory);

/* A launch of `kernel` starts, ends. Every block of it comes between, one at a time. */
void trace_launch_begin(const char *kernel);
void trace_launch_end(void);

/* A block starts: no accesses before count. `shared` are the bytes of static and of dynamic shared
 * memory, each maybe empty; they are filled anew for each block, before this call. */
void trace_block_begin(uint64_t block, int32_t n_threads, const sim_range shared[2]);
void trace_block_end(void);

/* `thread` of the current block runs from now on; -1: none, the runtime itself. */
void trace_thread(int32_t thread);

/* All threads of the block have met: what they did before is ordered before what follows. */
void trace_barrier(void);

/* The lanes in `mask` of `warp` met in __syncwarp, which orders their memory accesses. Shuffles,
 * votes and reductions do not. */
void trace_syncwarp(int32_t warp, uint32_t mask);

/* The lanes in `lanes` of `warp` met in a collective, __syncwarp or another: for the counters. */
void trace_met(sim_collective kind, int32_t warp, uint32_t lanes);

/* The current thread reads and writes `bytes` at `address` atomically. */
void trace_atomic(const volatile void *address, size_t bytes, const char *file, int line);

/* The current thread reads or writes memory by an instruction that the runtime carries out. */
void trace_read(const volatile void *address, size_t bytes, const char *file, int line);
void trace_write(const volatile void *address, size_t bytes, const char *file, int line);

/* It issues a cp.async; it gives a row to ldmatrix. For the counters, which leave out the reads and
 * writes that those instructions consist of. */
void trace_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                const char *file, int line);
void trace_row(const void *row, size_t bytes, const char *file, int line);

#else

static inline void trace_alloc(void *memory, size_t bytes) {
    (void)memory;
    (void)bytes;
}
static inline void trace_release(void *memory) {
    (void)memory;
}
static inline void trace_launch_begin(const char *kernel) {
    (void)kernel;
}
static inline void trace_launch_end(void) {
}
static inline void trace_block_begin(uint64_t block, int32_t n_threads, const sim_range shared[2]) {
    (void)block;
    (void)n_threads;
    (void)shared;
}
static inline void trace_block_end(void) {
}
static inline void trace_thread(int32_t thread) {
    (void)thread;
}
static inline void trace_barrier(void) {
}
static inline void trace_syncwarp(int32_t warp, uint32_t mask) {
    (void)warp;
    (void)mask;
}
static inline void trace_met(sim_collective kind, int32_t warp, uint32_t lanes) {
    (void)kind;
    (void)warp;
    (void)lanes;
}
static inline void trace_atomic(const volatile void *address, size_t bytes, const char *file,
                                int line) {
    (void)address;
    (void)bytes;
    (void)file;
    (void)line;
}
static inline void trace_read(const volatile void *address, size_t bytes, const char *file,
                              int line) {
    (void)address;
    (void)bytes;
    (void)file;
    (void)line;
}
static inline void trace_write(const volatile void *address, size_t bytes, const char *file,
                               int line) {
    (void)address;
    (void)bytes;
    (void)file;
    (void)line;
}
static inline void trace_copy(const void *shared, const void *global, int32_t bytes, int32_t valid,
                              const char *file, int line) {
    (void)shared;
    (void)global;
    (void)bytes;
    (void)valid;
    (void)file;
    (void)line;
}
static inline void trace_row(const void *row, size_t bytes, const char *file, int line) {
    (void)row;
    (void)bytes;
    (void)file;
    (void)line;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
