/* What the race recorder found; docs/simulated-device.md says what counts as a race. */
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

/* A pair of places in the source that race, or one place that reads memory that was never written.
 */
typedef struct sim_race {
    bool uninitialised;       /* then there is no `before` */
    sim_source after, before; /* the access that showed it, and the earlier one */
    sim_access after_kind, before_kind;
    uint64_t count; /* how often, counted by the word */
    char text[320]; /* the whole line but for `after` and the kernel's name */
} sim_race;

/* What the last launch left, in order of discovery. More than SIM_RACES pairs are only counted, in
 * the launch's line. */
enum { SIM_RACES = 64 };
int32_t sim_race_count(void);
const sim_race *sim_race_at(int32_t i);

#ifdef __cplusplus
}
#endif

#endif
