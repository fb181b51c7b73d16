/* attention in fp64: through CBLAS in chunks of queries, and as loops over the definition. */
#include "oracles/attention/attention.h"
#include "oracles/common/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

attention_sizes attention_sizes_of(const assay_params *params) {
    const int64_t d = params->item[ATTENTION_KEY_D].value[0];
    return (attention_sizes){.heads = params->item[ATTENTION_KEY_B].value[0] *
                                      params->item[ATTENTION_KEY_H].value[0],
                             .sq = params->item[ATTENTION_KEY_SQ].value[0],
                             .sk = params->item[ATTENTION_KEY_SK].value[0],
                             .d = d,
                             .causal = params->item[ATTENTION_KEY_CAUSAL].value[0] != 0,
                             .scale = 1 / sqrt((double)d)};
}

int64_t attention_chunk(const attention_sizes *s) {
    const int64_t elements = 1 << 18;
    const int64_t rows = s->sk > 0 ? elements / s->sk : s->sq;
    return rows < 1 ? 1 : rows < s->sq ? rows : s->sq;
}

/* CBLAS may skip a factor of 0, and then loses 0·Inf: such data goes through the loops. */
static bool is_finite(const assay_arrays *arrays) {
    for (int32_t t = 0; t < arrays->count; ++t)
        for (int64_t e = 0; arrays->data[t] && e < arrays->size[t]; ++e)
            if (!isfinite(arrays->data[t][e]))
                return false;
    return true;
}

static assay_status allocate(int64_t count, double **array) {
    *array = malloc((size_t)(count > 0 ? count : 1) * sizeof **array);
    return *array ? ASSAY_OK
                  : assay_fail(ASSAY_ERR_MEMORY, "out of memory for a chunk of attention");
}

/* ---- through CBLAS ---- */

double attention_softmax(const attention_sizes *s, int64_t query, double *row) {
    const int64_t n = attention_visible(s, query);
    double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; ++j) {
        row[j] *= s->scale;
        m = fmax(m, row[j]);
    }
    for (int64_t j = 0; j < n; ++j) {
        row[j] = exp(row[j] - m);
        sum += row[j];
    }
    for (int64_t j = 0; j < n; ++j)
        row[j] /= sum;
    memset(row + n, 0, (size_t)(s->sk - n) * sizeof *row);
    return n > 0 ? m + log(sum) : -INFINITY;
}

assay_status attention_forward(const assay_oracle_args *args, assay_arrays *result) {
    if (!is_finite(args->in))
        return attention_forward_plain(args, result);
    const attention_sizes s = attention_sizes_of(args->params);
    const int64_t chunk = attention_chunk(&s);
    double *weights;
    const assay_status status = allocate(chunk * s.sk, &weights);
    for (int64_t head = 0; status == ASSAY_OK && head < s.heads; ++head) {
        const double *k = args->in->data[ATTENTION_K] + head * s.sk * s.d;
        const double *v = args->in->data[ATTENTION_V] + head * s.sk * s.d;
        for (int64_t first = 0; first < s.sq; first += chunk) {
            const int64_t rows = chunk < s.sq - first ? chunk : s.sq - first;
            const int64_t at = head * s.sq + first;
            blas_gemm(false, true, rows, s.sk, s.d, args->in->data[ATTENTION_Q] + at * s.d, s.d, k,
                      s.d, 0.0, weights, s.sk);
            for (int64_t i = 0; i < rows; ++i)
                result->data[ATTENTION_LSE][at + i] =
                    attention_softmax(&s, first + i, weights + i * s.sk);
            blas_gemm(false, false, rows, s.d, s.sk, weights, s.sk, v, s.d, 0.0,
                      result->data[ATTENTION_O] + at * s.d, s.d);
        }
    }
    free(weights);
    return status;
}

static double dot(const double *a, const double *b, int64_t count) {
    double sum = 0;
    for (int64_t e = 0; e < count; ++e)
        sum += a[e] * b[e];
    return sum;
}

/* dS = P ⊙ (dP - delta) over dp, and P over the scores, of one row. */
static void differentiate_row(const attention_sizes *s, int64_t query, double lse, double delta,
                              double *scores, double *dp) {
    const int64_t n = isinf(lse) ? 0 : attention_visible(s, query);
    for (int64_t j = 0; j < n; ++j) {
        scores[j] = exp(scores[j] * s->scale - lse);
        dp[j] = scores[j] * (dp[j] - delta) * s->scale;
    }
    memset(scores + n, 0, (size_t)(s->sk - n) * sizeof *scores);
    memset(dp + n, 0, (size_t)(s->sk - n) * sizeof *dp);
}

/* Rows first..first + rows - 1 of one head: adds to its dk and dv. */
static void backward_chunk(const attention_sizes *s, const assay_oracle_args *args, int64_t head,
                           int64_t first, int64_t rows, double *p, double *ds,
                           assay_arrays *result) {
    const int64_t row = head * s->sq + first, of_queries = row * s->d,
                  of_keys = head * s->sk * s->d;
    const double *q = args->in->data[ATTENTION_Q] + of_queries;
    const double *k = args->in->data[ATTENTION_K] + of_keys;
    const double *v = args->in->data[ATTENTION_V] + of_keys;
    const double *o = args->out->data[ATTENTION_O] + of_queries;
    const double *grad_o = args->cot->data[ATTENTION_O] + of_queries;
    blas_gemm(false, true, rows, s->sk, s->d, q, s->d, k, s->d, 0.0, p, s->sk);
    blas_gemm(false, true, rows, s->sk, s->d, grad_o, s->d, v, s->d, 0.0, ds, s->sk);
    for (int64_t i = 0; i < rows; ++i)
        differentiate_row(s, first + i, args->out->data[ATTENTION_LSE][row + i],
                          dot(grad_o + i * s->d, o + i * s->d, s->d), p + i * s->sk,
                          ds + i * s->sk);
    blas_gemm(false, false, rows, s->d, s->sk, ds, s->sk, k, s->d, 0.0,
              result->data[ATTENTION_Q] + of_queries, s->d);
    blas_gemm(true, false, s->sk, s->d, rows, ds, s->sk, q, s->d, 1.0,
              result->data[ATTENTION_K] + of_keys, s->d);
    blas_gemm(true, false, s->sk, s->d, rows, p, s->sk, grad_o, s->d, 1.0,
              result->data[ATTENTION_V] + of_keys, s->d);
}

assay_status attention_backward(const assay_oracle_args *args, assay_arrays *result) {
    if (!is_finite(args->in) || !is_finite(args->cot))
        return attention_backward_plain(args, result);
    const attention_sizes s = attention_sizes_of(args->params);
    const int64_t chunk = attention_chunk(&s);
    double *p = NULL, *ds = NULL;
    assay_status status = allocate(chunk * s.sk, &p);
    if (status == ASSAY_OK)
        status = allocate(chunk * s.sk, &ds);
    for (int32_t t = 0; t < result->count; ++t)
        memset(result->data[t], 0, (size_t)result->size[t] * sizeof(double));
    for (int64_t head = 0; status == ASSAY_OK && head < s.heads; ++head)
        for (int64_t first = 0; first < s.sq; first += chunk) {
            const int64_t rows = chunk < s.sq - first ? chunk : s.sq - first;
            backward_chunk(&s, args, head, first, rows, p, ds, result);
        }
    free(p);
    free(ds);
    return status;
}

/* ---- plain twin: the definition, pair by pair ---- */

static double plain_score(const attention_sizes *s, const double *q, const double *k) {
    double sum = 0;
    for (int64_t e = 0; e < s->d; ++e)
        sum += q[e] * k[e];
    return sum / sqrt((double)s->d);
}

/* A NaN among the scores makes the sum one; fmax would drop it. */
static double plain_lse(const double *score, int64_t n) {
    double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; ++j)
        m = fmax(m, score[j]);
    if (n == 0)
        return -INFINITY;
    for (int64_t j = 0; j < n; ++j)
        sum += score[j] == -INFINITY ? 0 : exp(score[j] - m);
    return m + log(sum);
}

static double plain_weight(double score, double lse) {
    return lse == -INFINITY ? 0 : exp(score - lse);
}

/* The scores of a row's n visible keys, and the logarithm of their sum. */
static double plain_scores(const attention_sizes *s, const assay_oracle_args *args, int64_t row,
                           int64_t n, double *score) {
    const double *q = args->in->data[ATTENTION_Q] + row * s->d;
    const double *k = args->in->data[ATTENTION_K] + row / s->sq * s->sk * s->d;
    for (int64_t j = 0; j < n; ++j)
        score[j] = plain_score(s, q, k + j * s->d);
    return plain_lse(score, n);
}

assay_status attention_forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const attention_sizes s = attention_sizes_of(args->params);
    double *score;
    const assay_status status = allocate(s.sk, &score);
    for (int64_t row = 0; status == ASSAY_OK && row < s.heads * s.sq; ++row) {
        const int64_t n = attention_visible(&s, row % s.sq), of_keys = row / s.sq * s.sk * s.d;
        const double *v = args->in->data[ATTENTION_V] + of_keys;
        const double lse = plain_scores(&s, args, row, n, score);
        result->data[ATTENTION_LSE][row] = lse;
        for (int64_t e = 0; e < s.d; ++e) {
            double sum = 0;
            for (int64_t j = 0; j < n; ++j)
                sum += plain_weight(score[j], lse) * v[j * s.d + e];
            result->data[ATTENTION_O][row * s.d + e] = sum;
        }
    }
    free(score);
    return status;
}

/* What query `row` and a key that it sees, with weight p, give each other. */
static void plain_pair(const attention_sizes *s, const assay_oracle_args *args, int64_t row,
                       int64_t key, double p, double delta, assay_arrays *result) {
    const double *q = args->in->data[ATTENTION_Q] + row * s->d;
    const double *k = args->in->data[ATTENTION_K] + key * s->d;
    const double *v = args->in->data[ATTENTION_V] + key * s->d;
    const double *grad_o = args->cot->data[ATTENTION_O] + row * s->d;
    double dp = 0;
    for (int64_t e = 0; e < s->d; ++e)
        dp += grad_o[e] * v[e];
    const double ds = p * (dp - delta) / sqrt((double)s->d);
    for (int64_t e = 0; e < s->d; ++e) {
        result->data[ATTENTION_Q][row * s->d + e] += ds * k[e];
        result->data[ATTENTION_K][key * s->d + e] += ds * q[e];
        result->data[ATTENTION_V][key * s->d + e] += p * grad_o[e];
    }
}

/* The weights are made of these scores alone: lse may be CBLAS's, where only cotangents are not
 * finite. Its sums have another order, and exp(score - lse) overflows where scores are 10^20. */
assay_status attention_backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const attention_sizes s = attention_sizes_of(args->params);
    double *score;
    const assay_status status = allocate(s.sk, &score);
    for (int32_t t = 0; t < result->count; ++t)
        memset(result->data[t], 0, (size_t)result->size[t] * sizeof(double));
    for (int64_t row = 0; status == ASSAY_OK && row < s.heads * s.sq; ++row) {
        const int64_t n = attention_visible(&s, row % s.sq), key = row / s.sq * s.sk;
        const double lse = plain_scores(&s, args, row, n, score);
        double delta = 0;
        for (int64_t e = row * s.d; e < (row + 1) * s.d; ++e)
            delta += args->cot->data[ATTENTION_O][e] * args->out->data[ATTENTION_O][e];
        for (int64_t j = 0; j < n; ++j)
            plain_pair(&s, args, row, key + j, plain_weight(score[j], lse), delta, result);
    }
    free(score);
    return status;
}
