/*
 * A plain read beside atomics, whose value a compare-and-swap of the same thread at the same
 * address then checks: `old = *p; do { assumed = old; old = atomicCAS(p, assumed, ...); } while
 * (...)`, the loop of the CUDA C++ Programming Guide. Formally it is a race. A stale value only
 * makes the compare-and-swap fail, so it is a class of its own, SIM_RACE_GUESS. What the reader
 * does next decides, so such a conflict waits for that.
 */
#ifndef ASSAY_SIM_RACE_GUESS_H
#define ASSAY_SIM_RACE_GUESS_H

#include "sim/race/record.h"

/* A launch begins; it ends: reads that no compare-and-swap has followed are races. */
void sim_guess_begin(void);
void sim_guess_end(void);

/* A conflict with a read of `reader` waits. `value`: the bytes that were read; NULL: not known. */
typedef struct sim_guess_reader {
    uint32_t serial;
    int32_t thread;
    const volatile char *address; /* within one word */
    uint32_t bytes;
} sim_guess_reader;
void sim_guess_wait(const sim_race_found *found, const sim_guess_reader *reader,
                    const volatile char *value);

/* How many wait. */
extern int32_t sim_guesses_waiting;

/* The running thread reads the place again, so it has made use of what it read; or it compares and
 * swaps there: a->value is what it compares with. */
void sim_guess_again(const sim_word_access *a);
void sim_guess_compared(const sim_word_access *a);

/* Whether the compare-and-swap finds what it compares with. */
bool sim_guess_holds(const sim_word_access *a);

#endif
