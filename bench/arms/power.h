/* The GPU's clock and power while others use it, through the driver's own library (NVML). */
#ifndef ASSAY_BENCH_ARMS_POWER_H
#define ASSAY_BENCH_ARMS_POWER_H

#include <stdbool.h>

/* Of the machine's first GPU; false, with both 0, where no GPU tells. */
bool power_read(double *sm_clock_mhz, double *watt);

#endif
