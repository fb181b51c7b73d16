/* `assay exec --launches kernel=N,...`: of equal launches in a row, as in a benchmark's loop, the
 * first N run. */
#ifndef ASSAY_SIM_EXEC_LIMIT_H
#define ASSAY_SIM_EXEC_LIMIT_H

#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

#define EXEC_LIMIT_VARIABLE "ASSAY_EXEC_LAUNCHES"

/* Whether the i-th, from 0 on, of equal launches of the kernel with this mangled name runs: by the
 * first rule that names it, or by "*". */
bool exec_limit_allows(const char *mangled, uint64_t i);

/* The same by the rules given. */
bool exec_limit_by(const char *rules, const char *mangled, uint64_t i);

/* ASSAY_ERR_USAGE: these are no rules. */
assay_status exec_limit_check(const char *rules) ASSAY_MUST_CHECK;

#endif
