/*
 * On a runner of GitHub's ($GITHUB_ACTIONS is true): a kernel file's failures, as annotations of
 * its lines. The format is that of workflow commands:
 * https://docs.github.com/actions/reference/workflow-commands-for-github-actions
 */
#ifndef ASSAY_CLI_ANNOTATE_H
#define ASSAY_CLI_ANNOTATE_H

#include "cli/report.h"

/* The error at hand, where the kernel file was not judged at all. */
void annotate_unjudged(const assay_cli_args *args);

void annotate(const assay_cli_args *args, const cli_results *results);

#endif
