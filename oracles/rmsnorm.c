/*
 * rmsnorm: x[n…, d], w[d] -> y[n…, d] = x / sqrt(mean(x²) + eps) ⊙ w, the mean over the last axis.
 * residual=1: x, r[n…, d], w -> y and h = x + r, and it is h that is normalised.
 *
 * Backward, given dy, with x̂ = h s, s = 1 / sqrt(mean(h²) + eps) and g = dy ⊙ w:
 * dh' = s g - s³ h mean(g h), dw = Σ over rows of dy x̂. Without residual dx = dh'; with it h has a
 * cotangent too, and dx = dr = dh + dh'.
 *
 * The stored h. A kernel stores h rounded to the dtype, and normalises what it stored. The oracle
 * rounds nothing: its h is the sum in fp64, and y is that of this h. So the bounds of h allow its
 * rounding, once to fp32 and once to the stored type, and those of y and the gradients what an h
 * that is off by so much in every element makes of them. A kernel that keeps an unrounded h in
 * registers for the norm is within them, too.
 *
 * With an Inf in a row s = 0: what the definition then says in IEEE arithmetic is what counts, 0
 * for the other elements of y and NaN for that one.
 */
#include "assay/problem.h"
#include "oracles/bound.h"
#include "oracles/draw.h"
#include "oracles/fill.h"
#include "oracles/relate.h"
#include "oracles/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_N, KEY_D, KEY_RESIDUAL, KEY_EPS };
enum { X, R };
enum { Y, H };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes of x, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the normalised axis"},
    {"residual", ASSAY_KEY_INT, "0", 0, 1, "1: normalises x + r, which is an output as well"},
    {"eps", ASSAY_KEY_REAL, "1e-5", 0, 0, "added to the mean of the squares"},
};

typedef struct sizes {
    int64_t rows, d;
    bool residual;
    int32_t w; /* which input w is: the last */
    double eps;
} sizes;

static sizes sizes_of(const assay_params *params) {
    sizes s = {.rows = rows_count(params),
               .d = params->item[KEY_D].value[0],
               .residual = params->item[KEY_RESIDUAL].value[0] == 1,
               .eps = params->item[KEY_EPS].real};
    s.w = s.residual ? 2 : 1;
    return s;
}

static assay_status legal(assay_params *params) {
    const double eps = params->item[KEY_EPS].real;
    if (!(eps >= 1e-12 && eps <= 1e6))
        return assay_fail(ASSAY_ERR_USAGE, "rmsnorm: eps=%g is not in 1e-12 to 1e6; use 1e-5", eps);
    return rows_legal("rmsnorm", params);
}

/* ---- tensors and data ---- */

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const sizes s = sizes_of(params);
    const assay_status status = assay_signature_init(sig, s.w + 1, s.residual ? 2 : 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = rows_spec("x", params);
    sig->out[Y] = rows_spec("y", params);
    if (s.residual) {
        sig->in[R] = rows_spec("r", params);
        sig->out[H] = rows_spec("h", params);
    }
    sig->in[s.w] = (assay_tensor_spec){.name = "w",
                                       .dtype = params->dtype,
                                       .rank = 1,
                                       .inner = 1,
                                       .shape = {s.d},
                                       .scale = 1,
                                       .differentiable = true};
    return ASSAY_OK;
}

/* huge: s is as small as it may be, so that s³ / d is a normal number. Squares overflow later. */
static int huge_power(const sizes *s, assay_dtype dtype) {
    enum { ROOM = 8 };
    return (fill_huge_power(dtype, ROOM) - (int)ceil(log2((double)s->d + 1))) / 3;
}

/* mean(g h) and the sums of dw cancel; with a residual, x and r do. */
static void make_cancel(assay_problem *p, const sizes *s) {
    fill_alternate(&p->sig.in[X], 1, ~0u, p->in.data[X]);
    fill_alternate(&p->sig.in[s->w], 1, 0, p->in.data[s->w]);
    fill_alternate(&p->sig.out[Y], 1, 0, p->cot.data[Y]);
    if (!s->residual)
        return;
    fill_alternate(&p->sig.in[R], 1, ~0u, p->in.data[R]);
    for (int64_t e = 0; e < p->in.size[R]; ++e)
        p->in.data[R][e] = -p->in.data[R][e];
}

static assay_status dress(assay_problem *p) {
    const sizes s = sizes_of(&p->c.params);
    const assay_fill fill = p->c.fill;
    for (int32_t i = X; i < s.w; ++i) {
        const assay_tensor_spec *spec = &p->sig.in[i];
        const int denormal = fill_denormal_power(spec->dtype), huge = huge_power(&s, spec->dtype);
        fill_scale(fill, ASSAY_FILL_DENORMAL, spec, denormal, p->in.data[i]);
        fill_scale(fill, ASSAY_FILL_HUGE, spec, huge, p->in.data[i]);
    }
    if (s.residual) /* dh as large as what it is added to */
        fill_scale(fill, ASSAY_FILL_HUGE, &p->sig.out[H], -huge_power(&s, p->c.params.dtype),
                   p->cot.data[H]);
    if (fill == ASSAY_FILL_CANCEL)
        make_cancel(p, &s);
    for (int64_t j = 0; fill == ASSAY_FILL_INITIAL && j < s.d; ++j)
        p->in.data[s.w][j] = 1;
    return ASSAY_OK;
}

static const char *mistrust(const assay_problem *p) {
    const sizes s = sizes_of(&p->c.params);
    for (int64_t j = 0; j < s.d; ++j)
        if (!(p->in.data[s.w][j] == 1))
            return NULL;
    return "w is 1 everywhere, so y and the gradients of a kernel that ignores it would be right";
}

/* Rows of one or two elements may be nearly 0: they get an eps that keeps them smooth. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    static const double eps[] = {1e-5, 1e-5, 1e-3, 0.25};
    assay_param *n = &params->item[KEY_N], *d = &params->item[KEY_D];
    int64_t room = (int64_t)fmin(budget, INT32_MAX);
    d->count = params->item[KEY_RESIDUAL].count = 1;
    d->value[0] = draw_extent(rng, room);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
    params->item[KEY_RESIDUAL].value[0] = assay_rng_between(rng, 0, 1);
    params->item[KEY_EPS].count = 0;
    params->item[KEY_EPS].real = d->value[0] <= 2 ? 0.25 : eps[assay_rng_between(rng, 0, 3)];
}

/* ---- the oracle ---- */

/* s of one row. */
static double inverse_of(const sizes *s, const double *h) {
    double sum = 0;
    for (int64_t j = 0; j < s->d; ++j)
        sum += h[j] * h[j];
    return 1 / sqrt(sum / (double)s->d + s->eps);
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *w = args->in->data[s.w], *h = args->in->data[X];
    if (s.residual) {
        for (int64_t e = 0; e < s.rows * s.d; ++e)
            result->data[H][e] = args->in->data[X][e] + args->in->data[R][e];
        h = result->data[H];
    }
    for (int64_t i = 0; i < s.rows; ++i, h += s.d) {
        const double inverse = inverse_of(&s, h);
        for (int64_t j = 0; j < s.d; ++j)
            result->data[Y][i * s.d + j] = h[j] * inverse * w[j];
    }
    return ASSAY_OK;
}

/* What is normalised, once the forward has run. */
static const double *normalised(const sizes *s, const assay_oracle_args *args) {
    return s->residual ? args->out->data[H] : args->in->data[X];
}

/* dr is dx. */
static void copy_to_residual(const sizes *s, assay_arrays *result) {
    if (s->residual)
        relate_copy(result->data[R], result->data[X], result->size[X]);
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *w = args->in->data[s.w];
    double *dw = result->data[s.w];
    memset(dw, 0, (size_t)s.d * sizeof *dw);
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *h = normalised(&s, args) + i * s.d, *dy = args->cot->data[Y] + i * s.d;
        double *dx = result->data[X] + i * s.d;
        const double inverse = inverse_of(&s, h);
        double along = 0;
        for (int64_t j = 0; j < s.d; ++j)
            along += dy[j] * w[j] * h[j];
        const double slope = inverse * inverse * inverse * along / (double)s.d;
        for (int64_t j = 0; j < s.d; ++j) {
            dx[j] = inverse * dy[j] * w[j] - h[j] * slope;
            dx[j] += s.residual ? args->cot->data[H][i * s.d + j] : 0;
            dw[j] += dy[j] * h[j] * inverse;
        }
    }
    copy_to_residual(&s, result);
    return ASSAY_OK;
}

/* ---- the twin: quotients by the root, and dx = (g - x̂ mean(g x̂)) / root ---- */

static double root_of(const sizes *s, const double *h) {
    double mean = 0;
    for (int64_t j = s->d - 1; j >= 0; --j)
        mean += h[j] * h[j] / (double)s->d;
    return sqrt(mean + s->eps);
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    double *h = s.residual ? result->data[H] : args->in->data[X];
    for (int64_t i = 0; i < s.rows; ++i) {
        for (int64_t j = i * s.d; s.residual && j < (i + 1) * s.d; ++j)
            h[j] = args->in->data[X][j] + args->in->data[R][j];
        const double root = root_of(&s, h + i * s.d);
        for (int64_t j = 0; j < s.d; ++j)
            result->data[Y][i * s.d + j] = args->in->data[s.w][j] * (h[i * s.d + j] / root);
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    memset(result->data[s.w], 0, (size_t)s.d * sizeof(double));
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *h = normalised(&s, args) + i * s.d, *dy = args->cot->data[Y] + i * s.d;
        const double root = root_of(&s, h);
        double mean = 0;
        for (int64_t j = s.d - 1; j >= 0; --j)
            mean += args->in->data[s.w][j] * dy[j] * (h[j] / root) / (double)s.d;
        for (int64_t j = 0; j < s.d; ++j) {
            const double unit = h[j] / root, dh = s.residual ? args->cot->data[H][i * s.d + j] : 0;
            result->data[X][i * s.d + j] =
                dh + (args->in->data[s.w][j] * dy[j] - unit * mean) / root;
            result->data[s.w][j] += dy[j] * unit;
        }
    }
    copy_to_residual(&s, result);
    return ASSAY_OK;
}

/* ---- bounds ---- */

/* Four standard deviations of a walk of independent errors, see bound.h. */
static const double excursion = 4.0;

static double walk(bool random, double sum, double squares) {
    return random ? fmin(sum, excursion * sqrt(squares)) : sum;
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

static rule rule_of(const sizes *s, const assay_rounding *r) {
    const double u = r->u + assay_dtype_unit(ASSAY_F64);
    return (rule){.r = r, .u = u, .stored = s->residual ? assay_compound(u, r->u_out) : 0};
}

/* Relative errors of a row's s. */
typedef struct row_error {
    double inverse; /* s */
    double rounded; /* by the kernel's operations */
    double stored;  /* by the rounding of h */
} row_error;

static row_error row_error_of(const sizes *s, const rule *k, const double *h) {
    const double d = (double)s->d;
    double sum = 0, fourth = 0;
    for (int64_t j = 0; j < s->d; ++j) {
        sum += h[j] * h[j];
        fourth += h[j] * h[j] * h[j] * h[j];
    }
    row_error e = {.inverse = 1 / sqrt(sum / d + s->eps)};
    /* The sum's share of what is under the root; all of it where that is Inf or NaN. */
    const double square = e.inverse * e.inverse / d, share = sum * square;
    const double under = assay_accumulation(k->r, d) * (share <= 1 ? share : 1) + UNDER_ROOT * k->u;
    e.rounded = under < 1 ? under / (2 * (1 - under)) + OF_ROOT * k->u : INFINITY;
    e.stored = isfinite(sum) ? square * k->stored * walk(k->r->independent, sum, fourth) : 0;
    return e;
}

/* What products of three factors, one of them subnormal, lose by underflow in whatever order they
 * are taken: each of two products once, the first times the factor that is left. */
static double underflows(double inverse, double other) {
    return 1 + fmax(1, fmax(inverse, fabs(other)));
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    const rule k = rule_of(&s, r);
    const double *h = s.residual ? want->data[H] : args->in->data[X];
    for (int64_t i = 0; i < s.rows; ++i) {
        const row_error e = row_error_of(&s, &k, h + i * s.d);
        const double relative =
            assay_compound(assay_compound(e.rounded, e.stored), k.stored + 2 * k.u);
        for (int64_t j = i * s.d; j < (i + 1) * s.d; ++j) {
            const double y = want->data[Y][j];
            const double lost = underflows(e.inverse, args->in->data[s.w][j - i * s.d]);
            bounds->element.data[Y][j] = assay_bound_element(r, relative, lost, fabs(y), y);
            if (s.residual)
                bounds->element.data[H][j] = assay_bound_element(r, k.u, 1, fabs(h[j]), h[j]);
        }
    }
    snprintf(bounds->why[Y], ASSAY_WHY,
             "relative: half the error of a sum of d=%lld squares, %d roundings%s, u = 2^%.0f",
             (long long)s.d, UNDER_ROOT / 2 + OF_ROOT + 2,
             s.residual ? ", and h rounded as it is stored, alone and in the mean" : "",
             log2(r->u));
    if (s.residual)
        snprintf(bounds->why[H], ASSAY_WHY, "one addition, u = 2^%.0f%s", log2(r->u),
                 r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* mean(g h) of a row times s³, which multiplies h in dx, and how far it may be off. */
typedef struct slope {
    double value, error;
} slope;

/* Roundings of a term of mean(g h), made of dy, w, h and perhaps s; of the slope's other factors;
 * of each product in dx. */
enum { OF_TERM = 3, OF_SLOPE = 5, OF_PRODUCT = 3 };

static slope slope_of(const sizes *s, const rule *k, const row_error *e, const double *h,
                      const double *dy, const double *w) {
    double along = 0, sum = 0, squares = 0;
    for (int64_t j = 0; j < s->d; ++j) {
        const double term = dy[j] * w[j] * h[j];
        along += term;
        sum += fabs(term);
        squares += term * term;
    }
    const double cube = e->inverse * e->inverse * e->inverse / (double)s->d;
    const double of_sum = assay_accumulation(k->r, (double)s->d + OF_TERM);
    const double once = assay_compound(e->rounded, e->stored);
    const double thrice = assay_compound(once, assay_compound(once, once));
    return (slope){
        .value = cube * along,
        .error = cube * (of_sum * walk(k->r->zero_mean, sum, squares) +
                         k->stored * walk(k->r->independent, sum, squares) +
                         fabs(along) * (thrice + OF_SLOPE * k->u)),
    };
}

/* What the columns of dw are made of, over the rows: terms, their squares, errors, their squares,
 * and how often they may underflow.
 */
enum { TERMS, TERM_SQUARES, ERRORS, ERROR_SQUARES, UNDERFLOWS, COLUMN_SUMS };

static void add_to_columns(const sizes *s, const rule *k, const row_error *e, const double *h,
                           const double *dy, assay_arrays *columns) {
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

static void bound_row(const sizes *s, const rule *k, const row_error *e, const slope *c,
                      const assay_oracle_args *args, int64_t row, const double *want,
                      double *bound) {
    const double *w = args->in->data[s->w];
    const double of_inverse = assay_compound(e->rounded, e->stored) + OF_PRODUCT * k->u;
    for (int64_t j = 0; j < s->d; ++j) {
        const int64_t at = row * s->d + j;
        const double h = normalised(s, args)[at], dh = s->residual ? args->cot->data[H][at] : 0;
        const double first = fabs(e->inverse * args->cot->data[Y][at] * w[j]);
        const double second = fabs(h * c->value);
        const double error = first * of_inverse + fabs(h) * c->error +
                             second * (k->stored + OF_PRODUCT * k->u) +
                             k->u * (2 * (first + second) + fabs(dh));
        bound[at] = assay_bound_element(k->r, 1, (double)s->d, error, want[at]);
    }
}

static void write_why(const sizes *s, const assay_rounding *r, assay_bounds *bounds) {
    snprintf(bounds->why[X], ASSAY_WHY,
             "s g - s^3 h mean(g h): errors of s, of the sum over d=%lld, %s, and of each "
             "product, u = 2^%.0f%s",
             (long long)s->d, assay_why_magnitude(r), log2(r->u),
             s->residual ? "; h rounded as it is stored" : "");
    snprintf(bounds->why[s->w], ASSAY_WHY,
             "sum of dy x^ over %lld rows, %s, and the errors of each row's s, u = 2^%.0f%s",
             (long long)s->rows, assay_why_magnitude(r), log2(r->u),
             s->residual ? "; h rounded as it is stored" : "");
    if (s->residual)
        memcpy(bounds->why[R], bounds->why[X], ASSAY_WHY);
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    const rule k = rule_of(&s, r);
    assay_arrays columns = {0};
    assay_status status = assay_arrays_init(&columns, COLUMN_SUMS);
    for (int32_t i = 0; status == ASSAY_OK && i < COLUMN_SUMS; ++i)
        status = assay_arrays_add(&columns, i, s.d);
    if (status != ASSAY_OK)
        goto done;
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *h = normalised(&s, args) + i * s.d, *dy = args->cot->data[Y] + i * s.d;
        const row_error e = row_error_of(&s, &k, h);
        const slope c = slope_of(&s, &k, &e, h, dy, args->in->data[s.w]);
        bound_row(&s, &k, &e, &c, args, i, want->data[X], bounds->element.data[X]);
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
    copy_to_residual(&s, &bounds->element);
    write_why(&s, r, bounds);
done:
    assay_arrays_clear(&columns);
    return status;
}

/* ---- relations ---- */

/* x, r and the square root of eps by 2^H_POWER leave x̂ as it is. dh is as large as what it is added
 * to. */
enum { H_POWER = 2, W_POWER = -1, DY_POWER = 3, DH_POWER = DY_POWER + W_POWER - H_POWER };

static void scale(double *to, const double *from, int power, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        to[e] = ldexp(from[e], power);
}

static assay_status scale_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[KEY_EPS].real *= ldexp(1, 2 * H_POWER);
    return ASSAY_OK;
}

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t t = 0; t < base->in.count; ++t)
        scale(derived->in.data[t], base->in.data[t], t + 1 == base->in.count ? W_POWER : H_POWER,
              base->in.size[t]);
    for (int32_t t = 0; t < base->cot.count; ++t)
        scale(derived->cot.data[t], base->cot.data[t], t == Y ? DY_POWER : DH_POWER,
              base->cot.size[t]);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        scale(want->out.data[t], results->out.data[t], t == Y ? -W_POWER : -H_POWER,
              want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t)
        scale(want->grad.data[t], results->grad.data[t],
              t + 1 == want->grad.count ? -DY_POWER : -DH_POWER, want->grad.size[t]);
    return ASSAY_OK;
}

static void reverse_each(const assay_tensor_spec *specs, int32_t axis, const assay_arrays *from,
                         assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t)
        relate_reverse_axis(&specs[t], axis < specs[t].rank - 1 ? axis : specs[t].rank - 1,
                            from->data[t], to->data[t]);
}

/* Reverses the first axis of everything but w. */
static void reverse_batch(const assay_tensor_spec *specs, const assay_arrays *from,
                          assay_arrays *to) {
    reverse_each(specs, 0, from, to);
    const int32_t last = to->count - 1;
    if (specs[last].rank == 1)
        relate_copy(to->data[last], from->data[last], to->size[last]);
}

static bool has_batch(const assay_case *c) {
    return c->params.item[KEY_N].count > 0;
}

static assay_status reverse_rows(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    reverse_batch(base->sig.in, &base->in, &derived->in);
    reverse_batch(base->sig.out, &base->cot, &derived->cot);
    return ASSAY_OK;
}

static assay_status unreverse_rows(const assay_problem *base, const assay_problem *derived,
                                   const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_batch(base->sig.out, &results->out, &want->out);
    reverse_batch(base->sig.in, &results->grad, &want->grad);
    return ASSAY_OK;
}

static assay_status reverse_columns(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    reverse_each(base->sig.in, ASSAY_MAX_RANK, &base->in, &derived->in);
    reverse_each(base->sig.out, ASSAY_MAX_RANK, &base->cot, &derived->cot);
    return ASSAY_OK;
}

static assay_status unreverse_columns(const assay_problem *base, const assay_problem *derived,
                                      const assay_results *results, assay_results *want) {
    (void)derived;
    reverse_each(base->sig.out, ASSAY_MAX_RANK, &results->out, &want->out);
    reverse_each(base->sig.in, ASSAY_MAX_RANK, &results->grad, &want->grad);
    return ASSAY_OK;
}

static assay_status double_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[KEY_D].value[0] *= 2;
    return ASSAY_OK;
}

/* Each row, then the same again. */
static void repeat_rows(int64_t d, const assay_arrays *from, assay_arrays *to) {
    for (int32_t t = 0; t < from->count; ++t)
        for (int64_t e = 0; e < from->size[t]; e += d)
            for (int64_t half = 0; half < 2; ++half)
                relate_copy(to->data[t] + 2 * e + half * d, from->data[t] + e, d);
}

static assay_status repeat_columns(const assay_problem *base, int32_t i, assay_problem *derived) {
    const int64_t d = base->c.params.item[KEY_D].value[0];
    (void)i;
    repeat_rows(d, &base->in, &derived->in);
    repeat_rows(d, &base->cot, &derived->cot);
    return ASSAY_OK;
}

static void second_half(int64_t d, const assay_arrays *from, assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t)
        for (int64_t e = 0; e < to->size[t]; e += d)
            relate_copy(to->data[t] + e, from->data[t] + 2 * e + d, d);
}

static assay_status keep_half(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    const int64_t d = base->c.params.item[KEY_D].value[0];
    (void)derived;
    second_half(d, &results->out, &want->out);
    second_half(d, &results->grad, &want->grad);
    return ASSAY_OK;
}

static assay_status split_cotangents(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    for (int32_t t = 0; t < derived->cot.count; ++t)
        relate_keep_part(&derived->cot, t, i);
    return ASSAY_OK;
}

static assay_status add_gradients(const assay_problem *base, const assay_problem *derived,
                                  const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        relate_copy(want->out.data[t], results->out.data[t], want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t)
        for (int64_t e = 0; e < want->grad.size[t]; ++e)
            want->grad.data[t][e] = results[0].grad.data[t][e] + results[1].grad.data[t][e];
    return ASSAY_OK;
}

static bool has_residual(const assay_case *c) {
    return sizes_of(&c->params).residual;
}

static assay_status swap_terms(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    relate_copy(derived->in.data[X], base->in.data[R], base->in.size[R]);
    relate_copy(derived->in.data[R], base->in.data[X], base->in.size[X]);
    return ASSAY_OK;
}

static assay_status unswap_terms(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        relate_copy(want->out.data[t], results->out.data[t], want->out.size[t]);
    for (int32_t t = 0; t < want->grad.count; ++t) {
        const int32_t from = t == X ? R : t == R ? X : t;
        relate_copy(want->grad.data[t], results->grad.data[from], want->grad.size[t]);
    }
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "power_of_two_scaling",
     .why = "x and r by 4, eps by 16, w by 1/2, dy by 8, dh by 1: results scale, bit for bit",
     .exact = true,
     .applies = relate_keeps_bits,
     .n_derived = 1,
     .derive_case = scale_case,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "row_permutation",
     .why = "reversing the batch reverses y, h, dx and dr, dw stays",
     .applies = has_batch,
     .n_derived = 1,
     .derive = reverse_rows,
     .predict = unreverse_rows},
    {.name = "column_permutation",
     .why = "reversing the columns of all tensors reverses those of every result",
     .n_derived = 1,
     .derive = reverse_columns,
     .predict = unreverse_columns},
    {.name = "column_duplication",
     .why = "every column twice leaves the mean of squares, and so every result, as it was",
     .n_derived = 1,
     .derive_case = double_case,
     .derive = repeat_columns,
     .predict = keep_half},
    {.name = "cotangent_linearity",
     .why = "dy = dya + dyb, dh = dha + dhb: every gradient is the sum of theirs",
     .n_derived = 2,
     .derive = split_cotangents,
     .predict = add_gradients},
    {.name = "commutativity",
     .why = "x and r exchanged: h and y stay, dx is dr, bit for bit",
     .exact = true,
     .applies = has_residual,
     .n_derived = 1,
     .derive = swap_terms,
     .predict = unswap_terms},
};

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16 d=128 residual=0,1 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "n=5x7 d=33 residual=0,1 dtype=f32,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=3 d=200 residual=0,1 eps=0.25 dtype=f64 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=9 d=300 residual=1 dtype=f32,bf16 fill=uniform sched=warp"},
    {ASSAY_SMOKE, "n=6 d=65 residual=1 dtype=f32,bf16 fill=positive sched=reverse seed=2"},
    {ASSAY_SMOKE, "n=none d=7 residual=1 eps=0.25 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "n=5 d=37 dtype=f32 fill=inf,nan seed=0,1"},
    /* not in w: dx would be NaN throughout, whatever dh is */
    {ASSAY_SMOKE, "n=5 d=37 residual=1 dtype=bf16 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11 d=22 residual=1 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "n=1,2,31,33 d=2,3,4,5,8,31,32,127,129,257 eps=0.25 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,70 d=31,511,513,1025 residual=0,1 dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7 d=255,1023,1024,1025 residual=0,1 dtype=f32,bf16 pad=1 misalign=5 seed=2"},
    {ASSAY_CI, "n=130 d=24 residual=0,1 dtype=f32,f64,bf16 sched=warp"},
    {ASSAY_CI, "n=5 d=768 residual=0,1 dtype=f32,bf16 eps=1e-6"},
    {ASSAY_CI, "n=2 d=4095,4100,9000 residual=0,1 dtype=f32,f64,bf16 sched=random"},
    {ASSAY_CI, "n=600 d=9 residual=1 dtype=f32,bf16 pad=7 sched=reverse"},
    {ASSAY_CI, "n=40 d=70 residual=0,1 dtype=f32,f64 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12 d=38 residual=0,1 dtype=f32,f64,bf16 fill=cancel,wide,denormal,huge,zeros"},
    {ASSAY_CI, "n=12 d=38 residual=1 dtype=f32,f64,bf16 fill=mixed"},
    {ASSAY_NIGHTLY, "n=256 d=768,1600,2560 residual=0,1 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=2 d=100000 residual=0,1 dtype=f32,f64 seed=3"},
    {ASSAY_NIGHTLY, "n=20000 d=3 residual=0,1 dtype=f32,f64 seed=3"},
    {ASSAY_EDGE, "n=0,3x0 d=5 residual=0,1 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none,0 d=0 residual=0,1 dtype=f32,bf16"},
    /* right, and no proof that w was used */
    {ASSAY_EDGE, "n=5 d=40 residual=0,1 dtype=f32,f64,bf16 fill=initial"},
    {ASSAY_BENCH, "n=4x1024 d=768,1600,2560 residual=0,1 dtype=f32,bf16"},
};

const assay_op assay_op_rmsnorm = {
    .name = "rmsnorm",
    .forward_formula = "y = h / sqrt(mean(h^2) + eps) w over the last axis, h = x or x + r",
    .backward_formula = "g = dy w, dx = s g - s^3 h mean(g h) [+ dh = dr], dw = sum of dy h s, "
                        "s = 1 / sqrt(mean(h^2) + eps)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_INITIAL),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
    .dress = dress,
    .mistrust = mistrust,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
