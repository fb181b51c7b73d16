/*
 * The kernels of attention's device oracle: what lies between its matrix products. A chunk is some
 * consecutive queries of one head; its matrices have sk columns. Everything is fp64, row-major,
 * packed.
 */
#ifndef ASSAY_ORACLES_ATTENTION_DEVICE_H
#define ASSAY_ORACLES_ATTENTION_DEVICE_H

#include "device/grid.h"
#include "oracles/attention/definition.h"

namespace attention {

enum { THREADS = 64 };

/* A product with what its bound is made of: value, sum of absolute terms, sum of squares. */
struct panel {
    double *value, *sum, *square;
};

/* |x| and x² of an operand, or limits and squared spreads of errors. */
struct magnitudes {
    double *sum, *square;
};

/* Of a chunk: the first query, and how many. */
struct span {
    int64_t first, rows;
};

/* ---- sums over a block ---- */

/* Every thread gets the sum, made in one order. */
static __device__ inline double sum_block(double mine) {
    __shared__ double part[THREADS];
    part[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads();
    const double sum = part[0];
    __syncthreads();
    return sum;
}

/* What a row's threads have added up each for itself. */
static __device__ inline attention_row sum_block(attention_row mine) {
    mine.sum_error = sum_block(mine.sum_error);
    mine.random = sum_block(mine.random);
    mine.random_squared = sum_block(mine.random_squared);
    mine.argument = sum_block(mine.argument);
    mine.second = sum_block(mine.second);
    mine.squared = sum_block(mine.squared);
    for (int32_t i = 0; i < mine.drift.grids; ++i)
        mine.drift.off[i] = sum_block(mine.drift.off[i]);
    return mine;
}

static __device__ inline attention_delta sum_block(attention_delta mine) {
    mine.value = sum_block(mine.value);
    mine.sum = sum_block(mine.sum);
    mine.squared = sum_block(mine.squared);
    mine.stored = sum_block(mine.stored);
    mine.stored_squared = sum_block(mine.stored_squared);
    mine.computed = sum_block(mine.computed);
    mine.computed_squared = sum_block(mine.computed_squared);
    return mine;
}

static __device__ inline double max_block(double mine) {
    __shared__ double part[THREADS];
    part[threadIdx.x] = mine;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half)
            part[threadIdx.x] = fmax(part[threadIdx.x], part[threadIdx.x + half]);
    }
    __syncthreads();
    const double most = part[0];
    __syncthreads();
    return most;
}

/* ---- operands ---- */

static __global__ void fill(double *x, int64_t count, double value) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads())
        x[e] = value;
}

/* |x - c| and its square, c a row of that many columns; NULL: 0. */
static __global__ void measure(const double *x, const double *c, int64_t columns, int64_t count,
                               magnitudes to) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads()) {
        const double distance = attention_distance(x[e], c ? c[e % columns] : 0);
        to.sum[e] = distance;
        to.square[e] = attention_square(distance);
    }
}

static __global__ void keep_finite(const double *x, double *to, int64_t count) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads())
        to[e] = attention_finite_or_zero(x[e]);
}

/* One block for each column of v: its mean, and the largest distance from it. */
static __global__ void find_centre(const double *v, int64_t rows, int64_t columns, double *centre,
                                   double *farthest) {
    const int64_t e = blockIdx.x;
    double sum = 0, most = 0;
    for (int64_t j = threadIdx.x; j < rows; j += THREADS)
        sum += v[j * columns + e] / (double)rows;
    sum = sum_block(sum);
    const double mean = attention_finite_or_zero(sum);
    for (int64_t j = threadIdx.x; j < rows; j += THREADS)
        most = fmax(most, attention_distance(v[j * columns + e], mean));
    most = max_block(most);
    if (threadIdx.x == 0) {
        centre[e] = mean;
        farthest[e] = most;
    }
}

/* ---- forward: a block for each query of the chunk ---- */

static __device__ inline panel row_of(panel p, int64_t row, int64_t length) {
    return panel{p.value + row * length, p.sum + row * length, p.square + row * length};
}

static __device__ inline magnitudes row_of(magnitudes m, int64_t row, int64_t length) {
    return magnitudes{m.sum + row * length, m.square + row * length};
}

static __device__ inline attention_error product_error(const attention_rule &rule,
                                                       attention_error of_d, panel p, int64_t j) {
    return attention_product_error(&rule, of_d, p.value[j], p.sum[j], p.square[j]);
}

/* Leaves scores and the limits and spreads of r where q·k was. */
static __global__ void score(attention_sizes s, attention_rule rule, span chunk, panel scores) {
    const panel row = row_of(scores, blockIdx.x, s.sk);
    const int64_t n = attention_visible(&s, chunk.first + blockIdx.x);
    const attention_error of_d = attention_products(&rule, (double)s.d);
    for (int64_t j = threadIdx.x; j < n; j += THREADS) {
        const attention_error product = product_error(rule, of_d, row, j);
        const double score = row.value[j] * s.scale;
        const attention_error r = attention_score_error(&rule, product, s.scale, score);
        row.value[j] = score;
        row.sum[j] = r.limit;
        row.square[j] = r.spread;
    }
}

/* lse of each row, and P; a NaN among the scores is lost in the maximum, but not in the sum. */
static __global__ void softmax(attention_sizes s, span chunk, const double *scores, double *p,
                               double *lse, double *maximum) {
    const double *score = scores + blockIdx.x * s.sk;
    const int64_t n = attention_visible(&s, chunk.first + blockIdx.x);
    double m = -(double)INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += THREADS)
        m = fmax(m, score[j]);
    m = max_block(m);
    for (int64_t j = threadIdx.x; j < n; j += THREADS)
        sum += score[j] == -(double)INFINITY ? 0 : exp(score[j] - m);
    sum = sum_block(sum);
    const double all = n > 0 ? m + log(sum) : -(double)INFINITY;
    for (int64_t j = threadIdx.x; j < s.sk; j += THREADS)
        p[blockIdx.x * s.sk + j] = j < n && all != -(double)INFINITY ? exp(score[j] - all) : 0;
    if (threadIdx.x == 0) {
        lse[blockIdx.x] = all;
        maximum[blockIdx.x] = m;
    }
}

/* What score() left says of a row's weights. */
static __device__ inline attention_reach reach_of(const attention_rule &rule, int64_t n,
                                                  panel row) {
    attention_reach reach = attention_reach_begin();
    for (int64_t j = threadIdx.x; j < n; j += THREADS)
        attention_reach_widen(&reach, row.value[j], row.sum[j]);
    reach.least = max_block(reach.least);
    reach.most = max_block(reach.most);
    double sum = 0;
    for (int64_t j = threadIdx.x; j < n; j += THREADS)
        sum += attention_heaviest(&rule, &reach, row.value[j], row.sum[j]);
    reach.excess = sum_block(sum) - 1;
    return reach;
}

/* Leaves the state of each row, and of o's terms the limits and squared spreads. */
static __global__ void weigh(attention_sizes s, attention_rule rule, span chunk, panel scores,
                             const double *lse, const double *maximum, magnitudes terms,
                             attention_state *states, double *lse_bound) {
    const panel e = row_of(scores, blockIdx.x, s.sk);
    const magnitudes term = row_of(terms, blockIdx.x, s.sk);
    const double own = lse[blockIdx.x];
    const int64_t n = own == -(double)INFINITY || own == (double)INFINITY
                          ? 0
                          : attention_visible(&s, chunk.first + blockIdx.x);
    attention_row row =
        attention_row_begin(&rule, n, maximum[blockIdx.x], own, reach_of(rule, n, e));
    const attention_error rescaling = attention_rescaling(&rule, row.n);
    attention_row mine = row;
    for (int64_t j = threadIdx.x; j < row.n; j += THREADS)
        attention_row_add(&mine, e.value[j], attention_error{e.sum[j], e.square[j]},
                          attention_argument_error(&rule, e.value[j], row.m, rescaling));
    row = sum_block(mine);
    const attention_state state = attention_row_state(&rule, &row);
    for (int64_t j = threadIdx.x; j < s.sk; j += THREADS) {
        attention_error of_term = {0, 0};
        if (j < row.n) {
            const attention_error t = attention_argument_error(&rule, e.value[j], row.m, rescaling);
            of_term =
                attention_term_error(&rule, &row, &state, e.value[j],
                                     attention_error{e.sum[j] + t.limit, e.square[j] + t.spread});
        }
        term.sum[j] = of_term.limit;
        term.square[j] = attention_square(of_term.spread);
    }
    if (threadIdx.x == 0) {
        states[blockIdx.x] = state;
        lse_bound[blockIdx.x] = state.lse_bound;
    }
}

static __global__ void bound_o(attention_rule rule, int64_t d, int64_t count,
                               const attention_state *states, const double *o, const double *centre,
                               const double *farthest, magnitudes errors, double *bound) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads())
        bound[e] = attention_o_bound(&rule, &states[e / d], o[e], centre[e % d], farthest[e % d],
                                     errors.sum[e], errors.square[e]);
}

/* ---- backward ---- */

/* Of a chunk. */
struct backward_rows {
    const double *o, *o_bound, *grad_o;
    const double *lse, *lse_bound;
    double *delta_error, *row_error;
};

/*
 * From scores (value, and r) and dP: P and dS, and the limits and squared spreads of their errors:
 * of dS for dq where r was, of dS for dk where dP's magnitudes were, of P in `of_p`.
 */
static __global__ void differentiate(attention_sizes s, attention_rule rule, span chunk,
                                     backward_rows rows, panel scores, panel grad_p,
                                     magnitudes of_p) {
    const panel e = row_of(scores, blockIdx.x, s.sk), dp = row_of(grad_p, blockIdx.x, s.sk);
    const magnitudes p = row_of(of_p, blockIdx.x, s.sk);
    const double lse = rows.lse[blockIdx.x], lse_bound = rows.lse_bound[blockIdx.x];
    const int64_t n = lse == -(double)INFINITY || lse == (double)INFINITY
                          ? 0
                          : attention_visible(&s, chunk.first + blockIdx.x);
    attention_delta delta = {};
    for (int64_t l = threadIdx.x; l < s.d; l += THREADS) {
        const int64_t at = blockIdx.x * s.d + l;
        attention_delta_add(&rule, &delta, rows.grad_o[at], rows.o[at], rows.o_bound[at]);
    }
    delta = sum_block(delta);
    const attention_error of_d = attention_products(&rule, (double)s.d);
    attention_pair pair = {};
    pair.delta = delta.value;
    pair.delta_error = attention_delta_error(&rule, &delta, (double)s.d);
    pair.along_keys = attention_products(&rule, (double)n);
    pair.sqrt_d = 1 / s.scale;
    const attention_reach reach = reach_of(rule, n, e);
    for (int64_t j = threadIdx.x; j < s.sk; j += THREADS) {
        attention_terms limit = {}, spread = {};
        double p_value = 0, ds = 0;
        if (j < n) {
            p_value = exp(e.value[j] - lse);
            pair.p = p_value;
            pair.p_error =
                attention_p_error(&rule, &reach, (double)n, attention_error{e.sum[j], e.square[j]},
                                  e.value[j], lse, lse_bound);
            pair.dp = dp.value[j];
            pair.dp_error = product_error(rule, of_d, dp, j);
            pair.along_queries = attention_products(&rule, (double)attention_watchers(&s, j));
            limit = attention_pair_limit(&rule, &pair);
            spread = attention_pair_spread(&rule, &pair);
            ds = p_value * (pair.dp - pair.delta) * s.scale;
        }
        e.value[j] = p_value;
        e.sum[j] = limit.ds_k;
        e.square[j] = attention_square(spread.ds_k);
        dp.value[j] = ds;
        dp.sum[j] = limit.ds_q;
        dp.square[j] = attention_square(spread.ds_q);
        p.sum[j] = limit.p;
        p.square[j] = attention_square(spread.p);
    }
    if (threadIdx.x == 0) {
        rows.delta_error[blockIdx.x] = pair.delta_error;
        rows.row_error[blockIdx.x] =
            attention_shared_error(&rule, &reach, (double)n, lse, lse_bound);
    }
}

static __global__ void bound_dq(attention_sizes s, attention_rule rule, int64_t count, panel errors,
                                const double *delta_error, const double *row_error,
                                const double *grad, double *bound) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads())
        bound[e] = attention_dq_bound(&rule, s.scale, errors.sum[e], errors.square[e],
                                      delta_error[e / s.d] * fabs(errors.value[e]),
                                      row_error[e / s.d], grad[e]);
}

/* dk or dv. */
static __global__ void bound_sums(attention_rule rule, int64_t count, double scale,
                                  magnitudes errors, const double *grad, double *bound) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads()) {
        const double walk = attention_walk(rule.zero_mean, errors.sum[e], errors.square[e]);
        bound[e] = attention_gradient_bound(&rule, scale * walk, grad[e]);
    }
}

/* ---- data that are not finite ---- */

/*
 * A matrix product multiplies also pairs that do not see each other, 0·Inf, or leaves out a factor
 * of 0. Where an input is not finite, these kernels put sums over visible pairs in its place;
 * otherwise they return at once.
 */
static __global__ void look_for_infinities(const double *x, int64_t count, int *found) {
    for (int64_t e = grid_thread(); e < count; e += grid_threads())
        if (!attention_is_finite(x[e]))
            atomicOr(found, 1);
}

static __global__ void clear_flag(int *found) {
    *found = 0;
}

/* result_ie = Σ_j weight_ij x_je over the keys j that query i sees. */
static __global__ void sum_keys(const int *found, attention_sizes s, span chunk,
                                const double *weight, const double *x, double *result) {
    if (!*found)
        return;
    for (int64_t e = grid_thread(); e < chunk.rows * s.d; e += grid_threads()) {
        const int64_t i = e / s.d;
        const int64_t n = attention_visible(&s, chunk.first + i);
        double sum = 0;
        for (int64_t j = 0; j < n; ++j)
            sum += weight[i * s.sk + j] * x[j * s.d + e % s.d];
        result[e] = sum;
    }
}

/* Adds Σ_i weight_ij x_ie over the chunk's queries i that see key j. */
static __global__ void sum_queries(const int *found, attention_sizes s, span chunk,
                                   const double *weight, const double *x, double *result) {
    if (!*found)
        return;
    for (int64_t e = grid_thread(); e < s.sk * s.d; e += grid_threads()) {
        const int64_t j = e / s.d;
        for (int64_t i = 0; i < chunk.rows; ++i)
            if (j < attention_visible(&s, chunk.first + i))
                result[e] += weight[i * s.sk + j] * x[i * s.d + e % s.d];
    }
}

static __global__ void replace(const int *found, const double *from, double *to, int64_t count) {
    if (!*found)
        return;
    for (int64_t e = grid_thread(); e < count; e += grid_threads())
        to[e] = from[e];
}

} // namespace attention

#endif
