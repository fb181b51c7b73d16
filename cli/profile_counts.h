/* The simulated device's counters of one profile, by launch and summed, and their writers. */
#ifndef ASSAY_CLI_PROFILE_COUNTS_H
#define ASSAY_CLI_PROFILE_COUNTS_H

#include "assay/op.h"
#include "cli/profile.h"
#include "sim/count/count.h"

/* A launch, or all launches of one kernel in one stage and one configuration. */
typedef struct profile_sum {
    assay_stage stage;
    int32_t launches;
    char kernel[160]; /* as written, without the parentheses around a template */
    sim_count count;
} profile_sum;

typedef struct profile_counts {
    profile_sum *launch, *sum; /* in order; of each kernel's first launch */
    int32_t n_launches, n_sums, room;
} profile_counts;

assay_status counts_add(profile_counts *counts, assay_stage stage,
                        const sim_count *launch) ASSAY_MUST_CHECK;
void counts_clear(profile_counts *counts);

/* Every counter by name, in one order: "global_load_requests", ..., "cp_async". */
typedef void (*counter_visitor)(const char *name, uint64_t value, void *context);
void counters_visit(const sim_count *count, counter_visitor visit, void *context);

/* Of one stage. */
assay_status counts_text(FILE *to, const profile *p, const profile_counts *counts,
                         assay_stage stage) ASSAY_MUST_CHECK;
void counts_csv(FILE *to, const profile_counts *counts);
void counts_json(FILE *to, const profile *p, const profile_counts *counts);
void counts_trace(FILE *to, const profile *p, const profile_counts *counts);

#endif
