/*
 * conv3d_groupnorm_mean v1, naive: the definition, a kernel a step, with the convolution's output
 * in global memory. One thread makes one element of c, of dx; one block sums one group's mean and
 * variance in two passes, one sample's y, one channel's db, one weight's dw.
 *
 * Backward with A = gamma dy / (Co P):
 *
 *     dc = rstd (A - mean(A) - x̂ mean(A x̂))      means over the group
 *     dgamma = sum over n, p of x̂ dy / (Co P)      dbeta = sum over n of dy / Co
 *
 * then db, dw and dx are dc's sum, its correlation with x and its transposed convolution with w.
 *
 * Bytes: c is written once and read three times forward; backward once more for dgamma and the
 * mean of A x̂ each, then dc takes its place and is read by db and, through the caches, once for
 * each weight by dw and once for each tap by dx. Flops: 2 n Co P ci k^3 forward, three times that
 * backward. math=tf32 is computed in strict fp32.
 */
#include "kernels/conv3d_groupnorm_mean/conv.h"

enum { THREADS = 128 };

/* The sum over a block's threads, for all of them: a tree of fixed shape. */
template <typename T> static __device__ __forceinline__ T block_sum(T mine) {
    __shared__ T partial[THREADS];
    partial[threadIdx.x] = mine;
    __syncthreads();
    for (int half = THREADS / 2; half >= 1; half /= 2) {
        if ((int)threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    const T sum = partial[0];
    __syncthreads();
    return sum;
}

template <typename T> static __global__ void convolve(inputs<T> in, sizes z, T *c) {
    const int64_t count = z.n * z.co * z.positions;
    for (int64_t e = grid_thread(); e < count; e += grid_threads()) {
        const int64_t n = e / z.positions / z.co, co = e / z.positions % z.co;
        const volume p = place_in(z.out, e % z.positions);
        T sum = 0;
        for (int64_t ci = 0; ci < z.ci; ++ci) {
            const T *x = in.x.data + (n * z.ci + ci) * in.x.stride;
            const T *w = in.w.data + (co * z.ci + ci) * in.w.stride;
            for (int64_t kd = 0; kd < z.k; ++kd)
                for (int64_t kh = 0; kh < z.k; ++kh)
                    for (int64_t kw = 0; kw < z.k; ++kw)
                        sum = fma_(*w++, x[index_in(z.in, p.d + kd, p.h + kh, p.w + kw)], sum);
        }
        c[e] = sum + in.b[co];
    }
}

/* mean and 1/square_root(variance + eps) of each sample's groups; a group's channels lie together.
 */
template <typename T> static __global__ void normalisers(const T *c, sizes z, T *mean, T *rstd) {
    const int64_t size = z.members * z.positions;
    for (int64_t group = blockIdx.x; group < z.n * z.groups; group += gridDim.x) {
        const T *from = c + group * size;
        T sum = 0, squares = 0;
        for (int64_t i = threadIdx.x; i < size; i += THREADS)
            sum += from[i];
        const T centre = block_sum(sum) / (T)size;
        for (int64_t i = threadIdx.x; i < size; i += THREADS)
            squares = fma_(from[i] - centre, from[i] - centre, squares);
        const T variance = block_sum(squares) / (T)size;
        if (threadIdx.x == 0) {
            mean[group] = centre;
            rstd[group] = (T)1 / square_root(variance + (T)z.eps);
        }
    }
}

/* c, and the mean and 1/sqrt(variance + eps) of each sample's groups, which make x̂ of it. */
template <typename T> struct normal { const T *c, *mean, *rstd; };

template <typename T>
static __device__ __forceinline__ T standardised(const normal<T> &x, const sizes &z, int64_t e) {
    const int64_t group = e / (z.members * z.positions);
    return (x.c[e] - x.mean[group]) * x.rstd[group];
}

template <typename T> static __global__ void average(inputs<T> in, normal<T> x, sizes z, T *y) {
    const int64_t size = z.co * z.positions;
    for (int64_t n = blockIdx.x; n < z.n; n += gridDim.x) {
        T sum = 0;
        for (int64_t i = threadIdx.x; i < size; i += THREADS) {
            const int64_t co = i / z.positions;
            sum += fma_(in.gamma[co], standardised(x, z, n * size + i), in.beta[co]);
        }
        const T total = block_sum(sum);
        if (threadIdx.x == 0)
            y[n] = total / (T)size;
    }
}

/* A of one channel. */
template <typename T>
static __device__ __forceinline__ T weight_of(const T *gamma, const T *dy, const sizes &z,
                                              int64_t n, int64_t co) {
    return gamma[co] * dy[n] / (T)(z.co * z.positions);
}

/* The means of A and of A x̂ over each sample's groups. */
template <typename T>
static __global__ void projections(const T *gamma, const T *dy, normal<T> x, sizes z, T *mean_a,
                                   T *mean_ax) {
    const int64_t size = z.members * z.positions;
    for (int64_t group = blockIdx.x; group < z.n * z.groups; group += gridDim.x) {
        const int64_t n = group / z.groups, first = group % z.groups * z.members;
        T a = 0, ax = 0;
        for (int64_t i = threadIdx.x; i < size; i += THREADS) {
            const T weight = weight_of(gamma, dy, z, n, first + i / z.positions);
            a += weight;
            ax = fma_(weight, standardised(x, z, group * size + i), ax);
        }
        a = block_sum(a);
        ax = block_sum(ax);
        if (threadIdx.x == 0) {
            mean_a[group] = a / (T)size;
            mean_ax[group] = ax / (T)size;
        }
    }
}

template <typename T>
static __global__ void scale_gradients(const T *dy, normal<T> x, sizes z, T *dgamma, T *dbeta) {
    for (int64_t co = blockIdx.x; co < z.co; co += gridDim.x) {
        T scale = 0, shift = 0;
        for (int64_t i = threadIdx.x; i < z.n * z.positions; i += THREADS) {
            const int64_t n = i / z.positions, p = i % z.positions;
            scale = fma_(dy[n], standardised(x, z, (n * z.co + co) * z.positions + p), scale);
        }
        for (int64_t n = threadIdx.x; n < z.n; n += THREADS)
            shift += dy[n];
        scale = block_sum(scale);
        shift = block_sum(shift);
        if (threadIdx.x == 0) {
            dgamma[co] = scale / (T)(z.co * z.positions);
            dbeta[co] = shift / (T)z.co;
        }
    }
}

/* dc in the place of c. */
template <typename T>
static __global__ void through_norm(const T *gamma, const T *dy, normal<T> x, const T *mean_a,
                                    const T *mean_ax, sizes z, T *c) {
    const int64_t count = z.n * z.co * z.positions;
    for (int64_t e = grid_thread(); e < count; e += grid_threads()) {
        const int64_t n = e / z.positions / z.co, co = e / z.positions % z.co;
        const int64_t group = e / (z.members * z.positions);
        const T a = weight_of(gamma, dy, z, n, co) - mean_a[group];
        c[e] = x.rstd[group] * fma_(-standardised(x, z, e), mean_ax[group], a);
    }
}

template <typename T> static __global__ void bias_gradient(const T *dc, sizes z, T *db) {
    for (int64_t co = blockIdx.x; co < z.co; co += gridDim.x) {
        T sum = 0;
        for (int64_t i = threadIdx.x; i < z.n * z.positions; i += THREADS)
            sum += dc[(i / z.positions * z.co + co) * z.positions + i % z.positions];
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            db[co] = sum;
    }
}

template <typename T>
static __global__ void weight_gradient(rows<const T> x, const T *dc, sizes z, rows<T> dw) {
    const volume cube = {z.k, z.k, z.k};
    for (int64_t e = blockIdx.x; e < z.co * z.ci * z.taps; e += gridDim.x) {
        const int64_t row = e / z.taps, ci = row % z.ci, co = row / z.ci;
        const volume tap = place_in(cube, e % z.taps);
        T sum = 0;
        for (int64_t i = threadIdx.x; i < z.n * z.positions; i += THREADS) {
            const int64_t n = i / z.positions, at = i % z.positions;
            const volume p = place_in(z.out, at);
            const T *from = x.data + (n * z.ci + ci) * x.stride;
            sum = fma_(dc[(n * z.co + co) * z.positions + at],
                       from[index_in(z.in, p.d + tap.d, p.h + tap.h, p.w + tap.w)], sum);
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            dw.data[row * dw.stride + e % z.taps] = sum;
    }
}

/* The first tap through which an output position of [0, outputs) reaches input place `i`, and the
 * end of those that do. */
struct reach {
    int64_t first, end;
};

static __device__ __forceinline__ reach reach_of(int64_t i, int64_t outputs, int64_t k) {
    return {i >= outputs ? i - outputs + 1 : 0, i + 1 < k ? i + 1 : k};
}

template <typename T>
static __global__ void input_gradient(rows<const T> w, const T *dc, sizes z, rows<T> dx) {
    const int64_t size = size_of(z.in);
    for (int64_t e = grid_thread(); e < z.n * z.ci * size; e += grid_threads()) {
        const int64_t row = e / size, n = row / z.ci, ci = row % z.ci;
        const volume at = place_in(z.in, e % size);
        const reach d = reach_of(at.d, z.out.d, z.k), h = reach_of(at.h, z.out.h, z.k),
                    v = reach_of(at.w, z.out.w, z.k);
        T sum = 0;
        for (int64_t co = 0; co < z.co; ++co) {
            const T *kernel = w.data + (co * z.ci + ci) * w.stride;
            const T *from = dc + (n * z.co + co) * z.positions;
            for (int64_t kd = d.first; kd < d.end; ++kd)
                for (int64_t kh = h.first; kh < h.end; ++kh)
                    for (int64_t kw = v.first; kw < v.end; ++kw)
                        sum = fma_(kernel[(kd * z.k + kh) * z.k + kw],
                                   from[index_in(z.out, at.d - kd, at.h - kh, at.w - kw)], sum);
        }
        dx.data[row * dx.stride + e % size] = sum;
    }
}

/* The workspace: c, then what there is of each sample's groups. */
template <typename T> struct memory { T *c, *mean, *rstd, *mean_a, *mean_ax; };

template <typename T> static memory<T> memory_of(const assay_call *call, const sizes &z) {
    T *const c = static_cast<T *>(call->workspace);
    T *const groups = c + z.n * z.co * z.positions;
    const int64_t each = z.n * z.groups;
    return {c, groups, groups + each, groups + 2 * each, groups + 3 * each};
}

static size_t workspace(assay_stage, const assay_call *call) {
    const sizes z = sizes_of(call);
    return (size_t)(z.n * z.co * z.positions + 4 * z.n * z.groups) *
           assay_dtype_size(call->params->dtype);
}

/* Launches `kernel`, a block for each of `items`, or a thread for each. */
#define A_BLOCK_EACH(items, kernel, ...)                                                           \
    ASSAY_LAUNCH(call->stream, linear_grid(items, 1), dim3(THREADS), 0, kernel, __VA_ARGS__)
#define A_THREAD_EACH(items, kernel, ...)                                                          \
    ASSAY_LAUNCH(call->stream, linear_grid(items, THREADS), dim3(THREADS), 0, kernel, __VA_ARGS__)

template <typename T>
static assay_status convolve_and_normalise(const assay_call *call, const sizes &z,
                                           const inputs<T> &in, const memory<T> &m) {
    const assay_status status = A_THREAD_EACH(z.n * z.co * z.positions, (convolve<T>), in, z, m.c);
    if (status != ASSAY_OK)
        return status;
    return A_BLOCK_EACH(z.n * z.groups, (normalisers<T>), m.c, z, m.mean, m.rstd);
}

template <typename T> static assay_status run_forward(const assay_call *call) {
    const sizes z = sizes_of(call);
    const inputs<T> in = inputs_of<T>(call);
    const memory<T> m = memory_of<T>(call, z);
    const assay_status status = convolve_and_normalise(call, z, in, m);
    if (status != ASSAY_OK)
        return status;
    const normal<T> x = {m.c, m.mean, m.rstd};
    return A_BLOCK_EACH(z.n, (average<T>), in, x, z, y_of<T>(call));
}

template <typename T> static assay_status run_backward(const assay_call *call) {
    const sizes z = sizes_of(call);
    const inputs<T> in = inputs_of<T>(call);
    const gradients<T> out = gradients_of<T>(call);
    const T *const dy = dy_of<T>(call);
    const memory<T> m = memory_of<T>(call, z);
    const normal<T> x = {m.c, m.mean, m.rstd};
    const int64_t elements = z.n * z.co * z.positions;
    assay_status status = convolve_and_normalise(call, z, in, m);
    if (status != ASSAY_OK)
        return status;
    status =
        A_BLOCK_EACH(z.n * z.groups, (projections<T>), in.gamma, dy, x, z, m.mean_a, m.mean_ax);
    if (status != ASSAY_OK)
        return status;
    status = A_BLOCK_EACH(z.co, (scale_gradients<T>), dy, x, z, out.dgamma, out.dbeta);
    if (status != ASSAY_OK)
        return status;
    status =
        A_THREAD_EACH(elements, (through_norm<T>), in.gamma, dy, x, m.mean_a, m.mean_ax, z, m.c);
    if (status != ASSAY_OK)
        return status;
    status = A_BLOCK_EACH(z.co, (bias_gradient<T>), m.c, z, out.db);
    if (status != ASSAY_OK)
        return status;
    status = A_BLOCK_EACH(z.co * z.ci * z.taps, (weight_gradient<T>), in.x, m.c, z, out.dw);
    if (status != ASSAY_OK)
        return status;
    return A_THREAD_EACH(z.n * z.ci * size_of(z.in), (input_gradient<T>), in.w, m.c, z, out.dx);
}

static assay_status forward(const assay_call *call) {
    return CONV_DISPATCH(run_forward, call);
}

static assay_status backward(const assay_call *call) {
    return CONV_DISPATCH(run_backward, call);
}

ASSAY_VARIANT(conv3d_groupnorm_mean, v1) = {
    .op = "conv3d_groupnorm_mean",
    .name = "v1",
    .device = ASSAY_DEVICE_NAME,
    .summary = "naive: a kernel a step, the convolution's output in global memory",
    .supports = NULL,
    .workspace = workspace,
    .forward = forward,
    .backward = backward,
};
