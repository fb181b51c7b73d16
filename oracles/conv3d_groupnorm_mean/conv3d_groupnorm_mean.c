/*
 * conv3d_groupnorm_mean: x (n, ci, D, H, W), w (co, ci, k, k, k), b, gamma, beta (co) -> y (n).
 *
 * c = conv3d(x, w) + b: a cross-correlation with stride 1, without padding or dilation, so that
 * each channel of c has P = (D-k+1)(H-k+1)(W-k+1) positions. GroupNorm over each sample and group
 * of co/g channels: x̂ = (c - mean) / sqrt(variance + eps), the variance that of the population, and
 * z = gamma·x̂ + beta. y is the mean of z over channels and positions.
 *
 * Backward, given dy, with A = gamma·dy/(co·P): dc = (A - mean(A) - x̂·mean(A·x̂)) / sqrt(variance +
 * eps), means over the group; dx, dw, db are those of the convolution. dgamma is the sum of
 * dy·x̂/(co·P), dbeta that of dy/co.
 *
 * Where gamma does not vary inside a group, its x̂ sum to zero and y = mean(beta) whatever x, w and
 * b are: with gamma as frameworks initialise it, and with one channel to a group. Kernels have been
 * published that return just that, and on such data they are right. So data of that kind prove
 * nothing, and the random gamma of all other data do.
 */
#include "core/fill.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/conv3d_groupnorm_mean/definition.h"

#include <math.h>
#include <stdio.h>

static const assay_key keys[] = {
    {"n", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "batch"},
    {"ci", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "channels of x"},
    {"co", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "channels of the convolution"},
    {"s", ASSAY_KEY_LIST, NULL, 1, INT32_MAX, "spatial extents of x, DxHxW"},
    {"k", ASSAY_KEY_INT, NULL, 1, 1024, "extent of the cubic kernel"},
    {"g", ASSAY_KEY_INT, NULL, 1, INT32_MAX, "groups of the normalisation; divides co"},
    {"eps", ASSAY_KEY_REAL, "1e-5", 1e-30, 1e6, "added to the variance"},
};

/* ---- what is legal ---- */

static assay_status check_extents(const assay_params *params) {
    const assay_param *s = &params->item[CONV_KEY_S];
    const int64_t k = params->item[CONV_KEY_K].value[0];
    if (s->count != 3)
        return assay_fail(ASSAY_ERR_USAGE,
                          "conv3d_groupnorm_mean: s has %d extents; give three, DxHxW", s->count);
    for (int axis = 0; axis < 3; ++axis)
        if (s->value[axis] < k)
            return assay_fail(
                ASSAY_ERR_USAGE,
                "conv3d_groupnorm_mean: k=%lld does not fit an extent of %lld; make s "
                "larger or k smaller",
                (long long)k, (long long)s->value[axis]);
    return ASSAY_OK;
}

/* CBLAS counts the columns of a sample's patches, and the products of an output, in int. */
static assay_status check_amount(const assay_params *params) {
    const double k = (double)params->item[CONV_KEY_K].value[0],
                 ci = (double)params->item[CONV_KEY_CI].value[0];
    const double co = (double)params->item[CONV_KEY_CO].value[0];
    const double n = fmax(1, (double)params->item[CONV_KEY_N].value[0]), terms = ci * k * k * k;
    double volume = 1;
    for (int axis = 0; axis < 3; ++axis)
        volume *= (double)params->item[CONV_KEY_S].value[axis];
    if (!(volume <= INT32_MAX))
        return assay_fail(ASSAY_ERR_USAGE,
                          "conv3d_groupnorm_mean: a channel of x would have %.3g elements; make s "
                          "smaller",
                          volume);
    if (!(terms <= INT32_MAX))
        return assay_fail(ASSAY_ERR_USAGE,
                          "conv3d_groupnorm_mean: an output would sum %.3g products; make ci or k "
                          "smaller",
                          terms);
    const double elements = fmax(n * fmax(ci, co) * volume, co * terms);
    if (!(elements < 0x1p60))
        return assay_fail(
            ASSAY_ERR_USAGE,
            "conv3d_groupnorm_mean: a tensor would have %.3g elements; make n, ci, co "
            "or s smaller",
            elements);
    return ASSAY_OK;
}

static assay_status legal(assay_params *params) {
    const long long co = params->item[CONV_KEY_CO].value[0],
                    groups = params->item[CONV_KEY_G].value[0];
    if (params->math == ASSAY_TF32 && params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_USAGE,
                          "conv3d_groupnorm_mean: math=tf32 is a mode of dtype=f32, not of %s; use "
                          "math=strict",
                          assay_dtype_name(params->dtype));
    if (co % groups != 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "conv3d_groupnorm_mean: g=%lld does not divide co=%lld; choose a divisor",
                          groups, co);
    const assay_status status = check_extents(params);
    return status == ASSAY_OK ? check_amount(params) : status;
}

/* ---- tensors and data ---- */

static assay_tensor_spec tensor(const char *name, const assay_params *params, double scale,
                                int32_t rank, const int64_t *shape) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = rank,
                              .inner = rank > 1 ? 3 : 1,
                              .scale = scale,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    for (int32_t axis = 0; axis < rank; ++axis)
        spec.shape[axis] = shape[axis];
    return spec;
}

/* The convolution has the deviation 1. The channels' offsets b are larger, so that the mean of the
 * squares exceeds the variance in most groups; beta is smaller than what gamma brings in. */
static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 5, 1);
    if (status != ASSAY_OK)
        return status;
    const conv_sizes s = conv_sizes_of(params);
    const int64_t x[] = {s.n, s.ci, s.in[0], s.in[1], s.in[2]}, w[] = {s.co, s.ci, s.k, s.k, s.k};
    sig->in[CONV_X] = tensor("x", params, 1, 5, x);
    sig->in[CONV_W] = tensor("w", params, 1 / sqrt((double)s.terms), 5, w);
    sig->in[CONV_B] = tensor("b", params, 2, 1, &s.co);
    sig->in[CONV_GAMMA] = tensor("gamma", params, 1, 1, &s.co);
    sig->in[CONV_BETA] = tensor("beta", params, 0.5, 1, &s.co);
    sig->out[CONV_Y] = tensor("y", params, 1, 1, &s.n);
    return ASSAY_OK;
}

static void shift(assay_arrays *arrays, int32_t t, double by) {
    for (int64_t e = 0; e < arrays->size[t]; ++e)
        arrays->data[t][e] += by;
}

/* A mean that is hundreds of deviations away from 0, one that is some below it, and gamma = 1.
 * cancel: the signs of x alternate along all axes, and the convolution's terms with them. Subnormal
 * rows of mixed data are as good as 0. There is no `denormal`: without x, c is b, and y the same
 * for each sample; and a subnormal dy is divided by co·P, so that too few bits are left. */
static assay_status dress(assay_problem *p) {
    fill_scale(p->c.fill, ASSAY_FILL_DENORMAL, &p->sig.in[CONV_X],
               fill_denormal_power(p->sig.in[CONV_X].dtype), p->in.data[CONV_X]);
    if (p->c.fill == ASSAY_FILL_CANCEL) {
        fill_alternate(&p->sig.in[CONV_X], 1, ~0u, p->in.data[CONV_X]);
        fill_alternate(&p->sig.in[CONV_W], p->sig.in[CONV_W].scale, 0, p->in.data[CONV_W]);
    }
    if (p->c.fill == ASSAY_FILL_HUGE)
        shift(&p->in, CONV_B, 1000);
    if (p->c.fill == ASSAY_FILL_NEGATIVE)
        shift(&p->in, CONV_B, -30);
    for (int64_t o = 0; p->c.fill == ASSAY_FILL_INITIAL && o < p->in.size[CONV_GAMMA]; ++o)
        p->in.data[CONV_GAMMA][o] = 1;
    return ASSAY_OK;
}

static const char *mistrust(const assay_problem *p) {
    const conv_sizes s = conv_sizes_of(&p->c.params);
    const double *gamma = p->in.data[CONV_GAMMA];
    for (int64_t o = 0; o < s.co; ++o)
        if (!(gamma[o] == gamma[o / s.per_group * s.per_group]))
            return NULL;
    return "gamma does not vary inside a group, so y is the mean of beta whatever x, w and b are";
}

/* ---- random cases ---- */

/* No group is left with one channel, nor with so few elements that its variance may vanish. */
enum { MIN_POSITIONS = 4, MIN_CHANNELS = 2 };

static int64_t draw_within(assay_rng *rng, int64_t low, int64_t room) {
    const int64_t extent = draw_extent(rng, room);
    return extent > low ? extent : low;
}

static void draw(assay_rng *rng, double budget, assay_params *params) {
    static const double eps[] = {1e-5, 1e-5, 1e-3, 0.25};
    for (int32_t key = 0; key < params->count; ++key)
        params->item[key].count = 1;
    params->item[CONV_KEY_EPS].count = 0;
    params->item[CONV_KEY_EPS].real = eps[assay_rng_between(rng, 0, 3)];
    if (params->dtype == ASSAY_F32 && assay_rng_between(rng, 0, 2) == 0)
        params->math = ASSAY_TF32;

    int64_t room = (int64_t)fmin(budget, INT32_MAX) / (MIN_POSITIONS * MIN_CHANNELS);
    const bool wide = assay_rng_between(rng, 0, 7) == 0; /* what windows are seldom */
    const int64_t k = wide         ? draw_extent(rng, (int64_t)cbrt((double)room))
                      : room >= 64 ? assay_rng_between(rng, 1, 3)
                                   : assay_rng_between(rng, 1, 2);
    room /= k * k * k;
    const int64_t groups = draw_within(rng, 1, room < 8 ? room : 8);
    room /= groups;
    const int64_t channels = draw_within(rng, MIN_CHANNELS, MIN_CHANNELS * (room < 9 ? room : 9));
    room /= (channels + MIN_CHANNELS - 1) / MIN_CHANNELS;
    const int64_t n = draw_within(rng, 1, room < 9 ? room : 9);
    room /= n;
    const int64_t ci = draw_within(rng, 1, room < 33 ? room : 33);
    room = room / ci * MIN_POSITIONS;

    params->item[CONV_KEY_N].value[0] = n;
    params->item[CONV_KEY_CI].value[0] = ci;
    params->item[CONV_KEY_CO].value[0] = groups * channels;
    params->item[CONV_KEY_G].value[0] = groups;
    params->item[CONV_KEY_K].value[0] = k;
    params->item[CONV_KEY_S].count = 3;
    const int64_t longest = assay_rng_between(rng, 0, 2);
    int64_t positions = 1;
    for (int64_t i = 0; i < 3; ++i) {
        const int64_t low = i == 2 ? (MIN_POSITIONS + positions - 1) / positions : 1;
        const int64_t extent = draw_within(rng, low, room);
        params->item[CONV_KEY_S].value[(longest + i) % 3] = extent + k - 1;
        room /= extent;
        positions *= extent;
    }
}

/* ---- work ---- */

/* The convolution alone, and in backward the two products that give dx and dw. Sums of products of
 * the patches do as well, and convolutions can be had by transforms: no least number is known. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)sig;
    const conv_sizes s = conv_sizes_of(params);
    const double product = 2 * (double)s.n * (double)s.co * (double)s.terms * (double)s.positions;
    work->flops = stage == ASSAY_FORWARD ? product : 2 * product;
    work->least = 0;
}

/* One for each weight, and some for each channel of each sample. */
static double blocks(const assay_params *params) {
    static const double weight = 400, channel = 2500;
    const conv_sizes s = conv_sizes_of(params);
    return (double)s.co * (weight * (double)s.terms + channel * (double)s.n);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f32,f64"},
    {ASSAY_SMOKE, "n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f32 math=tf32 pad=1 misalign=1 seed=1"},
    {ASSAY_SMOKE, "n=1 ci=1 co=4 s=5x3x7 k=1 g=1 eps=0.25 dtype=f32,f64 pad=3 misalign=1"},
    {ASSAY_SMOKE, "n=3 ci=5 co=16 s=4x5x6 k=2 g=8 dtype=f32 sched=random"},
    /* means of few elements, of many samples: operands of fewer digits than fp32 has show */
    {ASSAY_SMOKE, "n=80 ci=2 co=4 s=2x2x2 k=2 g=1 dtype=f32"},
    {ASSAY_SMOKE, "n=5 ci=3 co=24 s=4x4x5 k=3 g=4 dtype=f32 math=strict,tf32 sched=warp seed=1"},
    {ASSAY_SMOKE, "n=2 ci=2 co=6 s=3x4x11 k=2 g=3 eps=1e-3 dtype=f32,f64 fill=uniform pad=1"},
    {ASSAY_SMOKE, "n=2 ci=2 co=128 s=1x1x2 k=1 g=1 dtype=f64"}, /* a large group */
    {ASSAY_SMOKE, "n=3 ci=4 co=8 s=5x5x4 k=2 g=2 dtype=f32 math=strict,tf32 fill=positive"},
    {ASSAY_SMOKE, "n=2 ci=3 co=8 s=5x6x7 k=3 g=2 dtype=f32,f64 fill=huge sched=reverse"},
    {ASSAY_SMOKE, "n=2 ci=3 co=8 s=5x6x7 k=3 g=2 dtype=f32 math=tf32 fill=negative seed=1"},
    {ASSAY_SMOKE, "n=2 ci=2 co=4 s=4x4x4 k=3 g=2 dtype=f32 fill=inf,nan seed=0,5"},
    {ASSAY_SMOKE, "n=2 ci=3 co=4 s=5x6x8 k=3 g=2 dtype=f32 math=tf32 fill=nan seed=0,5"},
    {ASSAY_SMOKE, "n=3 ci=2 co=4 s=3x4x5 k=2 g=2 dtype=f32 fill=cancel,wide,mixed seed=1"},
    {ASSAY_SMOKE, "n=1 ci=1 co=2 s=3x3x67 k=3 g=1 dtype=f32"}, /* several boxes to a line */
    /* boxes that fill all slots, or a warp's and one more */
    {ASSAY_SMOKE, "n=1 ci=1 co=2 s=2x4x128,5x7x11,5x8x9 k=1 g=1 dtype=f32"},
    /* halos too large for shared memory, in boxes that do not divide the volume */
    {ASSAY_SMOKE, "n=6 ci=1 co=2 s=5x17x89 k=5 g=1 dtype=f64"},
    {ASSAY_SMOKE, "n=1 ci=1 co=2 s=29x5x42 k=5 g=1 dtype=f64"},
    {ASSAY_CI, "n=2 ci=3 co=8 s=3x3x33,3x3x34,3x3x35 k=3 g=2 dtype=f32"},
    {ASSAY_CI, "n=1 ci=2 co=4 s=5x5x9,10x4x3,5x6x6 k=2 g=2 dtype=f32,f64"},
    {ASSAY_CI, "n=2 ci=1 co=6 s=127x1x1,1x128x1,1x1x129 k=1 g=3 dtype=f32,f64"},
    {ASSAY_CI, "n=1 ci=2 co=15,16,17 s=5x6x7 k=2 g=1 dtype=f32"},
    {ASSAY_CI, "n=2 ci=2 co=30,32,34 s=3x4x5 k=2 g=2 dtype=f32 math=strict,tf32 sched=random "
               "seed=2"},
    {ASSAY_CI, "n=1 ci=31,32,33 co=4 s=4x3x5 k=2 g=2 dtype=f32 math=strict,tf32"},
    {ASSAY_CI, "n=1 ci=3 co=4 s=5x6x7 k=5 g=1 dtype=f32,f64"},
    {ASSAY_CI, "n=2 ci=2 co=4 s=4x5x20 k=4 g=2 dtype=f32 math=strict,tf32 sched=warp"},
    {ASSAY_CI, "n=7 ci=1 co=64 s=3x3x4 k=3 g=16 dtype=f32 seed=1"},
    {ASSAY_CI, "n=11 ci=1 co=32 s=2x3x2 k=2 g=16 dtype=f64"},  /* more groups than threads */
    {ASSAY_CI, "n=1 ci=1 co=1281 s=1x1x2 k=1 g=21 dtype=f32"}, /* more channels than threads */
    /* 2049 positions: no TF32 number, and more than a warp of v2 takes */
    {ASSAY_CI, "n=1 ci=1 co=2 s=3x683x1 k=1 g=1 dtype=f32 sched=inorder,reverse"},
    {ASSAY_CI, "n=33 ci=1 co=4 s=2x3x4 k=2 g=2 dtype=f32,f64 pad=5 misalign=3"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "n=2 ci=2 co=4 s=4x4x8 k=2 g=2 dtype=f32 pad=8 misalign=8,9,15,16"},
    {ASSAY_CI, "n=1 ci=1 co=2 s=1x1x2 k=1 g=1 dtype=f32,f64 eps=1 seed=3"},
    {ASSAY_CI, "n=2 ci=3 co=16 s=6x8x10 k=3 g=8 dtype=f32 math=strict,tf32"},
    {ASSAY_CI, "n=2 ci=3 co=16 s=6x8x10 k=3 g=8 dtype=f32 fill=huge,negative,uniform,positive "
               "seed=1"},
    {ASSAY_CI, "n=2 ci=3 co=4 s=3x5x4 k=2 g=2 dtype=f64 fill=inf,nan seed=4,5"},
    {ASSAY_CI, "n=3 ci=2 co=6 s=4x5x6 k=2 g=2 dtype=f32,f64 fill=cancel,wide,zeros,mixed"},
    {ASSAY_CI, "n=130 ci=1 co=2 s=1x2x2 k=1 g=1 dtype=f32"},
    {ASSAY_CI, "n=1 ci=80 co=2 s=8x8x8 k=3 g=1 dtype=f32"}, /* several windows to a box */
    {ASSAY_CI, "n=1 ci=1 co=17 s=5x7x47 k=5 g=1 dtype=f64"},
    /* lines so short that a box of as many positions as fit has no room for its window, and windows
     * cut within the filter's planes, or lines, with a rest */
    {ASSAY_CI, "n=1 ci=1 co=2 s=29x21x7 k=6 g=1 dtype=f64"},
    {ASSAY_CI, "n=1 ci=2 co=2 s=16x16x7 k=5 g=1 dtype=f64"},
    {ASSAY_CI, "n=1 ci=1 co=2 s=6x226x7,226x6x7 k=6 g=1 dtype=f64"}, /* too large if not cut */
    {ASSAY_CI, "n=1 ci=1 co=2 s=26x26x26 k=1 g=1 dtype=f32"}, /* more boxes than a warp has lanes */
    {ASSAY_CI, "n=1 ci=1 co=4 s=7x7x60 k=7 g=2 dtype=f32 math=tf32"},
    /* a cotangent whose squares underflow */
    {ASSAY_CI, "n=1 ci=1 co=24 s=2x5x2 k=2 g=6 eps=1e6 dtype=f64 exponent=-931 operand=5 seed=489"},
    /* equal rows, equal elements */
    {ASSAY_CI, "n=3 ci=2 co=6 s=4x5x6 k=2 g=2 dtype=f32 fill=rows,repeat"},
    /* lines of 16 and more, two tiles to a plane, two groups of channels, two boxes to a block */
    {ASSAY_CI, "n=3 ci=3 co=24 s=5x12x17 k=3 g=8 dtype=f32 math=tf32 seed=1"},
    {ASSAY_CI, "n=3 ci=2 co=27 s=4x19x35 k=3 g=9 dtype=f32 math=tf32"},
    {ASSAY_CI, "n=2 ci=1 co=26 s=4x11x15 k=2 g=2 dtype=f32 math=tf32 pad=1 misalign=1"},
    {ASSAY_CI, "n=410 ci=1 co=8 s=3x3x12 k=3 g=2 dtype=f32 math=tf32"},
    /* more planes, one behind the other, than sums are made of around one mean */
    {ASSAY_CI, "n=8 ci=1 co=8 s=70x3x4 k=3 g=2 dtype=f32 math=tf32"},
    {ASSAY_NIGHTLY, "n=2 ci=3 co=16 s=16x32x32 k=3 g=8 dtype=f32 math=strict,tf32"},
    {ASSAY_NIGHTLY, "n=2 ci=3 co=24 s=24x32x32 k=3 g=8 dtype=f32 math=strict,tf32"},
    {ASSAY_NIGHTLY, "n=2 ci=3 co=16 s=16x32x32 k=3 g=8 dtype=f64 fill=normal,positive"},
    {ASSAY_NIGHTLY, "n=2 ci=17 co=8 s=9x10x11 k=5 g=4 dtype=f32 math=strict,tf32 fill=huge"},
    {ASSAY_BENCH, "n=128 ci=3 co=16 s=16x32x32 k=3 g=8 dtype=f32 math=strict,tf32"},
    {ASSAY_BENCH, "n=128 ci=3 co=24 s=24x32x32 k=3 g=8 dtype=f32 math=strict,tf32"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "n=2 ci=2 co=4 g=2 s=4x5x6 k=3 dtype=f32 operand=0:5 " RANGE_F32},
    {ASSAY_NIGHTLY, "n=2 ci=2 co=4 g=2 s=4x5x6 k=3 dtype=f64 operand=0:5 " RANGE_F64},
    {ASSAY_EDGE, "n=0 ci=3 co=8 s=4x5x6 k=3 g=2 dtype=f32,f64"},
    {ASSAY_EDGE, "n=0 ci=3 co=8 s=4x5x6 k=3 g=2 dtype=f32 math=tf32"},
    /* y = mean(beta): right, and no proof */
    {ASSAY_EDGE, "n=2 ci=3 co=8 s=6x7x8 k=3 g=2 dtype=f32,f64 fill=initial"},
    {ASSAY_EDGE, "n=2 ci=2 co=6 s=4x3x5 k=2 g=6 dtype=f32,f64"},
    {ASSAY_EDGE, "n=1 ci=1 co=1 s=1x1x1 k=1 g=1 dtype=f32,f64"},
    /* none of y is a number, whatever beta is */
    {ASSAY_EDGE, "n=2 ci=2 co=4 s=4x4x4 k=3 g=2 dtype=f32,f64 fill=inf,nan seed=1,2"},
};

/* ---- where the definition ends ---- */

/* Sums over a group's S elements: of squares of c, of products of dy, gamma and c, of x^, which is
 * at most the root of S; and results of dc, which 1 / sqrt(var + eps) may make larger. An Inf of x,
 * gamma or dy meets differences that are 0 in one way to write the mean or dc, and small in
 * another.
 */
static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    static const int32_t of_dc[] = {CONV_X, CONV_W, CONV_B};
    const conv_sizes s = conv_sizes_of(args->params);
    const double x = range_largest(args->in, CONV_X), w = range_largest(args->in, CONV_W),
                 b = range_largest(args->in, CONV_B), gamma = range_largest(args->in, CONV_GAMMA),
                 beta = range_largest(args->in, CONV_BETA), dy = range_largest(args->cot, CONV_Y);
    const double all = (double)s.positions * (double)s.co,
                 group = (double)s.positions * (double)s.per_group, rows = (double)s.n;
    const double c = range_of_sum(r, (double)s.terms, x * w) + b, normal = sqrt(group);
    const double squares = group * c * c, inverse = fmax(1, 1 / sqrt(s.eps));
    const double a = dy * gamma * inverse, sums = group * a * fmax(c, normal);
    range_hold(r, squares, "a sum of squares", out, CONV_Y);
    range_hold(r, all * (gamma * normal + beta), "a sum of gamma x^ + beta", out, CONV_Y);
    for (int i = 0; i < 3; ++i) {
        range_hold(r, squares, "a sum of squares", grad, of_dc[i]);
        range_hold(r, sums, "a sum of dy gamma c, or dc", grad, of_dc[i]);
    }
    range_hold(r, a * normal * w * (double)s.terms * (double)s.co, "a sum of dc w", grad, CONV_X);
    range_hold(r, a * normal * x * rows * all, "a sum of dc x", grad, CONV_W);
    range_hold(r, squares, "a sum of squares", grad, CONV_GAMMA);
    range_hold(r, rows * group * dy * fmax(c, normal), "a sum of dy c", grad, CONV_GAMMA);
    range_hold(r, rows * all * dy, "a sum of dy", grad, CONV_BETA);
    for (int32_t i = 0; i <= CONV_BETA; ++i) {
        range_hold_in(ASSAY_F64, pow(sums * fmax(1, fmax(x, w)), 2), "a square in the bound", grad,
                      i);
        grad->any_infinity[i] = true;
    }
    out->any_infinity[CONV_Y] = true;
    return ASSAY_OK;
}

const assay_op assay_op_conv3d_groupnorm_mean = {
    .name = "conv3d_groupnorm_mean",
    .forward_formula = "c = conv3d(x, w) + b, z = gamma x^ + beta by groups, y_n = mean z_n",
    .backward_formula = "dc = (A - mean A - x^ mean(A x^))/sqrt(var + eps), A = gamma dy/(co P)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT) | ASSAY_MATH_BIT(ASSAY_TF32),
    .fills = (FILL_FAMILIES & ~ASSAY_FILL_BIT(ASSAY_FILL_DENORMAL)) |
             ASSAY_FILL_BIT(ASSAY_FILL_NEGATIVE) | ASSAY_FILL_BIT(ASSAY_FILL_INITIAL),
    .legal = legal,
    .signature = signature,
    .forward = conv_forward,
    .backward = conv_backward,
    .forward_plain = conv_forward_plain,
    .backward_plain = conv_backward_plain,
    .forward_bound = conv_forward_bound,
    .backward_bound = conv_backward_bound,
    .outside = outside,
    .dress = dress,
    .mistrust = mistrust,
    .work = count_work,
    .blocks = blocks,
    .draw = draw,
    .overhead = 16,
    .relations = conv_relations,
    .n_relations = CONV_RELATIONS,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
