#include "bench/transformer/model.h"
#include "tests/engine/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS, TARGET, PARAMETERS };
enum { BLOCK = 1 << 22 }; /* random numbers that every tensor is made of, in turn */

const char *scenario_name(scenario s) {
    static const char *const names[SCENARIOS] = {"forward", "forward_backward", "full_step"};
    return names[s];
}

static assay_tensor dense(const assay_tensor_spec *spec) {
    assay_tensor t = {.dtype = spec->dtype, .rank = spec->rank, .inner = spec->inner};
    int64_t stride = 1;
    for (int32_t a = spec->rank - 1; a >= 0; --a) {
        t.shape[a] = spec->shape[a];
        t.stride[a] = stride;
        stride *= spec->shape[a];
    }
    return t;
}

static size_t bytes_of(const assay_tensor *t) {
    return (size_t)assay_tensor_count(t) * assay_dtype_size(t->dtype);
}

/* Device memory, added to what is held. */
static assay_status allocate(const assay_device *device, size_t bytes, void **memory,
                             size_t *held) {
    const assay_status status = device->alloc(bytes, memory);
    if (status == ASSAY_OK)
        *held += bytes;
    return status;
}

/* ---- data ---- */

/* Uniform of variance 1. */
static float *random_block(void) {
    float *block = malloc(BLOCK * sizeof *block);
    for (int32_t i = 0; block && i < BLOCK; ++i)
        block[i] = (float)(sqrt(12) * (assay_rng_uniform(0, 0, (uint64_t)i) - 0.5));
    return block;
}

static assay_status upload_parameter(const model *m, const assay_tensor *t, double scale,
                                     const float *block, float *part) {
    const int64_t count = assay_tensor_count(t);
    const bool norm = t->rank == 1;
    assay_status status = ASSAY_OK;
    for (int64_t first = 0; status == ASSAY_OK && first < count; first += BLOCK) {
        const int64_t n = count - first < BLOCK ? count - first : BLOCK;
        for (int64_t i = 0; i < n; ++i)
            part[i] = norm ? 1.0f : (float)scale * block[i];
        status = m->device->upload((float *)t->data + first, part, (size_t)n * sizeof *part);
    }
    return status;
}

static assay_status upload_ids(const assay_device *device, const assay_tensor *t, int64_t limit,
                               uint64_t stream) {
    const int64_t count = assay_tensor_count(t);
    int32_t *ids = malloc((size_t)count * sizeof *ids);
    if (!ids)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %lld tokens", (long long)count);
    for (int64_t i = 0; i < count; ++i)
        ids[i] = (int32_t)(assay_rng_bits(0, stream, (uint64_t)i) % (uint64_t)limit);
    const assay_status status = device->upload(t->data, ids, bytes_of(t));
    free(ids);
    return status;
}

/* ---- the model ---- */

static assay_status fill_parameters(model *m, const assay_signature *sig) {
    float *block = random_block(), *part = malloc(BLOCK * sizeof *part);
    assay_status status = ASSAY_OK;
    if (!block || !part)
        status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for random numbers");
    for (int32_t i = 0; status == ASSAY_OK && i < m->n_parameters; ++i) {
        assay_tensor *t = &m->parameter[i];
        status = allocate(m->device, bytes_of(t), &t->data, &m->bytes);
        if (status == ASSAY_OK)
            status = upload_parameter(m, t, sig->in[PARAMETERS + i].scale, block, part);
    }
    free(block);
    free(part);
    return status;
}

assay_status model_init(model *m, const assay_device *device, const assay_variant *variant,
                        const assay_case *c) {
    assay_signature sig;
    *m = (model){.device = device, .variant = variant, .c = *c};
    assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    m->n_parameters = sig.n_in - PARAMETERS;
    m->parameter = calloc((size_t)m->n_parameters, sizeof *m->parameter);
    if (!m->parameter)
        status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for a list of parameters");
    for (int32_t i = 0; status == ASSAY_OK && i < m->n_parameters; ++i) {
        m->parameter[i] = dense(&sig.in[PARAMETERS + i]);
        m->elements += assay_tensor_count(&m->parameter[i]);
    }
    if (status == ASSAY_OK)
        status = fill_parameters(m, &sig);
    assay_signature_clear(&sig);
    if (status != ASSAY_OK)
        model_clear(m);
    return status;
}

void model_clear(model *m) {
    for (int32_t i = 0; m->parameter && i < m->n_parameters; ++i)
        m->device->release(m->parameter[i].data);
    free(m->parameter);
    m->parameter = NULL;
}

/* ---- a workload ---- */

static assay_status case_of(const model *m, scenario s, int64_t context, assay_case *c) {
    char text[ASSAY_CASE_TEXT], words[ASSAY_CASE_TEXT];
    assay_case base = m->c;
    assay_param *const item = base.params.item;
    for (int32_t i = 0; i < base.params.count; ++i) {
        if (strcmp(item[i].name, "t") == 0)
            item[i].value[0] = context;
        if (strcmp(item[i].name, "steps") == 0)
            item[i].value[0] = s == FULL_STEP;
    }
    snprintf(words, sizeof words, "%s", assay_case_format(&base, text));
    return assay_case_parse(words, c);
}

/* An argument in memory of its own. */
static assay_status add(workload *w, const assay_tensor_spec *spec, bool exists) {
    assay_tensor *t = &w->tensor[w->n_tensors++];
    *t = dense(spec);
    if (!exists)
        return ASSAY_OK;
    const assay_status status = allocate(w->model->device, bytes_of(t), &t->data, &w->peak);
    if (status == ASSAY_OK)
        w->owned[w->n_owned++] = t->data;
    return status;
}

static assay_status add_inputs(workload *w) {
    assay_status status = ASSAY_OK;
    for (int32_t i = TOKENS; status == ASSAY_OK && i <= TARGET; ++i) {
        status = add(w, &w->sig.in[i], true);
        if (status == ASSAY_OK)
            status = upload_ids(w->model->device, &w->tensor[i], w->sig.in[i].indices, (uint64_t)i);
    }
    for (int32_t i = 0; i < w->model->n_parameters; ++i)
        w->tensor[w->n_tensors++] = w->model->parameter[i];
    return status;
}

static assay_status add_outputs(workload *w) {
    assay_status status = ASSAY_OK;
    for (int32_t o = 0; status == ASSAY_OK && o < w->sig.n_out; ++o)
        status = add(w, &w->sig.out[o], true);
    return status;
}

/* dloss = 1. */
static assay_status add_cotangents(workload *w) {
    const float one = 1;
    assay_status status = ASSAY_OK;
    for (int32_t o = 0; status == ASSAY_OK && o < w->sig.n_out; ++o) {
        if (!w->sig.out[o].differentiable)
            continue;
        status = add(w, &w->sig.out[o], true);
        if (status == ASSAY_OK)
            status = w->model->device->upload(w->tensor[w->n_tensors - 1].data, &one, sizeof one);
    }
    return status;
}

static assay_status add_gradients(workload *w) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < w->sig.n_in; ++i)
        if (w->sig.in[i].differentiable)
            status = add(w, &w->sig.in[i], true);
    return status;
}

/* The call's tensors: memory for all of them first, so that what does not fit is known before
 * anything runs. */
static assay_status add_arguments(workload *w) {
    assay_status status = add_inputs(w);
    if (w->stage == ASSAY_BACKWARD) {
        if (status == ASSAY_OK)
            status = add_outputs(w);
        if (status == ASSAY_OK)
            status = add_cotangents(w);
    }
    w->call.n_in = w->n_tensors;
    if (status == ASSAY_OK)
        status = w->stage == ASSAY_BACKWARD ? add_gradients(w) : add_outputs(w);
    w->call.in = w->tensor;
    w->call.out = w->tensor + w->call.n_in;
    w->call.n_out = w->n_tensors - w->call.n_in;
    return status;
}

static assay_status add_arena(workload *w) {
    const assay_variant *v = w->model->variant;
    assay_status status = v->supports ? v->supports(w->stage, &w->call) : ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    w->call.workspace_bytes = v->workspace ? v->workspace(w->stage, &w->call) : 0;
    status = allocate(w->model->device, w->call.workspace_bytes, &w->call.workspace, &w->peak);
    if (status == ASSAY_OK)
        w->owned[w->n_owned++] = w->call.workspace;
    return status;
}

assay_status workload_init(workload *w, model *m, scenario s, int64_t context) {
    *w = (workload){.model = m,
                    .stage = s == FORWARD_BACKWARD ? ASSAY_BACKWARD : ASSAY_FORWARD,
                    .peak = m->bytes};
    assay_status status = case_of(m, s, context, &w->c);
    if (status == ASSAY_OK)
        status = w->c.op->signature(&w->c.params, &w->sig);
    if (status != ASSAY_OK)
        return status;
    const size_t most = 2 * (size_t)w->sig.n_in + 2 * (size_t)w->sig.n_out + 1;
    w->call.params = &w->c.params;
    w->tensor = calloc(most, sizeof *w->tensor);
    w->owned = calloc(most, sizeof *w->owned);
    if (!w->tensor || !w->owned)
        status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for a list of tensors");
    if (status == ASSAY_OK)
        status = add_arguments(w);
    if (status == ASSAY_OK)
        status = add_arena(w);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    char line[512]; /* freeing may not disturb what is to be said */
    snprintf(line, sizeof line, "%s", assay_error());
    workload_clear(w);
    return assay_fail(status, "%s", line);
}

void workload_clear(workload *w) {
    for (int32_t i = 0; w->owned && i < w->n_owned; ++i)
        w->model->device->release(w->owned[i]);
    free(w->owned);
    free(w->tensor);
    assay_signature_clear(&w->sig);
    w->owned = NULL;
    w->tensor = NULL;
}

assay_status workload_run(workload *w, double *seconds) {
    const assay_variant *v = w->model->variant;
    const double start = now();
    assay_status status = w->stage == ASSAY_FORWARD ? v->forward(&w->call) : v->backward(&w->call);
    const assay_status finished = w->model->device->finish();
    *seconds = now() - start;
    return status == ASSAY_OK ? finished : status;
}

assay_status workload_loss(const workload *w, float *loss) {
    *loss = NAN;
    for (int32_t o = 0; w->stage == ASSAY_FORWARD && o < w->sig.n_out; ++o)
        if (strncmp(w->sig.out[o].name, "loss", strlen("loss")) == 0)
            return w->model->device->download(loss, w->call.out[o].data, sizeof *loss);
    return ASSAY_OK;
}
