/*
 * linear: x (m, k), w (n, k) -> y (m, n) = x·wᵀ, a layer without bias.
 *
 * Backward, given dy: dx = dy·w, dw = dyᵀ·x.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/blas.h"
#include "oracles/common/bound.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_M, KEY_N, KEY_K };
enum { X, W };
enum { Y };

static const assay_key keys[] = {
    {"m", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "rows of x and y"},
    {"n", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "rows of w, columns of y"},
    {"k", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "columns of x and w: the summed extent"},
};

typedef struct sizes {
    int64_t m, n, k;
} sizes;

static sizes sizes_of(const assay_params *params) {
    return (sizes){params->item[KEY_M].value[0], params->item[KEY_N].value[0],
                   params->item[KEY_K].value[0]};
}

static assay_status legal(assay_params *params) {
    const sizes s = sizes_of(params);
    if (params->math == ASSAY_TF32 && params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_USAGE,
                          "linear: math=tf32 is a mode of dtype=f32, not of %s; use math=strict",
                          assay_dtype_name(params->dtype));
    /* Empty axes count as 1: padding may widen them. */
    const double m = fmax(1, (double)s.m), n = fmax(1, (double)s.n), k = fmax(1, (double)s.k);
    const double elements = fmax(m * n, fmax(m * k, k * n));
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "linear: a tensor would have %.3g elements; make m, n or k smaller",
                          elements);
    return ASSAY_OK;
}

/*
 * Largest odd integers for fill=exact. With |x| <= X, |w|, |dy| <= S every sum of absolute values
 * is at most max(m, n, k) X S, which must fit the accumulator. Most of the room goes to x, so that
 * it has bits which TF32 and bf16 would lose; where TF32 was asked for it has the 11 bits of that.
 */
static void exact_limits(const assay_params *params, const sizes *s, double *x, double *small) {
    const double terms = fmax((double)s->m, fmax((double)s->n, (double)s->k));
    const double room = fill_exact_room(params->dtype) / fmax(1, terms);
    *small = floor(fmin(sqrt(sqrt(room)), 127.0));
    *x = *small >= 1 ? floor(room / *small) : 0;
    if (params->math == ASSAY_TF32)
        *x = fmin(*x, 0x1p11 - 1);
}

static assay_tensor_spec matrix(const char *name, const assay_params *params, int64_t rows,
                                int64_t columns, double scale, double exact_limit) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = 2,
                              .inner = 1,
                              .shape = {rows, columns},
                              .scale = scale,
                              .exact_limit = exact_limit,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 2, 1);
    if (status != ASSAY_OK)
        return status;
    const sizes s = sizes_of(params);
    double x_limit, small_limit;
    exact_limits(params, &s, &x_limit, &small_limit);
    const double to_unit = 1 / sqrt(fmax(1, (double)s.k)); /* y is then as large as x */
    sig->in[X] = matrix("x", params, s.m, s.k, 1, x_limit);
    sig->in[W] = matrix("w", params, s.n, s.k, to_unit, small_limit);
    sig->out[Y] = matrix("y", params, s.m, s.n, 1, small_limit);
    return ASSAY_OK;
}

/* Results overflow in f16 long before fp32's sums do. Of random data they are at most some
 * deviations from 0, of products of deviation 1 or sums of m. Of wide data products are within 2^±5
 * where the exponents are a quarter. */
enum { NARROWER = 4 };

static int room_in_f16(const assay_params *params) {
    static const double deviations = 8;
    return (int)ceil(log2(deviations * (1 + sqrt((double)sizes_of(params).m))));
}

/* x is a factor of every term of y and of dw. The signs of x alternate along rows and columns,
 * those of dy along columns, so that all three sums cancel. */
static assay_status dress(assay_problem *p) {
    enum { ROOM = 24, COLUMNS = 1 << 1 };
    const assay_fill fill = p->c.fill;
    const bool f16 = p->c.params.dtype == ASSAY_F16;
    fill_scale_factor(fill, &p->sig.in[X], f16 ? room_in_f16(&p->c.params) : ROOM, p->in.data[X]);
    for (int32_t i = X; f16 && i <= W; ++i)
        fill_narrow(fill, &p->sig.in[i], p->sig.in[i].scale, NARROWER, p->in.data[i]);
    if (f16)
        fill_narrow(fill, &p->sig.out[Y], 1, NARROWER, p->cot.data[Y]);
    if (fill == ASSAY_FILL_CANCEL) {
        fill_alternate(&p->sig.in[X], 1, ~0u, p->in.data[X]);
        fill_alternate(&p->sig.in[W], p->sig.in[W].scale, 0, p->in.data[W]);
        fill_alternate(&p->sig.out[Y], 1, COLUMNS, p->cot.data[Y]);
    }
    if (fill == ASSAY_FILL_SINGLE) {
        const sizes s = sizes_of(&p->c.params);
        const fill_matrix x = {p->in.data[X], s.k, 1}, w = {p->in.data[W], 1, s.k},
                          dy = {p->cot.data[Y], s.n, 1}, none = {0};
        fill_single(p->c.params.dtype, p->c.seed, 1, s.m, s.n, s.k, x, w, dy, none);
    }
    return ASSAY_OK;
}

/* ---- oracle ---- */

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    blas_gemm(false, true, s.m, s.n, s.k, args->in->data[X], s.k, args->in->data[W], s.k, 0.0,
              result->data[Y], s.n);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *x = args->in->data[X], *w = args->in->data[W], *dy = args->cot->data[Y];
    blas_gemm(false, false, s.m, s.k, s.n, dy, s.n, w, s.k, 0.0, result->data[X], s.k);
    blas_gemm(true, false, s.n, s.k, s.m, dy, s.n, x, s.k, 0.0, result->data[W], s.k);
    return ASSAY_OK;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < s.k; ++l)
                sum += args->in->data[X][i * s.k + l] * args->in->data[W][j * s.k + l];
            result->data[Y][i * s.n + j] = sum;
        }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    double *dx = result->data[X], *dw = result->data[W];
    memset(dx, 0, (size_t)result->size[X] * sizeof *dx);
    memset(dw, 0, (size_t)result->size[W] * sizeof *dw);
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            const double dy = args->cot->data[Y][i * s.n + j];
            for (int64_t l = 0; l < s.k; ++l) {
                dx[i * s.k + l] += dy * args->in->data[W][j * s.k + l];
                dw[j * s.k + l] += dy * args->in->data[X][i * s.k + l];
            }
        }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/* Replaces the M of sums of that many products in bounds->element i by bounds. */
static void bound_products(const assay_rounding *r, int64_t terms, const char *term,
                           const assay_arrays *want, int32_t i, assay_bounds *bounds) {
    const double products = (double)terms;
    double *bound = bounds->element.data[i];
    for (int64_t e = 0; e < want->size[i]; ++e) {
        const double error = assay_product_error(r, products, 1, bound[e], bound[e]);
        bound[e] = assay_bound_element(r, 1, products + 1, error, want->data[i][e]);
    }
    assay_why_product(r, products, 1, term, "M", bounds->why[i]);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const assay_status status = assay_magnitudes(args, r, forward, &bounds->element);
    if (status == ASSAY_OK)
        bound_products(r, sizes_of(args->params).k, "x_il w_jl", want, Y, bounds);
    return status;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    const assay_status status = assay_magnitudes(args, r, backward, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    bound_products(r, s.n, "dy_ij w_jl", want, X, bounds);
    bound_products(r, s.m, "dy_ij x_il", want, W, bounds);
    return ASSAY_OK;
}

/* ---- random cases ---- */

static void draw(assay_rng *rng, double budget, assay_params *params) {
    const bool tf32 = assay_rng_between(rng, 0, 2) == 0;
    if (tf32 && params->dtype == ASSAY_F32)
        params->math = ASSAY_TF32;

    /* Whichever axis is drawn first may be the longest. */
    int64_t room = (int64_t)fmin(budget, INT32_MAX);
    const int64_t first = assay_rng_between(rng, 0, 2);
    for (int64_t i = 0; i < 3; ++i) {
        assay_param *extent = &params->item[KEY_M + (first + i) % 3];
        extent->count = 1;
        extent->value[0] = draw_extent(rng, room);
        room /= extent->value[0];
    }
}

/* ---- relations ---- */

static bool is_square_w(const assay_case *c) {
    const sizes s = sizes_of(&c->params);
    return s.k == s.n;
}

/* Integers of up to 4 bits: exact in any math mode. */
static void make_small_integers(double *v, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        v[e] = rint(fmod(4 * v[e], 9));
}

static assay_status make_identity(assay_problem *base) {
    const int64_t n = base->sig.in[W].shape[0];
    memset(base->in.data[W], 0, (size_t)base->in.size[W] * sizeof(double));
    for (int64_t i = 0; i < n; ++i)
        base->in.data[W][i * n + i] = 1;
    make_small_integers(base->in.data[X], base->in.size[X]);
    make_small_integers(base->cot.data[Y], base->cot.size[Y]);
    return ASSAY_OK;
}

static assay_status pass_through(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)derived;
    (void)results;
    relate_copy(want->out.data[Y], base->in.data[X], want->out.size[Y]);
    relate_copy(want->grad.data[X], base->cot.data[Y], want->grad.size[X]);
    assay_arrays_drop(&want->grad, W);
    return ASSAY_OK;
}

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    for (int32_t key = KEY_M; key <= KEY_K; ++key)
        ++derived->params.item[key].value[0];
    return ASSAY_OK;
}

static relate_link link_of(const assay_problem *base, int32_t i) {
    (void)base;
    return (relate_link){.in = i, .in_axis = 0, .out_axis = i == X ? 0 : 1};
}
RELATE_LINKS(link_of, 2);

static const assay_relation relations[] = {
    RELATE_PRODUCT,
    RELATE_BATCH_SPLIT,
    RELATE_ADJOINT,
    {.name = "identity",
     .why = "w = I and small integers: y = x and dx = dy, bit for bit",
     .exact = true,
     .applies = is_square_w,
     .prepare = make_identity,
     .predict = pass_through},
    RELATE_PADDING(widen_case, "every extent one larger, the new places zero, changes nothing"),
};

/* ---- work ---- */

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)sig;
    const sizes s = sizes_of(params);
    const double product = 2 * (double)s.m * (double)s.n * (double)s.k;
    work->flops = work->least = stage == ASSAY_FORWARD ? product : 2 * product;
}

/* Three products, each of whose tiles goes through its terms in steps. */
static double blocks(const assay_params *params) {
    enum { TILE = 32 };
    static const double products = 3;
    /* In fp64 the tiles for Hopper, of 128 x 64 and more, are multiplied in full where one of the
     * extents is small. */
    const double step = params->dtype == ASSAY_F64 ? 1500 : 500;
    const sizes s = sizes_of(params);
    return step * products * ceil((double)s.m / TILE) * ceil((double)s.n / TILE) *
           ceil((double)s.k / TILE);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "m=48 n=64 k=64 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "m=40 n=48 k=48 dtype=f32 math=tf32"},
    {ASSAY_SMOKE, "m=33 n=17 k=41 dtype=f32,f64,bf16,f16 pad=3 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "m=19 n=37 k=29 dtype=f32 math=tf32 pad=1 misalign=5 sched=warp"},
    {ASSAY_SMOKE, "m=40 n=24 k=10 dtype=f32,f64,bf16,f16 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "m=37 n=24 k=19 dtype=f32 math=tf32 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "m=5 n=7 k=3 dtype=f32 math=strict,tf32 fill=positive"},
    {ASSAY_SMOKE, "m=133 n=21 k=35 dtype=f32,f64,bf16"}, /* tiles of 128 for large products */
    {ASSAY_SMOKE, "m=7 n=9 k=5 dtype=f32,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "m=7 n=9 k=5 dtype=f32 math=tf32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "m=11 n=13 k=18 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_SMOKE, "m=9 n=13 k=17 dtype=f32,f64,bf16 fill=single seed=0,3"},
    /* f16: results that overflow, and that are subnormal */
    {ASSAY_SMOKE, "m=21 n=24 k=34 dtype=f16 operand=0:2 exponent=15"},
    {ASSAY_SMOKE, "m=21 n=24 k=34 dtype=f16 fill=denormal"},
    {ASSAY_CI, "m=9 n=13 k=17 dtype=f32,f64,bf16 fill=single seed=1,2,4,5"},
    {ASSAY_CI, "m=15,17,63,65 n=31,33 k=7,16,33 dtype=f32,bf16"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "m=33 n=24 k=40 dtype=f32,bf16 pad=8 misalign=8:13:1"},
    {ASSAY_CI, "m=15,65 n=31,33 k=8,9,31 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=127,129 n=129 k=65 dtype=f32,bf16 sched=random"},
    /* v3_hopper: several tiles, more slices of the sum than a ring has stages; copied operands */
    {ASSAY_CI, "m=136 n=392 k=520 dtype=bf16"},
    {ASSAY_CI, "m=300 n=40 k=520 dtype=bf16"},
    {ASSAY_CI, "m=136 n=120,180 k=520 dtype=bf16"},
    {ASSAY_CI, "m=136 n=40,120,180,392 k=72 dtype=f16"},
    {ASSAY_CI, "m=136 n=392 k=520 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=300 n=40,180 k=520 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=131 n=389 k=129 dtype=f32 math=tf32 pad=1"},
    {ASSAY_CI, "m=131 n=389 k=129 dtype=f64,bf16 pad=1 sched=reverse"},
    {ASSAY_CI, "m=136 n=220,250,280 k=148 dtype=f64"},
    {ASSAY_CI, "m=1 n=1,129 k=1,513 dtype=f32,f64,bf16"},
    {ASSAY_CI, "m=129 n=1 k=1,300 dtype=f32,f64,bf16 fill=positive"},
    {ASSAY_CI, "m=45 n=61 k=77 dtype=f32,f64,bf16 pad=1 fill=uniform seed=2"},
    {ASSAY_CI, "m=21 n=19 k=34 dtype=f32,f64,bf16,f16 "
               "fill=cancel,wide,denormal,huge,zeros,mixed"},
    {ASSAY_CI, "m=21 n=19 k=34 dtype=f32 math=tf32 fill=wide,huge,zeros"},
    /* equal rows, equal elements */
    {ASSAY_CI, "m=11 n=13 k=9 dtype=f32 fill=rows,repeat seed=5"},
    {ASSAY_CI, "m=11 n=13 k=9 dtype=f32 fill=constant seed=7"},
    {ASSAY_NIGHTLY, "m=512 n=768 k=768 dtype=f32 math=strict,tf32"},
    {ASSAY_NIGHTLY, "m=512 n=768 k=768 dtype=f64,bf16,f16"},
    {ASSAY_NIGHTLY, "m=1409 n=1409 k=9 dtype=bf16"}, /* more tiles of v3_hopper than blocks */
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "m=5 k=33 n=7 dtype=f32,bf16 operand=0:2 " RANGE_F32},
    {ASSAY_NIGHTLY, "m=5 k=33 n=7 dtype=f64 operand=0:2 " RANGE_F64},
    {ASSAY_NIGHTLY, "m=5 k=33 n=7 dtype=f16 operand=0:2 " RANGE_F16},
    {ASSAY_EDGE, "m=0 n=5,0 k=3,0 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "m=5,33 n=7 k=0 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "m=5 n=0 k=3 dtype=f32 math=strict,tf32"},
    /* the largest extents, of tensors without elements: the library's 32 bits hold them */
    {ASSAY_EDGE, "m=2147483647 n=0 k=0 dtype=f32"},
    {ASSAY_EDGE, "m=0 n=0 k=2147483647 dtype=f32"},
    {ASSAY_BENCH, "m=4096 n=768,3072 k=768 dtype=bf16"},
    {ASSAY_BENCH, "m=4096 n=1600,6400 k=1600 dtype=bf16"},
    {ASSAY_BENCH, "m=4096 n=2560,10240 k=2560 dtype=bf16"},
    {ASSAY_BENCH, "m=4096 n=10000 k=768,2560 dtype=bf16"},
    {ASSAY_BENCH, "m=4096 n=3072 k=768 dtype=f32 math=strict,tf32"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const sizes s = sizes_of(args->params);
    const double x = range_largest(args->in, X), w = range_largest(args->in, W),
                 dy = range_largest(args->cot, Y);
    range_hold(r, range_of_sum(r, (double)s.k, x * w), "a sum of x_il w_jl", out, Y);
    range_hold(r, range_of_sum(r, (double)s.n, dy * w), "a sum of dy_ij w_jl", grad, X);
    range_hold(r, range_of_sum(r, (double)s.m, dy * x), "a sum of dy_ij x_il", grad, W);
    return ASSAY_OK;
}

const assay_op assay_op_linear = {
    .name = "linear",
    .forward_formula = "y = x w^T",
    .backward_formula = "dx = dy w, dw = dy^T x",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT) | ASSAY_MATH_BIT(ASSAY_TF32),
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
    .blocks = blocks,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
