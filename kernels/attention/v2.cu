/*
 * attention v2, the vendor's library: the products by cuBLAS, batched over heads, and a kernel of
 * our own between them (v2_softmax.h).
 *
 *     forward   S = q kᵀ / √d;  P, lse from S;  o = P v
 *     backward  S = q kᵀ / √d;  dP = do vᵀ;  P, dS from S, lse, dP, do, o;
 *               dv = Pᵀ do,  dq = dS k / √d,  dk = dSᵀ q / √d
 *
 * S and dP are fp32. P and dS are rounded to the dtype, as the products need that read them. fp32
 * is pedantic; bf16, f16 and math=tf32 use tensor cores with fp32 sums, also where cuBLAS splits k.
 * Results of 16 bits are rounded once, since beta is 0.
 *
 * As many heads at a time as have MAX_SCORES scores, which is 1 GiB of fp32, but one at least: a
 * sequence of 16384 fills it by itself. And MAX_HEADS at most, which small cases exceed too, so
 * that tests come by here.
 *
 * Against v1: operands go through shared memory, and heads share a launch; but scores still go
 * through memory, and those of invisible keys are computed like all others. Bytes for each score,
 * if d is large enough to forget the rest: forward 4 written, 4 read (three times, mostly from
 * cache), and as P 2 or 4 written and read; backward 8 written and read, and as P and dS 4 or 8
 * written, 6 or 12 read. Flops: 4 sq sk d a head forward, 10 sq sk d backward, causal or not.
 */
#include "device/blas.h"
#include "kernels/attention/v2_softmax.h"

static constexpr int64_t MAX_SCORES = (int64_t)1 << 28, MAX_HEADS = 256;
enum { FILL_THREADS = 256 };

/* A matrix (rows, columns) for each head; its rows, or, where `transposed`, its columns lie
 * `stride` apart in memory, heads `step`. */
template <typename T> struct matrices {
    T *data;
    int64_t rows, columns, stride, step;
    bool transposed;
};

template <typename T> static matrices<T> transpose(const matrices<T> &x) {
    return {x.data, x.columns, x.rows, x.stride, x.step, !x.transposed};
}

template <typename T> static constexpr cudaDataType type_of = CUDA_R_32F;
template <> constexpr cudaDataType type_of<__nv_bfloat16> = CUDA_R_16BF;
template <> constexpr cudaDataType type_of<__half> = CUDA_R_16F;

static bool is_pedantic(const assay_params *params) {
    return params->dtype == ASSAY_F32 && params->math != ASSAY_TF32;
}

static cublasComputeType_t compute_type(const assay_params *params) {
    if (is_pedantic(params))
        return CUBLAS_COMPUTE_32F_PEDANTIC;
    return params->math == ASSAY_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* Tensor cores are not for the pedantic mode that a handle comes with. */
static assay_status handle_for(const assay_call *call, cublasHandle_t *blas) {
    const assay_status status = assay_blas_handle(call->stream, blas);
    if (status != ASSAY_OK || is_pedantic(call->params))
        return status;
    return assay_blas_check(
        cublasSetMathMode(*blas, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
        "cublasSetMathMode");
}

template <typename T> static __global__ void fill_zero(matrices<T> x, int64_t heads) {
    const int64_t size = x.rows * x.columns;
    for (int64_t e = grid_thread(); e < heads * size; e += grid_threads()) {
        const int64_t head = e / size, i = e % size / x.columns, j = e % x.columns;
        x.data[head * x.step + i * x.stride + j] = narrow<T>(0.0f);
    }
}

/* Matrices that are empty may have a stride of 0, which cuBLAS refuses. */
template <typename T> static int leading(const matrices<T> &x) {
    return (int)(x.stride > 1 ? x.stride : 1);
}

template <typename T> static cublasOperation_t operation(const matrices<T> &x) {
    return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* out = factor left right for each head; `out` is not transposed. cuBLAS is column-major: it sees
 * every matrix as its transpose and computes (left right)ᵀ = rightᵀ leftᵀ. */
template <typename T, typename Out>
static assay_status multiply(const assay_call *call, int64_t heads, float factor,
                             const matrices<const T> &left, const matrices<const T> &right,
                             const matrices<Out> &out) {
    const int64_t elements = heads * out.rows * out.columns;
    if (elements == 0)
        return ASSAY_OK;
    if (left.columns == 0)
        return ASSAY_LAUNCH(call->stream, linear_grid(elements, FILL_THREADS), dim3(FILL_THREADS),
                            0, (fill_zero<Out>), out, heads);
    cublasHandle_t blas;
    const assay_status status = handle_for(call, &blas);
    if (status != ASSAY_OK)
        return status;
    const float zero = 0;
    return assay_blas_check(cublasGemmStridedBatchedEx(
                                blas, operation(right), operation(left), (int)out.columns,
                                (int)out.rows, (int)left.columns, &factor, right.data, type_of<T>,
                                leading(right), right.step, left.data, type_of<T>, leading(left),
                                left.step, &zero, out.data, type_of<Out>, leading(out), out.step,
                                (int)heads, compute_type(call->params), CUBLAS_GEMM_DEFAULT),
                            "cublasGemmStridedBatchedEx");
}

/* S and P, or dP and dS: fp32 as a product leaves them and, softmax done, of type T; in the same
 * place where T is fp32. */
template <typename T> struct scores {
    float *raw;
    T *done;
};

static int64_t heads_at_once(const sizes &n) {
    const int64_t scores_of_head = n.sq * n.sk;
    const int64_t fit = scores_of_head > 0 ? MAX_SCORES / scores_of_head : n.heads;
    return clamp(fit, 1, n.heads < MAX_HEADS ? n.heads : MAX_HEADS);
}

/* Bytes of one matrix for each of these heads, up to where another may begin. */
static size_t matrix_bytes(const sizes &n, size_t element) {
    return (size_t)ceil_div(heads_at_once(n) * n.sq * n.sk * (int64_t)element, 256) * 256;
}

/* Of one `scores`. */
static size_t scores_bytes(const sizes &n, assay_dtype dtype) {
    const size_t size = assay_dtype_size(dtype);
    return matrix_bytes(n, sizeof(float)) + (size < sizeof(float) ? matrix_bytes(n, size) : 0);
}

template <typename T>
static scores<T> scores_in(const assay_call *call, const sizes &n, size_t index) {
    char *raw = static_cast<char *>(call->workspace) + index * scores_bytes(n, call->params->dtype);
    char *done = sizeof(T) < sizeof(float) ? raw + matrix_bytes(n, sizeof(float)) : raw;
    return {reinterpret_cast<float *>(raw), reinterpret_cast<T *>(done)};
}

/* Matrices in the workspace. */
template <typename T> static matrices<T> packed(T *data, const sizes &n) {
    return {data, n.sq, n.sk, n.sk, n.sq * n.sk, false};
}

/* A tensor's matrices from head `first` on, of `length` queries or keys each. */
template <typename T>
static matrices<T> from_head(const assay_tensor *t, const sizes &n, int64_t first, int64_t length) {
    const rows<T> x = rows_from(rows_of<T>(t), first * length);
    return {x.data, length, n.d, x.stride, length * x.stride, false};
}

/* `count` heads from `first` on. */
template <typename T>
static assay_status forward_heads(const assay_call *call, const sizes &n, int64_t first,
                                  int64_t count) {
    const tensors t = tensors_of(call, ASSAY_FORWARD);
    const scores<T> p = scores_in<T>(call, n, 0);
    const matrices<const T> q = from_head<const T>(t.q, n, first, n.sq);
    const matrices<const T> k = from_head<const T>(t.k, n, first, n.sk);
    const matrices<const T> v = from_head<const T>(t.v, n, first, n.sk);
    const matrices<T> o = from_head<T>(t.o, n, first, n.sq);
    assay_status status = multiply(call, count, n.scale, q, transpose(k), packed(p.raw, n));
    if (status == ASSAY_OK)
        status = LAUNCH_ROWS(call, n, count, (softmax<T>), n, count, p.raw, p.done,
                             rows_from(rows_of<float>(t.lse), first));
    if (status == ASSAY_OK)
        status = multiply(call, count, 1, packed<const T>(p.done, n), v, o);
    return status;
}

/* P and dS of these heads. */
template <typename T>
static assay_status make_scores(const assay_call *call, const sizes &n, int64_t first,
                                int64_t count, const scores<T> &p, const scores<T> &ds) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const matrices<const T> q = from_head<const T>(t.q, n, first, n.sq);
    const matrices<const T> k = from_head<const T>(t.k, n, first, n.sk);
    const matrices<const T> v = from_head<const T>(t.v, n, first, n.sk);
    const matrices<const T> dout = from_head<const T>(t.dout, n, first, n.sq);
    assay_status status = multiply(call, count, n.scale, q, transpose(k), packed(p.raw, n));
    if (status == ASSAY_OK)
        status = multiply(call, count, 1, dout, transpose(v), packed(ds.raw, n));
    if (status == ASSAY_OK)
        status = LAUNCH_ROWS(call, n, count, (softmax_gradient<T>), n, count, p.raw, ds.raw,
                             rows_from(rows_of<const T>(t.o), first * n.sq),
                             rows_from(rows_of<const T>(t.dout), first * n.sq),
                             rows_from(rows_of<const float>(t.lse), first), p.done, ds.done);
    return status;
}

template <typename T>
static assay_status backward_heads(const assay_call *call, const sizes &n, int64_t first,
                                   int64_t count) {
    const tensors t = tensors_of(call, ASSAY_BACKWARD);
    const scores<T> made_p = scores_in<T>(call, n, 0), made_ds = scores_in<T>(call, n, 1);
    const matrices<const T> p = packed<const T>(made_p.done, n);
    const matrices<const T> ds = packed<const T>(made_ds.done, n);
    const matrices<const T> q = from_head<const T>(t.q, n, first, n.sq);
    const matrices<const T> k = from_head<const T>(t.k, n, first, n.sk);
    const matrices<const T> dout = from_head<const T>(t.dout, n, first, n.sq);
    assay_status status = make_scores(call, n, first, count, made_p, made_ds);
    if (status == ASSAY_OK)
        status = multiply(call, count, 1, transpose(p), dout, from_head<T>(t.dv, n, first, n.sk));
    if (status == ASSAY_OK)
        status = multiply(call, count, n.scale, ds, k, from_head<T>(t.dq, n, first, n.sq));
    if (status == ASSAY_OK)
        status =
            multiply(call, count, n.scale, transpose(ds), q, from_head<T>(t.dk, n, first, n.sk));
    return status;
}

/* Calls step(call, sizes, first, count) for all heads. */
template <typename Step> static assay_status for_heads(const assay_call *call, Step step) {
    const sizes n = sizes_of(call->params);
    const int64_t at_once = heads_at_once(n);
    assay_status status = ASSAY_OK;
    for (int64_t first = 0; first < n.heads && status == ASSAY_OK; first += at_once)
        status = step(call, n, first, clamp(n.heads - first, 0, at_once));
    return status;
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    return for_heads(call, forward_heads<T>);
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    return for_heads(call, backward_heads<T>);
}

static assay_status forward(const assay_call *call) {
    return ATTENTION_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return ATTENTION_DISPATCH(run_backward, call);
}

static size_t workspace(assay_stage stage, const assay_call *call) {
    const sizes n = sizes_of(call->params);
    return (stage == ASSAY_BACKWARD ? 2 : 1) * scores_bytes(n, call->params->dtype);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    const tensors t = tensors_of(call, stage);
    const sizes n = sizes_of(call->params);
    const assay_tensor *const all[] = {t.q, t.k, t.v, t.o, t.dout, t.dq, t.dk, t.dv};
    bool fits = n.sq <= INT32_MAX && n.sk <= INT32_MAX;
    for (const assay_tensor *x : all)
        fits = fits && (!x || assay_tensor_row_stride(x) <= INT32_MAX);
    if (!fits)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "attention/v2: cuBLAS takes 32-bit extents and strides; those of sq=%lld "
                          "sk=%lld are more",
                          (long long)n.sq, (long long)n.sk);
    return ASSAY_OK;
}

ASSAY_VARIANT(attention, v2) = {
    .op = "attention",
    .name = "v2",
    .device = ASSAY_DEVICE_NAME,
    .summary = "cuBLAS: batched gemms, softmax between them",
    .supports = supports,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
    .library = true,
};
