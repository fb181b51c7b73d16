/* Random legal cases of an operator. */
#ifndef ASSAY_CLI_RANDOM_H
#define ASSAY_CLI_RANDOM_H

#include "assay/op.h"

/* Hands `count` cases over. Each is a function of the operator, `seed` and its place alone. */
assay_status random_cases(const assay_op *op, uint64_t seed, int64_t count,
                          assay_case_visitor visit, void *context) ASSAY_MUST_CHECK;

#endif
