/* The findings of the race recorder; docs/simulated-device.md defines a race. */
#ifndef ASSAY_SIM_RACE_RACE_H
#define ASSAY_SIM_RACE_RACE_H

#include "sim/symbol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sim_access { SIM_READ, SIM_WRITE, SIM_ATOMIC } sim_access;
enum { SIM_ACCESSES = 3 };

typedef enum sim_race_class {
    SIM_RACE,          /* two accesses that nothing orders */
    SIM_RACE_EQUAL,    /* two writes of the same bits that nothing orders */
    SIM_RACE_GUESS,    /* a plain read beside atomics, whose value a compare-and-swap checks */
    SIM_UNINITIALISED, /* a read of shared memory that was never written: there is no `before` */
    SIM_BEYOND,        /* an access behind the shared memory of its block: there is no `before` */
    SIM_STRAY,         /* one outside of every tensor, allocation and variable: likewise */
    SIM_MISSED,        /* a wait for an mbarrier's phase, that nothing orders before the end of the
                          next one; `before` is what ends it */
    SIM_RACE_CLASSES,
} sim_race_class;

/* A pair of places in the source that race, or one place that reads memory that was never written.
 */
typedef struct sim_race {
    sim_race_class class;
    sim_source after, before; /* the access that showed it, and the earlier one */
    sim_access after_kind, before_kind;
    const char *path; /* of the file of `after`; "": not known */
    uint64_t count;   /* how often, counted by the word */
    char text[384];   /* the whole line but for `after` and the kernel's name */
} sim_race;

/* "race", "race of equal values", "plain read before a compare-and-swap", "uninitialised shared
 * memory", "shared memory exceeded", "out of bounds", "missed phase" */
const char *sim_race_name(sim_race_class class);

/* Of those that are told and fail nothing: SIM_RACE_EQUAL and SIM_RACE_GUESS. */
bool sim_race_is_note(sim_race_class class);

/* The findings of the last launch, in order of discovery, but notes behind the others. More than
 * SIM_RACES pairs are only counted, in the launch's line. */
enum { SIM_RACES = 64 };
int32_t sim_race_count(void);
const sim_race *sim_race_at(int32_t i);

/* Whether a race fails its launch, as it does unless told otherwise. Notes never do. */
void sim_race_fails_launch(bool fails);

/* Pages of memory to which accesses were not recorded, since the host's memory did not suffice;
 * since the last call. */
uint64_t sim_race_unwatched(void);

/* The ranges of memory, shared memory apart, that the last launch accessed, where accesses are
 * recorded: */
void sim_race_accessed(void (*see)(uintptr_t low, uintptr_t high, bool writes));

/* The name of global memory in messages: writes "byte 12 of an allocation of 4000" and returns
 * true, or does not know the address. NULL, as it is at first: allocations of the simulated device
 * only. */
extern bool (*sim_race_describe)(const volatile void *address, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
