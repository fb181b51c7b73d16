#include "oracles/transformer/training.h"

#include <stdlib.h>
#include <string.h>

assay_status transformer_parameters_init(assay_arrays *arrays, const assay_oracle_args *args) {
    const int32_t count = transformer_sizes_of(args->params).parameters;
    assay_status status = assay_arrays_init(arrays, count);
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i)
        status = assay_arrays_add(arrays, i, args->in->size[TRANSFORMER_FIRST + i]);
    if (status != ASSAY_OK)
        assay_arrays_clear(arrays);
    return status;
}

assay_status transformer_state_init(transformer_state *state, const assay_oracle_args *args) {
    *state = (transformer_state){0};
    assay_status status = transformer_parameters_init(&state->p, args);
    if (status == ASSAY_OK)
        status = transformer_parameters_init(&state->m, args);
    if (status == ASSAY_OK)
        status = transformer_parameters_init(&state->v, args);
    if (status != ASSAY_OK) {
        transformer_state_clear(state);
        return status;
    }
    for (int32_t i = 0; i < state->p.count; ++i)
        memcpy(state->p.data[i], args->in->data[TRANSFORMER_FIRST + i],
               (size_t)state->p.size[i] * sizeof(double));
    return ASSAY_OK;
}

void transformer_state_clear(transformer_state *state) {
    assay_arrays_clear(&state->p);
    assay_arrays_clear(&state->m);
    assay_arrays_clear(&state->v);
}

double **transformer_given(const assay_oracle_args *args, double *const *parameters,
                           int64_t batch) {
    const transformer_sizes s = transformer_sizes_of(args->params);
    const size_t n = (size_t)s.parameters;
    double **given = malloc((n + 2) * sizeof *given);
    if (!given) {
        (void)assay_fail(ASSAY_ERR_MEMORY, "out of memory for a list of %zu tensors", n);
        return NULL;
    }
    memcpy(given, parameters, n * sizeof *given);
    given[n] = args->in->data[TRANSFORMER_TOKENS] + batch * s.tokens;
    given[n + 1] = args->in->data[TRANSFORMER_TARGET] + batch * s.tokens;
    return given;
}

void transformer_adamw(const transformer_sizes *s, int64_t count, int64_t step,
                       assay_params *params) {
    const transformer_setting settings[] = {
        {"n", (double)count}, {"step", (double)step}, {"lr", s->lr}, {"beta1", 0.9},
        {"beta2", 0.999},     {"eps", 1e-8},          {"wd", s->wd}, {NULL, 0}};
    transformer_params(assay_op_find("adamw", strlen("adamw")), settings, params);
}

/* The old arrays go where the new ones came from. */
static void exchange(double **a, double **b) {
    double *held = *a;
    *a = *b;
    *b = held;
}

assay_status transformer_update_one(transformer_state *state, int32_t i, const assay_params *params,
                                    double *gradient, bool plain, const assay_rounding *r,
                                    assay_bounds *bounds) {
    const assay_op *adamw = assay_op_find("adamw", strlen("adamw"));
    int64_t size[ADAMW_INPUTS];
    double *data[ADAMW_INPUTS] = {state->p.data[i], gradient, state->m.data[i], state->v.data[i]};
    for (int32_t k = 0; k < ADAMW_INPUTS; ++k)
        size[k] = state->p.size[i];
    const assay_arrays in = {.count = ADAMW_INPUTS, .size = size, .data = data};
    const assay_oracle_args args = {.params = params, .in = &in};
    assay_arrays out;
    assay_status status = assay_arrays_init(&out, ADAMW_OUTPUTS);
    for (int32_t k = 0; status == ASSAY_OK && k < ADAMW_OUTPUTS; ++k)
        status = assay_arrays_add(&out, k, size[0]);
    if (status == ASSAY_OK)
        status = plain ? adamw->forward_plain(&args, &out) : adamw->forward(&args, &out);
    if (status == ASSAY_OK && bounds)
        status = adamw->forward_bound(&args, r, &out, bounds);
    if (status == ASSAY_OK && bounds)
        status = adamw->outside(&args, r, bounds, NULL);
    if (status == ASSAY_OK) {
        exchange(&state->p.data[i], &out.data[ADAMW_NEW_P]);
        exchange(&state->m.data[i], &out.data[ADAMW_NEW_M]);
        exchange(&state->v.data[i], &out.data[ADAMW_NEW_V]);
    }
    assay_arrays_clear(&out);
    return status;
}

assay_status transformer_update(transformer_state *state, const transformer_sizes *s, int64_t step,
                                const assay_arrays *gradient, bool plain) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < state->p.count; ++i) {
        assay_params params;
        transformer_adamw(s, state->p.size[i], step, &params);
        status = transformer_update_one(state, i, &params, gradient->data[i], plain, NULL, NULL);
    }
    return status;
}
