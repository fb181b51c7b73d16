/*
 * The events that are known to have happened: for threads of any block, up to which of its clock's
 * ticks. These are vector clocks with most entries left out: an entry for a whole block, and those
 * of threads that are further. They never change, are shared, and are counted. Most joins are never
 * looked into (a counter that a hundred thousand blocks increase, and only the last one reads), so
 * a join is two references until it is needed.
 */
#ifndef ASSAY_SIM_RACE_KNOWN_H
#define ASSAY_SIM_RACE_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_known sim_known; /* NULL: nothing */

/* Everything of `who` before its clock showed `until`. */
typedef struct sim_moment {
    uint64_t who; /* sim_whole_block() or sim_one_thread() */
    uint32_t until;
} sim_moment;

/* A block has SIM_SERIALS serials in a row: of its threads, and of each kind of agent
 * (sim/trace.h), whose clocks are numbered as threads are. */
enum { SIM_SERIALS = 8 };
static inline bool sim_is_thread(uint32_t serial) {
    return serial % SIM_SERIALS == 0;
}

static inline uint64_t sim_whole_block(uint32_t block) {
    return (uint64_t)block << 11;
}
static inline uint64_t sim_one_thread(uint32_t block, int32_t thread) {
    return sim_whole_block(block) + (uint64_t)thread + 1;
}

/* A launch of blocks of `n_threads` begins: knowledge of all threads of a block is one of the whole
 * block. */
void sim_known_begin(int32_t n_threads);

/* Counted; aborts the process where there is no memory. `moments` are sorted by who. */
sim_known *sim_known_new(const sim_moment *moments, size_t n);
sim_known *sim_known_keep(sim_known *known);
void sim_known_drop(sim_known *known);

/* Adds `more` to `*known`, both counted; `more` stays the caller's. */
void sim_known_add(sim_known **known, sim_known *more);

/* The same, worked out at once, for many threads to hold. */
void sim_known_settle(sim_known *known);

/* Up to which tick of its clock the thread's past is known; 0: nothing of it is. */
uint32_t sim_known_until(sim_known *known, uint32_t block, int32_t thread);

/* Which of a warp's lanes did their work of `time` before. */
uint32_t sim_known_before(sim_known *known, uint32_t block, uint32_t warp, uint32_t lanes,
                          uint32_t time);

#endif
