/*
 * attention v1, naive: the definition step by step, one head after the other. A head's scores lie
 * in the workspace as fp32, sq sk of them; softmax turns them into P in place, and backward, when
 * dv is done with P, turns P into dS in place. Each step is a kernel with one thread for each
 * element of its result, or each row of scores.
 *
 * Backward makes P again from q, k and lse. P and dS stay fp32 in memory, but where a product takes
 * them they are rounded to the dtype, as they must be for tensor cores: in bf16 and f16 the errors
 * of all versions are held against those of v1. math=tf32 allows less precise products; none are
 * made here.
 *
 * Bytes: forward writes 4 for each score and reads them three times in softmax, which writes 4 for
 * P; every element of o then reads its row of P and its column of v by itself, d times all of P.
 * The products of backward read in the same way. Only caches stand between that and memory. Flops:
 * 4 sq sk d a head forward, 10 sq sk d backward; half as many where causal and sq = sk.
 */
#include "kernels/attention/attention.h"

enum { THREADS = 256 };

/* Scores, P or dS of one head. */
typedef float *matrix;

template <typename T>
static __device__ __forceinline__ float dot(const T *x, const T *y, int64_t d) {
    float sum = 0;
    for (int64_t c = 0; c < d; ++c)
        sum = fma_(widen(x[c]), widen(y[c]), sum);
    return sum;
}

/* An element of P or dS as a product takes it. */
template <typename T> static __device__ __forceinline__ float factor(float x) {
    return widen(narrow<T>(x));
}

template <typename T>
static __global__ void score(sizes n, rows<const T> q, rows<const T> k, matrix s) {
    for (int64_t e = grid_thread(); e < n.sq * n.sk; e += grid_threads()) {
        const int64_t i = e / n.sk, j = e % n.sk;
        s[e] = j < visible_keys(n, i) ? n.scale * dot(row(q, i), row(k, j), n.d) : NO_SCORE;
    }
}

/* A NaN among the scores is lost in the maximum, but not in the sum. */
static __global__ void softmax(sizes n, matrix s, float *lse) {
    for (int64_t i = grid_thread(); i < n.sq; i += grid_threads()) {
        float *scores = s + i * n.sk;
        float maximum = NO_SCORE, sum = 0;
        for (int64_t j = 0; j < n.sk; ++j)
            maximum = scores[j] > maximum ? scores[j] : maximum;
        const float base = exp_base(maximum);
        for (int64_t j = 0; j < n.sk; ++j)
            sum += exp_(scores[j] - base);
        lse[i] = base + log_(sum);
        for (int64_t j = 0; j < n.sk; ++j)
            scores[j] = sum == 0 ? 0.0f : exp_(scores[j] - base) / sum;
    }
}

template <typename T> static __global__ void output(sizes n, matrix p, rows<const T> v, rows<T> o) {
    for (int64_t e = grid_thread(); e < n.sq * n.d; e += grid_threads()) {
        const int64_t i = e / n.d, c = e % n.d, keys = visible_keys(n, i);
        float sum = 0;
        for (int64_t j = 0; j < keys; ++j)
            sum = fma_(factor<T>(p[i * n.sk + j]), widen(row(v, j)[c]), sum);
        row(o, i)[c] = narrow<T>(sum);
    }
}

/* P = exp(S - lse). */
template <typename T>
static __global__ void probability(sizes n, rows<const T> q, rows<const T> k, const float *lse,
                                   matrix p) {
    for (int64_t e = grid_thread(); e < n.sq * n.sk; e += grid_threads()) {
        const int64_t i = e / n.sk, j = e % n.sk;
        const bool sees = j < visible_keys(n, i) && lse[i] != NO_SCORE;
        p[e] = sees ? exp_(n.scale * dot(row(q, i), row(k, j), n.d) - lse[i]) : 0.0f;
    }
}

/* Δ_i = Σ_c do_ic o_ic. */
template <typename T>
static __global__ void row_delta(sizes n, rows<const T> o, rows<const T> dout, float *delta) {
    for (int64_t i = grid_thread(); i < n.sq; i += grid_threads())
        delta[i] = dot(row(dout, i), row(o, i), n.d);
}

/* dS = P (do vᵀ - Δ), in place of P. */
template <typename T>
static __global__ void grad_score(sizes n, rows<const T> v, rows<const T> dout, const float *delta,
                                  matrix p) {
    for (int64_t e = grid_thread(); e < n.sq * n.sk; e += grid_threads()) {
        const int64_t i = e / n.sk, j = e % n.sk;
        if (j < visible_keys(n, i))
            p[e] *= dot(row(dout, i), row(v, j), n.d) - delta[i];
    }
}

template <typename T>
static __global__ void grad_q(sizes n, matrix ds, rows<const T> k, rows<T> dq) {
    for (int64_t e = grid_thread(); e < n.sq * n.d; e += grid_threads()) {
        const int64_t i = e / n.d, c = e % n.d, keys = visible_keys(n, i);
        float sum = 0;
        for (int64_t j = 0; j < keys; ++j)
            sum = fma_(factor<T>(ds[i * n.sk + j]), widen(row(k, j)[c]), sum);
        row(dq, i)[c] = narrow<T>(n.scale * sum);
    }
}

/* dx_j = scale Σ_i weights_ij x_i over the queries i that see key j: dk, and dv. */
template <typename T>
static __global__ void sum_queries(sizes n, matrix weights, float scale, rows<const T> x,
                                   rows<T> dx) {
    for (int64_t e = grid_thread(); e < n.sk * n.d; e += grid_threads()) {
        const int64_t j = e / n.d, c = e % n.d;
        float sum = 0;
        for (int64_t i = first_query(n, j); i < n.sq; ++i)
            sum = fma_(factor<T>(weights[i * n.sk + j]), widen(row(x, i)[c]), sum);
        row(dx, j)[c] = narrow<T>(scale * sum);
    }
}

#define LAUNCH_EACH(call, items, ...)                                                              \
    ASSAY_LAUNCH((call)->stream, linear_grid(items, THREADS), dim3(THREADS), 0, __VA_ARGS__)

template <typename T>
static assay_status forward_head(const assay_call *call, const sizes &n, const tensors &t,
                                 int64_t head) {
    const matrix s = static_cast<matrix>(call->workspace);
    const rows<const T> q = rows_from(rows_of<const T>(t.q), head * n.sq);
    const rows<const T> k = rows_from(rows_of<const T>(t.k), head * n.sk);
    const rows<const T> v = rows_from(rows_of<const T>(t.v), head * n.sk);
    const rows<T> o = rows_from(rows_of<T>(t.o), head * n.sq);
    float *lse = row(rows_of<float>(t.lse), head);
    assay_status status = LAUNCH_EACH(call, n.sq * n.sk, (score<T>), n, q, k, s);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sq, softmax, n, s, lse);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sq * n.d, (output<T>), n, s, v, o);
    return status;
}

template <typename T>
static assay_status backward_head(const assay_call *call, const sizes &n, const tensors &t,
                                  int64_t head) {
    const matrix p = static_cast<matrix>(call->workspace), ds = p;
    float *delta = p + n.sq * n.sk;
    const rows<const T> q = rows_from(rows_of<const T>(t.q), head * n.sq);
    const rows<const T> k = rows_from(rows_of<const T>(t.k), head * n.sk);
    const rows<const T> v = rows_from(rows_of<const T>(t.v), head * n.sk);
    const rows<const T> o = rows_from(rows_of<const T>(t.o), head * n.sq);
    const rows<const T> dout = rows_from(rows_of<const T>(t.dout), head * n.sq);
    const rows<T> dq = rows_from(rows_of<T>(t.dq), head * n.sq);
    const rows<T> dk = rows_from(rows_of<T>(t.dk), head * n.sk);
    const rows<T> dv = rows_from(rows_of<T>(t.dv), head * n.sk);
    const float *lse = row(rows_of<const float>(t.lse), head);
    assay_status status = LAUNCH_EACH(call, n.sq * n.sk, (probability<T>), n, q, k, lse, p);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sk * n.d, (sum_queries<T>), n, p, 1.0f, dout, dv);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sq, (row_delta<T>), n, o, dout, delta);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sq * n.sk, (grad_score<T>), n, v, dout, delta, p);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sq * n.d, (grad_q<T>), n, ds, k, dq);
    if (status == ASSAY_OK)
        status = LAUNCH_EACH(call, n.sk * n.d, (sum_queries<T>), n, ds, n.scale, q, dk);
    return status;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const sizes n = sizes_of(call->params);
    assay_status status = ASSAY_OK;
    for (int64_t head = 0; head < n.heads && status == ASSAY_OK; ++head)
        status = forward_head<T>(call, n, t, head);
    return status;
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const sizes n = sizes_of(call->params);
    assay_status status = ASSAY_OK;
    for (int64_t head = 0; head < n.heads && status == ASSAY_OK; ++head)
        status = backward_head<T>(call, n, t, head);
    return status;
}

static assay_status forward(const assay_call *call) {
    return ATTENTION_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ATTENTION_DISPATCH(run_backward, call);
}

/* One head's matrix; backward also Δ of its rows. */
static size_t workspace(assay_stage stage, const assay_call *call) {
    const sizes n = sizes_of(call->params);
    const int64_t deltas = stage == ASSAY_BACKWARD ? n.sq : 0;
    return (size_t)(n.sq * n.sk + deltas) * sizeof(float);
}

ASSAY_VARIANT(attention, v1) = {
    .op = "attention",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: scores in memory, one thread for each element of each step",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
