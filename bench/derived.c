#include "bench/derived.h"

#include <math.h>

/* In `unit`s a microsecond; NaN where the row has no such quantity. */
static double rate(double quantity, double microseconds, double unit) {
    return quantity > 0 && isfinite(quantity) ? quantity / (microseconds * unit) : (double)NAN;
}

assay_status bench_derive(const bench_row *row, bench_derived *derived) {
    const assay_status status = bench_summarise(row->sample, row->n_samples, &derived->time);
    derived->gbps = rate(row->bytes, derived->time.median, 1e3);
    derived->tflops = rate(row->flops, derived->time.median, 1e6);
    derived->share =
        row->floor > 0 && isfinite(row->floor) ? row->floor / derived->time.median : (double)NAN;
    return status;
}
