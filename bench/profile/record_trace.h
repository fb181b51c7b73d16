/* Records as a trace: a row for each thread of the host and each stream, arrows from API calls to
 * the work that they started. */
#ifndef ASSAY_BENCH_PROFILE_RECORD_TRACE_H
#define ASSAY_BENCH_PROFILE_RECORD_TRACE_H

#include "bench/profile/record.h"

#include <stdio.h>

assay_status records_trace(FILE *to, const char *title,
                           const profile_records *records) ASSAY_MUST_CHECK;

#endif
