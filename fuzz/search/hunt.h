/*
 * A campaign: cases of some operators, checked by workers, until their number or the time is
 * reached.
 *
 * Cases come in generations. Half of a generation's cases are bred from the population, which is
 * then as all generations but the one just before left it: so a generation can begin while the one
 * before it still runs, and case i is the same for any number of processes and any order of their
 * answers. Unguided, case i is a function of the seed and i.
 */
#ifndef ASSAY_FUZZ_SEARCH_HUNT_H
#define ASSAY_FUZZ_SEARCH_HUNT_H

#include "fuzz/search/finding.h"
#include "fuzz/search/population.h"
#include "fuzz/search/source.h"
#include "fuzz/search/workers.h"

/* Cases of a generation: few at first, so that it breeds soon, then half of all before it, so
 * that workers seldom wait for its slowest case. */
enum { FUZZ_GENERATION_LEAST = 32, FUZZ_GENERATION_MOST = 4096 };

/* The state of a campaign so far, from which it can go on later. */
typedef struct fuzz_state {
    int64_t settled; /* cases 0..settled-1 are checked, and count */
    double seconds;
    int64_t passed, mistrusted, skipped, failed; /* variants; `failed` has each kind of a case */
    int64_t declined;                            /* cases */
    int32_t before[2]; /* members of the population when the generation that is settled now began,
                          and when the one before it did */
    fuzz_population population;
    fuzz_findings findings;
} fuzz_state;

void fuzz_state_clear(fuzz_state *state);

/* One more case is settled: adds its variants' verdicts. */
void fuzz_state_count(fuzz_state *state, const fuzz_result *result);

typedef struct fuzz_hunt {
    fuzz_workers *workers;
    const fuzz_source *source; /* one for each of the workers' targets */
    uint64_t seed;
    int64_t shard, shards; /* this campaign's case i is case shard + i shards of the whole */
    int32_t stretch; /* cases of one operator in a row: its guests start when its turn comes */
    int64_t cases;   /* 0: no limit */
    double seconds;  /* 0: no limit */
    bool guided;
    bool first; /* no further cases once one has failed */

    /* Hears of the campaign now and then, and of each finding. */
    void (*progress)(const fuzz_state *state, void *context);
    void (*found)(const fuzz_finding *finding, void *context);
    assay_status (*keep)(const fuzz_state *state, void *context); /* now and then */
    void *context;
    bool (*interrupted)(void);
} fuzz_hunt;

/* Goes on from `state`. */
assay_status fuzz_hunt_run(const fuzz_hunt *hunt, fuzz_state *state) ASSAY_MUST_CHECK;

#endif
