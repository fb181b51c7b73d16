/* --kernel: its file becomes a shared object and, where that is not written for assay, a binding
 * (engine/binding.h). */
#ifndef ASSAY_CLI_KERNEL_H
#define ASSAY_CLI_KERNEL_H

#include "cli/cli.h"

/* Compiles args->kernel where it is a source file, in a folder of its own. A Python file stays
 * as it is (python.h). */
assay_status cli_kernel_prepare(assay_cli_args *args) ASSAY_MUST_CHECK;
/* Makes args->kernel_words. */
assay_status cli_kernel_name(assay_cli_args *args) ASSAY_MUST_CHECK;
void cli_kernel_clear(assay_cli_args *args);

#endif
