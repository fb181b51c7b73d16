/*
 * The variants' runs on one problem. All of them run before any oracle does, so that nothing in
 * memory holds the answer while a kernel runs.
 */
#ifndef ASSAY_ENGINE_VARIANT_RUN_H
#define ASSAY_ENGINE_VARIANT_RUN_H

#include "assay/device.h"
#include "assay/problem.h"
#include "engine/check.h"

typedef struct variant_run {
    const assay_variant *variant;
    const char *kernel;                  /* the file that the variant is in; NULL: built in */
    assay_results got;                   /* its results; valid when status is ASSAY_OK */
    assay_status status;                 /* how assay_run() ended */
    assay_failure failure;               /* when it is not ASSAY_OK: its kind, */
    char line[ASSAY_REASON];             /* and why */
    assay_verdict again;                 /* of further runs; ASSAY_PASS where there are no further
                                            runs */
    char differs[ASSAY_TENSOR_NAME + 1]; /* the tensor whose bits it changed, */
    char unequal[ASSAY_REASON];          /* and how; or how it broke */
} variant_run;

typedef struct variant_runs {
    variant_run *run;
    int32_t count;
} variant_runs;

/* NULL: the device has no such variant. */
const assay_variant *variant_find(const assay_device *device, const char *op, const char *name);

/* One run for each variant of `op` on the device that is named in `names`, or for all when `n` is
 * 0. ASSAY_ERR_USAGE for a name that the device does not have, and when it has no variants at all.
 */
assay_status variant_runs_init(variant_runs *t, const assay_device *device, const char *op,
                               const char *const *names, int32_t n) ASSAY_MUST_CHECK;

/* Runs them. A variant's failure is recorded in its run; an error is a failure of the harness. */
assay_status variant_runs_execute(variant_runs *t, const assay_device *device,
                                  const assay_problem *problem) ASSAY_MUST_CHECK;

/* Asks those whose sums have an order for the same bits once more. Of large cases only one in
 * sixteen, chosen by its text, because it costs a whole run. */
assay_status variant_runs_repeat(variant_runs *t, const assay_device *device,
                                 const assay_problem *problem) ASSAY_MUST_CHECK;
/* Runs the built-in ones once more where their accesses are recorded, if the device can: races,
 * accesses out of bounds and reads of unwritten shared memory, which need not show in numbers. Of
 * large cases only one in sixteen, and of still larger cases none, unless all are wanted: recording
 * takes many times as long. */
assay_status variant_runs_record(variant_runs *t, const assay_device *device,
                                 const assay_problem *problem) ASSAY_MUST_CHECK;
void variant_runs_clear(variant_runs *t);

#endif
