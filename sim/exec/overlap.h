/*
 * Races of the work of streams: two pieces that nothing orders access the same bytes, and at least
 * one of them writes. The order of work is kept in vector clocks, so the findings do not depend on
 * the order in which the simulation happens to do it.
 *
 * It also knows which memory of the host's (pinned, managed) is in use by work that the program has
 * not waited for; guard.h watches that.
 */
#ifndef ASSAY_SIM_EXEC_OVERLAP_H
#define ASSAY_SIM_EXEC_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of each stream, by its slot, the number of the last piece of work that is known to be done.
 * Streams beyond these share the last slot: races between them are not seen. */
enum { EXEC_CLOCK_SLOTS = 64 };
typedef struct exec_clock {
    uint64_t done[EXEC_CLOCK_SLOTS];
} exec_clock;

/* Takes all that either clock knows; keeps only the knowledge of both. */
void exec_clock_join(exec_clock *clock, const exec_clock *other);
void exec_clock_meet(exec_clock *clock, const exec_clock *other);

/* A piece of work begins: `clock` covers the work that is done before it, and the piece itself. */
typedef struct exec_turn {
    const exec_clock *clock;
    int slot;
    uint64_t number; /* of all work */
    int stream;      /* which one the program made; 0: the default stream */
} exec_turn;
void exec_overlap_begin(const exec_turn *turn);

/* It ends: its accesses are compared with those of other work. */
void exec_overlap_end(void);

/* The work that runs accesses these bytes; does nothing where no work runs. `what`: "kernel scale",
 * "a copy". `kernel`: its name, or "". A piece with several parts, a graph, is called by the last.
 */
void exec_overlap_by(const char *what, const char *kernel);
void exec_overlap_touch(const void *address, size_t bytes, bool writes);

/* The work that runs talks with the host while it runs, so nothing is said of its accesses beside
 * the host's. */
void exec_overlap_talks(void);

/* Work that is done before `floor` is done before all that is still to come. */
void exec_overlap_forget(const exec_clock *floor);

/* The host knows that this is done. */
void exec_overlap_host(const exec_clock *host);

/* Accesses to memory of the host's by work that it has not waited for. `see` is called for each
 * range. */
void exec_overlap_in_use(void (*see)(uintptr_t low, uintptr_t high, bool writes));

/* The host touches a byte: reports it, if such work accesses the byte. */
bool exec_overlap_tell_host(const void *address, bool writes);

#ifdef __cplusplus
}
#endif

#endif
