/*
 * The simulated device for a process whose kernels come with CUDA's runtime or driver: the
 * stand-ins for these share its memory, and their reports are the device's verdict.
 */
#ifndef ASSAY_SIM_EXEC_DEVICE_H
#define ASSAY_SIM_EXEC_DEVICE_H

#include "assay/device.h"

/*
 * `base`, but that once an image has been registered or loaded
 *   - its memory is CUDA's: pages of its own between two that cannot be touched;
 *   - finish() waits for all streams, and returns ASSAY_ERR_KERNEL with the first problem that a
 *     launch or a call had (report.h), or the first error that the program did not ask for.
 */
const assay_device *exec_device(const assay_device *base);

#endif
