/* The results of a run of checks, and their writers: one file each, report_<format>.c. */
#ifndef ASSAY_CLI_REPORT_H
#define ASSAY_CLI_REPORT_H

#include "cli/cli.h"
#include "cli/environment.h"
#include "engine/check.h"

#include <math.h>

typedef struct cli_results {
    const cli_environment *environment;
    assay_report *report;
    int64_t count, room;
    double seconds; /* wall time of the run */
    check_scope scope;
    bool edge; /* the set edge: degenerate cases, each of which must be mistrusted */
} cli_results;

/* Takes over the memory that `report` owns, unless it fails. */
assay_status results_add(cli_results *results, const assay_report *report) ASSAY_MUST_CHECK;
void results_clear(cli_results *results);

/* A report with one row, for a case that the engine could not even begin. */
assay_status report_of_failure(assay_report *report, const assay_case *c, const char *device,
                               assay_verdict verdict, const char *reason) ASSAY_MUST_CHECK;

/* The rows of one variant in a report. */
typedef struct cli_part {
    const assay_row *rows;
    int32_t n_rows;
    assay_verdict verdict;
    const assay_row *worst; /* the row that weighs most: by verdict, then by ratio */
} cli_part;

/* Walks a report's variants: start with an empty part; false after the last. */
bool report_next_part(const assay_report *report, cli_part *part);

/* NULL: the part has no such tensor. */
const assay_row *report_find_row(const cli_part *part, const char *tensor);

/* Whether a variant failed or broke at report i, or is mistrusted where that is not expected. */
bool report_failed(const cli_results *results, int64_t i);

/* The same of one variant. */
bool part_failed(const cli_results *results, const cli_part *part);

/* Counts of cases x variants by verdict. */
typedef struct cli_tally {
    int64_t verdicts[ASSAY_ERROR + 1];
    int64_t total;
    int64_t of_sizes; /* mistrusted ones of cases with exponent=, which prove nothing at some */
} cli_tally;
cli_tally results_tally(const cli_results *results);

/* An error outweighs a failure; nothing but skips, or nothing at all, is ASSAY_EXIT_NOTHING. */
assay_exit tally_exit(const cli_tally *tally);

/* A NaN without a sign: printf would write its sign, which has no meaning. */
static inline double unsigned_nan(double value) {
    return isnan(value) ? (double)NAN : value;
}

typedef void (*report_writer)(FILE *to, const cli_results *results);
void cli_report_json(FILE *to, const cli_results *results);
void cli_report_csv(FILE *to, const cli_results *results);
void cli_report_junit(FILE *to, const cli_results *results);
void cli_report_markdown(FILE *to, const cli_results *results);

/* For people. Full: norms, agreement, ratios. Brief, of the last report: a line for each variant.
 * Both: everything that is not a pass, but brief tells a reason to skip once. */
void report_text_full(const assay_cli_out *out, const assay_report *report);
void report_text_series(FILE *to, const assay_report *report); /* a part of it */
void report_text_brief(const assay_cli_out *out, const cli_results *results);

/* With --quiet: only the variants that failed, are mistrusted, or broke. */
void report_text_problems(const assay_cli_out *out, const assay_report *report);

/* A case of the set edge, where `mistrusted` is expected. */
void report_text_edge(const assay_cli_out *out, const assay_report *report, bool quiet);
void report_text_summary(const assay_cli_out *out, const cli_results *results);

#endif
