/* The bounds of attention, as attention_math.h derives them, in chunks of queries. */
#include "oracles/common/bound.h"
#include "oracles/attention/attention.h"
#include "oracles/common/blas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scratch: arrays that are freed together ---- */

enum { MOST_ARRAYS = 26 };

typedef struct scratch {
    double *array[MOST_ARRAYS];
    int32_t count;
    bool failed;
} scratch;

/* Zeroed. */
static double *take(scratch *s, int64_t elements) {
    double *array = calloc((size_t)(elements > 0 ? elements : 1), sizeof *array);
    s->failed = s->failed || !array;
    return s->array[s->count++] = array;
}

static void release(scratch *s) {
    for (int32_t i = 0; i < s->count; ++i)
        free(s->array[i]);
}

static assay_status status_of(const scratch *s) {
    return s->failed ? assay_fail(ASSAY_ERR_MEMORY, "out of memory for the bounds of attention")
                     : ASSAY_OK;
}

/* ---- what both stages need ---- */

/* |x - c| and its square, with c a row that repeats; no c: 0. */
typedef struct magnitudes {
    double *sum, *square;
} magnitudes;

static magnitudes take_magnitudes(scratch *s, int64_t elements) {
    return (magnitudes){take(s, elements), take(s, elements)};
}

static void measure(const double *x, const double *c, int64_t rows, int64_t columns,
                    magnitudes to) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t e = 0; e < columns; ++e) {
            const double distance = attention_distance(x[i * columns + e], c ? c[e] : 0);
            to.sum[i * columns + e] = distance;
            to.square[i * columns + e] = attention_square(distance);
        }
}

/* A product of two operands with what its bound is made of, `rows` by sk. */
typedef struct panel {
    double *value, *sum, *square;
} panel;

static panel take_panel(scratch *s, int64_t elements) {
    return (panel){take(s, elements), take(s, elements), take(s, elements)};
}

static void multiply(const attention_sizes *s, int64_t rows, const double *a, const double *b,
                     magnitudes of_a, magnitudes of_b, panel to) {
    blas_gemm(false, true, rows, s->sk, s->d, a, s->d, b, s->d, 0.0, to.value, s->sk);
    blas_gemm(false, true, rows, s->sk, s->d, of_a.sum, s->d, of_b.sum, s->d, 0.0, to.sum, s->sk);
    blas_gemm(false, true, rows, s->sk, s->d, of_a.square, s->d, of_b.square, s->d, 0.0, to.square,
              s->sk);
}

/* The error of element j of a row that multiply() left. */
static attention_error error_at(const attention_rule *rule, attention_error of_d, const panel *p,
                                int64_t j) {
    return attention_product_error(rule, of_d, p->value[j], p->sum[j], p->square[j]);
}

/* Replaces a row of q·k by the scores, their sums and squares by the limits and spreads of r. */
static void score_row(const attention_sizes *s, const attention_rule *rule, int64_t n, panel row) {
    const attention_error of_d = attention_products(rule, (double)s->d);
    for (int64_t j = 0; j < n; ++j) {
        const attention_error product = error_at(rule, of_d, &row, j);
        row.value[j] *= s->scale;
        const attention_error r = attention_score_error(rule, product, s->scale, row.value[j]);
        row.sum[j] = r.limit;
        row.square[j] = r.spread;
    }
}

/* The logarithm of a row's sum, of these scores: the oracle's own may have been rounded otherwise,
 * by so much that exp(score - lse) overflows where scores are 10^20 or more. One that is not finite
 * stays. */
static double lse_of(const double *score, int64_t n, double lse) {
    double m = -INFINITY, sum = 0;
    if (!attention_is_finite(lse))
        return lse;
    for (int64_t j = 0; j < n; ++j)
        m = fmax(m, score[j]);
    for (int64_t j = 0; j < n; ++j)
        sum += exp(score[j] - m);
    return m + log(sum);
}

static panel row_of(panel p, int64_t row, int64_t length) {
    return (panel){p.value + row * length, p.sum + row * length, p.square + row * length};
}

static void clear_beyond(double *row, int64_t n, int64_t length) {
    memset(row + n, 0, (size_t)(length - n) * sizeof *row);
}

/* What score_row() left says of the weights. */
static attention_reach reach_of(const attention_rule *rule, int64_t n, panel row) {
    attention_reach reach = attention_reach_begin();
    for (int64_t j = 0; j < n; ++j)
        attention_reach_widen(&reach, row.value[j], row.sum[j]);
    for (int64_t j = 0; j < n; ++j)
        reach.excess += attention_heaviest(rule, &reach, row.value[j], row.sum[j]);
    return reach;
}

/* The chunk that begins at row `first` of a head. */
typedef struct span {
    int64_t head, first, rows;
} span;

static span span_at(const attention_sizes *s, int64_t head, int64_t first) {
    const int64_t chunk = attention_chunk(s), left = s->sq - first;
    return (span){head, first, chunk < left ? chunk : left};
}

/* ---- forward ---- */

typedef struct forward_work {
    attention_sizes s;
    attention_rule rule;
    magnitudes q, k, v;
    panel scores;      /* of a chunk */
    magnitudes errors; /* of o, of a chunk */
    double *centre;    /* mean of v over the keys, and the largest distance from it */
    double *farthest;
    scratch scratch;
} forward_work;

static assay_status forward_work_init(forward_work *w, const assay_oracle_args *args,
                                      const assay_rounding *r) {
    *w = (forward_work){.s = attention_sizes_of(args->params), .rule = attention_rule_of(r)};
    const attention_sizes *s = &w->s;
    const int64_t chunk = attention_chunk(s);
    w->q = take_magnitudes(&w->scratch, chunk * s->d);
    w->k = take_magnitudes(&w->scratch, s->sk * s->d);
    w->v = take_magnitudes(&w->scratch, s->sk * s->d);
    w->scores = take_panel(&w->scratch, chunk * s->sk);
    w->errors = take_magnitudes(&w->scratch, chunk * s->d);
    w->centre = take(&w->scratch, s->d);
    w->farthest = take(&w->scratch, s->d);
    return status_of(&w->scratch);
}

static void measure_head(forward_work *w, const double *k, const double *v) {
    const attention_sizes *s = &w->s;
    memset(w->centre, 0, (size_t)s->d * sizeof *w->centre);
    memset(w->farthest, 0, (size_t)s->d * sizeof *w->farthest);
    for (int64_t j = 0; j < s->sk; ++j)
        for (int64_t e = 0; e < s->d; ++e)
            w->centre[e] += v[j * s->d + e] / (double)s->sk;
    for (int64_t e = 0; e < s->d; ++e)
        w->centre[e] = attention_finite_or_zero(w->centre[e]);
    measure(k, NULL, s->sk, s->d, w->k);
    measure(v, w->centre, s->sk, s->d, w->v);
    for (int64_t j = 0; j < s->sk; ++j)
        for (int64_t e = 0; e < s->d; ++e)
            w->farthest[e] = fmax(w->farthest[e], w->v.sum[j * s->d + e]);
}

/* Leaves the limits of the errors of o's terms, and the squares of their spreads. */
static attention_state weigh_row(forward_work *w, int64_t i, int64_t query, double lse) {
    const attention_sizes *s = &w->s;
    const int64_t n = isinf(lse) ? 0 : attention_visible(s, query);
    const panel e = row_of(w->scores, i, s->sk);
    double m = -INFINITY;
    score_row(s, &w->rule, n, e);
    lse = lse_of(e.value, n, lse);
    for (int64_t j = 0; j < n; ++j)
        m = fmax(m, e.value[j]);
    attention_row row = attention_row_begin(&w->rule, n, m, lse, reach_of(&w->rule, n, e));
    const attention_error rescaling = attention_rescaling(&w->rule, n);
    for (int64_t j = 0; j < n; ++j) {
        const attention_error r = {e.sum[j], e.square[j]};
        const attention_error t = attention_argument_error(&w->rule, e.value[j], row.m, rescaling);
        attention_row_add(&row, e.value[j], r, t);
        e.sum[j] += t.limit;
        e.square[j] += t.spread;
    }
    const attention_state state = attention_row_state(&w->rule, &row);
    for (int64_t j = 0; j < n; ++j) {
        const attention_error of_weight = {e.sum[j], e.square[j]};
        const attention_error of_term =
            attention_term_error(&w->rule, &row, &state, e.value[j], of_weight);
        e.sum[j] = of_term.limit;
        e.square[j] = attention_square(of_term.spread);
    }
    clear_beyond(e.sum, n, s->sk);
    clear_beyond(e.square, n, s->sk);
    return state;
}

static void bound_forward_chunk(forward_work *w, const assay_oracle_args *args, span at,
                                attention_state *states, const assay_arrays *want,
                                assay_arrays *bound) {
    const attention_sizes *s = &w->s;
    const int64_t row = at.head * s->sq + at.first;
    const double *q = args->in->data[ATTENTION_Q] + row * s->d;
    const double *k = args->in->data[ATTENTION_K] + at.head * s->sk * s->d;
    measure(q, NULL, at.rows, s->d, w->q);
    multiply(s, at.rows, q, k, w->q, w->k, w->scores);
    for (int64_t i = 0; i < at.rows; ++i) {
        states[i] = weigh_row(w, i, at.first + i, want->data[ATTENTION_LSE][row + i]);
        bound->data[ATTENTION_LSE][row + i] = states[i].lse_bound;
    }
    blas_gemm(false, false, at.rows, s->d, s->sk, w->scores.sum, s->sk, w->v.sum, s->d, 0.0,
              w->errors.sum, s->d);
    blas_gemm(false, false, at.rows, s->d, s->sk, w->scores.square, s->sk, w->v.square, s->d, 0.0,
              w->errors.square, s->d);
    for (int64_t e = 0; e < at.rows * s->d; ++e)
        bound->data[ATTENTION_O][row * s->d + e] = attention_o_bound(
            &w->rule, &states[e / s->d], want->data[ATTENTION_O][row * s->d + e],
            w->centre[e % s->d], w->farthest[e % s->d], w->errors.sum[e], w->errors.square[e]);
}

assay_status attention_forward_bound(const assay_oracle_args *args, const assay_rounding *rounding,
                                     const assay_arrays *want, assay_bounds *bounds) {
    forward_work w;
    attention_state *states = NULL;
    assay_status status = forward_work_init(&w, args, rounding);
    const attention_sizes *s = &w.s;
    if (status == ASSAY_OK) {
        states = calloc((size_t)attention_chunk(s) + 1, sizeof *states);
        w.scratch.failed = !states;
        status = status_of(&w.scratch);
    }
    for (int64_t head = 0; status == ASSAY_OK && head < s->heads; ++head) {
        const int64_t of_keys = head * s->sk * s->d;
        measure_head(&w, args->in->data[ATTENTION_K] + of_keys,
                     args->in->data[ATTENTION_V] + of_keys);
        for (int64_t first = 0; first < s->sq; first += attention_chunk(s))
            bound_forward_chunk(&w, args, span_at(s, head, first), states, want, &bounds->element);
    }
    attention_why_forward(&w.rule, bounds->why[ATTENTION_O], bounds->why[ATTENTION_LSE]);
    free(states);
    release(&w.scratch);
    return status;
}

/* ---- backward ---- */

typedef struct backward_work {
    attention_sizes s;
    attention_rule rule;
    assay_bounds forward; /* of o and lse */
    magnitudes q, k, v, grad_o;
    panel scores, dp;    /* of a chunk; then errors of dS for dq and for dk */
    magnitudes p;        /* errors of P, of a chunk */
    panel dq;            /* errors of a chunk, and P·k */
    double *finite_k;    /* of a head */
    magnitudes dk, dv;   /* errors of a head */
    double *delta_error; /* of a chunk's rows */
    double *row_error;   /* what their P share */
    scratch scratch;
} backward_work;

static void backward_work_clear(backward_work *w) {
    assay_bounds_clear(&w->forward);
    release(&w->scratch);
}

static assay_status backward_work_init(backward_work *w, const assay_oracle_args *args,
                                       const assay_rounding *r) {
    *w = (backward_work){.s = attention_sizes_of(args->params), .rule = attention_rule_of(r)};
    const attention_sizes *s = &w->s;
    const int64_t chunk = attention_chunk(s), of_chunk = chunk * s->d, of_keys = s->sk * s->d;
    w->q = take_magnitudes(&w->scratch, of_chunk);
    w->grad_o = take_magnitudes(&w->scratch, of_chunk);
    w->k = take_magnitudes(&w->scratch, of_keys);
    w->v = take_magnitudes(&w->scratch, of_keys);
    w->scores = take_panel(&w->scratch, chunk * s->sk);
    w->dp = take_panel(&w->scratch, chunk * s->sk);
    w->p = take_magnitudes(&w->scratch, chunk * s->sk);
    w->dq = take_panel(&w->scratch, of_chunk);
    w->finite_k = take(&w->scratch, of_keys);
    w->dk = take_magnitudes(&w->scratch, of_keys);
    w->dv = take_magnitudes(&w->scratch, of_keys);
    w->delta_error = take(&w->scratch, chunk);
    w->row_error = take(&w->scratch, chunk);
    assay_status status = status_of(&w->scratch);
    if (status == ASSAY_OK)
        status = assay_bounds_init(&w->forward, ATTENTION_OUTPUTS);
    for (int32_t t = 0; status == ASSAY_OK && t < ATTENTION_OUTPUTS; ++t)
        status = assay_arrays_add(&w->forward.element, t, args->out->size[t]);
    return status == ASSAY_OK ? attention_forward_bound(args, r, args->out, &w->forward) : status;
}

/* Delta of one row, and by how much it may be off. */
static double delta_of(const backward_work *w, const assay_oracle_args *args, int64_t row,
                       double *error) {
    attention_delta sums = {0};
    for (int64_t e = row * w->s.d; e < (row + 1) * w->s.d; ++e)
        attention_delta_add(&w->rule, &sums, args->cot->data[ATTENTION_O][e],
                            args->out->data[ATTENTION_O][e],
                            w->forward.element.data[ATTENTION_O][e]);
    *error = attention_delta_error(&w->rule, &sums, (double)w->s.d);
    return sums.value;
}

/* Replaces a row's scores by P, and the sums and squares of both panels and of p by limits and
 * squared spreads. */
static void differentiate_row(backward_work *w, const assay_oracle_args *args, int64_t i,
                              int64_t row) {
    const attention_sizes *s = &w->s;
    double lse = args->out->data[ATTENTION_LSE][row];
    const double lse_bound = w->forward.element.data[ATTENTION_LSE][row];
    const int64_t n = isinf(lse) ? 0 : attention_visible(s, row % s->sq), at = i * s->sk;
    const attention_error of_d = attention_products(&w->rule, (double)s->d);
    const panel of_s = row_of(w->scores, i, s->sk), of_dp = row_of(w->dp, i, s->sk);
    double *of_p[] = {w->p.sum + at, w->p.square + at};
    attention_pair pair = {.sqrt_d = 1 / s->scale,
                           .along_keys = attention_products(&w->rule, (double)n)};
    pair.delta = delta_of(w, args, row, &w->delta_error[i]);
    pair.delta_error = w->delta_error[i];
    score_row(s, &w->rule, n, of_s);
    lse = lse_of(of_s.value, n, lse);
    const attention_reach reach = reach_of(&w->rule, n, of_s);
    w->row_error[i] = attention_shared_error(&w->rule, &reach, (double)n, lse, lse_bound);
    for (int64_t j = 0; j < n; ++j) {
        const attention_error r = {of_s.sum[j], of_s.square[j]};
        pair.p = exp(of_s.value[j] - lse);
        pair.p_error =
            attention_p_error(&w->rule, &reach, (double)n, r, of_s.value[j], lse, lse_bound);
        pair.dp = of_dp.value[j];
        pair.dp_error = error_at(&w->rule, of_d, &of_dp, j);
        pair.along_queries = attention_products(&w->rule, (double)attention_watchers(s, j));
        const attention_terms limit = attention_pair_limit(&w->rule, &pair);
        const attention_terms spread = attention_pair_spread(&w->rule, &pair);
        of_s.value[j] = pair.p;
        of_s.sum[j] = limit.ds_k;
        of_s.square[j] = attention_square(spread.ds_k);
        of_dp.sum[j] = limit.ds_q;
        of_dp.square[j] = attention_square(spread.ds_q);
        of_p[0][j] = limit.p;
        of_p[1][j] = attention_square(spread.p);
    }
    double *rows[] = {of_s.value, of_s.sum, of_s.square, of_dp.sum, of_dp.square, of_p[0], of_p[1]};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r)
        clear_beyond(rows[r], n, s->sk);
}

static void bound_dq(const backward_work *w, span at, const double *want, double *bound) {
    const attention_sizes *s = &w->s;
    blas_gemm(false, false, at.rows, s->d, s->sk, w->scores.value, s->sk, w->finite_k, s->d, 0.0,
              w->dq.value, s->d);
    blas_gemm(false, false, at.rows, s->d, s->sk, w->scores.sum, s->sk, w->k.sum, s->d, 0.0,
              w->dq.sum, s->d);
    blas_gemm(false, false, at.rows, s->d, s->sk, w->scores.square, s->sk, w->k.square, s->d, 0.0,
              w->dq.square, s->d);
    for (int64_t e = 0; e < at.rows * s->d; ++e)
        bound[e] = attention_dq_bound(&w->rule, s->scale, w->dq.sum[e], w->dq.square[e],
                                      w->delta_error[e / s->d] * fabs(w->dq.value[e]),
                                      w->row_error[e / s->d], want[e]);
}

/* Adds what the chunk's queries contribute. */
static void add_products(const attention_sizes *s, int64_t rows, const double *a, const double *b,
                         double *to) {
    blas_gemm(true, false, s->sk, s->d, rows, a, s->sk, b, s->d, 1.0, to, s->d);
}

static void bound_backward_chunk(backward_work *w, const assay_oracle_args *args, span at,
                                 const assay_arrays *want, assay_arrays *bound) {
    const attention_sizes *s = &w->s;
    const int64_t row = at.head * s->sq + at.first, of_keys = at.head * s->sk * s->d;
    const double *q = args->in->data[ATTENTION_Q] + row * s->d;
    const double *k = args->in->data[ATTENTION_K] + of_keys;
    const double *v = args->in->data[ATTENTION_V] + of_keys;
    const double *grad_o = args->cot->data[ATTENTION_O] + row * s->d;
    measure(q, NULL, at.rows, s->d, w->q);
    measure(grad_o, NULL, at.rows, s->d, w->grad_o);
    multiply(s, at.rows, q, k, w->q, w->k, w->scores);
    multiply(s, at.rows, grad_o, v, w->grad_o, w->v, w->dp);
    for (int64_t i = 0; i < at.rows; ++i)
        differentiate_row(w, args, i, row + i);
    bound_dq(w, at, want->data[ATTENTION_Q] + row * s->d, bound->data[ATTENTION_Q] + row * s->d);
    add_products(s, at.rows, w->dp.sum, w->q.sum, w->dk.sum);
    add_products(s, at.rows, w->dp.square, w->q.square, w->dk.square);
    add_products(s, at.rows, w->p.sum, w->grad_o.sum, w->dv.sum);
    add_products(s, at.rows, w->p.square, w->grad_o.square, w->dv.square);
}

/* The bounds of one head's dk or dv from what the chunks left, which is cleared. */
static void bound_sums(const backward_work *w, magnitudes errors, double scale, const double *want,
                       double *bound) {
    const int64_t count = w->s.sk * w->s.d;
    for (int64_t e = 0; e < count; ++e) {
        const double walk = attention_walk(w->rule.zero_mean, errors.sum[e], errors.square[e]);
        bound[e] = attention_gradient_bound(&w->rule, scale * walk, want[e]);
    }
    memset(errors.sum, 0, (size_t)count * sizeof *errors.sum);
    memset(errors.square, 0, (size_t)count * sizeof *errors.square);
}

assay_status attention_backward_bound(const assay_oracle_args *args, const assay_rounding *rounding,
                                      const assay_arrays *want, assay_bounds *bounds) {
    backward_work w;
    const assay_status status = backward_work_init(&w, args, rounding);
    const attention_sizes *s = &w.s;
    for (int64_t head = 0; status == ASSAY_OK && head < s->heads; ++head) {
        const int64_t of_keys = head * s->sk * s->d;
        const double *k = args->in->data[ATTENTION_K] + of_keys;
        measure(k, NULL, s->sk, s->d, w.k);
        measure(args->in->data[ATTENTION_V] + of_keys, NULL, s->sk, s->d, w.v);
        for (int64_t e = 0; e < s->sk * s->d; ++e)
            w.finite_k[e] = attention_finite_or_zero(k[e]);
        for (int64_t first = 0; first < s->sq; first += attention_chunk(s))
            bound_backward_chunk(&w, args, span_at(s, head, first), want, &bounds->element);
        bound_sums(&w, w.dk, s->scale, want->data[ATTENTION_K] + of_keys,
                   bounds->element.data[ATTENTION_K] + of_keys);
        bound_sums(&w, w.dv, 1, want->data[ATTENTION_V] + of_keys,
                   bounds->element.data[ATTENTION_V] + of_keys);
    }
    attention_why_backward(&w.rule, bounds->why[ATTENTION_Q], bounds->why[ATTENTION_K],
                           bounds->why[ATTENTION_V]);
    backward_work_clear(&w);
    return status;
}
