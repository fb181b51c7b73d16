/* How far a correct rmsnorm may be off: the relative error of s, and what it makes of the results.
 */
#include "oracles/common/bound.h"
#include "oracles/common/drift.h"
#include "oracles/rmsnorm/rmsnorm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double walk(bool random, double sum, double squares) {
    return random ? assay_walk(sum, squares) : sum;
}

/*
 * Roundings of a row's s beside those of the sum: division by d, perhaps by a rounded 1/d, eps and
 * its addition are under the root, which halves them; a root and a division, or an inverse root
 * that is right to 2 ulp, are not. 1/d, eps and an approximate root may err alike in every row.
 */
enum { UNDER_ROOT = 4, OF_ROOT = 4, IN_COMMON = UNDER_ROOT / 2 + OF_ROOT };

/* How a kernel rounds, the oracle's own rounding included. */
typedef struct rule {
    const assay_rounding *r;
    double u;      /* one operation */
    double stored; /* h, relative to it; 0 where it is an input */
} rule;

static rule rule_of(const rmsnorm_sizes *s, const assay_rounding *r) {
    const double u = r->u + assay_dtype_unit(ASSAY_F64);
    return (rule){.r = r, .u = u, .stored = s->residual ? assay_compound(u, r->u_out) : 0};
}

/* Relative errors of a row's s. */
typedef struct row_error {
    double inverse; /* s */
    double rounded; /* by the kernel's operations */
    double stored;  /* by the rounding of h */
} row_error;

static row_error row_error_of(const rmsnorm_sizes *s, const rule *k, const double *h) {
    const double d = (double)s->d;
    double sum = 0, fourth = 0;
    for (int64_t j = 0; j < s->d; ++j) {
        sum += h[j] * h[j];
        fourth += h[j] * h[j] * h[j] * h[j];
    }
    assay_drift drift = drift_begin(k->r->independent, k->r->u, d, sum);
    for (int64_t j = 0; drift.grids > 0 && j < s->d; ++j)
        drift_add(&drift, h[j] * h[j]);
    row_error e = {.inverse = 1 / sqrt(sum / d + s->eps)};
    /* The sum's share of what is under the root; all of it where that is Inf or NaN. */
    const double square = e.inverse * e.inverse / d, share = sum * square;
    const double under = assay_accumulation(k->r, d) * (share <= 1 ? share : 1) +
                         drift_of(&drift) * square + UNDER_ROOT * k->u;
    e.rounded = under < 1 ? under / (2 * (1 - under)) + OF_ROOT * k->u : INFINITY;
    e.stored = isfinite(sum) ? square * k->stored * walk(k->r->independent, sum, fourth) : 0;
    return e;
}

/* The loss of products of three factors, one of them subnormal, by underflow in any order of
 * multiplication: each of two products once, the first times the factor that is left. */
static double underflows(double inverse, double other) {
    return 1 + fmax(1, fmax(inverse, fabs(other)));
}

assay_status rmsnorm_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    const rule k = rule_of(&s, r);
    const double *h = s.residual ? want->data[RMSNORM_H] : args->in->data[RMSNORM_X];
    for (int64_t i = 0; i < s.rows; ++i) {
        const row_error e = row_error_of(&s, &k, h + i * s.d);
        const double relative =
            assay_compound(assay_compound(e.rounded, e.stored), k.stored + 2 * k.u);
        for (int64_t j = i * s.d; j < (i + 1) * s.d; ++j) {
            const double y = want->data[RMSNORM_Y][j];
            const double lost = underflows(e.inverse, args->in->data[s.w][j - i * s.d]);
            bounds->element.data[RMSNORM_Y][j] = assay_bound_element(r, relative, lost, fabs(y), y);
            if (s.residual)
                bounds->element.data[RMSNORM_H][j] =
                    assay_bound_element(r, k.u, 1, fabs(h[j]), h[j]);
        }
    }
    snprintf(bounds->why[RMSNORM_Y], ASSAY_WHY,
             "relative: half the error of a sum of d=%lld squares and its drift, %d roundings%s, "
             "u = 2^%.0f",
             (long long)s.d, UNDER_ROOT / 2 + OF_ROOT + 2,
             s.residual ? ", and h rounded as it is stored, alone and in the mean" : "",
             log2(r->u));
    if (s.residual)
        snprintf(bounds->why[RMSNORM_H], ASSAY_WHY, "one addition, u = 2^%.0f%s", log2(r->u),
                 r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* mean(g h) of a row times s³, which multiplies h in dx, and how far it may be off. */
typedef struct slope {
    double value, error;
    double lost; /* by underflow, in units of the accumulator's least number */
} slope;

/* Roundings of a term of mean(g h), made of dy, w, h and perhaps s; of the slope's other factors;
 * of each product in dx. */
enum { OF_TERM = 3, OF_SLOPE = 5, OF_PRODUCT = 3 };

/* A term's loss: the product of two of its four factors is multiplied by the other two, that of
 * three by the last. */
static double underflows_of_term(double inverse, double h, double dy, double w) {
    const double factor[] = {inverse, fabs(h), fabs(dy), fabs(w)};
    double pair = 1, largest = 1;
    for (int i = 0; i < 4; ++i) {
        largest = fmax(largest, factor[i]);
        for (int j = 0; j < i; ++j)
            pair = fmax(pair, factor[i] * factor[j]);
    }
    return pair + largest + 1;
}

static slope slope_of(const rmsnorm_sizes *s, const rule *k, const row_error *e, const double *h,
                      const double *dy, const double *w) {
    double along = 0, sum = 0, squares = 0, lost = 0;
    for (int64_t j = 0; j < s->d; ++j) {
        const double term = dy[j] * w[j] * (h[j] * e->inverse);
        lost += underflows_of_term(e->inverse, h[j], dy[j], w[j]);
        along += term;
        sum += fabs(term);
        squares += term * term;
    }
    const double square = e->inverse * e->inverse / (double)s->d;
    const double of_sum = assay_accumulation(k->r, (double)s->d + OF_TERM);
    const double once = assay_compound(e->rounded, e->stored);
    const double thrice = assay_compound(once, assay_compound(once, once));
    return (slope){
        .value = square * along,
        .error = square * (of_sum * walk(k->r->zero_mean, sum, squares) +
                           k->stored * walk(k->r->independent, sum, squares) +
                           fabs(along) * (thrice + OF_SLOPE * k->u)),
        .lost = square * lost + fmax(1, e->inverse * e->inverse) + 1,
    };
}

/* What the columns of dw are made of, over the rows: terms, their squares, errors, their squares,
 * and how often they may underflow.
 */
enum { TERMS, TERM_SQUARES, ERRORS, ERROR_SQUARES, UNDERFLOWS, COLUMN_SUMS };

static void add_to_columns(const rmsnorm_sizes *s, const rule *k, const row_error *e,
                           const double *h, const double *dy, assay_arrays *columns) {
    const double relative = assay_compound(e->rounded, e->stored) + k->stored + OF_PRODUCT * k->u;
    for (int64_t j = 0; j < s->d; ++j) {
        const double term = fabs(dy[j] * (h[j] * e->inverse)), error = term * relative;
        columns->data[TERMS][j] += term;
        columns->data[TERM_SQUARES][j] += term * term;
        columns->data[ERRORS][j] += error;
        columns->data[ERROR_SQUARES][j] += error * error;
        columns->data[UNDERFLOWS][j] += underflows(e->inverse, dy[j]);
    }
}

static void bound_row(const rmsnorm_sizes *s, const rule *k, const row_error *e, const slope *c,
                      const assay_oracle_args *args, int64_t row, const double *want,
                      double *bound) {
    const double *w = args->in->data[s->w];
    const double of_inverse = assay_compound(e->rounded, e->stored) + OF_PRODUCT * k->u;
    for (int64_t j = 0; j < s->d; ++j) {
        const int64_t at = row * s->d + j;
        const double h = rmsnorm_normalised(s, args)[at],
                     dh = s->residual ? args->cot->data[RMSNORM_H][at] : 0;
        const double first = fabs(e->inverse * args->cot->data[RMSNORM_Y][at] * w[j]);
        const double second = fabs(h * c->value);
        const double error = first * of_inverse + fabs(h) * c->error +
                             second * (k->stored + OF_PRODUCT * k->u) +
                             k->u * (2 * (first + second) + fabs(dh));
        const double lost = underflows_of_term(e->inverse, 1, args->cot->data[RMSNORM_Y][at], w[j]);
        bound[at] = assay_bound_element(k->r, 1, lost + fabs(h) * c->lost, error, want[at]);
    }
}

static void write_why(const rmsnorm_sizes *s, const assay_rounding *r, assay_bounds *bounds) {
    snprintf(bounds->why[RMSNORM_X], ASSAY_WHY,
             "s g - s^3 h mean(g h): errors of s, of the sum over d=%lld, %s, and of each "
             "product, u = 2^%.0f%s",
             (long long)s->d, assay_why_magnitude(r), log2(r->u),
             s->residual ? "; h rounded as it is stored" : "");
    snprintf(bounds->why[s->w], ASSAY_WHY,
             "sum of dy x^ over %lld rows, %s, and the errors of each row's s, u = 2^%.0f%s",
             (long long)s->rows, assay_why_magnitude(r), log2(r->u),
             s->residual ? "; h rounded as it is stored" : "");
    if (s->residual)
        memcpy(bounds->why[RMSNORM_R], bounds->why[RMSNORM_X], ASSAY_WHY);
}

assay_status rmsnorm_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                    const assay_arrays *want, assay_bounds *bounds) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    const rule k = rule_of(&s, r);
    assay_arrays columns = {0};
    assay_status status = assay_arrays_init(&columns, COLUMN_SUMS);
    for (int32_t i = 0; status == ASSAY_OK && i < COLUMN_SUMS; ++i)
        status = assay_arrays_add(&columns, i, s.d);
    if (status != ASSAY_OK)
        goto done;
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *h = rmsnorm_normalised(&s, args) + i * s.d,
                     *dy = args->cot->data[RMSNORM_Y] + i * s.d;
        const row_error e = row_error_of(&s, &k, h);
        const slope c = slope_of(&s, &k, &e, h, dy, args->in->data[s.w]);
        bound_row(&s, &k, &e, &c, args, i, want->data[RMSNORM_X], bounds->element.data[RMSNORM_X]);
        add_to_columns(&s, &k, &e, h, dy, &columns);
    }
    const double of_sum = assay_accumulation(r, (double)s.rows);
    for (int64_t j = 0; j < s.d; ++j) {
        const double dw = want->data[s.w][j];
        const double terms =
            walk(r->zero_mean, columns.data[TERMS][j], columns.data[TERM_SQUARES][j]);
        const double errors =
            walk(r->independent, columns.data[ERRORS][j], columns.data[ERROR_SQUARES][j]);
        const double error = of_sum * terms + errors + IN_COMMON * k.u * fabs(dw);
        bounds->element.data[s.w][j] =
            assay_bound_element(r, 1, columns.data[UNDERFLOWS][j], error, dw);
    }
    rmsnorm_copy_to_residual(&s, &bounds->element);
    write_why(&s, r, bounds);
done:
    assay_arrays_clear(&columns);
    return status;
}
