/*
 * attention, element by element: what its two oracles, on the CPU and on a device, have in common.
 * Plain functions of scalars, fp64.
 *
 * The bounds. u is the unit roundoff of the accumulator, phi(h) that of a sum of depth h, and
 * F(n) that of a sum of n products wherever it runs, TF32 operands included (bound.h). Everything
 * below holds for scores in any order of summation, scaled after the sum or by a constant folded
 * into that of exp2, whole rows or tiles with a running maximum, P normalised before or after the
 * product with v. It does not hold for a q that is scaled and then rounded to its type.
 *
 * Limits and spreads. Every error has a limit, which it never exceeds. A sum of errors is at most
 * the sum of their limits, and where their signs are random 4·√(sum of squared spreads): a walk. A
 * spread is √3 of an error's standard deviations, as u is for one rounding, so that a walk's end is
 * 6.9 of them (bound.h). A sum of n products rounded to nearest has the limit F(n)·M, and the
 * spread 2·√(n + 1)·u·√V: its partial sums are √V at most in the mean square, twice that in any
 * single sum. What tensor cores cut has no random sign, and its limit is its spread. TF32 operands
 * lose a fraction with a mean: 2^-9·|value| in common, and 2^-10·√V around that. The lesser of both
 * sums counts.
 *
 * Weights. A kernel's weight of key j in row i is w(1 + eps), w = exp(s - m). Its logarithm is off
 * by at most a = r + t with
 *
 *     r = F(d)·M/sqrt(D) + u|s|        the score, M of q·k; the scaled sum is rounded
 *     t = 5u|s - m| + (4 + R)u         the argument: subtraction, the constants 1/sqrt(D) and
 *                                      log2(e), their product; exp to 2 ulp; R from rescaling
 *
 * An error that all weights of a row share, as that of m, cancels. R: each time the maximum grows,
 * sums are multiplied by an exp (4u, and u for the product). The arguments of these exps add up to
 * at most s - m, which t has. In random data, in whatever order, the maximum of n keys grows
 * L = ln n times in the mean with a deviation of √L, and not more than L + 4√L + 1 times; otherwise
 * up to n - 1 times. |eps| <= e = exp(a) - 1.
 *
 * o. With P the exact weights, the sum over P(1 + eps) as its divisor and any c_d,
 *
 *     o' - o = [sum_j P_ij (v_jd - c_d) eps_ij - (o_id - c_d) E_i] / (1 + E_i),  E_i = sum_j P eps
 *
 * exactly. c is the mean of v over the keys: then the first sum is a walk for all random data,
 * because v knows nothing of q and k. |E_i| is at most A = sum_j P e, and at most the walk of P r,
 * plus sum P t, plus sum P(e - a); r is no walk where it is cut. To each weight are added: the
 * rounding of P to the operand's type, u_p; F(n + R) for the product with v; what underflows. Where
 * A >= 1/2 nothing is left but that o' is an average of v: |o' - c| <= max_j |v_jd - c_d|.
 *
 * lse. log(sum_j P exp(delta)) with |delta| <= a lies within log(1 + A) on both sides (Jensen), and
 * within the sharper bound of E_i. To that come the sum of the weights, F(n + R) and its drift
 * (drift.h; F has room for it where it is that of tensor cores), their rounding where a kernel adds
 * up rounded ones, and the scalars 4u|m| + 4u|log l| + u|lse| + 4u.
 *
 * Backward, from the kernel's own o and lse, off by B_o and lambda. P' = exp(s' - lse') is off by
 * p = P(exp(b) - 1), b = r + u(2|s| + 5|s - lse| + 4) + lambda. dP = do·v is off by E_P = F(d)·M,
 * Delta = do·o by D_i: a walk of do·B_o, and phi(d + 1)·M of do·o. With x = |dP - Delta|,
 * dS = P(dP - Delta) is off by
 *
 *     w = p(x + E_P + D_i) + P(E_P + 5u x)  and  P D_i
 *
 * Large scores. exp(b) says nothing where b is 1 or more, and does not know that P <= 1. So P' is
 * also held to what it can be. Let B be the largest of s_k - r_k, which no kernel's maximum is
 * below. Then key k weighs at most h_k = min(1, exp(s_k + r_k - B)) of its row, and key j at least
 * 1 - (sum of the other h_k). Both hold for the P of any scores within r, whatever r is. For one
 * dominant key that is 1 and, for the others, 0. With x = s' - lse' from the scores that lse was
 * made of, P' = exp(x) is that P times exp(eta) at most, eta = the sum's and exp's own roundings
 * and the lesser of u(2|s| + 6|lse| + 6 log n) and 2^-12 (or one rounding of an operand, where that
 * is more). The first is what a kernel loses that rounds scores and lse in units of their own; the
 * second asks it to do better than that where scores are large. The lesser of p and this counts;
 * likewise for o and for lse, which lies within [B, max(s_k + r_k) + log n].
 *
 * dk is a walk of both over the queries. In dq the errors of Delta and of lse are the same for all
 * keys, no walk, and are D_i·|sum_j P_ij k_jd| and lambda·|dq|. Each dS is rounded to the operand's
 * type (u_p) and each sum adds F(n)·|dS|. dv is P'^T·do, likewise.
 */
#ifndef ASSAY_ORACLES_ATTENTION_DEFINITION_H
#define ASSAY_ORACLES_ATTENTION_DEFINITION_H

#include "assay/op.h"
#include "oracles/common/drift.h"

#include <math.h>

#if defined(__CUDACC__)
#define ATTENTION_FN static inline __host__ __device__
#else
#define ATTENTION_FN static inline
#endif

/* ---- the problem ---- */

/* Where an answer is not finite no bound is asked for: it is 0. */
ATTENTION_FN bool attention_is_finite(double x) {
    return fabs(x) < (double)INFINITY;
}

/* |x - c|. Results that depend on an x that is not finite are not finite either, so that it counts
 * for no bound; as 0 it does not disturb those of pairs that do not see each other. */
ATTENTION_FN double attention_distance(double x, double c) {
    return attention_is_finite(x) ? fabs(x - c) : 0;
}

/* For products over all keys, with P = 0 of those that a query does not see. */
ATTENTION_FN double attention_finite_or_zero(double x) {
    return attention_is_finite(x) ? x : 0;
}

typedef struct attention_sizes {
    int64_t heads, sq, sk, d; /* heads: of all batches */
    bool causal;
    double scale; /* 1/√D */
} attention_sizes;

/* How many keys, from the first on, query i sees. */
ATTENTION_FN int64_t attention_visible(const attention_sizes *s, int64_t i) {
    if (!s->causal)
        return s->sk;
    const int64_t n = i + s->sk - s->sq + 1;
    return n < 0 ? 0 : n;
}

/* How many queries, the last ones, see key j. */
ATTENTION_FN int64_t attention_watchers(const attention_sizes *s, int64_t j) {
    if (!s->causal)
        return s->sq;
    const int64_t first = j - (s->sk - s->sq);
    return first < 0 ? s->sq : s->sq - first;
}

/* ---- how a kernel rounds ---- */

typedef struct attention_rule {
    double u;           /* the accumulator's, the oracle's own fp64 included */
    double u_fp64;      /* the oracle's */
    double u_store;     /* of o and the gradients */
    double tiny_store;  /* what subnormal products and results lose */
    double u_operand;   /* of P and dS as operands of the second products; 0: not rounded */
    double tiny_weight; /* below this a weight may be lost: flushed, or a subnormal operand */
    double cut;         /* a product of TF32 operands */
    bool tensor_core;   /* products may be cut toward zero */
    bool independent;   /* rounding errors are */
    bool zero_mean;     /* data have random signs */
} attention_rule;

/* As bound.c has it. */
ATTENTION_FN double attention_gamma(double h, double u) {
    return 2 * h * u < 1 ? h * u / (1 - h * u) : h * u * exp(fmin(h * u, 600.0));
}

/* phi(h) */
ATTENTION_FN double attention_rounded(const attention_rule *r, double h, double u) {
    const double always = attention_gamma(h, u), likely = 4 * sqrt(h) * u;
    return r->independent && likely < always ? likely : always;
}

/* How far one number may be off, at most, and in a walk, where 4·√(sum of squared spreads) counts.
 */
typedef struct attention_error {
    double limit, spread;
} attention_error;

/* Rounding to nearest, and nothing else. */
ATTENTION_FN bool attention_is_nearest(const attention_rule *r) {
    return r->independent && !r->tensor_core;
}

/* F(n), as assay_product_error has it for one pass, and 2·√(n + 1)·u. */
ATTENTION_FN attention_error attention_products(const attention_rule *r, double n) {
    attention_error f = {0, 0};
    if (n <= 0)
        return f;
    const double nearest = attention_rounded(r, n + 1, r->u);
    const double toward_zero =
        r->tensor_core ? attention_gamma(n / 2 + 2 * ceil(n / 8) + 1, r->u) : 0;
    const double worst = toward_zero > nearest ? toward_zero : nearest;
    f.limit = worst * (1 + r->cut) + attention_rounded(r, n + 1, r->u_fp64) + r->cut;
    f.spread = f.limit;
    if (attention_is_nearest(r))
        f.spread = fmin(f.limit, 2 * sqrt(n + 1) * r->u);
    else if (r->independent)
        f.spread = f.limit - r->cut / 2;
    return f;
}

/* x². The square of a weight's error may underflow: then it counts as the least normal number, for
 * a large factor to come. */
ATTENTION_FN double attention_square(double x) {
    const double square = x * x, least = 0x1p-1022;
    return x != 0 && square < least ? least : square;
}

/* √squares, but the sum where the squares are so small that their products underflowed. */
ATTENTION_FN double attention_root(double sum, double squares) {
    return squares >= 0x1p-960 ? sqrt(squares) : sum;
}

/* min(sum, 4·√squares), the second where `random`. */
ATTENTION_FN double attention_walk(bool random, double sum, double squares) {
    const double walk = 4 * attention_root(sum, squares);
    return random && walk < sum ? walk : sum;
}

/* M of a product of that value, no less than the value itself. */
ATTENTION_FN double attention_magnitude(const attention_rule *r, double value, double sum,
                                        double squares) {
    const double walk = attention_walk(r->zero_mean, sum, squares);
    return walk > fabs(value) ? walk : fabs(value);
}

/* Of a product with factor f = F(n). */
ATTENTION_FN attention_error attention_product_error(const attention_rule *r, attention_error f,
                                                     double value, double sum, double squares) {
    attention_error e;
    const double magnitude = attention_magnitude(r, value, sum, squares);
    e.limit = f.limit * magnitude;
    e.spread = e.limit;
    if (attention_is_nearest(r))
        e.spread = fmin(e.limit,
                        f.spread * (r->zero_mean ? fmin(sum, attention_root(sum, squares)) : sum));
    else if (r->zero_mean)
        e.spread = fmin(e.limit, (f.limit - r->cut) * magnitude +
                                     r->cut * (fabs(value) + attention_root(sum, squares) / 2));
    return e;
}

/* How often the maximum of a row of n keys grows. */
ATTENTION_FN double attention_rescales(const attention_rule *r, int64_t n) {
    if (n < 2)
        return 0;
    const double every = (double)(n - 1), random = log((double)n) + 4 * sqrt(log((double)n)) + 1;
    return r->independent && random < every ? random : every;
}

/* R in units of u: an exp of 4 u and a multiplication each. */
ATTENTION_FN attention_error attention_rescaling(const attention_rule *r, int64_t n) {
    const double times = attention_rescales(r, n), spread = sqrt(17 * times);
    attention_error e = {5 * times, 5 * times};
    if (r->independent) {
        e.limit = fmin(e.limit, 4 * spread);
        e.spread = fmin(e.limit, spread);
    }
    return e;
}

/* ---- one weight ---- */

/* r of score s, whose product is off by `product`. */
ATTENTION_FN attention_error attention_score_error(const attention_rule *r, attention_error product,
                                                   double scale, double s) {
    attention_error e;
    e.limit = product.limit * scale + r->u * fabs(s);
    e.spread = product.spread * scale + r->u * fabs(s);
    return e;
}

/* t, below the maximum m. */
ATTENTION_FN attention_error attention_argument_error(const attention_rule *r, double s, double m,
                                                      attention_error rescaling) {
    const double always = 5 * fabs(s - m) + 4;
    attention_error e;
    e.limit = r->u * (always + rescaling.limit);
    e.spread = r->u * (always + rescaling.spread);
    return e;
}

/* P(exp(a) - 1) for log P = x: also where P is too small for fp64, or a too large. */
ATTENTION_FN double attention_weight_error(double x, double a) {
    if (x < -1e300)
        return 0;
    return a < 1 ? exp(x) * expm1(a) : exp(x + a) - exp(x);
}

/* ---- what a row's weights can be, however far its scores are off ---- */

typedef struct attention_reach {
    double least, most; /* the largest s - r and s + r */
    double excess;      /* sum of all h, less 1 */
} attention_reach;

ATTENTION_FN attention_reach attention_reach_begin(void) {
    attention_reach reach = {-(double)INFINITY, -(double)INFINITY, -1};
    return reach;
}

ATTENTION_FN void attention_reach_widen(attention_reach *reach, double s, double error) {
    reach->least = fmax(reach->least, s - error);
    reach->most = fmax(reach->most, s + error);
}

/* h, with log h made less negative by what rounds it. */
ATTENTION_FN double attention_heaviest(const attention_rule *r, const attention_reach *reach,
                                       double s, double error) {
    return exp(fmin(0.0, s + error - reach->least) * (1 - 6 * r->u));
}

/* eta, without what large scores lose. */
ATTENTION_FN double attention_own_roundings(const attention_rule *r, const attention_reach *reach,
                                            double n) {
    const double times = attention_rescales(r, (int64_t)n);
    const double sum = attention_products(r, n + times).limit + r->u_operand;
    return sum + fmin(attention_gamma(n, r->u), fmax(0.0, reach->excess)) +
           r->u * (16 + 5 * times + 5 * log(n + 1)) + n * r->tiny_weight;
}

/* What large scores may lose. */
ATTENTION_FN double attention_loss(const attention_rule *r, double s, double lse, double n) {
    const double most = fmax(0x1p-12, fmax(r->u_operand, r->cut));
    return fmin(r->u * (2 * fabs(s) + 6 * fabs(lse) + 6 * log(n + 1)), most);
}

/* How far P' may be from P of score s, within the row's reach. */
ATTENTION_FN double attention_reach_error(const attention_rule *r, const attention_reach *reach,
                                          double n, double s, double error, double lse) {
    const double eta = attention_own_roundings(r, reach, n) + attention_loss(r, s, lse, n);
    const double p = exp(s - lse), heaviest = attention_heaviest(r, reach, s, error);
    const double lightest = fmax(0.0, heaviest - fmax(0.0, reach->excess));
    return fmax(heaviest * exp(eta) - p, p - (heaviest < 1 ? 0 : lightest) * exp(-eta));
}

/* ---- one row, forward ---- */

typedef struct attention_row {
    int64_t n;                                       /* visible keys */
    double m, lse;                                   /* the largest score, log of the sum of exps */
    double sum_error;                                /* A = sum P e */
    double random, random_squared, argument, second; /* sums of P r, (P r)², P t, P(e - a) */
    double squared;                                  /* sum of (P(1 + e))² */
    assay_drift drift;                               /* of the sum of exp(s - m) */
    attention_reach reach;
} attention_row;

/* Row of n visible keys with no contributions yet. */
ATTENTION_FN attention_row attention_row_begin(const attention_rule *r, int64_t n, double m,
                                               double lse, attention_reach reach) {
    attention_row row;
    memset(&row, 0, sizeof row);
    row.n = n;
    row.m = m;
    row.lse = lse;
    row.reach = reach;
    row.drift = drift_begin(attention_is_nearest(r), r->u, (double)n, exp(lse - m));
    return row;
}

/* Adds what one visible key contributes. */
ATTENTION_FN void attention_row_add(attention_row *row, double s, attention_error r,
                                    attention_error t) {
    const double x = s - row->lse, p = exp(x);
    drift_add(&row->drift, row->drift.grids > 0 ? exp(s - row->m) : 0);
    const double pe = attention_weight_error(x, r.limit + t.limit);
    row->sum_error += pe;
    row->squared += (p + pe) * (p + pe);
    if (p == 0) { /* r and t may be infinite */
        row->second += pe;
        return;
    }
    row->random += p * r.limit;
    row->random_squared += p * r.spread * p * r.spread;
    row->argument += p * t.limit;
    row->second += fmax(0.0, pe - p * (r.limit + t.limit));
}

/* What the sums say of a row. */
typedef struct attention_state {
    bool open;               /* A >= 1/2: the weights are not known from their errors */
    bool settled;            /* their reach says more */
    double shared;           /* bound on E_i */
    double grown;            /* 1/(1 - A) */
    attention_error product; /* F(n + R) */
    double operand;          /* bound on the sum over P's rounding to the operand's type */
    double lse_bound;        /* lambda */
    double relative;         /* of o: divisions and its weights' sum */
} attention_state;

ATTENTION_FN attention_state attention_row_state(const attention_rule *r,
                                                 const attention_row *row) {
    attention_state a = {false, false, 0, 1, {0, 0}, 0, 0, 0};
    if (row->n == 0)
        return a;
    const double n = (double)row->n;
    const double walk = attention_walk(attention_is_nearest(r), row->random, row->random_squared);
    const double sharp = walk + row->argument + row->second;
    a.open = !(row->sum_error < 0.5);
    a.settled = a.open || 4 * fmax(0.0, row->reach.excess) < row->sum_error;
    a.shared = sharp < row->sum_error ? sharp : row->sum_error;
    a.grown = a.open ? 2 : 1 / (1 - row->sum_error);
    a.product = attention_products(r, n + attention_rescales(r, row->n));

    const double rounded =
        attention_walk(r->independent && !a.open, 1.0, a.grown * a.grown * row->squared);
    a.operand = r->u_operand * rounded + attention_walk(r->independent, n, n) * r->tiny_weight;

    const double log_sum = row->lse - row->m;
    const double drift = drift_of(&row->drift) / exp(log_sum);
    const double sums = a.product.limit + drift + a.operand;
    const double rises = row->reach.most + log(n) - row->lse;
    const double reached =
        fmax(rises, row->lse - row->reach.least) + attention_own_roundings(r, &row->reach, n);
    const double from_weights = fmin(fmin(log1p(row->sum_error), sharp), reached);
    const double from_sums = sums < 1 ? -log1p(-sums) : (double)INFINITY;
    const double lse_bound = from_weights + from_sums +
                             r->u * (4 * fabs(row->m) + 4 * fabs(log_sum) + fabs(row->lse) + 4);
    a.lse_bound = attention_is_finite(row->lse) ? lse_bound : 0;
    a.relative = sums + attention_loss(r, 0, row->lse / 3, 0) + 8 * r->u;
    return a;
}

/* By how much the term of one key in o may be off, over |v - c|. */
ATTENTION_FN double attention_weighted(const attention_rule *r, const attention_state *a, double x,
                                       double error, double product) {
    const double pe = attention_weight_error(x, error);
    const double p = fmin(1.0, (exp(x) + pe) * a->grown);
    return pe * a->grown + p * (r->u_operand + product) + r->tiny_weight;
}

ATTENTION_FN attention_error attention_term_error(const attention_rule *r, const attention_row *row,
                                                  const attention_state *a, double s,
                                                  attention_error error) {
    const double x = s - row->lse;
    attention_error e = {0, 0};
    if (a->settled) {
        const double off =
            attention_reach_error(r, &row->reach, (double)row->n, s, error.limit, row->lse);
        e.limit =
            off + fmin(1.0, exp(x) + off) * (r->u_operand + a->product.limit) + r->tiny_weight;
        e.spread = e.limit;
    } else {
        e.limit = attention_weighted(r, a, x, error.limit, a->product.limit);
        e.spread = attention_weighted(r, a, x, error.spread, a->product.spread);
    }
    return e;
}

/* The bound of o: its sums over attention_term_error, c, and the largest |v - c|. */
ATTENTION_FN double attention_o_bound(const attention_rule *r, const attention_state *a, double o,
                                      double c, double largest, double sum, double squares) {
    const double off = fabs(o - c);
    double error = (double)INFINITY;
    if (!attention_is_finite(o))
        return 0;
    if (a->open)
        error = (largest + off) + (a->product.limit + r->u_operand) * (largest + fabs(c));
    if (a->settled)
        error = fmin(error, sum + fabs(c) * (a->product.limit + a->operand));
    else
        error = attention_walk(r->independent, sum, squares) + off * a->grown * a->shared +
                fabs(c) * (a->product.limit + a->operand);
    error += fabs(o) * a->relative;
    return error + r->u_store * (fabs(o) + error) + r->tiny_store;
}

/* ---- backward ---- */

typedef struct attention_delta {
    double value, sum, squared;        /* of do·o, of absolute values, of squares */
    double stored, stored_squared;     /* of do times what storing o may change */
    double computed, computed_squared; /* of do times the rest of o's bound */
} attention_delta;

ATTENTION_FN void attention_delta_add(const attention_rule *r, attention_delta *to, double grad_o,
                                      double o, double o_bound) {
    const double term = grad_o * o, stored = fabs(term) * r->u_store;
    const double computed = fmax(0.0, fabs(grad_o) * o_bound - stored);
    to->value += term;
    to->sum += fabs(term);
    to->squared += term * term;
    to->stored += stored;
    to->stored_squared += stored * stored;
    to->computed += computed;
    to->computed_squared += computed * computed;
}

/* D_i: what storing o changes is independent for any random data. */
ATTENTION_FN double attention_delta_error(const attention_rule *r, const attention_delta *a,
                                          double d) {
    return attention_walk(r->independent, a->stored, a->stored_squared) +
           attention_walk(r->zero_mean, a->computed, a->computed_squared) +
           (attention_rounded(r, d + 1, r->u) + attention_rounded(r, d + 1, r->u_fp64)) *
               attention_magnitude(r, a->value, a->sum, a->squared);
}

/* The error of P' for log P = x = s - lse, of n keys. lse has one error for a whole row, which dq's
 * bound counts once more. */
ATTENTION_FN attention_error attention_p_error(const attention_rule *r,
                                               const attention_reach *reach, double n,
                                               attention_error score, double s, double lse,
                                               double lse_bound) {
    const double x = s - lse, argument = r->u * (2 * fabs(s) + 5 * fabs(x) + 4);
    attention_error e;
    const double reached = attention_reach_error(r, reach, n, s, score.limit, lse);
    e.limit = fmin(attention_weight_error(x, score.limit + argument + lse_bound), reached);
    e.spread = fmin(attention_weight_error(x, score.spread + argument + lse_bound / 2), reached);
    return e;
}

/* The relative error that all P' of a row share: that of lse, or what their reach leaves. */
ATTENTION_FN double attention_shared_error(const attention_rule *r, const attention_reach *reach,
                                           double n, double lse, double lse_bound) {
    const double own = attention_own_roundings(r, reach, n) + attention_loss(r, lse, lse, n);
    return fmin(lse_bound, 2 * fmax(0.0, reach->excess) + expm1(own));
}

/* Errors of the operands of the second products, for one query and key. */
typedef struct attention_terms {
    double p;    /* of P, for dv */
    double ds_k; /* of dS for dq, without the error of Delta */
    double ds_q; /* of dS for dk */
} attention_terms;

typedef struct attention_pair {
    double p, dp, delta;
    attention_error p_error, dp_error;
    double delta_error;                        /* a limit */
    attention_error along_keys, along_queries; /* F of dq's sum, and of dk's and dv's */
    double sqrt_d;
} attention_pair;

ATTENTION_FN attention_terms attention_pair_terms(const attention_rule *r, const attention_pair *e,
                                                  double p_error, double dp_error,
                                                  double delta_error, double along_keys,
                                                  double along_queries) {
    attention_terms t;
    const double lost = r->tiny_weight, off = p_error + lost;
    const double x = fabs(e->dp - e->delta);
    const double w = off * (x + dp_error + delta_error) + e->p * (dp_error + 5 * r->u * x);
    const double both = w + e->p * delta_error, largest = e->p * x + both;
    const double underflow = lost * (e->sqrt_d + x);
    t.p = off + (e->p + off) * (r->u_operand + along_queries);
    t.ds_k = w + largest * (r->u_operand + along_keys) + underflow;
    t.ds_q = both + largest * (r->u_operand + along_queries) + underflow;
    return t;
}

ATTENTION_FN attention_terms attention_pair_limit(const attention_rule *r,
                                                  const attention_pair *e) {
    return attention_pair_terms(r, e, e->p_error.limit, e->dp_error.limit, e->delta_error,
                                e->along_keys.limit, e->along_queries.limit);
}

ATTENTION_FN attention_terms attention_pair_spread(const attention_rule *r,
                                                   const attention_pair *e) {
    return attention_pair_terms(r, e, e->p_error.spread, e->dp_error.spread, e->delta_error / 2,
                                e->along_keys.spread, e->along_queries.spread);
}

/* The bound of a gradient: error, then the scaling, then its storage. */
ATTENTION_FN double attention_gradient_bound(const attention_rule *r, double error, double want) {
    const double computed = error + (3 * r->u + r->cut) * (fabs(want) + error);
    if (!attention_is_finite(want))
        return 0;
    return computed + r->u_store * (fabs(want) + computed) + r->tiny_store;
}

/* Of dq, from its sums over keys, the error of Delta times the sum of P k over the keys that are
 * finite, and what P of the row share. */
ATTENTION_FN double attention_dq_bound(const attention_rule *r, double scale, double sum,
                                       double squares, double of_delta, double row_error,
                                       double want) {
    const double walk = scale * attention_walk(r->zero_mean, sum, squares);
    const double error = fmin(scale * sum, walk + row_error * fabs(want));
    return attention_gradient_bound(r, error + scale * of_delta, want);
}

#endif
