/*
 * cuDNN for variants: the library's own header under nvcc, a stand-in for its convolutions with the
 * same calls on the simulated device. A variant that needs it compiles that part under ASSAY_DNN
 * (the convolutions) or ASSAY_DNN_GRAPH (the graph API, of which the simulated device has nothing),
 * and answers assay_dnn_missing() otherwise.
 */
#ifndef ASSAY_DEVICE_DNN_H
#define ASSAY_DEVICE_DNN_H

#include "kernels/device/kernel.h"

#if !defined(__CUDACC__)
#include "kernels/sim/cudnn.h"
#define ASSAY_DNN       1
#define ASSAY_DNN_GRAPH 0
#elif defined(ASSAY_CUDNN) /* the build system found it */
#include <cudnn.h>
#define ASSAY_DNN       1
#define ASSAY_DNN_GRAPH 1
#else
#define ASSAY_DNN       0
#define ASSAY_DNN_GRAPH 0
#endif

/* Why ASSAY_DNN or ASSAY_DNN_GRAPH is 0; `variant` is "op/name". */
assay_status assay_dnn_missing(const char *variant);

#if ASSAY_DNN
/* The device's handle, bound to `stream`. Owned by the device, made once a process. */
assay_status assay_dnn_handle(void *stream, cudnnHandle_t *handle);

/* Turns a cuDNN status into a line, with what cuDNN itself says about it, and an assay_status.
 * `call` names the call. */
assay_status assay_dnn_check(cudnnStatus_t status, const char *call);
#endif

#endif
