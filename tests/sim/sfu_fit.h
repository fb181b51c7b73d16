/*
 * The special function unit's tables (sim/sfu/tables.c) from its results: a segment's coefficients
 * are integers, and each result leaves an interval to the sum that they give.
 */
#ifndef ASSAY_TESTS_SIM_SFU_FIT_H
#define ASSAY_TESTS_SIM_SFU_FIT_H

#include "sim/sfu/sfu.h"
#include "sim/sfu/tables.h"

enum { SFU_FIT_TABLES = 7, SFU_FIT_MOST_POINTS = 1 << 18 };

/*
 * A segment's points are all its x, from 0 on in steps. With two sides each x stands for two
 * inputs, which follow each other: lg2 of x and of x / 2.
 */
typedef struct sfu_fit_table {
    const char *name, *instruction;
    sfu_function function;
    int32_t segments, step, sides;
    const sfu_segment *committed;
} sfu_fit_table;

extern const sfu_fit_table sfu_fit_tables[SFU_FIT_TABLES];

int32_t sfu_fit_points(const sfu_fit_table *t);

/* The bits of a point's input. */
uint32_t sfu_fit_input(const sfu_fit_table *t, int32_t segment, int32_t point);

/* `results` of the segment's points. How many sets of coefficients give all of them; `fit` is one
 * of these. */
int32_t sfu_fit(const sfu_fit_table *t, int32_t segment, const uint32_t *results, sfu_segment *fit);

#endif
