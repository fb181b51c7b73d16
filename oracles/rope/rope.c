/*
 * rope: x (b, h, s, d) -> y, each pair (x_2i, x_2i+1) rotated by the angle p theta^(-2i/d), with
 * p = start + index along s:
 *
 *     y_2i = x_2i cos - x_2i+1 sin,  y_2i+1 = x_2i sin + x_2i+1 cos.
 *
 * Backward, given dy: dx is dy rotated by the opposite angle.
 *
 * The angle is that of the definition, whatever the dtype. At a position of 10^5 fp32 knows an
 * angle to 0.004, so a kernel has to make it, and to reduce it to less than a turn, in fp64; sin
 * and cos of what remains, and the rotation, may be fp32. The bound holds kernels to that.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/bound.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_B, KEY_H, KEY_S, KEY_D, KEY_THETA, KEY_START };
enum { X };
enum { Y };
enum { AXIS_HEAD = 1, AXIS_POSITION };

/* Beyond it, fp64 angles are no longer better than fp32 results. */
enum { LAST_POSITION = 1 << 24 };

static const assay_key keys[] = {
    {"b", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "batch"},
    {"h", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "heads"},
    {"s", ASSAY_KEY_INT, NULL, 0, LAST_POSITION, "sequence length"},
    {"d", ASSAY_KEY_INT, NULL, 0, 1 << 20, "head dimension, even"},
    {"theta", ASSAY_KEY_REAL, "10000", 1, 1e12, "base of the frequencies"},
    {"start", ASSAY_KEY_INT, "0", 0, LAST_POSITION, "position of the first row"},
};

typedef struct sizes {
    int64_t heads, s, pairs; /* heads of all batches; pairs of one row */
    int64_t start;
    double theta;
} sizes;

static sizes sizes_of(const assay_params *params) {
    return (sizes){.heads = params->item[KEY_B].value[0] * params->item[KEY_H].value[0],
                   .s = params->item[KEY_S].value[0],
                   .pairs = params->item[KEY_D].value[0] / 2,
                   .start = params->item[KEY_START].value[0],
                   .theta = params->item[KEY_THETA].real};
}

static assay_status legal(assay_params *params) {
    const int64_t d = params->item[KEY_D].value[0], s = params->item[KEY_S].value[0];
    const int64_t start = params->item[KEY_START].value[0];
    if (d % 2 != 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "rope: d=%lld is odd, and elements rotate in pairs; use %lld",
                          (long long)d, (long long)d + 1);
    if (start + s > LAST_POSITION)
        return assay_fail(ASSAY_ERR_USAGE,
                          "rope: the last position would be %lld; make start or s smaller, so that "
                          "it is below %d",
                          (long long)(start + s - 1), LAST_POSITION);
    double elements = (double)(s > 0 ? s : 1) * (double)(d > 0 ? d : 1);
    for (int32_t key = KEY_B; key <= KEY_H; ++key)
        elements *= fmax(1, (double)params->item[key].value[0]);
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "rope: x would have %.3g elements; make b, h or s smaller", elements);
    return ASSAY_OK;
}

static assay_tensor_spec tensor(const char *name, const assay_params *params) {
    assay_tensor_spec spec = {
        .dtype = params->dtype, .rank = 4, .inner = 1, .scale = 1, .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    for (int32_t key = KEY_B; key <= KEY_D; ++key)
        spec.shape[key] = params->item[key].value[0];
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = tensor("x", params);
    sig->out[Y] = tensor("y", params);
    return ASSAY_OK;
}

/* Every second case begins far away. A pair costs about as much as 16 multiply-adds. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    static const double theta[] = {10000, 10000, 500000, 1};
    static const int32_t order[] = {KEY_D, KEY_S, KEY_H, KEY_B};
    for (int32_t key = 0; key < params->count; ++key)
        params->item[key].count = 1;
    params->item[KEY_THETA].count = 0;
    params->item[KEY_THETA].real = theta[assay_rng_between(rng, 0, 3)];

    int64_t room = (int64_t)fmin(budget / 16, 1 << 19);
    for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
        const int64_t extent = draw_extent(rng, room);
        params->item[order[i]].value[0] = order[i] == KEY_D ? 2 * extent : extent;
        room /= extent;
    }
    const int64_t s = params->item[KEY_S].value[0];
    params->item[KEY_START].value[0] = assay_rng_between(rng, 0, 1) == 0
                                           ? s == 1 /* at position 0 nothing is turned */
                                           : assay_rng_log_between(rng, 1, LAST_POSITION - s);
}

/* ---- the oracle: one table of turns for all heads ---- */

typedef struct turn {
    double cosine, sine;
    double error; /* of the angle, see bounds */
} turn;

/* Roundings of fp64 in an angle: of it, and of the exponent of theta, whose error the power turns
 * into a relative one. A kernel's own power may take several. */
enum { OF_ANGLE = 8 };

static turn turn_at(const sizes *s, int64_t position, int64_t pair) {
    const double exponent = -(double)pair / (double)s->pairs;
    const double angle = (double)position * pow(s->theta, exponent);
    const double powers = 1 + fabs(exponent) * log(s->theta);
    return (turn){cos(angle), sin(angle), OF_ANGLE * assay_dtype_unit(ASSAY_F64) * angle * powers};
}

/* turns[position - start][pair], to be freed. */
static assay_status make_turns(const sizes *s, turn **turns) {
    *turns = malloc((size_t)(s->s * s->pairs + 1) * sizeof **turns);
    if (!*turns)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %lld angles of rope",
                          (long long)(s->s * s->pairs));
    for (int64_t i = 0; i < s->s; ++i)
        for (int64_t pair = 0; pair < s->pairs; ++pair)
            (*turns)[i * s->pairs + pair] = turn_at(s, s->start + i, pair);
    return ASSAY_OK;
}

/* Pairs (a, b) whose first component the rotation nearly brings to 0: a cos ≈ b sin. */
static void make_pairs_cancel(const sizes *s, const turn *turns, double sign, double *x) {
    enum { STEADY = 16 };
    const int64_t table = s->s * s->pairs;
    for (int64_t e = 0; e < s->heads * table; ++e) {
        const turn *t = &turns[e % table];
        x[2 * e] = sign * t->sine * (1 + x[2 * e] / STEADY);
        x[2 * e + 1] = t->cosine * (1 + x[2 * e + 1] / STEADY);
    }
}

static assay_status dress(assay_problem *p) {
    enum { ROOM = 8 };
    const assay_fill fill = p->c.fill;
    const sizes s = sizes_of(&p->c.params);
    fill_scale_factor(fill, &p->sig.in[X], ROOM, p->in.data[X]);
    fill_scale_factor(fill, &p->sig.out[Y], ROOM, p->cot.data[Y]);
    if (fill != ASSAY_FILL_CANCEL)
        return ASSAY_OK;
    turn *turns = NULL;
    const assay_status status = make_turns(&s, &turns);
    if (status != ASSAY_OK)
        return status;
    make_pairs_cancel(&s, turns, 1, p->in.data[X]);
    make_pairs_cancel(&s, turns, -1, p->cot.data[Y]);
    free(turns);
    return ASSAY_OK;
}

/* `to` is `from` rotated, by the opposite angles where `sign` is -1. */
static assay_status rotate(const assay_oracle_args *args, double sign, const double *from,
                           double *to) {
    const sizes s = sizes_of(args->params);
    turn *turns = NULL;
    const assay_status status = make_turns(&s, &turns);
    if (status != ASSAY_OK)
        return status;
    const int64_t table = s.s * s.pairs;
    for (int64_t e = 0; e < s.heads * table; ++e) {
        const turn *t = &turns[e % table];
        to[2 * e] = from[2 * e] * t->cosine - from[2 * e + 1] * (sign * t->sine);
        to[2 * e + 1] = from[2 * e] * (sign * t->sine) + from[2 * e + 1] * t->cosine;
    }
    free(turns);
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    return rotate(args, 1, args->in->data[X], result->data[Y]);
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    return rotate(args, -1, args->cot->data[Y], result->data[X]);
}

/* ---- the twin: every element by itself, theta's power by a logarithm ---- */

static double angle_of(const sizes *s, int64_t row, int64_t j) {
    return (double)(s->start + row) *
           exp(-log(s->theta) * (double)(j / 2 * 2) / (2.0 * (double)s->pairs));
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const int64_t d = 2 * s.pairs;
    for (int64_t e = 0; e < result->size[Y]; ++e) {
        const double angle = angle_of(&s, e / d % s.s, e % d), *x = args->in->data[X];
        result->data[Y][e] = e % 2 == 0 ? x[e] * cos(angle) - x[e + 1] * sin(angle)
                                        : x[e - 1] * sin(angle) + x[e] * cos(angle);
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const int64_t d = 2 * s.pairs;
    for (int64_t e = 0; e < result->size[X]; ++e) {
        const double angle = angle_of(&s, e / d % s.s, e % d), *dy = args->cot->data[Y];
        result->data[X][e] = e % 2 == 0 ? dy[e] * cos(angle) + dy[e + 1] * sin(angle)
                                        : dy[e] * cos(angle) - dy[e - 1] * sin(angle);
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/* Roundings of cos and sin, absolute, of an argument and a result in the accumulator's type; of
 * each product and of their sum. */
enum { OF_TURN = 2, OF_PRODUCT = 2 };

/* An angle that is off by δ moves a component by δ times the other. */
static double component_error(const assay_rounding *r, const turn *t, double a, double b,
                              double a_factor, double b_factor, double other) {
    const double u = r->u + assay_dtype_unit(ASSAY_F64);
    const double moved = t->error * (fabs(other) + t->error * fabs(a) + t->error * fabs(b));
    const double from_a = u * fabs(a) * (OF_TURN + OF_PRODUCT * fabs(a_factor)),
                 from_b = u * fabs(b) * (OF_TURN + OF_PRODUCT * fabs(b_factor));
    return moved + from_a + from_b;
}

/* The bounds of `to`, which is `from` rotated either way. */
static assay_status bound_rotation(const assay_oracle_args *args, const assay_rounding *r,
                                   const double *from, const double *to, double *bound,
                                   char why[ASSAY_WHY]) {
    const sizes s = sizes_of(args->params);
    turn *turns = NULL;
    const assay_status status = make_turns(&s, &turns);
    if (status != ASSAY_OK)
        return status;
    const int64_t table = s.s * s.pairs;
    for (int64_t e = 0; e < s.heads * table; ++e) {
        const turn *t = &turns[e % table];
        const double a = from[2 * e], b = from[2 * e + 1];
        for (int64_t k = 0; k < 2; ++k) {
            const int64_t at = 2 * e + k;
            const double error = component_error(r, t, a, b, k == 0 ? t->cosine : t->sine,
                                                 k == 0 ? t->sine : t->cosine, to[4 * e + 1 - at]);
            bound[at] = assay_bound_element(r, 1, OF_PRODUCT, error, to[at]);
        }
    }
    snprintf(why, ASSAY_WHY,
             "cos, sin and the rotation, u = 2^%.0f; the angle made and reduced in fp64: "
             "%d*2^-53*angle*(1 + (2i/d) log theta)%s",
             log2(r->u), OF_ANGLE, r->u_out > 0 ? "; then rounded to the stored type" : "");
    free(turns);
    return ASSAY_OK;
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    return bound_rotation(args, r, args->in->data[X], want->data[Y], bounds->element.data[Y],
                          bounds->why[Y]);
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    return bound_rotation(args, r, args->cot->data[Y], want->data[X], bounds->element.data[X],
                          bounds->why[X]);
}

/* ---- relations ---- */

static assay_status split(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    relate_keep_part(&derived->in, X, i);
    relate_keep_part(&derived->cot, Y, i);
    return ASSAY_OK;
}

static assay_status add(const assay_problem *base, const assay_problem *derived,
                        const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    for (int64_t e = 0; e < want->out.size[Y]; ++e) {
        want->out.data[Y][e] = results[0].out.data[Y][e] + results[1].out.data[Y][e];
        want->grad.data[X][e] = results[0].grad.data[X][e] + results[1].grad.data[X][e];
    }
    return ASSAY_OK;
}

enum { X_POWER = 2, DY_POWER = -3 };

static void scale(double *to, const double *from, int power, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        to[e] = ldexp(from[e], power);
}

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    scale(derived->in.data[X], base->in.data[X], X_POWER, base->in.size[X]);
    scale(derived->cot.data[Y], base->cot.data[Y], DY_POWER, base->cot.size[Y]);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    scale(want->out.data[Y], results->out.data[Y], -X_POWER, want->out.size[Y]);
    scale(want->grad.data[X], results->grad.data[X], -DY_POWER, want->grad.size[X]);
    return ASSAY_OK;
}

static assay_status reverse_heads(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_reverse_axis(&base->sig.in[X], AXIS_HEAD, base->in.data[X], derived->in.data[X]);
    relate_reverse_axis(&base->sig.out[Y], AXIS_HEAD, base->cot.data[Y], derived->cot.data[Y]);
    return ASSAY_OK;
}

static assay_status unreverse_heads(const assay_problem *base, const assay_problem *derived,
                                    const assay_results *results, assay_results *want) {
    (void)derived;
    relate_reverse_axis(&base->sig.out[Y], AXIS_HEAD, results->out.data[Y], want->out.data[Y]);
    relate_reverse_axis(&base->sig.in[X], AXIS_HEAD, results->grad.data[X], want->grad.data[X]);
    return ASSAY_OK;
}

/* A quarter of a turn before the rotation is one behind it. Its sign is left out, so that nothing
 * is subtracted: problem 0 is turned forward and gives the even components, problem 1 backward. */
static void quarter(const double *from, int32_t i, double *to, int64_t count) {
    for (int64_t e = 0; e < count; e += 2) {
        to[e] = i == 0 ? -from[e + 1] : from[e + 1];
        to[e + 1] = i == 0 ? from[e] : -from[e];
    }
}

static assay_status turn_quarter(const assay_problem *base, int32_t i, assay_problem *derived) {
    quarter(base->in.data[X], i, derived->in.data[X], base->in.size[X]);
    quarter(base->cot.data[Y], i, derived->cot.data[Y], base->cot.size[Y]);
    return ASSAY_OK;
}

static void join(const double *forward_turned, const double *backward_turned, double *to,
                 int64_t count) {
    for (int64_t e = 0; e < count; e += 2) {
        to[e] = forward_turned[e + 1];
        to[e + 1] = backward_turned[e];
    }
}

static assay_status unturn_quarter(const assay_problem *base, const assay_problem *derived,
                                   const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    join(results[0].out.data[Y], results[1].out.data[Y], want->out.data[Y], want->out.size[Y]);
    join(results[0].grad.data[X], results[1].grad.data[X], want->grad.data[X], want->grad.size[X]);
    return ASSAY_OK;
}

static bool starts_late(const assay_case *c) {
    return c->params.item[KEY_START].value[0] > 0;
}

static assay_status earlier_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    --derived->params.item[KEY_START].value[0];
    ++derived->params.item[KEY_S].value[0];
    return ASSAY_OK;
}

/* Copies rows of heads of `s` rows from or to the end of heads of s + 1. */
static void copy_tails(const sizes *s, const double *from, bool to_longer, double *to) {
    const int64_t row = 2 * s->pairs;
    for (int64_t head = 0; head < s->heads; ++head) {
        const int64_t in_short = head * s->s * row, in_long = (head * (s->s + 1) + 1) * row;
        relate_copy(to + (to_longer ? in_long : in_short), from + (to_longer ? in_short : in_long),
                    s->s * row);
    }
}

static assay_status start_earlier(const assay_problem *base, int32_t i, assay_problem *derived) {
    const sizes s = sizes_of(&base->c.params);
    (void)i;
    copy_tails(&s, base->in.data[X], true, derived->in.data[X]);
    copy_tails(&s, base->cot.data[Y], true, derived->cot.data[Y]);
    return ASSAY_OK;
}

static assay_status drop_first(const assay_problem *base, const assay_problem *derived,
                               const assay_results *results, assay_results *want) {
    const sizes s = sizes_of(&base->c.params);
    (void)derived;
    copy_tails(&s, results->out.data[Y], false, want->out.data[Y]);
    copy_tails(&s, results->grad.data[X], false, want->grad.data[X]);
    return ASSAY_OK;
}

static relate_link link_of(const assay_problem *base, int32_t i) {
    (void)base;
    (void)i;
    return (relate_link){.in = X, .in_axis = AXIS_POSITION, .out_axis = AXIS_POSITION};
}
RELATE_LINKS(link_of, 1);

static const assay_relation relations[] = {
    {.name = "linearity",
     .why = "x = xa + xb, dy = dya + dyb: y and dx are the sums of theirs",
     .n_derived = 2,
     .derive = split,
     .predict = add},
    {.name = "power_of_two_scaling",
     .why = "x by 4 and dy by 1/8 scale y and dx, bit for bit",
     .exact = true,
     .applies = relate_keeps_bits,
     .n_derived = 1,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "head_permutation",
     .why = "reversing the heads reverses those of y and dx",
     .n_derived = 1,
     .derive = reverse_heads,
     .predict = unreverse_heads},
    {.name = "quarter_turn",
     .why = "pairs turned by a quarter before the rotation are turned by a quarter after it",
     .n_derived = 2,
     .derive = turn_quarter,
     .predict = unturn_quarter},
    {.name = "earlier_start",
     .why = "one row more before the others, and a start that is one less, change nothing",
     .applies = starts_late,
     .n_derived = 1,
     .derive_case = earlier_case,
     .derive = start_earlier,
     .predict = drop_first},
    RELATE_ADJOINT,
};

/* ---- work ---- */

/* Four products and two sums a pair; backward rotates dy and needs no x. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    work->flops = work->least = 3 * (double)assay_spec_count(&sig->in[X]);
    if (stage == ASSAY_BACKWARD)
        work->read -= work_bytes(&sig->in[X]);
}

/* v3 has one for each 256 packs of 16 bytes of a head, which takes up to 32 heads. */
static double blocks(const assay_params *params) {
    enum { HEADS = 32, ELEMENTS = 1024 };
    static const double block = 100;
    const sizes s = sizes_of(params);
    return block * ceil((double)s.heads / HEADS) *
           ceil((double)s.s * 2 * (double)s.pairs / ELEMENTS);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "b=2 h=3 s=7 d=16 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "b=1 h=2 s=5 d=34 start=1 dtype=f32,f64,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "b=1 h=2 s=4 d=64 start=100000 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "b=3 h=1 s=3 d=24 theta=500000 start=16000000 dtype=f32,f64 sched=random seed=1"},
    {ASSAY_SMOKE, "b=1 h=9 s=2 d=12 dtype=f32,bf16 pad=8 fill=uniform,positive sched=warp"},
    {ASSAY_SMOKE, "b=1 h=1 s=6 d=2 start=7 dtype=f32,f64,bf16 sched=reverse seed=2"},
    {ASSAY_SMOKE, "b=1 h=2 s=5 d=10 dtype=f32,bf16 fill=inf,nan"},
    {ASSAY_SMOKE, "b=1 h=2 s=6 d=6 start=2 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "b=1,2 h=1,7,8,9 s=3 d=4,6,8,10,30,32 dtype=f32"},
    {ASSAY_CI, "b=2 h=17 s=31,33 d=14,16,18 start=5000 dtype=f64,bf16 pad=1"},
    {ASSAY_CI, "b=1 h=5 s=257 d=64 dtype=f32,bf16 misalign=5 sched=warp"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "b=1 h=2 s=5 d=32 dtype=f32,bf16 pad=8 misalign=8:11:1"},
    {ASSAY_CI, "b=1 h=12 s=16 d=64,80,128 start=131071 dtype=f32,bf16"},
    {ASSAY_CI, "b=1 h=3 s=70 d=64 dtype=f32,f64,bf16"}, /* a block's threads share no place */
    {ASSAY_CI, "b=2 h=3 s=9 d=40 theta=1,2.5,1000000 start=12345 dtype=f32,f64"},
    {ASSAY_CI, "b=1 h=1 s=2 d=1026 start=16777200 dtype=f32,f64 seed=3"},
    {ASSAY_CI, "b=1 h=3 s=4 d=6 dtype=f64 fill=inf,nan"},
    {ASSAY_CI, "b=1 h=2 s=11 d=10 start=3 dtype=f32,f64,bf16 "
               "fill=cancel,wide,denormal,huge,zeros,mixed"},
    /* equal rows, equal elements */
    {ASSAY_CI, "b=1 h=2 s=11 d=10 start=3 dtype=f32 fill=rows,repeat,constant seed=1"},
    {ASSAY_NIGHTLY, "b=4 h=12 s=256 d=64 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "b=1 h=2 s=4096 d=80 start=120000 dtype=f32,f64,bf16"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "b=2 h=2 s=5 d=8 dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "b=2 h=2 s=5 d=8 dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_EDGE, "b=0 h=0,3 s=4 d=8 dtype=f32,bf16"},
    {ASSAY_EDGE, "b=2 h=0,3 s=0 d=0,8 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "b=2 h=3 s=4 d=0 start=9 dtype=f32,bf16"},
    {ASSAY_BENCH, "b=4 h=12 s=1024 d=64 dtype=f32,bf16"},
    {ASSAY_BENCH, "b=4 h=25 s=1024 d=64 dtype=f32,bf16"},
    {ASSAY_BENCH, "b=4 h=32 s=1024 d=80 dtype=f32,bf16"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    range_hold(r, range_largest(args->in, X), "x_2i + x_2i+1", out, Y);
    range_hold(r, range_largest(args->cot, Y), "dy_2i + dy_2i+1", grad, X);
    return ASSAY_OK;
}

const assay_op assay_op_rope = {
    .name = "rope",
    .forward_formula = "pairs (x_2i, x_2i+1) at position p rotated by p theta^(-2i/d)",
    .backward_formula = "dx: pairs of dy rotated by -p theta^(-2i/d)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_FAMILIES,
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
