/*
 * The variants' turns at one problem. All of them run before any oracle does, so that nothing in
 * memory holds the answer while a kernel runs.
 */
#ifndef ASSAY_ENGINE_TURN_H
#define ASSAY_ENGINE_TURN_H

#include "assay/device.h"
#include "assay/problem.h"
#include "engine/check.h"

typedef struct turn {
    const assay_variant *variant;
    const char *kernel;      /* the file that the variant is in; NULL: built in */
    assay_results got;       /* what it left; valid when status is ASSAY_OK */
    assay_status status;     /* how assay_run() ended */
    assay_failure failure;   /* when it is not ASSAY_OK: its kind, */
    char line[ASSAY_REASON]; /* and why */
} turn;

typedef struct turns {
    turn *turn;
    int32_t count;
} turns;

/* NULL: the device has no such variant. */
const assay_variant *turn_find_variant(const assay_device *device, const char *op,
                                       const char *name);

/* One turn for each variant of `op` on the device that is named in `names`, or for all when `n` is
 * 0. ASSAY_ERR_USAGE for a name that the device does not have, and when it has none at all. */
assay_status turns_init(turns *t, const assay_device *device, const char *op,
                        const char *const *names, int32_t n) ASSAY_MUST_CHECK;

/* Runs them. What a variant does wrong is in its turn; an error is trouble of ours. */
assay_status turns_run(turns *t, const assay_device *device,
                       const assay_problem *problem) ASSAY_MUST_CHECK;
void turns_clear(turns *t);

#endif
