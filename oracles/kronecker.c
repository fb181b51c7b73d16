/*
 * kronecker: x[b, p_k…p_1], W_m[p_m, q_m] -> y[b, q_k…q_1] = x·(W_k ⊗ … ⊗ W_1) on the flattened
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
#include "assay/problem.h"
#include "oracles/blas.h"
#include "oracles/bound.h"
#include "oracles/draw.h"
#include "oracles/fill.h"
#include "oracles/relate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B, F, Q, LAYERS }; /* keys */
enum { X, FIRST_W };      /* inputs */
enum { Y };
enum { MAX_FACTORS = 8, MAX_LAYERS = 16 };

static const assay_key keys[] = {
    {"b", ASSAY_KEY_INT, NULL, 0, INT64_C(1) << 40, "batch: rows of the state"},
    {"f", ASSAY_KEY_LIST, NULL, 1, INT32_MAX, "input extents p_k x ... x p_1, 1 to 8 of them"},
    {"q", ASSAY_KEY_LIST, "", 1, INT32_MAX, "output extents q_k x ... x q_1 (default: f)"},
    {"layers", ASSAY_KEY_INT, "1", 1, MAX_LAYERS,
     "how often it is applied; more than 1 needs q = f"},
};

static assay_status legal(assay_params *params) {
    const assay_param *f = &params->item[F];
    const assay_param *q = &params->item[Q];
    if (f->count < 1 || f->count > MAX_FACTORS)
        return assay_fail(ASSAY_ERR_USAGE, "kronecker: f has %d factors; give 1 to %d", f->count,
                          MAX_FACTORS);
    if (q->count != f->count)
        return assay_fail(ASSAY_ERR_USAGE, "kronecker: q has %d extents and f has %d; give as many",
                          q->count, f->count);
    const bool square = memcmp(f->value, q->value, (size_t)f->count * sizeof *f->value) == 0;
    if (params->item[LAYERS].value[0] > 1 && !square)
        return assay_fail(ASSAY_ERR_USAGE, "kronecker: layers=%lld needs q equal to f",
                          (long long)params->item[LAYERS].value[0]);
    double state = fmax(1, (double)params->item[B].value[0]);
    for (int32_t a = 0; a < f->count; ++a)
        state *= fmax((double)f->value[a], (double)q->value[a]);
    if (!(state < 0x1p60))
        return assay_fail(ASSAY_ERR_USAGE,
                          "kronecker: a stage would have %.3g elements; make b, f or q smaller",
                          state);
    return ASSAY_OK;
}

/* One stage: in[left, p, right] -> out[left, q, right]. */
typedef struct stage {
    int32_t w; /* index of its factor among the inputs */
    int64_t left, p, q, right;
} stage;

/* The stages of all layers in the order of their application; returns how many. */
static int32_t stages_of(const assay_params *params, stage stages[MAX_LAYERS * MAX_FACTORS]) {
    const assay_param *f = &params->item[F], *q = &params->item[Q];
    const int32_t k = f->count;
    int32_t count = 0;
    for (int32_t layer = 0; layer < params->item[LAYERS].value[0]; ++layer) {
        for (int32_t a = k - 1; a >= 0; --a) {
            stage s = {.w = FIRST_W + layer * k + a,
                       .left = params->item[B].value[0],
                       .p = f->value[a],
                       .q = q->value[a],
                       .right = 1};
            for (int32_t i = 0; i < a; ++i)
                s.left *= f->value[i];
            for (int32_t i = a + 1; i < k; ++i)
                s.right *= q->value[i];
            stages[count++] = s;
        }
    }
    return count;
}

/* ---- signature ---- */

/*
 * fill=exact: with |x| <= X, |dy| <= X and |w| <= S, every sum of absolute values is at most
 * b · (product of max(p, q) over all stages) · X² · S^stages, which must fit the accumulator.
 */
static void exact_limits(const assay_params *params, double *state, double *factor) {
    stage stages[MAX_LAYERS * MAX_FACTORS];
    const int32_t count = stages_of(params, stages);
    double terms = fmax(1.0, (double)params->item[B].value[0]);
    for (int32_t i = 0; i < count; ++i)
        terms *= fmax((double)stages[i].p, (double)stages[i].q);
    const double room = ldexp(1.0, params->dtype == ASSAY_F64 ? 53 : 24) / terms;
    *factor = floor(pow(room, 1.0 / (2.0 * (count + 2))));
    *state = floor(sqrt(room / pow(*factor, count)));
    if (!(*factor >= 1))
        *state = 0;
}

static void state_spec(const char *name, const assay_params *params, const assay_param *extents,
                       double limit, assay_tensor_spec *spec) {
    *spec = (assay_tensor_spec){.dtype = params->dtype,
                                .rank = extents->count + 1,
                                .inner = extents->count,
                                .shape = {params->item[B].value[0]},
                                .scale = 1.0,
                                .exact_limit = limit,
                                .differentiable = true};
    snprintf(spec->name, sizeof spec->name, "%s", name);
    for (int32_t a = 0; a < extents->count; ++a)
        spec->shape[a + 1] = extents->value[a];
}

static assay_status signature(const assay_params *params, assay_signature *sig) {
    const assay_param *f = &params->item[F], *q = &params->item[Q];
    const int32_t k = f->count, layers = (int32_t)params->item[LAYERS].value[0];
    const assay_status status = assay_signature_init(sig, FIRST_W + layers * k, 1);
    if (status != ASSAY_OK)
        return status;
    double state_limit, factor_limit;
    exact_limits(params, &state_limit, &factor_limit);
    state_spec("x", params, f, state_limit, &sig->in[X]);
    state_spec("y", params, q, state_limit, &sig->out[Y]);
    for (int32_t layer = 0; layer < layers; ++layer) {
        for (int32_t a = 0; a < k; ++a) {
            assay_tensor_spec *w = &sig->in[FIRST_W + layer * k + a];
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
    const int32_t last = p->sig.out[Y].rank - 1, stages = p->sig.n_in - FIRST_W;
    fill_scale_factor(fill, &p->sig.in[X], ROOM, p->in.data[X]);
    for (int32_t w = FIRST_W; w < p->sig.n_in; ++w)
        fill_narrow(fill, &p->sig.in[w], p->sig.in[w].scale, stages, p->in.data[w]);
    if (fill != ASSAY_FILL_CANCEL)
        return ASSAY_OK;
    fill_alternate(&p->sig.in[X], 1, ~0u, p->in.data[X]);
    fill_alternate(&p->sig.out[Y], 1, 1u << last, p->cot.data[Y]);
    for (int32_t w = FIRST_W; w < p->sig.n_in; ++w)
        fill_alternate(&p->sig.in[w], p->sig.in[w].scale, 0, p->in.data[w]);
    return ASSAY_OK;
}

/* ---- oracle: every stage a product, through CBLAS ---- */

static int64_t input_size(const stage *s) {
    return s->left * s->p * s->right;
}

static int64_t output_size(const stage *s) {
    return s->left * s->q * s->right;
}

/* out[l] (q × right) = Wᵀ · in[l] (p × right); with right = 1 all l in one product. */
static void apply(const stage *s, const double *w, const double *in, double *out) {
    if (s->right == 1) {
        blas_gemm(false, false, s->left, s->q, s->p, in, s->p, w, s->q, 0.0, out, s->q);
        return;
    }
    for (int64_t l = 0; l < s->left; ++l)
        blas_gemm(true, false, s->q, s->right, s->p, w, s->q, in + l * s->p * s->right, s->right,
                  0.0, out + l * s->q * s->right, s->right);
}

/* The cotangent of a stage's input from that of its output. */
static void apply_transposed(const stage *s, const double *w, const double *dout, double *din) {
    if (s->right == 1) {
        blas_gemm(false, true, s->left, s->p, s->q, dout, s->q, w, s->q, 0.0, din, s->p);
        return;
    }
    for (int64_t l = 0; l < s->left; ++l)
        blas_gemm(false, false, s->p, s->right, s->q, w, s->q, dout + l * s->q * s->right, s->right,
                  0.0, din + l * s->p * s->right, s->right);
}

/* dW[p, q] = sum over l and right of in[l, p, right] dout[l, q, right]. */
static void factor_gradient(const stage *s, const double *in, const double *dout, double *dw) {
    if (s->right == 1) {
        blas_gemm(true, false, s->p, s->q, s->left, in, s->p, dout, s->q, 0.0, dw, s->q);
        return;
    }
    memset(dw, 0, (size_t)(s->p * s->q) * sizeof *dw);
    for (int64_t l = 0; l < s->left; ++l)
        blas_gemm(false, true, s->p, s->q, s->right, in + l * s->p * s->right, s->right,
                  dout + l * s->q * s->right, s->right, 1.0, dw, s->q);
}

/* states->data[i] is the input of stage i, data[count] the output of the last one. */
static assay_status run_stages(const assay_oracle_args *args, const stage *stages, int32_t count,
                               assay_arrays *states) {
    assay_status status = assay_arrays_init(states, count + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(states, 0, input_size(&stages[0]));
    if (status != ASSAY_OK)
        return status;
    memcpy(states->data[0], args->in->data[X], (size_t)states->size[0] * sizeof(double));
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        status = assay_arrays_add(states, i + 1, output_size(&stages[i]));
        if (status == ASSAY_OK)
            apply(&stages[i], args->in->data[stages[i].w], states->data[i], states->data[i + 1]);
    }
    return status;
}

static assay_status forward(const assay_oracle_args *args, assay_arrays *result) {
    stage stages[MAX_LAYERS * MAX_FACTORS];
    const int32_t count = stages_of(args->params, stages);
    assay_arrays states = {0};
    const assay_status status = run_stages(args, stages, count, &states);
    if (status == ASSAY_OK)
        memcpy(result->data[Y], states.data[count], (size_t)states.size[count] * sizeof(double));
    assay_arrays_clear(&states);
    return status;
}

static assay_status backward(const assay_oracle_args *args, assay_arrays *result) {
    stage stages[MAX_LAYERS * MAX_FACTORS];
    const int32_t count = stages_of(args->params, stages);
    assay_arrays states = {0}, cots = {0};
    assay_status status = run_stages(args, stages, count, &states);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&cots, count + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&cots, count, states.size[count]);
    if (status != ASSAY_OK)
        goto done;
    memcpy(cots.data[count], args->cot->data[Y], (size_t)cots.size[count] * sizeof(double));
    for (int32_t i = count - 1; i >= 0; --i) {
        const stage *s = &stages[i];
        factor_gradient(s, states.data[i], cots.data[i + 1], result->data[s->w]);
        status = assay_arrays_add(&cots, i, states.size[i]);
        if (status != ASSAY_OK)
            goto done;
        apply_transposed(s, args->in->data[s->w], cots.data[i + 1], cots.data[i]);
        assay_arrays_drop(&cots, i + 1);
    }
    memcpy(result->data[X], cots.data[0], (size_t)cots.size[0] * sizeof(double));
done:
    assay_arrays_clear(&states);
    assay_arrays_clear(&cots);
    return status;
}

/* ---- plain twin: the Kronecker product written out, one layer after the other ---- */

/* Digit of mode `axis` of a flat index over `extents`. */
static int64_t digit(const assay_param *extents, int32_t axis, int64_t flat) {
    for (int32_t a = extents->count - 1; a > axis; --a)
        flat /= extents->value[a];
    return flat % extents->value[axis];
}

static int64_t product(const assay_param *extents) {
    int64_t n = 1;
    for (int32_t a = 0; a < extents->count; ++a)
        n *= extents->value[a];
    return n;
}

/* (W_k ⊗ … ⊗ W_1)[i, j] of a layer, without the factor of axis `skip` (-1: with all). */
static double kronecker_entry(const assay_oracle_args *args, int64_t layer, int64_t i, int64_t j,
                              int32_t skip) {
    const assay_param *f = &args->params->item[F], *q = &args->params->item[Q];
    double entry = 1;
    for (int32_t a = 0; a < f->count; ++a)
        if (a != skip)
            entry *= args->in->data[FIRST_W + layer * f->count + a]
                                   [digit(f, a, i) * q->value[a] + digit(q, a, j)];
    return entry;
}

/* The inputs of all layers, and the output at [layers]. */
static assay_status plain_states(const assay_oracle_args *args, assay_arrays *states) {
    const int64_t layers = args->params->item[LAYERS].value[0], b = args->params->item[B].value[0];
    const int64_t p = product(&args->params->item[F]), q = product(&args->params->item[Q]);
    assay_status status = assay_arrays_init(states, (int32_t)layers + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(states, 0, b * p);
    if (status != ASSAY_OK)
        return status;
    memcpy(states->data[0], args->in->data[X], (size_t)(b * p) * sizeof(double));
    for (int32_t layer = 0; layer < layers; ++layer) {
        status = assay_arrays_add(states, layer + 1, b * q); /* zeroed */
        if (status != ASSAY_OK)
            return status;
        for (int64_t r = 0; r < b; ++r)
            for (int64_t i = 0; i < p; ++i)
                for (int64_t j = 0; j < q; ++j)
                    states->data[layer + 1][r * q + j] +=
                        states->data[layer][r * p + i] * kronecker_entry(args, layer, i, j, -1);
    }
    return ASSAY_OK;
}

static assay_status forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    assay_arrays states = {0};
    const assay_status status = plain_states(args, &states);
    const int64_t layers = args->params->item[LAYERS].value[0];
    if (status == ASSAY_OK)
        memcpy(result->data[Y], states.data[layers], (size_t)states.size[layers] * sizeof(double));
    assay_arrays_clear(&states);
    return status;
}

/* One layer: din from dout, and the gradients of its factors; in and din are [b, p]. */
static void plain_layer_backward(const assay_oracle_args *args, int64_t layer, const double *in,
                                 const double *dout, double *din, assay_arrays *result) {
    const assay_param *f = &args->params->item[F], *qs = &args->params->item[Q];
    const int64_t b = args->params->item[B].value[0], p = product(f), q = product(qs);
    memset(din, 0, (size_t)(b * p) * sizeof *din);
    for (int32_t a = 0; a < f->count; ++a)
        memset(result->data[FIRST_W + layer * f->count + a], 0,
               (size_t)(f->value[a] * qs->value[a]) * sizeof(double));
    for (int64_t r = 0; r < b; ++r)
        for (int64_t i = 0; i < p; ++i)
            for (int64_t j = 0; j < q; ++j) {
                din[r * p + i] += dout[r * q + j] * kronecker_entry(args, layer, i, j, -1);
                for (int32_t a = 0; a < f->count; ++a)
                    result->data[FIRST_W + layer * f->count + a]
                                [digit(f, a, i) * qs->value[a] + digit(qs, a, j)] +=
                        in[r * p + i] * dout[r * q + j] * kronecker_entry(args, layer, i, j, a);
            }
}

static assay_status backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t layers = args->params->item[LAYERS].value[0];
    assay_arrays states = {0}, cots = {0};
    assay_status status = plain_states(args, &states);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&cots, (int32_t)layers + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&cots, (int32_t)layers, states.size[layers]);
    if (status == ASSAY_OK)
        memcpy(cots.data[layers], args->cot->data[Y], (size_t)cots.size[layers] * sizeof(double));
    for (int32_t layer = (int32_t)layers - 1; status == ASSAY_OK && layer >= 0; --layer) {
        status = assay_arrays_add(&cots, layer, states.size[layer]);
        if (status == ASSAY_OK)
            plain_layer_backward(args, layer, states.data[layer], cots.data[layer + 1],
                                 cots.data[layer], result);
    }
    if (status == ASSAY_OK)
        memcpy(result->data[X], cots.data[0], (size_t)cots.size[0] * sizeof(double));
    assay_arrays_clear(&states);
    assay_arrays_clear(&cots);
    return status;
}

/* ---- bounds ---- */

/*
 * Stages compound: a result that passed stages of depths h_1, h_2, … is off by at most
 * (Π (1 + phi(h_i)) - 1)·G. A layer's stages commute, so a kernel may meet another stage of the
 * same layer before or after its own and sum over p or over q: the larger counts. A product that
 * underflows in one stage is amplified by the stages after it, at most by the product of their
 * largest absolute sums. In dW such a state meets all of a cotangent, or such a cotangent all of a
 * state: sums of what comes in, amplified by the stages between.
 */
typedef struct chain {
    double phi, depth;
    double amplification; /* of the stages: product of largest absolute sums, each at least 1 */
    double lost;          /* products that underflow, times what amplifies them */
} chain;

/* What an infinity or NaN reaches is compared as such, and needs no bound. */
static double finite_size(double v) {
    return isfinite(v) ? fabs(v) : 0;
}

static double largest_sum(const double *w, int64_t p, int64_t q) {
    double largest = 1;
    for (int64_t i = 0; i < p; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < q; ++j)
            sum += finite_size(w[i * q + j]);
        largest = fmax(largest, sum);
    }
    for (int64_t j = 0; j < q; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < p; ++i)
            sum += finite_size(w[i * q + j]);
        largest = fmax(largest, sum);
    }
    return largest;
}

/* All stages but `skip` (-1: all), each with the depth of its larger extent. */
static chain chain_of(const assay_oracle_args *args, const assay_rounding *r, const stage *stages,
                      int32_t count, int32_t skip) {
    chain c = {.amplification = 1};
    for (int32_t i = 0; i < count; ++i) {
        const stage *s = &stages[i];
        if (i == skip)
            continue;
        c.amplification *= largest_sum(args->in->data[s->w], s->p, s->q);
        const double depth = fmax((double)s->p, (double)s->q);
        c.phi = assay_compound(c.phi, assay_accumulation(r, depth));
        c.depth += depth;
    }
    c.lost = c.depth * c.amplification;
    return c;
}

static double absolute_sum(const double *a, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
        sum += finite_size(a[i]);
    return sum;
}

/* Replaces the magnitudes in bounds->element i by bounds. */
static void bound_chain(const assay_rounding *r, const chain *c, const char *why,
                        const assay_arrays *want, int32_t i, assay_bounds *bounds) {
    double *bound = bounds->element.data[i];
    for (int64_t e = 0; e < want->size[i]; ++e)
        bound[e] = assay_bound_element(r, c->phi, c->lost, bound[e], want->data[i][e]);
    snprintf(bounds->why[i], ASSAY_WHY,
             "%.0f roundings through the stages (%s): %.3g*u*M, %s, u = 2^%.0f", c->depth, why,
             c->phi / r->u, assay_why_magnitude(r), log2(r->u));
}

static assay_status forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                  const assay_arrays *want, assay_bounds *bounds) {
    stage stages[MAX_LAYERS * MAX_FACTORS];
    const int32_t count = stages_of(args->params, stages);
    const assay_status status = assay_magnitudes(args, r, forward, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    const chain c = chain_of(args, r, stages, count, -1);
    bound_chain(r, &c, "sums over each p", want, Y, bounds);
    return ASSAY_OK;
}

/* Terms of one element of dW: the batch times the larger extent of every other mode. */
static double gradient_terms(const assay_params *params, const stage *s) {
    const assay_param *f = &params->item[F], *q = &params->item[Q];
    double terms = (double)params->item[B].value[0];
    for (int32_t a = 0; a < f->count; ++a)
        if (a != (s->w - FIRST_W) % f->count)
            terms *= fmax((double)f->value[a], (double)q->value[a]);
    return terms;
}

static assay_status backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                   const assay_arrays *want, assay_bounds *bounds) {
    stage stages[MAX_LAYERS * MAX_FACTORS];
    const int32_t count = stages_of(args->params, stages);
    const assay_status status = assay_magnitudes(args, r, backward, &bounds->element);
    if (status != ASSAY_OK)
        return status;
    const chain all = chain_of(args, r, stages, count, -1);
    bound_chain(r, &all, "sums over each q", want, X, bounds);
    const double met = fmax(absolute_sum(args->in->data[X], want->size[X]),
                            absolute_sum(args->cot->data[Y], args->cot->size[Y]));
    for (int32_t i = 0; i < count; ++i) {
        const stage *s = &stages[i];
        const double terms = gradient_terms(args->params, s);
        chain c = chain_of(args, r, stages, count, i);
        c.phi = assay_compound(c.phi, assay_accumulation(r, terms));
        c.depth += terms;
        c.lost = c.lost * met + terms;
        bound_chain(r, &c, "the other stages, then the batch and the other modes", want, s->w,
                    bounds);
    }
    return ASSAY_OK;
}

/* ---- random cases ---- */

static void draw(assay_rng *rng, double budget, assay_params *params) {
    assay_param *b = &params->item[B], *f = &params->item[F], *q = &params->item[Q];
    assay_param *layers = &params->item[LAYERS];
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
}

/* ---- relations ---- */

static bool is_square(const assay_case *c) {
    const assay_param *f = &c->params.item[F], *q = &c->params.item[Q];
    return memcmp(f->value, q->value, (size_t)f->count * sizeof *f->value) == 0;
}

static assay_status make_identities(assay_problem *base) {
    for (int32_t w = FIRST_W; w < base->in.count; ++w) {
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
    relate_copy(want->out.data[Y], base->in.data[X], want->out.size[Y]);
    relate_copy(want->grad.data[X], base->cot.data[Y], want->grad.size[X]);
    for (int32_t w = FIRST_W; w < want->grad.count; ++w)
        assay_arrays_drop(&want->grad, w);
    return ASSAY_OK;
}

/* Every extent one larger, the new places zero. */
static assay_status widen_case(const assay_case *base, int32_t i, assay_case *derived) {
    (void)i;
    *derived = *base;
    for (int32_t a = 0; a < base->params.item[F].count; ++a) {
        ++derived->params.item[F].value[a];
        ++derived->params.item[Q].value[a];
    }
    return ASSAY_OK;
}

/* x, and one of the factors. */
static relate_link link_of(const assay_problem *base, int32_t i) {
    const uint64_t factors = (uint64_t)(base->sig.n_in - FIRST_W);
    const int32_t w = FIRST_W + (int32_t)(base->c.seed % factors);
    return i == X ? (relate_link){.in = X, .in_axis = 0, .out_axis = 0}
                  : (relate_link){.in = w, .in_axis = RELATE_WHOLE, .out_axis = RELATE_WHOLE};
}
RELATE_LINKS(link_of, 2);

static const assay_relation relations[] = {
    RELATE_PRODUCT,
    RELATE_BATCH_SPLIT,
    RELATE_ADJOINT,
    {.name = "identity",
     .why = "identity factors: y is x and dx is dy, bit for bit",
     .exact = true,
     .applies = is_square,
     .prepare = make_identities,
     .predict = pass_through},
    {.name = "zero_padding",
     .why = "every extent one larger, the new places zero, changes nothing",
     .n_derived = 1,
     .derive_case = widen_case,
     .derive = relate_embed,
     .predict = relate_crop},
};

/* ---- work ---- */

/* Of one layer's stages: flops in the order of the definition. No order of the stages has a state
 * smaller than one whose other extents are each the smaller of its two. */
static void count_stages(const assay_params *params, assay_work *work) {
    const assay_param *p = &params->item[F], *q = &params->item[Q];
    double state = (double)params->item[B].value[0], smallest = state;
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
        (direction == ASSAY_FORWARD ? 1 : 2) * (double)params->item[LAYERS].value[0];
    count_stages(params, work);
    work->flops *= times;
    work->least *= times;
}

static const assay_case_group cases[] = {
    {ASSAY_SMOKE, "b=16 f=32x32 layers=2 dtype=f64"},
    {ASSAY_SMOKE, "b=5 f=4x3x5 q=2x7x3 dtype=f32,f64 pad=3 misalign=1"},
    {ASSAY_SMOKE, "b=7 f=9x10 dtype=f32,f64 fill=exact sched=random seed=1"},
    {ASSAY_SMOKE, "b=3 f=17 q=33 dtype=f32,f64 sched=warp"},
    {ASSAY_SMOKE, "b=2 f=2x3x2x2x1x2x3x2 dtype=f32"},
    {ASSAY_SMOKE, "b=2 f=8x9 layers=3 dtype=f32 fill=uniform"},
    {ASSAY_SMOKE, "b=3 f=4x5 dtype=f32 fill=nan seed=0,1,2"},
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
    {ASSAY_CI, "b=1,33 f=1,2x1,16x16,31x32 dtype=f32"},
    {ASSAY_CI, "b=3 f=1x2x4 q=1x3x2 dtype=f32 pad=4"}, /* strides that look packed */
    {ASSAY_CI, "b=3 f=1x3x4 q=5x2x1 dtype=f32"},       /* states of 3, then 2 elements */
    {ASSAY_CI, "b=9 f=8x8x8x8 dtype=f32,f64"},
    {ASSAY_CI, "b=4 f=6x50 q=50x6 dtype=f32,f64 fill=positive pad=1 misalign=5 sched=reverse"},
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
    {ASSAY_NIGHTLY, "b=32 f=128x128 dtype=f32,f64"},
    {ASSAY_NIGHTLY, "b=16 f=32x32x32,8x8x8x8x8 dtype=f32"},
    {ASSAY_NIGHTLY, "b=2 f=64x64x64 dtype=f32,f64"},
    {ASSAY_EDGE, "b=0 f=3x4 dtype=f32,f64"},
    {ASSAY_EDGE, "b=0 f=7 q=2 dtype=f64"},
    {ASSAY_EDGE, "b=0 f=29100 q=2 dtype=f64"},
    {ASSAY_BENCH, "b=32 f=128x128 dtype=f32"},
    {ASSAY_BENCH, "b=1024 f=8x8x8x8x8,8x8x8x8x8x8,16x16x16x16,32x32x32 dtype=f32"},
    {ASSAY_BENCH, "b=1024 f=64x64,64x64x64,128x128 dtype=f32"},
};

const assay_op assay_op_kronecker = {
    .name = "kronecker",
    .forward_formula = "y = x (W_k (x) ... (x) W_1) on the flattened state, `layers` times",
    .backward_formula = "dx = dy (W_k (x) ... (x) W_1)^T, dW_m = stage input times its cotangent",
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .multilinear = true,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F32) | ASSAY_DTYPE_BIT(ASSAY_F64),
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
    .work = count_work,
    .draw = draw,
    .relations = relations,
    .n_relations = sizeof relations / sizeof *relations,
    .cases = cases,
    .n_cases = sizeof cases / sizeof *cases,
};
