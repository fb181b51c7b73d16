#include "engine/python.h"
#include "core/json.h"
#include "engine/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static python_function the_function;
static assay_variant the_variant;

void python_set(python_function function) {
    the_function = function;
}

bool python_is_set(void) {
    return the_function != NULL;
}

/* ---- a call, as text ---- */

static void put_numbers(FILE *to, const char *key, const int64_t *value, int32_t count) {
    fprintf(to, ", \"%s\": [", key);
    for (int32_t i = 0; i < count; ++i)
        fprintf(to, "%s%" PRId64, i > 0 ? ", " : "", value[i]);
    putc(']', to);
}

static void put_tensor(FILE *to, const assay_tensor_spec *spec, const char *role, bool derivative,
                       const assay_tensor *t, bool first) {
    char name[ASSAY_TENSOR_NAME + 1];
    snprintf(name, sizeof name, "%s%s", derivative ? "d" : "", spec->name);
    fprintf(to, "%s{\"name\": ", first ? "" : ", ");
    json_string(to, name);
    fprintf(to,
            ", \"role\": \"%s\", \"differentiable\": %s, \"dtype\": \"%s\", \"data\": %" PRIuPTR,
            role, spec->differentiable ? "true" : "false", assay_dtype_name(t->dtype),
            (uintptr_t)t->data);
    put_numbers(to, "shape", t->shape, t->rank);
    put_numbers(to, "stride", t->stride, t->rank);
    putc('}', to);
}

static void put_tensors(FILE *to, assay_stage stage, const assay_call *call,
                        const assay_signature *sig) {
    const bool backward = stage == ASSAY_BACKWARD;
    const assay_tensor *in = call->in, *out = call->out, *outputs = backward ? in + sig->n_in : out;
    for (int32_t i = 0; i < sig->n_in; ++i)
        put_tensor(to, &sig->in[i], "input", false, in++, i == 0);
    for (int32_t o = 0; o < sig->n_out; ++o)
        put_tensor(to, &sig->out[o], "output", false, outputs++, false);
    in = outputs;
    for (int32_t o = 0; backward && o < sig->n_out; ++o)
        if (sig->out[o].differentiable)
            put_tensor(to, &sig->out[o], "cotangent", true, in++, false);
    for (int32_t i = 0; backward && i < sig->n_in; ++i)
        if (sig->in[i].differentiable)
            put_tensor(to, &sig->in[i], "gradient", true, out++, false);
}

/* A real key of 0 looks like an empty list (case.h): it is written as 0. */
void python_put_keys(FILE *to, const assay_params *params) {
    for (int32_t k = 0; k < params->count; ++k) {
        const assay_param *p = &params->item[k];
        fputs(k > 0 ? ", " : "", to);
        json_string(to, p->name);
        fputs(": ", to);
        if (p->count == 0)
            json_number(to, p->real);
        else if (p->count == 1)
            fprintf(to, "%" PRId64, p->value[0]);
        for (int32_t i = 0; p->count > 1 && i < p->count; ++i)
            fprintf(to, "%s%" PRId64 "%s", i > 0 ? ", " : "[", p->value[i],
                    i + 1 < p->count ? "" : "]");
    }
}

static void put_call(FILE *to, const char *question, assay_stage stage, const assay_call *call) {
    fprintf(to, "{\"question\": \"%s\", \"stage\": \"%s\", \"op\": ", question,
            assay_stage_name(stage));
    json_string(to, the_variant.op);
    fprintf(to, ", \"device\": \"%s\", \"dtype\": \"%s\", \"stream\": %" PRIuPTR ", \"tensors\": [",
            the_variant.device, assay_dtype_name(call->params->dtype), (uintptr_t)call->stream);
    put_tensors(to, stage, call, foreign_described());
    fputs("], \"keys\": {", to);
    python_put_keys(to, call->params);
    fputs("}}", to);
}

/* ---- asking ---- */

static assay_status ask(const char *question, assay_stage stage, const assay_call *call) {
    char *text = NULL, line[400] = "";
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL)
        put_call(to, question, stage, call);
    if (to == NULL || fclose(to) != 0) {
        free(text);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory to tell Python of a call");
    }
    const assay_status status = (assay_status)the_function(text, line, sizeof line);
    free(text);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(status, "%s", line);
}

static assay_status supports(assay_stage stage, const assay_call *call) {
    return ask("supports", stage, call);
}

static assay_status forward(const assay_call *call) {
    return ask("call", ASSAY_FORWARD, call);
}

static assay_status backward(const assay_call *call) {
    return ask("call", ASSAY_BACKWARD, call);
}

const assay_variant *python_variant(const char *op, const char *name, const char *device) {
    the_variant = (assay_variant){.op = op,
                                  .name = name,
                                  .device = device,
                                  .summary = "a Python function",
                                  .supports = supports,
                                  .forward = forward,
                                  .backward = backward};
    return &the_variant;
}
