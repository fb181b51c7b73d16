/* The peak rates of a device, from its data sheet: for rooflines, and to find impossible times. */
#ifndef ASSAY_BENCH_CEILINGS_H
#define ASSAY_BENCH_CEILINGS_H

#include "assay/case.h"
#include "assay/op.h"

typedef struct bench_ceilings {
    double bytes;                     /* of device memory a second */
    double cache_bytes;               /* L2 */
    double flops[ASSAY_DTYPES], tf32; /* dense, a second, by assay_dtype; tensor cores included */
} bench_ceilings;

/* By the name in a device's text (device.h, probe); all NaN for a device that is not in the table.
 */
bench_ceilings bench_ceilings_of(const char *device_text);

/*
 * The least microseconds that one call can take, the longer of two times. One is for the bytes that
 * it must read, and for those that it writes beyond the size of the L2 cache; the other is for the
 * least operations. fp32 is granted the speed of TF32: products of parts on tensor cores may be as
 * exact, and nothing is faster. NaN when the ceilings are unknown.
 */
double bench_floor(const bench_ceilings *ceilings, const assay_params *params,
                   const assay_work *work);

#endif
