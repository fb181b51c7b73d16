/* --reference: a Python function is the operator (engine/reference.h). */
#ifndef ASSAY_CLI_REFERENCE_H
#define ASSAY_CLI_REFERENCE_H

#include "cli/cli.h"

/* Adds the operator; where no OP/NAME is given, OP/candidate is judged. */
assay_status cli_reference_load(assay_cli_args *args) ASSAY_MUST_CHECK;
void cli_reference_clear(const assay_cli_args *args);

#endif
