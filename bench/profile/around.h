/* A variant with something of ours around each of its calls, for the runner to run as any other. */
#ifndef ASSAY_BENCH_PROFILE_AROUND_H
#define ASSAY_BENCH_PROFILE_AROUND_H

#include "assay/variant.h"

typedef assay_status (*profile_stage)(const assay_call *call);

/* Calls `stage`, once or more often, and returns how that went. */
typedef assay_status (*profile_around)(assay_stage which, profile_stage stage,
                                       const assay_call *call, void *context);

/* `variant` itself but for its calls. One at a time in a process: a variant's functions know
 * nothing of whose they are. */
assay_variant profile_wrap(const assay_variant *variant, profile_around around, void *context);

#endif
