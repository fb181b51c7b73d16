/* Collects conflicts, one entry for each pair of places in the source, and tells of them. */
#ifndef ASSAY_SIM_RACE_RACE_REPORT_H
#define ASSAY_SIM_RACE_RACE_REPORT_H

#include "sim/race/race_shadow.h"

enum { SIM_PLACE_BITS = 48 };

/* One side of a conflict. `place`: a return address, or what sim_race_place made. */
typedef struct sim_race_side {
    sim_access kind;
    uint64_t place, block;
    int32_t thread;
} sim_race_side;

/* A place for an access that names its own source line. */
uint64_t sim_race_place(const char *file, int line);

void sim_race_begin(void); /* of a launch */

/* `before` is NULL when `after` read shared memory that no thread of its block had written. */
void sim_race_found(const sim_region *region, const volatile void *address,
                    const sim_race_side *after, const sim_race_side *before);

/* True when the pair is known already; then it has been counted. */
bool sim_race_again(uint64_t after, uint64_t before);

/* Hands all that was found to sim_defect(). */
void sim_race_end(void);

#endif
