/* The results of the mutants, as `assay mutants` reports them. */
#ifndef ASSAY_CLI_MUTANTS_H
#define ASSAY_CLI_MUTANTS_H

#include "cli/cli.h"
#include "mutants/checker.h"
#include "mutants/equivalent.h"

#include <stdio.h>

typedef struct mutant_row {
    const mutant *mutant;
    const char *equivalent; /* the reason on the list; NULL: it is not there */
    bool wanted;            /* in the sample and the shard */
    mutant_result result;
} mutant_row;

typedef struct mutant_rows {
    mutant_row *row;
    int32_t count;
    const char *left_out; /* checks that could not run; "" */
    double seconds;
    int64_t sample; /* how many were drawn; 0: all */
    int32_t cut_at; /* of these, how many --time left time to begin; 0: it did not end them */
    uint64_t seed;  /* of the draw */
} mutant_rows;

/* Of one operator, or of all. */
typedef struct mutant_tally {
    const char *name; /* operator; "device": code that several share */
    int32_t programs; /* mutants: programs of their own */
    int32_t killed, equivalent, survived, broken, same_code, no_program;
    int32_t pending; /* not in the sample or the shard, or not reached */
    int32_t by[MUTANT_LAYERS];
} mutant_tally;

/* The operator whose file it is; "device": of kernels/common/ and device/. */
void mutant_operator(const mutant *m, char name[SOURCE_PATH]);

/* Adds a row to a tally. */
void mutant_count(mutant_tally *to, const mutant_row *row);

/* Killed, in percent of the programs. */
double mutant_rate(const mutant_tally *t);

/* The rows' summary of the judges. Without `at_least` a survivor that is not on the list fails,
 * with it too few killed, in percent of the programs; a sample fails where a suite that finds
 * `at_least` of all mutants would do as badly less than once in 100 samples (the binomial
 * distribution). An entry of the list that is killed, or no program at all, always fails; a judge
 * that finds the original wrong is an error. */
assay_exit mutants_gate(const mutant_rows *rows, double at_least);

/* assay mutants --golden, all of it; and assay mutants --planted. */
assay_exit mutants_of_golden(const assay_cli_args *args);
assay_exit mutants_of_cases(const assay_cli_args *args);

assay_status mutants_text(FILE *to, const mutant_rows *rows, bool verbose) ASSAY_MUST_CHECK;
void mutants_markdown(FILE *to, const mutant_rows *rows);
void mutants_json(FILE *to, const mutant_rows *rows);

/* CSV: a head, then a row for each mutant as it is checked; and taken from there again. */
void mutants_csv_head(FILE *to);
void mutants_csv_row(FILE *to, const mutant_row *row);
assay_status mutants_csv_read(const char *path, mutant_rows *rows) ASSAY_MUST_CHECK;

#endif
