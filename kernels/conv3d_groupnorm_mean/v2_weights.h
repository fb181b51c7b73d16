/*
 * dw in fp32 as a graph of cuDNN's, of one operation: where x has few channels, the engines that
 * the older calls know take 15 times as long as the quickest. Heuristics of mode B propose that one
 * first, which mode A leaves out. It adds in any order.
 *
 * math=strict leaves out all engines that use tensor cores, which cut operands to TF32. Winograd
 * and FFT are left out, too.
 */
#ifndef ASSAY_CONV3D_GROUPNORM_MEAN_V2_WEIGHTS_H
#define ASSAY_CONV3D_GROUPNORM_MEAN_V2_WEIGHTS_H

#include "kernels/common/dnn_graph.h"
#include "kernels/conv3d_groupnorm_mean/conv.h"

#if ASSAY_DNN

/* Names of the tensors. */
enum { WEIGHTS_X = 1, WEIGHTS_DY, WEIGHTS_DW, WEIGHTS_FREE_ID };

#if ASSAY_DNN_GRAPH

enum { SPACE_AXES = 3, MOST_NOTES = 16 };

/* All that a plan depends on. */
struct weights_key {
    int64_t n, ci, co, k, d, h, w, tf32;
};

/* (first, second, v), packed. */
static layout volumes(int64_t first, int64_t second, const volume &v) {
    const int64_t each = size_of(v);
    return {{first, second, v.d, v.h, v.w}, {second * each, each, v.h * v.w, v.w, 1}, 5};
}

static void draw_weights(graph *g, const weights_key &key) {
    const char *const what = "dw";
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t axes = SPACE_AXES, ones[] = {1, 1, 1}, zeros[] = {0, 0, 0};
    const float one = 1, zero = 0;
    const volume in = {key.d, key.h, key.w};
    const volume out = {key.d - key.k + 1, key.h - key.k + 1, key.w - key.k + 1};
    descriptor how = create(g, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &axes, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, axes, ones, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, axes, ones, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, axes, zeros, what);
    set(g, how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, axes, zeros, what);
    finalize(g, how, what);
    const layout weights = volumes(key.co, key.ci, {key.k, key.k, key.k});
    descriptor x = add_tensor(g, WEIGHTS_X, type, volumes(key.n, key.ci, in), IN_MEMORY, what);
    descriptor dy = add_tensor(g, WEIGHTS_DY, type, volumes(key.n, key.co, out), IN_MEMORY, what);
    descriptor dw = add_tensor(g, WEIGHTS_DW, type, weights, IN_MEMORY, what);
    descriptor d = create(g, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, what);
    set(g, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, &one, what);
    set(g, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, &zero, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, how, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy, what);
    set_descriptor(g, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dw, what);
    add_operation(g, d, what);
}

/* Whether an engine's sums are those of the products of the operands that it should take. One that
 * does not tell is left out. */
static bool is_exact(graph *g, descriptor configuration, bool tf32) {
    cudnnBackendNumericalNote_t notes[MOST_NOTES];
    int64_t count = 0;
    descriptor engine = create(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "engine");
    if (!engine ||
        cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                 &engine) != CUDNN_STATUS_SUCCESS ||
        cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, MOST_NOTES, &count,
                                 notes) != CUDNN_STATUS_SUCCESS)
        return false;
    for (int64_t i = 0; i < clamp(count, 0, MOST_NOTES); ++i)
        switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
            if (!tf32)
                return false;
            break;
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: /* of partial sums, in fp32 */
        case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
            break;
        default:
            return false;
        }
    return true;
}

static void make_weights_plan(graph *g, const weights_key &key) {
    draw_weights(g, key);
    make_plan(g, CUDNN_HEUR_MODE_B,
              [&](descriptor configuration) { return is_exact(g, configuration, key.tf32 != 0); });
}

static assay_status find_weights_plan(const assay_call *call, const sizes &z, graph **found) {
    static thread_local kept_plans<weights_key> kept;
    const weights_key key = {z.n,    z.ci,   z.co,   z.k,
                             z.in.d, z.in.h, z.in.w, call->params->math == ASSAY_TF32};
    return make_plan_of(&kept, key, call->stream, WEIGHTS_FREE_ID, make_weights_plan, found);
}

#else

static assay_status find_weights_plan(const assay_call *, const sizes &, graph **) {
    return ASSAY_ERR_UNSUPPORTED;
}

#endif

static assay_status run_weights_plan(graph *g, const void *x, const void *dy, void *workspace,
                                     void *dw) {
    const int64_t ids[] = {WEIGHTS_X, WEIGHTS_DY, WEIGHTS_DW};
    void *const data[] = {const_cast<void *>(x), const_cast<void *>(dy), dw};
    return run_plan(g, ids, data, 3, workspace);
}

#endif
#endif
