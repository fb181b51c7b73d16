/*
 * cross_entropy: logits (t, v), target (t) -> loss (1) = mean over the tokens of
 * lse_i - logits[i, target_i], and lse (t) with lse_i = log Σ_j exp(logits_ij), which backward
 * needs again. loss and lse are fp32 where the logits are bf16.
 *
 * Backward, given dloss: dlogits = dloss (P - onehot(target)) / t with P_ij = exp(logits_ij -
 * lse_i).
 *
 * gradient=1: forward gives gradient (t, v), dlogits at dloss = 1, as well. A training step needs
 * no other, and a kernel that has a row at hand need not read it again.
 *
 * A row with an Inf has lse = Inf, as the sum says: P is NaN there and 0 elsewhere.
 */
#include "oracles/cross_entropy/cross_entropy.h"
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/twofold.h"

#include <math.h>

static const assay_key keys[] = {
    {"t", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "tokens"},
    {"v", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "vocabulary"},
    {"gradient", ASSAY_KEY_INT, "0", 0, 1, "1: forward gives dlogits at dloss = 1 as well"},
};

ce_sizes ce_sizes_of(const assay_params *params) {
    return (ce_sizes){params->item[CE_KEY_T].value[0], params->item[CE_KEY_V].value[0],
                      params->item[CE_KEY_GRADIENT].value[0] == 1};
}

static assay_status legal(assay_params *params) {
    const ce_sizes s = ce_sizes_of(params);
    const double elements = (double)s.t * (double)s.v;
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "cross_entropy: there would be %.3g logits; make t or v smaller",
                          elements);
    return ASSAY_OK;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const ce_sizes s = ce_sizes_of(params);
    const assay_dtype sum = params->dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    const assay_status status = assay_signature_init(sig, 2, s.gradient ? 3 : 2);
    if (status != ASSAY_OK)
        return status;
    sig->in[CE_LOGITS] = (assay_tensor_spec){.name = "logits",
                                             .dtype = params->dtype,
                                             .rank = 2,
                                             .inner = 1,
                                             .shape = {s.t, s.v},
                                             .scale = 1,
                                             .differentiable = true};
    sig->in[CE_TARGET] = (assay_tensor_spec){.name = "target",
                                             .dtype = ASSAY_I32,
                                             .rank = 1,
                                             .inner = 1,
                                             .shape = {s.t},
                                             .indices = s.v};
    sig->out[CE_LOSS] = (assay_tensor_spec){
        .name = "loss", .dtype = sum, .rank = 1, .inner = 1, .shape = {1}, .differentiable = true};
    sig->out[CE_LSE] =
        (assay_tensor_spec){.name = "lse", .dtype = sum, .rank = 1, .inner = 1, .shape = {s.t}};
    if (s.gradient)
        sig->out[CE_GRADIENT] = (assay_tensor_spec){
            .name = "gradient", .dtype = params->dtype, .rank = 2, .inner = 1, .shape = {s.t, s.v}};
    return ASSAY_OK;
}

/* ---- data that break kernels ---- */

/* huge: logits so far apart that most exps underflow, and all overflow without a maximum taken
 * off. negative: about -1000, so that a maximum which begins at 0 leaves log 0. */
static double dressed_logit(assay_fill family, double x) {
    return family == ASSAY_FILL_HUGE ? 100 * x : family == ASSAY_FILL_NEGATIVE ? 8 * x - 1000 : x;
}

/* cancel: the target is nearly certain, so that lse - logit and P - 1 are small. denormal: dloss,
 * because subnormal logits are as good as 0. */
static assay_status dress(assay_problem *p) {
    const ce_sizes s = ce_sizes_of(&p->c.params);
    const double certain = log((double)s.v) + 4;
    for (int64_t e = 0; e < p->in.size[CE_LOGITS]; ++e) {
        double *x = &p->in.data[CE_LOGITS][e];
        *x = dressed_logit(fill_of_row(p->c.fill, e / s.v), *x);
    }
    for (int64_t i = 0; p->c.fill == ASSAY_FILL_CANCEL && i < s.t; ++i)
        p->in.data[CE_LOGITS][i * s.v + (int64_t)p->in.data[CE_TARGET][i]] += certain;
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, &p->sig.out[CE_LOSS],
               fill_denormal_power(p->sig.out[CE_LOSS].dtype), p->cot.data[CE_LOSS]);
    return ASSAY_OK;
}

/* ---- oracle ---- */

double ce_shift_of(const double *x, int64_t v) {
    double top = -INFINITY;
    for (int64_t j = 0; j < v; ++j)
        top = x[j] > top ? x[j] : top;
    return isfinite(top) ? top : 0;
}

static double lse_of(const double *x, int64_t v) {
    const double shift = ce_shift_of(x, v);
    twofold sum = {0};
    for (int64_t j = 0; j < v; ++j)
        twofold_add(&sum, exp(x[j] - shift));
    return shift + log(twofold_value(sum));
}

int64_t ce_target_of(const assay_oracle_args *args, int64_t i) {
    return (int64_t)args->in->data[CE_TARGET][i];
}

/* (P - onehot(target)) times `scale`, which is dloss / t. */
static void grade(const assay_oracle_args *args, const double *lse, double scale,
                  double *gradient) {
    const ce_sizes s = ce_sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[CE_LOGITS] + i * s.v;
        for (int64_t j = 0; j < s.v; ++j)
            gradient[i * s.v + j] = scale * (exp(x[j] - lse[i]) - (j == ce_target_of(args, i)));
    }
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const ce_sizes s = ce_sizes_of(args->params);
    double sum = 0;
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[CE_LOGITS] + i * s.v;
        const double lse = lse_of(x, s.v);
        result->data[CE_LSE][i] = lse;
        sum += lse - x[ce_target_of(args, i)];
    }
    result->data[CE_LOSS][0] = sum / (double)s.t;
    if (s.gradient)
        grade(args, result->data[CE_LSE], 1 / (double)s.t, result->data[CE_GRADIENT]);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const double scale = args->cot->data[CE_LOSS][0] / (double)ce_sizes_of(args->params).t;
    grade(args, args->out->data[CE_LSE], scale, result->data[CE_LOGITS]);
    return ASSAY_OK;
}

/* ---- plain twin: no maximum, no lse ---- */

static double sum_of_exps(const double *x, int64_t v) {
    double sum = 0;
    for (int64_t j = 0; j < v; ++j)
        sum += exp(x[j]);
    return sum;
}

static void grade_plain(const assay_oracle_args *args, double dloss, double *gradient) {
    const ce_sizes s = ce_sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[CE_LOGITS] + i * s.v, sum = sum_of_exps(x, s.v);
        double *row = gradient + i * s.v;
        for (int64_t j = 0; j < s.v; ++j)
            row[j] = dloss * exp(x[j]) / sum / (double)s.t;
        row[ce_target_of(args, i)] -= dloss / (double)s.t;
    }
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const ce_sizes s = ce_sizes_of(args->params);
    double *loss = &result->data[CE_LOSS][0];
    *loss = 0;
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[CE_LOGITS] + i * s.v, sum = sum_of_exps(x, s.v);
        result->data[CE_LSE][i] = log(sum);
        *loss -= log(exp(x[ce_target_of(args, i)]) / sum) / (double)s.t;
    }
    if (s.gradient)
        grade_plain(args, 1, result->data[CE_GRADIENT]);
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    grade_plain(args, args->cot->data[CE_LOSS][0], result->data[CE_LOGITS]);
    return ASSAY_OK;
}

/* A vocabulary of 1 has no loss. Few tokens: the gradient of a mean of many is so much smaller than
 * the loss that differences of losses do not show it. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *t = &params->item[CE_KEY_T], *v = &params->item[CE_KEY_V];
    assay_param *gradient = &params->item[CE_KEY_GRADIENT];
    const int64_t room = (int64_t)fmin(budget / 8, INT32_MAX), most = (int64_t)sqrt(budget) / 8;
    t->count = v->count = gradient->count = 1;
    v->value[0] = draw_extent(rng, room);
    v->value[0] = v->value[0] < 2 ? 2 : v->value[0];
    const int64_t left = room / v->value[0];
    t->value[0] = draw_extent(rng, left < most ? left : most);
    gradient->value[0] = assay_rng_between(rng, 0, 1);
}

/* ---- work ---- */

/* The maximum, a difference, exp, the sum; a gradient takes exp again, a difference, a product. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)sig;
    const ce_sizes s = ce_sizes_of(params);
    const double gradient = stage == ASSAY_BACKWARD || s.gradient ? 3 : 0;
    work->flops = (4 + gradient) * (double)s.t * (double)s.v;
    work->least = work->flops;
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "t=8 v=100 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "t=5 v=257 dtype=f32,f64,bf16 pad=3 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "t=3 v=1025 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "t=70 v=2,3 dtype=f32,f64 sched=warp"},
    {ASSAY_SMOKE, "t=1 v=37 dtype=f32,bf16 fill=uniform,positive"},
    {ASSAY_SMOKE, "t=6 v=67 dtype=f32,f64,bf16 fill=huge,negative"},
    {ASSAY_SMOKE, "t=4 v=41 dtype=f32,f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "t=7 v=90 gradient=1 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "t=3 v=1031 gradient=1 dtype=f32,f64,bf16 pad=3 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "t=66 v=2,5 gradient=1 dtype=f32,bf16 pad=8 sched=warp seed=1"},
    {ASSAY_SMOKE, "t=3 v=5 gradient=1 dtype=f32,f64,bf16 fill=inf seed=2"}, /* -Inf: a mask */
    {ASSAY_SMOKE, "t=4 v=70 gradient=1 dtype=f32,f64,bf16 fill=huge,negative,inf,nan"},
    /* a whole block takes such a row, and keeps it in the 8 KB that instrumented kernels have */
    {ASSAY_SMOKE, "t=2 v=515 gradient=1 dtype=f32"},
    {ASSAY_SMOKE, "t=2 v=301 gradient=1 dtype=f64"},
    {ASSAY_SMOKE, "t=7 v=21 gradient=1 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "t=1,2,31,33 v=2,31,32,33,127,128,129 dtype=f32"},
    {ASSAY_CI, "t=3,65 v=63,64,65,255,257 dtype=f64,bf16 pad=1 misalign=5"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "t=3 v=64 dtype=f32,bf16 pad=8 misalign=8,11,14"},
    {ASSAY_CI, "t=3 v=64 gradient=1 dtype=f32,bf16 pad=8 misalign=8,11,12,16"},
    {ASSAY_CI, "t=2 v=511,512,513,2047,2049,4097 dtype=f32,bf16 sched=random seed=2"},
    {ASSAY_CI, "t=300 v=5 dtype=f32,f64,bf16 fill=positive sched=warp"},
    {ASSAY_CI, "t=9 v=300 dtype=f32,f64,bf16 fill=huge,negative,uniform sched=reverse"},
    /* more tokens than the simulated device's grid has threads; each of two logits is a maximum */
    {ASSAY_CI, "t=1300 v=2 gradient=0,1 dtype=f32 fill=huge"},
    {ASSAY_CI, "t=2 v=2100 dtype=f32,bf16 fill=huge,negative,inf,nan seed=3"},
    {ASSAY_CI, "t=1,33 v=3,32,33,129,513,1025 gradient=1 dtype=f32,f64,bf16"},
    {ASSAY_CI, "t=2 v=4099 gradient=1 dtype=f32,f64,bf16 pad=1 misalign=5 sched=random seed=2"},
    {ASSAY_CI, "t=9 v=300,2100 gradient=1 dtype=f32,bf16 fill=huge,negative,inf,nan,positive"},
    {ASSAY_CI, "t=7 v=90 gradient=0,1 dtype=f32,f64,bf16 fill=cancel,wide,denormal,zeros,mixed"},
    /* 48 KB of dynamic shared memory, and some that is static */
    {ASSAY_CI, "t=2 v=6000 gradient=1 dtype=f64"},
    {ASSAY_CI, "t=2 v=12000 gradient=1 dtype=f32"},
    /* too wide for a block's memory */
    {ASSAY_CI, "t=2 v=60000 gradient=1 dtype=f32,f64,bf16 sched=warp"},
    /* equal rows, equal elements */
    {ASSAY_CI, "t=9 v=40 dtype=f32 fill=rows,repeat,constant seed=3"},
    {ASSAY_NIGHTLY, "t=64 v=10000 gradient=1 dtype=f32,f64,bf16 fill=normal,huge"},
    {ASSAY_NIGHTLY, "t=64 v=10000 dtype=f32,f64,bf16 fill=normal,huge"},
    {ASSAY_NIGHTLY, "t=2 v=100000 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "t=20000 v=7 dtype=f32,bf16"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "t=5 v=33 dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "t=5 v=33 dtype=f64 operand=0:1 " RANGE_F64},
    /* one word is certain: loss and dlogits are 0 */
    {ASSAY_EDGE, "t=1,40 v=1 gradient=0,1 dtype=f32,f64,bf16"},
    /* -Inf alone in its row leaves no probabilities */
    {ASSAY_EDGE, "t=1,3 v=1 gradient=0,1 dtype=f32,f64,bf16 fill=inf seed=2"},
    {ASSAY_BENCH, "t=4096 v=10000 gradient=0,1 dtype=f32,bf16"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const ce_sizes s = ce_sizes_of(args->params);
    const double logit = range_largest(args->in, CE_LOGITS);
    range_hold(r, 2 * (double)s.t * logit, "a sum of lse - logit", out, CE_LOSS);
    range_hold(r, 2 * logit, "a difference of logits", out, CE_LSE);
    range_hold(r, 2 * logit, "a difference of logits", grad, CE_LOGITS);
    if (s.gradient)
        range_hold(r, 2 * logit, "a difference of logits", out, CE_GRADIENT);
    range_hold(r, range_largest(args->cot, CE_LOSS), "dloss", grad, CE_LOGITS);
    return ASSAY_OK;
}

const assay_op assay_op_cross_entropy = {
    .name = "cross_entropy",
    .forward_formula = "lse = log sum_j exp(logits_j), loss = mean of lse - logits_target "
                       "[, gradient = dlogits at dloss = 1]",
    .backward_formula = "dlogits = dloss (exp(logits - lse) - onehot(target)) / t",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_NEGATIVE),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = ce_forward_bound,
    .backward_bound = ce_backward_bound,
    .outside = outside,
    .dress = dress,
    .work = count_work,
    .draw = draw,
    .relations = ce_relations,
    .n_relations = CE_RELATIONS,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
