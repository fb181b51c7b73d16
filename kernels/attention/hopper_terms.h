/* What backward of attention v3_hopper needs of each query, lse and Δ, made ready for copies by
 * TMA; and the counts of its chains begin at 0. */
#ifndef ASSAY_ATTENTION_HOPPER_TERMS_H
#define ASSAY_ATTENTION_HOPPER_TERMS_H

#include "kernels/attention/v3_plan.h"

enum {
    TERMS_THREADS = 256,
    TERMS_LANES = 8, /* for a query */
    TERMS_QUERIES = TERMS_THREADS / TERMS_LANES,
};

template <typename T> struct terms_problem {
    sizes n;
    int64_t padded; /* terms of a head: those of whole tiles of queries */
    sequence<const T> o, dout;
    rows<const float> lse;
    float2 *terms;
    unsigned *counts;
    int64_t n_counts;
};

template <typename T> struct alignas(PACK_BYTES) elements { T v[pack<T>]; };

/* Those of x's row from `column` on; 0 beyond the last. */
template <typename T>
static __device__ __forceinline__ elements<T> elements_at(const sequence<const T> &x, int64_t row,
                                                          int column) {
    const T *const from = x.data + row * x.stride + column;
    if (x.packs && column + pack<T> <= x.d)
        return load_whole(reinterpret_cast<const elements<T> *>(from));
    elements<T> e;
    UNROLL
    for (int i = 0; i < pack<T>; ++i)
        e.v[i] = column + i < x.d ? from[i] : narrow<T>(0);
    return e;
}

/* Eight lanes a query. For lse = -Inf, as for queries beyond the last, stands +Inf: P becomes 0. */
template <typename T>
static __global__ void __launch_bounds__(TERMS_THREADS)
    make_hopper_terms(const terms_problem<T> p) {
    for (int64_t i = grid_thread(); i < p.n_counts; i += grid_threads())
        p.counts[i] = 0;
    const int64_t all = p.n.heads * p.padded;
    for (int64_t i = grid_thread() / TERMS_LANES; i < all; i += grid_threads() / TERMS_LANES) {
        const int64_t head = i / p.padded, query = i % p.padded;
        float lse = NO_SCORE, delta = 0;
        if (query < p.n.sq) {
            lse = row(p.lse, head)[query];
            for (int c = lane() % TERMS_LANES * pack<T>; c < p.o.d; c += TERMS_LANES * pack<T>) {
                const elements<T> o = elements_at(p.o, head * p.n.sq + query, c);
                const elements<T> dout = elements_at(p.dout, head * p.n.sq + query, c);
                UNROLL
                for (int e = 0; e < pack<T>; ++e)
                    delta = fma_(widen(dout.v[e]), widen(o.v[e]), delta);
            }
        }
        delta = sum_over<TERMS_LANES>(delta);
        if (lane() % TERMS_LANES == 0)
            p.terms[i] = {lse == NO_SCORE ? -NO_SCORE : lse, delta};
    }
}

#endif
