/*
 * adamw: one step of PyTorch's AdamW on n parameters. p, g, m, v (n), v >= 0 -> new_p, new_m,
 * new_v; fresh=1: the optimiser's first step, which has no m and v yet, in place of zeros. p, g ->
 * the same:
 *
 *     m' = beta1 m + (1 - beta1) g,  v' = beta2 v + (1 - beta2) g²
 *     p' = p (1 - lr wd) - lr (m' / (1 - beta1^step)) / (√(v' / (1 - beta2^step)) + eps)
 *
 * The weights decay by a factor, as there: p - lr wd p would be NaN where p is infinite. An Inf in
 * m has no one right answer, because m' = m + (1 - beta1) (g - m) is as good a way to compute it.
 */
#include "assay/op.h"
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/bound.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_STEP, KEY_LR, KEY_BETA1, KEY_BETA2, KEY_EPS, KEY_WD, KEY_FRESH };
enum { P, G, M, V };
enum { NEW_P, NEW_M, NEW_V };

/* A larger beta2 has a bias correction that fp32 cannot tell from 0; of a smaller eps the root of a
 * subnormal v is no small part. */
static const assay_key keys[] = {
    {"n", ASSAY_KEY_INT, NULL, 0, INT64_C(1) << 40, "parameters"},
    {"step", ASSAY_KEY_INT, "1", 1, INT32_MAX, "number of this step, from 1"},
    {"lr", ASSAY_KEY_REAL, "1e-4", 0, 100, "learning rate"},
    {"beta1", ASSAY_KEY_REAL, "0.9", 0, 0.99999, "decay of the mean of gradients"},
    {"beta2", ASSAY_KEY_REAL, "0.999", 0, 0.99999, "decay of the mean of their squares"},
    {"eps", ASSAY_KEY_REAL, "1e-8", 1e-12, 100, "added to the root of that mean"},
    {"wd", ASSAY_KEY_REAL, "0.01", 0, 100, "weight decay"},
    {"fresh", ASSAY_KEY_INT, "0", 0, 1, "1: without m and v, as before the first step"},
};

static assay_status legal(assay_params *params) {
    (void)params; /* the ranges of the keys say it all */
    return ASSAY_OK;
}

static assay_tensor_spec parameters(const char *name, const assay_params *params) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = 1,
                              .inner = 1,
                              .shape = {params->item[KEY_N].value[0]},
                              .scale = 1};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static bool is_fresh(const assay_params *params) {
    return params->item[KEY_FRESH].value[0] != 0;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, is_fresh(params) ? M : V + 1, 3);
    if (status != ASSAY_OK)
        return status;
    sig->in[P] = parameters("p", params);
    sig->in[G] = parameters("g", params);
    if (!is_fresh(params)) {
        sig->in[M] = parameters("m", params);
        sig->in[V] = parameters("v", params);
        sig->in[V].magnitudes = true;
    }
    sig->out[NEW_P] = parameters("new_p", params);
    sig->out[NEW_M] = parameters("new_m", params);
    sig->out[NEW_V] = parameters("new_v", params);
    return ASSAY_OK;
}

/* ---- oracle ---- */

typedef struct rule {
    int64_t n;
    double lr, beta1, beta2, eps, wd;
    double correction1, correction2;
} rule;

static rule rule_of(const assay_params *params) {
    const assay_param *item = params->item;
    const double step = (double)item[KEY_STEP].value[0];
    rule k = {.n = item[KEY_N].value[0],
              .lr = item[KEY_LR].real,
              .beta1 = item[KEY_BETA1].real,
              .beta2 = item[KEY_BETA2].real,
              .eps = item[KEY_EPS].real,
              .wd = item[KEY_WD].real};
    k.correction1 = 1 - pow(k.beta1, step);
    k.correction2 = 1 - pow(k.beta2, step);
    return k;
}

/* What there is of one parameter. */
typedef struct state {
    double p, g, m, v;
} state;

static state state_of(const assay_arrays *in, int64_t e) {
    const bool fresh = in->count <= M;
    return (state){in->data[P][e], in->data[G][e], fresh ? 0 : in->data[M][e],
                   fresh ? 0 : in->data[V][e]};
}

static double new_m_of(const rule *k, const state *s) {
    return k->beta1 * s->m + (1 - k->beta1) * s->g;
}
static double new_v_of(const rule *k, const state *s) {
    return k->beta2 * s->v + (1 - k->beta2) * s->g * s->g;
}

/* What an update takes off p. */
static double update_of(const rule *k, const state *s) {
    const double new_m = new_m_of(k, s), new_v = new_v_of(k, s);
    return k->lr * (new_m / k->correction1) / (sqrt(new_v / k->correction2) + k->eps);
}

/*
 * cancel: the update takes away nearly all of p. denormal: p, g and m; not v, whose root is a
 * divisor. huge: the squares of g are near overflow, also when they are divided by a correction of
 * 10^-3, and m is as large as g; the update is what it was, and so is p. There is no sum, so that
 * negative data are positive ones with another sign, and no rows that could be mixed.
 */
static assay_status dress(assay_problem *p) {
    static const int powers[] = {[P] = 0, [G] = 1, [M] = 1, [V] = 2};
    const assay_dtype dtype = p->c.params.dtype;
    const rule k = rule_of(&p->c.params);
    double *const *in = p->in.data;
    for (int32_t i = P; i < p->in.count; ++i) {
        const assay_tensor_spec *spec = &p->sig.in[i];
        const int huge = powers[i] * (fill_huge_power(dtype, 0) * 2 / 5);
        fill_scale(p->c.fill, ASSAY_FILL_HUGE, spec, huge, in[i]);
        if (i != V)
            fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, spec, fill_denormal_power(dtype), in[i]);
    }
    for (int64_t e = 0; p->c.fill == ASSAY_FILL_CANCEL && e < k.n; ++e) {
        const state s = state_of(&p->in, e);
        in[P][e] = update_of(&k, &s) * (1 + s.p / 16);
    }
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const rule k = rule_of(args->params);
    for (int64_t e = 0; e < k.n; ++e) {
        const state s = state_of(args->in, e);
        const double m = new_m_of(&k, &s), v = new_v_of(&k, &s);
        const double mean = m / k.correction1, root = sqrt(v / k.correction2);
        result->data[NEW_P][e] = s.p * (1 - k.lr * k.wd) - k.lr * mean / (root + k.eps);
        result->data[NEW_M][e] = m;
        result->data[NEW_V][e] = v;
    }
    return ASSAY_OK;
}

/* The twin: m as a step towards the new value, corrections by expm1 and put on eps. */
static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const rule k = rule_of(args->params);
    const double step = (double)args->params->item[KEY_STEP].value[0];
    const double correction1 = -expm1(step * log(k.beta1));
    const double root2 = sqrt(-expm1(step * log(k.beta2)));
    for (int64_t e = 0; e < k.n; ++e) {
        const state s = state_of(args->in, e);
        const double g = s.g, rate = k.lr * root2 / correction1;
        const double m = k.beta1 < 0.5 ? g - k.beta1 * (g - s.m) : s.m + (1 - k.beta1) * (g - s.m);
        const double v = (1 - k.beta2) * (g * g) + s.v * k.beta2;
        result->data[NEW_P][e] = s.p - k.lr * k.wd * s.p - rate * (m / (sqrt(v) + k.eps * root2));
        result->data[NEW_M][e] = m;
        result->data[NEW_V][e] = v;
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/*
 * Roundings of a mean's terms, its constants' included; of a kernel's way from m' and v' to what is
 * subtracted from p: two roots, three constants, three divisions or products, one sum; and of the
 * decay: a constant, a product, a difference.
 */
enum { MEAN = 5, UPDATE = 12, DECAY = 4 };

typedef struct errors {
    double p, m, v;
    double amplified; /* what a subnormal on the way to p is multiplied by, at most */
} errors;

/* The terms of m'. It may be m + (1 - beta1)(g - m), which is off by roundings of that step, or, as
 * in PyTorch's lerp, a step from the nearer of m and g, which is no longer. */
static double magnitude_of_m(const rule *k, const state *s) {
    const double rest = 1 - k->beta1, m = fabs(s->m), g = fabs(s->g);
    return k->beta1 * m + rest * g + rest * (m + g);
}

static errors errors_of(const rule *k, const assay_rounding *r, const state *s) {
    const double of_mean = assay_accumulation(r, MEAN), u = r->u + assay_dtype_unit(ASSAY_F64);
    const double new_m = new_m_of(k, s), new_v = new_v_of(k, s);
    errors e = {.m = of_mean * magnitude_of_m(k, s), .v = of_mean * new_v};
    const double rate = k->lr / k->correction1 / (sqrt(new_v / k->correction2) + k->eps);
    e.amplified = fmax(1, k->lr) / k->correction1 / fmin(1, sqrt(new_v / k->correction2) + k->eps);
    const double share = new_v > 0 && isfinite(new_v) ? e.v / new_v : 0; /* halved by the root */
    e.p = assay_accumulation(r, DECAY) * fabs(s->p) * (1 + k->lr * k->wd) +
          rate * (e.m + fabs(new_m) * (share + UPDATE * u));
    return e;
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const rule k = rule_of(args->params);
    double *const *bound = bounds->element.data;
    for (int64_t i = 0; i < k.n; ++i) {
        const state s = state_of(args->in, i);
        const errors e = errors_of(&k, r, &s);
        const double lost = DECAY + (MEAN + UPDATE) * e.amplified;
        bound[NEW_P][i] = assay_bound_element(r, 1, lost, e.p, want->data[NEW_P][i]);
        bound[NEW_M][i] = assay_bound_element(r, 1, MEAN, e.m, want->data[NEW_M][i]);
        bound[NEW_V][i] = assay_bound_element(r, 1, MEAN, e.v, want->data[NEW_V][i]);
    }
    snprintf(bounds->why[NEW_P], ASSAY_WHY,
             "errors of m' and v', %d roundings of the update, %d of the decay, u = 2^%.0f", UPDATE,
             DECAY, log2(r->u));
    snprintf(bounds->why[NEW_M], ASSAY_WHY,
             "%d roundings of the terms, or of a step from m or g, u = 2^%.0f", MEAN, log2(r->u));
    snprintf(bounds->why[NEW_V], ASSAY_WHY,
             "%d roundings of a sum without cancellation, "
             "u = 2^%.0f",
             MEAN, log2(r->u));
    return ASSAY_OK;
}

/* ---- random cases ---- */

static double one_of(assay_rng *rng, const double choices[4]) {
    return choices[assay_rng_between(rng, 0, 3)];
}

/* Betas above 0: m and v of before count for something. They are never left out: denormal data
 * would then say nothing, as v' would be 0. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    static const double rates[] = {1e-4, 1e-3, 0.125, 1}, betas1[] = {0.9, 0.95, 0.5, 0.125};
    static const double betas2[] = {0.999, 0.95, 0.5, 0.125}, epsilons[] = {1e-8, 1e-3, 0.25, 2};
    static const double decays[] = {0, 0.01, 0.1, 0.5};
    params->item[KEY_N].count = params->item[KEY_STEP].count = params->item[KEY_FRESH].count = 1;
    params->item[KEY_N].value[0] = draw_extent(rng, (int64_t)fmin(budget / 8, INT32_MAX));
    params->item[KEY_STEP].value[0] = assay_rng_log_between(rng, 1, INT32_MAX);
    params->item[KEY_LR].real = one_of(rng, rates);
    params->item[KEY_BETA1].real = one_of(rng, betas1);
    params->item[KEY_BETA2].real = one_of(rng, betas2);
    params->item[KEY_EPS].real = one_of(rng, epsilons);
    params->item[KEY_WD].real = one_of(rng, decays);
}

/* ---- relations ---- */

static assay_status reverse(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t t = 0; t < base->in.count; ++t)
        relate_reverse_axis(&base->sig.in[t], 0, base->in.data[t], derived->in.data[t]);
    return ASSAY_OK;
}

static assay_status unreverse(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        relate_reverse_axis(&base->sig.out[t], 0, results->out.data[t], want->out.data[t]);
    return ASSAY_OK;
}

/* By a power of two, or its negative: without rounding. */
static void multiply(double *to, const double *from, int64_t count, double factor) {
    for (int64_t e = 0; e < count; ++e)
        to[e] = factor * from[e];
}

static assay_status scale_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[KEY_EPS].real *= 2;
    return ASSAY_OK;
}

static assay_status scale(const assay_problem *base, int32_t i, assay_problem *derived) {
    static const double factors[] = {[P] = 1, [G] = 2, [M] = 2, [V] = 4};
    (void)i;
    for (int32_t t = 0; t < base->in.count; ++t)
        multiply(derived->in.data[t], base->in.data[t], base->in.size[t], factors[t]);
    return ASSAY_OK;
}

static assay_status unscale(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    static const double factors[] = {[NEW_P] = 1, [NEW_M] = 0.5, [NEW_V] = 0.25};
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        multiply(want->out.data[t], results->out.data[t], want->out.size[t], factors[t]);
    return ASSAY_OK;
}

static assay_status negate(const assay_problem *base, int32_t i, assay_problem *derived) {
    static const double factors[] = {[P] = -1, [G] = -1, [M] = -1, [V] = 1};
    (void)i;
    for (int32_t t = 0; t < base->in.count; ++t)
        multiply(derived->in.data[t], base->in.data[t], base->in.size[t], factors[t]);
    return ASSAY_OK;
}

static assay_status unnegate(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    static const double factors[] = {[NEW_P] = -1, [NEW_M] = -1, [NEW_V] = 1};
    (void)base;
    (void)derived;
    for (int32_t t = 0; t < want->out.count; ++t)
        multiply(want->out.data[t], results->out.data[t], want->out.size[t], factors[t]);
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "permutation",
     .why = "reversing the parameters reverses every result",
     .n_derived = 1,
     .derive = reverse,
     .predict = unreverse},
    {.name = "power_of_two_scaling",
     .why = "2 g, 2 m, 4 v and 2 eps give 2 m', 4 v' and the same p', bit for bit",
     .exact = true,
     .applies = relate_keeps_bits,
     .n_derived = 1,
     .derive_case = scale_case,
     .derive = scale,
     .predict = unscale},
    {.name = "negation",
     .why = "-p, -g and -m give -p', -m' and the same v', bit for bit",
     .exact = true,
     .n_derived = 1,
     .derive = negate,
     .predict = unnegate},
};

/* ---- work ---- */

/* Two products and a sum for m, three for v, the two corrections, the root, the division, decay. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    (void)stage;
    work->flops = work->least = 14 * (double)assay_spec_count(&sig->in[P]);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=1000 dtype=f32,f64"},
    {ASSAY_SMOKE, "n=257 step=3 lr=0.125 wd=0.5 dtype=f32,f64 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "n=130 step=10 lr=1 eps=0.25 dtype=f32,f64 fill=uniform sched=random seed=1"},
    {ASSAY_SMOKE, "n=67 step=1000 lr=0.5 beta1=0.5 beta2=0.95 dtype=f32 fill=positive sched=warp"},
    {ASSAY_SMOKE, "n=1,2,3 step=2 lr=0.25 eps=2 dtype=f32,f64"},
    {ASSAY_SMOKE, "n=70 lr=0.125 wd=0.5 fresh=1 dtype=f32,f64"},
    {ASSAY_SMOKE, "n=33 step=5 dtype=f32,f64 fill=inf seed=0,1,3"},
    {ASSAY_SMOKE, "n=33 step=5 dtype=f32,f64 fill=nan seed=0:3:1"},
    {ASSAY_SMOKE, "n=41 step=3 lr=0.5 wd=0.1 dtype=f32 fill=cancel,denormal,zeros"},
    {ASSAY_CI, "n=4,5,31,32,33,1023,1024,1025 step=7 lr=0.1 dtype=f32,f64"},
    {ASSAY_CI, "n=2049 step=1,2,17,100000 lr=1 wd=0,0.1 eps=0.5 dtype=f32,f64 misalign=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=257 step=3 lr=0.125 wd=0.5 dtype=f32,f64 misalign=8:14:1"},
    {ASSAY_CI, "n=257,1025 lr=0.5 wd=0.1 fresh=1 dtype=f32,f64 misalign=0,2,9 fill=normal,uniform"},
    {ASSAY_CI, "n=500 beta1=0.99 beta2=0.9999 step=4 lr=0.5 dtype=f32,f64 seed=2"},
    {ASSAY_CI, "n=9000 lr=0.25 dtype=f32,f64 sched=random"},
    {ASSAY_CI, "n=70 step=3 lr=0.5 wd=0.1 dtype=f32,f64 fill=cancel,wide,denormal,huge,zeros"},
    /* equal rows, equal elements */
    {ASSAY_CI, "n=70 step=3 lr=0.5 wd=0.1 dtype=f32 fill=rows,repeat"},
    {ASSAY_NIGHTLY, "n=1000000 step=123 lr=0.5 dtype=f32,f64"},
    {ASSAY_NIGHTLY, "n=300001 step=2 lr=0.5 dtype=f32 fill=uniform,positive misalign=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=101 dtype=f32 operand=0:3 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=101 dtype=f64 operand=0:3 " RANGE_F64},
    {ASSAY_EDGE, "n=0 dtype=f32,f64"},
    /* right, and no proof that m, or v, was used */
    {ASSAY_EDGE, "n=500 beta1=0 beta2=0,0.9999 step=4 lr=0.5 dtype=f32,f64 seed=2"},
    {ASSAY_EDGE, "n=500 beta1=0.99 beta2=0 step=4 lr=0.5 dtype=f32,f64 seed=2"},
    {ASSAY_BENCH, "n=16777216,128625408 step=100 dtype=f32"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    (void)grad;
    const rule k = rule_of(args->params);
    const bool fresh = is_fresh(args->params);
    const double p = range_largest(args->in, P), g = range_largest(args->in, G),
                 m = fresh ? 0 : range_largest(args->in, M),
                 v = fresh ? 0 : range_largest(args->in, V);
    range_hold(r, g * g, "g squared", out, NEW_V);
    range_hold(r, g * g, "g squared", out, NEW_P);
    range_hold(r, m + g, "the step from m to g", out, NEW_M);
    range_hold(r, (v + g * g) / k.correction2, "v' / (1 - beta2^step)", out, NEW_P);
    range_hold(r, fmax(1, k.lr) * (m + g) / k.correction1, "lr m' / (1 - beta1^step)", out, NEW_P);
    range_hold(r, p * (1 + k.lr * k.wd), "the decay of p", out, NEW_P);
    return ASSAY_OK;
}

const assay_op assay_op_adamw = {
    .name = "adamw",
    .forward_formula = "m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g^2, p' = "
                       "p (1 - lr wd) - lr m'/(1 - beta1^step) / (sqrt(v'/(1 - beta2^step)) + eps)",
    .backward_formula = "none",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_GENERAL | ASSAY_FILL_BIT(ASSAY_FILL_CANCEL) |
             ASSAY_FILL_BIT(ASSAY_FILL_DENORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_HUGE),
    .legal = legal,
    .signature = signature,
    .dress = dress,
    .forward = forward,
    .forward_plain = forward_plain,
    .forward_bound = forward_bound,
    .outside = outside,
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
