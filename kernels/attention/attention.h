/*
 * Shared by the versions of attention: a call as rows, and which keys a query sees.
 *
 *     forward   S = q kᵀ / √d,  lse_i = log Σ_j exp S_ij,  P = exp(S - lse),  o = P v
 *     backward  Δ_i = Σ_c do_ic o_ic,  dS = P ⊙ (do vᵀ - Δ)
 *               dv = Pᵀ do,  dq = dS k / √d,  dk = dSᵀ q / √d
 *
 * for each batch and head, "head" in what follows. P and dS are 0 where a query does not see a key.
 * A query that sees none, or -Inf scores only, has lse = -Inf and P = 0.
 */
#ifndef ASSAY_ATTENTION_ATTENTION_H
#define ASSAY_ATTENTION_ATTENTION_H

#include "device/grid.h"
#include "kernels/common/exp.h"
#include "kernels/common/numeric.h"

static constexpr float NO_SCORE = -__builtin_inff(); /* of an invisible key; lse of an empty row */

/* Equal for all heads. */
struct sizes {
    int64_t heads, sq, sk, d; /* heads: batch times heads */
    bool causal;
    float scale; /* 1 / √d */
};

/* Query i sees the keys before this one: all, or as many that the last query sees the last key. */
static __host__ __device__ __forceinline__ int64_t visible_keys(const sizes &n, int64_t i) {
    return n.causal ? clamp(i + 1 + n.sk - n.sq, 0, n.sk) : n.sk;
}

/* The first query that sees key j; sq where none does. */
static __host__ __device__ __forceinline__ int64_t first_query(const sizes &n, int64_t j) {
    return n.causal ? clamp(j + n.sq - n.sk, 0, n.sq) : 0;
}

/* What is subtracted from a row's scores before exp: their maximum; 0 where that is -Inf, so that
 * exp is 0 and not of NaN. */
static __device__ __forceinline__ float exp_base(float maximum) {
    return maximum == NO_SCORE ? 0.0f : maximum;
}

/* The tensors of one call by name; those of the other stage are NULL. o and lse are outputs of
 * forward and inputs of backward. */
struct tensors {
    const assay_tensor *q, *k, *v, *o, *lse, *dout, *dq, *dk, *dv;
};

static inline tensors tensors_of(const assay_call *call, assay_stage stage) {
    tensors t = {};
    t.q = &call->in[0];
    t.k = &call->in[1];
    t.v = &call->in[2];
    const assay_tensor *results = stage == ASSAY_FORWARD ? &call->out[0] : &call->in[3];
    t.o = &results[0];
    t.lse = &results[1];
    if (stage == ASSAY_BACKWARD) {
        t.dout = &call->in[5];
        t.dq = &call->out[0];
        t.dk = &call->out[1];
        t.dv = &call->out[2];
    }
    return t;
}

static inline sizes sizes_of(const assay_params *params) {
    sizes n = {};
    n.heads = assay_params_int(params, "b") * assay_params_int(params, "h");
    n.sq = assay_params_int(params, "sq");
    n.sk = assay_params_int(params, "sk");
    n.d = assay_params_int(params, "d");
    n.causal = assay_params_int(params, "causal") != 0;
    n.scale = 1.0f / sqrtf((float)n.d);
    return n;
}

/* Equally spaced rows: of d elements in q, k, v, o and their gradients, one for each query or key;
 * of sq elements in lse, one for each head. */
template <typename T> struct rows {
    T *data;
    int64_t stride;
};

template <typename T> static inline rows<T> rows_of(const assay_tensor *t) {
    return {static_cast<T *>(t->data), assay_tensor_row_stride(t)};
}

/* Row r; as rows, everything from row r on. */
template <typename T>
static __host__ __device__ __forceinline__ T *row(const rows<T> &x, int64_t r) {
    return x.data + r * x.stride;
}
template <typename T> static inline rows<T> rows_from(const rows<T> &x, int64_t r) {
    return {row(x, r), x.stride};
}

/* Calls `function<T>(call)` with the storage type of the call. */
#define ATTENTION_DISPATCH(function, call)                                                         \
    ((call)->params->dtype == ASSAY_BF16  ? function<__nv_bfloat16>(call)                          \
     : (call)->params->dtype == ASSAY_F16 ? function<__half>(call)                                 \
                                          : function<float>(call))

#endif
