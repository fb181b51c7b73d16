/* How ratios spread over many random cases: whether bounds are tight, and the smallest error that
 * they find. */
#ifndef ASSAY_CLI_SPREAD_H
#define ASSAY_CLI_SPREAD_H

#include "cli/report.h"

/* A line for each operator, dtype and kind of tensor (dw1_2 is a dw) over the tensors that were
 * compared within a bound; the exact tier has no ratios. */
assay_status spread_print(FILE *to, const cli_results *results) ASSAY_MUST_CHECK;

#endif
