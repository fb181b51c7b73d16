#include "oracles/transformer/local.h"
#include "oracles/common/bound.h"
#include "oracles/rmsnorm/rmsnorm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static assay_status limits_init(transformer_limits *l, const transformer_graph *g,
                                const assay_rounding *r) {
    const size_t slots = (size_t)g->n_nodes * NODE_INPUTS;
    l->rounding = *r;
    l->value = calloc((size_t)g->n_values, sizeof *l->value);
    l->contribution = calloc(slots, sizeof *l->contribution);
    l->sum = calloc(slots, sizeof *l->sum);
    if (l->value && l->contribution && l->sum)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the bounds of %d values", g->n_values);
}

assay_status transformer_local_init(transformer_local *l, const transformer_graph *g,
                                    const assay_rounding *r) {
    assay_rounding each = *r;
    each.zero_mean = false; /* activations are no random walks, whatever the data were */
    assay_rounding common = each;
    common.u_out = common.product = 0;
    *l = (transformer_local){.graph = g, .product = r->product};
    l->inverse = calloc((size_t)g->n_nodes, sizeof *l->inverse);
    assay_status status = limits_init(&l->each, g, &each);
    if (status == ASSAY_OK)
        status = limits_init(&l->common, g, &common);
    if (status == ASSAY_OK)
        status = transformer_ends_init(&l->ends, g);
    if (status == ASSAY_OK && !l->inverse)
        status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for the rows of %d nodes", g->n_nodes);
    return status;
}

static void clear_list(double **list, int32_t count) {
    for (int32_t i = 0; list && i < count; ++i)
        free(list[i]);
    free(list);
}

static void limits_clear(transformer_limits *l, const transformer_graph *g) {
    clear_list(l->value, g->n_values);
    clear_list(l->contribution, g->n_nodes * NODE_INPUTS);
    clear_list(l->sum, g->n_nodes * NODE_INPUTS);
}

void transformer_local_clear(transformer_local *l) {
    if (l->graph) {
        limits_clear(&l->each, l->graph);
        limits_clear(&l->common, l->graph);
        clear_list(l->inverse, l->graph->n_nodes);
        transformer_ends_clear(&l->ends);
    }
    *l = (transformer_local){0};
}

int32_t transformer_slot(const transformer_local *l, const transformer_node *node, int32_t slot) {
    return (int32_t)(node - l->graph->node) * NODE_INPUTS + slot;
}

const double *transformer_local_gradient(const transformer_local *l, int32_t parameter) {
    for (int32_t n = 0; n < l->graph->n_nodes; ++n)
        for (int32_t i = 0; i < l->graph->node[n].n_in; ++i)
            if (l->graph->node[n].in[i] == parameter)
                return l->each.contribution[n * NODE_INPUTS + i];
    return NULL;
}

/* ---- measuring ---- */

/* A bound becomes a limit. A value that is not finite is not disturbed: no bound counts where it
 * leads. */
static void keep(double **limit, double **bound, const double *value, int64_t size,
                 double product) {
    for (int64_t e = 0; e < size; ++e) {
        const double sum = (*bound)[e] + product * fabs(value[e]);
        (*bound)[e] = isfinite(sum) ? sum : 0;
    }
    free(*limit);
    *limit = *bound;
    *bound = NULL;
}

/* An operator's own bound of each of its results, kept in `limit`. */
static assay_status measure(const assay_rounding *r, double product, assay_bounder bounder,
                            const assay_oracle_args *args, const assay_arrays *result,
                            double **const *limit) {
    assay_bounds bounds = {0};
    assay_status status = assay_bounds_init(&bounds, result->count);
    for (int32_t i = 0; status == ASSAY_OK && i < result->count; ++i)
        if (result->data[i])
            status = assay_arrays_add(&bounds.element, i, result->size[i]);
    if (status == ASSAY_OK)
        status = bounder(args, r, result, &bounds);
    for (int32_t i = 0; status == ASSAY_OK && i < result->count; ++i)
        if (result->data[i])
            keep(limit[i], &bounds.element.data[i], result->data[i], result->size[i], product);
    assay_bounds_clear(&bounds);
    return status;
}

/* Both limits of a node's values or contributions; bounder NULL: they are exact. */
static assay_status measure_both(const transformer_local *l, assay_bounder bounder,
                                 const assay_oracle_args *args, const assay_arrays *result,
                                 double **const *each, double **const *common) {
    if (!bounder)
        return ASSAY_OK;
    const assay_status status = measure(&l->each.rounding, 0, bounder, args, result, each);
    return status == ASSAY_OK
               ? measure(&l->common.rounding, l->product, bounder, args, result, common)
               : status;
}

/* Keeps s of the rows that a node normalises. */
static assay_status keep_inverse(const transformer_local *l, const transformer_node *node,
                                 const assay_oracle_args *args) {
    if (strcmp(node->op->name, "rmsnorm") != 0)
        return ASSAY_OK;
    const rmsnorm_sizes s = rmsnorm_sizes_of(args->params);
    double **kept = &l->inverse[node - l->graph->node];
    free(*kept);
    *kept = malloc((size_t)s.rows * sizeof **kept + 1);
    if (!*kept)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the rows of a norm");
    for (int64_t i = 0; i < s.rows; ++i)
        (*kept)[i] = rmsnorm_inverse(&s, args->in->data[RMSNORM_X] + i * s.d);
    return ASSAY_OK;
}

static assay_status measure_forward(void *context, const transformer_node *node,
                                    const assay_oracle_args *args, assay_arrays *result) {
    transformer_local *l = context;
    assay_status status = keep_inverse(l, node, args);
    if (status == ASSAY_OK)
        status = transformer_ends_forward(&l->ends, node, args, &l->each.rounding);
    if (status != ASSAY_OK)
        return status;
    double **each[NODE_OUTPUTS], **common[NODE_OUTPUTS];
    for (int32_t i = 0; i < node->n_out; ++i) {
        each[i] = &l->each.value[node->out[i]];
        common[i] = &l->common.value[node->out[i]];
    }
    return measure_both(l, node->op->forward_bound, args, result, each, common);
}

static assay_status measure_backward(void *context, const transformer_node *node,
                                     const assay_oracle_args *args, assay_arrays *result) {
    transformer_local *l = context;
    double **each[NODE_INPUTS], **common[NODE_INPUTS];
    for (int32_t i = 0; i < node->n_in; ++i) {
        each[i] = &l->each.contribution[transformer_slot(l, node, i)];
        common[i] = &l->common.contribution[transformer_slot(l, node, i)];
    }
    assay_status status = transformer_ends_backward(&l->ends, node, args, &l->each.rounding);
    if (status == ASSAY_OK)
        status = measure_both(l, node->op->backward_bound, args, result, each, common);
    /* Without training no one takes on the gradients of parameters: the largest arrays of all. */
    for (int32_t i = 0; i < node->n_in; ++i) {
        if (l->graph->sizes.steps > 0 || node->in[i] >= l->graph->sizes.parameters)
            continue;
        free(*common[i]);
        *common[i] = NULL;
    }
    return status;
}

static assay_status measure_rounding(const assay_rounding *r, const double *sum, int64_t size,
                                     double **limit) {
    const double once = assay_accumulation(r, 1);
    assay_arrays one;
    assay_status status = assay_arrays_init(&one, 1);
    if (status == ASSAY_OK)
        status = assay_arrays_add(&one, 0, size);
    if (status == ASSAY_OK) {
        for (int64_t e = 0; e < size; ++e)
            one.data[0][e] = assay_bound_element(r, once, 1, fabs(sum[e]), sum[e]);
        keep(limit, &one.data[0], sum, size, 0);
    }
    assay_arrays_clear(&one);
    return status;
}

static assay_status measure_sum(void *context, const transformer_node *node, int32_t slot,
                                double *sum, int64_t size) {
    transformer_local *l = context;
    const int32_t at = transformer_slot(l, node, slot);
    transformer_ends_sum(&l->ends, node, slot, sum, size, &l->each.rounding);
    const assay_status status = measure_rounding(&l->each.rounding, sum, size, &l->each.sum[at]);
    return status == ASSAY_OK ? measure_rounding(&l->common.rounding, sum, size, &l->common.sum[at])
                              : status;
}

transformer_hooks transformer_measuring(transformer_local *l) {
    return (transformer_hooks){
        .context = l, .forward = measure_forward, .backward = measure_backward, .sum = measure_sum};
}
