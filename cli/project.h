/*
 * assay.toml, in the folder that assay is called in: the kernels of a repository, which `assay
 * check` judges where its words name none.
 *
 *     set = "ci"                     # a flag of check, for every kernel
 *
 *     [[kernel]]
 *     op = "rmsnorm"
 *     file = "kernels/rms_norm.cu"   # what --kernel takes
 *     name = "fast"                  # optional: of the variant; the file's without it
 *     cases = "n=64 d=512,513"       # optional: key=value words, in place of the set
 *     stage = "forward"              # a flag of check, for this one
 *
 * Flags of the command line stand before those of the file. Each kernel is judged by a process of
 * its own, as `assay check OP/NAME --kernel FILE` judges it.
 */
#ifndef ASSAY_CLI_PROJECT_H
#define ASSAY_CLI_PROJECT_H

#include "cli/cli.h"

bool project_applies(const assay_cli_args *args);
assay_exit project_check(const assay_cli_args *args);

#endif
