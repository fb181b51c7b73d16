/*
 * kronecker: x (b, p_k…p_1), W_m (p_m, q_m) -> y (b, q_k…q_1) = x·(W_k ⊗ … ⊗ W_1) on the flattened
 * state, `layers` times over (then q = p, and every layer has factors of its own).
 *
 * One stage contracts one mode: T'[…, q_m, …] = sum over p_m of T[…, p_m, …] W_m[p_m, q_m]. The
 * stages of a layer commute; here m = 1 (the last axis) goes first.
 *
 * Backward, given dy: dx = dy·(W_k ⊗ … ⊗ W_1)ᵀ; dW_m contracts the m-th stage's input with its
 * output's cotangent over the batch and all other modes.
 *
 * Tensors: x, then for each layer l its factors in the order of the axes: w<l>_<k> … w<l>_<1>.
 */
#include "oracles/kronecker/kronecker.h"
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const assay_key keys[] = {
    {"b", ASSAY_KEY_INT, NULL, 0, INT64_C(1) << 40, "batch: rows of the state"},
    {"f", ASSAY_KEY_LIST, NULL, 1, INT32_MAX, "input extents p_k x ... x p_1, 1 to 8 of them"},
    {"q", ASSAY_KEY_LIST, "", 1, INT32_MAX, "output extents q_k x ... x q_1 (default: f)"},
    {"layers", ASSAY_KEY_INT, "1", 1, KRONECKER_MAX_LAYERS,
     "how often it is applied; more than 1 needs q = f"},
};

static assay_status legal(assay_params *params) {
    if (params->math == ASSAY_TF32 && params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_USAGE,
                          "kronecker: math=tf32 is a mode of dtype=f32, not of %s; use math=strict",
                          assay_dtype_name(params->dtype));
    const assay_param *f = &params->item[KRONECKER_KEY_F];
    const assay_param *q = &params->item[KRONECKER_KEY_Q];
    if (f->count < 1 || f->count > KRONECKER_MAX_FACTORS)
        return assay_fail(ASSAY_ERR_USAGE, "kronecker: f has %d factors; give 1 to %d", f->count,
                          KRONECKER_MAX_FACTORS);
    if (q->count != f->count)
        return assay_fail(ASSAY_ERR_USAGE,
                          "kronecker: q has %d extents and f has %d; give the same number",
                          q->count, f->count);
    const bool square = memcmp(f->value, q->value, (size_t)f->count * sizeof *f->value) == 0;
    if (params->item[KRONECKER_KEY_LAYERS].value[0] > 1 && !square)
        return assay_fail(ASSAY_ERR_USAGE, "kronecker: layers=%lld needs q equal to f",
                          (long long)params->item[KRONECKER_KEY_LAYERS].value[0]);
    double state = fmax(1, (double)params->item[KRONECKER_KEY_B].value[0]);
    for (int32_t a = 0; a < f->count; ++a)
        state *= fmax((double)f->value[a], (double)q->value[a]);
    if (!(state < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "kronecker: a stage would have %.3g elements; make b, f or q smaller",
                          state);
    return ASSAY_OK;
}

/* ---- signature ---- */

/*
 * fill=exact: with |x| <= X, |dy| <= X and |w| <= S, every sum of absolute values is at most
 * b · (product of max(p, q) over all stages) · X² · S^stages, which must fit the accumulator.
 * States between two stages have passed all stages but the last, cotangents all but the first:
 * those of bf16 and operands of TF32 must fit that, too.
 */
static void exact_limits(const assay_params *params, double *state, double *factor) {
    kronecker_stage stages[KRONECKER_MAX_STAGES];
    const int32_t count = kronecker_stages_of(params, stages);
    double terms = fmax(1.0, (double)params->item[KRONECKER_KEY_B].value[0]);
    double between = 1;
    for (int32_t i = 0; i < count; ++i)
        between *= fmax((double)stages[i].p, (double)stages[i].q);
    terms *= between;
    const double room = ldexp(1.0, params->dtype == ASSAY_F64 ? 53 : 24) / terms;
    *factor = floor(pow(room, 1.0 / (2.0 * (count + 2))));
    double most = INFINITY;
    if (params->dtype == ASSAY_BF16 || params->math == ASSAY_TF32) {
        const kronecker_stage *first = &stages[0], *last = &stages[count - 1];
        between /=
            fmin(fmax((double)first->p, (double)first->q), fmax((double)last->p, (double)last->q));
        const double held = (params->dtype == ASSAY_BF16 ? 0x1p8 : 0x1p11) / between;
        *factor = fmin(*factor, floor(pow(held, 1.0 / (count + 1))));
        most = floor(held / pow(*factor, count - 1));
    }
    *state = fmin(floor(sqrt(room / pow(*factor, count))), most);
    if (!(*factor >= 1))
        *state = 0;
}

static void state_spec(const char *name, const assay_params *params, const assay_param *extents,
                       double limit, assay_tensor_spec *spec) {
    *spec = (assay_tensor_spec){.dtype = params->dtype,
                                .rank = extents->count + 1,
                                .inner = extents->count,
                                .shape = {params->item[KRONECKER_KEY_B].value[0]},
                                .scale = 1.0,
                                .exact_limit = limit,
                                .differentiable = true};
    snprintf(spec->name, sizeof spec->name, "%s", name);
    for (int32_t a = 0; a < extents->count; ++a)
        spec->shape[a + 1] = extents->value[a];
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_param *f = &params->item[KRONECKER_KEY_F], *q = &params->item[KRONECKER_KEY_Q];
    const int32_t k = f->count, layers = (int32_t)params->item[KRONECKER_KEY_LAYERS].value[0];
    const assay_status status = assay_signature_init(sig, KRONECKER_FIRST_W + layers * k, 1);
    if (status != ASSAY_OK)
        return status;
    double state_limit, factor_limit;
    exact_limits(params, &state_limit, &factor_limit);
    state_spec("x", params, f, state_limit, &sig->in[KRONECKER_X]);
    state_spec("y", params, q, state_limit, &sig->out[KRONECKER_Y]);
    for (int32_t layer = 0; layer < layers; ++layer) {
        for (int32_t a = 0; a < k; ++a) {
            assay_tensor_spec *w = &sig->in[KRONECKER_FIRST_W + layer * k + a];
            *w = (assay_tensor_spec){.dtype = params->dtype,
                                     .rank = 2,
                                     .inner = 1,
                                     .shape = {f->value[a], q->value[a]},
                                     /* keeps the variance of the state through the stage */
                                     .scale = 1 / sqrt((double)f->value[a]),
                                     .exact_limit = factor_limit,
                                     .differentiable = true};
            snprintf(w->name, sizeof w->name, "w%d_%d", layer + 1, k - a);
        }
    }
    return ASSAY_OK;
}

/* x is a factor of every term of y and of dW. Its signs alternate along every axis, so that the
 * sums of each stage of the first layer and those of dW cancel, and those of dx where dy's do. The
 * wide factors of all stages are together as wide as one. */
static assay_status dress(assay_problem *p) {
    enum { ROOM = 60 };
    const assay_fill fill = p->c.fill;
    const int32_t last = p->sig.out[KRONECKER_Y].rank - 1, stages = p->sig.n_in - KRONECKER_FIRST_W;
    fill_scale_factor(fill, &p->sig.in[KRONECKER_X], ROOM, p->in.data[KRONECKER_X]);
    for (int32_t w = KRONECKER_FIRST_W; w < p->sig.n_in; ++w)
        fill_narrow(fill, &p->sig.in[w], p->sig.in[w].scale, stages, p->in.data[w]);
    if (fill != ASSAY_FILL_CANCEL)
        return ASSAY_OK;
    fill_alternate(&p->sig.in[KRONECKER_X], 1, ~0u, p->in.data[KRONECKER_X]);
    fill_alternate(&p->sig.out[KRONECKER_Y], 1, 1u << last, p->cot.data[KRONECKER_Y]);
    for (int32_t w = KRONECKER_FIRST_W; w < p->sig.n_in; ++w)
        fill_alternate(&p->sig.in[w], p->sig.in[w].scale, 0, p->in.data[w]);
    return ASSAY_OK;
}

/* ---- random cases ---- */

static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *b = &params->item[KRONECKER_KEY_B], *f = &params->item[KRONECKER_KEY_F],
                *q = &params->item[KRONECKER_KEY_Q];
    assay_param *layers = &params->item[KRONECKER_KEY_LAYERS];
    b->count = layers->count = 1;
    f->count = (int32_t)assay_rng_between(rng, 1, 4);
    layers->value[0] = assay_rng_between(rng, 0, 3) == 0 ? assay_rng_between(rng, 2, 3) : 1;
    q->count = f->count;
    const bool square = layers->value[0] > 1 || assay_rng_between(rng, 0, 1) == 0;

    /* Work of a stage is at most b · Π max(p, q) · max(p, q): give each factor a fair part. */
    const double share = pow(budget / (double)(f->count * layers->value[0]), 1.0 / (f->count + 1));
    double state = 1, largest = 1;
    for (int32_t a = 0; a < f->count; ++a) {
        f->value[a] = draw_extent(rng, (int64_t)fmax(1, 2 * share));
        q->value[a] = square ? f->value[a] : draw_extent(rng, (int64_t)fmax(1, 2 * share));
        const double extent = fmax((double)f->value[a], (double)q->value[a]);
        state *= extent;
        largest = fmax(largest, extent);
    }
    const double room = budget / (state * largest * (double)(f->count * layers->value[0]));
    b->value[0] = draw_extent(rng, (int64_t)fmax(1, room));
    const bool tf32 = assay_rng_between(rng, 0, 2) == 0;
    if (tf32 && params->dtype == ASSAY_F32)
        params->math = ASSAY_TF32;
}

/* ---- relations ---- */

static bool is_square(const assay_case *c) {
    const assay_param *f = &c->params.item[KRONECKER_KEY_F], *q = &c->params.item[KRONECKER_KEY_Q];
    return memcmp(f->value, q->value, (size_t)f->count * sizeof *f->value) == 0;
}

/* In TF32, integers that it holds. */
static void make_integers(const assay_problem *base, double *v, int64_t count) {
    for (int64_t e = 0; base->c.params.math == ASSAY_TF32 && e < count; ++e)
        v[e] = rint(fmod(4 * v[e], 9));
}

static assay_status make_identities(assay_problem *base) {
    make_integers(base, base->in.data[KRONECKER_X], base->in.size[KRONECKER_X]);
    make_integers(base, base->cot.data[KRONECKER_Y], base->cot.size[KRONECKER_Y]);
    for (int32_t w = KRONECKER_FIRST_W; w < base->in.count; ++w) {
        const int64_t p = base->sig.in[w].shape[0];
        memset(base->in.data[w], 0, (size_t)base->in.size[w] * sizeof(double));
        for (int64_t i = 0; i < p; ++i)
            base->in.data[w][i * p + i] = 1;
    }
    return ASSAY_OK;
}

static assay_status pass_through(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)derived;
    (void)results;
    relate_copy(want->out.data[KRONECKER_Y], base->in.data[KRONECKER_X],
                want->out.size[KRONECKER_Y]);
    relate_copy(want->grad.data[KRONECKER_X], base->cot.data[KRONECKER_Y],
                want->grad.size[KRONECKER_X]);
    for (int32_t w = KRONECKER_FIRST_W; w < want->grad.count; ++w)
        assay_arrays_drop(&want->grad, w);
    return ASSAY_OK;
}

/* Every extent one larger, the new places zero. */
static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    for (int32_t a = 0; a < base->params.item[KRONECKER_KEY_F].count; ++a) {
        ++derived->params.item[KRONECKER_KEY_F].value[a];
        ++derived->params.item[KRONECKER_KEY_Q].value[a];
    }
    return ASSAY_OK;
}

/* x, and one of the factors. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    const uint64_t factors = (uint64_t)(base->sig.n_in - KRONECKER_FIRST_W);
    const int32_t w = KRONECKER_FIRST_W + (int32_t)(base->c.seed % factors);
    return i == KRONECKER_X
               ? (relate_link){.in = KRONECKER_X, .in_axis = 0, .out_axis = 0}
               : (relate_link){.in = w, .in_axis = RELATE_WHOLE, .out_axis = RELATE_WHOLE};
}
RELATE_LINKS(link_of, 2);

/* In bf16 and TF32 each stage adds to the bound: summed, it is as large as the sums, and zeros
 * would pass. */
static bool has_small_bounds(const assay_case *c) {
    return relate_has_elements(c) && c->params.dtype != ASSAY_BF16 &&
           c->params.math == ASSAY_STRICT;
}

/* Factors of one element make each state a product of random numbers, and a chain of more than
 * these may reach the subnormal numbers of fp32. */
static bool keeps_bits(const assay_case *c) {
    enum { MOST = 32 };
    kronecker_stage stage[KRONECKER_MAX_STAGES];
    return relate_keeps_bits(c) &&
           (c->params.dtype == ASSAY_F64 || kronecker_stages_of(&c->params, stage) <= MOST);
}

static const assay_relation relations[] = {
    RELATE_PRODUCT_WHERE(keeps_bits),
    RELATE_BATCH_SPLIT,
    RELATE_ADJOINT_WHERE(has_small_bounds),
    {.name = "identity",
     .why = "identity factors: y is x and dx is dy, bit for bit",
     .exact = true,
     .applies = is_square,
     .prepare = make_identities,
     .predict = pass_through},
    RELATE_PADDING(widen_case, "every extent one larger, the new places zero, changes nothing"),
};

/* ---- work ---- */

/* Of one layer's stages: flops in the order of the definition. No order of the stages has a state
 * smaller than one whose other extents are each the smaller of its two. */
static void count_stages(const assay_params *params, assay_work *work) {
    const assay_param *p = &params->item[KRONECKER_KEY_F], *q = &params->item[KRONECKER_KEY_Q];
    double state = (double)params->item[KRONECKER_KEY_B].value[0], smallest = state;
    for (int32_t a = 0; a < p->count; ++a) {
        state *= (double)p->value[a];
        smallest *= fmin((double)p->value[a], (double)q->value[a]);
    }
    for (int32_t a = p->count - 1; a >= 0; --a) {
        const double in = (double)p->value[a], out = (double)q->value[a];
        work->flops += 2 * state * out;
        state *= out / in;
        work->least += 2 * smallest * fmax(in, out);
    }
}

/* Backward: as much for dx and for the factors' gradients each. */
static void count_work(const assay_params *params, const assay_signature *sig,
                       assay_stage direction, assay_work *work) {
    (void)sig;
    const double times =
        (direction == ASSAY_FORWARD ? 1 : 2) * (double)params->item[KRONECKER_KEY_LAYERS].value[0];
    count_stages(params, work);
    work->flops *= times;
    work->least *= times;
}

/* Some for each row, and for each column of a factor. */
static double blocks(const assay_params *params) {
    static const double row = 700, column = 200;
    const assay_param *q = &params->item[KRONECKER_KEY_Q];
    double cost = row * (double)params->item[KRONECKER_KEY_B].value[0];
    for (int32_t a = 0; a < q->count; ++a)
        cost += column * (double)q->value[a];
    return cost;
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "b=16 f=32x32 layers=2 dtype=f64"},
    {ASSAY_SMOKE, "b=5 f=4x3x5 q=2x7x3 dtype=f32,f64 pad=3 misalign=1"},
    {ASSAY_SMOKE, "b=7 f=9x10 dtype=f32,f64 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "b=3 f=17 q=33 dtype=f32,f64 sched=warp"},
    {ASSAY_SMOKE, "b=2 f=2x3x2x2x1x2x3x2 dtype=f32"},
    {ASSAY_SMOKE, "b=2 f=8x9 layers=3 dtype=f32 fill=uniform"},
    {ASSAY_SMOKE, "b=3 f=4x5 dtype=f32,f64 fill=inf,nan seed=0,1,2"},
    {ASSAY_SMOKE, "b=4 f=4x6 dtype=f32 fill=cancel,denormal"},
    {ASSAY_SMOKE, "b=2 f=2x1x2x1x1x2x1x2 layers=16 dtype=f32"}, /* as many stages as may be */
    /* where shared memory is small: modes for no tile, tiles with no room for a slice of a factor,
     * tiles of a part of `right`, and more tiles than blocks that sum gradients */
    {ASSAY_SMOKE, "b=65 f=2x513x2 q=2x1x2 dtype=f64"},
    {ASSAY_SMOKE, "b=2 f=37x2 q=1089x3 dtype=f64"},
    {ASSAY_SMOKE, "b=257 f=513 q=2 dtype=f64"},
    {ASSAY_SMOKE, "b=11 f=16x16 dtype=f64"},
    {ASSAY_SMOKE, "b=1 f=2x32x31 dtype=f64"},
    {ASSAY_SMOKE, "b=265 f=7x6x7 dtype=f64"},
    /* products of digits: two modes in a pass, and one, whose lines end within a tile's */
    {ASSAY_SMOKE, "b=2 f=64x64 dtype=f32"},
    {ASSAY_SMOKE, "b=3 f=65x66 q=66x64 dtype=f32 pad=1 misalign=1"},
    /* bf16, and TF32 */
    {ASSAY_SMOKE, "b=5 f=4x3x5 q=2x7x3 dtype=bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "b=7 f=9x10 dtype=bf16 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "b=2 f=8x9 layers=3 dtype=bf16 fill=uniform,inf"},
    {ASSAY_SMOKE, "b=5 f=64x64 dtype=bf16 seed=2"},
    {ASSAY_SMOKE, "b=5 f=4x3x5 q=2x7x3 dtype=f32 math=tf32 pad=3 misalign=1"},
    {ASSAY_SMOKE, "b=7 f=9x10 dtype=f32 math=tf32 fill=exact,nan seed=1"},
    {ASSAY_SMOKE, "b=2 f=64x64 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=1,33 f=1,2x1,16x16,31x32 dtype=f32"},
    {ASSAY_CI, "b=3 f=1x2x4 q=1x3x2 dtype=f32 pad=4"}, /* strides that look packed */
    {ASSAY_CI, "b=3 f=1x3x4 q=5x2x1 dtype=f32"},       /* states of 3, then 2 elements */
    {ASSAY_CI, "b=9 f=8x8x8x8 dtype=f32,f64"},
    /* every extent a multiple of eight: passes of one, two and three stages, several to a state, of
     * several layers; rows that leave the last tile part of a batch */
    {ASSAY_CI, "b=41 f=8x16 q=24x8 dtype=f32 pad=3 misalign=1"},
    {ASSAY_CI, "b=41 f=8x16 q=24x8 dtype=f32 pad=1"}, /* the first row alone is aligned */
    {ASSAY_CI, "b=41 f=8x16 q=24x8 dtype=f32 pad=4 misalign=1"},
    {ASSAY_CI, "b=2 f=64x64 dtype=f32 pad=1"},
    {ASSAY_CI, "b=3 f=64x32x8 dtype=f32"}, /* tiles of one pack of columns */
    {ASSAY_CI, "b=5 f=8x16x8 q=16x8x24 dtype=f32 pad=4"},
    {ASSAY_CI, "b=19 f=24 q=40 dtype=f32 sched=random"},
    {ASSAY_CI, "b=11 f=16x16 layers=3 dtype=f32"},
    {ASSAY_CI, "b=2 f=64x64,128x128 dtype=f32 sched=warp"}, /* backward in strips of 32 lines */
    {ASSAY_CI, "b=1 f=8x8x8x8x8,16x16x16x16 dtype=f32"},
    /* every factor 8 x 8: passes of two to five modes, a last tile that lacks rows, and the two
     * passes of a longer layer */
    {ASSAY_CI, "b=600 f=8x8 dtype=f32 pad=3 misalign=1"},
    {ASSAY_CI, "b=77 f=8x8x8 layers=2 dtype=f32 pad=4 sched=random"},
    {ASSAY_CI, "b=77 f=8x8x8 dtype=f32 fill=inf,nan pad=1"},
    {ASSAY_CI, "b=21 f=8x8x8x8 dtype=f32 pad=5"},
    {ASSAY_CI, "b=5 f=8x8x8x8x8 dtype=f32 sched=reverse"},
    {ASSAY_CI, "b=1 f=8x8x8x8x8x8 dtype=f32"},
    /* every factor 16 x 16 or 32 x 32 */
    {ASSAY_CI, "b=100 f=16x16 layers=2 dtype=f32 pad=3 misalign=1 sched=reverse"},
    {ASSAY_CI, "b=70 f=16x16 dtype=f32 fill=inf,nan"},
    {ASSAY_CI, "b=35 f=32x32 dtype=f32 pad=1 sched=random"},
    {ASSAY_CI, "b=5 f=32x32x32 dtype=f32 pad=4 sched=warp"},
    {ASSAY_CI, "b=5 f=32x32x32 dtype=f32 pad=1 misalign=1"},
    {ASSAY_CI, "b=9 f=16x32 dtype=f32 fill=inf,nan,cancel,denormal"},
    {ASSAY_CI, "b=4 f=6x50 q=50x6 dtype=f32,f64 fill=positive pad=1 misalign=5 sched=reverse"},
    /* products of digits: factors in parts, modes between them by tiles, too few columns for dW,
     * and lines that have no digits */
    {ASSAY_CI, "b=3 f=64x3x70 q=128x4x65 dtype=f32 sched=random"},
    {ASSAY_CI, "b=5 f=64x64 layers=2 dtype=f32 pad=4 misalign=4 sched=reverse"},
    {ASSAY_CI, "b=3 f=128x100 q=65x127 dtype=f32 pad=3 misalign=1 sched=warp"},
    {ASSAY_CI, "b=3,70 f=2x96 q=2x128 dtype=f32 pad=2"},
    {ASSAY_CI, "b=13 f=64 q=128 dtype=f32"},
    {ASSAY_CI,
     "b=3 f=129x66 q=64x130 dtype=f32"}, /* factors too large for digits, or on one side */
    {ASSAY_CI, "b=1 f=64x100 q=65x127 dtype=f32 pad=3 misalign=1"}, /* two modes, one launch */
    {ASSAY_CI, "b=1 f=64x66 layers=2 dtype=f32 fill=inf,mixed"},
    {ASSAY_CI, "b=3 f=2x64x64 q=3x64x64 dtype=f32 fill=normal,inf"},
    {ASSAY_CI, "b=2 f=88x64 q=64x112 dtype=f32 pad=4 misalign=0,4,1"},
    {ASSAY_CI, "b=1 f=72x96 q=104x64 dtype=f32 fill=inf,wide,mixed pad=3"},
    {ASSAY_CI, "b=3 f=64x64 dtype=f32 fill=nan,huge"},
    {ASSAY_CI, "b=3 f=66x64 dtype=f32 fill=inf,wide,denormal,mixed"},
    {ASSAY_NIGHTLY, "b=3 f=64x64,66x64 dtype=f32 fill=inf,nan,wide,huge,denormal,mixed,cancel"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "b=5 f=4x8 q=8x4 dtype=f32,f64 pad=8 misalign=8:15:1"},
    {ASSAY_CI, "b=300 f=5x7 layers=4 dtype=f64 seed=5"},
    {ASSAY_CI, "b=2 f=40x40x40 dtype=f32"},
    {ASSAY_CI, "b=1100 f=64x2 dtype=f32"},
    {ASSAY_CI, "b=9 f=9000x2 q=1x2 dtype=f64"},
    {ASSAY_CI, "b=1 f=29054 q=2 dtype=f64"}, /* fills a tile of 227 KB */
    {ASSAY_CI, "b=1 f=29055 q=2 dtype=f64"}, /* modes for no such tile */
    {ASSAY_CI, "b=1 f=2 q=29100 dtype=f64"},
    {ASSAY_CI, "b=1 f=2x29100x3 q=2x1x3 dtype=f64"},
    {ASSAY_CI,
     "b=1 f=6x1x1 dtype=f32 fill=mixed pad=3 misalign=1 seed=2829"}, /* subnormal states */
    {ASSAY_CI, "b=5 f=6x9 dtype=f32,f64 fill=cancel,wide,denormal,huge,zeros,mixed"},
    /* equal rows, equal elements */
    {ASSAY_CI, "b=9 f=3x4 dtype=f32 fill=rows,repeat seed=8"},
    {ASSAY_CI, "b=5 f=6x9 dtype=bf16 fill=wide,denormal,huge,zeros,mixed,nan"},
    {ASSAY_CI, "b=5 f=6x9 dtype=f32 math=tf32 fill=wide,huge,zeros,inf"},
    {ASSAY_CI, "b=9 f=8x8x8x8,16x32 dtype=bf16"},
    {ASSAY_CI, "b=3 f=65x66 q=66x64 dtype=bf16 pad=1 misalign=1"},
    {ASSAY_CI, "b=3 f=65x66 q=66x64 dtype=f32 math=tf32 pad=1 misalign=1"},
    /* v3_tensor: every extent, passes of a part of a layer, tiles of a part of `right`, the last
     * tile with fewer units, an odd number of eight columns */
    {ASSAY_CI, "b=5 f=8x8 dtype=bf16 pad=1 sched=random"},
    {ASSAY_CI, "b=35 f=8x8x8 layers=2 dtype=bf16 pad=8 misalign=8 sched=reverse"},
    {ASSAY_CI, "b=3 f=8x8x8x8x8 dtype=bf16 pad=8"},
    {ASSAY_CI, "b=1 f=8x8x8x8x8x8 dtype=bf16"},
    {ASSAY_CI, "b=77 f=8x8x8 dtype=bf16 fill=inf,nan pad=1"},
    {ASSAY_CI, "b=70 f=16x16 layers=2 dtype=bf16 pad=3 misalign=1 sched=warp"},
    {ASSAY_CI, "b=5 f=16x16x16 dtype=bf16 fill=normal,nan"},
    {ASSAY_CI, "b=2 f=16x16x16x16 dtype=bf16 sched=random"},
    {ASSAY_CI, "b=35 f=32x32 dtype=bf16 pad=1"},
    {ASSAY_CI, "b=3 f=32x32x32 dtype=bf16 sched=reverse"},
    {ASSAY_CI, "b=7 f=64x64 layers=2 dtype=bf16 pad=8 fill=normal,inf"},
    {ASSAY_CI, "b=35 f=32x32 layers=2 dtype=f32 math=tf32 pad=1"},
    {ASSAY_CI, "b=3 f=32x32x32 dtype=f32 math=tf32 pad=4 sched=random"},
    {ASSAY_CI, "b=7 f=64x64 layers=2 dtype=f32 math=tf32 pad=4 fill=normal,inf"},
    /* v3_hopper: more rows than blocks and pairs of warpgroups, and what it leaves to others */
    {ASSAY_CI, "b=13 f=128x128 dtype=bf16 pad=8 sched=warp"},
    {ASSAY_CI, "b=7 f=128x128 dtype=f32 math=tf32 pad=4 sched=random"},
    {ASSAY_CI, "b=3 f=128x128 dtype=bf16 pad=0,1 fill=inf"},
    {ASSAY_CI, "b=3 f=128x128 dtype=f32 math=tf32 pad=0,1 fill=nan"},
    {ASSAY_CI, "b=2 f=128x128 dtype=bf16 misalign=1,8 pad=16"},
    {ASSAY_CI, "b=2 f=128x128 dtype=f32 math=tf32 misalign=1,4 pad=8"},
    {ASSAY_CI, "b=1 f=128x128 layers=2 dtype=bf16"},
    {ASSAY_NIGHTLY, "b=2 f=64x64x64 dtype=bf16"},
    {ASSAY_NIGHTLY, "b=2 f=64x64x64 dtype=f32 math=tf32"},
    {ASSAY_NIGHTLY, "b=32 f=128x128 dtype=f32,f64"},
    {ASSAY_NIGHTLY, "b=16 f=32x32x32,8x8x8x8x8 dtype=f32"},
    {ASSAY_NIGHTLY, "b=2 f=64x64x64 dtype=f32,f64"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "b=3 f=4x5 layers=2 dtype=f32,bf16 operand=0:5 " RANGE_F32},
    {ASSAY_NIGHTLY, "b=3 f=4x5 layers=2 dtype=f64 operand=0:5 " RANGE_F64},
    {ASSAY_EDGE, "b=0 f=3x4 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "b=0 f=3x4 dtype=f32 math=tf32"},
    {ASSAY_EDGE, "b=0 f=7 q=2 dtype=f64"},
    {ASSAY_EDGE, "b=0 f=29100 q=2 dtype=f64"},
    {ASSAY_BENCH, "b=32 f=128x128 dtype=f32"},
    {ASSAY_BENCH, "b=1024 f=8x8x8x8x8,8x8x8x8x8x8,16x16x16x16,32x32x32 dtype=f32"},
    {ASSAY_BENCH, "b=1024 f=64x64,64x64x64,128x128 dtype=f32"},
    {ASSAY_BENCH, "b=32 f=128x128 dtype=f32 math=tf32"},
    {ASSAY_BENCH, "b=1024 f=8x8x8x8x8,16x16x16x16,32x32x32,64x64,128x128 dtype=f32 math=tf32"},
    {ASSAY_BENCH, "b=32 f=128x128 dtype=bf16"},
    {ASSAY_BENCH, "b=1024 f=8x8x8x8x8,16x16x16x16,32x32x32,64x64,128x128 dtype=bf16"},
};

/* ---- where the definition ends ---- */

/* The largest sum of absolute values of a row, or of a column, of a factor: no element of a state
 * grows by more in a stage, forward or backward. */
static double growth(const double *w, int64_t q, int64_t p) {
    double most = 0;
    for (int64_t i = 0; i < q; ++i) {
        double row = 0;
        for (int64_t j = 0; j < p; ++j)
            row += isfinite(w[i * p + j]) ? fabs(w[i * p + j]) : 0;
        most = fmax(most, row);
    }
    for (int64_t j = 0; j < p; ++j) {
        double column = 0;
        for (int64_t i = 0; i < q; ++i)
            column += isfinite(w[i * p + j]) ? fabs(w[i * p + j]) : 0;
        most = fmax(most, column);
    }
    return most;
}

/* The state after each stage, and before each one backward. Of dW a kernel may make either state
 * first, or both: an Inf meets sums, or their terms one by one, of both signs. */
static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    kronecker_stage stage[KRONECKER_MAX_STAGES];
    const int32_t n = kronecker_stages_of(args->params, stage);
    double x = range_largest(args->in, KRONECKER_X), dy = range_largest(args->cot, KRONECKER_Y);
    double states[KRONECKER_MAX_STAGES + 1], highest = x, lowest = dy;
    states[0] = x;
    for (int32_t i = 0; i < n; ++i) {
        states[i + 1] = states[i] * growth(args->in->data[stage[i].w], stage[i].q, stage[i].p);
        highest = fmax(highest, states[i + 1]);
    }
    range_hold(r, highest, "a state between two stages", out, KRONECKER_Y);
    for (int32_t i = n - 1; i >= 0; --i) {
        const double terms = (double)stage[i].left * (double)stage[i].right;
        const double product = range_of_sum(r, terms, states[i] * dy);
        range_hold(r, fmax(highest, product), "a state, or a sum of x dy", grad, stage[i].w);
        dy *= growth(args->in->data[stage[i].w], stage[i].q, stage[i].p);
        lowest = fmax(lowest, dy);
    }
    for (int32_t i = 0; i <= n; ++i) {
        const int32_t of = i < n ? stage[i].w : KRONECKER_X;
        range_hold(r, lowest, "a state's gradient", grad, of);
        grad->any_infinity[of] = true;
    }
    return ASSAY_OK;
}

const assay_op assay_op_kronecker = {
    .name = "kronecker",
    .forward_formula = "y = x (W_k (x) ... (x) W_1) on the flattened state, `layers` times",
    .backward_formula = "dx = dy (W_k (x) ... (x) W_1)^T, dW_m = stage input times its cotangent",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_BF16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT) | ASSAY_MATH_BIT(ASSAY_TF32),
    .fills = FILL_FAMILIES,
    .legal = legal,
    .signature = signature,
    .dress = dress,
    .forward = kronecker_forward,
    .backward = kronecker_backward,
    .forward_plain = kronecker_forward_plain,
    .backward_plain = kronecker_backward_plain,
    .forward_bound = kronecker_forward_bound,
    .backward_bound = kronecker_backward_bound,
    .outside = outside,
    .work = count_work,
    .blocks = blocks,
    .draw = draw,
    .overhead = 8,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
