/*
 * cross_entropy: logits[t, v], target[t] -> loss[1] = mean over the tokens of
 * lse_i - logits[i, target_i], and lse[t] with lse_i = log Σ_j exp(logits_ij), which backward needs
 * again. loss and lse are fp32 where the logits are bf16.
 *
 * Backward, given dloss: dlogits = dloss (P - onehot(target)) / t with P_ij = exp(logits_ij -
 * lse_i).
 *
 * A row with an Inf has lse = Inf, as the sum says: P is NaN there and 0 elsewhere.
 */
#include "assay/op.h"
#include "assay/problem.h"
#include "oracles/bound.h"
#include "oracles/draw.h"
#include "oracles/relate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_T, KEY_V };
enum { LOGITS, TARGET };
enum { LOSS, LSE };

static const assay_key keys[] = {
    {"t", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "tokens"},
    {"v", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "vocabulary"},
};

typedef struct sizes {
    int64_t t, v;
} sizes;

static sizes sizes_of(const assay_params *params) {
    return (sizes){params->item[KEY_T].value[0], params->item[KEY_V].value[0]};
}

static assay_status legal(assay_params *params) {
    const sizes s = sizes_of(params);
    const double elements = (double)s.t * (double)s.v;
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "cross_entropy: there would be %.3g logits; make t or v smaller",
                          elements);
    return ASSAY_OK;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const sizes s = sizes_of(params);
    const assay_dtype sum = params->dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    const assay_status status = assay_signature_init(sig, 2, 2);
    if (status != ASSAY_OK)
        return status;
    sig->in[LOGITS] = (assay_tensor_spec){.name = "logits",
                                          .dtype = params->dtype,
                                          .rank = 2,
                                          .inner = 1,
                                          .shape = {s.t, s.v},
                                          .scale = 1,
                                          .differentiable = true};
    sig->in[TARGET] = (assay_tensor_spec){.name = "target",
                                          .dtype = ASSAY_I32,
                                          .rank = 1,
                                          .inner = 1,
                                          .shape = {s.t},
                                          .indices = s.v};
    sig->out[LOSS] = (assay_tensor_spec){
        .name = "loss", .dtype = sum, .rank = 1, .inner = 1, .shape = {1}, .differentiable = true};
    sig->out[LSE] =
        (assay_tensor_spec){.name = "lse", .dtype = sum, .rank = 1, .inner = 1, .shape = {s.t}};
    return ASSAY_OK;
}

/* ---- data that break kernels ---- */

/* huge: logits so far apart that most exps underflow, and all overflow without a maximum taken
 * off. negative: about -1000, so that a maximum which begins at 0 leaves log 0. */
static assay_status dress(assay_problem *p) {
    const bool huge = p->c.fill == ASSAY_FILL_HUGE;
    for (int64_t e = 0; e < p->in.size[LOGITS]; ++e) {
        double *x = &p->in.data[LOGITS][e];
        *x = huge ? 100 * *x : 8 * *x - 1000;
    }
    return ASSAY_OK;
}

/* ---- oracle ---- */

static double lse_of(const double *x, int64_t v) {
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < v; ++j)
        top = x[j] > top ? x[j] : top;
    const double shift = isfinite(top) ? top : 0;
    for (int64_t j = 0; j < v; ++j)
        sum += exp(x[j] - shift);
    return shift + log(sum);
}

static int64_t target_of(const assay_oracle_args *args, int64_t i) {
    return (int64_t)args->in->data[TARGET][i];
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    double sum = 0;
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v;
        const double lse = lse_of(x, s.v);
        result->data[LSE][i] = lse;
        sum += lse - x[target_of(args, i)];
    }
    result->data[LOSS][0] = sum / (double)s.t;
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double scale = args->cot->data[LOSS][0] / (double)s.t;
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v, lse = args->out->data[LSE][i];
        double *dx = result->data[LOGITS] + i * s.v;
        for (int64_t j = 0; j < s.v; ++j)
            dx[j] = scale * (exp(x[j] - lse) - (j == target_of(args, i)));
    }
    return ASSAY_OK;
}

/* ---- plain twin: no maximum, no lse ---- */

static double sum_of_exps(const double *x, int64_t v) {
    double sum = 0;
    for (int64_t j = 0; j < v; ++j)
        sum += exp(x[j]);
    return sum;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    double *loss = &result->data[LOSS][0];
    *loss = 0;
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v, sum = sum_of_exps(x, s.v);
        result->data[LSE][i] = log(sum);
        *loss -= log(exp(x[target_of(args, i)]) / sum) / (double)s.t;
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double dloss = args->cot->data[LOSS][0];
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v, sum = sum_of_exps(x, s.v);
        double *dx = result->data[LOGITS] + i * s.v;
        for (int64_t j = 0; j < s.v; ++j)
            dx[j] = dloss * exp(x[j]) / sum / (double)s.t;
        dx[target_of(args, i)] -= dloss / (double)s.t;
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/*
 * Constants, in units of u. EXP: an exp that is right to 2 ulp, with its product. ARGUMENT: what
 * x - m, the product with log2 e and that constant's own rounding do to an exponent, relative to
 * it.
 */
enum { EXP = 8, ARGUMENT = 3 };

/* One operation of a kernel, with the oracle's own. */
static double unit_of(const assay_rounding *r) {
    return r->u + assay_dtype_unit(ASSAY_F64);
}

/*
 * Roundings that a term of a row's sum passes through: v additions, and three for each time that an
 * online sum is rescaled to a new maximum. Among random logits new maxima are rare: their number
 * has mean and variance of about ln v, so 40 are never reached.
 */
static double roundings(const assay_rounding *r, int64_t v) {
    enum { RESCALE = 3, MAXIMA = 40 };
    const double times = r->independent ? fmin((double)v, MAXIMA) : (double)v;
    return (double)v + RESCALE * times;
}

/*
 * How far a kernel's lse of one row may be off. Each exp(x_j - m) has a relative error of
 * (ARGUMENT·|x_j - m| + EXP) u, also where it reaches the final m by several rescalings, whose
 * exponents add up to x_j - m. Weighted by P_j, and with lse ≥ m, the sum's is at most ARGUMENT
 * times the row's entropy Σ P_j (lse - x_j), and the same relative error of the sum is the error of
 * its logarithm. That is at most ln v, and right to 2 u of it; m, which is at most |lse| + ln v,
 * may be rounded once when it is scaled by log2 e, and lse is rounded when m is added.
 */
static double lse_error(const assay_rounding *r, const double *x, int64_t v, double lse) {
    double entropy = 0;
    if (!isfinite(lse))
        return 0;
    for (int64_t j = 0; j < v; ++j) {
        const double p = exp(x[j] - lse);
        entropy += p > 0 ? p * (lse - x[j]) : 0;
    }
    const double u = unit_of(r);
    return assay_accumulation(r, roundings(r, v)) +
           u * (ARGUMENT * entropy + EXP + 3 * log((double)v) + 2 * fabs(lse));
}

/* The terms lse - logit are rounded, or their two sums are subtracted; then the mean is taken. */
static void bound_loss(const assay_oracle_args *args, const assay_rounding *r,
                       const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    const double t = (double)s.t;
    double errors = 0, magnitude = 0;
    for (int64_t i = 0; i < s.t; ++i) {
        const double logit = args->in->data[LOGITS][i * s.v + target_of(args, i)];
        errors += bounds->element.data[LSE][i];
        magnitude += fabs(want->data[LSE][i]) + fabs(logit);
    }
    const double mean = (errors + assay_accumulation(r, t + 3) * magnitude) / t;
    bounds->element.data[LOSS][0] = isfinite(want->data[LOSS][0]) ? mean : 0;
    snprintf(bounds->why[LOSS], ASSAY_WHY,
             "mean of the errors of lse, and h=%.0f roundings of the sum of |lse| + |logit|, "
             "u = 2^%.0f",
             t + 3, log2(r->u));
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i)
        bounds->element.data[LSE][i] =
            lse_error(r, args->in->data[LOGITS] + i * s.v, s.v, want->data[LSE][i]);
    snprintf(bounds->why[LSE], ASSAY_WHY,
             "sum of exps in h=%.0f roundings, with (%d entropy + 3 ln v + 2 |lse| + %d) u, "
             "u = 2^%.0f",
             roundings(r, s.v), ARGUMENT, EXP, log2(r->u));
    bound_loss(args, r, want, bounds);
    return ASSAY_OK;
}

/* exp(x - lse) with an lse that is off by `error` and may be rounded when it is scaled; then a
 * subtraction and the factors dloss and 1 / t. */
static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    enum { FACTORS = 4 };
    const sizes s = sizes_of(args->params);
    const double scale = fabs(args->cot->data[LOSS][0]) / (double)s.t, u = unit_of(r);
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v, lse = args->out->data[LSE][i];
        const double common = lse_error(r, x, s.v, lse) + u * (fabs(lse) + EXP);
        for (int64_t j = 0; j < s.v; ++j) {
            const double p = exp(x[j] - lse);
            const double exponent = common + u * ARGUMENT * fabs(x[j] - lse);
            const double of_p = p > 0 ? p * expm1(exponent) : 0;
            const double error =
                scale * (of_p + FACTORS * u * (p + (double)(j == target_of(args, i))));
            const int64_t e = i * s.v + j;
            bounds->element.data[LOGITS][e] =
                assay_bound_element(r, 1, 2 * FACTORS, error, want->data[LOGITS][e]);
        }
    }
    snprintf(bounds->why[LOGITS], ASSAY_WHY,
             "P exp(error of lse + (%d |logit - lse| + |lse| + %d) u), then %d operations, "
             "u = 2^%.0f%s",
             ARGUMENT, EXP, FACTORS, log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* A vocabulary of 1 has no loss. Few tokens: the gradient of a mean of many is so much smaller than
 * the loss that differences of losses do not show it. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *t = &params->item[KEY_T], *v = &params->item[KEY_V];
    const int64_t room = (int64_t)fmin(budget / 8, INT32_MAX), most = (int64_t)sqrt(budget) / 8;
    t->count = v->count = 1;
    v->value[0] = draw_extent(rng, room);
    v->value[0] = v->value[0] < 2 ? 2 : v->value[0];
    const int64_t left = room / v->value[0];
    t->value[0] = draw_extent(rng, left < most ? left : most);
}

/* ---- relations ---- */

static assay_status reverse_tokens(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t k = 0; k < base->in.count; ++k)
        relate_reverse_axis(&base->sig.in[k], 0, base->in.data[k], derived->in.data[k]);
    derived->cot.data[LOSS][0] = base->cot.data[LOSS][0];
    return ASSAY_OK;
}

static assay_status unreverse_tokens(const assay_problem *base, const assay_problem *derived,
                                     const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[LOSS][0] = results->out.data[LOSS][0];
    relate_reverse_axis(&base->sig.out[LSE], 0, results->out.data[LSE], want->out.data[LSE]);
    relate_reverse_axis(&base->sig.in[LOGITS], 0, results->grad.data[LOGITS],
                        want->grad.data[LOGITS]);
    return ASSAY_OK;
}

static assay_status reverse_words(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    const sizes s = sizes_of(&base->c.params);
    relate_reverse_axis(&base->sig.in[LOGITS], 1, base->in.data[LOGITS], derived->in.data[LOGITS]);
    for (int64_t k = 0; k < s.t; ++k)
        derived->in.data[TARGET][k] = (double)(s.v - 1) - base->in.data[TARGET][k];
    derived->cot.data[LOSS][0] = base->cot.data[LOSS][0];
    return ASSAY_OK;
}

static assay_status unreverse_words(const assay_problem *base, const assay_problem *derived,
                                    const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[LOSS][0] = results->out.data[LOSS][0];
    relate_copy(want->out.data[LSE], results->out.data[LSE], want->out.size[LSE]);
    relate_reverse_axis(&base->sig.in[LOGITS], 1, results->grad.data[LOGITS],
                        want->grad.data[LOGITS]);
    return ASSAY_OK;
}

/* Multiples of 1/8 within 4 of 0: every dtype holds them with SHIFT added. */
enum { SHIFT = 8 };

static assay_status make_multiples(assay_problem *base) {
    for (int64_t e = 0; e < base->in.size[LOGITS]; ++e) {
        double *x = &base->in.data[LOGITS][e];
        *x = rint(8 * fmod(*x, 4)) / 8;
    }
    return ASSAY_OK;
}

static assay_status shift(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    for (int64_t e = 0; e < base->in.size[LOGITS]; ++e)
        derived->in.data[LOGITS][e] += SHIFT;
    return ASSAY_OK;
}

static assay_status unshift(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    want->out.data[LOSS][0] = results->out.data[LOSS][0];
    relate_copy(want->grad.data[LOGITS], results->grad.data[LOGITS], want->grad.size[LOGITS]);
    assay_arrays_drop(&want->out, LSE);
    return ASSAY_OK;
}

static assay_status repeat_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[KEY_T].value[0] *= 2;
    return ASSAY_OK;
}

static assay_status repeat(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    for (int32_t k = 0; k < base->in.count; ++k)
        for (int64_t part = 0; part < 2; ++part)
            relate_copy(derived->in.data[k] + part * base->in.size[k], base->in.data[k],
                        base->in.size[k]);
    derived->cot.data[LOSS][0] = base->cot.data[LOSS][0];
    return ASSAY_OK;
}

static assay_status unrepeat(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    want->out.data[LOSS][0] = results->out.data[LOSS][0];
    relate_copy(want->out.data[LSE], results->out.data[LSE] + want->out.size[LSE],
                want->out.size[LSE]);
    for (int64_t e = 0; e < want->grad.size[LOGITS]; ++e)
        want->grad.data[LOGITS][e] =
            results->grad.data[LOGITS][e] + results->grad.data[LOGITS][want->grad.size[LOGITS] + e];
    return ASSAY_OK;
}

enum { EXTRA_WORDS = 7 };
static const double no_chance = -0x1p15; /* exp makes 0 of it, beside the logits of any fill */

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[KEY_V].value[0] += EXTRA_WORDS;
    return ASSAY_OK;
}

static assay_status widen(const assay_problem *base, int32_t i, assay_problem *derived) {
    for (int64_t e = 0; e < derived->in.size[LOGITS]; ++e)
        derived->in.data[LOGITS][e] = no_chance;
    return relate_embed(base, i, derived);
}

static const assay_relation relations[] = {
    {.name = "row_permutation",
     .why = "reversing the tokens reverses lse and dlogits; the loss stays",
     .n_derived = 1,
     .derive = reverse_tokens,
     .predict = unreverse_tokens},
    {.name = "word_permutation",
     .why = "reversing the vocabulary and its targets reverses dlogits; loss and lse stay",
     .n_derived = 1,
     .derive = reverse_words,
     .predict = unreverse_words},
    {.name = "shift",
     .why = "8 more in every logit changes neither loss nor dlogits",
     .prepare = make_multiples,
     .n_derived = 1,
     .derive = shift,
     .predict = unshift},
    {.name = "repetition",
     .why = "the same tokens twice: the loss stays, dlogits is the sum of the two halves'",
     .n_derived = 1,
     .derive_case = repeat_case,
     .derive = repeat,
     .predict = unrepeat},
    {.name = "padding",
     .why = "more words, of logits so low that their exps are 0, change nothing",
     .n_derived = 1,
     .derive_case = widen_case,
     .derive = widen,
     .predict = relate_crop},
};

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "t=8 v=100 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "t=5 v=257 dtype=f32,f64,bf16 pad=3 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "t=3 v=1025 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "t=70 v=2,3 dtype=f32,f64 sched=warp"},
    {ASSAY_SMOKE, "t=1 v=37 dtype=f32,bf16 fill=uniform,positive"},
    {ASSAY_SMOKE, "t=6 v=67 dtype=f32,f64,bf16 fill=huge,negative"},
    {ASSAY_SMOKE, "t=4 v=41 dtype=f32,f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "t=1,2,31,33 v=2,31,32,33,127,128,129 dtype=f32"},
    {ASSAY_CI, "t=3,65 v=63,64,65,255,257 dtype=f64,bf16 pad=1 misalign=5"},
    {ASSAY_CI, "t=2 v=511,512,513,2047,2049,4097 dtype=f32,bf16 sched=random seed=2"},
    {ASSAY_CI, "t=300 v=5 dtype=f32,f64,bf16 fill=positive sched=warp"},
    {ASSAY_CI, "t=9 v=300 dtype=f32,f64,bf16 fill=huge,negative,uniform sched=reverse"},
    {ASSAY_CI, "t=2 v=2100 dtype=f32,bf16 fill=huge,negative,inf,nan seed=3"},
    {ASSAY_NIGHTLY, "t=64 v=10000 dtype=f32,f64,bf16 fill=normal,huge"},
    {ASSAY_NIGHTLY, "t=2 v=100000 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "t=20000 v=7 dtype=f32,bf16"},
    /* one word is certain: loss and dlogits are 0 */
    {ASSAY_EDGE, "t=1,40 v=1 dtype=f32,f64,bf16"},
    {ASSAY_BENCH, "t=4096 v=10000 dtype=f32,bf16"},
};

const assay_op assay_op_cross_entropy = {
    .name = "cross_entropy",
    .forward_formula = "lse = log sum_j exp(logits_j), loss = mean of lse - logits_target",
    .backward_formula = "dlogits = dloss (exp(logits - lse) - onehot(target)) / t",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = ASSAY_FILL_BIT(ASSAY_FILL_HUGE) | ASSAY_FILL_BIT(ASSAY_FILL_NEGATIVE),
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
    .dress = dress,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
