/* Numbers and words for people. */
#ifndef ASSAY_BENCH_REPORT_FORMAT_H
#define ASSAY_BENCH_REPORT_FORMAT_H

#include "bench/statistics.h"

#include <stdbool.h>

enum { FORMAT_NUMBER = 64 };

/* Thousands apart by commas: "1,463.42"; "-" for NaN and infinities. Returns `out`. */
const char *format_fixed(double value, int decimals, char out[FORMAT_NUMBER]);

/* So that the least of a column's values shows three digits. */
int format_decimals(double least);

/* Three digits. */
const char *format_short(double value, char out[FORMAT_NUMBER]);

const char *format_bytes(double bytes, char out[FORMAT_NUMBER]); /* "1.50 GiB" */

/* "1.42" or "0.0123"; "-" for NaN. */
const char *format_ratio(double ratio, char out[FORMAT_NUMBER]);

/* The interval of a ratio, "0.916" and "0.921" with the text between them. */
const char *format_interval(const bench_ratio *ratio, const char *between, char out[FORMAT_NUMBER]);

/* A sign beside the word, so that no colour has to say it. UTF-8. */
const char *format_verdict_sign(bench_verdict verdict);

/* The remark of every page and picture about times that were not measured. */
extern const char *const format_simulated;

#endif
