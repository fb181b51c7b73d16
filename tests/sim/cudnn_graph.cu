/* The stand-in for cuDNN's graphs of one pointwise operation: its numbers, and its checks. */
#include "kernels/common/dnn_graph.h"
#include "tests/shim/assay_test.h"

#include <math.h>

enum { CHANNELS = 8, LINES = 3, COUNT = CHANNELS * LINES };
enum { X = 1, DY, RESULT, FIRST_FREE_ID };

/* Channels side by side, or outermost. */
static const layout SIDE_BY_SIDE = {{1, CHANNELS, LINES, 1}, {COUNT, 1, CHANNELS, CHANNELS}},
                    OUTERMOST = {{1, CHANNELS, LINES, 1}, {COUNT, LINES, 1, 1}},
                    GAP = {{1, CHANNELS, LINES, 1}, {2 * COUNT, 1, 2 * CHANNELS, CHANNELS}},
                    ODD = {{1, CHANNELS - 1, LINES, 1},
                           {(CHANNELS - 1) * LINES, 1, CHANNELS - 1, CHANNELS - 1}};

/* What a graph of one operation is drawn from; right as it is. */
struct drawing {
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_GELU_FWD;
    cudnnDataType_t type = CUDNN_DATA_FLOAT, result_type = CUDNN_DATA_FLOAT,
                    compute = CUDNN_DATA_FLOAT;
    layout x = SIDE_BY_SIDE, result = SIDE_BY_SIDE;
    storage where = IN_MEMORY;
    bool backward = false;
    int operations = 1;
};

static assay_status open_drawn(graph *g, const drawing &a) {
    cudnnHandle_t dnn;
    REQUIRE_OK(assay_dnn_handle(NULL, &dnn));
    open_graph(g, dnn, FIRST_FREE_ID);
    for (int i = 0; i < a.operations; ++i) {
        descriptor x = add_tensor(g, X, a.type, a.x, a.where, "x");
        descriptor result = add_tensor(g, RESULT, a.result_type, a.result, IN_MEMORY, "result");
        descriptor how = add_mode(g, a.mode, a.compute, 0, "mode");
        descriptor d = create(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "operation");
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how, "mode");
        set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x, "x");
        if (a.backward)
            set_descriptor(g, d, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC,
                           add_tensor(g, DY, a.type, a.x, IN_MEMORY, "dy"), "dy");
        set_descriptor(g, d,
                       a.backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                                  : CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
                       result, "result");
        add_operation(g, d, "operation");
    }
    make_plan(g);
    return g->status;
}

static assay_status tried(const drawing &a) {
    graph g;
    const assay_status status = open_drawn(&g, a);
    close_graph(&g);
    return status;
}

/* ---- numbers ---- */

static double wanted(double x, double dy, bool backward, bool by_tanh) {
    const double z = 0.79788456080286536 * (x + 0.044715 * x * x * x);
    const double half = by_tanh ? (1 + tanh(z)) / 2 : (1 + erf(x / sqrt(2.0))) / 2;
    if (!backward)
        return x * half;
    const double rest =
        by_tanh ? (1 - tanh(z) * tanh(z)) / 2 * 0.79788456080286536 * (1 + 3 * 0.044715 * x * x)
                : exp(-x * x / 2) / sqrt(2 * M_PI);
    return dy * (half + x * rest);
}

static void check_numbers(cudnnPointwiseMode_t mode, bool backward, bool by_tanh) {
    alignas(16) float x[COUNT], dy[COUNT], y[COUNT + 4];
    alignas(16) char workspace[256] = {};
    drawing a;
    a.mode = mode;
    a.backward = backward;
    for (int i = 0; i < COUNT; ++i) {
        x[i] = (float)(i - COUNT / 2) / 4;
        dy[i] = (float)(1 + i % 3);
    }
    for (float &v : y)
        v = 7;
    graph g;
    REQUIRE_OK(open_drawn(&g, a));
    CHECK(g.workspace_bytes > 0 && g.workspace_bytes <= (int64_t)sizeof workspace);
    const int64_t ids[] = {X, RESULT, DY};
    void *const data[] = {x, y, dy};
    REQUIRE_OK(run_plan(&g, ids, data, backward ? 3 : 2, workspace));
    close_graph(&g);
    for (int i = 0; i < COUNT; ++i) {
        const double want = wanted(x[i], dy[i], backward, by_tanh);
        CHECK_MSG(fabs(y[i] - want) <= 1e-6 * (1 + fabs(want)), "element %d: %g, not %g", i, y[i],
                  want);
    }
    CHECK(y[COUNT] == 7);
    CHECK(workspace[0] != 0); /* it may be used */
}

ASSAY_TEST(cudnn_graph, gelu_and_its_slope, "unit sim") {
    check_numbers(CUDNN_POINTWISE_GELU_FWD, false, false);
    check_numbers(CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, false, true);
    check_numbers(CUDNN_POINTWISE_GELU_BWD, true, false);
    check_numbers(CUDNN_POINTWISE_GELU_APPROX_TANH_BWD, true, true);
}

/* ---- what it refuses ---- */

ASSAY_TEST(cudnn_graph, has_an_engine_for_some_graphs, "unit sim") {
    drawing a;
    CHECK(tried(a) == ASSAY_OK);
    const auto refuses = [](void (*change)(drawing *), assay_status how) {
        drawing changed;
        change(&changed);
        CHECK(tried(changed) == how);
    };
    const assay_status no = ASSAY_ERR_UNSUPPORTED, wrong = ASSAY_ERR_DEVICE;
    refuses([](drawing *d) { d->type = d->result_type = CUDNN_DATA_DOUBLE; }, no);
    refuses([](drawing *d) { d->result_type = CUDNN_DATA_HALF; }, no);
    refuses([](drawing *d) { d->compute = CUDNN_DATA_HALF; }, no);
    refuses([](drawing *d) { d->mode = CUDNN_POINTWISE_MUL; }, no);
    refuses([](drawing *d) { d->x = d->result = OUTERMOST; }, no);
    refuses([](drawing *d) { d->x = GAP; }, no);
    refuses([](drawing *d) { d->x = d->result = ODD; }, no);
    refuses([](drawing *d) { d->where = INTERMEDIATE; }, no);
    refuses([](drawing *d) { d->operations = 2; }, no);
    refuses([](drawing *d) { d->x = ODD; }, wrong); /* of another shape than its result */
    refuses([](drawing *d) { d->x.stride[0] = 0; }, wrong);
    refuses([](drawing *d) { d->x.size[2] = 0; }, wrong);
    refuses([](drawing *d) { d->mode = CUDNN_POINTWISE_GELU_BWD; }, wrong); /* without dy */
    refuses([](drawing *d) { d->backward = true; }, wrong);
}

ASSAY_TEST(cudnn_graph, checks_pointers, "unit sim") {
    alignas(16) float x[COUNT + 4] = {}, y[COUNT] = {};
    alignas(16) char workspace[256];
    graph g;
    REQUIRE_OK(open_drawn(&g, drawing()));
    const auto run = [&](int64_t second, void *from, void *to, void *space) {
        const int64_t ids[] = {X, second};
        void *const data[] = {from, to};
        return run_plan(&g, ids, data, 2, space);
    };
    CHECK(run(RESULT, x, y, workspace) == ASSAY_OK);
    CHECK(run(RESULT, x + 1, y, workspace) == ASSAY_ERR_DEVICE);
    CHECK_STREQ(assay_error(), "sim: cuDNN graph, plan: execute: "
                               "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER");
    CHECK(run(RESULT, x, NULL, workspace) == ASSAY_ERR_DEVICE);
    CHECK(run(RESULT, x, y, NULL) == ASSAY_ERR_DEVICE);
    CHECK(run(DY, x, y, workspace) == ASSAY_ERR_DEVICE); /* no result */
    CHECK(run(X, x, y, workspace) == ASSAY_ERR_DEVICE);  /* twice the same */
    close_graph(&g);
}

ASSAY_TEST(cudnn_graph, checks_descriptors, "unit sim") {
    const int64_t one = 1;
    descriptor t = NULL, o = NULL, none = NULL;
    CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR, &none) ==
          CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, NULL) ==
          CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    CHECK(cudnnBackendFinalize(NULL) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &t) ==
            CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &o) ==
            CUDNN_STATUS_SUCCESS);
    const auto put = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         int64_t count, const void *values) {
        return cudnnBackendSetAttribute(t, name, type, count, values);
    };
    CHECK(cudnnBackendFinalize(t) == CUDNN_STATUS_BAD_PARAM); /* nothing is set */
    CHECK(put(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &one) ==
          CUDNN_STATUS_BAD_PARAM);
    CHECK(put(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_DATA_TYPE, 1, &one) ==
          CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    CHECK(put(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 2, &one) == CUDNN_STATUS_BAD_PARAM);
    CHECK(put(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, NULL) ==
          CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    CHECK(cudnnBackendSetAttribute(o, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                   &t) == CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    CHECK(cudnnBackendExecute(NULL, o, t) == CUDNN_STATUS_NOT_INITIALIZED);
    CHECK(cudnnBackendDestroyDescriptor(o) == CUDNN_STATUS_SUCCESS);
    CHECK(cudnnBackendDestroyDescriptor(t) == CUDNN_STATUS_SUCCESS);

    graph g; /* a final descriptor is not changed */
    REQUIRE_OK(open_drawn(&g, drawing()));
    CHECK(cudnnBackendSetAttribute(g.all[0], CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
                                   &one) == CUDNN_STATUS_NOT_INITIALIZED);
    close_graph(&g);
}
