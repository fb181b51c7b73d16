/*
 * cuDNN for variants: the library's own header under nvcc, a stand-in for its convolutions, its
 * softmax and graphs of one pointwise operation with the same calls on the simulated device. A
 * variant that needs these is compiled where ASSAY_DNN is 1; its `lacks` is ASSAY_DNN_LACKS, which
 * is NULL there. For graphs of other operations they are ASSAY_DNN_GRAPH and ASSAY_DNN_GRAPH_LACKS.
 */
#ifndef ASSAY_DEVICE_DNN_H
#define ASSAY_DEVICE_DNN_H

#include "device/kernel.h"

#if !defined(__CUDACC__)
#include "sim/libraries/cudnn_graph.h"
#define ASSAY_DNN             1
#define ASSAY_DNN_GRAPH       0
#define ASSAY_DNN_LACKS       NULL
#define ASSAY_DNN_GRAPH_LACKS "cuDNN's fused attention has no stand-in on the simulated device"
#elif defined(ASSAY_CUDNN) /* the build system found it */
#include <cudnn.h>
#define ASSAY_DNN             1
#define ASSAY_DNN_GRAPH       1
#define ASSAY_DNN_LACKS       NULL
#define ASSAY_DNN_GRAPH_LACKS NULL
#else
#define ASSAY_DNN             0
#define ASSAY_DNN_GRAPH       0
#define ASSAY_DNN_LACKS       "built without cuDNN; install it and configure again"
#define ASSAY_DNN_GRAPH_LACKS ASSAY_DNN_LACKS
#endif

#if ASSAY_DNN
/* The device's handle, bound to `stream`. Owned by the device, made once a thread. */
assay_status assay_dnn_handle(void *stream, cudnnHandle_t *handle);

/* The caller's own, bound to `stream`; made where it is NULL. One thread at a time uses it. */
assay_status assay_dnn_bind(cudnnHandle_t *handle, void *stream);

/* Turns a cuDNN status into a line, with cuDNN's own words about it, and an assay_status. `call`
 * names the call. */
assay_status assay_dnn_check(cudnnStatus_t status, const char *call);
#endif

#endif
