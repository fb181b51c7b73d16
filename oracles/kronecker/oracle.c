/* The oracle of kronecker, and its plain twin. */
#include "assay/relation.h"
#include "core/parallel.h"
#include "oracles/common/blas.h"
#include "oracles/kronecker/kronecker.h"

#include <string.h>

int32_t kronecker_stages_of(const assay_params *params,
                            kronecker_stage stages[KRONECKER_MAX_STAGES]) {
    const assay_param *f = &params->item[KRONECKER_KEY_F], *q = &params->item[KRONECKER_KEY_Q];
    const int32_t k = f->count;
    int32_t count = 0;
    for (int32_t layer = 0; layer < params->item[KRONECKER_KEY_LAYERS].value[0]; ++layer) {
        for (int32_t a = k - 1; a >= 0; --a) {
            kronecker_stage s = {.w = KRONECKER_FIRST_W + layer * k + a,
                                 .left = params->item[KRONECKER_KEY_B].value[0],
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

/* ---- oracle: every stage a product, through CBLAS ---- */

static int64_t input_size(const kronecker_stage *s) {
    return s->left * s->p * s->right;
}

static int64_t output_size(const kronecker_stage *s) {
    return s->left * s->q * s->right;
}

/* Simple steps over one element that cost as much as the products of one l. */
static int64_t steps_of_l(const kronecker_stage *s) {
    enum { PRODUCTS = 16 };
    return s->p * s->q * s->right / PRODUCTS + 1;
}

/* What a stage does for one l after the other, from several threads at once. */
typedef struct sweep {
    const kronecker_stage *s;
    const double *w, *from;
    double *to;
    int64_t per_l; /* what an l counts when work is shared out */
} sweep;

static void sweep_all(const kronecker_stage *s, const double *w, const double *from, double *to,
                      void (*piece)(void *context, int64_t first, int64_t last)) {
    sweep all = {s, w, from, to, steps_of_l(s)};
    assay_parallel(s->left * all.per_l, piece, &all);
}

static void apply_piece(void *context, int64_t first, int64_t last) {
    const sweep *a = context;
    const kronecker_stage *s = a->s;
    for (int64_t l = first / a->per_l; l < last / a->per_l; ++l)
        blas_gemm(true, false, s->q, s->right, s->p, a->w, s->q, a->from + l * s->p * s->right,
                  s->right, 0.0, a->to + l * s->q * s->right, s->right);
}

/* out[l] (q × right) = Wᵀ · in[l] (p × right); with right = 1 all l in one product. */
static void apply(const kronecker_stage *s, const double *w, const double *in, double *out) {
    if (s->right == 1)
        blas_gemm(false, false, s->left, s->q, s->p, in, s->p, w, s->q, 0.0, out, s->q);
    else
        sweep_all(s, w, in, out, apply_piece);
}

static void apply_transposed_piece(void *context, int64_t first, int64_t last) {
    const sweep *a = context;
    const kronecker_stage *s = a->s;
    for (int64_t l = first / a->per_l; l < last / a->per_l; ++l)
        blas_gemm(false, false, s->p, s->right, s->q, a->w, s->q, a->from + l * s->q * s->right,
                  s->right, 0.0, a->to + l * s->p * s->right, s->right);
}

/* The cotangent of a stage's input from that of its output. */
static void apply_transposed(const kronecker_stage *s, const double *w, const double *dout,
                             double *din) {
    if (s->right == 1)
        blas_gemm(false, true, s->left, s->p, s->q, dout, s->q, w, s->q, 0.0, din, s->p);
    else
        sweep_all(s, w, dout, din, apply_transposed_piece);
}

/* dW in parts, each the sum over `length` l, which are added up in their order: the same sum
 * however many threads make them. */
typedef struct gradient {
    const kronecker_stage *s;
    const double *in, *dout;
    double *parts;
    int64_t length, per_part;
} gradient;

static void gradient_piece(void *context, int64_t first, int64_t last) {
    const gradient *g = context;
    const kronecker_stage *s = g->s;
    for (int64_t part = first / g->per_part; part < last / g->per_part; ++part) {
        const int64_t start = part * g->length, end = start + g->length;
        for (int64_t l = start; l < end && l < s->left; ++l)
            blas_gemm(false, true, s->p, s->q, s->right, g->in + l * s->p * s->right, s->right,
                      g->dout + l * s->q * s->right, s->right, l == start ? 0.0 : 1.0,
                      g->parts + part * s->p * s->q, s->q);
    }
}

/* dW[p, q] = sum over l and right of in[l, p, right] dout[l, q, right]. */
static assay_status factor_gradient(const kronecker_stage *s, const double *in, const double *dout,
                                    double *dw) {
    if (s->right == 1) {
        blas_gemm(true, false, s->p, s->q, s->left, in, s->p, dout, s->q, 0.0, dw, s->q);
        return ASSAY_OK;
    }
    enum { MOST_PARTS = 64, STEPS = 1 << 17 }; /* a part of fewer steps is not worth its array */
    const int64_t most = (s->left + MOST_PARTS - 1) / MOST_PARTS, worth = STEPS / steps_of_l(s) + 1;
    const int64_t length = most > worth ? most : worth;
    const int64_t count = (s->left + length - 1) / length, size = s->p * s->q;
    assay_arrays parts = {0};
    assay_status status = assay_arrays_init(&parts, 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&parts, 0, count * size);
    if (status != ASSAY_OK)
        goto done;
    gradient g = {s, in, dout, parts.data[0], length, length * steps_of_l(s)};
    assay_parallel(count * g.per_part, gradient_piece, &g);
    memset(dw, 0, (size_t)size * sizeof *dw);
    for (int64_t part = 0; part < count; ++part)
        for (int64_t e = 0; e < size; ++e)
            dw[e] += parts.data[0][part * size + e];
done:
    assay_arrays_clear(&parts);
    return status;
}

/* states->data[i] is the input of stage i, data[count] the output of the last one. */
static assay_status run_stages(const assay_oracle_args *args, const kronecker_stage *stages,
                               int32_t count, assay_arrays *states) {
    assay_status status = assay_arrays_init(states, count + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(states, 0, input_size(&stages[0]));
    if (status != ASSAY_OK)
        return status;
    memcpy(states->data[0], args->in->data[KRONECKER_X], (size_t)states->size[0] * sizeof(double));
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        status = assay_arrays_add(states, i + 1, output_size(&stages[i]));
        if (status == ASSAY_OK)
            apply(&stages[i], args->in->data[stages[i].w], states->data[i], states->data[i + 1]);
    }
    return status;
}

assay_status kronecker_forward(const assay_oracle_args *args, assay_arrays *result) {
    kronecker_stage stages[KRONECKER_MAX_STAGES];
    const int32_t count = kronecker_stages_of(args->params, stages);
    assay_arrays states = {0};
    const assay_status status = run_stages(args, stages, count, &states);
    if (status == ASSAY_OK)
        memcpy(result->data[KRONECKER_Y], states.data[count],
               (size_t)states.size[count] * sizeof(double));
    assay_arrays_clear(&states);
    return status;
}

assay_status kronecker_backward(const assay_oracle_args *args, assay_arrays *result) {
    kronecker_stage stages[KRONECKER_MAX_STAGES];
    const int32_t count = kronecker_stages_of(args->params, stages);
    assay_arrays states = {0}, cots = {0};
    assay_status status = run_stages(args, stages, count, &states);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&cots, count + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&cots, count, states.size[count]);
    if (status != ASSAY_OK)
        goto done;
    memcpy(cots.data[count], args->cot->data[KRONECKER_Y],
           (size_t)cots.size[count] * sizeof(double));
    for (int32_t i = count - 1; i >= 0; --i) {
        const kronecker_stage *s = &stages[i];
        status = factor_gradient(s, states.data[i], cots.data[i + 1], result->data[s->w]);
        if (status == ASSAY_OK)
            status = assay_arrays_add(&cots, i, states.size[i]);
        if (status != ASSAY_OK)
            goto done;
        apply_transposed(s, args->in->data[s->w], cots.data[i + 1], cots.data[i]);
        assay_arrays_drop(&cots, i + 1);
    }
    memcpy(result->data[KRONECKER_X], cots.data[0], (size_t)cots.size[0] * sizeof(double));
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
    const assay_param *f = &args->params->item[KRONECKER_KEY_F],
                      *q = &args->params->item[KRONECKER_KEY_Q];
    double entry = 1;
    for (int32_t a = 0; a < f->count; ++a)
        if (a != skip)
            entry *= args->in->data[KRONECKER_FIRST_W + layer * f->count + a]
                                   [digit(f, a, i) * q->value[a] + digit(q, a, j)];
    return entry;
}

/* The inputs of all layers, and the output at [layers]. */
static assay_status plain_states(const assay_oracle_args *args, assay_arrays *states) {
    const int64_t layers = args->params->item[KRONECKER_KEY_LAYERS].value[0],
                  b = args->params->item[KRONECKER_KEY_B].value[0];
    const int64_t p = product(&args->params->item[KRONECKER_KEY_F]),
                  q = product(&args->params->item[KRONECKER_KEY_Q]);
    assay_status status = assay_arrays_init(states, (int32_t)layers + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(states, 0, b * p);
    if (status != ASSAY_OK)
        return status;
    memcpy(states->data[0], args->in->data[KRONECKER_X], (size_t)(b * p) * sizeof(double));
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

assay_status kronecker_forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    assay_arrays states = {0};
    const assay_status status = plain_states(args, &states);
    const int64_t layers = args->params->item[KRONECKER_KEY_LAYERS].value[0];
    if (status == ASSAY_OK)
        memcpy(result->data[KRONECKER_Y], states.data[layers],
               (size_t)states.size[layers] * sizeof(double));
    assay_arrays_clear(&states);
    return status;
}

/* One layer: din from dout, and the gradients of its factors; in and din are (b, p). */
static void plain_layer_backward(const assay_oracle_args *args, int64_t layer, const double *in,
                                 const double *dout, double *din, assay_arrays *result) {
    const assay_param *f = &args->params->item[KRONECKER_KEY_F],
                      *qs = &args->params->item[KRONECKER_KEY_Q];
    const int64_t b = args->params->item[KRONECKER_KEY_B].value[0], p = product(f), q = product(qs);
    memset(din, 0, (size_t)(b * p) * sizeof *din);
    for (int32_t a = 0; a < f->count; ++a)
        memset(result->data[KRONECKER_FIRST_W + layer * f->count + a], 0,
               (size_t)(f->value[a] * qs->value[a]) * sizeof(double));
    for (int64_t r = 0; r < b; ++r)
        for (int64_t i = 0; i < p; ++i)
            for (int64_t j = 0; j < q; ++j) {
                din[r * p + i] += dout[r * q + j] * kronecker_entry(args, layer, i, j, -1);
                for (int32_t a = 0; a < f->count; ++a)
                    result->data[KRONECKER_FIRST_W + layer * f->count + a]
                                [digit(f, a, i) * qs->value[a] + digit(qs, a, j)] +=
                        in[r * p + i] * dout[r * q + j] * kronecker_entry(args, layer, i, j, a);
            }
}

assay_status kronecker_backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t layers = args->params->item[KRONECKER_KEY_LAYERS].value[0];
    assay_arrays states = {0}, cots = {0};
    assay_status status = plain_states(args, &states);
    if (status == ASSAY_OK)
        status = assay_arrays_init(&cots, (int32_t)layers + 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&cots, (int32_t)layers, states.size[layers]);
    if (status == ASSAY_OK)
        memcpy(cots.data[layers], args->cot->data[KRONECKER_Y],
               (size_t)cots.size[layers] * sizeof(double));
    for (int32_t layer = (int32_t)layers - 1; status == ASSAY_OK && layer >= 0; --layer) {
        status = assay_arrays_add(&cots, layer, states.size[layer]);
        if (status == ASSAY_OK)
            plain_layer_backward(args, layer, states.data[layer], cots.data[layer + 1],
                                 cots.data[layer], result);
    }
    if (status == ASSAY_OK)
        memcpy(result->data[KRONECKER_X], cots.data[0], (size_t)cots.size[0] * sizeof(double));
    assay_arrays_clear(&states);
    assay_arrays_clear(&cots);
    return status;
}
