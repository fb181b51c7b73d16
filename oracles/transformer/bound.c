/*
 * transformer: bounds by disturbed runs (transformer_spread.h), without training. Carried to first
 * order through a deep model, worst cases of worst cases say nothing; here the model itself says
 * how far errors of its parts reach.
 */
#include "oracles/transformer/local.h"
#include "oracles/transformer/training.h"
#include "oracles/transformer/training_bound.h"

#include <stdlib.h>
#include <string.h>

/* One batch: the exact pass that measures, then the disturbed ones. */
typedef struct study {
    transformer_graph graph;
    transformer_local local;
    assay_arrays parameters; /* views of the case's own */
    assay_arrays copies;     /* of them, where kernels round copies */
    const assay_oracle_args *args;
    bool astray; /* a disturbed run went so far that none says anything */
} study;

static assay_status study_init(study *s, const assay_oracle_args *args, const assay_rounding *r) {
    *s = (study){.args = args};
    assay_status status = transformer_graph_init(&s->graph, args->params);
    s->parameters = (assay_arrays){.count = s->graph.sizes.parameters,
                                   .size = args->in->size + TRANSFORMER_FIRST,
                                   .data = args->in->data + TRANSFORMER_FIRST};
    if (status == ASSAY_OK)
        status = transformer_local_init(&s->local, &s->graph, r);
    if (status == ASSAY_OK && r->u_out > 0)
        status = transformer_parameters_init(&s->copies, args);
    return status;
}

static void study_clear(study *s) {
    assay_arrays_clear(&s->copies);
    transformer_local_clear(&s->local);
    transformer_graph_clear(&s->graph);
}

/* `gradient` NULL: forward only. */
static assay_status pass_over(study *s, const assay_arrays *parameters,
                              const transformer_hooks *hooks, const assay_arrays *gradient) {
    transformer_pass pass = {0};
    double **given = transformer_given(s->args, parameters->data, 0);
    assay_status status = given ? transformer_pass_init(&pass, &s->graph, given) : ASSAY_ERR_MEMORY;
    pass.hooks = hooks;
    if (status == ASSAY_OK)
        status = transformer_pass_forward(&pass);
    if (status == ASSAY_OK && gradient)
        status = transformer_pass_backward(&pass, s->args->cot->data[TRANSFORMER_LOSS][0],
                                           gradient->data);
    transformer_pass_clear(&pass);
    free(given);
    return status;
}

/* `exact` has what the disturbance records; `gradient` is room for each pass's own. */
static assay_status run_all(study *s, transformer_disturbance exact, const assay_arrays *gradient) {
    const transformer_hooks measuring = transformer_measuring(&s->local);
    assay_status status = pass_over(s, &s->parameters, &measuring, gradient);
    exact.local = &s->local;
    exact.gain = transformer_gain(&s->local.each.rounding);
    exact.astray = &s->astray;
    for (int32_t run = 0; status == ASSAY_OK && run < TRANSFORMER_RUNS; ++run) {
        const assay_arrays *parameters = &s->parameters;
        transformer_disturbance d = exact;
        d.run = run;
        if (s->copies.count > 0) {
            transformer_disturb_copies(&d, &s->parameters, &s->copies);
            parameters = &s->copies;
        }
        const transformer_hooks hooks = transformer_disturbing(&d);
        status = pass_over(s, parameters, &hooks, gradient);
    }
    return status;
}

static assay_status study_forward(study *s, const assay_arrays *want, assay_bounds *bounds) {
    transformer_spread logits = {0}, loss = {0};
    assay_status status =
        transformer_spread_init(&logits, want->size[TRANSFORMER_LOGITS], s->graph.sizes.vocab);
    if (status == ASSAY_OK)
        status = transformer_spread_init(&loss, 1, 1);
    const transformer_disturbance exact = {.of_logits = &logits,
                                           .of_loss = &loss,
                                           .logits = want->data[TRANSFORMER_LOGITS],
                                           .loss = want->data[TRANSFORMER_LOSS]};
    if (status == ASSAY_OK)
        status = run_all(s, exact, NULL);
    if (status == ASSAY_OK) {
        transformer_spread_bound(&logits, s->local.each.value[s->graph.logits], s->astray,
                                 bounds->element.data[TRANSFORMER_LOGITS]);
        transformer_spread_bound(&loss, s->local.each.value[s->graph.loss], s->astray,
                                 bounds->element.data[TRANSFORMER_LOSS]);
        transformer_spread_why(s->astray, bounds, TRANSFORMER_LOGITS);
        transformer_spread_why(s->astray, bounds, TRANSFORMER_LOSS);
        transformer_end(s->local.ends.value[s->graph.logits], bounds->outside[TRANSFORMER_LOGITS]);
        transformer_end(s->local.ends.value[s->graph.loss], bounds->outside[TRANSFORMER_LOSS]);
    }
    transformer_spread_clear(&logits);
    transformer_spread_clear(&loss);
    return status;
}

assay_status transformer_forward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                       const assay_arrays *want, assay_bounds *bounds) {
    if (transformer_sizes_of(args->params).steps > 0)
        return transformer_training_bound(args, r, want, bounds);
    study s;
    assay_status status = study_init(&s, args, r);
    if (status == ASSAY_OK)
        status = study_forward(&s, want, bounds);
    study_clear(&s);
    return status;
}

/* Until they are known, the bounds are room for the gradients of each pass. */
static assay_status study_backward(study *s, const assay_arrays *want, assay_bounds *bounds) {
    const int32_t count = s->graph.sizes.parameters;
    const assay_arrays gradient = {.count = count,
                                   .size = bounds->element.size + TRANSFORMER_FIRST,
                                   .data = bounds->element.data + TRANSFORMER_FIRST};
    transformer_spread *spread = transformer_spreads(s->args);
    const transformer_disturbance exact = {.of_gradients = spread,
                                           .gradients = want->data + TRANSFORMER_FIRST};
    assay_status status = spread ? run_all(s, exact, &gradient) : ASSAY_ERR_MEMORY;
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        transformer_spread_bound(&spread[i], transformer_local_gradient(&s->local, i), s->astray,
                                 gradient.data[i]);
        transformer_spread_why(s->astray, bounds, TRANSFORMER_FIRST + i);
        transformer_end(s->local.ends.gradient[i], bounds->outside[TRANSFORMER_FIRST + i]);
    }
    transformer_spreads_free(spread, count);
    return status;
}

assay_status transformer_backward_bound(const assay_oracle_args *args, const assay_rounding *r,
                                        const assay_arrays *want, assay_bounds *bounds) {
    if (transformer_sizes_of(args->params).steps > 0)
        return ASSAY_OK;
    study s;
    assay_status status = study_init(&s, args, r);
    if (status == ASSAY_OK)
        status = study_backward(&s, want, bounds);
    study_clear(&s);
    return status;
}
