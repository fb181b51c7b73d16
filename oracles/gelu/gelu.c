/*
 * gelu: x (n…, d) -> y (n…, d) = x Φ(x), Φ(x) = (1 + erf(x / √2)) / 2.
 * form=tanh: y = x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2.
 *
 * Backward, given dy: dx = dy (Φ(x) + x φ(x)), φ the density; by tanh, with t the tanh and z what
 * it is of: dx = dy ((1 + t) / 2 + x (1 - t²) z' / 2).
 *
 * Far below 0 kernels compute both factors of y as 1 + erf or 1 + tanh: y may be off by
 * some |x| u there, and be 0.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/approx.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate_rows.h"
#include "oracles/common/rows.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_D, KEY_FORM };
enum { ERF, TANH };
enum { X };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the last axis"},
    {"form", ASSAY_KEY_NAME, "erf", 0, 0, "what Phi is made of: the exact one, or by tanh"},
};
static const char *const forms[] = {"erf", "tanh", NULL};

static const double root_half = 0.70710678118654752440,
                    inverse_root_two_pi = 0.39894228040143267794, inner = 0.79788456080286535588,
                    cubic = 0.044715;

static assay_status legal(assay_params *params) {
    return rows_legal("gelu", params);
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = rows_spec("x", params);
    sig->out[Y] = rows_spec("y", params);
    return ASSAY_OK;
}

static bool by_tanh(const assay_params *params) {
    return params->item[KEY_FORM].value[0] == TANH;
}

/* Where y turns, and the two terms of its slope cancel. */
static const double turning_point = -0.75179152461353;

static double dressed_x(assay_fill family, double x) {
    switch (family) {
    case ASSAY_FILL_HUGE:
        return 500 * x;
    case ASSAY_FILL_NEGATIVE:
        return x - 5;
    case ASSAY_FILL_CANCEL:
        return turning_point + x / 16;
    default:
        return x;
    }
}

/* huge: gates that are open or shut. negative: where 1 + erf cancels. denormal: dy. */
static assay_status dress(assay_problem *p) {
    const assay_tensor_spec *x = &p->sig.in[X], *dy = &p->sig.out[Y];
    const int64_t d = x->shape[x->rank - 1];
    for (int64_t e = 0; e < p->in.size[X]; ++e) {
        const assay_fill family = fill_of_row(p->c.fill, e / d);
        p->in.data[X][e] = assay_dtype_round(x->dtype, dressed_x(family, p->in.data[X][e]));
    }
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, dy, fill_denormal_power(dy->dtype), p->cot.data[Y]);
    return ASSAY_OK;
}

/* An element costs about as much as 64 multiply-adds. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N], *d = &params->item[KEY_D];
    int64_t room = (int64_t)fmin(budget / 64, INT32_MAX);
    d->count = params->item[KEY_FORM].count = 1;
    d->value[0] = draw_extent(rng, room);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
    params->item[KEY_FORM].value[0] = assay_rng_between(rng, 0, 1);
}

/* ---- the oracle ---- */

static double density(double x) {
    return inverse_root_two_pi * exp(-x * x / 2);
}

static double inner_of(double x) {
    return inner * x * (1 + cubic * x * x);
}

/* Nothing cancels in erfc, nor in the logistic function, which (1 + tanh(z)) / 2 is of 2z. */
static double share_of(double x, bool tanh_form) {
    return tanh_form ? 1 / (1 + exp(-2 * inner_of(x))) : erfc(-x * root_half) / 2;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const bool form = by_tanh(args->params);
    for (int64_t e = 0; e < result->size[Y]; ++e) {
        const double x = args->in->data[X][e];
        result->data[Y][e] = x * share_of(x, form);
    }
    return ASSAY_OK;
}

/* By tanh: s = (1 + t) / 2, and (1 - t²) / 2 = 2 s (1 - s). */
static double slope_of(double x, bool form) {
    const double share = share_of(x, form);
    if (!form)
        return share + x * density(x);
    const double rest = 1 / (1 + exp(2 * inner_of(x)));
    return share + 2 * x * share * rest * inner * (1 + 3 * cubic * x * x);
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const bool form = by_tanh(args->params);
    for (int64_t e = 0; e < result->size[X]; ++e)
        result->data[X][e] = args->cot->data[Y][e] * slope_of(args->in->data[X][e], form);
    return ASSAY_OK;
}

/* ---- the twin: 1 + erf, 1 + tanh, and the product rule ---- */

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[Y]; ++e) {
        const double x = args->in->data[X][e];
        const double gate =
            by_tanh(args->params) ? tanh(inner * (x + cubic * x * x * x)) : erf(x / sqrt(2));
        result->data[Y][e] = 0.5 * x * (1 + gate);
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[X]; ++e) {
        const double x = args->in->data[X][e], t = tanh(inner * (x + cubic * x * x * x));
        const double slope =
            by_tanh(args->params)
                ? 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner * (1 + 3 * cubic * x * x)
                : 0.5 * (1 + erf(x / sqrt(2))) + x / sqrt(2 * acos(-1)) * exp(-0.5 * x * x);
        result->data[X][e] = args->cot->data[Y][e] * slope;
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/* A constant that is rounded to the accumulator. */
static approx constant(const assay_rounding *r, double value) {
    return approx_rounded(r, value, 0, 1);
}

static approx square(const assay_rounding *r, double x) {
    return approx_mul(r, approx_exact(x), approx_exact(x));
}

static approx power_of(const assay_rounding *r, double x) {
    return approx_exp(r, approx_mul(r, approx_exact(-0.5), square(r, x)));
}

/* Roundings of Φ beside those of exp(-x²/2), where it is made of that and erfcx. */
enum { OF_ERFCX = 12 };

/* The worse of (1 + erf(x / √2)) / 2 with erf to 2 ulp, and of exp(-x²/2) erfcx / 2, taken from 1
 * above 0. */
static approx share_by_erf(const assay_rounding *r, double x) {
    const approx z = approx_mul(r, approx_exact(x), constant(r, root_half));
    const double least = fmax(fabs(z.value) - z.error, 0);
    const double slope = 2 * 0.56418958354775628695 * exp(-least * least);
    const approx gate = approx_call(r, z, erf(z.value), slope, 2);
    const approx sum = approx_add(r, approx_exact(1), gate);
    const double value = share_of(x, false);
    if (!isfinite(value))
        return approx_exact(value);
    const double tail = share_of(-fabs(x), false), power = exp(-x * x / 2);
    const approx of_power = power_of(r, x);
    const double relative = power > 0 ? of_power.error / power : 1;
    const approx by_tail = approx_rounded(r, tail, tail * fmin(relative, 1), OF_ERFCX);
    const double taken = x > 0 ? 2 * r->u : 0;
    return (approx){value, fmax(sum.error / 2, by_tail.error + taken)};
}

/* The inner function, and tanh: to 2 ulp, or by an exp and a quotient that are taken from 1. */
static approx tanh_of(const assay_rounding *r, double x) {
    const approx cube = approx_mul(r, constant(r, cubic), square(r, x));
    const approx factor = approx_add(r, approx_exact(1), cube);
    const approx z = approx_mul(r, approx_mul(r, constant(r, inner), approx_exact(x)), factor);
    const approx gate = approx_tanh(r, z);
    return approx_rounded(r, gate.value, gate.error + 6 * r->u, 1);
}

static approx share_bound(const assay_rounding *r, double x, bool form) {
    if (!form)
        return share_by_erf(r, x);
    const approx sum = approx_add(r, approx_exact(1), tanh_of(r, x));
    return (approx){share_of(x, true), sum.error / 2};
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const bool form = by_tanh(args->params);
    for (int64_t e = 0; e < want->size[Y]; ++e) {
        const double x = args->in->data[X][e];
        const approx y = approx_mul(r, approx_exact(x), share_bound(r, x, form));
        bounds->element.data[Y][e] = approx_bound(r, y, want->data[Y][e]);
    }
    snprintf(bounds->why[Y], ASSAY_WHY,
             "%s within 2 ulp of a rounded argument, 1 added, a product, "
             "u = 2^%.0f%s",
             form ? "tanh" : "erf", log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

static approx slope_by_erf(const assay_rounding *r, double x) {
    const approx second = approx_mul(
        r, approx_mul(r, approx_exact(x), constant(r, inverse_root_two_pi)), power_of(r, x));
    return approx_add(r, share_by_erf(r, x), second);
}

static approx slope_by_tanh(const assay_rounding *r, double x) {
    const approx t = tanh_of(r, x);
    const approx gate = approx_sub(r, approx_exact(1), approx_mul(r, t, t));
    const approx cube = approx_mul(r, constant(r, 3 * cubic), square(r, x));
    const approx factor = approx_mul(r, constant(r, inner), approx_add(r, approx_exact(1), cube));
    const approx half = approx_mul(r, approx_exact(0.5), approx_exact(x));
    const approx second = approx_mul(r, approx_mul(r, half, gate), factor);
    return approx_add(r, share_bound(r, x, true), second);
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const bool form = by_tanh(args->params);
    for (int64_t e = 0; e < want->size[X]; ++e) {
        const double x = args->in->data[X][e];
        const approx slope = form ? slope_by_tanh(r, x) : slope_by_erf(r, x);
        const approx dx = approx_mul(r, approx_exact(args->cot->data[Y][e]), slope);
        bounds->element.data[X][e] = approx_bound(r, dx, want->data[X][e]);
    }
    snprintf(
        bounds->why[X], ASSAY_WHY,
        "%s within 2 ulp of a rounded argument, its slope, a sum that may cancel, u = 2^%.0f%s",
        form ? "tanh" : "erf", log2(r->u), r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const double x = range_largest(args->in, X), dy = range_largest(args->cot, Y);
    const double powers = by_tanh(args->params) ? x * fmax(x * x, 1) : fmax(x * x, x);
    range_hold(r, powers, "a power of x", out, Y);
    range_hold(r, fmax(powers, 2 * dy), "a power of x, or dy times a slope", grad, X);
    return ASSAY_OK;
}

/* ---- relations ---- */

/* Phi is 1 in every dtype, and the density 0. */
enum { SATURATED = 64 };

static assay_status saturate(assay_problem *base) {
    for (int64_t e = 0; e < base->in.size[X]; ++e)
        base->in.data[X][e] = SATURATED;
    return ASSAY_OK;
}

static assay_status pass_through(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)derived;
    (void)results;
    for (int64_t e = 0; e < want->out.size[Y]; ++e) {
        want->out.data[Y][e] = SATURATED;
        want->grad.data[X][e] = base->cot.data[Y][e];
    }
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "saturation",
     .why = "x = 64: y is x and dx is dy, bit for bit",
     .exact = true,
     .prepare = saturate,
     .predict = pass_through},
    RELATE_ROWS_PERMUTATIONS,
    RELATE_ROWS_COTANGENTS,
};

/* ---- work ---- */

/* Of the cheaper form: a polynomial, an exp, a quotient and two products; backward some more. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    work->flops = work->least =
        (stage == ASSAY_FORWARD ? 8 : 14) * (double)assay_spec_count(&sig->in[X]);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16 d=96 form=erf,tanh dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=5x7 d=33 form=erf,tanh dtype=f32,f64,bf16,f16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=9 d=40 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=11 d=65 form=erf,tanh dtype=f32,bf16,f16 fill=huge,negative"},
    {ASSAY_SMOKE, "n=none d=19 form=tanh dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=5 d=37 form=erf,tanh dtype=f32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11 d=13 form=erf,tanh dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "n=1,2,33 d=1,2,3,4,5,7,8,9,31,33,257 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,70 d=31,511,513 form=erf,tanh dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7 d=1023,1024,1025 dtype=f32,bf16,f16 pad=1 misalign=5 seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=2,8 d=256 dtype=f32,bf16 pad=0,8 misalign=8:11:1"},
    {ASSAY_CI, "n=40 d=130 form=erf,tanh dtype=f32,f64,bf16,f16 fill=huge,negative,uniform pad=8"},
    {ASSAY_CI, "n=40 d=70 dtype=f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12 d=21 form=erf,tanh dtype=f32,f64,bf16,f16 "
               "fill=cancel,wide,denormal,zeros,mixed"},
    {ASSAY_NIGHTLY, "n=256 d=3072 form=erf,tanh dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=1000 d=997 dtype=f64,f32,bf16 fill=normal,huge pad=5 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5 d=33 form=erf,tanh dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f16 operand=0:1 " RANGE_F16},
    {ASSAY_NIGHTLY, "n=5 d=33 form=erf,tanh dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_EDGE, "n=0,3x0 d=5 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none,0 d=0 dtype=f32,bf16"},
    {ASSAY_BENCH, "n=4x1024 d=3072,10240 form=erf,tanh dtype=f32,bf16"},
};

const assay_op assay_op_gelu = {
    .name = "gelu",
    .forward_formula = "y = x Phi(x); form=tanh: x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2",
    .backward_formula = "dx = dy (Phi(x) + x phi(x)), or the slope of the other form",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .names = forms,
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
