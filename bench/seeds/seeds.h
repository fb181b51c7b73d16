/* Tables and CSV columns as the documents have them that the operators come from. One file each. */
#ifndef ASSAY_BENCH_SEEDS_H
#define ASSAY_BENCH_SEEDS_H

#include "bench/result.h"

#include <stdio.h>

void seeds_kronecker_table(FILE *to, const bench_results *results);
void seeds_weighted_sum_table(FILE *to, const bench_results *results);
void seeds_matmul_table(FILE *to, const bench_results *results);
void seeds_attention_table(FILE *to, const bench_results *results);
assay_status seeds_attention_csv(FILE *to, const bench_results *results) ASSAY_MUST_CHECK;
void seeds_transformer_table(FILE *to, const bench_results *results);
assay_status seeds_transformer_csv(FILE *to, const bench_results *results) ASSAY_MUST_CHECK;
void seeds_conv3d_table(FILE *to, const bench_results *results);

/* ---- shared by all: seeds.c ---- */

/* Walks the cold rows of an experiment that begin a new case; start with NULL, ends with NULL. */
const bench_row *seeds_next_case(const bench_results *results, const char *experiment,
                                 const bench_row *after);

/* The next row of the same case and stage, cold; start with NULL. */
const bench_row *seeds_next_arm(const bench_results *results, const bench_row *of,
                                bench_stage stage, const bench_row *after);

/* The row of that arm, case and stage, cold; NULL: there is no such row. */
const bench_row *seeds_row(const bench_results *results, const bench_row *of, const char *arm,
                           bench_stage stage);

/* Of those rows that are meant the fastest; where none has a time the last, NULL where there is
 * none.
 */
const bench_row *seeds_fastest(const bench_results *results, const bench_row *of, bench_stage stage,
                               bool (*is_meant)(const bench_row *row));
bool seeds_is_ours(const bench_row *row);

/* Mean and standard deviation in milliseconds; NaN where the row is not ok, or NULL. */
double seeds_mean(const bench_row *row);
double seeds_deviation(const bench_row *row);

/* The text of key=value in a case's text, "" when it is not there, being the default. */
const char *seeds_word(const char *case_text, const char *key, char word[64]);
/* The first integer of that key of its operator's, given or default. */
double seeds_number(const char *case_text, const char *key);

/* A number in a column of that width, or the row's status in its place. */
void seeds_cell(FILE *to, const bench_row *row, double value, int width, int digits);

/* "1.50x" in a column of that width and one, "-" for NaN. */
void seeds_times(FILE *to, double ratio, int width);

#endif
