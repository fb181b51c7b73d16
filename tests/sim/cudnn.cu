/* The cuDNN stand-in against plain loops: strides, padding, modes, alpha and beta, TF32; and its
 * checks. */
#include "device/dnn.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

#include <vector>

/* N, CI, CO, and the extents of x and of w, are all different. GAP: between channels in memory. */
enum { N = 2, CI = 3, CO = 4, GAP = 5, CELLS = 2048 };
static const int X[3] = {4, 5, 7}, W[3] = {2, 1, 3};
static const int NONE[3] = {0, 0, 0}, PADDING[3] = {1, 0, 2};

static int volume(const int *extent) {
    return extent[0] * extent[1] * extent[2];
}

template <typename T> struct data {
    static constexpr cudnnDataType_t type =
        sizeof(T) == sizeof(float) ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE;
    alignas(16) T v[CELLS];
};

/* Small integers: every sum is exact in every type. */
template <typename T> static void fill(data<T> *array, int seed) {
    for (int i = 0; i < CELLS; ++i)
        array->v[i] = (T)((i * 7 + seed) % 9 - 4);
}

struct convolution {
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t c;
    int y_size[3], padding[3];
    int x_row, y_row; /* elements from channel to channel */
};

static void ok(cudnnStatus_t status) {
    REQUIRE_OK(assay_dnn_check(status, "cudnn"));
}

static cudnnHandle_t dnn() {
    cudnnHandle_t handle;
    REQUIRE_OK(assay_dnn_handle(nullptr, &handle));
    return handle;
}

static void set_tensor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int channels,
                       const int *extent, int row) {
    const int size[] = {N, channels, extent[0], extent[1], extent[2]};
    const int stride[] = {channels * row, row, extent[1] * extent[2], extent[2], 1};
    ok(cudnnSetTensorNdDescriptor(t, type, 5, size, stride));
}

static convolution open_convolution(cudnnDataType_t type, cudnnConvolutionMode_t mode,
                                    cudnnMathType_t math, int gap, const int *padding = NONE) {
    const int one[] = {1, 1, 1}, filter[] = {CO, CI, W[0], W[1], W[2]};
    convolution c = {};
    for (int i = 0; i < 3; ++i) {
        c.padding[i] = padding[i];
        c.y_size[i] = X[i] + 2 * padding[i] - W[i] + 1;
    }
    c.x_row = volume(X) + gap;
    c.y_row = volume(c.y_size) + gap;
    ok(cudnnCreateTensorDescriptor(&c.x));
    ok(cudnnCreateTensorDescriptor(&c.y));
    ok(cudnnCreateFilterDescriptor(&c.w));
    ok(cudnnCreateConvolutionDescriptor(&c.c));
    set_tensor(c.x, type, CI, X, c.x_row);
    set_tensor(c.y, type, CO, c.y_size, c.y_row);
    ok(cudnnSetFilterNdDescriptor(c.w, type, CUDNN_TENSOR_NCHW, 5, filter));
    ok(cudnnSetConvolutionNdDescriptor(c.c, 3, padding, one, one, mode, type));
    ok(cudnnSetConvolutionMathType(c.c, math));
    return c;
}

static void close_convolution(const convolution &c) {
    ok(cudnnDestroyTensorDescriptor(c.x));
    ok(cudnnDestroyTensorDescriptor(c.y));
    ok(cudnnDestroyFilterDescriptor(c.w));
    ok(cudnnDestroyConvolutionDescriptor(c.c));
}

/* The place in a channel of x under position p and tap k; -1 in the padding. */
static int place_in_x(const convolution &c, int p, int k) {
    const int *y = c.y_size;
    const int at[] = {p / (y[1] * y[2]) + k / (W[1] * W[2]) - c.padding[0],
                      p / y[2] % y[1] + k / W[2] % W[1] - c.padding[1],
                      p % y[2] + k % W[2] - c.padding[2]};
    for (int i = 0; i < 3; ++i)
        if (at[i] < 0 || at[i] >= X[i])
            return -1;
    return (at[0] * X[1] + at[1]) * X[2] + at[2];
}

/* The definition; calls visit(place in x, in w, in y) for every product. */
template <typename Visit> static void visit_products(const convolution &c, bool flip, Visit visit) {
    for (int n = 0; n < N; ++n)
        for (int co = 0; co < CO; ++co)
            for (int ci = 0; ci < CI; ++ci)
                for (int p = 0; p < volume(c.y_size); ++p)
                    for (int k = 0; k < volume(W); ++k)
                        if (place_in_x(c, p, k) >= 0)
                            visit((n * CI + ci) * c.x_row + place_in_x(c, p, k),
                                  (co * CI + ci) * volume(W) + (flip ? volume(W) - 1 - k : k),
                                  (n * CO + co) * c.y_row + p);
}

/* Compares `got` with alpha `sum` + beta `before` where an element exists, else with `before`. */
template <typename T>
static void compare(const data<T> &got, const data<T> &before, const std::vector<T> &sum, int rows,
                    int row, int length) {
    for (int i = 0; i < rows * row; ++i) {
        const T want = i % row < length ? 2 * sum[(size_t)i] + 3 * before.v[i] : before.v[i];
        CHECK_MSG(got.v[i] == want, "element %d: %g, not %g", i, (double)got.v[i], (double)want);
    }
}

template <typename T>
static void check_forward(cudnnConvolutionMode_t mode, int gap, const int *padding = NONE) {
    const convolution c = open_convolution(data<T>::type, mode, CUDNN_FMA_MATH, gap, padding);
    const T alpha = 2, beta = 3;
    data<T> x, w, y, before;
    fill(&x, 1);
    fill(&w, 2);
    fill(&y, 3);
    before = y;
    std::vector<T> sum(CELLS);
    visit_products(c, mode == CUDNN_CONVOLUTION,
                   [&](int at_x, int at_w, int at_y) { sum[at_y] += x.v[at_x] * w.v[at_w]; });
    ok(cudnnConvolutionForward(dnn(), &alpha, c.x, x.v, c.w, w.v, c.c,
                               CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &beta, c.y,
                               y.v));
    compare(y, before, sum, N * CO, c.y_row, volume(c.y_size));
    close_convolution(c);
}

template <typename T>
static void check_backward(cudnnConvolutionMode_t mode, const int *padding = NONE) {
    const convolution c = open_convolution(data<T>::type, mode, CUDNN_FMA_MATH, 0, padding);
    const T alpha = 2, beta = 3;
    data<T> x, w, dy, dx, dw, x_before, w_before;
    fill(&x, 1);
    fill(&w, 2);
    fill(&dy, 3);
    fill(&dx, 4);
    fill(&dw, 5);
    x_before = dx;
    w_before = dw;
    std::vector<T> x_sum(CELLS), w_sum(CELLS);
    visit_products(c, mode == CUDNN_CONVOLUTION, [&](int at_x, int at_w, int at_y) {
        x_sum[at_x] += dy.v[at_y] * w.v[at_w];
        w_sum[at_w] += dy.v[at_y] * x.v[at_x];
    });
    ok(cudnnConvolutionBackwardData(dnn(), &alpha, c.w, w.v, c.y, dy.v, c.c,
                                    CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, nullptr, 0, &beta, c.x,
                                    dx.v));
    compare(dx, x_before, x_sum, N * CI, c.x_row, volume(X));
    ok(cudnnConvolutionBackwardFilter(dnn(), &alpha, c.x, x.v, c.y, dy.v, c.c,
                                      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, nullptr, 0, &beta, c.w,
                                      dw.v));
    compare(dw, w_before, w_sum, CO, CI * volume(W), CI * volume(W));
    close_convolution(c);
}

ASSAY_TEST(cudnn, convolves_as_the_definition_says, "unit sim") {
    for (int gap : {0, (int)GAP}) {
        check_forward<float>(CUDNN_CROSS_CORRELATION, gap);
        check_forward<double>(CUDNN_CROSS_CORRELATION, gap);
        check_forward<double>(CUDNN_CONVOLUTION, gap);
        check_forward<double>(CUDNN_CONVOLUTION, gap, PADDING);
    }
}

ASSAY_TEST(cudnn, differentiates_what_it_convolves, "unit sim") {
    check_backward<float>(CUDNN_CROSS_CORRELATION);
    check_backward<double>(CUDNN_CROSS_CORRELATION);
    check_backward<double>(CUDNN_CONVOLUTION);
    check_backward<float>(CUDNN_CROSS_CORRELATION, PADDING);
}

/* Ten bits behind the leading one stay, the others are dropped, unless the math is FMA. */
static float forward_of_constant(cudnnMathType_t math, float x_value, float w_value, float before) {
    const convolution c = open_convolution(CUDNN_DATA_FLOAT, CUDNN_CROSS_CORRELATION, math, 0);
    const float one = 1, beta = before != 0 ? 1.0f : 0.0f;
    data<float> x = {}, w = {}, y;
    x.v[0] = x_value;
    w.v[0] = w_value;
    for (float &v : y.v)
        v = before != 0 ? before : NAN;
    ok(cudnnConvolutionForward(dnn(), &one, c.x, x.v, c.w, w.v, c.c,
                               CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &beta, c.y,
                               y.v));
    close_convolution(c);
    return y.v[0];
}

ASSAY_TEST(cudnn, tf32_cuts_its_operands, "unit sim") {
    const float kept = 1 + 0x1p-10f, wide = kept + 0x1.8p-11f;
    CHECK(forward_of_constant(CUDNN_FMA_MATH, wide, kept, 0) == wide * kept);
    for (cudnnMathType_t math : {CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH}) {
        CHECK(forward_of_constant(math, wide, kept, 0) == kept * kept);
        CHECK(forward_of_constant(math, kept, wide, 0) == kept * kept);
    }
}

ASSAY_TEST(cudnn, beta_0_does_not_read_the_result, "unit sim") {
    CHECK(forward_of_constant(CUDNN_FMA_MATH, 3, 5, 0) == 15);
    CHECK(forward_of_constant(CUDNN_FMA_MATH, 3, 5, 2) == 17);
}

ASSAY_TEST(cudnn, the_workspace_is_demanded_and_overwritten, "unit sim") {
    const convolution c =
        open_convolution(CUDNN_DATA_FLOAT, CUDNN_CROSS_CORRELATION, CUDNN_FMA_MATH, 0);
    const cudnnConvolutionFwdAlgo_t algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    const float one = 1, zero = 0;
    data<float> x, w, y, workspace;
    fill(&x, 1);
    fill(&w, 2);
    fill(&workspace, 3);
    size_t bytes = 0;
    ok(cudnnGetConvolutionForwardWorkspaceSize(dnn(), c.x, c.w, c.c, c.y, algorithm, &bytes));
    REQUIRE(bytes > 0 && bytes <= sizeof workspace);
    const auto forward = [&](void *space, size_t space_bytes) {
        return cudnnConvolutionForward(dnn(), &one, c.x, x.v, c.w, w.v, c.c, algorithm, space,
                                       space_bytes, &zero, c.y, y.v);
    };
    CHECK(forward(workspace.v, bytes - 1) == CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
    CHECK(forward(nullptr, bytes) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    CHECK(forward(workspace.v + 1, bytes) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    CHECK(forward(workspace.v, bytes) == CUDNN_STATUS_SUCCESS);
    CHECK(isnan(workspace.v[0]) && isnan(workspace.v[bytes / sizeof(float) - 1]));
    CHECK(!isnan(workspace.v[bytes / sizeof(float)]));
    close_convolution(c);
}

/* Whether the gradients of two calls are the same bits. */
static bool are_same_twice(cudnnConvolutionBwdDataAlgo_t for_dx,
                           cudnnConvolutionBwdFilterAlgo_t for_dw) {
    const convolution c =
        open_convolution(CUDNN_DATA_FLOAT, CUDNN_CROSS_CORRELATION, CUDNN_FMA_MATH, 0);
    const float one = 1, zero = 0;
    data<float> x, w, dy, dx[2], dw[2], workspace;
    fill(&x, 1);
    fill(&w, 2);
    fill(&dy, 3);
    for (int i = 0; i < CELLS; ++i)
        dy.v[i] /= (float)(i % 5 + 3); /* sums round */
    for (int i = 0; i < 2; ++i) {
        fill(&dx[i], 4);
        fill(&dw[i], 5);
        ok(cudnnConvolutionBackwardData(dnn(), &one, c.w, w.v, c.y, dy.v, c.c, for_dx, workspace.v,
                                        sizeof workspace, &zero, c.x, dx[i].v));
        ok(cudnnConvolutionBackwardFilter(dnn(), &one, c.x, x.v, c.y, dy.v, c.c, for_dw,
                                          workspace.v, sizeof workspace, &zero, c.w, dw[i].v));
    }
    close_convolution(c);
    const bool same_dx = memcmp(dx[0].v, dx[1].v, sizeof dx[0].v) == 0;
    const bool same_dw = memcmp(dw[0].v, dw[1].v, sizeof dw[0].v) == 0;
    CHECK(same_dx == same_dw);
    return same_dx;
}

ASSAY_TEST(cudnn, algorithm_0_of_the_gradients_has_no_fixed_order, "unit sim") {
    CHECK(!are_same_twice(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0));
    CHECK(are_same_twice(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1));
}

ASSAY_TEST(cudnn, not_every_algorithm_has_every_type_and_layout, "unit sim") {
    for (cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_DOUBLE}) {
        const convolution c = open_convolution(type, CUDNN_CROSS_CORRELATION, CUDNN_FMA_MATH, 0);
        const cudnnStatus_t float_only =
            type == CUDNN_DATA_FLOAT ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
        size_t bytes;
        const auto forward = [&](cudnnConvolutionFwdAlgo_t algorithm) {
            return cudnnGetConvolutionForwardWorkspaceSize(dnn(), c.x, c.w, c.c, c.y, algorithm,
                                                           &bytes);
        };
        const auto backward = [&](cudnnConvolutionBwdDataAlgo_t algorithm) {
            return cudnnGetConvolutionBackwardDataWorkspaceSize(dnn(), c.w, c.y, c.c, c.x,
                                                                algorithm, &bytes);
        };
        CHECK(forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) == CUDNN_STATUS_SUCCESS);
        CHECK(forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) == float_only);
        CHECK(forward(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD) == CUDNN_STATUS_NOT_SUPPORTED);
        CHECK(backward(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0) == CUDNN_STATUS_SUCCESS);
        CHECK(backward(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1) == float_only);
        CHECK(backward(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD) == CUDNN_STATUS_NOT_SUPPORTED);
        set_tensor(c.x, type, CI, X, volume(X) + GAP);
        CHECK(forward(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) == CUDNN_STATUS_SUCCESS);
        CHECK(backward(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0) == CUDNN_STATUS_NOT_SUPPORTED);
        close_convolution(c);
    }
}

ASSAY_TEST(cudnn, arguments_are_checked, "unit sim") {
    const convolution c =
        open_convolution(CUDNN_DATA_FLOAT, CUDNN_CROSS_CORRELATION, CUDNN_FMA_MATH, 0);
    const auto forward = [&] {
        size_t bytes;
        return cudnnGetConvolutionForwardWorkspaceSize(
            dnn(), c.x, c.w, c.c, c.y, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &bytes);
    };
    const int empty[] = {0, CI, X[0], X[1], X[2]}, one[] = {1, 1, 1, 1, 1}, less[] = {0, -1, 0};
    const auto define = [&](const int *padding, const int *stride) {
        return cudnnSetConvolutionNdDescriptor(c.c, 3, padding, stride, one,
                                               CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    };
    CHECK(forward() == CUDNN_STATUS_SUCCESS);
    CHECK(define(one, one) == CUDNN_STATUS_SUCCESS);
    CHECK(forward() == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    CHECK(define(NONE, X) == CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(define(less, one) == CUDNN_STATUS_BAD_PARAM);
    CHECK(define(NONE, one) == CUDNN_STATUS_SUCCESS);
    set_tensor(c.y, CUDNN_DATA_FLOAT, CO, X, volume(X));
    CHECK(forward() == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    set_tensor(c.y, CUDNN_DATA_DOUBLE, CO, c.y_size, volume(c.y_size));
    CHECK(forward() == CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(cudnnSetTensorNdDescriptor(c.x, CUDNN_DATA_FLOAT, 5, empty, one) ==
          CUDNN_STATUS_BAD_PARAM);
    CHECK(cudnnSetTensorNdDescriptor(c.x, CUDNN_DATA_FLOAT, 4, one, one) ==
          CUDNN_STATUS_NOT_SUPPORTED);
    CHECK_FAILS(assay_dnn_check(CUDNN_STATUS_NOT_SUPPORTED, "cudnnConvolutionForward"),
                ASSAY_ERR_UNSUPPORTED, "cudnnConvolutionForward: CUDNN_STATUS_NOT_SUPPORTED");
    CHECK_FAILS(assay_dnn_check(CUDNN_STATUS_BAD_PARAM, "cudnnConvolutionForward"),
                ASSAY_ERR_DEVICE, "CUDNN_STATUS_BAD_PARAM");
    close_convolution(c);
}

/* ---- softmax ---- */

enum { ROWS = 3, COLUMNS = 5, ROW = 7 };

/* Rows of COLUMNS elements, ROW from one to the next. */
static cudnnTensorDescriptor_t open_rows(cudnnDataType_t type, int columns = COLUMNS) {
    cudnnTensorDescriptor_t made;
    ok(cudnnCreateTensorDescriptor(&made));
    ok(cudnnSetTensor4dDescriptorEx(made, type, ROWS, columns, 1, 1, ROW, 1, 1, 1));
    return made;
}

/* The definition in fp64; alpha is 2 and beta 3. */
template <typename T>
static double wanted(const data<T> &x, const data<T> *dy, const data<T> &before, int i, int j) {
    double sum = 0, value;
    for (int k = 0; k < COLUMNS; ++k)
        sum += dy ? (double)x.v[i * ROW + k] * (double)dy->v[i * ROW + k]
                  : exp((double)(x.v[i * ROW + k] - x.v[i * ROW + j]));
    value = dy ? (double)x.v[i * ROW + j] * ((double)dy->v[i * ROW + j] - sum) : 1 / sum;
    return 2 * value + 3 * (double)before.v[i * ROW + j];
}

template <typename T> static void check_softmax(bool backward) {
    const T alpha = 2, beta = 3;
    data<T> x, dy, out, before;
    fill(&x, 1);
    fill(&dy, 2);
    fill(&out, 3);
    for (int i = 0; !backward && i < ROWS * ROW; ++i)
        x.v[i] += 2000; /* whose power overflows in every type */
    before = out;
    cudnnTensorDescriptor_t rows = open_rows(data<T>::type);
    ok(backward ? cudnnSoftmaxBackward(dnn(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                       &alpha, rows, x.v, rows, dy.v, &beta, rows, out.v)
                : cudnnSoftmaxForward(dnn(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
                                      &alpha, rows, x.v, &beta, rows, out.v));
    for (int e = 0; e < ROWS * ROW; ++e) {
        const double want = e % ROW < COLUMNS
                                ? wanted(x, backward ? &dy : NULL, before, e / ROW, e % ROW)
                                : (double)before.v[e];
        CHECK_MSG(fabs((double)out.v[e] - want) <= 1e-5 * (1 + fabs(want)),
                  "element %d: %g, not %g", e, (double)out.v[e], want);
    }
    ok(cudnnDestroyTensorDescriptor(rows));
}

ASSAY_TEST(cudnn, softmax_is_over_each_row_and_leaves_gaps, "unit sim") {
    check_softmax<float>(false);
    check_softmax<double>(false);
    check_softmax<float>(true);
    check_softmax<double>(true);
}

ASSAY_TEST(cudnn, softmax_checks_its_arguments, "unit sim") {
    const float one = 1, none = 0;
    data<float> x, y;
    fill(&x, 1);
    cudnnTensorDescriptor_t rows = open_rows(CUDNN_DATA_FLOAT), other = open_rows(CUDNN_DATA_HALF),
                            shorter = open_rows(CUDNN_DATA_FLOAT, COLUMNS - 1);
    const auto run = [&](cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                         cudnnTensorDescriptor_t shape, const void *from) {
        return cudnnSoftmaxForward(dnn(), algorithm, mode, &one, rows, from, &none, shape, y.v);
    };
    const auto accurate = [&](cudnnTensorDescriptor_t shape, const void *from) {
        return run(CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, shape, from);
    };
    CHECK(accurate(rows, x.v) == CUDNN_STATUS_SUCCESS);
    CHECK(accurate(rows, NULL) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    CHECK(accurate(other, x.v) == CUDNN_STATUS_BAD_PARAM);
    CHECK(accurate(shorter, x.v) == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
    CHECK(accurate(rows, (const char *)x.v + 1) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    CHECK(run(CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_INSTANCE, rows, x.v) ==
          CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(run(CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, rows, x.v) ==
          CUDNN_STATUS_NOT_SUPPORTED);
    cudnnTensorDescriptor_t wider;
    ok(cudnnCreateTensorDescriptor(&wider));
    ok(cudnnSetTensor4dDescriptorEx(wider, CUDNN_DATA_FLOAT, ROWS - 1, COLUMNS, 1, 1, ROW + 1, 1, 1,
                                    1));
    cudnnTensorDescriptor_t narrower;
    ok(cudnnCreateTensorDescriptor(&narrower));
    ok(cudnnSetTensor4dDescriptorEx(narrower, CUDNN_DATA_FLOAT, ROWS - 1, COLUMNS, 1, 1, ROW, 1, 1,
                                    1));
    CHECK(cudnnSoftmaxBackward(dnn(), CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one,
                               narrower, x.v, wider, x.v, &none, narrower,
                               y.v) == CUDNN_STATUS_BAD_PARAM);
    for (cudnnTensorDescriptor_t shape : {rows, other, shorter, wider, narrower})
        ok(cudnnDestroyTensorDescriptor(shape));
}
