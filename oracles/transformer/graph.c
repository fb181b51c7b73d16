#include "oracles/transformer/graph.h"

#include <stdlib.h>
#include <string.h>

void transformer_params(const assay_op *op, const transformer_setting *settings,
                        assay_params *params) {
    assay_params_init(op, params);
    for (int32_t i = 0; i < op->n_keys; ++i) {
        assay_param *param = &params->item[i];
        double value = 0;
        for (const transformer_setting *s = settings; s->key; ++s)
            value = strcmp(s->key, param->name) == 0 ? s->value : value;
        if (op->keys[i].kind == ASSAY_KEY_REAL) {
            param->real = value;
        } else {
            param->count = 1;
            param->value[0] = (int64_t)value;
        }
    }
}

typedef struct builder {
    transformer_graph *g;
    const assay_params *params;
    int32_t room_nodes, room_values;
    assay_status status; /* the first that is not OK stays */
} builder;

static int32_t new_value(builder *b, int64_t size) {
    transformer_graph *g = b->g;
    g->size[g->n_values] = size;
    return g->n_values++;
}

static transformer_node *new_node(builder *b, const assay_op *op, int32_t n_in, const int32_t *in) {
    transformer_node *node = &b->g->node[b->g->n_nodes++];
    node->op = op;
    node->n_in = n_in;
    for (int32_t i = 0; i < n_in; ++i) {
        node->in[i] = in[i];
        ++b->g->uses[in[i]];
    }
    return node;
}

/* The case's dtype and, for products, its math. */
static void inherit(const builder *b, transformer_node *node) {
    node->params.dtype = b->params->dtype;
    if ((node->op->maths & ASSAY_MATH_BIT(b->params->math)) != 0)
        node->params.math = b->params->math;
}

/* An operator of the registry. Returns its first output; a second follows. */
static int32_t apply(builder *b, const char *name, int32_t n_in, const int32_t *in,
                     const transformer_setting *settings) {
    const assay_op *op = assay_op_find(name, strlen(name));
    if (b->status != ASSAY_OK)
        return 0;
    transformer_node *node = new_node(b, op, n_in, in);
    transformer_params(op, settings, &node->params);
    inherit(b, node);
    b->status = op->legal(&node->params);
    if (b->status == ASSAY_OK)
        b->status = op->signature(&node->params, &node->sig);
    for (int32_t i = 0; b->status == ASSAY_OK && i < node->sig.n_out; ++i)
        node->out[node->n_out++] = new_value(b, assay_spec_count(&node->sig.out[i]));
    return node->out[0];
}

static int32_t apply_small(builder *b, const assay_op *op, int32_t n_in, const int32_t *in) {
    if (b->status != ASSAY_OK)
        return 0;
    const transformer_sizes *s = &b->g->sizes;
    const int64_t extents[] = {s->b, s->t, s->heads, s->head_dim};
    transformer_node *node = new_node(b, op, n_in, in);
    assay_params_init(op, &node->params);
    inherit(b, node);
    for (int32_t i = 0; i < op->n_keys; ++i) {
        node->params.item[i].count = 1;
        node->params.item[i].value[0] = extents[i];
    }
    node->out[node->n_out++] = new_value(b, b->g->size[in[0]]);
    return node->out[0];
}

/* The settings of an operator, ended by a NULL key. */
#define SETTINGS(...) ((const transformer_setting[]){__VA_ARGS__, {NULL, 0}})

static int32_t linear(builder *b, int32_t x, int32_t weight, int64_t n, int64_t k) {
    return apply(b, "linear", 2, (int32_t[]){x, weight},
                 SETTINGS({"m", (double)b->g->sizes.tokens}, {"n", (double)n}, {"k", (double)k}));
}

static int32_t rmsnorm(builder *b, int32_t x, int32_t weight) {
    const transformer_sizes *s = &b->g->sizes;
    return apply(b, "rmsnorm", 2, (int32_t[]){x, weight},
                 SETTINGS({"n", (double)s->tokens}, {"d", (double)s->d}, {"eps", 1e-5}));
}

static int32_t add(builder *b, int32_t x, int32_t y) {
    return apply_small(b, &transformer_op_add, 2, (int32_t[]){x, y});
}

static int32_t rope(builder *b, int32_t x) {
    const transformer_sizes *s = &b->g->sizes;
    return apply(b, "rope", 1, &x,
                 SETTINGS({"b", (double)s->b}, {"h", (double)s->heads}, {"s", (double)s->t},
                          {"d", (double)s->head_dim}, {"theta", 1e4}));
}

/* h times the weights, by heads. */
static int32_t project(builder *b, int32_t h, int32_t weight) {
    const int64_t d = b->g->sizes.d;
    return apply_small(b, &transformer_op_split, 1, (int32_t[]){linear(b, h, weight, d, d)});
}

static int32_t attend(builder *b, int32_t x, int64_t layer) {
    const transformer_sizes *s = &b->g->sizes;
    const int32_t h = rmsnorm(b, x, transformer_layer(layer, LAYER_LN1));
    const int32_t q = rope(b, project(b, h, transformer_layer(layer, LAYER_Q)));
    const int32_t k = rope(b, project(b, h, transformer_layer(layer, LAYER_K)));
    const int32_t v = project(b, h, transformer_layer(layer, LAYER_V));
    const int32_t o =
        apply(b, "attention", 3, (int32_t[]){q, k, v},
              SETTINGS({"b", (double)s->b}, {"h", (double)s->heads}, {"sq", (double)s->t},
                       {"sk", (double)s->t}, {"d", (double)s->head_dim}, {"causal", 1}));
    const int32_t merged = apply_small(b, &transformer_op_merge, 1, &o);
    return add(b, x, linear(b, merged, transformer_layer(layer, LAYER_OUTPUT), s->d, s->d));
}

static int32_t feed_forward(builder *b, int32_t x, int64_t layer) {
    const transformer_sizes *s = &b->g->sizes;
    const int32_t h = rmsnorm(b, x, transformer_layer(layer, LAYER_LN2));
    const int32_t gate = linear(b, h, transformer_layer(layer, LAYER_W1), s->ff, s->d);
    const int32_t up = linear(b, h, transformer_layer(layer, LAYER_W3), s->ff, s->d);
    const int32_t mixed = apply(b, "swiglu", 2, (int32_t[]){gate, up},
                                SETTINGS({"n", (double)s->tokens}, {"d", (double)s->ff}));
    return add(b, x, linear(b, mixed, transformer_layer(layer, LAYER_W2), s->d, s->ff));
}

static void build(builder *b, const assay_signature *sig) {
    transformer_graph *g = b->g;
    const transformer_sizes *s = &g->sizes;
    for (int32_t i = 0; i < s->parameters; ++i)
        (void)new_value(b, assay_spec_count(&sig->in[TRANSFORMER_FIRST + i]));
    const int32_t tokens = new_value(b, s->tokens), target = new_value(b, s->tokens);
    g->given = g->n_values;
    int32_t x =
        apply(b, "embedding", 2, (int32_t[]){tokens, TRANSFORMER_EMBEDDING},
              SETTINGS({"t", (double)s->tokens}, {"v", (double)s->vocab}, {"d", (double)s->d}));
    for (int64_t layer = 0; layer < s->layers; ++layer)
        x = feed_forward(b, attend(b, x, layer), layer);
    g->logits =
        linear(b, rmsnorm(b, x, transformer_ln_final(s)), transformer_head(s), s->vocab, s->d);
    g->loss = apply(b, "cross_entropy", 2, (int32_t[]){g->logits, target},
                    SETTINGS({"t", (double)s->tokens}, {"v", (double)s->vocab}));
}

/* Sums, turns and rotations pass gradients on whatever their inputs were. */
static void keep_for_backward(transformer_graph *g) {
    for (int32_t n = 0; n < g->n_nodes; ++n) {
        const transformer_node *node = &g->node[n];
        if (!node->sig.in || strcmp(node->op->name, "rope") == 0)
            continue;
        for (int32_t i = 0; i < node->n_in; ++i)
            g->kept[node->in[i]] = true;
        if (node->n_out > 1) /* attention and cross_entropy go on from what they gave */
            for (int32_t i = 0; i < node->n_out; ++i)
                g->kept[node->out[i]] = true;
    }
}

assay_status transformer_graph_init(transformer_graph *g, const assay_params *params) {
    enum { NODES_OF_LAYER = 19, VALUES_OF_LAYER = 20, OTHERS = 16 };
    *g = (transformer_graph){.sizes = transformer_sizes_of(params)};
    const size_t layers = (size_t)g->sizes.layers;
    const size_t values = layers * VALUES_OF_LAYER + (size_t)g->sizes.parameters + OTHERS;
    assay_signature sig = {0};
    builder b = {.g = g, .params = params};
    g->node = calloc(layers * NODES_OF_LAYER + OTHERS, sizeof *g->node);
    g->size = calloc(values, sizeof *g->size);
    g->uses = calloc(values, sizeof *g->uses);
    g->kept = calloc(values, sizeof *g->kept);
    if (!g->node || !g->size || !g->uses || !g->kept)
        b.status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for a model of %lld layers",
                              (long long)g->sizes.layers);
    if (b.status == ASSAY_OK)
        b.status = transformer_signature(params, &sig);
    if (b.status == ASSAY_OK)
        build(&b, &sig);
    if (b.status == ASSAY_OK)
        keep_for_backward(g);
    assay_signature_clear(&sig);
    if (b.status != ASSAY_OK)
        transformer_graph_clear(g);
    return b.status;
}

void transformer_graph_clear(transformer_graph *g) {
    for (int32_t n = 0; n < g->n_nodes; ++n)
        assay_signature_clear(&g->node[n].sig);
    free(g->node);
    free(g->size);
    free(g->uses);
    free(g->kept);
    *g = (transformer_graph){0};
}

bool transformer_has_gradient(const transformer_node *node, int32_t slot) {
    return !node->sig.in || node->sig.in[slot].differentiable;
}
