/* Launches leave their status for the device's finish(). */
#ifndef ASSAY_SIM_DEVICE_H
#define ASSAY_SIM_DEVICE_H

#include "assay/status.h"

/* A launch ended with `status` (and its line in assay_error()). */
void sim_device_note(assay_status status);

/* Launches that follow are another run's, which an older status is no concern of. */
void sim_device_forget(void);

/* The status that finish() returns: the first bad one since its last call, or since a run began. */
assay_status sim_device_noted(void) ASSAY_MUST_CHECK;

#endif
