/* What launches leave for the device's finish(). */
#ifndef ASSAY_SIM_DEVICE_H
#define ASSAY_SIM_DEVICE_H

#include "assay/status.h"

/* A launch ended with `status` (and its line in assay_error()). */
void sim_device_note(assay_status status);

/* What finish() returns: the first bad one since it was last asked. */
assay_status sim_device_noted(void) ASSAY_MUST_CHECK;

#endif
