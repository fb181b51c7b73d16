/*
 * Results as one JSON document: the measurements, raw samples included, and numbers that follow
 * from them (median, GB/s, ...). Our readers compute the latter anew. Times are microseconds. A
 * number that was not taken is null, an infinite one "inf".
 *
 *     {"format": "assay bench", "assay": VERSION, "seconds": N,
 *      "environment": {"device": TEXT, ...},
 *      "rows": [{"experiment": TEXT, "case": TEXT, "arm": TEXT, ..., "samples_us": [N, ...]}, ...]}
 */
#ifndef ASSAY_BENCH_RESULTS_JSON_H
#define ASSAY_BENCH_RESULTS_JSON_H

#include "bench/result.h"

#include <stdio.h>

assay_status bench_results_write(FILE *to, const bench_results *results) ASSAY_MUST_CHECK;

/* A document reads back as it was written, except for text that is no UTF-8. Keys that are unknown,
 * as a newer version may write, are passed over; a number that is missing was not taken.
 * ASSAY_ERR_FILE names the file and the place in it. `results` is replaced as a whole, or left
 * alone where this fails. */
assay_status bench_results_read(const char *path, bench_results *results) ASSAY_MUST_CHECK;

#endif
