/*
 * rmsnorm: x (n…, d), w (d) -> y (n…, d) = x / sqrt(mean(x²) + eps) ⊙ w, the mean over the last
 * axis. residual=1: x, r (n…, d), w -> y and h = x + r, and it is h that is normalised.
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
#include "oracles/rmsnorm/rmsnorm.h"
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/rows.h"
#include "oracles/common/twofold.h"
#include "oracles/common/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes of x, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the normalised axis"},
    {"residual", ASSAY_KEY_INT, "0", 0, 1, "1: normalises x + r, which is an output as well"},
    {"eps", ASSAY_KEY_REAL, "1e-5", 1e-12, 1e6, "added to the mean of the squares"},
};

rmsnorm_sizes rmsnorm_sizes_of(const assay_params *params) {
    rmsnorm_sizes s = {.rows = rows_count(params),
                       .d = params->item[RMSNORM_KEY_D].value[0],
                       .residual = params->item[RMSNORM_KEY_RESIDUAL].value[0] == 1,
                       .eps = params->item[RMSNORM_KEY_EPS].real};
    s.w = s.residual ? 2 : 1;
    return s;
}

static assay_status legal(assay_params *params) {
    return rows_legal("rmsnorm", params);
}

/* ---- tensors and data ---- */

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(params);
    const assay_status status = assay_signature_init(sig, s.w + 1, s.residual ? 2 : 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[RMSNORM_X] = rows_spec("x", params);
    sig->out[RMSNORM_Y] = rows_spec("y", params);
    if (s.residual) {
        sig->in[RMSNORM_R] = rows_spec("r", params);
        sig->out[RMSNORM_H] = rows_spec("h", params);
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
static int huge_power(const rmsnorm_sizes *s, assay_dtype dtype) {
    enum { ROOM = 8 };
    return (fill_huge_power(dtype, ROOM) - (int)ceil(log2((double)s->d + 1))) / 3;
}

/* mean(g h) and the sums of dw cancel; with a residual, x and r do. */
static void make_cancel(assay_problem *p, const rmsnorm_sizes *s) {
    fill_alternate(&p->sig.in[RMSNORM_X], 1, ~0u, p->in.data[RMSNORM_X]);
    fill_alternate(&p->sig.in[s->w], 1, 0, p->in.data[s->w]);
    fill_alternate(&p->sig.out[RMSNORM_Y], 1, 0, p->cot.data[RMSNORM_Y]);
    if (!s->residual)
        return;
    fill_alternate(&p->sig.in[RMSNORM_R], 1, ~0u, p->in.data[RMSNORM_R]);
    for (int64_t e = 0; e < p->in.size[RMSNORM_R]; ++e)
        p->in.data[RMSNORM_R][e] = -p->in.data[RMSNORM_R][e];
}

static assay_status dress(assay_problem *p) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(&p->c.params);
    const assay_fill fill = p->c.fill;
    for (int32_t i = RMSNORM_X; i < s.w; ++i) {
        const assay_tensor_spec *spec = &p->sig.in[i];
        const int denormal = fill_denormal_power(spec->dtype), huge = huge_power(&s, spec->dtype);
        fill_scale(fill, ASSAY_FILL_DENORMAL, spec, denormal, p->in.data[i]);
        fill_scale(fill, ASSAY_FILL_HUGE, spec, huge, p->in.data[i]);
    }
    if (s.residual) /* dh as large as what it is added to */
        fill_scale(fill, ASSAY_FILL_HUGE, &p->sig.out[RMSNORM_H],
                   -huge_power(&s, p->c.params.dtype), p->cot.data[RMSNORM_H]);
    if (fill == ASSAY_FILL_CANCEL)
        make_cancel(p, &s);
    for (int64_t j = 0; fill == ASSAY_FILL_INITIAL && j < s.d; ++j)
        p->in.data[s.w][j] = 1;
    return ASSAY_OK;
}

static const char *mistrust(const assay_problem *p) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(&p->c.params);
    for (int64_t j = 0; j < s.d; ++j)
        if (!(p->in.data[s.w][j] == 1))
            return NULL;
    return "w is 1 everywhere, so y and the gradients of a kernel that ignores it would be right";
}

/* Rows of one or two elements may be nearly 0: they get an eps that keeps them smooth. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    static const double eps[] = {1e-5, 1e-5, 1e-3, 0.25};
    assay_param *n = &params->item[RMSNORM_KEY_N], *d = &params->item[RMSNORM_KEY_D];
    int64_t room = (int64_t)fmin(budget, INT32_MAX);
    d->count = params->item[RMSNORM_KEY_RESIDUAL].count = 1;
    d->value[0] = draw_extent(rng, room);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
    params->item[RMSNORM_KEY_RESIDUAL].value[0] = assay_rng_between(rng, 0, 1);
    params->item[RMSNORM_KEY_EPS].count = 0;
    params->item[RMSNORM_KEY_EPS].real =
        d->value[0] <= 2 ? 0.25 : eps[assay_rng_between(rng, 0, 3)];
}

/* ---- the oracle ---- */

double rmsnorm_inverse(const rmsnorm_sizes *s, const double *h) {
    twofold sum = {0};
    for (int64_t j = 0; j < s->d; ++j)
        twofold_add_product(&sum, h[j], h[j]);
    return 1 / sqrt(twofold_value(sum) / (double)s->d + s->eps);
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    const double *w = args->in->data[s.w], *h = args->in->data[RMSNORM_X];
    if (s.residual) {
        for (int64_t e = 0; e < s.rows * s.d; ++e)
            result->data[RMSNORM_H][e] =
                args->in->data[RMSNORM_X][e] + args->in->data[RMSNORM_R][e];
        h = result->data[RMSNORM_H];
    }
    for (int64_t i = 0; i < s.rows; ++i, h += s.d) {
        const double inverse = rmsnorm_inverse(&s, h);
        for (int64_t j = 0; j < s.d; ++j)
            result->data[RMSNORM_Y][i * s.d + j] = h[j] * inverse * w[j];
    }
    return ASSAY_OK;
}

const double *rmsnorm_normalised(const rmsnorm_sizes *s, const assay_oracle_args *args) {
    return s->residual ? args->out->data[RMSNORM_H] : args->in->data[RMSNORM_X];
}

void rmsnorm_copy_to_residual(const rmsnorm_sizes *s, assay_arrays *result) {
    if (s->residual)
        relate_copy(result->data[RMSNORM_R], result->data[RMSNORM_X], result->size[RMSNORM_X]);
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    const double *w = args->in->data[s.w];
    double *dw = result->data[s.w];
    memset(dw, 0, (size_t)s.d * sizeof *dw);
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *h = rmsnorm_normalised(&s, args) + i * s.d,
                     *dy = args->cot->data[RMSNORM_Y] + i * s.d;
        double *dx = result->data[RMSNORM_X] + i * s.d;
        const double inverse = rmsnorm_inverse(&s, h);
        double along = 0;
        for (int64_t j = 0; j < s.d; ++j)
            along += dy[j] * w[j] * h[j];
        const double slope = inverse * (along / (double)s.d);
        for (int64_t j = 0; j < s.d; ++j) {
            dx[j] = inverse * (dy[j] * w[j] - h[j] * inverse * slope);
            dx[j] += s.residual ? args->cot->data[RMSNORM_H][i * s.d + j] : 0;
            dw[j] += dy[j] * h[j] * inverse;
        }
    }
    rmsnorm_copy_to_residual(&s, result);
    return ASSAY_OK;
}

/* ---- the twin: quotients by the root, and dx = (g - x̂ mean(g x̂)) / root ---- */

static double root_of(const rmsnorm_sizes *s, const double *h) {
    double mean = 0;
    for (int64_t j = s->d - 1; j >= 0; --j)
        mean += h[j] * h[j] / (double)s->d;
    return sqrt(mean + s->eps);
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    double *h = s.residual ? result->data[RMSNORM_H] : args->in->data[RMSNORM_X];
    for (int64_t i = 0; i < s.rows; ++i) {
        for (int64_t j = i * s.d; s.residual && j < (i + 1) * s.d; ++j)
            h[j] = args->in->data[RMSNORM_X][j] + args->in->data[RMSNORM_R][j];
        const double root = root_of(&s, h + i * s.d);
        for (int64_t j = 0; j < s.d; ++j)
            result->data[RMSNORM_Y][i * s.d + j] = args->in->data[s.w][j] * (h[i * s.d + j] / root);
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    memset(result->data[s.w], 0, (size_t)s.d * sizeof(double));
    for (int64_t i = 0; i < s.rows; ++i) {
        const double *h = rmsnorm_normalised(&s, args) + i * s.d,
                     *dy = args->cot->data[RMSNORM_Y] + i * s.d;
        const double root = root_of(&s, h);
        double mean = 0;
        for (int64_t j = s.d - 1; j >= 0; --j)
            mean += args->in->data[s.w][j] * dy[j] * (h[j] / root) / (double)s.d;
        for (int64_t j = 0; j < s.d; ++j) {
            const double unit = h[j] / root,
                         dh = s.residual ? args->cot->data[RMSNORM_H][i * s.d + j] : 0;
            result->data[RMSNORM_X][i * s.d + j] =
                dh + (args->in->data[s.w][j] * dy[j] - unit * mean) / root;
            result->data[s.w][j] += dy[j] * unit;
        }
    }
    rmsnorm_copy_to_residual(&s, result);
    return ASSAY_OK;
}

/* ---- work ---- */

/* Forward: a square and its sum, two products. Backward: the row's sum of dy w h and dw, and dx of
 * three products and a difference; h = x + r is read instead of both. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(params);
    const double elements = (double)s.rows * (double)s.d;
    work->flops = (stage == ASSAY_FORWARD ? 4 : 9) * elements;
    if (s.residual)
        work->flops += elements;
    if (s.residual && stage == ASSAY_BACKWARD)
        work->read -= work_bytes(&sig->in[RMSNORM_R]);
    work->least = work->flops;
}

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
    /* too long for v3's registers, and no whole number of packs: only instruments see
     * reads behind such a row, and these are the cases that they run */
    {ASSAY_SMOKE, "n=1 d=2051 dtype=f64"},
    {ASSAY_CI, "n=1,2,31,33 d=2,3,4,5,8,31,32,127,129,257 eps=0.25 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,70 d=31,511,513,1025 residual=0,1 dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7 d=255,1023,1024,1025 residual=0,1 dtype=f32,bf16 pad=1 misalign=5 seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5 d=64 dtype=f32,bf16 pad=8 misalign=8:13:1"},
    {ASSAY_CI, "n=5 d=64 residual=1 dtype=f32,bf16 pad=8 misalign=8:17:1"},
    /* four chunks of v3, of which the last has one row */
    {ASSAY_CI, "n=13 d=1025 dtype=f64"},
    /* several teams of v3, and several turns of each */
    {ASSAY_CI, "n=37 d=264 residual=0,1 dtype=f32,f64,bf16"},
    {ASSAY_CI, "n=21 d=264 residual=0,1 dtype=f32,bf16 pad=1 misalign=5 sched=random"},
    {ASSAY_CI, "n=2 d=5125 dtype=f64"}, /* longer than what kernels hold */
    {ASSAY_CI, "n=2 d=11271 dtype=f32"},
    {ASSAY_CI, "n=1 d=20489 dtype=bf16"},
    {ASSAY_CI, "n=130 d=24 residual=0,1 dtype=f32,f64,bf16 sched=warp"},
    {ASSAY_CI, "n=5 d=768 residual=0,1 dtype=f32,bf16 eps=1e-6"},
    {ASSAY_CI, "n=2 d=4095,4100,9000 residual=0,1 dtype=f32,f64,bf16 sched=random"},
    {ASSAY_CI, "n=600 d=9 residual=1 dtype=f32,bf16 pad=7 sched=reverse"},
    {ASSAY_CI, "n=40 d=70 residual=0,1 dtype=f32,f64 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12 d=38 residual=0,1 dtype=f32,f64,bf16 fill=cancel,wide,denormal,huge,zeros"},
    {ASSAY_CI, "n=12 d=38 residual=1 dtype=f32,f64,bf16 fill=mixed"},
    /* equal rows, equal elements */
    {ASSAY_CI, "n=12 d=38 dtype=f32 fill=rows,repeat"},
    {ASSAY_CI, "n=12 d=38 dtype=f32 fill=constant seed=7"},
    {ASSAY_NIGHTLY, "n=256 d=768,1600,2560 residual=0,1 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=2 d=100000 residual=0,1 dtype=f32,f64 seed=3"},
    {ASSAY_NIGHTLY, "n=20000 d=3 residual=0,1 dtype=f32,f64 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f32,bf16 operand=0:2 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f64 operand=0:2 " RANGE_F64},
    {ASSAY_NIGHTLY, "n=5 d=33 residual=1 dtype=f32,bf16 operand=0:4 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 residual=1 dtype=f64 operand=0:4 " RANGE_F64},
    {ASSAY_EDGE, "n=0,3x0 d=5 residual=0,1 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none,0 d=0 residual=0,1 dtype=f32,bf16"},
    /* right, and no proof that w was used */
    {ASSAY_EDGE, "n=5 d=40 residual=0,1 dtype=f32,f64,bf16 fill=initial"},
    {ASSAY_BENCH, "n=4x1024 d=768,1600,2560 residual=0,1 dtype=f32,bf16"},
};

/* ---- where the definition ends ---- */

/* mean(g h) may be taken before or after h is multiplied by s, and a sum of dy h s as well. */
static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    const double dy = range_largest(args->cot, RMSNORM_Y), w = range_largest(args->in, s.w),
                 x = range_largest(args->in, RMSNORM_X),
                 h = s.residual ? x + range_largest(args->in, RMSNORM_R) : x;
    const double d = (double)s.d, rows = (double)s.rows, g = dy * w, inverse = 1 / sqrt(s.eps);
    const double of_g = fmax(range_of_sum(r, d, g * h), 2 * g * fmax(1, inverse));
    assay_bounds *const bounds[] = {out, grad, grad, grad};
    const int32_t tensor[] = {RMSNORM_Y, RMSNORM_X, s.residual ? RMSNORM_R : RMSNORM_X, s.w};
    for (int t = 0; t < 4; ++t)
        range_hold(r, d * h * h, "the sum of squares", bounds[t], tensor[t]);
    for (int t = 1; t < 3; ++t)
        range_hold(r, of_g, "a sum of g h, or g s", bounds[t], tensor[t]);
    range_hold(r, range_of_sum(r, rows, dy * h * fmax(1, inverse)), "a sum of dy h s", grad, s.w);
    return ASSAY_OK;
}

const assay_op assay_op_rmsnorm = {
    .name = "rmsnorm",
    .forward_formula = "y = h / sqrt(mean(h^2) + eps) w over the last axis, h = x or x + r",
    .backward_formula = "g = dy w, dx = s g - s^3 h mean(g h) [+ dh = dr], dw = sum of dy h s, "
                        "s = 1 / sqrt(mean(h^2) + eps)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_INITIAL),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = rmsnorm_forward_bound,
    .backward_bound = rmsnorm_backward_bound,
    .outside = outside,
    .dress = dress,
    .mistrust = mistrust,
    .work = count_work,
    .draw = draw,
    .relations = rmsnorm_relations,
    .n_relations = RMSNORM_RELATIONS,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
