/* The published experiments, each with its own cases, stages, table and CSV columns. */
#ifndef ASSAY_BENCH_EXPERIMENTS_H
#define ASSAY_BENCH_EXPERIMENTS_H

#include "bench/result.h"

#include <stdio.h>

enum { EXPERIMENT_STAGES = 3 };

typedef struct bench_group {
    const char *words; /* key=value words of some cases; NULL: the last group was before */
    bool without_v1;   /* which is naive, and would take up to minutes a call */
} bench_group;

typedef struct bench_experiment {
    const char *name; /* its operator's */
    const char *title;
    const bench_group *group;
    bench_stage stage[EXPERIMENT_STAGES];
    int32_t n_stages;

    /* As the published document shows it: of the rows of this experiment. */
    void (*table)(FILE *to, const bench_results *results);
    assay_status (*csv)(FILE *to, const bench_results *results); /* NULL: it has no CSV */
} bench_experiment;

extern const bench_experiment bench_experiments[];
extern const int32_t bench_n_experiments;

/* Whether any of the results are its. */
bool bench_experiment_has_rows(const bench_experiment *e, const bench_results *results);

/* NULL: the operator has no experiment. */
const bench_experiment *bench_experiment_find(const char *op);

#endif
