/*
 * swiglu: a, b (n…, d) -> y (n…, d) = silu(a) ⊙ b, with silu(a) = a σ(a), σ(a) = 1 / (1 + exp(-a)).
 *
 * Backward, given dy: da = dy ⊙ b ⊙ σ (1 + a (1 - σ)), db = dy ⊙ silu(a).
 *
 * exp(-a) overflows where a is far below 0. There silu(a) is nearly 0, as the quotient has it, and
 * not NaN. With a = Inf the definition in IEEE arithmetic counts: silu is Inf, and da is NaN.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/bound.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/rows.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_D };
enum { A, B };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the last axis"},
};

static assay_status legal(assay_params *params) {
    return rows_legal("swiglu", params);
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 2, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[A] = rows_spec("a", params);
    sig->in[B] = rows_spec("b", params);
    sig->out[Y] = rows_spec("y", params);
    return ASSAY_OK;
}

/* Where silu turns, and its slope's two terms cancel. */
static const double turning_point = -1.2784645427610738;

/*
 * huge: a where exp(-a) or exp(a) overflows, in fp64 too for many. negative: a so far below 0 that
 * σ is lost in 1, as are gates that are made of a tanh. denormal: b, a factor of y and of da.
 */
static double dressed_a(assay_fill family, double a) {
    switch (family) {
    case ASSAY_FILL_HUGE:
        return 500 * a;
    case ASSAY_FILL_NEGATIVE:
        return a - 30;
    case ASSAY_FILL_CANCEL:
        return turning_point + a / 16;
    default:
        return a;
    }
}

static assay_status dress(assay_problem *p) {
    const assay_tensor_spec *b = &p->sig.in[B];
    const int64_t d = b->shape[b->rank - 1];
    for (int64_t e = 0; e < p->in.size[A]; ++e)
        p->in.data[A][e] = dressed_a(fill_of_row(p->c.fill, e / d), p->in.data[A][e]);
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, b, fill_denormal_power(b->dtype), p->in.data[B]);
    return ASSAY_OK;
}

/* An element costs about as much as 32 multiply-adds. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N], *d = &params->item[KEY_D];
    int64_t room = (int64_t)fmin(budget / 32, INT32_MAX);
    d->count = 1;
    d->value[0] = draw_extent(rng, room);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
}

/* ---- the oracle: σ and 1 - σ without cancellation ---- */

typedef struct gate {
    double sigma, rest; /* σ, 1 - σ */
} gate;

/* Nothing overflows in exp(-|a|). */
static gate gate_of(double a) {
    const double small = exp(-fabs(a)), near = 1 / (1 + small), far = small / (1 + small);
    return a >= 0 ? (gate){near, far} : (gate){far, near};
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[Y]; ++e) {
        const double a = args->in->data[A][e];
        result->data[Y][e] = a * gate_of(a).sigma * args->in->data[B][e];
    }
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[A]; ++e) {
        const double a = args->in->data[A][e], dy = args->cot->data[Y][e];
        const gate g = gate_of(a);
        result->data[A][e] = dy * args->in->data[B][e] * g.sigma * (1 + a * g.rest);
        result->data[B][e] = dy * a * g.sigma;
    }
    return ASSAY_OK;
}

/* ---- the twin: a quotient, and the quotient rule ---- */

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[Y]; ++e) {
        const double a = args->in->data[A][e];
        result->data[Y][e] = a / (1 + exp(-a)) * args->in->data[B][e];
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    for (int64_t e = 0; e < result->size[A]; ++e) {
        const double a = args->in->data[A][e], dy = args->cot->data[Y][e];
        const double power = exp(-a), below = 1 + power;
        result->data[A][e] = dy * args->in->data[B][e] * ((below + a * power) / (below * below));
        result->data[B][e] = dy * (a / below);
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/* Relative error of exp in u: 2 ulp. Roundings of σ beside it: an addition and a division. Of a
 * product of σ with two other factors. */
enum { OF_EXP = 4, OF_SIGMA = 2, OF_FACTORS = 2, OPERATIONS = 4 };

/* How a kernel rounds, the oracle's own rounding included. */
typedef struct rule {
    double u;
    double normal; /* a σ below it may be 0: exp(-a) overflows there */
} rule;

static rule rule_of(const assay_rounding *r) {
    const double fp64 = assay_dtype_unit(ASSAY_F64);
    const assay_dtype accumulator = r->u == fp64 ? ASSAY_F64 : ASSAY_F32;
    return (rule){.u = r->u + fp64, .normal = assay_dtype_denorm_min(accumulator) / (2 * r->u)};
}

/* Relative error of σ: exp counts as far as it is part of 1 + exp(-a). */
static double sigma_error(const rule *k, const gate *g) {
    return (OF_EXP * g->rest + OF_SIGMA) * k->u;
}

/* Error of a product of σ with factors of that size. */
static double product_error(const rule *k, const gate *g, double factors) {
    return factors * (g->sigma * (sigma_error(k, g) + OF_FACTORS * k->u) + k->normal);
}

/*
 * Error of σ (1 + a (1 - σ)). A computed 1 - σ is off by what σ is off. Where exp(-a) is below u
 * that is less: 1 + exp(-a) is then rounded to 1, and 1 - σ to 0, all of it lost. The sum may
 * cancel, for a near -1.28; σ + silu (1 - σ) is the same with one more rounding.
 */
static double slope_error(const rule *k, const gate *g, double a) {
    const double second = fabs(a) * g->rest;
    const double of_rest =
        fmin(g->sigma * sigma_error(k, g), g->rest * (OF_EXP * k->u + 4)) + k->u * g->rest;
    const double of_sum = fabs(a) * of_rest + k->u * (1 + 3 * second);
    const double value = fabs(1 + a * g->rest);
    return g->sigma * (of_sum + value * (sigma_error(k, g) + OF_FACTORS * k->u)) +
           k->normal * (1 + second);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const rule k = rule_of(r);
    for (int64_t e = 0; e < want->size[Y]; ++e) {
        const double a = args->in->data[A][e];
        const gate g = gate_of(a);
        const double error = product_error(&k, &g, fabs(a * args->in->data[B][e]));
        bounds->element.data[Y][e] = assay_bound_element(r, 1, OPERATIONS, error, want->data[Y][e]);
    }
    snprintf(bounds->why[Y], ASSAY_WHY,
             "relative: exp within 2 ulp, times 1 - sigma, and %d roundings, u = 2^%.0f%s",
             OF_SIGMA + OF_FACTORS, log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const rule k = rule_of(r);
    for (int64_t e = 0; e < want->size[A]; ++e) {
        const double a = args->in->data[A][e], dy = args->cot->data[Y][e];
        const gate g = gate_of(a);
        const double slope = fabs(dy * args->in->data[B][e]) * slope_error(&k, &g, a);
        const double silu = product_error(&k, &g, fabs(dy * a));
        bounds->element.data[A][e] = assay_bound_element(r, 1, OPERATIONS, slope, want->data[A][e]);
        bounds->element.data[B][e] = assay_bound_element(r, 1, OPERATIONS, silu, want->data[B][e]);
    }
    snprintf(bounds->why[A], ASSAY_WHY,
             "sigma (1 + a (1 - sigma)): exp within 2 ulp, the roundings of sigma and 1 - sigma, "
             "a sum that may cancel, u = 2^%.0f%s",
             log2(r->u), r->u_out > 0 ? ", then rounded to the stored type" : "");
    snprintf(bounds->why[B], ASSAY_WHY,
             "relative: exp within 2 ulp, times 1 - sigma, and %d roundings, u = 2^%.0f%s",
             OF_SIGMA + OF_FACTORS, log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* ---- relations ---- */

enum { B_POWER = 2, DY_POWER = 1 };

static void scale(double *to, const double *from, int power, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        to[e] = ldexp(from[e], power);
}

/* Where nothing underflows that would not be scaled alike: da is a product of three numbers, of
 * which wide data make a subnormal. */
static bool keeps_bits(const assay_case *c) {
    return c->fill != ASSAY_FILL_HUGE && c->fill != ASSAY_FILL_WIDE && relate_keeps_bits(c);
}

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    scale(derived->in.data[B], base->in.data[B], B_POWER, base->in.size[B]);
    scale(derived->cot.data[Y], base->cot.data[Y], DY_POWER, base->cot.size[Y]);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    scale(want->out.data[Y], results->out.data[Y], -B_POWER, want->out.size[Y]);
    scale(want->grad.data[A], results->grad.data[A], -B_POWER - DY_POWER, want->grad.size[A]);
    scale(want->grad.data[B], results->grad.data[B], -DY_POWER, want->grad.size[B]);
    return ASSAY_OK;
}

static void reverse_each(const assay_arrays *from, assay_arrays *to) {
    for (int32_t t = 0; t < to->count; ++t)
        for (int64_t e = 0; e < to->size[t]; ++e)
            to->data[t][e] = from->data[t][to->size[t] - 1 - e];
}

static assay_status reverse(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    reverse_each(&base->in, &derived->in);
    reverse_each(&base->cot, &derived->cot);
    return ASSAY_OK;
}

static assay_status unreverse(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    reverse_each(&results->out, &want->out);
    reverse_each(&results->grad, &want->grad);
    return ASSAY_OK;
}

/* exp(-64) is below the unit roundoff of fp64: σ is 1 in every dtype. */
enum { SATURATED = 64 };

static assay_status saturate(assay_problem *base) {
    for (int64_t e = 0; e < base->in.size[A]; ++e)
        base->in.data[A][e] = SATURATED;
    return ASSAY_OK;
}

static assay_status pass_through(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    const assay_dtype dtype = base->c.params.dtype;
    (void)derived;
    (void)results;
    for (int64_t e = 0; e < want->out.size[Y]; ++e) {
        const double b = base->in.data[B][e], dy = base->cot.data[Y][e];
        want->out.data[Y][e] = SATURATED * b;
        want->grad.data[A][e] = assay_dtype_round(dtype, dy * b);
        want->grad.data[B][e] = SATURATED * dy;
    }
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "power_of_two_scaling",
     .why = "b by 4, dy by 2 scales every result by a power of two, bit for bit",
     .exact = true,
     .applies = keeps_bits,
     .n_derived = 1,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "permutation",
     .why = "reversing all elements reverses those of every result",
     .n_derived = 1,
     .derive = reverse,
     .predict = unreverse},
    {.name = "saturation",
     .why = "a = 64: silu is the identity, y is 64 b, da is dy b, db is 64 dy, bit for bit",
     .exact = true,
     .prepare = saturate,
     .predict = pass_through},
};

/* ---- work ---- */

/* exp, a sum, a division, two products; backward some more of the kind. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    work->flops = (stage == ASSAY_FORWARD ? 5 : 10) * (double)assay_spec_count(&sig->in[A]);
    work->least = work->flops;
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16 d=96 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "n=5x7 d=33 dtype=f32,f64,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=9 d=40 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=11 d=65 dtype=f32,f64,bf16 fill=huge,negative"},
    {ASSAY_SMOKE, "n=7 d=50 dtype=bf16 fill=uniform,positive sched=warp"},
    {ASSAY_SMOKE, "n=none d=19 dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=5 d=37 dtype=f32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11 d=13 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "n=1,2,31,33 d=1,2,3,4,5,7,8,9,31,33,255,257 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,70 d=31,511,513,1025 dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7 d=1023,1024,1025 dtype=f32,bf16 pad=1 misalign=5 seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5 d=64 dtype=f32,bf16 pad=0,8 misalign=8:13:1"},
    {ASSAY_CI, "n=40 d=130 dtype=f32,f64,bf16 fill=huge,negative,uniform pad=8"},
    {ASSAY_CI, "n=5 d=3072 dtype=f32,bf16 sched=warp"},
    {ASSAY_CI, "n=40 d=70 dtype=f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12 d=21 dtype=f32,f64,bf16 fill=cancel,wide,denormal,zeros,mixed"},
    /* equal rows, equal elements */
    {ASSAY_CI, "n=9x2 d=21 dtype=f32 fill=rows,repeat,constant seed=1"},
    {ASSAY_NIGHTLY, "n=256 d=3072,10240 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=1000 d=997 dtype=f64,f32,bf16 fill=normal,huge pad=5 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f32,bf16 operand=0:2 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f64 operand=0:2 " RANGE_F64},
    {ASSAY_EDGE, "n=0,3x0 d=5 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none,0 d=0 dtype=f32,bf16"},
    {ASSAY_BENCH, "n=4x1024 d=3072,10240 dtype=f32,bf16"},
};

/* ---- where the definition ends ---- */

/* Its three or four factors may be multiplied in another order than the formula's. */
static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const double a = range_largest(args->in, A), b = range_largest(args->in, B),
                 dy = range_largest(args->cot, Y);
    range_hold(r, a * b, "a b", out, Y);
    range_hold(r, dy * fmax(b, 1) * (1 + a), "dy b (1 + a (1 - sigma))", grad, A);
    range_hold(r, dy * a, "dy a", grad, B);
    return ASSAY_OK;
}

const assay_op assay_op_swiglu = {
    .name = "swiglu",
    .forward_formula = "y = silu(a) b, silu(a) = a sigma(a), sigma(a) = 1 / (1 + exp(-a))",
    .backward_formula = "da = dy b sigma (1 + a (1 - sigma)), db = dy silu(a)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
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
    .outside = outside,
    .dress = dress,
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
