/* The variants that oracles/ops.def names, whether or not a device has them. */
#ifndef ASSAY_CLI_VARIANTS_H
#define ASSAY_CLI_VARIANTS_H

#include "assay/op.h"

#include <stdbool.h>

/* Hands over the name of variant i of `op`; NULL after the last. */
const char *variant_name(const assay_op *op, int32_t i);

/* Whether `op` has that variant; when not, *nearest is the nearest one. */
bool variant_known(const assay_op *op, const char *name, const char **nearest);

#endif
