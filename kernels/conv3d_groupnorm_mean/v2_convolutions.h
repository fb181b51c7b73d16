/*
 * The convolutions of one call. dw in fp32 is a graph (v2_weights.h). Where cuDNN has no backward
 * convolution for it, as for f64 on Hopper (9.19) none that is deterministic, the gradients are
 * forward convolutions themselves:
 *
 *     dx[n, ci] = sum over co of dc[n, co] convolved with w[co, ci], padded by k - 1
 *     dw[co, ci] = sum over n of x[n, ci] correlated with dc[n, co]
 *
 * Filters have the channels of the result first, so w and dc are given with their first two axes
 * exchanged.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V2_CONVOLUTIONS_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V2_CONVOLUTIONS_H

#include "kernels/conv3d_groupnorm_mean/v2_convolution.h"
#include "kernels/conv3d_groupnorm_mean/v2_weights.h"

#if ASSAY_DNN

static shape shape_of_c(const sizes &z) {
    return {z.n, z.ci, z.co, z.in, {z.k, z.k, z.k}, z.out, 0, false, false};
}
static shape shape_of_dx(const sizes &z) {
    return {z.n, z.co, z.ci, z.out, {z.k, z.k, z.k}, z.in, z.k - 1, true, false};
}
/* The channels of x are the samples here, its samples the channels. */
static shape shape_of_dw(const sizes &z) {
    return {z.ci, z.n, z.co, z.in, z.out, {z.k, z.k, z.k}, 0, false, true};
}

struct convolutions {
    convolution c, dx, dw;
    forward_choice for_c, for_dx, for_dw;
    data_choice data;
    filter_choice filter;
    bool dx_as_forward, dw_as_forward;
    graph *dw_graph; /* or NULL */
    size_t bytes;    /* of the workspace that they share */
};

static void close_convolutions(const convolutions &all) {
    close_convolution(all.c);
    close_convolution(all.dx);
    close_convolution(all.dw);
}

static assay_status open_as_forward(const assay_call *call, const shape &s, convolution *conv,
                                    forward_choice *chosen) {
    const assay_status status = open_convolution(call, s, conv);
    return status == ASSAY_OK ? choose_forward(*conv, chosen) : status;
}

static assay_status open_dx(const assay_call *call, const sizes &z, convolutions *all) {
    const bool any_order = call->params->dtype == ASSAY_F32;
    const assay_status status = choose_data(all->c, any_order, &all->data);
    all->dx_as_forward = status == ASSAY_ERR_UNSUPPORTED;
    return all->dx_as_forward ? open_as_forward(call, shape_of_dx(z), &all->dx, &all->for_dx)
                              : status;
}

static assay_status open_dw(const assay_call *call, const sizes &z, convolutions *all) {
    assay_status status = ASSAY_ERR_UNSUPPORTED;
    graph *found = NULL;
    if (call->params->dtype == ASSAY_F32)
        status = find_weights_plan(call, z, &found);
    if (status == ASSAY_OK)
        all->dw_graph = found;
    if (status != ASSAY_ERR_UNSUPPORTED)
        return status;
    status = choose_filter(all->c, &all->filter);
    all->dw_as_forward = status == ASSAY_ERR_UNSUPPORTED;
    return all->dw_as_forward ? open_as_forward(call, shape_of_dw(z), &all->dw, &all->for_dw)
                              : status;
}

static inline size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* To be closed also when this fails. */
static assay_status open_convolutions(assay_stage stage, const assay_call *call, const sizes &z,
                                      convolutions *all) {
    *all = {};
    assay_status status = open_as_forward(call, shape_of_c(z), &all->c, &all->for_c);
    if (status == ASSAY_OK && stage == ASSAY_BACKWARD)
        status = open_dx(call, z, all);
    if (status == ASSAY_OK && stage == ASSAY_BACKWARD)
        status = open_dw(call, z, all);
    const size_t dx = all->dx_as_forward ? all->for_dx.bytes : all->data.bytes;
    const size_t dw = all->dw_graph        ? (size_t)all->dw_graph->workspace_bytes
                      : all->dw_as_forward ? all->for_dw.bytes
                                           : all->filter.bytes;
    all->bytes = larger(all->for_c.bytes, larger(dx, dw));
    return status;
}

#endif
#endif
