/*
 * Which thread runs next. Threads are kept as one word of lanes for each warp, warps as one word of
 * ranks, so every choice is a few bit operations.
 */
#ifndef ASSAY_SIM_SCHEDULE_H
#define ASSAY_SIM_SCHEDULE_H

#include "assay/case.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The schedule of the launches to come. */
void sim_schedule_set(assay_schedule kind, uint64_t seed);

/* Whether it draws random numbers, which run on from one block to the next. */
bool sim_schedule_draws(void);

/* A launch of `n_blocks` blocks starts; every launch has random numbers of its own. */
void sim_schedule_launch(uint64_t n_blocks);

/* The block to run as the i-th of the launch. */
uint64_t sim_schedule_block(uint64_t i);

/* Whose turn it is in a block; those of the block that runs are in use. */
struct sim_turns;
extern const size_t sim_turns_bytes;
void sim_turns_use(struct sim_turns *turns);

/* A block of `n_threads` starts, all of them runnable. */
void sim_schedule_threads(int32_t n_threads);

/* The thread stays runnable, but runs only when no other thread can. */
void sim_schedule_rest(int32_t thread);

/* A thread got anywhere. */
void sim_schedule_progress(void);

/* Whether an asynchronous operation, issued now, is done only when a thread waits for it. */
bool sim_schedule_delays(void);

#endif
