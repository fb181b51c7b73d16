#include "sim/exec/blas/product.h"

#include "device/blas.h"

#include <math.h>
#include <string.h>

extern "C" {
#include "sim/exec/memory.h"
#include "sim/exec/overlap.h"
#include "sim/exec/report.h"
}

int64_t blas_bytes(int type) {
    switch (type) {
    case TYPE_64F:
        return 8;
    case TYPE_32F:
        return 4;
    case TYPE_16F:
    case TYPE_16BF:
        return 2;
    default:
        return 0;
    }
}

double blas_load(const void *array, int type, int64_t i) {
    switch (type) {
    case TYPE_64F:
        return static_cast<const double *>(array)[i];
    case TYPE_16F:
        return __half2float(static_cast<const __half *>(array)[i]);
    case TYPE_16BF:
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(array)[i]);
    default:
        return static_cast<const float *>(array)[i];
    }
}

void blas_store(void *array, int type, int64_t i, double value) {
    switch (type) {
    case TYPE_64F:
        static_cast<double *>(array)[i] = value;
        break;
    case TYPE_16F:
        static_cast<__half *>(array)[i] = __float2half_rn((float)value);
        break;
    case TYPE_16BF:
        static_cast<__nv_bfloat16 *>(array)[i] = __float2bfloat16_rn((float)value);
        break;
    default:
        static_cast<float *>(array)[i] = (float)value;
    }
}

exec_blas blas_absent(const char *name) {
    exec_call_begin(name);
    exec_problem(EXEC_PROBLEM_NOT_SIMULATED, "%s is not simulated", name);
    exec_call_leave(EXEC_NOT_SUPPORTED);
    return BLAS_NOT_SUPPORTED;
}

/* ---- computing ---- */

namespace {

struct product_work {
    exec_work work;
    product p;
    double alpha, beta; /* where they were on the host */
};

struct epilogue_of {
    const product &p;
    int64_t batch;

    double gelu(double x) const {
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    }

    /* Row i, column j of the result before the epilogue; a bias has an element for each row. */
    double operator()(int64_t i, int64_t j, double x) const {
        const epilogue &e = p.then;
        if ((e.what & EPILOGUE_BIAS) != 0)
            x += blas_load(e.bias, e.bias_type, i);
        if ((e.what & EPILOGUE_AUX) != 0 && e.aux != nullptr)
            blas_store(e.aux, e.aux_type, i + j * e.aux_ld, x);
        if ((e.what & EPILOGUE_RELU) != 0)
            x = x > 0 ? x : 0;
        return (e.what & EPILOGUE_GELU) != 0 ? gelu(x) : x;
    }
};

char *at(const matrix &x, int64_t batch) {
    return static_cast<char *>(const_cast<void *>(x.data)) + batch * x.stride * blas_bytes(x.type);
}

void copy_columns(const product &p, int64_t batch) {
    for (int64_t j = 0; j < p.n; ++j)
        for (int64_t i = 0; i < p.m; ++i)
            blas_store(at(p.d, batch), p.d.type, i + j * p.d.ld,
                       blas_load(at(p.c, batch), p.c.type, i + j * p.c.ld));
}

/* The type that sums have in the stand-in of kernels. */
cublasComputeType_t compute_of(const product &p) {
    if (p.a.type == TYPE_64F)
        return CUBLAS_COMPUTE_64F;
    return p.compute == COMPUTE_32F_TF32 && p.a.type == TYPE_32F ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                 : CUBLAS_COMPUTE_32F;
}

cublasStatus_t multiply(const product &p, int64_t batch, double alpha, double beta) {
    const float narrow[2] = {(float)alpha, (float)beta};
    const double wide[2] = {alpha, beta};
    const bool is_wide = p.a.type == TYPE_64F;
    cublasHandle_t handle;
    if (assay_blas_handle(nullptr, &handle) != ASSAY_OK)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return sim_blas::cublasGemmEx_64(
        handle, (cublasOperation_t)p.op_a, (cublasOperation_t)p.op_b, p.m, p.n, p.k,
        is_wide ? (const void *)&wide[0] : &narrow[0], at(p.a, batch), (cudaDataType)p.a.type,
        p.a.ld, at(p.b, batch), (cudaDataType)p.b.type, p.b.ld,
        is_wide ? (const void *)&wide[1] : &narrow[1], at(p.d, batch), (cudaDataType)p.d.type,
        p.d.ld, compute_of(p), CUBLAS_GEMM_DEFAULT);
}

void touch(const matrix &x, int64_t rows, int64_t columns, int64_t batch, bool writes) {
    const auto bytes = (size_t)(rows * blas_bytes(x.type));
    for (int64_t j = 0; j < columns; ++j)
        exec_overlap_touch(at(x, batch) + j * x.ld * blas_bytes(x.type), bytes, writes);
}

/* For what other streams and the host do beside it. */
void tell_accesses(const product &p) {
    const bool ta = p.op_a != 0, tb = p.op_b != 0;
    exec_overlap_by("a product of cuBLAS", "");
    for (int64_t batch = 0; batch < p.batch; ++batch) {
        if (p.k > 0) {
            touch(p.a, ta ? p.k : p.m, ta ? p.m : p.k, batch, false);
            touch(p.b, tb ? p.n : p.k, tb ? p.k : p.n, batch, false);
        }
        if (p.c.data != p.d.data)
            touch(p.c, p.m, p.n, batch, false);
        touch(p.d, p.m, p.n, batch, true);
    }
}

void run(exec_work *work) {
    const product_work &w = *reinterpret_cast<const product_work *>(work);
    const product &p = w.p;
    tell_accesses(p);
    const double alpha = p.scalars_on_device ? blas_load(p.alpha, p.scale, 0) : w.alpha;
    const double beta = p.scalars_on_device ? blas_load(p.beta, p.scale, 0) : w.beta;
    for (int64_t batch = 0; batch < p.batch; ++batch) {
        if (p.c.data != p.d.data && beta != 0)
            copy_columns(p, batch);
        if (multiply(p, batch, alpha, beta) != CUBLAS_STATUS_SUCCESS) {
            exec_problem(EXEC_PROBLEM_KERNEL, "a matrix product of cuBLAS ran out of memory");
            exec_device_lost(EXEC_LAUNCH_FAILURE);
            return;
        }
        const epilogue_of then = {p, batch};
        for (int64_t j = 0; p.then.what != 0 && j < p.n; ++j)
            for (int64_t i = 0; i < p.m; ++i)
                blas_store(at(p.d, batch), p.d.type, i + j * p.d.ld,
                           then(i, j, blas_load(at(p.d, batch), p.d.type, i + j * p.d.ld)));
    }
}

/* ---- what cuBLAS refuses, and what it would not notice ---- */

bool is_op(int op) {
    return op >= 0 && op <= 2;
}

bool types_fit(const product &p) {
    const int a = p.a.type, c = p.c.type;
    if (a != p.b.type || c != p.d.type || blas_bytes(a) == 0)
        return false;
    if ((p.compute == COMPUTE_64F || p.compute == COMPUTE_64F + 1) != (a == TYPE_64F))
        return false;
    return c == a || (c == TYPE_32F && a != TYPE_64F);
}

bool in_memory(const char *call, const matrix &x, int64_t rows, int64_t columns, int64_t batch,
               bool writes) {
    char why[EXEC_MEMORY_LINE];
    const int64_t elements = (batch - 1) * x.stride + (columns - 1) * x.ld + rows;
    if (x.stride < 0 ||
        exec_memory_check(x.data, (size_t)(elements * blas_bytes(x.type)), writes, why))
        return true;
    exec_problem(EXEC_PROBLEM_COPY, "%s %s", call, why);
    return false;
}

exec_blas check(const char *call, const product &p) {
    const bool ta = p.op_a != 0, tb = p.op_b != 0;
    if (!is_op(p.op_a) || !is_op(p.op_b) || p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0 ||
        p.alpha == nullptr || p.beta == nullptr)
        return BLAS_INVALID_VALUE;
    const int64_t rows_a = ta ? p.k : p.m, rows_b = tb ? p.n : p.k;
    if (p.a.ld < (rows_a > 1 ? rows_a : 1) || p.b.ld < (rows_b > 1 ? rows_b : 1) ||
        p.d.ld < (p.m > 1 ? p.m : 1))
        return BLAS_INVALID_VALUE;
    if (!types_fit(p))
        return BLAS_NOT_SUPPORTED;
    if (p.m == 0 || p.n == 0 || p.batch == 0)
        return BLAS_SUCCESS;
    const bool there =
        (p.k == 0 || (in_memory(call, p.a, rows_a, ta ? p.m : p.k, p.batch, false) &&
                      in_memory(call, p.b, rows_b, tb ? p.k : p.n, p.batch, false))) &&
        in_memory(call, p.d, p.m, p.n, p.batch, true);
    return there ? BLAS_SUCCESS : BLAS_EXECUTION_FAILED;
}

exec_blas submit(const char *call, const product &p, void *stream) {
    exec_stream *s;
    const exec_blas status = check(call, p);
    if (status != BLAS_SUCCESS || p.m == 0 || p.n == 0 || p.batch == 0)
        return status;
    if (exec_stream_of(stream, &s) != EXEC_SUCCESS)
        return BLAS_INVALID_VALUE;
    auto *w =
        static_cast<product_work *>(exec_work_new(EXEC_WORK_KERNEL, sizeof(product_work), run));
    if (w == nullptr)
        return BLAS_ALLOC_FAILED;
    w->p = p;
    if (!p.scalars_on_device) {
        w->alpha = blas_load(p.alpha, p.scale, 0);
        w->beta = blas_load(p.beta, p.scale, 0);
    }
    return exec_work_submit(&w->work, s) == EXEC_SUCCESS ? BLAS_SUCCESS : BLAS_EXECUTION_FAILED;
}

} // namespace

exec_blas product_submit(const char *call, const product &p, void *stream) {
    exec_blas status = BLAS_EXECUTION_FAILED;
    if (exec_call_begin(call) == EXEC_SUCCESS)
        status = submit(call, p, stream);
    exec_call_leave(EXEC_SUCCESS);
    return status;
}
