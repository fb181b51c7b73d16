/*
 * kronecker v2, the vendor's library: each stage is a gemm, batched over the axes before its mode.
 *
 * cuBLAS is column-major: a row-major factor (p, q) is its (q, p), and a slice (p, right) of the
 * state its (right, p). The last mode (right = 1) is one gemm over all rows. The dW of a mode with
 * right > 1 is a sum of one product for each slice, which cuBLAS cannot add up by itself without
 * a race: the slices are dealt to partial sums in the workspace, which add later slices by
 * beta = 1, and a kernel of ours sums them in a fixed order.
 *
 * Against v1: tiled products that read each state about once a stage. Bytes: as v1 otherwise, plus
 * the partial sums. Flops: as v1.
 */
#include "device/blas.h"
#include "kernels/common/partials.h"
#include "kernels/kronecker/walk.h"

/* Of all partial dW of a stage together: four million on a GPU, less than one dW where batches are
 * small. */
enum { PARTIAL_ELEMENTS = 64 * ASSAY_MAX_BATCH };

/* A batch of column-major matrices: `step` elements apart, and `jump` between outer batches. */
template <typename T> struct matrices {
    T *data;
    int64_t ld, step, jump;
};

/* C[i] = op(A[i]) op(B[i]) + beta C[i] for op(A) (m, k) and op(B) (k, n). */
template <typename T> struct product {
    cublasOperation_t op_a, op_b;
    int64_t m, n, k;
    matrices<const T> a, b;
    matrices<T> c;
};

static assay_status multiply(cublasHandle_t blas, const product<float> &g, int64_t batch,
                             float beta) {
    const float one = 1;
    return assay_blas_check(
        cublasSgemmStridedBatched(blas, g.op_a, g.op_b, (int)g.m, (int)g.n, (int)g.k, &one,
                                  g.a.data, (int)g.a.ld, g.a.step, g.b.data, (int)g.b.ld, g.b.step,
                                  &beta, g.c.data, (int)g.c.ld, g.c.step, (int)batch),
        "cublasSgemmStridedBatched");
}

static assay_status multiply(cublasHandle_t blas, const product<double> &g, int64_t batch,
                             double beta) {
    const double one = 1;
    return assay_blas_check(
        cublasDgemmStridedBatched(blas, g.op_a, g.op_b, (int)g.m, (int)g.n, (int)g.k, &one,
                                  g.a.data, (int)g.a.ld, g.a.step, g.b.data, (int)g.b.ld, g.b.step,
                                  &beta, g.c.data, (int)g.c.ld, g.c.step, (int)batch),
        "cublasDgemmStridedBatched");
}

/* The products of one stage: `outer` batches of `inner`. */
struct batches {
    int64_t outer, inner;
};

template <typename T> static matrices<T> move(matrices<T> m, int64_t outer, int64_t inner) {
    m.data += outer * m.jump + inner * m.step;
    return m;
}

/* Each product to its own place. */
template <typename T>
static assay_status multiply_all(cublasHandle_t blas, const product<T> &g, batches n) {
    for (int64_t outer = 0; outer < n.outer; ++outer) {
        for (int64_t first = 0; first < n.inner; first += ASSAY_MAX_BATCH) {
            product<T> part = g;
            part.a = move(g.a, outer, first);
            part.b = move(g.b, outer, first);
            part.c = move(g.c, outer, first);
            const assay_status status =
                multiply(blas, part, clamp(n.inner - first, 0, ASSAY_MAX_BATCH), 0);
            if (status != ASSAY_OK)
                return status;
        }
    }
    return ASSAY_OK;
}

/* All products into the first `slots` matrices of C, which together hold their sum. */
template <typename T>
static assay_status multiply_sum(cublasHandle_t blas, const product<T> &g, batches n,
                                 int64_t slots) {
    for (int64_t outer = 0; outer < n.outer; ++outer) {
        for (int64_t first = 0; first < n.inner; first += slots) {
            product<T> part = g;
            part.a = move(g.a, outer, first);
            part.b = move(g.b, outer, first);
            const T beta = outer == 0 && first == 0 ? 0 : 1;
            const assay_status status =
                multiply(blas, part, clamp(n.inner - first, 0, slots), beta);
            if (status != ASSAY_OK)
                return status;
        }
    }
    return ASSAY_OK;
}

/* How the slices (extent, right) of two states, (a, right) and (b, right), are walked. */
enum walk_order { MERGED, ROWS_INSIDE, ROWS_OUTSIDE };

static walk_order order_of(int64_t rows, const stage &s, int64_t a_stride, int64_t a,
                           int64_t b_stride, int64_t b) {
    if (a_stride == s.left * a * s.right && b_stride == s.left * b * s.right)
        return MERGED;
    return rows < s.left ? ROWS_OUTSIDE : ROWS_INSIDE;
}

static batches batches_of(int64_t rows, const stage &s, walk_order order) {
    if (order == MERGED)
        return {1, rows * s.left};
    return order == ROWS_OUTSIDE ? batches{rows, s.left} : batches{s.left, rows};
}

template <typename T>
static matrices<T> slices_of(state<T> from, int64_t slice, int64_t right, walk_order order) {
    if (order == ROWS_INSIDE)
        return {from.data, right, from.stride, slice};
    return {from.data, right, slice, order == MERGED ? 0 : from.stride};
}

/* With right = 1 slices are vectors, and neighbouring ones make a matrix: (length, count) with
 * leading dimension ld, `batch` times. */
struct vectors {
    int64_t count, batch;
    bool by_rows; /* one vector a row: the row strides are the leading dimensions */
};

static vectors vectors_of(int64_t rows, const stage &s, walk_order order) {
    if (s.left == 1)
        return {rows, 1, true};
    return order == MERGED ? vectors{rows * s.left, 1, false} : vectors{s.left, rows, false};
}

template <typename T>
static matrices<T> matrix_of(state<T> from, int64_t length, const vectors &v) {
    return {from.data, v.by_rows ? from.stride : length, from.stride, 0};
}

/* Matrices of partial dW that a stage may fill. */
static int64_t slots_of(int64_t rows, const stage &s) {
    const int64_t most = clamp(PARTIAL_ELEMENTS / (s.p * s.q), 1, ASSAY_MAX_BATCH);
    return clamp(rows * s.left, 0, most);
}

template <typename T> struct blas_steps {
    const assay_call *call;
    const chain *c;
    cublasHandle_t blas;
    T *partial;

    assay_status forward(int32_t i, state<const T> in, state<T> out) {
        return contract(c->stages[i], false, in, out);
    }

    assay_status backward(int32_t i, state<const T> in, state<const T> cotangent, state<T> out) {
        const assay_status status = gradient(c->stages[i], in, cotangent);
        return status == ASSAY_OK ? contract(c->stages[i], true, cotangent, out) : status;
    }

    assay_status contract(const stage &s, bool transposed, state<const T> in, state<T> out) {
        const factor<const T> f = factor_of<const T>(factor_tensor(call, s));
        const matrices<const T> w = {f.w, f.row, 0, 0};
        const int64_t rows = c->rows;
        const int64_t a = transposed ? s.q : s.p, b = transposed ? s.p : s.q;
        const walk_order order = order_of(rows, s, in.stride, a, out.stride, b);
        if (rows == 0)
            return ASSAY_OK;
        if (s.right == 1) {
            const vectors v = vectors_of(rows, s, order);
            const product<T> g = {transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                                  CUBLAS_OP_N,
                                  b,
                                  v.count,
                                  a,
                                  w,
                                  matrix_of(in, a, v),
                                  matrix_of(out, b, v)};
            return multiply_all(blas, g, {1, v.batch});
        }
        const product<T> g = {CUBLAS_OP_N, transposed ? CUBLAS_OP_N : CUBLAS_OP_T,
                              s.right,     b,
                              a,           slices_of(in, a * s.right, s.right, order),
                              w,           slices_of(out, b * s.right, s.right, order)};
        return multiply_all(blas, g, batches_of(rows, s, order));
    }

    assay_status gradient(const stage &s, state<const T> in, state<const T> cotangent) {
        const int64_t rows = c->rows;
        const walk_order order = order_of(rows, s, in.stride, s.p, cotangent.stride, s.q);
        product<T> g;
        batches n;
        if (s.right == 1) {
            const vectors v = vectors_of(rows, s, order);
            n = {1, v.batch};
            g = {
                CUBLAS_OP_N,           CUBLAS_OP_T, s.q, s.p, v.count, matrix_of(cotangent, s.q, v),
                matrix_of(in, s.p, v), {}};
        } else {
            n = batches_of(rows, s, order);
            g = {CUBLAS_OP_T,
                 CUBLAS_OP_N,
                 s.q,
                 s.p,
                 s.right,
                 slices_of(cotangent, s.q * s.right, s.right, order),
                 slices_of(in, s.p * s.right, s.right, order),
                 {}};
        }
        const factor<T> dw = factor_of<T>(gradient_tensor(call, s));
        if (rows > 0 && n.outer * n.inner == 1) {
            g.c = {dw.w, dw.row, 0, 0};
            return multiply_all(blas, g, n);
        }
        g.c = {partial, s.q, s.p * s.q, 0};
        const int64_t slots = clamp(n.inner, 0, slots_of(rows, s));
        assay_status status = ASSAY_OK;
        if (rows > 0)
            status = multiply_sum(blas, g, n, slots);
        if (status != ASSAY_OK)
            return status;
        return launch_sum_partials<T>(call->stream, partial, slots, s.p * s.q, dw.w, s.q, dw.row);
    }
};

template <typename T> static assay_status run(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    const walk w = walk_of_stages(c);
    blas_steps<T> steps = {call, &c, NULL, NULL};
    const assay_status status = assay_blas_handle(call->stream, &steps.blas);
    if (status != ASSAY_OK)
        return status;
    if (direction == ASSAY_FORWARD)
        return walk_forward<T>(call, w, steps);
    steps.partial = static_cast<T *>(call->workspace) + walk_elements(direction, w);
    return walk_backward<T>(call, w, steps);
}

static int64_t largest_stride(const assay_tensor *tensors, int32_t count) {
    int64_t largest = 0;
    for (int32_t i = 0; i < count; ++i) {
        const int64_t stride = assay_tensor_row_stride(&tensors[i]);
        largest = larger(largest, stride);
    }
    return largest;
}

static assay_status supports(assay_stage direction, const assay_call *call) {
    (void)direction;
    if (call->params->dtype == ASSAY_BF16)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "kronecker/v2: f32 and f64, not bf16; use v3_tensor or v1");
    const chain c = chain_of(call);
    int64_t largest = largest_stride(call->in, call->n_in);
    largest = larger(largest, largest_stride(call->out, call->n_out));
    for (int32_t i = 0; i < c.count; ++i) {
        const stage &s = c.stages[i];
        largest = larger(largest, c.rows * s.left);
        largest = larger(largest, s.right);
    }
    if (largest > INT32_MAX)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "kronecker/v2: cuBLAS takes 32-bit extents; one of %lld is needed here",
                          (long long)largest);
    return ASSAY_OK;
}

static size_t workspace(assay_stage direction, const assay_call *call) {
    const chain c = chain_of(call);
    int64_t partial = 0;
    for (int32_t i = 0; i < c.count && direction == ASSAY_BACKWARD; ++i) {
        const stage &s = c.stages[i];
        partial = larger(partial, slots_of(c.rows, s) * s.p * s.q);
    }
    return (size_t)(walk_elements(direction, walk_of_stages(c)) + partial) *
           assay_dtype_size(call->params->dtype);
}

static assay_status forward(const assay_call *call) {
    return KRONECKER_DISPATCH(run, ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return KRONECKER_DISPATCH(run, ASSAY_BACKWARD, call);
}

ASSAY_VARIANT(kronecker, v2) = {
    .op = "kronecker",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: a strided batch of products a stage",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
