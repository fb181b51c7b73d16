/* Shared by the parts of `assay golden`. */
#ifndef ASSAY_CLI_GOLDEN_H
#define ASSAY_CLI_GOLDEN_H

#include "cli/cli.h"

enum { CLI_GOLDEN_PATH = 4096 };

/* The golden file of `op`: --file, or its own. */
assay_status golden_file_of(const assay_cli_args *args, const assay_op *op,
                            char path[CLI_GOLDEN_PATH]) ASSAY_MUST_CHECK;

/* Whether the command names `op`, with or without a variant. A command without operators names all.
 */
bool golden_wants_op(const assay_cli_args *args, const assay_op *op);

assay_exit golden_verify(const assay_cli_args *args);

#endif
