/*
 * One size of the model in device memory, and calls of it. No guard zones and no comparisons: that
 * is what `assay check` is for. Parameters stay where they are from one context to the next.
 */
#ifndef ASSAY_BENCH_MODEL_H
#define ASSAY_BENCH_MODEL_H

#include "assay/device.h"
#include "assay/op.h"

typedef enum scenario { FORWARD, FORWARD_BACKWARD, FULL_STEP, SCENARIOS } scenario;
const char *scenario_name(scenario s);

typedef struct model {
    const assay_device *device;
    const assay_variant *variant;
    assay_case c;
    assay_tensor *parameter; /* from the third input on */
    int32_t n_parameters;
    int64_t elements; /* of all parameters */
    size_t bytes;     /* of device memory held now */
} model;

/* Parameters with random values of the scale that the operator gives them, norm weights 1. The
 * case says size and dtype. */
assay_status model_init(model *m, const assay_device *device, const assay_variant *variant,
                        const assay_case *c) ASSAY_MUST_CHECK;
void model_clear(model *m);

/* One scenario at one context. */
typedef struct workload {
    model *model;
    assay_case c;
    assay_stage stage;
    assay_signature sig;
    assay_tensor *tensor; /* arguments of the call, those of the stage in order */
    int32_t n_tensors, n_owned;
    void **owned; /* device memory that is not the model's */
    assay_call call;
    size_t peak; /* bytes of device memory while it runs, parameters included */
} workload;

/* ASSAY_ERR_MEMORY when it does not fit; nothing is then held. */
assay_status workload_init(workload *w, model *m, scenario s, int64_t context) ASSAY_MUST_CHECK;
void workload_clear(workload *w);

/* Runs it once and waits for the end. */
assay_status workload_run(workload *w, double *seconds) ASSAY_MUST_CHECK;

/* The loss that the last run left; of forward and the step only, NaN otherwise. */
assay_status workload_loss(const workload *w, float *loss) ASSAY_MUST_CHECK;

#endif
