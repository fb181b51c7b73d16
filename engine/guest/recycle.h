/*
 * A device whose runs find their tensors where those of the run before lay. A kernel that keeps
 * results by address is then asked for other data at an address that it knows.
 */
#ifndef ASSAY_GUEST_RECYCLE_H
#define ASSAY_GUEST_RECYCLE_H

#include "assay/device.h"

/* One at a time; `device` must outlive it. */
const assay_device *recycle_begin(const assay_device *device);

/* Before each run: its first allocation gets the memory of the last run's first one, if it is as
 * large, and so on. */
void recycle_rewind(void);

/* Gives everything back to the device. */
void recycle_end(void);

#endif
