#include "oracles/transformer/graph.h"

#include <stdlib.h>
#include <string.h>

/* Not zeroed: an oracle writes every element of its results. */
static double *allocate(int64_t size) {
    double *data = malloc((size_t)size * sizeof *data);
    if (!data)
        (void)assay_fail(ASSAY_ERR_MEMORY,
                         "out of memory for an activation of %lld elements in fp64; choose a "
                         "smaller case",
                         (long long)size);
    return data;
}

assay_status transformer_pass_init(transformer_pass *p, const transformer_graph *g,
                                   double *const *given) {
    *p = (transformer_pass){.graph = g};
    const size_t n = (size_t)g->n_values;
    p->value = calloc(n, sizeof *p->value);
    p->grad = calloc(n, sizeof *p->grad);
    p->unread = calloc(n, sizeof *p->unread);
    if (!p->value || !p->grad || !p->unread) {
        free(p->value);
        free(p->grad);
        free(p->unread);
        *p = (transformer_pass){0};
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a list of %zu values", n);
    }
    memcpy(p->value, given, (size_t)g->given * sizeof *p->value);
    memcpy(p->unread, g->uses, n * sizeof *p->unread);
    return ASSAY_OK;
}

static void drop(double **data) {
    free(*data);
    *data = NULL;
}

void transformer_pass_clear(transformer_pass *p) {
    for (int32_t v = p->graph ? p->graph->given : 0; p->graph && v < p->graph->n_values; ++v) {
        free(p->value[v]);
        free(p->grad[v]);
    }
    free(p->value);
    free(p->grad);
    free(p->unread);
    *p = (transformer_pass){0};
}

/* A node's arrays as its oracle sees them: views of values or gradients. */
typedef struct views {
    int64_t size[NODE_INPUTS];
    double *data[NODE_INPUTS];
    assay_arrays arrays;
} views;

static void view(views *v, const transformer_graph *g, double *const *from, int32_t count,
                 const int32_t *which) {
    for (int32_t i = 0; i < count; ++i) {
        v->size[i] = g->size[which[i]];
        v->data[i] = from[which[i]];
    }
    v->arrays = (assay_arrays){.count = count, .size = v->size, .data = v->data};
}

/* ---- forward ---- */

/* Values that no node reads again, now or backward. */
static void drop_read(transformer_pass *p, const transformer_node *node) {
    for (int32_t i = 0; i < node->n_in; ++i) {
        const int32_t v = node->in[i];
        if (--p->unread[v] == 0 && v >= p->graph->given && !p->graph->kept[v])
            drop(&p->value[v]);
    }
}

static assay_status run_forward(transformer_pass *p, const transformer_node *node) {
    const transformer_graph *g = p->graph;
    for (int32_t i = 0; i < node->n_out; ++i) {
        p->value[node->out[i]] = allocate(g->size[node->out[i]]);
        if (!p->value[node->out[i]])
            return ASSAY_ERR_MEMORY;
    }
    views in, out;
    view(&in, g, p->value, node->n_in, node->in);
    view(&out, g, p->value, node->n_out, node->out);
    const assay_oracle_args args = {.params = &node->params, .sig = &node->sig, .in = &in.arrays};
    const assay_oracle forward = p->plain ? node->op->forward_plain : node->op->forward;
    assay_status status = forward(&args, &out.arrays);
    if (status == ASSAY_OK && p->hooks && p->hooks->forward)
        status = p->hooks->forward(p->hooks->context, node, &args, &out.arrays);
    drop_read(p, node);
    return status;
}

assay_status transformer_pass_forward(transformer_pass *p) {
    assay_status status = ASSAY_OK;
    for (int32_t n = 0; status == ASSAY_OK && n < p->graph->n_nodes; ++n)
        status = run_forward(p, &p->graph->node[n]);
    return status;
}

/* ---- backward ---- */

/* The contribution of a node's input goes to the value's gradient: it begins it, or is added. */
static assay_status contribute(transformer_pass *p, const transformer_node *node, int32_t slot,
                               double **contribution) {
    const int32_t v = node->in[slot];
    const int64_t size = p->graph->size[v];
    if (!p->grad[v]) {
        p->grad[v] = *contribution;
        *contribution = NULL;
        return ASSAY_OK;
    }
    for (int64_t e = 0; e < size; ++e)
        p->grad[v][e] += (*contribution)[e];
    if (p->hooks && p->hooks->sum)
        return p->hooks->sum(p->hooks->context, node, slot, p->grad[v], size);
    return ASSAY_OK;
}

static bool is_parameter(const transformer_pass *p, int32_t v) {
    return v < p->graph->sizes.parameters;
}

/* Room for the gradients of a node's inputs; those of parameters are the caller's. */
static assay_status allocate_gradients(transformer_pass *p, const transformer_node *node,
                                       views *result) {
    view(result, p->graph, p->grad, node->n_in, node->in);
    for (int32_t i = 0; i < node->n_in; ++i) {
        if (is_parameter(p, node->in[i]))
            continue;
        result->data[i] = NULL;
        if (transformer_has_gradient(node, i) &&
            !(result->data[i] = allocate(p->graph->size[node->in[i]])))
            return ASSAY_ERR_MEMORY;
    }
    return ASSAY_OK;
}

static assay_status run_backward(transformer_pass *p, const transformer_node *node) {
    views in, out, cot, result;
    view(&in, p->graph, p->value, node->n_in, node->in);
    view(&out, p->graph, p->value, node->n_out, node->out);
    view(&cot, p->graph, p->grad, node->n_out, node->out);
    const assay_oracle_args args = {.params = &node->params,
                                    .sig = &node->sig,
                                    .in = &in.arrays,
                                    .out = &out.arrays,
                                    .cot = &cot.arrays};
    const assay_oracle backward = p->plain ? node->op->backward_plain : node->op->backward;
    assay_status status = allocate_gradients(p, node, &result);
    if (status == ASSAY_OK)
        status = backward(&args, &result.arrays);
    if (status == ASSAY_OK && p->hooks && p->hooks->backward)
        status = p->hooks->backward(p->hooks->context, node, &args, &result.arrays);
    for (int32_t i = 0; i < node->n_in; ++i) {
        if (is_parameter(p, node->in[i]))
            continue;
        if (status == ASSAY_OK && result.data[i])
            status = contribute(p, node, i, &result.data[i]);
        free(result.data[i]);
    }
    for (int32_t i = 0; i < node->n_out; ++i) {
        drop(&p->value[node->out[i]]);
        drop(&p->grad[node->out[i]]);
    }
    return status;
}

assay_status transformer_pass_backward(transformer_pass *p, double dloss, double *const *grad) {
    const int32_t loss = p->graph->loss;
    memcpy(p->grad, grad, (size_t)p->graph->sizes.parameters * sizeof *grad);
    p->grad[loss] = allocate(1);
    if (!p->grad[loss])
        return ASSAY_ERR_MEMORY;
    p->grad[loss][0] = dloss;
    assay_status status = ASSAY_OK;
    for (int32_t n = p->graph->n_nodes - 1; status == ASSAY_OK && n >= 0; --n)
        status = run_backward(p, &p->graph->node[n]);
    return status;
}
