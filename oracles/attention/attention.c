/*
 * attention: q (b, h, sq, d), k (b, h, sk, d), v (b, h, sk, d) -> o (b, h, sq, d), lse (b, h, sq).
 *
 * S = q·kᵀ/√D, lse_i = log Σ_j exp(S_ij), P_ij = exp(S_ij - lse_i), o = P·v. With `causal` query i
 * sees key j where j <= i + sk - sq: the last query sees all keys. Pairs that do not see each other
 * take no part in anything. A row without a key, or whose scores are all -Inf, has lse = -Inf and
 * P = 0: it adds nothing, except 0·Inf where it multiplies an Inf. lse is fp32 whatever the inputs
 * are.
 *
 * Backward, given do, from the forward's own o and lse: Delta_i = Σ_d do_id o_id; dv = Pᵀ·do;
 * dS = P ⊙ (do·vᵀ - Delta); dq = dS·k/√D; dk = dSᵀ·q/√D.
 */
#include "oracles/attention/attention.h"
#include "assay/problem.h"
#include "core/fill.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const assay_key keys[] = {
    {"b", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "batch"},
    {"h", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "heads"},
    {"sq", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "queries"},
    {"sk", ASSAY_KEY_INT, "", 0, INT32_MAX, "keys; default: as many as queries"},
    {"d", ASSAY_KEY_INT, NULL, 1, 256, "head dimension"},
    {"causal", ASSAY_KEY_INT, "0", 0, 1, "1: query i sees keys up to i + sk - sq"},
};

static assay_status legal(assay_params *params) {
    if (params->math == ASSAY_TF32 && params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_USAGE,
                          "attention: math=tf32 is a mode of dtype=f32, not of %s; use math=strict",
                          assay_dtype_name(params->dtype));
    const attention_sizes s = attention_sizes_of(params);
    const double b = fmax(1, (double)params->item[ATTENTION_KEY_B].value[0]);
    const double h = fmax(1, (double)params->item[ATTENTION_KEY_H].value[0]);
    const double rows = b * h * fmax(1, fmax((double)s.sq, (double)s.sk));
    if (!(rows * (double)s.d < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "attention: a tensor would have %.3g elements; make b, h, sq or sk "
                          "smaller",
                          rows * (double)s.d);
    return ASSAY_OK;
}

static assay_tensor_spec tensor(const char *name, const assay_params *params, int64_t length) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = 4,
                              .inner = 1,
                              .shape = {params->item[ATTENTION_KEY_B].value[0],
                                        params->item[ATTENTION_KEY_H].value[0], length,
                                        params->item[ATTENTION_KEY_D].value[0]},
                              .scale = 1,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, ATTENTION_INPUTS, ATTENTION_OUTPUTS);
    if (status != ASSAY_OK)
        return status;
    const attention_sizes s = attention_sizes_of(params);
    sig->in[ATTENTION_Q] = tensor("q", params, s.sq);
    sig->in[ATTENTION_K] = tensor("k", params, s.sk);
    sig->in[ATTENTION_V] = tensor("v", params, s.sk);
    sig->out[ATTENTION_O] = tensor("o", params, s.sq);
    assay_tensor_spec *lse = &sig->out[ATTENTION_LSE];
    *lse = tensor("lse", params, s.sq);
    lse->dtype = params->dtype == ASSAY_F64 ? ASSAY_F64 : ASSAY_F32;
    lse->rank = 3;
    lse->differentiable = false;
    return ASSAY_OK;
}

/* ---- data that break kernels ---- */

/* The factor of q and k of head h. Of four heads the first has scores of deviation 32: P
 * is nearly one-hot, and most exps underflow. (TF32 knows a score to 2^-9 of it, and P only where
 * scores are smaller.) The others have scores of 10^5 to 10^10: so large that their own rounding,
 * or that of lse, is more than 2^-12, more than 1, and beyond every exponent. There nearly all P
 * are 0 or 1, so that dq and dk say little: they are what the first head is for. */
static void huge_factors(const assay_params *params, int64_t head, double *of_q, double *of_k) {
    static const int bits[] = {0, 17, 25, 34}; /* of q·k */
    const bool narrow = params->dtype == ASSAY_F16;
    const int all = bits[head % 4], some = narrow && all > 22 ? 22 : all;
    *of_q = all == 0 ? params->math == ASSAY_TF32 ? 8 : 32 : exp2(some - some / 2);
    *of_k = exp2(some / 2);
}

static void make_huge(const assay_case *c, const attention_sizes *s, assay_arrays *in) {
    const bool all = c->fill == ASSAY_FILL_HUGE;
    for (int32_t t = ATTENTION_Q; t <= ATTENTION_K; ++t) {
        const int64_t length = t == ATTENTION_Q ? s->sq : s->sk;
        for (int64_t e = 0; e < in->size[t]; ++e) {
            double factor[ATTENTION_K + 1];
            huge_factors(&c->params, all ? e / s->d / length : 0, &factor[ATTENTION_Q],
                         &factor[ATTENTION_K]);
            if (fill_of_row(c->fill, e / s->d) == ASSAY_FILL_HUGE)
                in->data[t][e] *= factor[t];
        }
    }
}

/*
 * Scores of about -1000, so that a maximum which begins at 0 leaves only zeros to divide by; from
 * the middle key on -800, so that what was summed before counts for nothing in all rows at once.
 * The first dimension brings them there, the same for all queries; the others are as they were.
 * Where it is the only one, neighbours of it that every dtype can tell apart make scores differ.
 */
static void make_negative(int64_t d, double *q, int64_t q_count, double *k, int64_t k_count,
                          int64_t sk) {
    const double first = sqrt(1000 * sqrt((double)d)), spread = d == 1 ? 0x1p-7 : 0;
    for (int64_t e = 0; e < q_count; e += d)
        q[e] = first * (1 + spread * q[e]);
    for (int64_t e = 0; e < k_count; e += d)
        k[e] = (e / d % sk > sk / 2 ? -0.8 : -1) * first * (1 + spread * k[e]);
}

/* dS and dq have so many factors that they would overflow in f16. */
static void make_narrower(assay_problem *p) {
    enum { TIMES = 4 };
    for (int32_t i = 0; i < p->sig.n_in; ++i)
        fill_narrow(p->c.fill, &p->sig.in[i], 1, TIMES, p->in.data[i]);
    fill_narrow(p->c.fill, &p->sig.out[ATTENTION_O], 1, TIMES, p->cot.data[ATTENTION_O]);
}

/* denormal: q and k, so that P knows nothing of them, but dq and dk do. cancel: all v are alike, so
 * that dP - Delta cancels. */
static assay_status dress(assay_problem *p) {
    const attention_sizes s = attention_sizes_of(&p->c.params);
    const assay_tensor_spec *q = &p->sig.in[ATTENTION_Q], *k = &p->sig.in[ATTENTION_K];
    double *const *in = p->in.data;
    make_huge(&p->c, &s, &p->in);
    switch (p->c.fill) {
    case ASSAY_FILL_NEGATIVE:
        make_negative(s.d, in[ATTENTION_Q], p->in.size[ATTENTION_Q], in[ATTENTION_K],
                      p->in.size[ATTENTION_K], s.sk);
        break;
    case ASSAY_FILL_CANCEL:
        fill_alternate(&p->sig.in[ATTENTION_V], 1, 0, in[ATTENTION_V]);
        break;
    case ASSAY_FILL_DENORMAL:
        fill_scale_factor(p->c.fill, q, 0, in[ATTENTION_Q]);
        fill_scale_factor(p->c.fill, k, 0, in[ATTENTION_K]);
        break;
    case ASSAY_FILL_WIDE:
    case ASSAY_FILL_MIXED:
        make_narrower(p);
        break;
    default:
        break;
    }
    return ASSAY_OK;
}

/* ---- random cases ---- */

static void draw(assay_rng *rng, double budget, assay_params *params) {
    for (int32_t key = 0; key < params->count; ++key)
        params->item[key].count = 1;
    params->item[ATTENTION_KEY_CAUSAL].value[0] = assay_rng_between(rng, 0, 1);
    const bool tf32 = assay_rng_between(rng, 0, 2) == 0;
    if (tf32 && params->dtype == ASSAY_F32)
        params->math = ASSAY_TF32;

    int64_t room = (int64_t)fmin(budget, INT32_MAX);
    const int64_t d = draw_extent(rng, room < 256 ? room : 256);
    params->item[ATTENTION_KEY_D].value[0] = d;
    room /= d;
    const bool many_keys = assay_rng_between(rng, 0, 1) == 0;
    const int32_t order[] = {many_keys ? ATTENTION_KEY_SK : ATTENTION_KEY_SQ,
                             many_keys ? ATTENTION_KEY_SQ : ATTENTION_KEY_SK, ATTENTION_KEY_H,
                             ATTENTION_KEY_B};
    for (size_t i = 0; i < sizeof order / sizeof *order; ++i) {
        assay_param *extent = &params->item[order[i]];
        extent->value[0] = draw_extent(rng, room);
        if (extent->value[0] == 1 && order[i] == ATTENTION_KEY_SK)
            extent->value[0] = 2; /* a single key proves little: P = 1 */
        room /= extent->value[0];
    }
}

/* ---- work ---- */

/* Products of visible pairs: S and P v; backward S again, dP, dv, dq and dk. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    (void)sig;
    const attention_sizes s = attention_sizes_of(params);
    double pairs = 0;
    for (int64_t query = 0; query < s.sq; ++query)
        pairs += (double)attention_visible(&s, query);
    const double product = 2 * (double)s.heads * pairs * (double)s.d;
    work->flops = work->least = (stage == ASSAY_FORWARD ? 2 : 5) * product;
}

/* One for each tile of queries of a head, which goes through all of the head's elements, and one
 * for each query. */
static double blocks(const assay_params *params) {
    enum { TILE = 32 };
    static const double tile = 5000, query = 450;
    const attention_sizes s = attention_sizes_of(params);
    return (double)s.heads * (tile * ceil((double)s.d / TILE) + query * (double)s.sq);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "b=2 h=3 sq=33 d=32 causal=0,1 dtype=f32,bf16,f16"},
    {ASSAY_SMOKE, "b=1 h=2 sq=48 sk=80 d=64 causal=0,1 dtype=f32 math=tf32"},
    {ASSAY_SMOKE, "b=1 h=1 sq=17 sk=70 d=80 causal=1 dtype=f32,bf16 pad=3 misalign=1 sched=warp"},
    {ASSAY_SMOKE, "b=1 h=2 sq=70 sk=19 d=16 causal=0,1 dtype=f32,f16 pad=1 misalign=5"},
    {ASSAY_SMOKE, "b=1 h=1 sq=5 sk=130 d=128 dtype=f32,bf16 sched=random seed=1"},
    {ASSAY_SMOKE, "b=3 h=1 sq=1,2 sk=9 d=1,17 causal=1 dtype=f32 sched=reverse"},
    {ASSAY_SMOKE, "b=1 h=4 sq=24 sk=67 d=32 fill=huge dtype=f32,bf16,f16"},
    {ASSAY_SMOKE, "b=1 h=2 sq=24 sk=67 d=32 fill=negative dtype=f32,bf16,f16 causal=0,1"},
    {ASSAY_SMOKE, "b=1 h=4 sq=24 sk=67 d=32 math=tf32 fill=huge,positive dtype=f32"},
    {ASSAY_SMOKE, "b=1 h=2 sq=20 sk=40 d=16 fill=uniform,positive dtype=f32,bf16"},
    {ASSAY_SMOKE, "b=2 h=1 sq=18 sk=35 d=16 fill=inf,nan seed=0:2:1 dtype=f32,bf16"},
    {ASSAY_SMOKE, "b=1 h=2 sq=18 sk=35 d=16 causal=1 fill=nan seed=1,2 dtype=f32,f16"},
    {ASSAY_SMOKE, "b=1 h=1 sq=11 sk=13 d=8 causal=1 dtype=f32,f16 fill=cancel,denormal,mixed"},
    /* dq in parts of 128 keys: parts that are subnormal, and sums near the end of the range */
    {ASSAY_SMOKE, "b=1 h=2 sq=20 sk=260 d=16 causal=1 dtype=bf16 fill=denormal"},
    {ASSAY_SMOKE, "b=1 h=6 sq=20 sk=140 d=16 causal=1 dtype=bf16 exponent=106 operand=3"},
    {ASSAY_CI, "b=1 h=1 sq=15,16,17,63,64,65 sk=15,16,17,63,64,65 d=32 causal=1 dtype=f32"},
    {ASSAY_CI, "b=1 h=1 sq=15,17,63,65 sk=31,33,64 d=64 causal=0,1 dtype=bf16,f16"},
    {ASSAY_CI, "b=1 h=1 sq=15,17,65 sk=31,33,64 d=64 causal=0,1 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=1 h=1 sq=127,128,129 sk=127,129 d=32 causal=0,1 dtype=f32,bf16 sched=random"},
    {ASSAY_CI, "b=1 h=1 sq=128 sk=128 d=64,128 causal=0,1 dtype=bf16,f16"},
    {ASSAY_CI, "b=1 h=2 sq=70 sk=400 d=128 dtype=bf16"}, /* v3_hopper: dq rounded at the end */
    /* heads in several groups, by what two multiprocessors make of it */
    {ASSAY_CI, "b=1 h=5 sq=200 sk=270 d=128 causal=0,1 dtype=bf16,f16 sched=random"},
    {ASSAY_CI, "b=2 h=5 sq=260 sk=150 d=40 causal=1 dtype=bf16 sched=reverse"},
    {ASSAY_CI, "b=1 h=1 sq=129 sk=65 d=32 causal=1 dtype=f32 math=tf32 sched=warp"},
    {ASSAY_CI, "b=1 h=1 sq=33 sk=40 d=1,2,7,8,15,31,63 causal=1 dtype=f32,bf16,f16 sched=reverse"},
    {ASSAY_CI, "b=1 h=1 sq=20 sk=33 d=65,80,96,127,192,255,256 causal=1 dtype=f32,bf16,f16"},
    {ASSAY_CI, "b=1 h=1 sq=20 sk=33 d=4,8,12,96,128,256 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=2,3 h=1,5 sq=9,20 sk=21 d=24 causal=0,1 dtype=f32,bf16 pad=5 misalign=3"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "b=1 h=1 sq=17 sk=21 d=16 dtype=f32,bf16 pad=8 misalign=8:17:1"},
    {ASSAY_CI, "b=1 h=1 sq=1 sk=5,300,1025 d=64 causal=0,1 dtype=f32,bf16,f16"},
    {ASSAY_CI, "b=1 h=1 sq=300 sk=3 d=32 causal=0,1 dtype=f32,bf16"},
    {ASSAY_CI, "b=1 h=1 sq=50 sk=130 d=64 fill=huge,negative,positive causal=0,1 dtype=f32,bf16"},
    {ASSAY_CI, "b=1 h=1 sq=40 sk=90 d=64 fill=huge,negative dtype=f16"},
    {ASSAY_CI, "b=1 h=1 sq=40 sk=90 d=1 fill=huge dtype=f16"},
    {ASSAY_CI, "b=1 h=1 sq=40 sk=90 d=1,64 fill=huge dtype=f32 math=tf32"},
    /* not finite in v: key 20 is hidden from three queries, the last from all but one */
    {ASSAY_SMOKE, "b=1 h=2 sq=18 sk=35 d=16 causal=1 fill=inf,nan seed=20674,35138 dtype=f32,bf16"},
    {ASSAY_CI, "b=2 h=2 sq=150 sk=150 d=32 causal=1 fill=inf,nan seed=81986,131074,286722 "
               "dtype=f32,bf16,f16"},
    {ASSAY_CI, "b=1 h=2 sq=66 sk=70 d=32 fill=inf,nan seed=0:2:1 dtype=f32,bf16,f16"},
    {ASSAY_CI, "b=1 h=2 sq=66 sk=70 d=32 fill=inf seed=3:5:1 dtype=f32"},
    {ASSAY_CI, "b=1 h=2 sq=3 sk=1 d=16 fill=inf seed=4,6,7 dtype=f32,bf16"}, /* -Inf alone */
    {ASSAY_CI, "b=1 h=2 sq=66 sk=70 d=32 math=tf32 fill=inf,nan seed=0:2:1 dtype=f32"},
    {ASSAY_CI, "b=1 h=1 sq=20 sk=37 d=16 causal=1 dtype=f32,bf16,f16 "
               "fill=cancel,wide,denormal,zeros,mixed"},
    /* tiles for few rows, and for many, by what two multiprocessors make of it */
    {ASSAY_CI, "b=1 h=1 sq=100 sk=100 d=16,64,128 causal=0,1 dtype=f32"},
    {ASSAY_CI, "b=2 h=1 sq=70 sk=130 d=64,128 causal=1 dtype=f32"},
    /* pairs of tiles: several walks, of which the mask hides one */
    {ASSAY_CI, "b=1 h=1 sq=250 sk=60 d=64,128 causal=0,1 dtype=f32"},
    {ASSAY_CI, "b=130 h=1 sq=5 sk=40 d=13 causal=1 dtype=f32"},
    {ASSAY_CI, "b=265 h=1 sq=2 sk=256 d=1 dtype=f32"}, /* dS in two parts, on a GPU too */
    /* dS of a head in parts, where there are two multiprocessors */
    {ASSAY_CI, "b=1 h=1 sq=9 sk=1025 d=16 causal=0,1 dtype=f32"},
    {ASSAY_CI, "b=1 h=1,2 sq=70 sk=1060,2100 d=16 causal=0,1 dtype=f32"},
    {ASSAY_CI, "b=1 h=1 sq=20 sk=256 d=32 fill=huge seed=2 dtype=f32"}, /* warps share rows */
    {ASSAY_CI, "b=1 h=1 sq=128 sk=5 d=256 dtype=f32"},                  /* a block's tile, filled */
    /* v3_hopper: more tiles than blocks, longer walks than its ring, bases that move late */
    {ASSAY_CI, "b=5 h=1 sq=20 sk=700 d=64,256 causal=0,1 dtype=bf16"},
    {ASSAY_CI, "b=1 h=3 sq=200 sk=410 d=64,128 causal=1 dtype=f16"},
    {ASSAY_CI, "b=1 h=1 sq=33 sk=450 d=64,128 operand=0 exponent=3 dtype=bf16,f16"},
    {ASSAY_CI, "b=5 h=1 sq=20 sk=700 d=32,80 causal=0,1 dtype=bf16"},
    {ASSAY_CI, "b=1 h=3 sq=200 sk=410 d=32,80 causal=1 dtype=f16"},
    {ASSAY_CI, "b=1 h=2 sq=140 sk=140 d=80 dtype=bf16 exponent=106 operand=3"},
    /* products that leap beyond the first tile's, also beyond fp32's range, in each of its plans */
    {ASSAY_CI, "b=1 h=1 sq=290 d=16,64,96,128,256 operand=0 exponent=7 causal=1 dtype=bf16"},
    {ASSAY_CI, "b=1 h=1 sq=290 d=16,64,96,128,256 operand=0 exponent=6 causal=1 dtype=f16"},
    {ASSAY_CI, "b=1 h=1 sq=35 sk=290 d=24,56,80,104 operand=0 exponent=7 dtype=bf16,f16"},
    {ASSAY_CI, "b=1 h=1 sq=500 sk=200 d=64 operand=0 exponent=6 dtype=bf16,f16"},
    /* bases of some rows go beyond 2^10, of some do not, and of some only late */
    {ASSAY_CI, "b=1 h=1 sq=33 sk=450 d=64 operand=0 exponent=8 dtype=bf16"},
    {ASSAY_CI, "b=1 h=4 sq=33 sk=300 d=32,128 fill=huge causal=0,1 dtype=bf16,f16"},
    /* a base beyond 2^10, at once or by a leap, and behind it one key whose product is near 0 */
    {ASSAY_CI, "b=1 h=8 sq=1 sk=129 d=72 operand=0 exponent=9 seed=6 dtype=bf16"},
    {ASSAY_CI, "b=1 h=5 sq=1 sk=257 d=72 operand=0 exponent=8 seed=27 dtype=bf16"},
    /* its tiles of 256 queries: one round, and several; queries that see no key; a long walk */
    {ASSAY_CI, "b=1 h=2 sq=200 sk=70,300 d=64 causal=0,1 dtype=bf16,f16"},
    {ASSAY_CI, "b=1 h=6 sq=250 sk=260 d=40 causal=1 dtype=bf16 sched=random"},
    {ASSAY_CI, "b=1 h=2 sq=230 sk=620 d=64 causal=0,1 dtype=bf16 sched=reverse"},
    /* warpgroups without a query, which wait for keys beside others; recorded */
    {ASSAY_CI, "b=1 h=1 sq=3 sk=700 d=8 dtype=bf16"},
    {ASSAY_CI, "b=1 h=1 sq=2 sk=75 d=136 dtype=bf16"},
    /* results that begin behind 16 bytes' alignment, by pairs: o; dq, dk, dv */
    {ASSAY_CI, "b=1 h=1 sq=20 sk=21 d=64 dtype=bf16,f16 misalign=75,79:82:1"},
    /* its backward beyond d = 128: walks longer than its ring, which are recorded; queries that see
     * no key, heads in groups; sums near the end of the range; all columns */
    {ASSAY_CI, "b=1 h=1 sq=130 sk=66 d=136 causal=1 dtype=bf16 sched=random"},
    {ASSAY_CI, "b=1 h=3 sq=200 sk=70 d=136 causal=0,1 dtype=bf16,f16 pad=8 sched=random"},
    {ASSAY_CI, "b=1 h=1 sq=129 sk=520 d=136 causal=1 dtype=bf16 sched=random seed=1"},
    {ASSAY_CI, "b=1 h=2 sq=140 sk=70 d=136 dtype=bf16 exponent=106 operand=3"},
    {ASSAY_CI, "b=1 h=1 sq=200 sk=130 d=256 causal=0,1 dtype=bf16,f16 sched=reverse"},
    {ASSAY_CI, "b=1 h=1 sq=70 sk=80 d=136 causal=1 fill=inf,nan,denormal seed=2,5 dtype=bf16"},
    /* v3_bf16x6: walks longer than its rings; heads with digits beside heads without; parts */
    {ASSAY_CI, "b=1 h=4 sq=66 sk=130 d=40,128 causal=1 dtype=f32 sched=random"},
    {ASSAY_CI, "b=1 h=2 sq=130 sk=130 d=64 dtype=f32"},
    {ASSAY_CI, "b=1 h=1 sq=60 sk=560 d=128 dtype=f32"},
    {ASSAY_CI, "b=1 h=1 sq=560 sk=60 d=100 causal=1 dtype=f32"},
    {ASSAY_CI, "b=1 h=1 sq=33 sk=1060 d=48 causal=1 dtype=f32 pad=5"},
    {ASSAY_CI, "b=1 h=4 sq=90 sk=100 d=64 fill=huge,mixed,cancel causal=1 dtype=f32"},
    {ASSAY_CI, "b=1 h=2 sq=130 sk=130 d=40 fill=inf,nan seed=1,3 dtype=f32"},
    /* v3_bf16x3: the same, and more heads than are abreast */
    {ASSAY_CI, "b=1 h=2 sq=130 sk=130 d=64,100 causal=1 dtype=f32 math=tf32 sched=random"},
    {ASSAY_CI, "b=1 h=1 sq=60 sk=560 d=128 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=1 h=1 sq=33 sk=1060 d=48 causal=1 dtype=f32 math=tf32 pad=5"},
    {ASSAY_CI, "b=1 h=1 sq=300 sk=60 d=48 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=9 h=1 sq=140 sk=70 d=40 causal=1 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=1 h=4 sq=90 sk=100 d=64 fill=huge,cancel causal=1 dtype=f32 math=tf32"},
    {ASSAY_CI, "b=1 h=2 sq=130 sk=130 d=40 fill=inf,nan seed=1 dtype=f32 math=tf32"},
    /* equal rows, equal elements */
    {ASSAY_CI, "b=2 h=2 sq=9 sk=7 d=8 dtype=f32 fill=rows,repeat,constant seed=9"},
    {ASSAY_NIGHTLY, "b=1 h=1 sq=1024 d=64 causal=0,1 dtype=f32,bf16,f16"},
    {ASSAY_NIGHTLY, "b=66,130 h=1 sq=33 sk=70 d=16,33,64,128 causal=0,1 dtype=f32"},
    {ASSAY_NIGHTLY, "b=1 h=1 sq=3 sk=68000 d=2 causal=0,1 dtype=f32"}, /* parts of a head */
    {ASSAY_NIGHTLY, "b=1 h=1 sq=1024 d=64 causal=1 dtype=f32 math=tf32"},
    {ASSAY_NIGHTLY, "b=1 h=1 sq=3 sk=20000 d=64 causal=0,1 dtype=f32,bf16,f16"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "b=1 h=2 sq=9 sk=17 d=8 causal=0,1 dtype=f32,bf16 operand=0:3 " RANGE_F32},
    {ASSAY_NIGHTLY, "b=1 h=2 sq=9 sk=17 d=8 causal=0,1 dtype=f16 operand=0:3 " RANGE_F16},
    {ASSAY_EDGE, "b=0 h=0,2 sq=5 d=8 dtype=f32,bf16"},
    {ASSAY_EDGE, "b=1 h=0 sq=5 d=8 dtype=f32,bf16"},
    {ASSAY_EDGE, "b=1 h=2 sq=0,5,40 sk=0 d=8 causal=0,1 dtype=f32,f16"}, /* 40: more than a block */
    {ASSAY_EDGE, "b=1 h=2 sq=0 sk=3 d=8 causal=0,1 dtype=f32,f16"},
    {ASSAY_EDGE, "b=1 h=2 sq=0,5 sk=0 d=8 dtype=f32 math=tf32"},
    /* P = 1: dq and dk are 0 */
    {ASSAY_EDGE, "b=1 h=2 sq=1,70 sk=1 d=16 causal=0,1 dtype=f32,bf16,f16"},
    {ASSAY_BENCH, "b=8 h=1 sq=16384 d=64,128 causal=1 dtype=bf16"},
    {ASSAY_BENCH, "b=8 h=1 sq=4096 d=64 causal=1 dtype=f32"},
    {ASSAY_BENCH, "b=8 h=1 sq=256,1024,4096,8192,16384 d=16,32,64,128 dtype=f32"},
};

/* ---- where the definition ends ---- */

/* Queries before this one do not see key j. */
static int64_t first_to_see(const attention_sizes *s, int64_t j) {
    const int64_t before = j - (s->sk - s->sq), hidden = before < s->sq ? before : s->sq;
    return s->causal && hidden > 0 ? hidden : 0;
}

static void mark(bool *row, int64_t count) {
    for (int64_t x = 0; x < count; ++x)
        row[x] = true;
}

/* What a query's row of o, dq and all of dk become where it does not see a key whose v is not
 * finite: a kernel may leave the pair out, or multiply that v by its weight 0, which gives NaN. */
static void mark_hidden(const attention_sizes *s, const double *v, int64_t of, bool *o, bool *dq,
                        bool *dk) {
    for (int64_t e = 0; e < s->sk * s->d; ++e) {
        const int64_t hidden = first_to_see(s, e / s->d);
        if (isfinite(v[of * s->sk * s->d + e]) || hidden == 0)
            continue;
        for (int64_t i = 0; i < hidden; ++i) {
            o[(of * s->sq + i) * s->d + e % s->d] = true;
            if (dq)
                mark(&dq[(of * s->sq + i) * s->d], s->d);
        }
        if (dk)
            mark(&dk[of * s->sk * s->d], s->sk * s->d);
    }
}

/* Likewise a pair's dS of 0 times q in dk and times k in dq. */
static void mark_products(const attention_sizes *s, const double *q, const double *k, int64_t of,
                          bool *dq, bool *dk) {
    for (int64_t j = 0; j < s->sk; ++j)
        for (int64_t i = 0; i < first_to_see(s, j); ++i)
            for (int64_t x = 0; x < s->d; ++x) {
                const int64_t at_q = (of * s->sq + i) * s->d + x,
                              at_k = (of * s->sk + j) * s->d + x;
                dk[at_k] = dk[at_k] || !isfinite(q[at_q]);
                dq[at_q] = dq[at_q] || !isfinite(k[at_k]);
            }
}

/* The logarithm of the weights that a kernel may round to 0, when it narrows them to the dtype or
 * flushes subnormal numbers; and how far a score may be off, by and large. */
static double log_of_least(assay_dtype dtype) {
    static const double of[ASSAY_DTYPES] = {-1022, -126, -126, -24};
    return of[dtype] * log(2);
}
static const double score_slack = 0x1p-10;

/* A query's scores; returns their lse. */
static double scores_of(const attention_sizes *s, const double *q, const double *k, int64_t n,
                        double *score) {
    double m = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; ++j) {
        score[j] = 0;
        for (int64_t x = 0; x < s->d; ++x)
            score[j] += s->scale * q[x] * k[j * s->d + x];
        m = fmax(m, score[j]);
    }
    for (int64_t j = 0; j < n; ++j)
        sum += exp(score[j] - m);
    return m + log(sum);
}

/* What a row of o, dq and all of dk become where a query sees a key whose v is not finite, with a
 * weight that is not 0, but may be in a kernel: NaN, not Inf. */
static void mark_underflow(const attention_sizes *s, assay_dtype dtype, double *const *in,
                           int64_t of, double *score, bool *o, bool *dq, bool *dk) {
    const double *k = in[ATTENTION_K] + of * s->sk * s->d, *v = in[ATTENTION_V] + of * s->sk * s->d;
    for (int64_t i = 0; i < s->sq; ++i) {
        const int64_t row = of * s->sq + i, n = attention_visible(s, i);
        const double lse = scores_of(s, in[ATTENTION_Q] + row * s->d, k, n, score);
        for (int64_t e = 0; e < n * s->d; ++e) {
            const double of_key = score[e / s->d], slack = 1 + score_slack * fabs(of_key);
            if (isfinite(v[e]) || !(of_key - lse < log_of_least(dtype) + slack))
                continue;
            o[row * s->d + e % s->d] = true;
            if (dq) {
                mark(&dq[row * s->d], s->d);
                mark(&dk[of * s->sk * s->d], s->sk * s->d);
            }
        }
    }
}

static bool all_finite(const double *v, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        if (!isfinite(v[e]))
            return false;
    return true;
}

static assay_status allow_nan(const assay_oracle_args *args, assay_bounds *out,
                              assay_bounds *grad) {
    const attention_sizes s = attention_sizes_of(args->params);
    double *const *in = args->in->data;
    const bool backward = grad->element.data[ATTENTION_Q] != NULL;
    bool finite = true;
    for (int32_t i = 0; i < ATTENTION_INPUTS; ++i)
        finite = finite && all_finite(in[i], args->in->size[i]);
    if (finite)
        return ASSAY_OK;
    double *score = malloc((size_t)(s.sk > 0 ? s.sk : 1) * sizeof *score);
    assay_status status =
        score ? ASSAY_OK : assay_fail(ASSAY_ERR_MEMORY, "out of memory for scores of attention");
    if (status == ASSAY_OK)
        status = assay_bounds_allow_nan(out, ATTENTION_O);
    if (status == ASSAY_OK && backward)
        status = assay_bounds_allow_nan(grad, ATTENTION_Q);
    if (status == ASSAY_OK && backward)
        status = assay_bounds_allow_nan(grad, ATTENTION_K);
    for (int64_t of = 0; status == ASSAY_OK && of < s.heads; ++of) {
        bool *dq = grad->nan_too[ATTENTION_Q], *dk = grad->nan_too[ATTENTION_K];
        mark_hidden(&s, in[ATTENTION_V], of, out->nan_too[ATTENTION_O], dq, dk);
        if (backward)
            mark_products(&s, in[ATTENTION_Q], in[ATTENTION_K], of, dq, dk);
        mark_underflow(&s, args->params->dtype, in, of, score, out->nan_too[ATTENTION_O], dq, dk);
    }
    free(score);
    return status;
}

/* A score and dP are sums over the head dimension; a row of P sums to 1. dS is an operand of the
 * same type as q where that is fp16. */
static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const attention_sizes s = attention_sizes_of(args->params);
    const double q = range_largest(args->in, ATTENTION_Q), k = range_largest(args->in, ATTENTION_K),
                 v = range_largest(args->in, ATTENTION_V),
                 dy = range_largest(args->cot, ATTENTION_O);
    const double score = range_of_sum(r, (double)s.d, q * k), rows = (double)s.sq;
    const double slope = 2 * range_of_sum(r, (double)s.d, dy * v);
    for (int32_t o = 0; o < ATTENTION_OUTPUTS; ++o)
        range_hold(r, score, "a score", out, o);
    for (int32_t i = 0; i < ATTENTION_INPUTS; ++i)
        range_hold(r, score, "a score", grad, i);
    range_hold(r, (double)s.sk * v, "a sum of v before it is divided by that of P", out,
               ATTENTION_O);
    range_hold(r, rows * dy, "a sum of P do", grad, ATTENTION_V);
    range_hold(r, slope * fmax(1, k), "dP, or a sum of dS k", grad, ATTENTION_Q);
    range_hold(r, rows * slope * fmax(1, q), "dP, or a sum of dS q", grad, ATTENTION_K);
    if (args->params->dtype == ASSAY_F16)
        for (int32_t i = ATTENTION_Q; i <= ATTENTION_K; ++i)
            range_hold_in(ASSAY_F16, slope, "dS, an operand of the last products,", grad, i);
    return allow_nan(args, out, grad);
}

const assay_op assay_op_attention = {
    .name = "attention",
    .forward_formula = "S = q k^T / sqrt(d), lse = log sum exp S, P = exp(S - lse), o = P v",
    .backward_formula = "dv = P^T do, dS = P (do v^T - rowsum(do o)), dq = dS k / sqrt(d), "
                        "dk = dS^T q / sqrt(d)",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT) | ASSAY_MATH_BIT(ASSAY_TF32),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_NEGATIVE),
    .legal = legal,
    .signature = signature,
    .forward = attention_forward,
    .backward = attention_backward,
    .forward_plain = attention_forward_plain,
    .backward_plain = attention_backward_plain,
    .forward_bound = attention_forward_bound,
    .backward_bound = attention_backward_bound,
    .outside = outside,
    .dress = dress,
    .work = count_work,
    .blocks = blocks,
    .draw = draw,
    .overhead = 8,
    .relations = attention_relations,
    .n_relations = ATTENTION_RELATIONS,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
