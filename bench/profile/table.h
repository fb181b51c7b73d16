/* The records, summed up by kernel. */
#ifndef ASSAY_BENCH_PROFILE_TABLE_H
#define ASSAY_BENCH_PROFILE_TABLE_H

#include "bench/profile/record.h"

/* All records of one kernel in one configuration, of all copies of one kind, of all fills. */
typedef struct profile_line {
    profile_record like; /* the first of them */
    int64_t calls;
    double total; /* microseconds on the device */
    double share; /* of the time of all */
    uint64_t bytes;
} profile_line;

typedef struct profile_table {
    profile_line *line; /* longest first */
    int64_t count;
    double total; /* microseconds, all lines together */
    double span;  /* from the first one's start to the last one's end */
} profile_table;

/* Of one stage. */
assay_status table_make(const profile_records *records, assay_stage stage,
                        profile_table *table) ASSAY_MUST_CHECK;
void table_clear(profile_table *table);

#endif
