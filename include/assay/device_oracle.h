/*
 * An operator's oracle on a device: the same fp64 answers and the same bounds as assay_op gives on
 * the CPU, for sizes that take the CPU too long. It is trusted because the suite compares it with
 * the CPU's, in every case of the smoke and ci sets, on every device.
 *
 * oracles/<op>/device.cu defines it with ASSAY_DEVICE_ORACLE(op) (oracles/common/device_oracle.h);
 * the file is compiled for each device, as variants are.
 */
#ifndef ASSAY_DEVICE_ORACLE_H
#define ASSAY_DEVICE_ORACLE_H

#include "assay/case.h"
#include "assay/op.h"
#include "assay/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One call: forward, backward and the bounds of both. All arrays are dense row-major fp64 in the
 * device's memory. `in` has the inputs in the signature's order, `cot` one entry for each output,
 * `grad` and `grad_bound` one for each input; entries without a gradient or cotangent are NULL.
 * Every element of out, grad and their bounds is written.
 */
typedef struct assay_oracle_call {
    const assay_params *params;
    const assay_rounding *rounding; /* of the kernel under judgement */
    const double *const *in, *const *cot;
    double *const *out, *const *grad;
    double *const *out_bound, *const *grad_bound;
    char (*out_why)[ASSAY_WHY], (*grad_why)[ASSAY_WHY]; /* host memory, one line an array */
    void *workspace; /* device memory, `workspace_bytes`, aligned to 256 bytes, not initialised */
    size_t workspace_bytes;
    void *stream;
} assay_oracle_call;

typedef struct assay_device_oracle {
    const char *op, *device;
    size_t (*workspace)(const assay_params *params);
    /* Enqueues the work on `stream`. */
    assay_status (*run)(const assay_oracle_call *call);
} assay_device_oracle;

#ifdef __cplusplus
}
#endif

#endif
