/*
 * The results of a benchmark: rows of timed samples, and their proofs. Measured by bench/session.h,
 * kept and read back as JSON (bench/results_json.h), shown by bench/report/.
 */
#ifndef ASSAY_BENCH_RESULT_H
#define ASSAY_BENCH_RESULT_H

#include "assay/case.h"
#include "assay/op.h"
#include "assay/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_NAME = 64, BENCH_REASON = 320, BENCH_VERSIONS = 512, BENCH_DEVICE = 256 };

typedef enum bench_status {
    BENCH_OK,      /* verified and timed */
    BENCH_REFUSED, /* not proven, or its answers were wrong: never timed, or its times dropped */
    BENCH_OOM,     /* does not fit into the device's memory */
    BENCH_UNAVAILABLE, /* cannot run here: no PyTorch, the variant does not do this case, ... */
    BENCH_ERROR,       /* broke, or a time that cannot be */
} bench_status;
enum { BENCH_STATUSES = 5 };
const char *bench_status_name(bench_status s); /* "ok", "refused", "oom", "unavailable", "error" */

/* The work of one call; BENCH_BOTH: the outputs, then the gradients. */
typedef enum bench_stage { BENCH_FORWARD, BENCH_BACKWARD, BENCH_BOTH } bench_stage;
enum { BENCH_STAGES = 3 };
const char *bench_stage_name(bench_stage s); /* "forward", "backward", "forward+backward" */

/* The contents of the device's caches before each timed call. */
typedef enum bench_cache { BENCH_COLD, BENCH_WARM } bench_cache;
const char *bench_cache_name(bench_cache c); /* "cold", "warm" */

/* One arm at one case, stage and cache state. An arm is a program that computes the operator: a
 * variant of ours ("v3"), or a peer ("torch-compile"). */
typedef struct bench_row {
    char experiment[BENCH_NAME]; /* "attention", as in bench/experiments.h; "" outside of any */
    char case_text[ASSAY_CASE_TEXT];
    char arm[BENCH_NAME];   /* "v3", "torch", "torch-compile", "sdpa-cudnn" */
    char label[BENCH_NAME]; /* for people: "assay v3", "PyTorch eager" */
    bool ours;
    bench_stage stage;
    bench_cache cache;
    bench_status status;
    char reason[BENCH_REASON];     /* why it is not ok; when it is ok, the part that was not
                                      compared, or "" */
    char repro[2 * BENCH_REASON];  /* a command that makes this row again */
    char versions[BENCH_VERSIONS]; /* of the arm's parts, and its switches (TF32, ...) */

    double
        *sample; /* microseconds of one call each, in the order in which they were taken; owned */
    int64_t n_samples;
    double wall;      /* microseconds of a warm call by the parent's clock; NaN: not taken */
    double customary; /* of a cold one by the timer that a peer's users take; NaN: not taken */

    /* Of the verified outputs, those of timed calls among them: the worst error / bound, and its
     * tensor; NaN: no output was compared. */
    double ratio;
    char worst_tensor[ASSAY_TENSOR_NAME + 1];
    int32_t verified; /* tensors compared in full, all input sets together */

    /* The least work that the definition needs (assay_op_work), and the least time that the device
     * could take for it; NaN: unknown. */
    double bytes, flops, floor; /* bytes, operations, microseconds */

    int64_t peak_bytes, before_backward_bytes; /* of device memory; 0: unknown */
} bench_row;

/* Where and how. Lines for people and machines; text of any length is cut. */
typedef struct bench_environment {
    char version[BENCH_NAME], date[BENCH_NAME]; /* of assay; UTC, ISO 8601 */
    char device[BENCH_DEVICE], cpu[BENCH_DEVICE], os[BENCH_DEVICE], blas[BENCH_DEVICE];
    char compiler[BENCH_DEVICE], command[2 * BENCH_DEVICE];
    char commit[BENCH_NAME]; /* of the source, "" when unknown */
    double sm_clock_mhz[3];  /* least, median, most while timing; 0: unknown */
    double power_watt[3];
    double copy_bytes;      /* measured ceiling: bytes/s read and written by a copy; 0: not taken */
    double noise;           /* relative: p90/p10 - 1 of the timer on a kernel of known duration */
    double known, measured; /* microseconds: that kernel's duration, and the timer's value */
    bool simulated;         /* times are those of a simulation on the host: not a measurement */
} bench_environment;

typedef struct bench_results {
    bench_environment environment;
    bench_row *row;
    int64_t count, room;
    double seconds; /* wall time of the run, interruptions left out */
} bench_results;

/* Takes over the memory that `row` owns, unless it fails. A row of the same experiment, case, arm,
 * stage and cache is replaced. */
assay_status bench_results_add(bench_results *results, const bench_row *row) ASSAY_MUST_CHECK;
/* Takes the row of the same place out, if there is one. */
void bench_results_remove(bench_results *results, const bench_row *like);
/* Takes over the rows of another run on such a device, and leaves it empty. Of a case that both
 * have, all rows are the other's: arms that were timed in different runs are not compared. */
assay_status bench_results_merge(bench_results *results, bench_results *other) ASSAY_MUST_CHECK;
/* NULL: there is none. */
const bench_row *bench_results_find(const bench_results *results, const bench_row *like);
void bench_results_clear(bench_results *results);

#endif
