/*
 * layernorm: x (n…, d), w (d), b (d) -> y (n…, d) = (x - m) s ⊙ w + b, with m the mean of the last
 * axis, s = 1 / sqrt(v + eps) and v the mean of (x - m)².
 *
 * Backward, given dy, with x̂ = (x - m) s and g = dy ⊙ w: dx = s (g - mean(g) - x̂ mean(g x̂)),
 * dw = Σ over rows of dy x̂, db = Σ over rows of dy.
 *
 * v is that of two passes, or Welford's. E[x²] - m² cancels where m is large beside the deviation:
 * its errors are not within the bounds there, and kernels that use it fail.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/approx.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate_rows.h"
#include "oracles/common/rows.h"
#include "oracles/common/twofold.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_N, KEY_D, KEY_EPS };
enum { X, W, B };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes of x, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the normalised axis"},
    {"eps", ASSAY_KEY_REAL, "1e-5", 1e-12, 1e6, "added to the variance"},
};

typedef struct sizes {
    int64_t rows, d;
    double eps;
} sizes;

static sizes sizes_of(const assay_params *params) {
    return (sizes){rows_count(params), params->item[KEY_D].value[0], params->item[KEY_EPS].real};
}

static assay_status legal(assay_params *params) {
    return rows_legal("layernorm", params);
}

/* ---- tensors and data ---- */

static assay_tensor_spec vector(const char *name, const assay_params *params) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = 1,
                              .inner = 1,
                              .shape = {params->item[KEY_D].value[0]},
                              .scale = 1,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 3, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = rows_spec("x", params);
    sig->in[W] = vector("w", params);
    sig->in[B] = vector("b", params);
    sig->out[Y] = rows_spec("y", params);
    return ASSAY_OK;
}

/* huge: the sum of squares still has room. */
static int huge_power(const sizes *s, assay_dtype dtype) {
    enum { ROOM = 8 };
    const int bits = (fill_huge_power(dtype, ROOM) - (int)ceil(log2((double)s->d + 1))) / 2 - 1;
    return bits > 0 ? bits : 0;
}

/* negative: a mean far from 0. cancel: mean(g) is nearly each g. denormal: dy. */
static assay_status dress(assay_problem *p) {
    const sizes s = sizes_of(&p->c.params);
    const assay_tensor_spec *x = &p->sig.in[X], *dy = &p->sig.out[Y];
    fill_scale(p->c.fill, ASSAY_FILL_HUGE, x, huge_power(&s, x->dtype), p->in.data[X]);
    for (int64_t e = 0; p->c.fill == ASSAY_FILL_NEGATIVE && e < p->in.size[X]; ++e)
        p->in.data[X][e] = assay_dtype_round(x->dtype, p->in.data[X][e] - 64);
    if (p->c.fill == ASSAY_FILL_CANCEL) {
        fill_alternate(&p->sig.in[W], 1, 0, p->in.data[W]);
        fill_alternate(dy, 1, 0, p->cot.data[Y]);
    }
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, dy, fill_denormal_power(dy->dtype), p->cot.data[Y]);
    return ASSAY_OK;
}

/* Rows of few elements may be nearly equal: they get an eps that keeps them smooth. Of one element
 * the result is b, and of one row db is dy. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    static const double eps[] = {1e-5, 1e-5, 1e-3, 0.25};
    assay_param *n = &params->item[KEY_N], *d = &params->item[KEY_D];
    int64_t room = (int64_t)fmin(budget / 8, INT32_MAX);
    d->count = 1;
    d->value[0] = 1 + draw_extent(rng, room - 1);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 1, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = (i == 0) + draw_extent(rng, room - (i == 0));
        room /= n->value[i];
    }
    params->item[KEY_EPS].count = 0;
    params->item[KEY_EPS].real = d->value[0] <= 4 ? 0.25 : eps[assay_rng_between(rng, 0, 3)];
}

/* ---- the oracle ---- */

typedef struct moments {
    double mean, scale;
} moments;

static moments moments_of(const sizes *s, const double *x) {
    twofold sum = {0}, squares = {0};
    for (int64_t j = 0; j < s->d; ++j)
        twofold_add(&sum, x[j]);
    const double mean = twofold_value(sum) / (double)s->d;
    for (int64_t j = 0; j < s->d; ++j)
        twofold_add_product(&squares, x[j] - mean, x[j] - mean);
    return (moments){mean, 1 / sqrt(twofold_value(squares) / (double)s->d + s->eps)};
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *w = args->in->data[W], *b = args->in->data[B];
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *x = args->in->data[X] + i * s.d;
        const moments m = moments_of(&s, x);
        for (int64_t j = 0; j < s.d; ++j)
            result->data[Y][i * s.d + j] = (x[j] - m.mean) * m.scale * w[j] + b[j];
    }
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *w = args->in->data[W];
    double *dw = result->data[W], *db = result->data[B];
    memset(dw, 0, (size_t)s.d * sizeof *dw);
    memset(db, 0, (size_t)s.d * sizeof *db);
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *x = args->in->data[X] + i * s.d, *dy = args->cot->data[Y] + i * s.d;
        double *dx = result->data[X] + i * s.d;
        twofold sums = {0}, products = {0};
        const moments m = moments_of(&s, x);
        for (int64_t j = 0; j < s.d; ++j) {
            const double unit = (x[j] - m.mean) * m.scale;
            twofold_add_product(&sums, dy[j], w[j]);
            twofold_add_product(&products, dy[j] * w[j], unit);
            dw[j] += dy[j] * unit;
            db[j] += dy[j];
        }
        const double sum = twofold_value(sums) / (double)s.d;
        const double along = twofold_value(products) / (double)s.d;
        for (int64_t j = 0; j < s.d; ++j)
            dx[j] = m.scale * (dy[j] * w[j] - sum - (x[j] - m.mean) * m.scale * along);
    }
    return ASSAY_OK;
}

/* ---- the twin: quotients by the root; dx by the derivatives of mean and variance ---- */

static double mean_of(const double *x, int64_t d) {
    double mean = 0;
    for (int64_t j = d - 1; j >= 0; --j)
        mean += x[j] / (double)d;
    return mean;
}

static double variance_of(const double *x, int64_t d) {
    const double mean = mean_of(x, d);
    double variance = 0;
    for (int64_t j = d - 1; j >= 0; --j)
        variance += (x[j] - mean) * (x[j] - mean) / (double)d;
    return variance;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *x = args->in->data[X] + i * s.d;
        const double mean = mean_of(x, s.d), root = sqrt(variance_of(x, s.d) + s.eps);
        for (int64_t j = 0; j < s.d; ++j)
            result->data[Y][i * s.d + j] =
                args->in->data[B][j] + args->in->data[W][j] * ((x[j] - mean) / root);
    }
    return ASSAY_OK;
}

/* dv = -Σ g (x - m) / (2 root³), dm = -Σ g / root, dx = g / root + dv 2 (x - m) / d + dm / d. */
static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *w = args->in->data[W], d = (double)s.d;
    for (int64_t j = 0; j < s.d; ++j)
        result->data[W][j] = result->data[B][j] = 0;
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *x = args->in->data[X] + i * s.d, *dy = args->cot->data[Y] + i * s.d;
        const double mean = mean_of(x, s.d), root = sqrt(variance_of(x, s.d) + s.eps);
        double by_mean = 0, by_variance = 0;
        for (int64_t j = s.d - 1; j >= 0; --j) {
            by_mean -= dy[j] * w[j] / root;
            by_variance -= dy[j] * w[j] * ((x[j] - mean) / root) / (2 * root * root);
        }
        for (int64_t j = 0; j < s.d; ++j) {
            result->data[X][i * s.d + j] =
                dy[j] * w[j] / root + by_variance * 2 * (x[j] - mean) / d + by_mean / d;
            result->data[W][j] += dy[j] * ((x[j] - mean) / root);
            result->data[B][j] += dy[j];
        }
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

typedef struct approx_moments {
    approx mean, scale;
} approx_moments;

/* The mean's error is taken at its worst in each term of the variance, which allows Welford's. */
static approx_moments bound_moments(const assay_rounding *r, const sizes *s, const double *x) {
    const moments m = moments_of(s, x);
    const approx count = approx_exact((double)s->d);
    double about = 0, squares = 0;
    for (int64_t j = 0; j < s->d; ++j) {
        about += fabs(x[j]);
        squares += (x[j] - m.mean) * (x[j] - m.mean);
    }
    approx_sum sum = approx_sum_begin(r, (double)s->d, r->zero_mean ? 0 : about);
    for (int64_t j = 0; j < s->d; ++j)
        approx_sum_add(&sum, approx_exact(x[j]));
    const approx mean = approx_div(r, approx_sum_end(r, &sum), count);
    approx_sum of_squares = approx_sum_begin(r, (double)s->d, squares);
    for (int64_t j = 0; j < s->d; ++j) {
        const approx centred = approx_sub(r, approx_exact(x[j]), mean);
        approx_sum_add(&of_squares, approx_mul(r, centred, centred));
    }
    const approx variance = approx_div(r, approx_sum_end(r, &of_squares), count);
    /* eps is rounded to the accumulator, and added. */
    const approx under = approx_rounded(r, variance.value + s->eps, variance.error, 2);
    approx scale = approx_rsqrt(r, under);
    /* A sum of squares is never below 0, so that the scale is in 0 to 1 / sqrt(eps). */
    if (isfinite(scale.value) && !(scale.error <= 1 / sqrt(s->eps)))
        scale.error = 1 / sqrt(s->eps);
    return (approx_moments){mean, scale};
}

static approx unit_of(const assay_rounding *r, const approx_moments *m, double x) {
    return approx_mul(r, approx_sub(r, approx_exact(x), m->mean), m->scale);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *x = args->in->data[X] + i * s.d;
        const approx_moments m = bound_moments(r, &s, x);
        for (int64_t j = 0; j < s.d; ++j) {
            const approx product =
                approx_mul(r, unit_of(r, &m, x[j]), approx_exact(args->in->data[W][j]));
            const approx y = approx_add(r, product, approx_exact(args->in->data[B][j]));
            bounds->element.data[Y][i * s.d + j] = approx_bound(r, y, want->data[Y][i * s.d + j]);
        }
    }
    snprintf(bounds->why[Y], ASSAY_WHY,
             "errors of the mean, %s, and of the variance of d=%lld, by two passes or Welford's, "
             "and 4 roundings, u = 2^%.0f%s",
             assay_why_magnitude(r), (long long)s.d, log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* Sums of the columns of dw and db. */
typedef struct columns {
    approx_sum *w, *b;
} columns;

static assay_status columns_init(columns *c, const assay_rounding *r, const sizes *s,
                                 const double *dy) {
    *c = (columns){calloc((size_t)s->d + 1, sizeof *c->w), calloc((size_t)s->d + 1, sizeof *c->b)};
    if (c->w == NULL || c->b == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the bounds of dw and db");
    for (int64_t j = 0; j < s->d; ++j) {
        double about = 0;
        for (int64_t i = 0; !r->zero_mean && i < s->rows; ++i)
            about += fabs(dy[i * s->d + j]);
        c->w[j] = approx_sum_begin(r, (double)s->rows, 0);
        c->b[j] = approx_sum_begin(r, (double)s->rows, about);
    }
    return ASSAY_OK;
}

static void bound_row(const assay_rounding *r, const sizes *s, const assay_oracle_args *args,
                      int64_t i, const double *want, double *bound, columns *c) {
    const double *x = args->in->data[X] + i * s->d, *dy = args->cot->data[Y] + i * s->d,
                 *w = args->in->data[W];
    const approx_moments m = bound_moments(r, s, x);
    const approx count = approx_exact((double)s->d);
    double about = 0;
    for (int64_t j = 0; !r->zero_mean && j < s->d; ++j)
        about += fabs(dy[j] * w[j]);
    approx_sum sum = approx_sum_begin(r, (double)s->d, about);
    approx_sum along = approx_sum_begin(r, (double)s->d, 0);
    for (int64_t j = 0; j < s->d; ++j) {
        const approx unit = unit_of(r, &m, x[j]);
        const approx g = approx_mul(r, approx_exact(dy[j]), approx_exact(w[j]));
        approx_sum_add(&sum, g);
        approx_sum_add(&along, approx_mul(r, g, unit));
        approx_sum_add(&c->w[j], approx_mul(r, approx_exact(dy[j]), unit));
        approx_sum_add(&c->b[j], approx_exact(dy[j]));
    }
    const approx mean = approx_div(r, approx_sum_end(r, &sum), count);
    const approx slope = approx_div(r, approx_sum_end(r, &along), count);
    for (int64_t j = 0; j < s->d; ++j) {
        const approx unit = unit_of(r, &m, x[j]);
        const approx g = approx_mul(r, approx_exact(dy[j]), approx_exact(w[j]));
        const approx rest = approx_sub(r, approx_sub(r, g, mean), approx_mul(r, unit, slope));
        bound[i * s->d + j] = approx_bound(r, approx_mul(r, m.scale, rest), want[i * s->d + j]);
    }
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    columns c;
    const assay_status status = columns_init(&c, r, &s, args->cot->data[Y]);
    if (status != ASSAY_OK)
        goto done;
    for (int64_t i = 0; i < s.rows; ++i)
        bound_row(r, &s, args, i, want->data[X], bounds->element.data[X], &c);
    for (int64_t j = 0; j < s.d; ++j) {
        bounds->element.data[W][j] = approx_bound(r, approx_sum_end(r, &c.w[j]), want->data[W][j]);
        bounds->element.data[B][j] = approx_bound(r, approx_sum_end(r, &c.b[j]), want->data[B][j]);
    }
    snprintf(bounds->why[X], ASSAY_WHY,
             "s (g - mean(g) - x^ mean(g x^)): errors of mean, variance and of both sums over "
             "d=%lld, %s, u = 2^%.0f%s",
             (long long)s.d, assay_why_magnitude(r), log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    snprintf(bounds->why[W], ASSAY_WHY,
             "sum of dy x^ over %lld rows, %s, and the errors of each row's x^, u = 2^%.0f%s",
             (long long)s.rows, assay_why_magnitude(r), log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    assay_why_sum(r, (double)s.rows, "dy", bounds->why[B]);
done:
    free(c.w);
    free(c.b);
    return status;
}

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const double x = range_largest(args->in, X), w = range_largest(args->in, W),
                 b = range_largest(args->in, B), dy = range_largest(args->cot, Y);
    const sizes s = sizes_of(args->params);
    const double d = (double)s.d, unit = sqrt(d), squares = range_of_sum(r, d, 4 * x * x);
    const double scale = 1 / sqrt(s.eps);
    const double slope = range_of_sum(r, d, dy * w * unit);
    range_hold(r, fmax(squares, w * unit + b), "a sum of (x - m)^2, or x^ w + b", out, Y);
    range_hold(r, fmax(squares, 4 * fmax(scale, 1) * fmax(slope * unit, dy * w)),
               "a sum of (x - m)^2, or s x^ sum(g x^)", grad, X);
    range_hold(r, fmax(squares, range_of_sum(r, (double)s.rows, dy * unit)), "a sum of dy x^", grad,
               W);
    range_hold(r, range_of_sum(r, (double)s.rows, dy), "a sum of dy", grad, B);
    return ASSAY_OK;
}

/* ---- relations ---- */

/* y = x̂·w + b: the weight of a column has to do with that column of y alone. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    (void)i;
    return (relate_link){
        .in = W, .in_axis = 0, .out_axis = base->sig.out[Y].rank - 1, .added = 1u << B};
}
RELATE_LINKS(link_of, 1);

static const assay_relation relations[] = {
    RELATE_ROWS_SHIFT,
    RELATE_ROWS_PERMUTATIONS,
    RELATE_ROWS_COTANGENTS,
    RELATE_ADJOINT,
};

/* ---- work ---- */

/* Forward: two sums, two products and two sums more. Backward: two more sums over the row, two over
 * the column, and dx. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const sizes s = sizes_of(params);
    const double elements = (double)s.rows * (double)s.d;
    work->flops = work->least = (stage == ASSAY_FORWARD ? 8 : 16) * elements;
    if (stage == ASSAY_BACKWARD) /* not b */
        work->read -= (double)s.d * (double)assay_dtype_size(sig->in[B].dtype);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16 d=96 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=5x7 d=33 dtype=f32,f64,bf16,f16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=9 d=40 eps=0.25 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=11 d=65 dtype=f32,f64,bf16,f16 fill=huge,negative"},
    {ASSAY_SMOKE, "n=7 d=50 dtype=bf16 fill=uniform,positive sched=warp"},
    {ASSAY_SMOKE, "n=2 d=19 dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=5 d=37 dtype=f32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11 d=13 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_SMOKE, "n=2 d=4103 dtype=f32"}, /* longer than what kernels hold in backward */
    {ASSAY_CI, "n=2,31,33 d=2,3,4,5,7,8,9 eps=0.25 dtype=f32"},
    {ASSAY_CI, "n=2,3,31,33 d=31,33,255,257 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,70 d=31,511,513,1025 dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7 d=1023,1024,1025 dtype=f32,bf16,f16 pad=1 misalign=5 seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5 d=64 dtype=f32,bf16 pad=0,8 misalign=8:15:1"},
    {ASSAY_CI, "n=40 d=130 dtype=f32,f64,bf16,f16 fill=huge,negative,uniform pad=8"},
    {ASSAY_CI, "n=3 d=4096,4097,5000 dtype=f32,bf16 sched=warp"},
    {ASSAY_CI, "n=3 d=2049 dtype=f64 sched=reverse"},
    /* several teams of v3, and several turns of each */
    {ASSAY_CI, "n=37 d=264 dtype=f32,f64,bf16,f16"},
    {ASSAY_CI, "n=21 d=264 dtype=f32,bf16 pad=1 misalign=5 sched=random"},
    {ASSAY_CI, "n=2 d=5125 dtype=f64"}, /* longer than what kernels hold */
    {ASSAY_CI, "n=2 d=11271 dtype=f32"},
    {ASSAY_CI, "n=2 d=20489 dtype=bf16"},
    {ASSAY_CI, "n=40 d=70 dtype=f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12 d=21 dtype=f32,f64,bf16,f16 fill=cancel,wide,denormal,zeros,mixed"},
    {ASSAY_NIGHTLY, "n=64 d=4096,10240 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=1000 d=997 dtype=f64,f32,bf16 fill=normal,huge pad=5 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f32,bf16 operand=0:3 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f16 operand=0:3 " RANGE_F16},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f64 operand=0:3 " RANGE_F64},
    {ASSAY_EDGE, "n=0,3x0 d=5 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none,0 d=0,1 dtype=f32,bf16"},
    {ASSAY_EDGE, "n=none,1 d=33 dtype=f32,bf16"}, /* of one row db is dy */
    {ASSAY_BENCH, "n=4x1024 d=1024,4096,8192 dtype=f32,bf16"},
};

const assay_op assay_op_layernorm = {
    .name = "layernorm",
    .forward_formula = "y = (x - m) s w + b, m = mean x, s = 1 / sqrt(mean (x - m)^2 + eps)",
    .backward_formula =
        "dx = s (g - mean g - x^ mean(g x^)), x^ = (x - m) s, g = dy w; dw = sum dy "
        "x^, db = sum dy over rows",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_NEGATIVE),
    .legal = legal,
    .signature = signature,
    .dress = dress,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
    .outside = outside,
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
