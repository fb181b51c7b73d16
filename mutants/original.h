/* The unchanged kernel, compiled as its mutants are: a check that finds it wrong says nothing of
 * them.
 */
#ifndef ASSAY_MUTANTS_ORIGINAL_H
#define ASSAY_MUTANTS_ORIGINAL_H

#include "mutants/checker.h"
#include "mutants/subject.h"

enum { ORIGINAL_PATH = BUILD_FOLDER + 256 };

/* Its object, made when it is first needed, for all checks. */
assay_status original_find(const checker *k, build_level level, const source_user *user,
                           char path[ORIGINAL_PATH]) ASSAY_MUST_CHECK;

/* Asks it, which must be found right: ASSAY_ERR_KERNEL. One that takes too long itself says that
 * the question is no good for this kernel: *fair is false then. It also is where both decline;
 * `found`: the mutant's answer. */
assay_status original_clear(checker *k, build_level level, const source_user *user,
                            const question *q, mutant_layer found, bool *fair) ASSAY_MUST_CHECK;

#endif
