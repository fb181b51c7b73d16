#include "tests/engine/runner.h"
#include "tests/engine/buffer.h"
#include "tests/engine/isolate.h"
#include "tests/engine/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All buffers of one problem: forward and backward calls take what they need from here. */
typedef struct run {
    const assay_variant *variant;
    const assay_device *device;
    const assay_problem *p;
    int32_t n_in, n_out;
    buffer *in, *out, *cot, *grad; /* n_in, n_out, n_out, n_in */
    assay_tensor *args;            /* the arguments of one call, at the end of that room */
    size_t room;
} run;

static void run_clear(run *r) {
    for (int32_t i = 0; r->in && i < r->n_in; ++i)
        buffer_clear(&r->in[i]);
    for (int32_t i = 0; r->grad && i < r->n_in; ++i)
        buffer_clear(&r->grad[i]);
    for (int32_t i = 0; r->out && i < r->n_out; ++i)
        buffer_clear(&r->out[i]);
    for (int32_t i = 0; r->cot && i < r->n_out; ++i)
        buffer_clear(&r->cot[i]);
    free(r->in);
    free(r->out);
    free(r->cot);
    free(r->grad);
    free(r->args);
}

static assay_status run_init(run *r, const assay_variant *variant, const assay_device *device,
                             const assay_problem *p) {
    *r = (run){
        .variant = variant, .device = device, .p = p, .n_in = p->sig.n_in, .n_out = p->sig.n_out};
    const size_t n_in = (size_t)p->sig.n_in, n_out = (size_t)p->sig.n_out;
    r->in = calloc(n_in, sizeof *r->in);
    r->grad = calloc(n_in, sizeof *r->grad);
    r->out = calloc(n_out, sizeof *r->out);
    r->cot = calloc(n_out, sizeof *r->cot);
    r->room = 2 * n_in + 3 * n_out;
    r->args = calloc(r->room, sizeof *r->args);
    if (!r->in || !r->grad || !r->out || !r->cot || !r->args) {
        run_clear(r);
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the tensors of %s", p->c.op->name);
    }
    return ASSAY_OK;
}

/* ---- arguments of a call ---- */

static assay_tensor view(const buffer *b, const assay_tensor_spec *spec, const assay_case *c) {
    return b->memory ? b->tensor : buffer_layout(spec, c);
}

/* The call with shapes and strides; with data where buffers exist already. Its tensors are moved to
 * the end of the room, where AddressSanitizer sees who reads one more. */
static assay_call make_call(const run *r, assay_stage stage) {
    const assay_signature *sig = &r->p->sig;
    const assay_case *c = &r->p->c;
    assay_tensor *next = r->args;
    assay_call call = {.params = &c->params, .in = next};
    for (int32_t i = 0; i < r->n_in; ++i)
        *next++ = view(&r->in[i], &sig->in[i], c);
    for (int32_t o = 0; stage == ASSAY_BACKWARD && o < r->n_out; ++o)
        *next++ = view(&r->out[o], &sig->out[o], c);
    for (int32_t o = 0; stage == ASSAY_BACKWARD && o < r->n_out; ++o)
        if (sig->out[o].differentiable)
            *next++ = view(&r->cot[o], &sig->out[o], c);
    call.n_in = (int32_t)(next - r->args);
    call.out = next;
    for (int32_t o = 0; stage == ASSAY_FORWARD && o < r->n_out; ++o)
        *next++ = view(&r->out[o], &sig->out[o], c);
    for (int32_t i = 0; stage == ASSAY_BACKWARD && i < r->n_in; ++i)
        if (sig->in[i].differentiable)
            *next++ = view(&r->grad[i], &sig->in[i], c);
    call.n_out = (int32_t)(next - call.out);
    const size_t used = (size_t)(next - r->args), moved = r->room - used;
    memmove(r->args + moved, r->args, used * sizeof *r->args);
    call.in += moved;
    call.out += moved;
    return call;
}

/* ---- filling the buffers ---- */

static const char *prefixed(const char *name, char text[ASSAY_TENSOR_NAME + 1]) {
    snprintf(text, ASSAY_TENSOR_NAME + 1, "d%s", name);
    return text;
}

static assay_status init_forward(run *r) {
    const assay_problem *p = r->p;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < r->n_in; ++i)
        status = buffer_init(&r->in[i], r->device, &p->sig.in[i], p->sig.in[i].name, &p->c,
                             p->in.data[i]);
    for (int32_t o = 0; status == ASSAY_OK && o < r->n_out; ++o)
        status =
            buffer_init(&r->out[o], r->device, &p->sig.out[o], p->sig.out[o].name, &p->c, NULL);
    return status;
}

static assay_status init_backward(run *r) {
    const assay_problem *p = r->p;
    char name[ASSAY_TENSOR_NAME + 1];
    assay_status status = ASSAY_OK;
    for (int32_t o = 0; status == ASSAY_OK && o < r->n_out; ++o)
        if (p->sig.out[o].differentiable)
            status = buffer_init(&r->cot[o], r->device, &p->sig.out[o],
                                 prefixed(p->sig.out[o].name, name), &p->c, p->cot.data[o]);
    for (int32_t i = 0; status == ASSAY_OK && i < r->n_in; ++i)
        if (p->sig.in[i].differentiable)
            status = buffer_init(&r->grad[i], r->device, &p->sig.in[i],
                                 prefixed(p->sig.in[i].name, name), &p->c, NULL);
    return status;
}

/* ---- after a call ---- */

/* Every buffer of the stage; `written` tells those that the kernel may write. */
static assay_status take_back(buffer *buffers, int32_t count, bool written) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i)
        if (buffers[i].memory)
            status = buffer_take_back(&buffers[i], !written);
    return status;
}

static void widen(const buffer *buffers, int32_t count, assay_arrays *to) {
    for (int32_t i = 0; i < count; ++i)
        if (buffers[i].memory && to->data[i])
            buffer_widen(&buffers[i], to->data[i]);
}

/* ---- the call ---- */

static assay_status each(buffer *buffers, int32_t count, assay_status (*act)(buffer *b)) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i)
        if (buffers[i].memory)
            status = act(&buffers[i]);
    return status;
}

/* Behind a pause, what this stage's call is the first to read. */
static assay_status arrive(run *r, assay_stage stage) {
    assay_status status = r->device->pause ? r->device->pause() : ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    return stage == ASSAY_FORWARD ? each(r->in, r->n_in, buffer_arrive)
                                  : each(r->cot, r->n_out, buffer_arrive);
}

static assay_status depart(run *r, assay_stage stage) {
    return stage == ASSAY_FORWARD ? each(r->out, r->n_out, buffer_depart)
                                  : each(r->grad, r->n_in, buffer_depart);
}

/* The call between what arrives late and what departs early, and the device's verdict on it. */
static assay_status launch(run *r, assay_stage stage, const assay_call *call) {
    const assay_variant *v = r->variant;
    r->device->schedule(r->p->c.schedule, r->p->c.seed);
    assay_status status = arrive(r, stage);
    if (status == ASSAY_OK)
        status = stage == ASSAY_FORWARD ? v->forward(call) : v->backward(call);
    if (status == ASSAY_OK)
        status = depart(r, stage);
    /* The variant may have ignored what a launch reported: the device remembers. */
    const assay_status finished = r->device->finish();
    return status == ASSAY_OK ? finished : status;
}

/* One stage: its workspace around the call. */
static assay_status call_stage(run *r, assay_stage stage) {
    const assay_variant *v = r->variant;
    assay_call call = make_call(r, stage);
    workspace scratch;
    call.workspace_bytes = v->workspace ? v->workspace(stage, &call) : 0;
    assay_status status = workspace_init(&scratch, r->device, call.workspace_bytes);
    if (status == ASSAY_OK) {
        call.workspace = scratch.data;
        status = launch(r, stage, &call);
    }
    if (status == ASSAY_OK)
        status = workspace_check(&scratch);
    workspace_clear(&scratch);
    return status;
}

static assay_status run_stage(run *r, assay_stage stage, assay_results *got) {
    assay_status status = stage == ASSAY_FORWARD ? init_forward(r) : init_backward(r);
    if (status == ASSAY_OK)
        status = call_stage(r, stage);
    if (status == ASSAY_OK)
        status = take_back(r->in, r->n_in, false);
    if (status == ASSAY_OK)
        status = take_back(r->out, r->n_out, stage == ASSAY_FORWARD);
    if (status == ASSAY_OK)
        status = take_back(r->cot, r->n_out, false);
    if (status == ASSAY_OK)
        status = take_back(r->grad, r->n_in, true);
    if (status != ASSAY_OK)
        return status;
    if (stage == ASSAY_FORWARD)
        widen(r->out, r->n_out, &got->out);
    else
        widen(r->grad, r->n_in, &got->grad);
    return ASSAY_OK;
}

/* The same status with the stage named in its line. */
static assay_status in_stage(assay_stage stage, assay_status status) {
    if (status == ASSAY_OK)
        return status;
    char line[512];
    snprintf(line, sizeof line, "%s", assay_error());
    return assay_fail(status, "%s: %s", assay_stage_name(stage), line);
}

static assay_status supports(run *r, assay_stage stage) {
    const assay_call call = make_call(r, stage);
    if (r->variant->lacks)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s: %s", r->variant->op, r->variant->name,
                          r->variant->lacks);
    return r->variant->supports ? r->variant->supports(stage, &call) : ASSAY_OK;
}

assay_status assay_run(const assay_variant *variant, const assay_device *device,
                       const assay_problem *problem, assay_results *got) {
    if (device->isolated)
        return assay_run_isolated(variant, device, problem, got);
    run r;
    assay_status status = run_init(&r, variant, device, problem);
    if (status != ASSAY_OK)
        return status;
    static const assay_stage stages[ASSAY_STAGES] = {ASSAY_FORWARD, ASSAY_BACKWARD};
    const int n_stages =
        problem->c.op->backward && assay_signature_has_gradients(&problem->sig) ? 2 : 1;
    for (int i = 0; status == ASSAY_OK && i < n_stages; ++i)
        status = in_stage(stages[i], supports(&r, stages[i]));
    for (int i = 0; status == ASSAY_OK && i < n_stages; ++i)
        status = in_stage(stages[i], run_stage(&r, stages[i], got));
    run_clear(&r);
    return status;
}
