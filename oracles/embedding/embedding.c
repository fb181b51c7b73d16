/*
 * embedding: ids (t), table (v, d) -> y (t, d) with y_i = table[ids_i].
 *
 * Backward, given dy: row w of dtable is the sum of dy_i over the tokens i with ids_i = w, 0 where
 * there is none.
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
#include <string.h>

enum { KEY_T, KEY_V, KEY_D };
enum { IDS, TABLE };
enum { Y };

static const assay_key keys[] = {
    {"t", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "tokens"},
    {"v", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "vocabulary: rows of the table"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "columns of the table"},
};

typedef struct sizes {
    int64_t t, v, d;
} sizes;

static sizes sizes_of(const assay_params *params) {
    return (sizes){params->item[KEY_T].value[0], params->item[KEY_V].value[0],
                   params->item[KEY_D].value[0]};
}

static assay_status legal(assay_params *params) {
    const sizes s = sizes_of(params);
    if (s.t > 0 && s.v == 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "embedding: v=0 leaves no row for a token; use v=1 or more, or t=0");
    /* Empty axes count as 1: padding may widen them. */
    const double rows = fmax(1, fmax((double)s.t, (double)s.v));
    const double elements = rows * fmax(1, (double)s.d);
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "embedding: a tensor would have %.3g elements; make t, v or d smaller",
                          elements);
    return ASSAY_OK;
}

/* All tokens may have the same id: t terms, none larger than the limit, fit the accumulator. */
static double exact_limit(const assay_params *params, double terms) {
    return floor(fill_exact_room(params->dtype) / fmax(1, terms));
}

static assay_tensor_spec rows_of(const char *name, const assay_params *params, int64_t rows,
                                 double limit) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = 2,
                              .inner = 1,
                              .shape = {rows, sizes_of(params).d},
                              .scale = 1,
                              .exact_limit = limit,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const sizes s = sizes_of(params);
    const assay_status status = assay_signature_init(sig, 2, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[IDS] = (assay_tensor_spec){
        .name = "ids", .dtype = ASSAY_I32, .rank = 1, .inner = 1, .shape = {s.t}, .indices = s.v};
    sig->in[TABLE] = rows_of("table", params, s.v, exact_limit(params, 1));
    sig->out[Y] = rows_of("y", params, s.t, exact_limit(params, (double)s.t));
    return ASSAY_OK;
}

/* Each of the two results has one factor. The signs of dy alternate from token to token. */
static assay_status dress(assay_problem *p) {
    enum { ROOM = 24, TOKENS = 1 << 0 };
    const assay_fill fill = p->c.fill;
    fill_scale_factor(fill, &p->sig.in[TABLE], ROOM, p->in.data[TABLE]);
    fill_scale_factor(fill, &p->sig.out[Y], ROOM, p->cot.data[Y]);
    if (fill == ASSAY_FILL_CANCEL)
        fill_alternate(&p->sig.out[Y], 1, TOKENS, p->cot.data[Y]);
    return ASSAY_OK;
}

/* ---- oracle ---- */

static int64_t id_of(const assay_oracle_args *args, int64_t i) {
    return (int64_t)args->in->data[IDS][i];
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i)
        relate_copy(result->data[Y] + i * s.d, args->in->data[TABLE] + id_of(args, i) * s.d, s.d);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    memset(result->data[TABLE], 0, (size_t)result->size[TABLE] * sizeof(double));
    for (int64_t i = 0; i < s.t; ++i) {
        const double *dy = args->cot->data[Y] + i * s.d;
        double *row = result->data[TABLE] + id_of(args, i) * s.d;
        for (int64_t j = 0; j < s.d; ++j)
            row[j] += dy[j];
    }
    return ASSAY_OK;
}

/* ---- plain twin: products with the one-hot matrix of the ids ---- */

/* A NaN elsewhere in the table is no part of y. */
static double selected(bool hit, double value) {
    return hit ? value : 0;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.t; ++i)
        for (int64_t j = 0; j < s.d; ++j) {
            double sum = 0;
            for (int64_t w = 0; w < s.v; ++w)
                sum += selected(id_of(args, i) == w, args->in->data[TABLE][w * s.d + j]);
            result->data[Y][i * s.d + j] = sum;
        }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    for (int64_t w = 0; w < s.v; ++w)
        for (int64_t j = 0; j < s.d; ++j) {
            double sum = 0;
            for (int64_t i = s.t - 1; i >= 0; --i)
                sum += selected(id_of(args, i) == w, args->cot->data[Y][i * s.d + j]);
            result->data[TABLE][w * s.d + j] = sum;
        }
    return ASSAY_OK;
}

/* ---- bounds ---- */

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    (void)args;
    (void)r;
    memset(bounds->element.data[Y], 0, (size_t)want->size[Y] * sizeof(double));
    snprintf(bounds->why[Y], ASSAY_WHY, "a copy of the table's row: no rounding is allowed");
    return ASSAY_OK;
}

/* How often each id occurs, in an array of v zeros. */
static void count_ids(const assay_oracle_args *args, double *count) {
    for (int64_t i = 0; i < args->in->size[IDS]; ++i)
        ++count[id_of(args, i)];
}

/* n terms need n - 1 additions: a row of one token is a copy. */
static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    double *bound = bounds->element.data[TABLE], most = 0;
    assay_arrays count = {0};
    assay_status status = assay_arrays_init(&count, 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&count, 0, s.v);
    if (status == ASSAY_OK)
        status = assay_magnitudes(args, r, backward, &bounds->element);
    if (status != ASSAY_OK)
        goto done;
    count_ids(args, count.data[0]);
    for (int64_t w = 0; w < s.v; ++w) {
        const double additions = fmax(0, count.data[0][w] - 1);
        const double phi = assay_accumulation(r, additions);
        for (int64_t e = w * s.d; e < (w + 1) * s.d; ++e)
            bound[e] = assay_bound_element(r, phi, 0, bound[e], want->data[TABLE][e]);
        most = fmax(most, additions);
    }
    assay_why_sum(r, most, "dy_i of the tokens with that id", bounds->why[TABLE]);
done:
    assay_arrays_clear(&count);
    return status;
}

/* Small vocabularies repeat their rows; of large ones most rows have no token. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    for (int32_t key = 0; key < params->count; ++key)
        params->item[key].count = 1;
    int64_t room = (int64_t)fmin(budget, INT32_MAX);
    params->item[KEY_V].value[0] = draw_extent(rng, (int64_t)sqrt(budget));
    room /= params->item[KEY_V].value[0];
    params->item[KEY_T].value[0] = draw_extent(rng, room);
    room /= params->item[KEY_T].value[0];
    params->item[KEY_D].value[0] = draw_extent(rng, room);
}

/* ---- relations ---- */

static assay_status reverse_tokens(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_copy_data(base, derived);
    relate_reverse_axis(&base->sig.in[IDS], 0, base->in.data[IDS], derived->in.data[IDS]);
    relate_reverse_axis(&base->sig.out[Y], 0, base->cot.data[Y], derived->cot.data[Y]);
    return ASSAY_OK;
}

static assay_status unreverse_tokens(const assay_problem *base, const assay_problem *derived,
                                     const assay_results *results, assay_results *want) {
    (void)derived;
    relate_reverse_axis(&base->sig.out[Y], 0, results->out.data[Y], want->out.data[Y]);
    relate_copy(want->grad.data[TABLE], results->grad.data[TABLE], want->grad.size[TABLE]);
    return ASSAY_OK;
}

static assay_status reverse_words(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    const sizes s = sizes_of(&base->c.params);
    relate_copy_data(base, derived);
    relate_reverse_axis(&base->sig.in[TABLE], 0, base->in.data[TABLE], derived->in.data[TABLE]);
    for (int64_t k = 0; k < s.t; ++k)
        derived->in.data[IDS][k] = (double)(s.v - 1) - base->in.data[IDS][k];
    return ASSAY_OK;
}

static assay_status unreverse_words(const assay_problem *base, const assay_problem *derived,
                                    const assay_results *results, assay_results *want) {
    (void)derived;
    relate_copy(want->out.data[Y], results->out.data[Y], want->out.size[Y]);
    relate_reverse_axis(&base->sig.in[TABLE], 0, results->grad.data[TABLE], want->grad.data[TABLE]);
    return ASSAY_OK;
}

/* The tokens' dy in two parts with disjoint support; the sum of a row's parts is that of the row.
 */
static assay_status split(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    relate_keep_part(&derived->cot, Y, i);
    return ASSAY_OK;
}

static assay_status add(const assay_problem *base, const assay_problem *derived,
                        const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_copy(want->out.data[Y], results[0].out.data[Y], want->out.size[Y]);
    for (int64_t e = 0; e < want->grad.size[TABLE]; ++e)
        want->grad.data[TABLE][e] = results[0].grad.data[TABLE][e] + results[1].grad.data[TABLE][e];
    return ASSAY_OK;
}

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    for (int32_t key = 0; key < derived->params.count; ++key)
        ++derived->params.item[key].value[0];
    return ASSAY_OK;
}

/* Column by column. Most rows may be of no token: one that is of the first token is kept. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    (void)i;
    const int64_t first = (int64_t)base->in.data[IDS][0];
    return (relate_link){
        .in = TABLE, .in_axis = 1, .out_axis = 1, .kept = first * sizes_of(&base->c.params).d};
}
RELATE_LINKS(link_of, 1);

static const assay_relation relations[] = {
    {.name = "row_permutation",
     .why = "reversing the tokens reverses y; dtable stays",
     .n_derived = 1,
     .derive = reverse_tokens,
     .predict = unreverse_tokens},
    {.name = "word_permutation",
     .why = "reversing the table and its ids reverses dtable; y stays",
     .n_derived = 1,
     .derive = reverse_words,
     .predict = unreverse_words},
    {.name = "linearity",
     .why = "dy = dya + dyb: dtable is the sum of theirs, y stays",
     .n_derived = 2,
     .derive = split,
     .predict = add},
    RELATE_PADDING(widen_case, "one more token, word and column, whose dy is zero, change nothing"),
    RELATE_ADJOINT,
};

/* ---- work ---- */

/* Of the table, the rows that so many tokens name when they are drawn uniformly, on average. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const sizes s = sizes_of(params);
    const double table = work_bytes(&sig->in[TABLE]), rows = fmax(1, (double)s.v);
    work->read -= table;
    if (stage == ASSAY_FORWARD)
        work->read += table * -expm1((double)s.t * log1p(-1 / rows));
    else
        work->flops = work->least = (double)s.t * (double)s.d; /* additions */
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "t=40 v=100 d=64 dtype=f32,f64,bf16"},
    {ASSAY_SMOKE, "t=70 v=3 d=33 dtype=f32,f64,bf16 pad=3 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "t=129 v=1 d=17 dtype=f32,bf16 fill=positive"},
    {ASSAY_SMOKE, "t=33 v=8 d=40 dtype=f32,f64,bf16 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "t=1 v=2,50 d=1 dtype=f32,bf16"},
    {ASSAY_SMOKE, "t=9 v=2 d=5 dtype=f32,bf16 fill=inf,nan"},
    {ASSAY_SMOKE, "t=50 v=17 d=130 dtype=f32,bf16 pad=8 sched=warp fill=uniform"},
    {ASSAY_SMOKE, "t=23 v=6 d=11 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_CI, "t=1,31,32,33 v=7,8,9,17 d=1,3,4,31,33 dtype=f32"},
    {ASSAY_CI, "t=255,257 v=2,100 d=7,8,9 dtype=f64,bf16 pad=1 misalign=5"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "t=70 v=3 d=64 dtype=f32,bf16 pad=8 misalign=8,9,10,11,13"},
    {ASSAY_CI, "t=20 v=11 d=1023,1024,1025,2049 dtype=f32,bf16 sched=random seed=2"},
    {ASSAY_CI, "t=1023,1025 v=1,5 d=9 dtype=f32,bf16 fill=normal,exact seed=3"},
    {ASSAY_CI, "t=2500 v=3 d=8 dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_CI, "t=1200,2500 v=60 d=9,72 dtype=f32,bf16"}, /* rows enough, some of many tokens */
    {ASSAY_CI, "t=2000 v=257 d=5 dtype=f32,bf16"}, /* every row of v3's first block, and one more */
    /* rows that a block adds together, and others, in several strips */
    {ASSAY_CI, "t=300 v=9 d=300,530 dtype=f32,f64,bf16 pad=1"},
    /* rows of two blocks of the sort: most without a token, and all with several */
    {ASSAY_CI, "t=70,900 v=300 d=140,264 dtype=f32,bf16 pad=1"},
    {ASSAY_CI, "t=40 v=5 d=19 dtype=f32,f64,bf16 fill=cancel,wide,denormal,huge,zeros,mixed"},
    /* equal rows, equal elements */
    {ASSAY_CI, "t=30 v=19 d=11 dtype=f32 fill=rows,repeat"},
    {ASSAY_CI, "t=30 v=19 d=11 dtype=f32 fill=constant seed=7"},
    {ASSAY_NIGHTLY, "t=4096 v=1000 d=70 dtype=f32,f64,bf16"},
    {ASSAY_NIGHTLY, "t=30000 v=2 d=17 dtype=f32,f64,bf16 fill=normal,positive"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "t=9 v=7 d=5 dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "t=9 v=7 d=5 dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_EDGE, "t=0 v=5,0 d=3,0 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "t=4 v=5 d=0 dtype=f32,bf16"},
    {ASSAY_BENCH, "t=4096 v=10000 d=768,1600,2560 dtype=f32,bf16"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    (void)out;
    const double terms = (double)sizes_of(args->params).t;
    range_hold(r, range_of_sum(r, terms, range_largest(args->cot, Y)), "a sum of dy_i", grad,
               TABLE);
    return ASSAY_OK;
}

const assay_op assay_op_embedding = {
    .name = "embedding",
    .forward_formula = "y_i = table[ids_i]",
    .backward_formula = "dtable_w = sum of dy_i over the tokens with ids_i = w",
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
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
