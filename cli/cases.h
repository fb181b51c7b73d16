/* The cases that a command names: by key=value words, by a set, or drawn at random. */
#ifndef ASSAY_CLI_CASES_H
#define ASSAY_CLI_CASES_H

#include "cli/cli.h"

/* One operator that the command names, with its variants. */
typedef struct cli_selection {
    const assay_op *op;
    const char **variant;
    int32_t n_variants; /* 0: all */
    bool excluded;      /* by --exclude: it has no jobs */
} cli_selection;

typedef struct cli_job {
    const cli_selection *selection;
    bool secret; /* drawn from a seed that is made only then */
    bool drawn;  /* of ci and nightly, beside the cases that the operator lists (sets.h) */
    char *text;  /* the canonical text: it takes a hundredth of the case's memory */
} cli_job;

typedef struct cli_cases {
    cli_selection *selection; /* in the order in which the command names them */
    int32_t n_selections;
    char *text;   /* names of variants lie in it; NULL: elsewhere */
    cli_job *job; /* grouped by selection */
    int64_t n_jobs, room;
} cli_cases;

/* The operators alone, with their variants. `cases` as below. */
assay_status cli_cases_select(const assay_cli_args *args, cli_cases *cases) ASSAY_MUST_CHECK;

/* Every case is parsed and checked here, before any work begins. `cases` needs
 * cli_cases_clear after a failure as well. */
assay_status cli_cases_gather(const assay_cli_args *args, cli_cases *cases) ASSAY_MUST_CHECK;
/* Leaves out the jobs that a shell pattern names, one of several that commas separate: an operator
 * (rope), a variant of one (rope/v2), or the text of cases (*dtype=bf16*). */
assay_status cli_cases_exclude(const char *patterns, cli_cases *cases) ASSAY_MUST_CHECK;

/* The one case that the words name, within --stage and --layout; any other number is
 * ASSAY_ERR_USAGE. */
assay_status cli_cases_choose_one(const assay_cli_args *args, assay_case *c) ASSAY_MUST_CHECK;
void cli_cases_clear(cli_cases *cases);

#endif
