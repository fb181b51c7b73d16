#include "tests/oracles/transformer_host.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- products in fp32 ---- */

static host_bits operands;

static float operand(double v) {
    const float f = (float)v;
    if (operands == HOST_ALL)
        return f;
    if (operands == HOST_BF16)
        return (float)assay_dtype_round(ASSAY_BF16, v);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
    float cut;
    memcpy(&cut, &bits, sizeof cut);
    return cut;
}

/* sum over l of a[l·sa] b[l·sb] */
static double dot(int64_t n, const double *a, int64_t sa, const double *b, int64_t sb) {
    float sum = 0;
    for (int64_t l = 0; l < n; ++l)
        sum = fmaf(operand(a[l * sa]), operand(b[l * sb]), sum);
    return (double)sum;
}

enum { X, W };

static assay_status linear_forward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t m = args->params->item[0].value[0], n = args->params->item[1].value[0];
    const int64_t k = args->params->item[2].value[0];
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            result->data[0][i * n + j] =
                dot(k, args->in->data[X] + i * k, 1, args->in->data[W] + j * k, 1);
    return ASSAY_OK;
}

static assay_status linear_backward(const assay_oracle_args *args, assay_arrays *result) {
    const int64_t m = args->params->item[0].value[0], n = args->params->item[1].value[0];
    const int64_t k = args->params->item[2].value[0];
    const double *dy = args->cot->data[0];
    for (int64_t l = 0; l < k; ++l) {
        for (int64_t i = 0; i < m; ++i)
            result->data[X][i * k + l] = dot(n, dy + i * n, 1, args->in->data[W] + l, k);
        for (int64_t j = 0; j < n; ++j)
            result->data[W][j * k + l] = dot(m, dy + j, n, args->in->data[X] + l, k);
    }
    return ASSAY_OK;
}

static const assay_op host_linear = {
    .name = "linear", .forward = linear_forward, .backward = linear_backward};

static bool is(const transformer_node *node, const char *name) {
    return strcmp(node->op->name, name) == 0;
}

static void use_fp32_products(transformer_graph *g) {
    for (int32_t n = 0; n < g->n_nodes; ++n)
        if (is(&g->node[n], "linear"))
            g->node[n].op = &host_linear;
}

/* ---- stored tensors ---- */

static void round_all(assay_dtype dtype, double *data, int64_t size) {
    for (int64_t e = 0; data && e < size; ++e)
        data[e] = assay_dtype_round(dtype, data[e]);
}

static assay_dtype dtype_of(const transformer_node *node, const assay_tensor_spec *specs,
                            int32_t i) {
    return specs ? specs[i].dtype : node->params.dtype;
}

static assay_status store_values(void *context, const transformer_node *node,
                                 const assay_oracle_args *args, assay_arrays *result) {
    (void)context;
    (void)args;
    for (int32_t i = 0; i < node->n_out; ++i)
        round_all(dtype_of(node, node->sig.out, i), result->data[i], result->size[i]);
    return ASSAY_OK;
}

static assay_status store_gradients(void *context, const transformer_node *node,
                                    const assay_oracle_args *args, assay_arrays *result) {
    (void)context;
    (void)args;
    for (int32_t i = 0; i < node->n_in; ++i)
        round_all(dtype_of(node, node->sig.in, i), result->data[i], result->size[i]);
    return ASSAY_OK;
}

static assay_status store_sum(void *context, const transformer_node *node, int32_t slot,
                              double *sum, int64_t size) {
    (void)context;
    round_all(dtype_of(node, node->sig.in, slot), sum, size);
    return ASSAY_OK;
}

/* ---- passes and training ---- */

typedef struct host {
    const assay_problem *p;
    transformer_graph g;
    assay_arrays parameters, copies, gradient, m, v;
} host;

static void init_like(assay_arrays *arrays, const host *h) {
    REQUIRE_OK(assay_arrays_init(arrays, h->g.sizes.parameters));
    for (int32_t i = 0; i < arrays->count; ++i)
        REQUIRE_OK(assay_arrays_add(arrays, i, h->g.size[i]));
}

static void copy_all(assay_arrays *to, double *const *from) {
    for (int32_t i = 0; i < to->count; ++i)
        memcpy(to->data[i], from[i], (size_t)to->size[i] * sizeof(double));
}

static void pass_over(host *h, int64_t batch, double dloss, double *logits, double *loss) {
    const transformer_hooks hooks = {
        .forward = store_values, .backward = store_gradients, .sum = store_sum};
    const transformer_sizes *s = &h->g.sizes;
    double **given = calloc((size_t)h->g.given, sizeof *given);
    transformer_pass pass;
    REQUIRE(given != NULL);
    copy_all(&h->copies, h->parameters.data);
    for (int32_t i = 0; i < h->copies.count; ++i) {
        round_all(h->p->c.params.dtype, h->copies.data[i], h->copies.size[i]);
        given[i] = h->copies.data[i];
    }
    given[s->parameters] = h->p->in.data[TRANSFORMER_TOKENS] + batch * s->tokens;
    given[s->parameters + 1] = h->p->in.data[TRANSFORMER_TARGET] + batch * s->tokens;
    REQUIRE_OK(transformer_pass_init(&pass, &h->g, given));
    pass.hooks = &hooks;
    REQUIRE_OK(transformer_pass_forward(&pass));
    if (logits)
        memcpy(logits, pass.value[h->g.logits], (size_t)h->g.size[h->g.logits] * sizeof *logits);
    *loss = pass.value[h->g.loss][0];
    REQUIRE_OK(transformer_pass_backward(&pass, dloss, h->gradient.data));
    transformer_pass_clear(&pass);
    free(given);
}

static void update(host *h, int64_t step, const host_fault *fault) {
    /* 1 - 0.999f is off by 1.3e-5 of itself: the differences are taken in fp64. */
    const float b1 = 0.9f, rest1 = (float)(1 - 0.9), b2 = 0.999f, rest2 = (float)(1 - 0.999);
    const float lr = (float)h->g.sizes.lr, wd = (float)h->g.sizes.wd;
    const float kept = (float)(1 - h->g.sizes.lr * h->g.sizes.wd);
    const float c1 = fault->uncorrected ? 1 : (float)(1 - pow(0.9, (double)step));
    const float c2 = (float)(1 - pow(0.999, (double)step));
    for (int32_t i = 0; i < h->parameters.count; ++i)
        for (int64_t e = 0; e < h->parameters.size[i]; ++e) {
            double *p = &h->parameters.data[i][e], *m = &h->m.data[i][e], *v = &h->v.data[i][e];
            float g = (float)h->gradient.data[i][e];
            float decayed = (float)*p * kept;
            if (fault->adamw) {
                fault->adamw(&g, (float)*p, wd);
                decayed = (float)*p;
            }
            const float mean = b1 * (float)*m + rest1 * g;
            const float square = b2 * (float)*v + rest2 * g * g;
            *m = (double)mean;
            *v = (double)square;
            *p = (double)(decayed - lr * (mean / c1) / (sqrtf(square / c2) + 1e-8f));
        }
}

static void run_training(host *h, const host_fault *fault, assay_results *got) {
    const transformer_sizes *s = &h->g.sizes;
    for (int64_t step = 0; step < s->steps; ++step) {
        pass_over(h, step % s->batches, 1, NULL, &got->out.data[TRANSFORMER_LOSSES][step]);
        update(h, step + 1, fault);
    }
    for (int32_t i = 0; i < s->parameters; ++i)
        memcpy(got->out.data[TRANSFORMER_FIRST_NEW + i], h->parameters.data[i],
               (size_t)h->parameters.size[i] * sizeof(double));
}

void host_transformer(const assay_problem *p, const host_fault *fault, host_bits bits,
                      assay_results *got) {
    host h = {.p = p};
    operands = bits;
    REQUIRE_OK(transformer_graph_init(&h.g, &p->c.params));
    use_fp32_products(&h.g);
    if (fault->edit)
        fault->edit(&h.g);
    init_like(&h.parameters, &h);
    init_like(&h.copies, &h);
    init_like(&h.gradient, &h);
    init_like(&h.m, &h);
    init_like(&h.v, &h);
    copy_all(&h.parameters, p->in.data + TRANSFORMER_FIRST);
    if (h.g.sizes.steps > 0) {
        run_training(&h, fault, got);
    } else {
        pass_over(&h, 0, p->cot.data[TRANSFORMER_LOSS][0], got->out.data[TRANSFORMER_LOGITS],
                  got->out.data[TRANSFORMER_LOSS]);
        for (int32_t i = 0; i < h.gradient.count; ++i)
            memcpy(got->grad.data[TRANSFORMER_FIRST + i], h.gradient.data[i],
                   (size_t)h.gradient.size[i] * sizeof(double));
    }
    assay_arrays_clear(&h.parameters);
    assay_arrays_clear(&h.copies);
    assay_arrays_clear(&h.gradient);
    assay_arrays_clear(&h.m);
    assay_arrays_clear(&h.v);
    transformer_graph_clear(&h.g);
}

/* ---- faults ---- */

transformer_node *host_use_of(transformer_graph *g, const char *name, int32_t which) {
    for (int32_t n = 0; n < g->n_nodes; ++n)
        if (is(&g->node[n], name) && which-- == 0)
            return &g->node[n];
    REQUIRE_MSG(false, "the model does not use %s so often", name);
    return NULL;
}

/* The node that reads a parameter. */
static transformer_node *reader_of(transformer_graph *g, int32_t parameter) {
    for (int32_t n = 0; n < g->n_nodes; ++n)
        if (g->node[n].in[1] == parameter && g->node[n].n_in > 1)
            return &g->node[n];
    REQUIRE(false);
    return NULL;
}

static void copy(double *to, const double *from, int64_t count) {
    memcpy(to, from, (size_t)count * sizeof *to);
}

static assay_status same_forward(const assay_oracle_args *args, assay_arrays *result) {
    copy(result->data[0], args->in->data[0], result->size[0]);
    return ASSAY_OK;
}

static assay_status same_backward(const assay_oracle_args *args, assay_arrays *result) {
    copy(result->data[0], args->cot->data[0], result->size[0]);
    return ASSAY_OK;
}

static const assay_op no_rotation = {
    .name = "rope", .forward = same_forward, .backward = same_backward};

static void rope_missing_on_k(transformer_graph *g) {
    host_use_of(g, "rope", 1)->op = &no_rotation;
}

/* Queries see one key more, as far as there is one: attention over a sequence of its own length,
 * the mask wrong. */
static int64_t seen(int64_t i, int64_t n) {
    return i + 2 < n ? i + 2 : n;
}

typedef struct head {
    int64_t n, d;
    const double *q, *k, *v;
} head;

static void weights(const head *h, int64_t i, double *p) {
    double sum = 0;
    for (int64_t j = 0; j < seen(i, h->n); ++j) {
        double score = 0;
        for (int64_t e = 0; e < h->d; ++e)
            score += h->q[i * h->d + e] * h->k[j * h->d + e];
        p[j] = exp(score / sqrt((double)h->d));
        sum += p[j];
    }
    for (int64_t j = 0; j < seen(i, h->n); ++j)
        p[j] /= sum;
}

static head head_of(const assay_oracle_args *args, int64_t which) {
    const assay_param *key = args->params->item;
    head h = {.n = key[2].value[0], .d = key[4].value[0]};
    h.q = args->in->data[0] + which * h.n * h.d;
    h.k = args->in->data[1] + which * h.n * h.d;
    h.v = args->in->data[2] + which * h.n * h.d;
    return h;
}

static assay_status peek_forward(const assay_oracle_args *args, assay_arrays *result) {
    const assay_param *key = args->params->item;
    double *p = calloc((size_t)key[2].value[0], sizeof *p);
    REQUIRE(p != NULL);
    memset(result->data[0], 0, (size_t)result->size[0] * sizeof(double));
    for (int64_t which = 0; which < key[0].value[0] * key[1].value[0]; ++which) {
        const head h = head_of(args, which);
        for (int64_t i = 0; i < h.n; ++i) {
            weights(&h, i, p);
            for (int64_t j = 0; j < seen(i, h.n); ++j)
                for (int64_t e = 0; e < h.d; ++e)
                    result->data[0][(which * h.n + i) * h.d + e] += p[j] * h.v[j * h.d + e];
        }
    }
    free(p);
    return ASSAY_OK;
}

static assay_status peek_backward(const assay_oracle_args *args, assay_arrays *result) {
    const assay_param *key = args->params->item;
    double *p = calloc((size_t)key[2].value[0], sizeof *p);
    REQUIRE(p != NULL);
    for (int32_t t = 0; t < 3; ++t)
        memset(result->data[t], 0, (size_t)result->size[t] * sizeof(double));
    for (int64_t which = 0; which < key[0].value[0] * key[1].value[0]; ++which) {
        const head h = head_of(args, which);
        const int64_t base = which * h.n * h.d;
        for (int64_t i = 0; i < h.n; ++i) {
            const double *cot = args->cot->data[0] + base + i * h.d;
            double delta = 0;
            weights(&h, i, p);
            for (int64_t e = 0; e < h.d; ++e)
                delta += cot[e] * args->out->data[0][base + i * h.d + e];
            for (int64_t j = 0; j < seen(i, h.n); ++j) {
                double dp = -delta;
                for (int64_t e = 0; e < h.d; ++e)
                    dp += cot[e] * h.v[j * h.d + e];
                const double ds = p[j] * dp / sqrt((double)h.d);
                for (int64_t e = 0; e < h.d; ++e) {
                    result->data[0][base + i * h.d + e] += ds * h.k[j * h.d + e];
                    result->data[1][base + j * h.d + e] += ds * h.q[i * h.d + e];
                    result->data[2][base + j * h.d + e] += p[j] * cot[e];
                }
            }
        }
    }
    free(p);
    return ASSAY_OK;
}

static const assay_op peeking_attention = {
    .name = "attention", .forward = peek_forward, .backward = peek_backward};

void host_mask_off_by_one(transformer_graph *g) {
    host_use_of(g, "attention", 0)->op = &peeking_attention;
}

static void eps_missing(transformer_graph *g) {
    transformer_node *node = host_use_of(g, "rmsnorm", 0);
    node->params.item[3].real = 0;
}

static void swiglu_swapped(transformer_graph *g) {
    transformer_node *node = host_use_of(g, "swiglu", 0);
    const int32_t gate = node->in[0];
    node->in[0] = node->in[1];
    node->in[1] = gate;
}

static assay_status branch_forward(const assay_oracle_args *args, assay_arrays *result) {
    copy(result->data[0], args->in->data[1], result->size[0]);
    return ASSAY_OK;
}

static assay_status branch_backward(const assay_oracle_args *args, assay_arrays *result) {
    memset(result->data[0], 0, (size_t)result->size[0] * sizeof(double));
    copy(result->data[1], args->cot->data[0], result->size[1]);
    return ASSAY_OK;
}

static const assay_op branch_alone = {
    .name = "add", .forward = branch_forward, .backward = branch_backward};

static void residual_dropped(transformer_graph *g) {
    host_use_of(g, "add", 0)->op = &branch_alone;
}

static assay_status blocked_backward(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = linear_backward(args, result);
    memset(result->data[X], 0, (size_t)result->size[X] * sizeof(double));
    return status;
}

static const assay_op blocked_linear = {
    .name = "linear", .forward = linear_forward, .backward = blocked_backward};

static void path_missing(transformer_graph *g, int32_t which) {
    reader_of(g, transformer_layer(0, which))->op = &blocked_linear;
}

static void q_path_missing(transformer_graph *g) {
    path_missing(g, LAYER_Q);
}

static void k_path_missing(transformer_graph *g) {
    path_missing(g, LAYER_K);
}

static void v_path_missing(transformer_graph *g) {
    path_missing(g, LAYER_V);
}

static assay_oracle norm_backward;

static assay_status unweighted_backward(const assay_oracle_args *args, assay_arrays *result) {
    const assay_status status = norm_backward(args, result);
    memset(result->data[1], 0, (size_t)result->size[1] * sizeof(double));
    return status;
}

static void norm_gradient_missing(transformer_graph *g) {
    static assay_op op;
    transformer_node *node = reader_of(g, transformer_layer(g->sizes.layers - 1, LAYER_LN2));
    norm_backward = node->op->backward;
    op = *node->op;
    op.backward = unweighted_backward;
    node->op = &op;
}

/* The only exchange that shapes allow within one layer too. */
static void weights_exchanged(transformer_graph *g) {
    transformer_node *a = reader_of(g, transformer_layer(0, LAYER_V));
    transformer_node *b = reader_of(g, transformer_layer(g->sizes.layers - 1, LAYER_OUTPUT));
    const int32_t held = a->in[1];
    a->in[1] = b->in[1];
    b->in[1] = held;
}

static void couple_decay(float *g, float p, float wd) {
    *g += wd * p;
}

const host_fault host_faults[] = {
    {.name = "rope missing on k", .edit = rope_missing_on_k},
    {.name = "mask off by one", .edit = host_mask_off_by_one},
    {.name = "eps missing in a norm", .edit = eps_missing, .strict = true},
    {.name = "swiglu's arguments swapped", .edit = swiglu_swapped},
    {.name = "residual dropped", .edit = residual_dropped},
    {.name = "q path missing in dh", .edit = q_path_missing},
    {.name = "k path missing in dh", .edit = k_path_missing},
    {.name = "v path missing in dh", .edit = v_path_missing},
    {.name = "gradient of a norm's weight missing", .edit = norm_gradient_missing},
    {.name = "two weights exchanged", .edit = weights_exchanged},
    {.name = "weight decay coupled", .adamw = couple_decay, .training = true},
    {.name = "m not bias-corrected", .uncorrected = true, .training = true},
};
const int32_t host_n_faults = (int32_t)(sizeof host_faults / sizeof *host_faults);
