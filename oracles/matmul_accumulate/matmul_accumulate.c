/*
 * matmul_accumulate: a (m, k), b (k, n), c (m, n) -> y = c + iters·a·b, which a kernel may take as
 * `iters` passes of y += a·b or as one product that is scaled. With ta a is stored (k, m), with tb
 * b is stored (n, k).
 *
 * Backward, given dy: da = iters·dy·bᵀ and db = iters·aᵀ·dy, stored as a and b; dc = dy.
 */
#include "assay/problem.h"
#include "core/fill.h"
#include "core/parallel.h"
#include "oracles/common/blas.h"
#include "oracles/common/bound.h"
#include "oracles/common/draw.h"
#include "oracles/common/range.h"
#include "oracles/common/relate.h"
#include "oracles/common/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KEY_M, KEY_N, KEY_K, KEY_ITERS, KEY_TA, KEY_TB };
enum { A, B, C };
enum { Y };

static const assay_key keys[] = {
    {"m", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "rows of a, c and y"},
    {"n", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "columns of b, c and y"},
    {"k", ASSAY_KEY_INT, NULL, 0, INT32_MAX, "columns of a, rows of b: the summed extent"},
    {"iters", ASSAY_KEY_INT, "1", 1, 4096, "how often a·b is added to c"},
    {"ta", ASSAY_KEY_INT, "0", 0, 1, "1: a is stored transposed, [k, m]"},
    {"tb", ASSAY_KEY_INT, "0", 0, 1, "1: b is stored transposed, [n, k]"},
};

typedef struct sizes {
    int64_t m, n, k, iters;
    bool ta, tb;
    int64_t lda, ldb; /* columns of a and b as they are stored */
} sizes;

static sizes sizes_of(const assay_params *params) {
    sizes s = {.m = params->item[KEY_M].value[0],
               .n = params->item[KEY_N].value[0],
               .k = params->item[KEY_K].value[0],
               .iters = params->item[KEY_ITERS].value[0],
               .ta = params->item[KEY_TA].value[0] != 0,
               .tb = params->item[KEY_TB].value[0] != 0};
    s.lda = s.ta ? s.m : s.k;
    s.ldb = s.tb ? s.k : s.n;
    return s;
}

static assay_status legal(assay_params *params) {
    const sizes s = sizes_of(params);
    if (params->math == ASSAY_TF32 && params->dtype != ASSAY_F32)
        return assay_fail(ASSAY_ERR_USAGE,
                          "matmul_accumulate: math=tf32 is a mode of dtype=f32, not of %s; use "
                          "math=strict",
                          assay_dtype_name(params->dtype));
    /* Empty axes count as 1: padding may widen them. */
    const double m = fmax(1, (double)s.m), n = fmax(1, (double)s.n), k = fmax(1, (double)s.k);
    const double elements = fmax(m * n, fmax(m * k, k * n));
    if (!(elements < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "matmul_accumulate: a tensor would have %.3g elements; make m, n or k "
                          "smaller",
                          elements);
    return ASSAY_OK;
}

/*
 * Largest odd integers for fill=exact. With |a| <= L, |b|, |dy| <= S and |c| <= L S every sum of
 * absolute values is at most (iters max(m, n, k) + 1) L S, which must fit the accumulator and, in
 * f16, the result. Most of the room goes to a, so that it has bits which TF32 and bf16 would lose.
 * On tensor cores integers up to 2^24 are whole multiples of what alignment cuts, 2^(E - 25) <=
 * 1/2; TF32 operands have 11 bits.
 */
typedef struct limits {
    double a, small, c;
} limits;

static limits exact_limits(const assay_params *params, const sizes *s) {
    const double terms = (double)s->iters * fmax((double)s->m, fmax((double)s->n, (double)s->k));
    const double room = fill_exact_room(params->dtype) / (terms + 1);
    limits l = {.small = floor(fmin(sqrt(sqrt(room)), 127.0))};
    if (l.small >= 1)
        l.a = floor(room / l.small);
    l.c = l.a * l.small;
    if (params->math == ASSAY_TF32)
        l.a = fmin(l.a, 0x1p11 - 1);
    return l;
}

static assay_tensor_spec matrix(const char *name, const assay_params *params, int64_t rows,
                                int64_t columns, double scale, double exact_limit) {
    assay_tensor_spec spec = {.dtype = params->dtype,
                              .rank = 2,
                              .inner = 1,
                              .shape = {rows, columns},
                              .scale = scale,
                              .exact_limit = exact_limit,
                              .differentiable = true};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_status status = assay_signature_init(sig, 3, 1);
    if (status != ASSAY_OK)
        return status;
    const sizes s = sizes_of(params);
    const limits l = exact_limits(params, &s);
    const double to_unit = 1 / sqrt(fmax(1, (double)s.k)); /* a·b is then as large as c */
    sig->in[A] = matrix("a", params, s.ta ? s.k : s.m, s.lda, 1, l.a);
    sig->in[B] = matrix("b", params, s.tb ? s.n : s.k, s.ldb, to_unit, l.small);
    sig->in[C] = matrix("c", params, s.m, s.n, 1, l.c);
    sig->out[Y] = matrix("y", params, s.m, s.n, 1, l.small);
    return ASSAY_OK;
}

/* Results overflow in f16 long before fp32's sums do. Of random data they are at most some
 * deviations from 0: of c and iters products of deviation 1, or of iters sums of m. Of wide data
 * products are within 2^±5 where the exponents are a quarter. */
enum { NARROWER = 4 };

static int room_in_f16(const assay_params *params) {
    static const double deviations = 8;
    const sizes s = sizes_of(params);
    return (int)ceil(log2(deviations * (double)s.iters * (1 + sqrt((double)s.m))));
}

/* a is a factor of every term of y and of db, c one of y as well. The signs of a alternate along
 * rows and columns, those of dy along columns, so that all sums cancel. */
static assay_status dress(assay_problem *p) {
    enum { ROOM = 34, COLUMNS = 1 << 1 };
    const assay_fill fill = p->c.fill;
    const bool f16 = p->c.params.dtype == ASSAY_F16;
    const int room = f16 ? room_in_f16(&p->c.params) : ROOM;
    fill_scale_factor(fill, &p->sig.in[A], room, p->in.data[A]);
    fill_scale_factor(fill, &p->sig.in[C], room, p->in.data[C]);
    for (int32_t i = A; f16 && i <= B; ++i)
        fill_narrow(fill, &p->sig.in[i], p->sig.in[i].scale, NARROWER, p->in.data[i]);
    if (f16)
        fill_narrow(fill, &p->sig.out[Y], 1, NARROWER, p->cot.data[Y]);
    if (fill == ASSAY_FILL_CANCEL) {
        fill_alternate(&p->sig.in[A], 1, ~0u, p->in.data[A]);
        fill_alternate(&p->sig.in[B], p->sig.in[B].scale, 0, p->in.data[B]);
        fill_alternate(&p->sig.out[Y], 1, COLUMNS, p->cot.data[Y]);
    }
    if (fill == ASSAY_FILL_SINGLE) {
        const sizes s = sizes_of(&p->c.params);
        const fill_matrix a = {p->in.data[A], s.ta ? 1 : s.k, s.ta ? s.m : 1},
                          b = {p->in.data[B], s.tb ? 1 : s.n, s.tb ? s.k : 1},
                          c = {p->in.data[C], s.n, 1}, dy = {p->cot.data[Y], s.n, 1};
        fill_single(p->c.params.dtype, p->c.seed, s.iters, s.m, s.n, s.k, a, b, dy, c);
    }
    return ASSAY_OK;
}

/* ---- oracle ---- */

static void scale(double *v, int64_t count, double factor) {
    for (int64_t e = 0; e < count; ++e)
        v[e] *= factor;
}

/* a·b */
static assay_status product(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    blas_gemm(s.ta, s.tb, s.m, s.n, s.k, args->in->data[A], s.lda, args->in->data[B], s.ldb, 0.0,
              result->data[Y], s.n);
    return ASSAY_OK;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = product(args, result);
    const double iters = (double)sizes_of(args->params).iters;
    double *y = result->data[Y];
    for (int64_t e = 0; e < result->size[Y]; ++e)
        y[e] = args->in->data[C][e] + iters * y[e];
    return status;
}

/* dy·bᵀ, aᵀ·dy and dy, the first two stored as a and b are: where those are transposed, the factors
 * trade places. */
static assay_status product_gradients(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    const double *a = args->in->data[A], *b = args->in->data[B], *dy = args->cot->data[Y];
    if (s.ta)
        blas_gemm(s.tb, true, s.k, s.m, s.n, b, s.ldb, dy, s.n, 0.0, result->data[A], s.m);
    else
        blas_gemm(false, !s.tb, s.m, s.k, s.n, dy, s.n, b, s.ldb, 0.0, result->data[A], s.k);
    if (s.tb)
        blas_gemm(true, s.ta, s.n, s.k, s.m, dy, s.n, a, s.lda, 0.0, result->data[B], s.k);
    else
        blas_gemm(!s.ta, false, s.k, s.n, s.m, a, s.lda, dy, s.n, 0.0, result->data[B], s.n);
    relate_copy(result->data[C], dy, result->size[C]);
    return ASSAY_OK;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = product_gradients(args, result);
    const double iters = (double)sizes_of(args->params).iters;
    scale(result->data[A], result->size[A], iters);
    scale(result->data[B], result->size[B], iters);
    return status;
}

/* ---- plain twin: the passes as they are written ---- */

/* Where a[i, l] and b[l, j] are stored. */
static int64_t place_a(const sizes *s, int64_t i, int64_t l) {
    return s->ta ? l * s->m + i : i * s->k + l;
}

static int64_t place_b(const sizes *s, int64_t l, int64_t j) {
    return s->tb ? j * s->k + l : l * s->n + j;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            double sum = args->in->data[C][i * s.n + j];
            for (int64_t pass = 0; pass < s.iters; ++pass)
                for (int64_t l = 0; l < s.k; ++l)
                    sum +=
                        args->in->data[A][place_a(&s, i, l)] * args->in->data[B][place_b(&s, l, j)];
            result->data[Y][i * s.n + j] = sum;
        }
    return ASSAY_OK;
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const sizes s = sizes_of(args->params);
    double *da = result->data[A], *db = result->data[B];
    memset(da, 0, (size_t)result->size[A] * sizeof *da);
    memset(db, 0, (size_t)result->size[B] * sizeof *db);
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            const double dy = args->cot->data[Y][i * s.n + j];
            result->data[C][i * s.n + j] = dy;
            for (int64_t pass = 0; pass < s.iters; ++pass)
                for (int64_t l = 0; l < s.k; ++l) {
                    const int64_t at_a = place_a(&s, i, l), at_b = place_b(&s, l, j);
                    da[at_a] += dy * args->in->data[B][at_b];
                    db[at_b] += dy * args->in->data[A][at_a];
                }
        }
    return ASSAY_OK;
}

/* ---- bounds ---- */

typedef struct passes {
    const assay_rounding *r;
    double products, n;
    const double *start, *want; /* start: NULL where sums begin with 0 */
    double *bound;              /* at first M */
} passes;

static void bound_piece(void *context, int64_t first, int64_t last) {
    const passes *p = context;
    const double n = p->n;
    for (int64_t e = first; e < last; ++e) {
        const double m = p->bound[e];
        const double running = n * (p->start ? fabs(p->start[e]) : 0) + n * (n + 1) / 2 * m;
        const double error = assay_product_error(p->r, p->products, n, running, m);
        p->bound[e] = assay_bound_element(p->r, 1, n * (p->products + 1), error, p->want[e]);
    }
}

/*
 * Replaces the M of a product of that many terms in bounds->element i by bounds. In pass p no
 * partial sum exceeds |start| + p·M, so that bound.h's M_1 + … + M_n is n·|start| + n(n+1)/2·M.
 */
static void bound_passes(const assay_oracle_args *args, const assay_rounding *r, int64_t terms,
                         const double *start, const char *term, const assay_arrays *want, int32_t i,
                         assay_bounds *bounds) {
    const double products = (double)terms, n = (double)sizes_of(args->params).iters;
    passes p = {r, products, n, start, want->data[i], bounds->element.data[i]};
    assay_parallel(want->size[i], bound_piece, &p);
    assay_why_product(r, products, n, term, start ? "|c| + p*M" : "p*M", bounds->why[i]);
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    const assay_status status = assay_magnitudes(args, r, product, &bounds->element);
    if (status == ASSAY_OK)
        bound_passes(args, r, sizes_of(args->params).k, args->in->data[C], "a_il b_lj", want, Y,
                     bounds);
    return status;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    const sizes s = sizes_of(args->params);
    const assay_status status = assay_magnitudes(args, r, product_gradients, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    bound_passes(args, r, s.n, NULL, "dy_ij b_lj", want, A, bounds);
    bound_passes(args, r, s.m, NULL, "a_il dy_ij", want, B, bounds);
    memset(bounds->element.data[C], 0, (size_t)want->size[C] * sizeof(double));
    snprintf(bounds->why[C], ASSAY_WHY, "a copy of dy: no rounding is allowed");
    return ASSAY_OK;
}

/* ---- random cases ---- */

static void draw(assay_rng *rng, double budget, assay_params *params) {
    for (int32_t key = 0; key < params->count; ++key)
        params->item[key].count = 1;
    const bool repeated = assay_rng_between(rng, 0, 3) == 0;
    params->item[KEY_ITERS].value[0] = repeated ? assay_rng_between(rng, 2, 5) : 1;
    params->item[KEY_TA].value[0] = assay_rng_between(rng, 0, 1);
    params->item[KEY_TB].value[0] = assay_rng_between(rng, 0, 1);
    const bool tf32 = assay_rng_between(rng, 0, 2) == 0;
    if (tf32 && params->dtype == ASSAY_F32)
        params->math = ASSAY_TF32;

    /* Whichever axis is drawn first may be the longest. */
    int64_t room = (int64_t)fmin(budget / (double)params->item[KEY_ITERS].value[0], INT32_MAX);
    const int64_t first = assay_rng_between(rng, 0, 2);
    for (int64_t i = 0; i < 3; ++i) {
        assay_param *extent = &params->item[KEY_M + (first + i) % 3];
        extent->value[0] = draw_extent(rng, room);
        room /= extent->value[0];
    }
}

/* ---- relations ---- */

static assay_status split(const assay_problem *base, int32_t i, assay_problem *derived) {
    relate_copy_data(base, derived);
    relate_keep_part(&derived->in, A, i);
    relate_keep_part(&derived->in, C, i);
    return ASSAY_OK;
}

static assay_status add(const assay_problem *base, const assay_problem *derived,
                        const assay_results *results, assay_results *want) {
    const assay_status status = relate_add(base, derived, results, want); /* leaves da as it is */
    relate_copy(want->grad.data[C], results[0].grad.data[C], want->grad.size[C]);
    return status;
}

static assay_status scale_all(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    relate_scale_data(base, RELATE_OUTPUT_POWER, derived);
    return ASSAY_OK;
}

static assay_status unscale_all(const assay_problem *base, const assay_problem *derived,
                                const assay_results *results, assay_results *want) {
    (void)base;
    (void)derived;
    relate_unscale_results(results, RELATE_OUTPUT_POWER, want);
    return ASSAY_OK;
}

/* The axis of a that is m. */
static int32_t row_axis(const assay_problem *p) {
    return sizes_of(&p->c.params).ta ? 1 : 0;
}

static assay_status reverse_rows(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    const assay_tensor_spec *in = base->sig.in;
    relate_reverse_axis(&in[A], row_axis(base), base->in.data[A], derived->in.data[A]);
    relate_copy(derived->in.data[B], base->in.data[B], base->in.size[B]);
    relate_reverse_axis(&in[C], 0, base->in.data[C], derived->in.data[C]);
    relate_reverse_axis(&base->sig.out[Y], 0, base->cot.data[Y], derived->cot.data[Y]);
    return ASSAY_OK;
}

static assay_status unreverse_rows(const assay_problem *base, const assay_problem *derived,
                                   const assay_results *results, assay_results *want) {
    (void)derived;
    const assay_tensor_spec *in = base->sig.in;
    const assay_arrays *grad = &results->grad;
    relate_reverse_axis(&base->sig.out[Y], 0, results->out.data[Y], want->out.data[Y]);
    relate_reverse_axis(&in[A], row_axis(base), grad->data[A], want->grad.data[A]);
    relate_copy(want->grad.data[B], grad->data[B], grad->size[B]);
    relate_reverse_axis(&in[C], 0, grad->data[C], want->grad.data[C]);
    return ASSAY_OK;
}

static bool is_square_b(const assay_case *c) {
    const sizes s = sizes_of(&c->params);
    return s.k == s.n;
}

/* Integers of up to 4 bits: iters of them are added without rounding, in any math mode. */
static void make_small_integers(double *v, int64_t count) {
    for (int64_t e = 0; e < count; ++e)
        v[e] = rint(fmod(4 * v[e], 9));
}

static assay_status make_identity(assay_problem *base) {
    const int64_t n = base->sig.in[B].shape[0];
    memset(base->in.data[B], 0, (size_t)base->in.size[B] * sizeof(double));
    for (int64_t i = 0; i < n; ++i)
        base->in.data[B][i * n + i] = 1;
    make_small_integers(base->in.data[A], base->in.size[A]);
    make_small_integers(base->in.data[C], base->in.size[C]);
    make_small_integers(base->cot.data[Y], base->cot.size[Y]);
    return ASSAY_OK;
}

static assay_status pass_through(const assay_problem *base, const assay_problem *derived,
                                 const assay_results *results, assay_results *want) {
    (void)derived;
    (void)results;
    const sizes s = sizes_of(&base->c.params);
    const assay_dtype dtype = base->c.params.dtype;
    const double iters = (double)s.iters;
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            const int64_t e = i * s.n + j, at_a = place_a(&s, i, j);
            const double dy = base->cot.data[Y][e];
            want->out.data[Y][e] =
                assay_dtype_round(dtype, base->in.data[C][e] + iters * base->in.data[A][at_a]);
            want->grad.data[A][at_a] = assay_dtype_round(dtype, iters * dy);
            want->grad.data[C][e] = dy;
        }
    assay_arrays_drop(&want->grad, B);
    return ASSAY_OK;
}

static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    for (int32_t key = KEY_M; key <= KEY_K; ++key)
        ++derived->params.item[key].value[0];
    return ASSAY_OK;
}

/* A has the rows of y, B its columns. dc is a copy of dy, which the bounds hold to the last bit. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    const sizes s = sizes_of(&base->c.params);
    const bool transposed = i == A ? s.ta : s.tb;
    return (relate_link){
        .in = i, .in_axis = transposed ? 1 - i : i, .out_axis = i, .added = 1u << C};
}
RELATE_LINKS(link_of, 2);

static const assay_relation relations[] = {
    RELATE_BATCH_SPLIT,
    RELATE_ADJOINT,
    {.name = "linearity",
     .why = "a = aa + ab and c = ca + cb: y and db are the sums of theirs, da and dc stay",
     .n_derived = 2,
     .derive = split,
     .predict = add},
    {.name = "power_of_two_scaling",
     .why = "scaling a, b, c and dy by powers of two scales every result by one, bit for bit",
     .exact = true,
     .applies = relate_keeps_bits,
     .n_derived = 1,
     .derive = scale_all,
     .predict = unscale_all},
    {.name = "row_permutation",
     .why = "reversing the rows of a, c and dy reverses those of y, da and dc; db stays",
     .n_derived = 1,
     .derive = reverse_rows,
     .predict = unreverse_rows},
    {.name = "identity",
     .why = "b = I and small integers: y = c + iters a and da = iters dy, bit for bit",
     .exact = true,
     .applies = is_square_b,
     .prepare = make_identity,
     .predict = pass_through},
    RELATE_PADDING(widen_case, "every extent one larger, the new places zero, changes nothing"),
};

/* ---- work ---- */

/* The published programs multiply `iters` times; once is enough, and backward does no other. */
static void count_work(const assay_params *params, const assay_signature *sig, assay_stage stage,
                       assay_work *work) {
    const sizes s = sizes_of(params);
    const double product = 2 * (double)s.m * (double)s.n * (double)s.k;
    work->least = stage == ASSAY_FORWARD ? product : 2 * product;
    work->flops =
        stage == ASSAY_FORWARD ? product * (double)params->item[KEY_ITERS].value[0] : 2 * product;
    if (stage == ASSAY_BACKWARD)
        work->read -= work_bytes(&sig->in[C]);
}

/* Three products, each of whose tiles goes through its terms in steps. */
static double blocks(const assay_params *params) {
    enum { TILE = 32 };
    static const double products = 3;
    /* In fp64 the tiles for Hopper, of 128 x 64 and more, are multiplied in full where one of the
     * extents is small. */
    const double step = params->dtype == ASSAY_F64 ? 1500 : 500;
    const sizes s = sizes_of(params);
    return step * products * ceil((double)s.m / TILE) * ceil((double)s.n / TILE) *
           ceil((double)s.k / TILE);
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "m=64 n=64 k=64 dtype=f32,f64,bf16,f16"},
    {ASSAY_SMOKE, "m=64 n=48 k=48 dtype=f32 math=tf32 iters=1,3"},
    {ASSAY_SMOKE, "m=33 n=17 k=41 ta=0,1 tb=0,1 dtype=f32,bf16 pad=3 misalign=1"},
    {ASSAY_SMOKE, "m=19 n=37 k=29 ta=0,1 tb=0,1 dtype=f32 math=tf32 pad=1 misalign=5 sched=warp"},
    {ASSAY_SMOKE, "m=17 n=23 k=31 iters=3 ta=1 dtype=f64 pad=1 misalign=1 sched=reverse"},
    {ASSAY_SMOKE, "m=31 n=47 k=47 iters=3 tb=1 dtype=f32,bf16,f16 fill=uniform"},
    {ASSAY_SMOKE, "m=40 n=24 k=10 iters=1,3 dtype=f32,f64,bf16,f16 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "m=37 n=24 k=19 tb=1 dtype=f32 math=tf32 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "m=5 n=7 k=3 dtype=f32 math=strict,tf32 fill=positive"},
    {ASSAY_SMOKE, "m=7 n=9 k=5 iters=1,3 dtype=f32,f64,bf16 fill=inf,nan seed=0,1,2"},
    {ASSAY_SMOKE, "m=7 n=9 k=5 dtype=f32 math=tf32 fill=inf,nan seed=0,1,2"},
    {ASSAY_SMOKE, "m=10 n=13 k=19 dtype=f32,f64,bf16 fill=single seed=0,3"},
    {ASSAY_CI, "m=9 n=13 k=17 ta=0,1 tb=0,1 iters=1,3 dtype=f32,f64,bf16 fill=single seed=0:5"},
    {ASSAY_CI, "m=40 n=33 k=37 ta=1 tb=1 dtype=f32,bf16 fill=inf,nan seed=0:3:1"},
    /* in a[0, 1500] and b[1500, 0]: beyond the first k that v3_bf16x6 searches in a block */
    {ASSAY_CI, "m=9 n=11 k=2100 tb=1 dtype=f32 fill=inf seed=96000,96001"},
    /* more than a tile of 128: what is for large products, in small */
    {ASSAY_SMOKE, "m=133 n=21 k=35 ta=0,1 tb=0,1 dtype=f32,bf16 pad=1"},
    {ASSAY_SMOKE, "m=21 n=133 k=35 dtype=f32,f64"},
    {ASSAY_SMOKE, "m=21 n=133 k=35 dtype=f32 math=tf32"},
    {ASSAY_SMOKE, "m=11 n=13 k=18 iters=2 dtype=f32 fill=cancel,denormal,mixed"},
    /* f16: results that overflow, and that are subnormal */
    {ASSAY_SMOKE, "m=21 n=24 k=34 dtype=f16 operand=1,3 exponent=15"},
    {ASSAY_SMOKE, "m=21 n=24 k=34 ta=1 dtype=f16 fill=denormal"},
    {ASSAY_CI, "m=40 n=24 k=34 tb=1 dtype=f16 fill=inf,nan seed=0,1"},
    {ASSAY_CI, "m=15,16,17,63,65 n=31,32,33 k=1,7,16,33 dtype=f32"},
    /* one tensor misaligned among aligned ones */
    {ASSAY_CI, "m=33 n=24 k=40 ta=0,1 dtype=f32,bf16 pad=8 misalign=8:15:1"},
    {ASSAY_CI, "m=15,17,63,65 n=31,33 k=8,9,31 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=15,17,63,65 n=31,33 k=15,17,33 dtype=bf16"},
    {ASSAY_CI, "m=127,128,129 n=127,129 k=65 dtype=f32,bf16 sched=random"},
    /* v3_hopper in clusters: tiles of 128, of 320 columns, shares of four and three units */
    {ASSAY_CI, "m=264 n=392 k=8 ta=0,1 dtype=bf16"},
    {ASSAY_CI, "m=136 n=180 k=392 ta=0,1 tb=0,1 dtype=bf16"},
    {ASSAY_CI, "m=136 n=392 k=136 ta=0,1 tb=0,1 dtype=bf16"},
    {ASSAY_CI, "m=136 n=392 k=136 dtype=f16"},
    {ASSAY_CI, "m=264 n=520 k=72 ta=0,1 tb=1 dtype=bf16 sched=random"}, /* several tiles */
    {ASSAY_CI, "m=136 n=40,120,180 k=72 dtype=f16"},
    /* and in single blocks: shares, where a cluster would have a block too many; where lines are
     * whole lines of L2, tiles of 64, 192, 128 and 256 columns */
    {ASSAY_CI, "m=24 n=696 k=72 ta=0,1 tb=0,1 dtype=bf16"},
    {ASSAY_CI, "m=320 n=64,192,256 k=64 tb=0,1 dtype=bf16"},
    {ASSAY_CI, "m=256 n=256 k=64 tb=0,1 dtype=bf16"},
    {ASSAY_CI, "m=131 n=389 k=129 dtype=f64,bf16 pad=1 sched=reverse"},
    /* the same of v3_hopper in TF32: each operand held, turned or copied */
    {ASSAY_CI, "m=264 n=392 k=40 ta=0,1 tb=0,1 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=136 n=392 k=136 ta=0,1 tb=0,1 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=24 n=696 k=72 ta=0,1 tb=0,1 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=300 n=40 k=520 ta=0,1 tb=0,1 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=136 n=180 k=392 iters=3 ta=0,1 tb=0,1 dtype=f32 math=tf32 pad=4"},
    {ASSAY_CI, "m=131 n=389 k=129 ta=0,1 tb=0,1 dtype=f32 math=tf32 pad=1 sched=reverse"},
    {ASSAY_CI, "m=33 n=24 k=40 ta=0,1 dtype=f32 math=tf32 pad=8 misalign=8:15:1"},
    /* tiles of 112, 128 and 64 columns of v3_hopper */
    {ASSAY_CI, "m=136 n=220,250,280 k=148 iters=3 ta=0,1 tb=0,1 dtype=f64"},
    {ASSAY_CI, "m=140 n=133 k=40 ta=0,1 tb=0,1 dtype=f64 pad=8"},
    {ASSAY_CI, "m=33 n=24 k=40 ta=0,1 tb=0,1 dtype=f64 pad=8 misalign=8:15:1"},
    {ASSAY_CI, "m=1409 n=1409 k=18 dtype=f64"}, /* more of 128 x 128 than a GPU has blocks */
    {ASSAY_CI, "m=129 n=127 k=129 ta=0,1 tb=0,1 dtype=f32 math=tf32 sched=warp"},
    {ASSAY_CI, "m=1 n=1,129 k=1,513 ta=0,1 dtype=f32,f64,bf16"},
    {ASSAY_CI, "m=129 n=1 k=1,300 tb=0,1 dtype=f32,f64,bf16 fill=positive"},
    {ASSAY_CI, "m=1 n=1 k=1,1000 dtype=f32 math=tf32"},
    {ASSAY_CI, "m=45 n=61 k=77 iters=5 ta=0,1 tb=0,1 dtype=f32,f64,bf16 pad=1 fill=uniform seed=2"},
    {ASSAY_CI, "m=64 n=96 k=128 dtype=f32 math=strict,tf32 fill=positive,exact seed=3"},
    {ASSAY_CI, "m=64 n=96 k=128 dtype=f64,bf16 fill=positive,exact seed=3"},
    {ASSAY_CI, "m=75 n=105 k=131 dtype=f32,f64"}, /* all warps of a tile, and a sum settled */
    {ASSAY_CI, "m=3 n=5 k=7 iters=1000 dtype=f32,f64,bf16"},
    {ASSAY_CI, "m=3 n=5 k=7 iters=2049 dtype=f32 fill=exact"}, /* no TF32 number */
    {ASSAY_CI, "m=1030 n=130 k=3 dtype=f32"},                  /* 9 x 2 tiles of 128 */
    {ASSAY_CI, "m=21 n=19 k=34 iters=2 dtype=f32,f64,bf16,f16 "
               "fill=cancel,wide,denormal,huge,zeros"},
    {ASSAY_CI, "m=21 n=19 k=34 ta=1 dtype=f32,f64,bf16,f16 fill=mixed"},
    {ASSAY_CI, "m=21 n=19 k=34 dtype=f32 math=tf32 fill=wide,huge,zeros"},
    /* equal rows, equal elements */
    {ASSAY_CI, "m=11 n=13 k=9 dtype=f32 fill=rows,repeat,constant seed=2"},
    /* A tile of 128 x 112 for each of 132 multiprocessors, more than twice around its stages. */
    {ASSAY_NIGHTLY, "m=1408 n=1344 k=300 dtype=f64"},
    /* A tile of 128 for each multiprocessor; tests/sim/v3_matmul_accumulate.cu has such tiles. */
    {ASSAY_NIGHTLY, "m=1409 n=1409 k=9 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "m=2056 n=3080 k=8 tb=1 dtype=bf16"}, /* a and b copied */
    {ASSAY_NIGHTLY, "m=1409 n=1409 k=130 dtype=f64"},
    {ASSAY_NIGHTLY, "m=1300 n=150 k=9 dtype=f32,bf16"},
    {ASSAY_NIGHTLY, "m=256 n=256 k=256 iters=50 dtype=f32"},
    {ASSAY_NIGHTLY, "m=1024 n=1024 k=1024 dtype=f32 math=strict,tf32"},
    {ASSAY_NIGHTLY, "m=1024 n=1024 k=1024 dtype=f64,bf16,f16"},
    {ASSAY_NIGHTLY, "m=31 n=33 k=20000 dtype=f32,f64,bf16 fill=normal,positive"},
    /* each operand through the whole range of its dtype */
    {ASSAY_NIGHTLY, "m=5 n=7 k=33 dtype=f32,bf16 operand=0:3 " RANGE_F32},
    {ASSAY_NIGHTLY, "m=5 n=7 k=33 dtype=f64 operand=0:3 " RANGE_F64},
    {ASSAY_NIGHTLY, "m=5 n=7 k=33 dtype=f16 operand=0:3 " RANGE_F16},
    {ASSAY_EDGE, "m=0 n=5,0 k=3,0 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "m=5 n=0 k=3 ta=0,1 tb=0,1 dtype=f32,bf16"},
    /* y = c + 0, but a and b are empty, and so are their gradients */
    {ASSAY_EDGE, "m=5,33 n=7 k=0 iters=1,3 ta=0,1 dtype=f32,f64,bf16"},
    {ASSAY_EDGE, "m=5,0 n=7 k=0 tb=0,1 dtype=f32 math=tf32"},
    {ASSAY_BENCH, "m=256 n=256 k=256 iters=10,25,50,100,200 dtype=f32"},
    {ASSAY_BENCH, "m=64 n=64 k=64 iters=50 dtype=f32"},
    {ASSAY_BENCH, "m=128 n=128 k=128 iters=50 dtype=f32"},
    {ASSAY_BENCH, "m=512 n=512 k=512 iters=50 dtype=f32"},
    {ASSAY_BENCH, "m=1024 n=1024 k=1024 iters=50 dtype=f32"},
    {ASSAY_BENCH, "m=4096 n=4096 k=4096 dtype=f64"},
    {ASSAY_BENCH, "m=8192 n=8192 k=8192 dtype=f32 math=strict,tf32"},
    {ASSAY_BENCH, "m=8192 n=8192 k=8192 dtype=bf16,f16"},
};

/* ---- where the definition ends ---- */

static assay_status outside(const assay_oracle_args *args, const assay_rounding *r,
                            assay_bounds *out, assay_bounds *grad) {
    const sizes s = sizes_of(args->params);
    const double a = range_largest(args->in, A), b = range_largest(args->in, B),
                 c = range_largest(args->in, C), dy = range_largest(args->cot, Y);
    const double n = (double)s.iters;
    range_hold(r, c + n * range_of_sum(r, (double)s.k, a * b), "c and sums of a_il b_lj", out, Y);
    range_hold(r, n * range_of_sum(r, (double)s.n, dy * b), "a sum of dy_ij b_lj", grad, A);
    range_hold(r, n * range_of_sum(r, (double)s.m, a * dy), "a sum of a_il dy_ij", grad, B);
    return ASSAY_OK;
}

const assay_op assay_op_matmul_accumulate = {
    .name = "matmul_accumulate",
    .forward_formula = "y = c + iters a b",
    .backward_formula = "da = iters dy b^T, db = iters a^T dy, dc = dy",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .by_rows = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64) |
              ASSAY_DTYPE_BIT(ASSAY_BF16) | ASSAY_DTYPE_BIT(ASSAY_F16),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT) | ASSAY_MATH_BIT(ASSAY_TF32),
    .fills = FILL_FAMILIES | ASSAY_FILL_BIT(ASSAY_FILL_SINGLE),
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
