/*
 * A right kernel for conv3d_groupnorm_mean as host functions on the simulated device's memory, in
 * fp64 inside, for tests that put a fault into it.
 */
#ifndef ASSAY_TESTS_CHECK_CONV3D_HOST_H
#define ASSAY_TESTS_CHECK_CONV3D_HOST_H

#include "assay/variant.h"
#include "engine/check.h"

/* Backward's arguments (y lies between beta and dy); forward has those before them. */
enum { CONV_IN_X, CONV_IN_W, CONV_IN_B, CONV_IN_GAMMA, CONV_IN_BETA, CONV_INPUTS, CONV_IN_DY = 6 };

/* Element i of a tensor of f32 or f64, padded or not. */
double conv_host_get(const assay_tensor *t, int64_t i);
void conv_host_put(const assay_tensor *t, int64_t i, double v);

/* How a kernel takes the mean of `count` values and 1/sqrt(variance + eps). */
typedef void (*conv_host_moments)(const double *c, int64_t count, double eps, double *mean,
                                  double *inverse);
void conv_host_two_passes(const double *c, int64_t count, double eps, double *mean,
                          double *inverse);

assay_status conv_host_forward(const assay_call *call, conv_host_moments moments);
assay_status conv_host_backward(const assay_call *call, conv_host_moments moments);

/* The simulated device with a variant of these two functions and no other. */
typedef struct conv_host_device {
    assay_variant variant;
    const assay_variant *list[1];
    assay_device device;
} conv_host_device;
void conv_host_open(assay_status (*forward)(const assay_call *),
                    assay_status (*backward)(const assay_call *), conv_host_device *slot);

#endif
