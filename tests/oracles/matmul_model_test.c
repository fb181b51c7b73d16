/*
 * The bounds of matmul_accumulate against kernels that are known to be right, modelled on the host:
 * fp32 sums by fma in sequence and as a tree, and the tensor cores' own rule (tests/sim/tiles.h),
 * all in `iters` passes over the running sum and as one product that is scaled. No right model may
 * be beyond a bound. On random data, no model whose operands have fewer bits than the case asks for
 * may stay within all; the exact tier leaves long sums too few bits for that.
 */
#include "assay/compare.h"
#include "assay/problem.h"
#include "oracles/common/bound.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/tiles.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 200, BUDGET = 3000, KEY_ITERS = 3, MANY = 50 };
enum { A, B, C, Y = 0 };

/* ---- models ---- */

typedef enum bits { ALL, TF32, BF16 } bits; /* of an operand, rounded to nearest */

/* c[m, n] += a[m, k] b[k, n], packed. */
typedef void (*add_product)(int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                            float *c);

typedef struct model {
    const char *name;
    add_product add;
    bits operands;
} model;

static void by_fma(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            for (int64_t l = 0; l < k; ++l)
                c[i * n + j] = fmaf(a[i * k + l], b[l * n + j], c[i * n + j]);
}

/* The sum of x[0] y[0] to x[k - 1] y[(k - 1) step], each half by itself. */
static float tree(int64_t k, const float *x, const float *y, int64_t step) {
    if (k == 1)
        return x[0] * y[0];
    const int64_t half = k / 2;
    return tree(half, x, y, step) + tree(k - half, x + half, y + half * step, step);
}

static void by_tree(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            c[i * n + j] += tree(k, a + i * k, b + j, n);
}

static void by_tf32_8(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c) {
    sim_add_product(SIM_TILES_TF32, 8, m, n, k, a, b, c);
}

static void by_bf16_8(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c) {
    sim_add_product(SIM_TILES_BF16, 8, m, n, k, a, b, c);
}

static void by_bf16_16(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c) {
    sim_add_product(SIM_TILES_BF16, 16, m, n, k, a, b, c);
}

/* ---- a model as a kernel ---- */

static float rounded(float v, bits kept) {
    if (kept == ALL)
        return v;
    if (kept == BF16)
        return (float)assay_dtype_round(ASSAY_BF16, v);
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    u += 0xfff + (u >> 13 & 1);
    u &= ~(uint32_t)0x1fff;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* Rows by columns of a matrix whose rows lie packed, or whose columns do. */
static float *packed(const double *from, int64_t rows, int64_t columns, bool transposed,
                     bits kept) {
    float *to = malloc((size_t)(rows * columns) * sizeof *to);
    REQUIRE(to != NULL);
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            to[i * columns + j] =
                rounded((float)from[transposed ? j * rows + i : i * columns + j], kept);
    return to;
}

/* One product of a stage, its factors as the problem stores them. */
typedef struct stage {
    int64_t m, n, k, iters;
    const double *left, *right, *added; /* nothing is added where that is NULL */
    bool left_transposed, right_transposed, transposed;
    assay_dtype dtype;
    double *out;
} stage;

static void run(const stage *s, const model *by, bool passes) {
    float *a = packed(s->left, s->m, s->k, s->left_transposed, by->operands);
    float *b = packed(s->right, s->k, s->n, s->right_transposed, by->operands);
    float *c = calloc((size_t)(s->m * s->n), sizeof *c);
    REQUIRE(c != NULL);
    for (int64_t e = 0; passes && s->added && e < s->m * s->n; ++e)
        c[e] = (float)s->added[e];
    for (int64_t pass = 0; pass < (passes ? s->iters : 1); ++pass)
        by->add(s->m, s->n, s->k, a, b, c);
    for (int64_t e = 0; !passes && e < s->m * s->n; ++e) {
        const float product = (float)s->iters * c[e];
        c[e] = s->added ? product + (float)s->added[e] : product;
    }
    for (int64_t i = 0; i < s->m; ++i)
        for (int64_t j = 0; j < s->n; ++j)
            s->out[s->transposed ? j * s->m + i : i * s->n + j] =
                assay_dtype_round(s->dtype, c[i * s->n + j]);
    free(a);
    free(b);
    free(c);
}

static int64_t value_of(const assay_problem *p, const char *key) {
    return assay_params_int(&p->c.params, key);
}

/* y, da and db by one model, stored as `dtype`; dc is a copy. */
static void run_all(const assay_problem *p, const model *by, bool passes, assay_dtype dtype,
                    assay_results *r) {
    const int64_t m = value_of(p, "m"), n = value_of(p, "n"), k = value_of(p, "k");
    const bool ta = value_of(p, "ta") != 0, tb = value_of(p, "tb") != 0;
    const double *a = p->in.data[A], *b = p->in.data[B], *c = p->in.data[C], *dy = p->cot.data[Y];
    const stage base = {.iters = value_of(p, "iters"), .dtype = dtype};
    stage y = base, da = base, db = base;
    y.m = m, y.n = n, y.k = k;
    y.left = a, y.left_transposed = ta, y.right = b, y.right_transposed = tb;
    y.added = c, y.out = r->out.data[Y];
    da.m = m, da.n = k, da.k = n;
    da.left = dy, da.right = b, da.right_transposed = !tb;
    da.transposed = ta, da.out = r->grad.data[A];
    db.m = k, db.n = n, db.k = m;
    db.left = a, db.left_transposed = !ta, db.right = dy;
    db.transposed = tb, db.out = r->grad.data[B];
    run(&y, by, passes);
    run(&da, by, passes);
    run(&db, by, passes);
}

/* The worst error / bound of y, da and db: above 1 exactly when the model would have failed. */
static double ratio_of(const assay_problem *p, const assay_reference *ref, const model *by,
                       bool passes, assay_dtype dtype) {
    assay_results got;
    REQUIRE_OK(assay_results_init(&got, &p->sig));
    run_all(p, by, passes, dtype, &got);
    const assay_arrays *want = &ref->want.grad, *bound = &ref->grad_bound.element;
    const double y = assay_compare(dtype, got.out.data[Y], ref->want.out.data[Y],
                                   ref->out_bound.element.data[Y], got.out.size[Y])
                         .ratio;
    const double da =
        assay_compare(dtype, got.grad.data[A], want->data[A], bound->data[A], got.grad.size[A])
            .ratio;
    const double db =
        assay_compare(dtype, got.grad.data[B], want->data[B], bound->data[B], got.grad.size[B])
            .ratio;
    assay_results_clear(&got);
    return fmax(y, fmax(da, db));
}

/* ---- cases ---- */

typedef struct mode {
    assay_dtype dtype, stored;
    assay_math math;
    int32_t n_right, n_wrong;
    model right[3], wrong[2];
} mode;

static const mode modes[] = {
    {.dtype = ASSAY_F32,
     .stored = ASSAY_F32,
     .n_right = 2,
     .right = {{"fma in sequence", by_fma, ALL}, {"a tree", by_tree, ALL}},
     .n_wrong = 2,
     .wrong = {{"TF32 operands", by_fma, TF32}, {"bf16 operands", by_fma, BF16}}},
    {.dtype = ASSAY_F32,
     .stored = ASSAY_F32,
     .math = ASSAY_TF32,
     .n_right = 3,
     .right = {{"fma in sequence", by_fma, ALL},
               {"tensor cores, operands cut", by_tf32_8, ALL},
               {"tensor cores, operands rounded", by_tf32_8, TF32}},
     .n_wrong = 1,
     .wrong = {{"bf16 operands", by_fma, BF16}}},
    {.dtype = ASSAY_BF16,
     .stored = ASSAY_BF16,
     .n_right = 3,
     .right = {{"fma in sequence", by_fma, ALL},
               {"tensor cores, steps of 8", by_bf16_8, ALL},
               {"tensor cores, steps of 16", by_bf16_16, ALL}}},
    /* The sums alone: the rounding to bf16 would hide them. */
    {.dtype = ASSAY_BF16,
     .stored = ASSAY_F32,
     .n_right = 3,
     .right = {{"fma in sequence, unrounded", by_fma, ALL},
               {"tensor cores, steps of 8, unrounded", by_bf16_8, ALL},
               {"tensor cores, steps of 16, unrounded", by_bf16_16, ALL}}},
};

/* Of some, many passes over less data. */
static assay_case draw(const mode *of, uint64_t index) {
    static const char name[] = "matmul_accumulate";
    static const assay_fill fills[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_UNIFORM, ASSAY_FILL_POSITIVE,
                                       ASSAY_FILL_EXACT};
    const bool many = index % 16 == 5;
    assay_rng rng = {.seed = index, .stream = assay_rng_stream("matmul_model")};
    assay_case c = {
        .op = assay_op_find(name, strlen(name)), .fill = fills[index % 4], .seed = index};
    assay_params_init(c.op, &c.params);
    c.op->draw(&rng, many ? BUDGET / 10 : BUDGET, &c.params);
    if (many)
        c.params.item[KEY_ITERS].value[0] = MANY;
    c.params.dtype = of->dtype;
    c.params.math = of->math;
    REQUIRE_OK(c.op->legal(&c.params));
    return c;
}

/* Bounds for results that are not rounded once more. */
static void bound_sums(const assay_problem *p, assay_reference *ref) {
    assay_rounding r = assay_rounding_of(p->c.params.dtype, p->c.params.math, p->c.fill);
    r.u_out = 0;
    assay_oracle_args args = {.params = &p->c.params, .sig = &p->sig, .in = &p->in};
    REQUIRE_OK(p->c.op->forward_bound(&args, &r, &ref->want.out, &ref->out_bound));
    args.out = &ref->want.out;
    args.cot = &p->cot;
    REQUIRE_OK(p->c.op->backward_bound(&args, &r, &ref->want.grad, &ref->grad_bound));
}

/* k products of just under u/2 behind a c of 1: tensor cores drop each of them, the most that they
 * can lose without rounding the sum. */
static void fill_with_dust(assay_problem *p) {
    for (int64_t e = 0; e < p->in.size[A]; ++e)
        p->in.data[A][e] = (1 - 0x1p-8) * 0x1p-12;
    for (int64_t e = 0; e < p->in.size[B]; ++e)
        p->in.data[B][e] = 0x1p-13;
    for (int64_t e = 0; e < p->in.size[C]; ++e)
        p->in.data[C][e] = 1;
}

typedef void (*checker)(const assay_problem *p, const assay_reference *ref, const mode *of);

static void check_case(const assay_case *c, const mode *of, checker by) {
    assay_problem p;
    assay_reference ref;
    REQUIRE_OK(assay_problem_init(&p, c));
    REQUIRE_OK(assay_reference_init(&ref, &p));
    if (of->stored != of->dtype)
        bound_sums(&p, &ref);
    by(&p, &ref, of);
    assay_reference_clear(&ref);
    assay_problem_clear(&p);
}

static void check_all(checker by) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i)
        for (uint64_t index = 0; index < CASES; ++index) {
            const assay_case c = draw(&modes[i], index);
            if (modes[i].stored == modes[i].dtype || c.fill != ASSAY_FILL_EXACT)
                check_case(&c, &modes[i], by);
        }
}

static void check_right(const assay_problem *p, const assay_reference *ref, const mode *of) {
    char text[ASSAY_CASE_TEXT];
    for (int32_t i = 0; i < of->n_right; ++i)
        for (int passes = 0; passes < 2; ++passes) {
            const double ratio = ratio_of(p, ref, &of->right[i], passes != 0, of->stored);
            CHECK_MSG(ratio <= 1, "%s: %s, %s: %g times the bound", assay_case_format(&p->c, text),
                      of->right[i].name, passes ? "in passes" : "scaled", ratio);
        }
}

static void check_wrong(const assay_problem *p, const assay_reference *ref, const mode *of) {
    char text[ASSAY_CASE_TEXT];
    for (int32_t i = 0; i < of->n_wrong && p->c.fill != ASSAY_FILL_EXACT; ++i) {
        const double ratio = ratio_of(p, ref, &of->wrong[i], false, of->stored);
        CHECK_MSG(ratio > 1, "%s: %s: %g times the bound", assay_case_format(&p->c, text),
                  of->wrong[i].name, ratio);
    }
}

ASSAY_TEST(matmul_model, right_kernels_pass, "unit smoke matmul_accumulate") {
    check_all(check_right);
}

ASSAY_TEST(matmul_model, fewer_bits_fail, "unit smoke matmul_accumulate") {
    check_all(check_wrong);
}

/* Two thirds of the bound for tensor cores are reached, which no random data do. */
ASSAY_TEST(matmul_model, tensor_cores_at_their_worst, "unit smoke matmul_accumulate") {
    static const struct {
        const char *words;
        model by;
    } worst[] = {{"dtype=bf16", {"steps of 8", by_bf16_8, ALL}},
                 {"dtype=bf16", {"steps of 16", by_bf16_16, ALL}},
                 {"dtype=f32 math=tf32", {"steps of 8", by_tf32_8, ALL}}};
    for (size_t i = 0; i < sizeof worst / sizeof *worst; ++i) {
        char text[ASSAY_CASE_TEXT];
        assay_case c;
        assay_problem p;
        assay_reference ref;
        snprintf(text, sizeof text, "matmul_accumulate m=16 n=8 k=1024 fill=positive %s",
                 worst[i].words);
        REQUIRE_OK(assay_case_parse(text, &c));
        REQUIRE_OK(assay_problem_init(&p, &c));
        fill_with_dust(&p);
        REQUIRE_OK(assay_reference_init(&ref, &p));
        bound_sums(&p, &ref);
        const double ratio = ratio_of(&p, &ref, &worst[i].by, true, ASSAY_F32);
        CHECK_MSG(ratio > 0.6 && ratio <= 1, "%s: %s: %g times the bound", text, worst[i].by.name,
                  ratio);
        assay_reference_clear(&ref);
        assay_problem_clear(&p);
    }
}
