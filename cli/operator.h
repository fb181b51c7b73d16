/* --operator: an operator that is not built in. */
#ifndef ASSAY_CLI_OPERATOR_H
#define ASSAY_CLI_OPERATOR_H

#include "cli/cli.h"

/* Compiles args->operator_file where it is a source, to a file that is there until it is cleared,
 * and loads it. */
assay_status cli_operator_load(assay_cli_args *args) ASSAY_MUST_CHECK;
void cli_operator_clear(assay_cli_args *args);

/* Proves the loaded operator's oracle, if there is one, as the suite's tests do those that are
 * built in: on random small cases in fp64 backward is the derivative of forward. ASSAY_ERR_FILE:
 * which case shows that it is not. */
assay_status cli_operator_prove(const assay_cli_args *args) ASSAY_MUST_CHECK;

/* assay new operator NAME */
assay_exit cli_operator_new(const assay_cli_args *args);

#endif
