/* A record of some calls: the work of the device, and the API calls around it. */
#ifndef ASSAY_BENCH_PROFILE_RECORD_H
#define ASSAY_BENCH_PROFILE_RECORD_H

#include "assay/op.h"
#include "assay/status.h"

#include <stdint.h>

enum { PROFILE_NAME = 160 };

typedef enum profile_kind {
    PROFILE_KERNEL,
    PROFILE_COPY,
    PROFILE_FILL,
    PROFILE_API,  /* a call of the runtime or of the driver, by a thread of the host */
    PROFILE_CALL, /* one call of the variant, on the host */
} profile_kind;

typedef struct profile_record {
    profile_kind kind;
    assay_stage stage;
    char name[PROFILE_NAME]; /* of a kernel: short (kernel_name.h) */
    uint64_t start, end;     /* nanoseconds of one clock for host and device */
    uint32_t correlation;    /* of an API call, and of the device's work for it; 0: none */
    uint32_t row;            /* the stream; of an API call: the thread */
    uint64_t bytes;          /* of a copy, a fill */
    /* Of a kernel: */
    uint32_t grid[3], block[3];
    uint32_t registers;                     /* of a thread */
    uint32_t static_shared, dynamic_shared; /* bytes of a block */
    uint32_t local;                         /* bytes of a thread: spilled, or indexed arrays */
} profile_record;

typedef struct profile_records {
    profile_record *record;
    int64_t count, room;
} profile_records;

assay_status records_add(profile_records *records, const profile_record *record) ASSAY_MUST_CHECK;
void records_clear(profile_records *records);

/* The limits of one multiprocessor, on which occupancy depends. */
typedef struct profile_limits {
    uint32_t threads, blocks, registers, shared;
    uint32_t reserved_shared; /* of each block, by the system */
} profile_limits;

/* Takes over one record; a failure ends the handing over. */
typedef assay_status (*profile_taker)(const profile_record *record, void *context);

/* The module that records, opened where there is a GPU. Between calls of its functions the device
 * must be idle. */
typedef struct profile_recorder {
    assay_status (*limits)(profile_limits *limits);
    assay_status (*start)(void);
    uint64_t (*now)(void); /* by the records' clock */
    /* Hands over the records since the start or the last take; NULL: forgets them. */
    assay_status (*take)(profile_taker taker, void *context);
    void (*stop)(void);
} profile_recorder;

#define PROFILE_RECORDER_ENTRY "assay_profile_recorder"
typedef const profile_recorder *(*profile_recorder_entry)(void);

#endif
