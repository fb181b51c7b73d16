/*
 * scan: x (n…) -> y (n…), sums along one axis: y_k = x_0 + … + x_k, or, where it is exclusive,
 * y_k = x_0 + … + x_(k-1), which begins with 0.
 *
 * Backward, given dy: the same from the other end, dx_k = dy_k + … + dy_(l-1), exclusive without
 * dy_k.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/approx.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/twofold.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_AXIS, KEY_EXCLUSIVE };
enum { X };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, 0x1p40, "axes of x"},
    {"axis", ASSAY_KEY_INT, NULL, 0, ASSAY_MAX_RANK - 1, "the one that is summed along, from 0"},
    {"exclusive", ASSAY_KEY_INT, "0", 0, 1, "1: without the element itself"},
};

/* Lines along the axis: line `outer · inner + i` has its elements `inner` apart. */
typedef struct lines {
    int64_t count, inner, length;
    bool exclusive;
} lines;

static lines lines_of(const assay_params *params) {
    const assay_param *n = &params->item[KEY_N];
    const int64_t axis = params->item[KEY_AXIS].value[0];
    lines s = {1, 1, n->value[axis], params->item[KEY_EXCLUSIVE].value[0] != 0};
    for (int32_t a = 0; a < n->count; ++a) {
        s.count *= a == axis ? 1 : n->value[a];
        s.inner *= a > axis ? n->value[a] : 1;
    }
    return s;
}

/* Element k of a line, from the one end or from the other. */
static int64_t place(const lines *s, int64_t line, int64_t k, bool backwards) {
    const int64_t at = backwards ? s->length - 1 - k : k;
    return (line / s->inner * s->length + at) * s->inner + line % s->inner;
}

static assay_status legal(assay_params *params) {
    const assay_param *n = &params->item[KEY_N];
    const int64_t axis = params->item[KEY_AXIS].value[0];
    double elements = 1;
    if (axis >= n->count)
        return assay_fail(ASSAY_ERR_USAGE,
                          "scan: axis=%lld is none of the %d axes of n; the last one is %d",
                          (long long)axis, n->count, n->count - 1);
    for (int32_t i = 0; i < n->count; ++i)
        elements *= fmax(1, (double)n->value[i]);
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "scan: a tensor would have %.3g elements; make n smaller", elements);
    return ASSAY_OK;
}

static assay_tensor_spec spec_of(const char *name, const assay_params *params) {
    const assay_param *n = &params->item[KEY_N];
    const int64_t length = lines_of(params).length;
    const double room = fill_exact_room(params->dtype);
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = n->count,
                              .inner = 1,
                              .scale = 1,
                              .exact_limit = floor(room / fmax(1, (double)length)),
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    for (int32_t i = 0; i < n->count; ++i)
        spec.shape[i] = n->value[i];
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = spec_of("x", params);
    sig->out[Y] = spec_of("y", params);
    return ASSAY_OK;
}

/* Signs that alternate along every axis: sums that come back to 0. */
static assay_status dress(assay_problem *p) {
    enum { ROOM = 24 };
    fill_scale_factor(p->c.fill, &p->sig.in[X], ROOM, p->in.data[X]);
    if (p->c.fill == ASSAY_FILL_CANCEL) {
        fill_alternate(&p->sig.in[X], 1, ~0u, p->in.data[X]);
        fill_alternate(&p->sig.out[Y], 1, ~0u, p->cot.data[Y]);
    }
    return ASSAY_OK;
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N];
    int64_t room = (int64_t)fmin(budget / 8, INT32_MAX);
    n->count = (int32_t)assay_rng_between(rng, 1, 4);
    params->item[KEY_AXIS].count = params->item[KEY_EXCLUSIVE].count = 1;
    params->item[KEY_AXIS].value[0] = assay_rng_between(rng, 0, n->count - 1);
    params->item[KEY_EXCLUSIVE].value[0] = assay_rng_between(rng, 0, 1);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
    int64_t *length = &n->value[params->item[KEY_AXIS].value[0]];
    *length = *length < 2 ? 2 : *length; /* of one element it is a copy, or 0 */
}

/* ---- the oracle ---- */

static void scan(const lines *s, bool backwards, const double *from, double *to) {
    for (int64_t line = 0; line < s->count; ++line) {
        twofold sum = {0};
        for (int64_t k = 0; k < s->length; ++k) {
            const int64_t e = place(s, line, k, backwards);
            if (s->exclusive)
                to[e] = twofold_value(sum);
            twofold_add(&sum, from[e]);
            if (!s->exclusive)
                to[e] = twofold_value(sum);
        }
    }
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const lines s = lines_of(args->params);
    scan(&s, false, args->in->data[X], result->data[Y]);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const lines s = lines_of(args->params);
    scan(&s, true, args->cot->data[Y], result->data[X]);
    return ASSAY_OK;
}

/* ---- the twin: each element is a sum of its own ---- */

static void sum_each(const lines *s, bool backwards, const double *from, double *to) {
    for (int64_t line = 0; line < s->count; ++line)
        for (int64_t k = 0; k < s->length; ++k) {
            double sum = 0;
            for (int64_t j = s->exclusive ? k - 1 : k; j >= 0; --j)
                sum += from[place(s, line, j, backwards)];
            to[place(s, line, k, backwards)] = sum;
        }
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const lines s = lines_of(args->params);
    sum_each(&s, false, args->in->data[X], result->data[Y]);
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const lines s = lines_of(args->params);
    sum_each(&s, true, args->cot->data[Y], result->data[X]);
    return ASSAY_OK;
}

/* ---- bounds: each element is a sum of its terms in any order ---- */

/* The first `terms` elements, and the bounds of those results that have more than half of them: of
 * a sum that drifts (drift.h) the grids are those of sums of about its size. */
static void bound_half(const assay_rounding *r, const lines *s, int64_t line, bool backwards,
                       int64_t terms, const double *from, const double *want, double *bound) {
    double about = 0;
    for (int64_t k = 0; k < terms; ++k)
        about += fabs(from[place(s, line, k, backwards)]);
    approx_sum sum = approx_sum_begin(r, (double)terms, r->zero_mean ? 0 : about);
    for (int64_t k = 0; k < terms; ++k) {
        approx_sum_add(&sum, approx_exact(from[place(s, line, k, backwards)]));
        const int64_t of = k + (s->exclusive ? 1 : 0); /* the result that these are the terms of */
        if (2 * (k + 1) <= terms || of >= s->length)
            continue;
        const int64_t e = place(s, line, of, backwards);
        sum.terms = (double)(k + 1);
        bound[e] = k > 0 ? approx_bound(r, approx_sum_end(r, &sum), want[e]) : 0; /* 0: a copy */
    }
}

static void bound_lines(const assay_rounding *r, const lines *s, bool backwards, const double *from,
                        const double *want, double *bound) {
    for (int64_t line = 0; line < s->count; ++line) {
        if (s->exclusive && s->length > 0)
            bound[place(s, line, 0, backwards)] = 0;
        for (int64_t terms = 1; terms < 2 * s->length; terms *= 2)
            bound_half(r, s, line, backwards, terms < s->length ? terms : s->length, from, want,
                       bound);
    }
}

static void why(const assay_rounding *r, const lines *s, const char *term, char text[ASSAY_WHY]) {
    char sum[ASSAY_WHY];
    assay_why_sum(r, (double)s->length, term, sum);
    snprintf(text, ASSAY_WHY, "each of its own terms, at the end %.200s", sum);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const lines s = lines_of(args->params);
    bound_lines(r, &s, false, args->in->data[X], want->data[Y], bounds->element.data[Y]);
    why(r, &s, "x_k", bounds->why[Y]);
    return ASSAY_OK;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const lines s = lines_of(args->params);
    bound_lines(r, &s, true, args->cot->data[Y], want->data[X], bounds->element.data[X]);
    why(r, &s, "dy_k", bounds->why[X]);
    return ASSAY_OK;
}

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const double length = (double)lines_of(args->params).length;
    range_hold(r, range_of_sum(r, length, range_largest(args->in, X)), "a sum of x_k", out, Y);
    range_hold(r, range_of_sum(r, length, range_largest(args->cot, Y)), "a sum of dy_k", grad, X);
    return ASSAY_OK;
}

/* ---- relations ---- */

/* Slices along another axis have sums of their own, at each place of the axes before both. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    const int32_t last = base->sig.in[X].rank - 1;
    const int32_t axis = (int32_t)base->c.params.item[KEY_AXIS].value[0];
    const int32_t other = axis < last ? last : last > 0 ? last - 1 : RELATE_WHOLE;
    const int32_t leading = other == RELATE_WHOLE ? 0 : axis < other ? axis : other;
    (void)i;
    return (relate_link){.in = X, .in_axis = other, .out_axis = other, .leading = leading};
}
RELATE_LINKS(link_of, 1);

static bool has_other_axis(const assay_case *c) {
    return c->params.item[KEY_AXIS].value[0] != 0 && c->params.item[KEY_N].value[0] > 1;
}

static bool is_inclusive(const assay_case *c) {
    return c->params.item[KEY_EXCLUSIVE].value[0] == 0;
}

static assay_status make_exclusive(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    derived->params.item[KEY_EXCLUSIVE].value[0] = 1;
    return ASSAY_OK;
}

static assay_status same_data(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    return ASSAY_OK;
}

static assay_status add_own(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    (void)derived;
    for (int64_t e = 0; e < want->out.size[Y]; ++e) {
        want->out.data[Y][e] = results->out.data[Y][e] + base->in.data[X][e];
        want->grad.data[X][e] = results->grad.data[X][e] + base->cot.data[Y][e];
    }
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    RELATE_ADJOINT,
    {.name = "inclusive",
     .why = "the inclusive scan is the exclusive one and the element itself",
     .applies = is_inclusive,
     .n_derived = 1,
     .derive_case = make_exclusive,
     .derive = same_data,
     .predict = add_own},
    {.name = "row_permutation",
     .why = "reversing another axis reverses y and dx",
     .applies = has_other_axis,
     .n_derived = 1,
     .derive = relate_reverse,
     .predict = relate_unreverse},
};

/* ---- work ---- */

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const double elements = (double)assay_spec_count(&sig->in[X]);
    (void)params;
    work->flops = work->least = elements;
    if (stage == ASSAY_BACKWARD) /* dy is enough */
        work->read = elements * (double)assay_dtype_size(sig->out[Y].dtype);
}

/* One for each line of neighbours; a thread for each of the others. */
static double blocks(const assay_params *params) {
    static const double block = 800;
    const lines s = lines_of(params);
    return s.inner == 1 ? block * (double)s.count : 0;
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16x96 axis=1 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=5x7x33 axis=0,1,2 dtype=f32,f64,bf16,f16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=9x70 axis=0,1 exclusive=1 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=37 axis=0 exclusive=0,1 dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=7x50 axis=1 dtype=f32,bf16 fill=exact,uniform,positive sched=warp"},
    {ASSAY_SMOKE, "n=5x37 axis=1 dtype=f32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11x13 axis=0 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_SMOKE, "n=2x5000 axis=1 dtype=f32"}, /* more than a block takes at once */
    {ASSAY_SMOKE, "n=300x4 axis=0 dtype=f32"},
    {ASSAY_CI, "n=2x2,2x31,33x33,3x255,3x257 axis=0,1 exclusive=0,1 dtype=f32"},
    {ASSAY_CI, "n=3x1x5x17 axis=0,2,3 dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7x1024,3x2049 axis=0,1 dtype=f32,bf16,f16 pad=1 misalign=5 seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5x64 axis=1 dtype=f32,bf16 pad=0,8 misalign=8:11:1"},
    {ASSAY_CI, "n=2x9000,20000 axis=0 exclusive=0,1 dtype=f32,bf16"},
    {ASSAY_CI, "n=2x9000 axis=1 exclusive=0,1 dtype=f64,f16 sched=random"},
    {ASSAY_CI, "n=1500x3,700x2x5 axis=0 exclusive=0,1 dtype=f32,bf16 sched=reverse"},
    {ASSAY_CI, "n=40x70 axis=0,1 dtype=f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12x41 axis=1 dtype=f32,f64,bf16,f16 fill=cancel,wide,denormal,zeros,mixed"},
    {ASSAY_NIGHTLY, "n=64x4096,3x100003 axis=0,1 exclusive=0,1 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=997x100 axis=0,1 dtype=f64,f32,bf16,f16 fill=normal,positive pad=5 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5x33 axis=1 dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5x33 axis=1 dtype=f16 operand=0:1 " RANGE_F16},
    {ASSAY_NIGHTLY, "n=5x33 axis=1 dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_CI, "n=1x5,1x1x3 axis=0 dtype=f32,bf16"},               /* copies */
    {ASSAY_EDGE, "n=1x5,1x1x3 axis=0 exclusive=1 dtype=f32,bf16"}, /* zeros */
    {ASSAY_EDGE, "n=0x5,5x0 axis=0,1 dtype=f32,f64,bf16"},
    {ASSAY_BENCH, "n=4096x4096,64x1048576 axis=0,1 dtype=f32,bf16"},
};

const assay_op assay_op_scan = {
    .name = "scan",
    .forward_formula = "y_k = sum of x_j, j <= k (exclusive: j < k), along one axis",
    .backward_formula = "dx_k = sum of dy_j, j >= k (exclusive: j > k)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_GENERAL | ASSAY_FILL_BIT(ASSAY_FILL_CANCEL) |
             ASSAY_FILL_BIT(ASSAY_FILL_DENORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_MIXED),
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
