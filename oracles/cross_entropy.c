/*
 * cross_entropy: logits[t, v], target[t] -> loss[1] = mean over the tokens of
 * lse_i - logits[i, target_i], and lse[t] with lse_i = log Σ_j exp(logits_ij), which backward needs
 * again. loss and lse are fp32 where the logits are bf16.
 *
 * Backward, given dloss: dlogits = dloss (P - onehot(target)) / t with P_ij = exp(logits_ij -
 * lse_i).
 *
 * gradient=1: forward gives gradient[t, v], dlogits at dloss = 1, as well. A training step needs no
 * other, and a kernel that has a row at hand need not read it again.
 *
 * A row with an Inf has lse = Inf, as the sum says: P is NaN there and 0 elsewhere.
 */
#include "assay/op.h"
#include "assay/problem.h"
#include "oracles/bound.h"
#include "oracles/draw.h"
#include "oracles/fill.h"
#include "oracles/relate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_T, KEY_V, KEY_GRADIENT };
enum { LOGITS, TARGET };
enum { LOSS, LSE, GRADIENT };

static const assay_key keys[] = {
    {"t", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "tokens"},
    {"v", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "vocabulary"},
    {"gradient", ASSAY_KEY_INT, "0", 0, 1, "1: forward gives dlogits at dloss = 1 as well"},
};

typedef struct sizes {
    int64_t t, v;
    bool gradient;
} sizes;

static sizes sizes_of(const assay_params *params) {
    return (sizes){params->item[KEY_T].value[0], params->item[KEY_V].value[0],
                   params->item[KEY_GRADIENT].value[0] == 1};
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
    const assay_status status = assay_signature_init(sig, 2, s.gradient ? 3 : 2);
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
    if (s.gradient)
        sig->out[GRADIENT] = (assay_tensor_spec){
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
    const sizes s = sizes_of(&p->c.params);
    const double certain = log((double)s.v) + 4;
    for (int64_t e = 0; e < p->in.size[LOGITS]; ++e) {
        double *x = &p->in.data[LOGITS][e];
        *x = dressed_logit(fill_of_row(p->c.fill, e / s.v), *x);
    }
    for (int64_t i = 0; p->c.fill == ASSAY_FILL_CANCEL && i < s.t; ++i)
        p->in.data[LOGITS][i * s.v + (int64_t)p->in.data[TARGET][i]] += certain;
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, &p->sig.out[LOSS],
               fill_denormal_power(p->sig.out[LOSS].dtype), p->cot.data[LOSS]);
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

/* (P - onehot(target)) times `scale`, which is dloss / t. */
static void grade(const assay_oracle_args *args, const double *lse, double scale,
                  double *gradient) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v;
        for (int64_t j = 0; j < s.v; ++j)
            gradient[i * s.v + j] = scale * (exp(x[j] - lse[i]) - (j == target_of(args, i)));
    }
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
    if (s.gradient)
        grade(args, result->data[LSE], 1 / (double)s.t, result->data[GRADIENT]);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const double scale = args->cot->data[LOSS][0] / (double)sizes_of(args->params).t;
    grade(args, args->out->data[LSE], scale, result->data[LOGITS]);
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
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v, sum = sum_of_exps(x, s.v);
        double *row = gradient + i * s.v;
        for (int64_t j = 0; j < s.v; ++j)
            row[j] = dloss * exp(x[j]) / sum / (double)s.t;
        row[target_of(args, i)] -= dloss / (double)s.t;
    }
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
    if (s.gradient)
        grade_plain(args, 1, result->data[GRADIENT]);
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    grade_plain(args, args->cot->data[LOSS][0], result->data[LOGITS]);
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

/*
 * exp(x - lse) with an lse that is off by its bound and may be rounded when it is scaled; then a
 * subtraction and the factors dloss and 1 / t. A kernel may as well take exp(x - m) times an
 * inverse of the sum of all: that sum is no further off than lse may be, and the two more roundings
 * are less than the 3 ln v that lse is allowed (for v = 1 nothing is rounded).
 */
enum { FACTORS = 4 };

static void bound_gradient(const assay_oracle_args *args, const assay_rounding *r,
                           const double *lse, double scale, const double *want, double *bound) {
    const sizes s = sizes_of(args->params);
    const double u = unit_of(r);
    const double lost = 2 * FACTORS * fmax(1, scale); /* P underflows before it is multiplied */
    for (int64_t i = 0; i < s.t; ++i) {
        const double *x = args->in->data[LOGITS] + i * s.v;
        const double common = lse_error(r, x, s.v, lse[i]) + u * (fabs(lse[i]) + EXP);
        for (int64_t j = 0; j < s.v; ++j) {
            const double p = exp(x[j] - lse[i]);
            const double exponent = common + u * ARGUMENT * fabs(x[j] - lse[i]);
            const double of_p = p > 0 ? p * expm1(exponent) : 0;
            const double error =
                scale * (of_p + FACTORS * u * (p + (double)(j == target_of(args, i))));
            const int64_t e = i * s.v + j;
            bound[e] = assay_bound_element(r, 1, lost, error, want[e]);
        }
    }
}

static void explain_gradient(const assay_rounding *r, char why[ASSAY_WHY]) {
    snprintf(why, ASSAY_WHY,
             "P exp(error of lse + (%d |logit - lse| + |lse| + %d) u), then %d operations, "
             "u = 2^%.0f%s",
             ARGUMENT, EXP, FACTORS, log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
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
    if (s.gradient) {
        bound_gradient(args, r, want->data[LSE], 1 / (double)s.t, want->data[GRADIENT],
                       bounds->element.data[GRADIENT]);
        explain_gradient(r, bounds->why[GRADIENT]);
    }
    return ASSAY_OK;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const double scale = fabs(args->cot->data[LOSS][0]) / (double)sizes_of(args->params).t;
    bound_gradient(args, r, args->out->data[LSE], scale, want->data[LOGITS],
                   bounds->element.data[LOGITS]);
    explain_gradient(r, bounds->why[LOGITS]);
    return ASSAY_OK;
}

/* A vocabulary of 1 has no loss. Few tokens: the gradient of a mean of many is so much smaller than
 * the loss that differences of losses do not show it. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *t = &params->item[KEY_T], *v = &params->item[KEY_V];
    assay_param *gradient = &params->item[KEY_GRADIENT];
    const int64_t room = (int64_t)fmin(budget / 8, INT32_MAX), most = (int64_t)sqrt(budget) / 8;
    t->count = v->count = gradient->count = 1;
    v->value[0] = draw_extent(rng, room);
    v->value[0] = v->value[0] < 2 ? 2 : v->value[0];
    const int64_t left = room / v->value[0];
    t->value[0] = draw_extent(rng, left < most ? left : most);
    gradient->value[0] = assay_rng_between(rng, 0, 1);
}

/* ---- relations ---- */

/* `gradient`, where there is one, has the shape and the symmetries of dlogits. */
static void reverse_gradients(const assay_problem *base, int32_t axis, const assay_results *results,
                              assay_results *want) {
    const assay_tensor_spec *logits = &base->sig.in[LOGITS];
    relate_reverse_axis(logits, axis, results->grad.data[LOGITS], want->grad.data[LOGITS]);
    if (base->sig.n_out > GRADIENT)
        relate_reverse_axis(logits, axis, results->out.data[GRADIENT], want->out.data[GRADIENT]);
}

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
    reverse_gradients(base, 0, results, want);
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
    reverse_gradients(base, 1, results, want);
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
    (void)derived;
    want->out.data[LOSS][0] = results->out.data[LOSS][0];
    relate_copy(want->grad.data[LOGITS], results->grad.data[LOGITS], want->grad.size[LOGITS]);
    if (base->sig.n_out > GRADIENT)
        relate_copy(want->out.data[GRADIENT], results->out.data[GRADIENT],
                    want->out.size[GRADIENT]);
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

/* The sum of the halves of an array, which has twice the elements. */
static void add_halves(double *sum, const double *array, int64_t size) {
    for (int64_t e = 0; e < size; ++e)
        sum[e] = array[e] + array[size + e];
}

static assay_status unrepeat(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)derived;
    want->out.data[LOSS][0] = results->out.data[LOSS][0];
    relate_copy(want->out.data[LSE], results->out.data[LSE] + want->out.size[LSE],
                want->out.size[LSE]);
    add_halves(want->grad.data[LOGITS], results->grad.data[LOGITS], want->grad.size[LOGITS]);
    if (base->sig.n_out > GRADIENT)
        add_halves(want->out.data[GRADIENT], results->out.data[GRADIENT], want->out.size[GRADIENT]);
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

static bool has_gradient(const assay_case *c) {
    return c->params.item[KEY_GRADIENT].value[0] == 1;
}

static assay_status set_dloss(assay_problem *base) {
    base->cot.data[LOSS][0] = 1;
    return ASSAY_OK;
}

static assay_status same(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    return ASSAY_OK;
}

/* Each of the two predicts the other. */
static assay_status exchange(const assay_problem *base, const assay_problem *derived,
                             const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy(want->grad.data[LOGITS], results->out.data[GRADIENT], want->grad.size[LOGITS]);
    relate_copy(want->out.data[GRADIENT], results->grad.data[LOGITS], want->out.size[GRADIENT]);
    assay_arrays_drop(&want->out, LOSS);
    assay_arrays_drop(&want->out, LSE);
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "row_permutation",
     .why = "reversing the tokens reverses lse and the gradients; the loss stays",
     .n_derived = 1,
     .derive = reverse_tokens,
     .predict = unreverse_tokens},
    {.name = "word_permutation",
     .why = "reversing the vocabulary and its targets reverses the gradients; the rest stays",
     .n_derived = 1,
     .derive = reverse_words,
     .predict = unreverse_words},
    {.name = "shift",
     .why = "8 more in every logit changes neither loss nor gradients",
     .prepare = make_multiples,
     .n_derived = 1,
     .derive = shift,
     .predict = unshift},
    {.name = "repetition",
     .why = "the same tokens twice: the loss stays, gradients are the sums of the two halves'",
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
    {.name = "dloss_of_one",
     .why = "dlogits at dloss = 1 is gradient",
     .applies = has_gradient,
     .prepare = set_dloss,
     .n_derived = 1,
     .derive = same,
     .predict = exchange},
};

/* ---- work ---- */

/* The maximum, a difference, exp, the sum; a gradient takes exp again, a difference, a product. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)sig;
    const sizes s = sizes_of(params);
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
    {ASSAY_SMOKE, "t=4 v=70 gradient=1 dtype=f32,f64,bf16 fill=huge,negative,inf,nan"},
    /* a whole block takes such a row, and keeps it in the 8 KB that instrumented kernels have */
    {ASSAY_SMOKE, "t=2 v=515 gradient=1 dtype=f32"},
    {ASSAY_SMOKE, "t=2 v=301 gradient=1 dtype=f64"},
    {ASSAY_SMOKE, "t=7 v=21 gradient=1 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "t=1,2,31,33 v=2,31,32,33,127,128,129 dtype=f32"},
    {ASSAY_CI, "t=3,65 v=63,64,65,255,257 dtype=f64,bf16 pad=1 misalign=5"},
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
    /* too wide for a block's memory */
    {ASSAY_CI, "t=2 v=60000 gradient=1 dtype=f32,f64,bf16 sched=warp"},
    {ASSAY_NIGHTLY, "t=64 v=10000 gradient=1 dtype=f32,f64,bf16 fill=normal,huge"},
    {ASSAY_NIGHTLY, "t=64 v=10000 dtype=f32,f64,bf16 fill=normal,huge"},
    {ASSAY_NIGHTLY, "t=2 v=100000 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "t=20000 v=7 dtype=f32,bf16"},
    /* one word is certain: loss and dlogits are 0 */
    {ASSAY_EDGE, "t=1,40 v=1 gradient=0,1 dtype=f32,f64,bf16"},
    {ASSAY_BENCH, "t=4096 v=10000 gradient=0,1 dtype=f32,bf16"},
};

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
    .forward_bound = forward_bound,
    .backward_bound = backward_bound,
    .dress = dress,
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
