/* The gate before any time is taken. */
#ifndef ASSAY_BENCH_GATE_H
#define ASSAY_BENCH_GATE_H

#include "assay/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Checks `variant` of the transformer on its smoke cases of that dtype on `device`. `passed` is
 * how many passed; false as soon as one did not, with a line on standard error. */
bool gate_passed(const assay_device *device, const char *variant, assay_dtype dtype,
                 int32_t *passed);

#endif
