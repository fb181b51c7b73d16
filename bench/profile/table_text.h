/* Profiles of a GPU for people and for programs. */
#ifndef ASSAY_BENCH_PROFILE_TABLE_TEXT_H
#define ASSAY_BENCH_PROFILE_TABLE_TEXT_H

#include "bench/profile/table.h"

#include <stdio.h>

/* A stage of which `calls` were recorded; `work` is that of one of them. */
assay_status table_text(FILE *to, const profile_table *table, assay_stage stage, int32_t calls,
                        const assay_work *work, const profile_limits *limits) ASSAY_MUST_CHECK;

/* The lines of both stages, under one head. */
void table_csv_head(FILE *to);
void table_csv(FILE *to, const profile_table *table, assay_stage stage,
               const profile_limits *limits);

/* One stage as a JSON object. */
void table_json(FILE *to, const profile_table *table, assay_stage stage, int32_t calls,
                const assay_work *work, const profile_limits *limits);

/* The kernels' functions for ncu, "sum_rows|sum_partials", each once. */
void table_functions(const profile_table *table, char *functions, size_t room);

#endif
