/*
 * A variant: one implementation of an operator, judged like any other. It gets parameters, plain
 * memory and a stream, and nothing else; it returns a status.
 *
 * kernels/<op>/<name>.cu defines it with ASSAY_VARIANT(op, name); the same file is compiled for
 * each device.
 */
#ifndef ASSAY_VARIANT_H
#define ASSAY_VARIANT_H

#include "assay/case.h"
#include "assay/op.h"
#include "assay/status.h"
#include "assay/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One call. forward: in = the inputs, out = the outputs. backward: in = the inputs, then the
 * outputs as this variant's forward left them, then the cotangents of the differentiable outputs;
 * out = the gradients of the differentiable inputs. Each group is in the signature's order. Inputs
 * must not be written. Outputs and workspace hold NaN patterns; every element of every output must
 * be written. Between calls only plans and handles, made from shapes and settings, may be kept.
 */
typedef struct assay_call {
    const assay_params *params;
    int32_t n_in, n_out;
    const assay_tensor *in;
    const assay_tensor *out;
    void *workspace; /* `workspace_bytes` of device memory, aligned to 256 bytes */
    size_t workspace_bytes;
    void *stream; /* cudaStream_t on the device that has streams, otherwise NULL */
} assay_call;

/* Whether the order of a variant's sums is the same in every run. Float atomics add in the order in
 * which threads arrive; then two runs, on one device or two, need not give the same bits. */
typedef enum assay_order { ASSAY_ORDER_FIXED, ASSAY_ORDER_ANY } assay_order;

typedef struct assay_variant {
    const char *op, *name; /* "kronecker", "v3" */
    const char *device;    /* "cuda", "sim" */
    const char *summary;   /* one line for `assay list` */
    const char *lacks;     /* why it runs no case at all on this device, in a line; NULL: it runs */
    const int32_t *tiles;  /* sizes of its tiles, then 0: `assay fuzz` draws extents beside them;
                              NULL: none */

    /* ASSAY_ERR_UNSUPPORTED with the reason when it cannot do this call; NULL: it can do all.
     * Tensors in `call` carry shapes and strides, but no data yet. */
    assay_status (*supports)(assay_stage stage, const assay_call *call);

    /* Bytes of workspace; NULL: none. `call` as above. */
    size_t (*workspace)(assay_stage stage, const assay_call *call);

    /* Enqueues the work on `stream`. */
    assay_status (*forward)(const assay_call *call);
    assay_status (*backward)(const assay_call *call);

    /* Whether it calls a vendor's library, which sums in an order of its own: bits may differ
     * between devices. On the simulated device plain loops stand in for the library. */
    bool library;

    assay_order order;

    /* Whether a shape that it has not seen costs a tenth of a second or more, of a library that
     * makes a plan for it: `assay fuzz` of all variants gives it one case of eight. */
    bool plans;
} assay_variant;

#ifdef __cplusplus
}
#endif

#endif
