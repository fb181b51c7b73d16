/* transformer: forward, backward and training in fp64, by the operators' oracles or their twins. */
#include "oracles/transformer/training.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The graph of a case. The last one is kept: the search for trivial solutions asks for one case a
 * thousand times, and a deep model's graph takes longer to build than a pass through a small one.
 */
typedef struct kept_graph {
    assay_params params;
    transformer_graph graph;
} kept_graph;

static _Atomic(kept_graph *) spare;

static void keep_graph(kept_graph *k) {
    k = atomic_exchange(&spare, k);
    if (k)
        transformer_graph_clear(&k->graph);
    free(k);
}

/* Until keep_graph(). Padding may differ, and then the graph is built again. */
static assay_status take_graph(const assay_params *params, kept_graph **out) {
    kept_graph *k = atomic_exchange(&spare, NULL);
    if (k && memcmp(&k->params, params, sizeof *params) == 0) {
        *out = k;
        return ASSAY_OK;
    }
    if (k)
        transformer_graph_clear(&k->graph);
    else
        k = malloc(sizeof *k);
    if (!k)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a graph");
    memcpy(&k->params, params, sizeof *params);
    const assay_status status = transformer_graph_init(&k->graph, params);
    if (status != ASSAY_OK)
        free(k);
    *out = k;
    return status;
}

/* A pass over one batch, forward and, where `gradient` is not NULL, backward. */
typedef struct run {
    const transformer_graph *graph;
    const assay_oracle_args *args;
    bool plain;
} run;

static assay_status pass_over(const run *r, double *const *parameters, int64_t batch, double dloss,
                              double *logits, double *loss, assay_arrays *gradient) {
    const transformer_graph *g = r->graph;
    transformer_pass pass = {0};
    double **given = transformer_given(r->args, parameters, batch);
    assay_status status = given ? transformer_pass_init(&pass, g, given) : ASSAY_ERR_MEMORY;
    pass.plain = r->plain;
    if (status == ASSAY_OK)
        status = transformer_pass_forward(&pass);
    if (status == ASSAY_OK && logits)
        memcpy(logits, pass.value[g->logits], (size_t)g->size[g->logits] * sizeof *logits);
    if (status == ASSAY_OK && loss)
        *loss = pass.value[g->loss][0];
    if (status == ASSAY_OK && gradient)
        status = transformer_pass_backward(&pass, dloss, gradient->data);
    transformer_pass_clear(&pass);
    free(given);
    return status;
}

static assay_status train(const run *r, assay_arrays *result) {
    const transformer_sizes *s = &r->graph->sizes;
    transformer_state state;
    assay_arrays gradient = {0};
    assay_status status = transformer_state_init(&state, r->args);
    if (status == ASSAY_OK)
        status = transformer_parameters_init(&gradient, r->args);
    for (int64_t step = 0; status == ASSAY_OK && step < s->steps; ++step) {
        status = pass_over(r, state.p.data, step % s->batches, 1, NULL,
                           &result->data[TRANSFORMER_LOSSES][step], &gradient);
        if (status == ASSAY_OK)
            status = transformer_update(&state, s, step + 1, &gradient, r->plain);
    }
    for (int32_t i = 0; status == ASSAY_OK && i < s->parameters; ++i)
        memcpy(result->data[TRANSFORMER_FIRST_NEW + i], state.p.data[i],
               (size_t)state.p.size[i] * sizeof(double));
    transformer_state_clear(&state);
    assay_arrays_clear(&gradient);
    return status;
}

static assay_status forward_by(const assay_oracle_args *args, bool plain, assay_arrays *result) {
    kept_graph *k;
    assay_status status = take_graph(args->params, &k);
    if (status != ASSAY_OK)
        return status;
    const run r = {&k->graph, args, plain};
    if (k->graph.sizes.steps > 0)
        status = train(&r, result);
    else
        status = pass_over(&r, args->in->data + TRANSFORMER_FIRST, 0, 0,
                           result->data[TRANSFORMER_LOGITS], result->data[TRANSFORMER_LOSS], NULL);
    keep_graph(k);
    return status;
}

/* Nothing has a gradient after a training. */
static assay_status backward_by(const assay_oracle_args *args, bool plain, assay_arrays *result) {
    kept_graph *k;
    if (transformer_sizes_of(args->params).steps > 0)
        return ASSAY_OK;
    assay_status status = take_graph(args->params, &k);
    if (status != ASSAY_OK)
        return status;
    const run r = {&k->graph, args, plain};
    assay_arrays gradient = {.count = k->graph.sizes.parameters,
                             .size = result->size + TRANSFORMER_FIRST,
                             .data = result->data + TRANSFORMER_FIRST};
    status = pass_over(&r, args->in->data + TRANSFORMER_FIRST, 0,
                       args->cot->data[TRANSFORMER_LOSS][0], NULL, NULL, &gradient);
    keep_graph(k);
    return status;
}

assay_status transformer_forward(const assay_oracle_args *args, assay_arrays *result) {
    return forward_by(args, false, result);
}

assay_status transformer_forward_plain(const assay_oracle_args *args, assay_arrays *result) {
    return forward_by(args, true, result);
}

assay_status transformer_backward(const assay_oracle_args *args, assay_arrays *result) {
    return backward_by(args, false, result);
}

assay_status transformer_backward_plain(const assay_oracle_args *args, assay_arrays *result) {
    return backward_by(args, true, result);
}
