/* The cases that were no pass in the last check, for --last-failed. */
#ifndef ASSAY_CLI_LAST_FAILED_H
#define ASSAY_CLI_LAST_FAILED_H

#include "cli/cases.h"
#include "cli/report.h"

/* The cases of the file, of the operators and variants that the command names.
 * ASSAY_ERR_UNSUPPORTED where no case failed. */
assay_status last_failed_gather(const assay_cli_args *args, cli_cases *cases) ASSAY_MUST_CHECK;

/* Replaces the file. Cases that --fail-fast left out count as failed if they were before. A home
 * that cannot be written costs only --last-failed. */
void last_failed_write(const assay_cli_args *args, const cli_cases *cases,
                       const cli_results *results);

#endif
