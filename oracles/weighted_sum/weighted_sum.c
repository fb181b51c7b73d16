/*
 * weighted_sum: x (n…, d), w (d) -> y (n…) = sum over j of x[…, j] w[j].
 *
 * Backward, given dy: dx[i, j] = dy[i] w[j], dw[j] = sum over i of dy[i] x[i, j].
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "core/parallel.h"
#include "oracles/common/blas.h"
#include "oracles/common/bound.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/rows.h"

#include <math.h>
#include <string.h>

enum { X, W };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes of x, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the summed axis"},
};

static assay_status legal(assay_params *params) {
    return rows_legal("weighted_sum", params);
}

/*
 * Largest odd integers for fill=exact. With |x| <= X, |w|, |dy| <= S every sum of absolute values
 * is at most max(rows, d) X S, which must fit the accumulator. Most of the room goes to x, so that
 * it has bits which TF32 and bf16 would lose.
 */
static void exact_limits(const assay_params *params, int64_t rows, int64_t d, double *x,
                         double *small) {
    const int p = params->dtype == ASSAY_F64 ? 53 : 24;
    const double terms = (double)(rows > d ? rows : d);
    const double room = ldexp(1.0, p) / (terms > 1 ? terms : 1);
    *small = floor(fmin(sqrt(sqrt(room)), 127.0));
    *x = *small >= 1 ? floor(room / *small) : 0;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 2, 1);
    if (status != ASSAY_OK)
        return status;
    const assay_param *n = assay_params_find(params, "n");
    const int64_t d = assay_params_int(params, "d");
    double x_limit, small_limit;
    exact_limits(params, rows_count(params), d, &x_limit, &small_limit);

    sig->in[X] = (assay_tensor_spec){
        .name = "x", .rank = n->count + 1, .inner = 1, .scale = 1.0, .exact_limit = x_limit};
    sig->in[W] = (assay_tensor_spec){
        .name = "w", .rank = 1, .inner = 1, .shape = {d}, .scale = 1.0, .exact_limit = small_limit};
    sig->out[Y] = (assay_tensor_spec){
        .name = "y", .rank = n->count, .inner = n->count > 0 ? 1 : 0, .exact_limit = small_limit};
    for (int32_t i = 0; i < n->count; ++i)
        sig->in[X].shape[i] = sig->out[Y].shape[i] = n->value[i];
    sig->in[X].shape[n->count] = d;
    sig->in[X].dtype = sig->in[W].dtype = sig->out[Y].dtype = params->dtype;
    sig->in[X].differentiable = sig->in[W].differentiable = sig->out[Y].differentiable = true;
    return ASSAY_OK;
}

/* x is a factor of every term of y and of dw. Its signs alternate along rows and columns, so that
 * both sums cancel. */
static assay_status dress(assay_problem *p) {
    enum { ROOM = 24 };
    const assay_fill fill = p->c.fill;
    fill_scale_factor(fill, &p->sig.in[X], ROOM, p->in.data[X]);
    if (fill == ASSAY_FILL_CANCEL) {
        fill_alternate(&p->sig.in[X], 1, ~0u, p->in.data[X]);
        fill_alternate(&p->sig.in[W], 1, 0, p->in.data[W]);
        fill_alternate(&p->sig.out[Y], 1, 0, p->cot.data[Y]);
    }
    if (fill == ASSAY_FILL_SINGLE) {
        const int64_t rows = rows_count(&p->c.params), d = assay_params_int(&p->c.params, "d");
        const fill_matrix x = {p->in.data[X], d, 1}, w = {p->in.data[W], 1, 1},
                          dy = {p->cot.data[Y], 1, 1}, none = {0};
        fill_single(p->c.params.dtype, p->c.seed, 1, rows, 1, d, x, w, dy, none);
    }
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    blas_gemm(false, false, rows, 1, d, args->in->data[X], d, args->in->data[W], 1, 0.0,
              result->data[Y], 1);
    return ASSAY_OK;
}

typedef struct outer {
    int64_t d;
    const double *dy, *w;
    double *dx;
} outer;

static void outer_piece(void *context, int64_t first, int64_t last) {
    const outer *o = context;
    for (int64_t e = first; e < last;) {
        const int64_t i = e / o->d, end = (i + 1) * o->d < last ? (i + 1) * o->d : last;
        for (; e < end; ++e)
            o->dx[e] = o->dy[i] * o->w[e - i * o->d];
    }
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    const double *x = args->in->data[X], *dy = args->cot->data[Y];
    outer o = {d, dy, args->in->data[W], result->data[X]};
    assay_parallel(rows * d, outer_piece, &o);
    blas_gemm(true, false, d, 1, rows, x, d, dy, 1, 0.0, result->data[W], 1);
    return ASSAY_OK;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    for (int64_t i = 0; i < rows; ++i) {
        result->data[Y][i] = 0;
        for (int64_t j = 0; j < d; ++j)
            result->data[Y][i] += args->in->data[X][i * d + j] * args->in->data[W][j];
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = assay_params_int(args->params, "d");
    memset(result->data[W], 0, (size_t)d * sizeof(double));
    for (int64_t i = 0; i < rows; ++i) {
        const double dy = args->cot->data[Y][i];
        for (int64_t j = 0; j < d; ++j) {
            result->data[X][i * d + j] = dy * args->in->data[W][j];
            result->data[W][j] += dy * args->in->data[X][i * d + j];
        }
    }
    return ASSAY_OK;
}

typedef struct sums {
    const assay_rounding *r;
    double phi, depth;
    const double *want;
    double *bound; /* at first the magnitudes */
} sums;

static void bound_piece(void *context, int64_t first, int64_t last) {
    const sums *s = context;
    for (int64_t e = first; e < last; ++e)
        s->bound[e] = assay_bound_element(s->r, s->phi, s->depth, s->bound[e], s->want[e]);
}

/* Replaces the magnitudes in bounds->element i by the bounds of sums of that depth. */
static void bound_sums(const assay_rounding *r, double depth, const char *term,
                       const assay_arrays *want, int32_t i, assay_bounds *bounds) {
    sums s = {r, assay_accumulation(r, depth), depth, want->data[i], bounds->element.data[i]};
    assay_parallel(want->size[i], bound_piece, &s);
    assay_why_sum(r, depth, term, bounds->why[i]);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const double d = (double)assay_params_int(args->params, "d");
    const assay_status status = assay_magnitudes(args, r, forward, &bounds->element);
    if (status == ASSAY_OK)
        bound_sums(r, d, "x_j w_j", want, Y, bounds);
    return status;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const assay_status status = assay_magnitudes(args, r, backward, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    bound_sums(r, 1, "one dy_i w_j", want, X, bounds);
    bound_sums(r, (double)rows_count(args->params), "dy_i x_ij", want, W, bounds);
    return ASSAY_OK;
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[0], *d = &params->item[1];
    int64_t room = (int64_t)fmin(budget, INT32_MAX);
    d->count = 1;
    d->value[0] = draw_extent(rng, room);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
}

/* ---- relations ---- */

/* The column that the unit vector w = e_j selects: an odd place, away from both ends if it can. */
static int64_t selected(const assay_problem *base) {
    return base->in.size[W] * 2 / 3;
}

static assay_status make_unit_w(assay_problem *base) {
    memset(base->in.data[W], 0, (size_t)base->in.size[W] * sizeof(double));
    base->in.data[W][selected(base)] = 1;
    return ASSAY_OK;
}

static assay_status select_column(const assay_problem *base, const assay_problem *derived,
                                  const assay_results *results, assay_results *want) {
    (void)derived;
    (void)results;
    const int64_t d = base->in.size[W], j = selected(base);
    for (int64_t i = 0; i < want->out.size[Y]; ++i) {
        want->out.data[Y][i] = base->in.data[X][i * d + j];
        want->grad.data[X][i * d + j] = base->cot.data[Y][i];
    }
    assay_arrays_drop(&want->grad, W);
    return ASSAY_OK;
}

static bool has_columns(const assay_case *c) {
    return assay_params_int(&c->params, "d") > 0;
}

enum { EXTRA_COLUMNS = 7 };

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[1].value[0] += EXTRA_COLUMNS;
    return ASSAY_OK;
}

static relate_link link_of(const assay_problem *base, int32_t i) {
    const int32_t axis = base->sig.out[Y].rank > 0 && i == X ? 0 : RELATE_WHOLE;
    return (relate_link){.in = i, .in_axis = axis, .out_axis = axis};
}
RELATE_LINKS(link_of, 2);

static const assay_relation relations[] = {
    RELATE_PRODUCT,
    RELATE_ADJOINT,
    {.name = "identity",
     .why = "w = e_j: y is column j of x, dx is dy in column j, bit for bit",
     .exact = true,
     .applies = has_columns,
     .prepare = make_unit_w,
     .predict = select_column},
    RELATE_PADDING(widen_case, "more columns, all zero, change nothing"),
};

/* ---- work ---- */

/* Backward: a product for dx, a multiply-add for dw. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    const double elements = (double)assay_spec_count(&sig->in[X]);
    work->flops = work->least = (stage == ASSAY_FORWARD ? 2 : 3) * elements;
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=64 d=128 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "n=5x7 d=33 dtype=f32,f64,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=17 d=70 dtype=f32,f64,bf16 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "n=none d=1 dtype=f32,bf16"},
    {ASSAY_SMOKE, "n=5 d=37 dtype=f32,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11 d=23 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_SMOKE, "n=9 d=37 dtype=f32,f64,bf16 fill=single seed=0,3"},
    {ASSAY_CI, "n=9 d=37 dtype=f32,f64,bf16 fill=single seed=1,2,4,5"},
    {ASSAY_CI, "n=1,2,31,32,33 d=1,7,32,129,1023 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,257 d=31,257 dtype=f64,bf16 fill=positive sched=reverse"},
    {ASSAY_CI, "n=40 d=513 dtype=f32,f64,bf16 pad=1 misalign=5 fill=uniform sched=warp seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5 d=64 dtype=f32,bf16 pad=8 misalign=8:13:1"},
    {ASSAY_CI, "n=256 d=512 dtype=f32,f64 fill=normal,exact"},
    {ASSAY_CI, "n=3 d=4300 dtype=f32,f64,bf16 seed=4"}, /* more than a warp takes of one row */
    {ASSAY_CI, "n=7 d=2060 dtype=f32 sched=reverse"},   /* the same, and a block has two rows */
    {ASSAY_CI, "n=7 d=1304 dtype=f32,bf16"}, /* a block has a row, two packs a thread or one */
    {ASSAY_CI, "n=3x5 d=1304 dtype=f32 pad=8"},
    {ASSAY_CI, "n=none,1x1 d=2,300 dtype=f64"},
    {ASSAY_CI, "n=3 d=14 dtype=bf16"},    /* rows of 28 bytes */
    {ASSAY_CI, "n=1030 d=516 dtype=f64"}, /* chunks of two strips, and dx apart */
    {ASSAY_CI, "n=1030 d=3,100 dtype=f32,bf16 pad=1"},
    {ASSAY_CI, "n=3x1400 d=260 dtype=f32,bf16 pad=4 sched=random"}, /* dx apart, and dy's rows */
    {ASSAY_CI, "n=1 d=540673 dtype=f64"}, /* one strip more than v3 wants blocks */
    {ASSAY_CI, "n=7x3 d=40 dtype=f32,f64,bf16 fill=cancel,wide,denormal,huge,zeros,mixed"},
    /* equal rows, equal elements */
    {ASSAY_CI, "n=7x3 d=40 dtype=f32 fill=rows,repeat"},
    {ASSAY_CI, "n=7x3 d=40 dtype=f32 fill=constant seed=7"},
    {ASSAY_NIGHTLY, "n=1024 d=2048 dtype=f32,f64,bf16 fill=normal,positive"},
    {ASSAY_NIGHTLY, "n=3 d=100000 dtype=f32,f64 seed=3"},
    {ASSAY_NIGHTLY, "n=100000 d=3 dtype=f32,f64 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f32,bf16 operand=0:2 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f64 operand=0:2 " RANGE_F64},
    {ASSAY_EDGE, "n=0,3x0 d=5 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none d=0 dtype=f32,bf16"},
    {ASSAY_EDGE, "n=1300 d=0 dtype=f32"}, /* more zeros than the simulated grid has threads */
    {ASSAY_EDGE, "n=0 d=0 dtype=f64"},
    {ASSAY_BENCH, "n=64 d=128 dtype=f32"},
    {ASSAY_BENCH, "n=256 d=512 dtype=f32"},
    {ASSAY_BENCH, "n=1024 d=2048 dtype=f32"},
    {ASSAY_BENCH, "n=65536 d=8192 dtype=f32"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const double x = range_largest(args->in, X), w = range_largest(args->in, W),
                 dy = range_largest(args->cot, Y);
    const double rows = (double)rows_count(args->params);
    const double d = (double)assay_params_int(args->params, "d");
    range_hold(r, range_of_sum(r, d, x * w), "a sum of x_j w_j", out, Y);
    range_hold(r, range_of_sum(r, rows, dy * x), "a sum of dy_i x_ij", grad, W);
    return ASSAY_OK;
}

const assay_op assay_op_weighted_sum = {
    .name = "weighted_sum",
    .forward_formula = "y = sum_j x_j w_j over the last axis",
    .backward_formula = "dx_ij = dy_i w_j, dw_j = sum_i dy_i x_ij",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_SINGLE),
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
