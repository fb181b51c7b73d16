/*
 * transpose: x (n…, r, c) -> y (n…, c, r), y[…, j, i] = x[…, i, j]. Backward: dx is dy transposed.
 *
 * Nothing is rounded: every element is a copy, bit for bit, NaN and Inf included.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_N, KEY_R, KEY_C };
enum { X };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, 0x1p40, "leading axes, `none` for a single matrix"},
    {"r", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "rows of x, columns of y"},
    {"c", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "columns of x, rows of y"},
};

typedef struct sizes {
    int64_t matrices, r, c;
} sizes;

static sizes sizes_of(const assay_params *params) {
    sizes s = {1, params->item[KEY_R].value[0], params->item[KEY_C].value[0]};
    for (int32_t i = 0; i < params->item[KEY_N].count; ++i)
        s.matrices *= params->item[KEY_N].value[i];
    return s;
}

static assay_status legal(assay_params *params) {
    const assay_param *n = &params->item[KEY_N];
    if (n->count + 2 > ASSAY_MAX_RANK)
        return assay_fail(ASSAY_ERR_USAGE, "transpose: n has %d axes; at most %d are possible",
                          n->count, ASSAY_MAX_RANK - 2);
    /* Empty axes count as 1, so that no product of the others overflows on its way. */
    double elements = fmax(1, (double)params->item[KEY_R].value[0]) *
                      fmax(1, (double)params->item[KEY_C].value[0]);
    for (int32_t i = 0; i < n->count; ++i)
        elements *= fmax(1, (double)n->value[i]);
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "transpose: a tensor would have %.3g elements; make n, r or c smaller",
                          elements);
    return ASSAY_OK;
}

static assay_tensor_spec matrices(const char *name, const assay_params *params, int64_t rows,
                                  int64_t columns) {
    const assay_param *n = &params->item[KEY_N];
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = n->count + 2,
                              .inner = 1,
                              .scale = 1,
                              .exact_limit = 0x1p24,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    for (int32_t i = 0; i < n->count; ++i)
        spec.shape[i] = n->value[i];
    spec.shape[n->count] = rows;
    spec.shape[n->count + 1] = columns;
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const sizes s = sizes_of(params);
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = matrices("x", params, s.r, s.c);
    sig->out[Y] = matrices("y", params, s.c, s.r);
    return ASSAY_OK;
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N], *r = &params->item[KEY_R], *c = &params->item[KEY_C];
    int64_t room = (int64_t)fmin(budget / 4, INT32_MAX);
    r->count = c->count = 1;
    r->value[0] = draw_extent(rng, room);
    room /= r->value[0];
    c->value[0] = draw_extent(rng, room);
    room /= c->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
}

/* ---- the oracle, by rows of y; its twin, by rows of x ---- */

static void by_target(int64_t matrices, int64_t rows, int64_t columns, const double *from,
                      double *to) {
    for (int64_t m = 0; m < matrices; ++m, from += rows * columns, to += rows * columns)
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t i = 0; i < rows; ++i)
                to[j * rows + i] = from[i * columns + j];
}

static void by_source(int64_t matrices, int64_t rows, int64_t columns, const double *from,
                      double *to) {
    for (int64_t e = matrices * rows * columns - 1; e >= 0; --e) {
        const int64_t m = e / (rows * columns), i = e / columns % rows, j = e % columns;
        to[(m * columns + j) * rows + i] = from[e];
    }
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    by_target(s.matrices, s.r, s.c, args->in->data[X], result->data[Y]);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    by_target(s.matrices, s.c, s.r, args->cot->data[Y], result->data[X]);
    return ASSAY_OK;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    by_source(s.matrices, s.r, s.c, args->in->data[X], result->data[Y]);
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    by_source(s.matrices, s.c, s.r, args->cot->data[Y], result->data[X]);
    return ASSAY_OK;
}

/* ---- bounds ---- */

static assay_status no_error(const assay_oracle_args *args, const assay_rounding *r,
                             const assay_arrays *want, assay_bounds *bounds) {
    (void)args;
    (void)r;
    memset(bounds->element.data[0], 0, (size_t)want->size[0] * sizeof(double));
    snprintf(bounds->why[0], ASSAY_WHY, "a copy: no rounding is allowed");
    return ASSAY_OK;
}

/* ---- relations ---- */

/* Rows of x and of dx are columns of y and of dy. */
static assay_status reverse(const assay_problem *base, int32_t i, assay_problem *derived) {
    const int32_t rank = base->sig.in[X].rank;
    (void)i;
    relate_reverse_axis(&base->sig.in[X], rank - 2, base->in.data[X], derived->in.data[X]);
    relate_reverse_axis(&base->sig.out[Y], rank - 1, base->cot.data[Y], derived->cot.data[Y]);
    return ASSAY_OK;
}

static assay_status unreverse(const assay_problem *base, const assay_problem *derived,
                              const assay_results *results, assay_results *want) {
    const int32_t rank = base->sig.in[X].rank;
    (void)derived;
    relate_reverse_axis(&base->sig.out[Y], rank - 1, results->out.data[Y], want->out.data[Y]);
    relate_reverse_axis(&base->sig.in[X], rank - 2, results->grad.data[X], want->grad.data[X]);
    return ASSAY_OK;
}

static const assay_relation relations[] = {
    {.name = "row_permutation",
     .why = "reversing the rows of x and the columns of dy reverses those of dx and y",
     .exact = true,
     .n_derived = 1,
     .derive = reverse,
     .predict = unreverse},
};

/* ---- work ---- */

static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)params;
    work->flops = work->least = 0;
    if (stage == ASSAY_BACKWARD) /* dy is enough */
        work->read =
            (double)assay_spec_count(&sig->out[Y]) * (double)assay_dtype_size(sig->out[Y].dtype);
}

/* One for each tile of each matrix. */
static double blocks(const assay_params *params) {
    enum { TILE = 32 };
    static const double block = 350;
    const sizes s = sizes_of(params);
    return block * (double)s.matrices * ceil((double)s.r / TILE) * ceil((double)s.c / TILE);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=5x3 r=7 c=65 dtype=f32,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=none r=40 c=33 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=3 r=64 c=96 dtype=f32,f16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=none r=129 c=2 dtype=f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=2 r=9 c=5 dtype=f32,bf16 fill=inf,nan,exact,positive"},
    {ASSAY_CI, "n=none r=2,3,7,8,31,32,33,63,65 c=2,4,5,31,32,33,64,127 dtype=f32,bf16"},
    {ASSAY_CI, "n=3 r=32,64 c=64 dtype=f32,f64,bf16,f16 pad=0,8 misalign=8:11:1"},
    {ASSAY_CI, "n=300 r=2 c=3 dtype=f32"},
    {ASSAY_CI, "n=none,3 r=1,5 c=1,7 dtype=f32,bf16"},
    {ASSAY_CI, "n=2x2 r=100 c=257 dtype=f64,f16 pad=1 sched=warp"},
    {ASSAY_CI, "n=none r=33 c=34 dtype=f32,bf16 fill=wide,zeros,uniform"},
    {ASSAY_NIGHTLY, "n=3 r=1000,1024 c=1023,2048 dtype=f32,bf16"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=4 r=5 c=33 dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=4 r=5 c=33 dtype=f16 operand=0:1 " RANGE_F16},
    {ASSAY_NIGHTLY, "n=4 r=5 c=33 dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_EDGE, "n=0 r=3 c=5 dtype=f32,bf16"},
    {ASSAY_EDGE, "n=2,none r=0,3 c=0 dtype=f32"},
    {ASSAY_BENCH, "n=16 r=4096 c=4096 dtype=f32,bf16"},
};

const assay_op assay_op_transpose = {
    .name = "transpose",
    .forward_formula = "y_ji = x_ij over the last two axes",
    .backward_formula = "dx_ij = dy_ji",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = FILL_GENERAL,
    .legal = legal,
    .signature = signature,
    .forward = forward,
    .backward = backward,
    .forward_plain = forward_plain,
    .backward_plain = backward_plain,
    .forward_bound = no_error,
    .backward_bound = no_error,
    .work = count_work,
    .blocks = blocks,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
