/* Launches leave their status for the device's finish(). */
#ifndef ASSAY_SIM_DEVICE_H
#define ASSAY_SIM_DEVICE_H

#include "assay/status.h"

/* A launch ended with `status` (and its line in assay_error()). */
void sim_device_note(assay_status status);

/* The status that finish() returns: the first bad one since its last call. */
assay_status sim_device_noted(void) ASSAY_MUST_CHECK;

#endif
