/* The recorder between its files: the launch, accesses to words, and the steps of recording them.
 */
#ifndef ASSAY_SIM_RACE_RECORD_H
#define ASSAY_SIM_RACE_RECORD_H

#include "sim/block.h"
#include "sim/race/race_report.h"
#include "sim/race/shadow.h"

/* The launch that is recorded. */
typedef struct sim_recorder {
    sim_range shared[2]; /* static and dynamic, of the block that runs */
    bool everywhere;     /* all memory is watched, but the stacks */
    bool proxies;        /* the asynchronous proxy takes part */
    bool plain; /* nothing but barriers of the whole block and __syncwarp has ordered anything */
} sim_recorder;
extern sim_recorder sim_recorder_now;

/* An access to a word, or to a part of it. */
typedef struct sim_word_access {
    const volatile char *address; /* of the word's first byte that is accessed */
    uint32_t serial, time, lane, what, how, place;
    uint32_t first; /* serial of the launch */
    uint32_t own;   /* serial of the thread's block; `serial` may be an agent's */
    uint32_t since; /* serial of the first block of its cluster */
    bool shared, compares;
    const char *value; /* the bytes that will be written there, or are compared with; NULL: not
                          known */
} sim_word_access;

/* Compares the access with the earlier ones to the word, and keeps it (race.c). */
void sim_race_word(const sim_word_access *a, sim_page *page, size_t word);

/* A conflict with the lanes of an entry; `unfenced`: they lack a fence for the asynchronous proxy.
 * Returns the class that it has, as far as is known now (finding.c). */
SIM_REPORT sim_race_class sim_find_conflict(const sim_word_access *a, const sim_entry *e,
                                            uint32_t lanes, bool unfenced);

/* A wait for the phase before `next`, that nothing orders before the end of that (waits.h). */
SIM_REPORT void sim_find_missed(const volatile void *barrier, uint32_t next,
                                const sim_race_side *waits, const sim_race_side *by);

/* An access that is wrong by itself (finding.c). */
SIM_REPORT void sim_find_single(const sim_word_access *a, sim_race_class class, size_t bytes);

#endif
