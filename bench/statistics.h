/*
 * Samples, summed up. Order statistics interpolate linearly between neighbours (type 7 of Hyndman
 * and Fan, The American Statistician 50, 1996).
 */
#ifndef ASSAY_BENCH_STATISTICS_H
#define ASSAY_BENCH_STATISTICS_H

#include "assay/status.h"

#include <stdint.h>

typedef struct bench_summary {
    int64_t count;
    double median, p10, p90, mean, deviation, least, most; /* NaN when count is 0 */
} bench_summary;

assay_status bench_summarise(const double *sample, int64_t count,
                             bench_summary *summary) ASSAY_MUST_CHECK;

/* The median alone; NaN when there are no samples or no memory to sort them. */
double bench_median(const double *sample, int64_t count);

/*
 * The ratio median(b) / median(a): how many times as fast a is, with the 95 % percentile interval
 * of a bootstrap (Efron). If the counts are equal, samples that were taken in turn are drawn in
 * pairs, so that disturbances of both arms cancel; otherwise each is drawn by itself. The draws
 * come from a fixed seed: the same samples give the same interval.
 */
typedef enum bench_verdict { BENCH_FASTER, BENCH_SAME, BENCH_SLOWER, BENCH_UNCLEAR } bench_verdict;
const char *bench_verdict_name(bench_verdict v); /* "faster", "same", "slower", "unclear" */

typedef struct bench_ratio {
    double ratio, low, high;
    /* Faster: low > 1 + margin. Slower: high < 1 - margin. Same: the interval lies within both.
     * Unclear: otherwise, and with fewer than 5 samples on a side. */
    bench_verdict verdict;
} bench_ratio;

enum { BENCH_BOOTSTRAPS = 2000 };

assay_status bench_compare(const double *a, int64_t n_a, const double *b, int64_t n_b,
                           double margin, bench_ratio *ratio) ASSAY_MUST_CHECK;

#endif
