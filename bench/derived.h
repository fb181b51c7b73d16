/* Figures that follow from a row, of which only the samples are kept. */
#ifndef ASSAY_BENCH_DERIVED_H
#define ASSAY_BENCH_DERIVED_H

#include "bench/result.h"
#include "bench/statistics.h"

typedef struct bench_derived {
    bench_summary time; /* microseconds */
    double gbps;        /* GB/s: the bytes that the definition cannot do without over the median */
    double tflops;      /* TFLOP/s, the same of its operations */
    double share;       /* of the floor: 1 is as fast as the device could; NaN: unknown */
} bench_derived;

assay_status bench_derive(const bench_row *row, bench_derived *derived) ASSAY_MUST_CHECK;

#endif
