/*
 * softmax: x (n…, d) -> y (n…, d) = exp(x - m) / Σ exp(x - m) over the last axis, m its largest
 * element.
 *
 * Backward, given dy: dx = y ⊙ (dy - Σ y dy).
 *
 * With +Inf in a row the definition gives NaN for all of it, as IEEE arithmetic has it; -Inf gives
 * 0.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/approx.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate_rows.h"
#include "oracles/common/rows.h"
#include "oracles/common/twofold.h"

#include <math.h>
#include <stdio.h>

enum { KEY_N, KEY_D };
enum { X };
enum { Y };

static const assay_key keys[] = {
    {"n", ASSAY_KEY_LIST, NULL, 0, INT64_C(1) << 40, "leading axes of x, `none` for a single row"},
    {"d", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "length of the last axis"},
};

static assay_status legal(assay_params *params) {
    return rows_legal("softmax", params);
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 1, 1);
    if (status != ASSAY_OK)
        return status;
    sig->in[X] = rows_spec("x", params);
    sig->out[Y] = rows_spec("y", params);
    return ASSAY_OK;
}

/* huge: few elements of a row are not lost beside the largest. negative: far below 0, where exp(x)
 * is 0 without m. cancel: Σ y dy is nearly each dy. denormal: dy. */
static assay_status dress(assay_problem *p) {
    const assay_tensor_spec *x = &p->sig.in[X], *dy = &p->sig.out[Y];
    const int64_t d = x->shape[x->rank - 1];
    for (int64_t e = 0; e < p->in.size[X]; ++e) {
        const assay_fill family = fill_of_row(p->c.fill, e / d);
        double *at = &p->in.data[X][e];
        if (family == ASSAY_FILL_HUGE)
            *at = assay_dtype_round(x->dtype, 64 * *at);
        else if (family == ASSAY_FILL_NEGATIVE)
            *at = assay_dtype_round(x->dtype, *at - 1000);
    }
    if (p->c.fill == ASSAY_FILL_CANCEL)
        fill_alternate(dy, 1, 0, p->cot.data[Y]);
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, dy, fill_denormal_power(dy->dtype), p->cot.data[Y]);
    return ASSAY_OK;
}

/* An element costs about as much as 32 multiply-adds. Of one element alone the result is 1. */
static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *n = &params->item[KEY_N], *d = &params->item[KEY_D];
    int64_t room = (int64_t)fmin(budget / 32, INT32_MAX);
    d->count = 1;
    d->value[0] = 1 + draw_extent(rng, room - 1);
    room /= d->value[0];
    n->count = (int32_t)assay_rng_between(rng, 0, 3);
    for (int32_t i = 0; i < n->count; ++i) {
        n->value[i] = draw_extent(rng, room);
        room /= n->value[i];
    }
}

/* ---- the oracle ---- */

/* NaN where an element is. */
static double largest_of(const double *x, int64_t d) {
    double most = -INFINITY;
    for (int64_t j = 0; j < d; ++j)
        most = x[j] > most || isnan(x[j]) ? x[j] : most;
    return most;
}

static double sum_of_powers(const double *x, int64_t d, double most) {
    twofold sum = {0};
    for (int64_t j = 0; j < d; ++j)
        twofold_add(&sum, exp(x[j] - most));
    return twofold_value(sum);
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = args->params->item[KEY_D].value[0];
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d, most = largest_of(x, d);
        const double sum = sum_of_powers(x, d, most);
        for (int64_t j = 0; j < d; ++j)
            result->data[Y][i * d + j] = exp(x[j] - most) / sum;
    }
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = args->params->item[KEY_D].value[0];
    for (int64_t i = 0; i < rows; ++i) {
        const double *y = args->out->data[Y] + i * d, *dy = args->cot->data[Y] + i * d;
        twofold sum = {0};
        for (int64_t j = 0; j < d; ++j)
            twofold_add_product(&sum, y[j], dy[j]);
        const double along = twofold_value(sum);
        for (int64_t j = 0; j < d; ++j)
            result->data[X][i * d + j] = y[j] * (dy[j] - along);
    }
    return ASSAY_OK;
}

/* ---- the twin: exp(x - log Σ exp x), and the rows of the Jacobian y_j (δ_jk - y_k) ---- */

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = args->params->item[KEY_D].value[0];
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d;
        for (int64_t j = 0; j < d; ++j) {
            double below = 0;
            for (int64_t k = d - 1; k >= 0; --k)
                below += exp(x[k] - x[j]);
            result->data[Y][i * d + j] = 1 / below;
        }
    }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t rows = rows_count(args->params), d = args->params->item[KEY_D].value[0];
    for (int64_t i = 0; i < rows; ++i) {
        const double *y = args->out->data[Y] + i * d, *dy = args->cot->data[Y] + i * d;
        for (int64_t j = 0; j < d; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < d; ++k)
                sum += y[j] * ((j == k ? 1 : 0) - y[k]) * dy[k];
            result->data[X][i * d + j] = sum;
        }
    }
    return ASSAY_OK;
}

/* ---- bounds ---- */

/* Roundings of x - m and, beside it, of a factor 1/log 2 by which exp is made of exp2. */
enum { OF_EXPONENT = 2 };

/* A kernel that goes through a row once scales its sum by exp(m - m') whenever the largest element
 * so far becomes another: in an order that knows nothing of the values, and in the tree that joins
 * its parts, some 2 log2(d) times. Each time costs an exp within 2 ulp, twice rounded, and a
 * product.
 */
enum { OF_SCALING = 7 };

static double additions(int64_t d) {
    return (double)d + OF_SCALING * 2 * ceil(log2((double)d + 1));
}

static approx power_of(const assay_rounding *r, double x, double most) {
    return approx_exp(r, approx_rounded(r, x - most, 0, OF_EXPONENT));
}

static approx sum_bound(const assay_rounding *r, const double *x, int64_t d, double most) {
    approx_sum sum = approx_sum_begin(r, additions(d), sum_of_powers(x, d, most));
    for (int64_t j = 0; j < d; ++j)
        approx_sum_add(&sum, power_of(r, x[j], most));
    return approx_sum_end(r, &sum);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const int64_t rows = rows_count(args->params), d = args->params->item[KEY_D].value[0];
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d, most = largest_of(x, d);
        const approx sum = sum_bound(r, x, d, most);
        for (int64_t j = 0; j < d; ++j) {
            const approx y = approx_div(r, power_of(r, x[j], most), sum);
            bounds->element.data[Y][i * d + j] = approx_bound(r, y, want->data[Y][i * d + j]);
        }
    }
    snprintf(bounds->why[Y], ASSAY_WHY,
             "exp within 2 ulp of an exponent rounded twice, a sum of d=%lld of them that may be "
             "scaled 2 log2 d times, a quotient, u = 2^%.0f%s",
             (long long)d, log2(r->u), r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* Of the y that forward stored: one that backward computes again is off by less. */
static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const int64_t rows = rows_count(args->params), d = args->params->item[KEY_D].value[0];
    for (int64_t i = 0; i < rows; ++i) {
        const double *x = args->in->data[X] + i * d, most = largest_of(x, d);
        const double *dy = args->cot->data[Y] + i * d;
        const approx sum = sum_bound(r, x, d, most);
        approx_sum products = approx_sum_begin(r, (double)d, 0);
        for (int64_t j = 0; j < d; ++j) {
            const approx y = approx_stored(r, approx_div(r, power_of(r, x[j], most), sum));
            approx_sum_add(&products, approx_mul(r, y, approx_exact(dy[j])));
        }
        const approx along = approx_sum_end(r, &products);
        for (int64_t j = 0; j < d; ++j) {
            const approx y = approx_stored(r, approx_div(r, power_of(r, x[j], most), sum));
            const approx slope = approx_mul(r, y, approx_sub(r, approx_exact(dy[j]), along));
            bounds->element.data[X][i * d + j] = approx_bound(r, slope, want->data[X][i * d + j]);
        }
    }
    snprintf(bounds->why[X], ASSAY_WHY,
             "y as forward stored it, its sum with dy over d=%lld, %s, a difference and a product, "
             "u = 2^%.0f%s",
             (long long)d, assay_why_magnitude(r), log2(r->u),
             r->u_out > 0 ? ", then rounded to the stored type" : "");
    return ASSAY_OK;
}

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    (void)out;
    range_hold(r, 4 * range_largest(args->cot, Y), "dy - sum(y dy)", grad, X);
    return ASSAY_OK;
}

/* ---- relations ---- */

static const assay_relation relations[] = {
    RELATE_ROWS_SHIFT,
    RELATE_ROWS_PERMUTATIONS,
    RELATE_ROWS_COTANGENTS,
};

/* ---- work ---- */

/* A difference, an exp, a sum, a quotient; backward a multiply-add, a difference and a product. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const double elements = (double)assay_spec_count(&sig->in[X]);
    (void)params;
    work->flops = work->least = 4 * elements;
    if (stage == ASSAY_BACKWARD) /* y and dy are enough */
        work->read = 2 * elements * (double)assay_dtype_size(sig->in[X].dtype);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=16 d=96 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "n=5x7 d=33 dtype=f32,f64,bf16,f16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=9 d=40 dtype=f32,bf16 pad=8 sched=random seed=1"},
    {ASSAY_SMOKE, "n=11 d=65 dtype=f32,f64,bf16,f16 fill=huge,negative"},
    {ASSAY_SMOKE, "n=7 d=50 dtype=bf16 fill=uniform,positive sched=warp"},
    {ASSAY_SMOKE, "n=none d=19 dtype=f32,f64,bf16 sched=reverse"},
    {ASSAY_SMOKE, "n=5 d=37 dtype=f32 fill=inf,nan seed=0,1"},
    {ASSAY_SMOKE, "n=11 d=13 dtype=f32 fill=cancel,denormal,mixed"},
    {ASSAY_SMOKE, "n=1 d=4103 dtype=f32"},
    {ASSAY_CI, "n=1,2,31,33 d=2,3,4,5,7,8,9,31,33,255,257 dtype=f32"},
    {ASSAY_CI, "n=3x1x5,70 d=31,511,513,1025 dtype=f64,bf16 fill=positive"},
    {ASSAY_CI, "n=7 d=1023,1024,1025 dtype=f32,bf16,f16 pad=1 misalign=5 seed=2"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=5 d=64 dtype=f32,bf16 pad=0,8 misalign=8:11:1"},
    {ASSAY_CI, "n=40 d=130 dtype=f32,f64,bf16,f16 fill=huge,negative,uniform pad=8"},
    {ASSAY_CI, "n=3 d=4096,4097,5000 dtype=f32,bf16 sched=warp"},
    {ASSAY_CI, "n=3 d=2049 dtype=f64 sched=reverse"},
    {ASSAY_CI, "n=2 d=5125 dtype=f64"}, /* longer than what kernels hold */
    {ASSAY_CI, "n=2 d=11271 dtype=f32"},
    {ASSAY_CI, "n=1 d=20489 dtype=bf16"},
    {ASSAY_CI, "n=40 d=70 dtype=f64,bf16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "n=12 d=21 dtype=f32,f64,bf16,f16 fill=cancel,wide,denormal,zeros,mixed"},
    {ASSAY_NIGHTLY, "n=64 d=4096,10240 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "n=1000 d=997 dtype=f64,f32,bf16,f16 fill=normal,huge pad=5 seed=3"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f32,bf16 operand=0:1 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f16 operand=0:1 " RANGE_F16},
    {ASSAY_NIGHTLY, "n=5 d=33 dtype=f64 operand=0:1 " RANGE_F64},
    {ASSAY_EDGE, "n=0,3x0 d=5 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "n=4,none,0 d=0,1 dtype=f32,bf16"},
    {ASSAY_BENCH, "n=4096 d=1024,8192,65536 dtype=f32,bf16"},
};

const assay_op assay_op_softmax = {
    .name = "softmax",
    .forward_formula = "y = exp(x - max x) / sum exp(x - max x) over the last axis",
    .backward_formula = "dx = y (dy - sum(y dy))",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
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
