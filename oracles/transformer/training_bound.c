/*
 * transformer: bounds of a training. The disturbed runs train as well, all of them step by step
 * beside the exact one: each with its own parameters, which AdamW moves by its own gradients, all
 * disturbed. Their losses bound the losses, and their gradients each step's gradients; how far
 * these let the parameters go is carried by itself (transformer_carry.h).
 */
#include "oracles/transformer/training_bound.h"
#include "oracles/common/bound.h"
#include "oracles/transformer/carry.h"
#include "oracles/transformer/local.h"
#include "oracles/transformer/training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct study {
    const assay_oracle_args *args;
    assay_rounding of_adamw; /* fp32, or fp64, throughout */
    transformer_graph graph;
    transformer_local local; /* of this step */
    transformer_state exact, runs[TRANSFORMER_RUNS];
    transformer_state errors;   /* of the exact state's elements, so far */
    assay_bounds *own;          /* adamw's, of each parameter in this step */
    transformer_spread *spread; /* of each gradient in this step */
    assay_arrays gradient, disturbed, copies;
    char (*ended)[ASSAY_WHY]; /* of each parameter, by now: why the definition says nothing of it */
    char losses_ended[ASSAY_WHY]; /* of one of the losses */
    bool astray; /* a disturbed run went so far that none says anything from that step on */
} study;

static assay_rounding adamw_rounding(assay_rounding r) {
    r.u_out = r.product = 0;
    r.tensor_core = false;
    return r;
}

static assay_status own_init(study *s) {
    s->own = calloc((size_t)s->graph.sizes.parameters, sizeof *s->own);
    s->ended = calloc((size_t)s->graph.sizes.parameters, sizeof *s->ended);
    if (!s->own || !s->ended)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the bounds of AdamW");
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < s->graph.sizes.parameters; ++i) {
        status = assay_bounds_init(&s->own[i], ADAMW_OUTPUTS);
        for (int32_t k = 0; status == ASSAY_OK && k < ADAMW_OUTPUTS; ++k)
            status = assay_arrays_add(&s->own[i].element, k, s->exact.p.size[i]);
    }
    return status;
}

static void zero(assay_arrays *arrays) {
    for (int32_t i = 0; i < arrays->count; ++i)
        memset(arrays->data[i], 0, (size_t)arrays->size[i] * sizeof(double));
}

/* Refused before anything is allocated: the system would grant it, and end the process later. */
static assay_status fits_host(const study *s) {
    enum { STATE = 3, OTHERS = 12 }; /* arrays of a run, and of the exact one beside its state */
    double parameters = 0;
    for (int32_t i = 0; i < s->graph.sizes.parameters; ++i)
        parameters += (double)s->graph.size[i];
    const double need = parameters * sizeof(double) * (STATE * (TRANSFORMER_RUNS + 1) + OTHERS);
    const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (need <= there)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY,
                      "transformer: the bounds of a training keep %d disturbed ones, which take "
                      "%.0f GiB for %.3g parameters; choose a smaller size, or steps=0",
                      TRANSFORMER_RUNS, need / 0x1p30, parameters);
}

static assay_status study_init(study *s, const assay_oracle_args *args, const assay_rounding *r) {
    *s = (study){.args = args, .of_adamw = adamw_rounding(*r)};
    assay_status status = transformer_graph_init(&s->graph, args->params);
    if (status == ASSAY_OK)
        status = fits_host(s);
    if (status == ASSAY_OK)
        status = transformer_state_init(&s->exact, args);
    for (int32_t run = 0; status == ASSAY_OK && run < TRANSFORMER_RUNS; ++run)
        status = transformer_state_init(&s->runs[run], args);
    if (status == ASSAY_OK)
        status = transformer_state_init(&s->errors, args);
    if (status == ASSAY_OK)
        status = own_init(s);
    if (status == ASSAY_OK)
        status = transformer_parameters_init(&s->gradient, args);
    if (status == ASSAY_OK)
        status = transformer_parameters_init(&s->disturbed, args);
    if (status == ASSAY_OK && r->u_out > 0)
        status = transformer_parameters_init(&s->copies, args);
    if (status == ASSAY_OK)
        zero(&s->errors.p);
    return status;
}

static void study_clear(study *s) {
    for (int32_t i = 0; s->own && i < s->graph.sizes.parameters; ++i)
        assay_bounds_clear(&s->own[i]);
    free(s->own);
    free(s->ended);
    for (int32_t run = 0; run < TRANSFORMER_RUNS; ++run)
        transformer_state_clear(&s->runs[run]);
    transformer_state_clear(&s->exact);
    transformer_state_clear(&s->errors);
    assay_arrays_clear(&s->gradient);
    assay_arrays_clear(&s->disturbed);
    assay_arrays_clear(&s->copies);
    transformer_graph_clear(&s->graph);
}

static assay_status pass_over(study *s, int64_t step, const assay_arrays *parameters,
                              const transformer_hooks *hooks, const assay_arrays *gradient) {
    transformer_pass pass = {0};
    double **given = transformer_given(s->args, parameters->data, step % s->graph.sizes.batches);
    assay_status status = given ? transformer_pass_init(&pass, &s->graph, given) : ASSAY_ERR_MEMORY;
    pass.hooks = hooks;
    if (status == ASSAY_OK)
        status = transformer_pass_forward(&pass);
    if (status == ASSAY_OK)
        status = transformer_pass_backward(&pass, 1, gradient->data);
    transformer_pass_clear(&pass);
    free(given);
    return status;
}

/* A parameter whose gradient, or own step, is undefined has no definition from that step on. */
static void end_parameter(study *s, int32_t i) {
    transformer_end(s->local.ends.gradient[i], s->ended[i]);
    for (int32_t k = 0; k < ADAMW_OUTPUTS; ++k)
        transformer_end(s->own[i].outside[k], s->ended[i]);
}

/* The exact step, with what an operator may be off in it, AdamW included. */
static assay_status measure(study *s, int64_t step) {
    const transformer_hooks measuring = transformer_measuring(&s->local);
    memcpy(s->local.ends.value, s->ended, (size_t)s->exact.p.count * sizeof *s->ended);
    assay_status status = pass_over(s, step, &s->exact.p, &measuring, &s->gradient);
    for (int32_t i = 0; status == ASSAY_OK && i < s->exact.p.count; ++i) {
        assay_params adamw;
        transformer_adamw(&s->graph.sizes, s->exact.p.size[i], step + 1, &adamw);
        status = transformer_update_one(&s->exact, i, &adamw, s->gradient.data[i], false,
                                        &s->of_adamw, &s->own[i]);
        if (status == ASSAY_OK)
            end_parameter(s, i);
    }
    transformer_end(s->local.ends.value[s->graph.loss], s->losses_ended);
    return status;
}

/* The step of one disturbed run. */
static assay_status follow(study *s, transformer_disturbance *d) {
    transformer_state *state = &s->runs[d->run];
    const assay_arrays *parameters = &state->p;
    const transformer_hooks hooks = transformer_disturbing(d);
    if (s->copies.count > 0) {
        transformer_disturb_copies(d, &state->p, &s->copies);
        parameters = &s->copies;
    }
    assay_status status = pass_over(s, d->step, parameters, &hooks, &s->disturbed);
    if (status == ASSAY_OK)
        status = transformer_update(state, &s->graph.sizes, d->step + 1, &s->disturbed, false);
    for (int32_t i = 0; status == ASSAY_OK && i < state->p.count; ++i) {
        double *const *own = s->own[i].element.data;
        transformer_disturb(d, i, PLACE_P, own[ADAMW_NEW_P], state->p.data[i], state->p.size[i]);
        transformer_disturb(d, i, PLACE_M, own[ADAMW_NEW_M], state->m.data[i], state->m.size[i]);
        transformer_disturb(d, i, PLACE_V, own[ADAMW_NEW_V], state->v.data[i], state->v.size[i]);
        for (int64_t e = 0; e < state->v.size[i]; ++e)
            state->v.data[i][e] = fmax(state->v.data[i][e], 0);
    }
    return status;
}

/* The errors of a parameter's elements over this step, whose exact p, m and v are the new ones. */
static void carry(study *s, int64_t step, int32_t i) {
    assay_params adamw;
    transformer_adamw(&s->graph.sizes, s->exact.p.size[i], step + 1, &adamw);
    const transformer_rule rule = transformer_rule_of(&adamw, s->of_adamw.u);
    double *const *own = s->own[i].element.data;
    double *of_g = s->disturbed.data[i]; /* its last run is over */
    transformer_spread_bound(&s->spread[i], transformer_local_gradient(&s->local, i), s->astray,
                             of_g);
    transformer_spread_outside(s->astray, of_g, s->exact.p.size[i], s->ended[i]);
    for (int64_t e = 0; e < s->exact.p.size[i]; ++e) {
        const transformer_errors before = {s->errors.p.data[i][e], s->errors.m.data[i][e],
                                           s->errors.v.data[i][e]};
        const transformer_errors rounding = {own[ADAMW_NEW_P][e], own[ADAMW_NEW_M][e],
                                             own[ADAMW_NEW_V][e]};
        const transformer_errors after =
            transformer_carry(&rule, before, s->gradient.data[i][e], of_g[e], s->exact.m.data[i][e],
                              s->exact.v.data[i][e], rounding);
        s->errors.p.data[i][e] = after.p;
        s->errors.m.data[i][e] = after.m;
        s->errors.v.data[i][e] = after.v;
    }
}

/* One step of all runs. */
static assay_status take_step(study *s, int64_t step, const assay_rounding *r, const double *loss,
                              double *loss_bound) {
    transformer_spread of_loss = {0};
    s->spread = transformer_spreads(s->args);
    assay_status status = s->spread ? ASSAY_OK : ASSAY_ERR_MEMORY;
    if (status == ASSAY_OK)
        status = transformer_spread_init(&of_loss, 1, 1);
    if (status == ASSAY_OK)
        status = transformer_local_init(&s->local, &s->graph, r);
    if (status == ASSAY_OK)
        status = measure(s, step);
    for (int32_t run = 0; status == ASSAY_OK && run < TRANSFORMER_RUNS; ++run) {
        transformer_disturbance d = {.local = &s->local,
                                     .run = run,
                                     .step = step,
                                     .gain = transformer_gain(r),
                                     .astray = &s->astray,
                                     .of_gradients = s->spread,
                                     .gradients = s->gradient.data,
                                     .of_loss = &of_loss,
                                     .loss = loss};
        status = follow(s, &d);
    }
    if (status == ASSAY_OK)
        transformer_spread_bound(&of_loss, s->local.each.value[s->graph.loss], s->astray,
                                 loss_bound);
    for (int32_t i = 0; status == ASSAY_OK && i < s->exact.p.count; ++i)
        carry(s, step, i);
    transformer_local_clear(&s->local);
    transformer_spreads_free(s->spread, s->graph.sizes.parameters);
    transformer_spread_clear(&of_loss);
    return status;
}

assay_status transformer_training_bound(const assay_oracle_args *args, const assay_rounding *r,
                                        const assay_arrays *want, assay_bounds *bounds) {
    study s;
    assay_status status = study_init(&s, args, r);
    for (int64_t step = 0; status == ASSAY_OK && step < s.graph.sizes.steps; ++step)
        status = take_step(&s, step, r, &want->data[TRANSFORMER_LOSSES][step],
                           &bounds->element.data[TRANSFORMER_LOSSES][step]);
    if (status == ASSAY_OK) {
        transformer_spread_why(s.astray, bounds, TRANSFORMER_LOSSES);
        transformer_end(s.losses_ended, bounds->outside[TRANSFORMER_LOSSES]);
    }
    for (int32_t i = 0; status == ASSAY_OK && i < s.exact.p.count; ++i) {
        const int32_t out = TRANSFORMER_FIRST_NEW + i;
        memcpy(bounds->element.data[out], s.errors.p.data[i],
               (size_t)s.errors.p.size[i] * sizeof(double));
        snprintf(bounds->why[out], ASSAY_WHY,
                 "sum over the steps of what AdamW's update is off at the worst corner of m and v, "
                 "given each gradient's bound from %d disturbed trainings, and of its own rounding",
                 TRANSFORMER_RUNS);
        transformer_end(s.ended[i], bounds->outside[out]);
    }
    study_clear(&s);
    return status;
}
