#include "engine/runner.h"
#include "engine/buffer.h"
#include "engine/isolate.h"
#include "engine/pieces.h"
#include "engine/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All buffers of one problem: forward and backward calls take what they need from here. */
typedef struct run {
    const assay_variant *variant;
    const assay_device *device;
    const assay_problem *p;
    const assay_case *c; /* what runs: the problem's, or the whole that it is a sample of */
    const assay_signature *sig;
    bool everywhere; /* all rows of a whole have cotangents now */
    bool last;       /* of its calls: only then is looked at what none of them may write */
    int32_t n_in, n_out;
    buffer *in, *out, *cot, *grad; /* n_in, n_out, n_out, n_in */
    assay_tensor *args;            /* the arguments of one call, at the end of that room */
    size_t room;
    downloads back; /* what comes back from one call, with room for all */
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
    free(r->back.of);
}

static assay_status run_init(run *r, const assay_variant *variant, const assay_device *device,
                             const assay_problem *p) {
    *r = (run){.variant = variant,
               .device = device,
               .p = p,
               .c = p->sample ? &p->sample->whole : &p->c,
               .sig = p->sample ? &p->sample->sig : &p->sig,
               .n_in = p->sig.n_in,
               .n_out = p->sig.n_out};
    const size_t n_in = (size_t)p->sig.n_in, n_out = (size_t)p->sig.n_out;
    r->in = calloc(n_in, sizeof *r->in);
    r->grad = calloc(n_in, sizeof *r->grad);
    r->out = calloc(n_out, sizeof *r->out);
    r->cot = calloc(n_out, sizeof *r->cot);
    r->room = 2 * n_in + 3 * n_out + 1;
    r->args = calloc(r->room, sizeof *r->args);
    r->back.of =
        calloc(BUFFER_DOWNLOADS * 2 * (n_in + n_out) + WORKSPACE_DOWNLOADS, sizeof *r->back.of);
    if (!r->in || !r->grad || !r->out || !r->cot || !r->args || !r->back.of) {
        run_clear(r);
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for the tensors of %s", p->c.op->name);
    }
    return ASSAY_OK;
}

/* ---- where tensors lie ---- */

static spacing apart(const run *r, pieces_role role, int32_t i) {
    const int32_t first[] = {[PIECES_INPUT] = 0,
                             [PIECES_OUTPUT] = r->n_in,
                             [PIECES_COTANGENT] = r->n_in + r->n_out,
                             [PIECES_GRADIENT] = r->n_in + 2 * r->n_out};
    return buffer_spacing(r->c, first[role] + i);
}

static bool of_input(pieces_role role) {
    return role == PIECES_INPUT || role == PIECES_GRADIENT;
}

static const assay_tensor_spec *spec_of(const run *r, pieces_role role, int32_t i) {
    return of_input(role) ? &r->sig->in[i] : &r->sig->out[i];
}

static assay_tensor view(const run *r, pieces_role role, int32_t i) {
    const buffer *const buffers[] = {[PIECES_INPUT] = r->in,
                                     [PIECES_OUTPUT] = r->out,
                                     [PIECES_COTANGENT] = r->cot,
                                     [PIECES_GRADIENT] = r->grad};
    const buffer *b = &buffers[role][i];
    return b->memory ? b->tensor : buffer_layout(spec_of(r, role, i), apart(r, role, i));
}

/* ---- arguments of a call ---- */

/* Behind the inputs, for a kernel that reads one input too many. It is aligned and spaced for
 * 16-byte accesses, so a kernel that tests this tensor's alignment instead of the right one takes
 * its vector path, and is caught. */
static const assay_tensor nothing = {
    .data = (void *)64, .rank = 1, .shape = {INT64_MAX}, .stride = {INT64_MAX - 15}};

/* The call with shapes and strides; with data where buffers exist already. Its tensors are moved to
 * the end of the room, where AddressSanitizer reports a read of one more. */
static assay_call make_call(const run *r, assay_stage stage) {
    const assay_signature *sig = r->sig;
    assay_tensor *next = r->args;
    assay_call call = {.params = &r->c->params,
                       .in = next,
                       .stream = r->device->stream ? r->device->stream() : NULL};
    for (int32_t i = 0; i < r->n_in; ++i)
        *next++ = view(r, PIECES_INPUT, i);
    for (int32_t o = 0; stage == ASSAY_BACKWARD && o < r->n_out; ++o)
        *next++ = view(r, PIECES_OUTPUT, o);
    for (int32_t o = 0; stage == ASSAY_BACKWARD && o < r->n_out; ++o)
        if (sig->out[o].differentiable)
            *next++ = view(r, PIECES_COTANGENT, o);
    call.n_in = (int32_t)(next - r->args);
    *next++ = nothing;
    call.out = next;
    for (int32_t o = 0; stage == ASSAY_FORWARD && o < r->n_out; ++o)
        *next++ = view(r, PIECES_OUTPUT, o);
    for (int32_t i = 0; stage == ASSAY_BACKWARD && i < r->n_in; ++i)
        if (sig->in[i].differentiable)
            *next++ = view(r, PIECES_GRADIENT, i);
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

/* How a tensor goes and comes in pieces, where the problem stands for a whole. */
static pieces pieces_of(const run *r, pieces_role role, int32_t i) {
    const assay_tensor_spec *whole = spec_of(r, role, i);
    const assay_tensor_spec *part = of_input(role) ? &r->p->sig.in[i] : &r->p->sig.out[i];
    return (pieces){.s = r->p->sample,
                    .whole = whole,
                    .axis = sample_axis_of(whole, part),
                    .role = role,
                    .everywhere = r->everywhere,
                    .small = of_input(role) ? r->p->in.data[i] : r->p->cot.data[i]};
}

static assay_status init_buffer(const run *r, buffer *b, pieces_role role, int32_t i) {
    const bool read = role == PIECES_INPUT || role == PIECES_COTANGENT;
    const pieces p = pieces_of(r, role, i);
    const bool derivative = role == PIECES_COTANGENT || role == PIECES_GRADIENT;
    char text[ASSAY_TENSOR_NAME + 1];
    const char *name = derivative ? prefixed(p.whole->name, text) : p.whole->name;
    if (b->memory) /* of a whole, for backward once more */
        return pieces_upload(b, &p);
    if (!p.s)
        return buffer_init(b, r->device, p.whole, name, apart(r, role, i), read ? p.small : NULL);
    const assay_status status = buffer_reserve(b, r->device, p.whole, name, apart(r, role, i));
    return status == ASSAY_OK ? pieces_upload(b, &p) : status;
}

static assay_status init_forward(run *r) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < r->n_in; ++i)
        status = init_buffer(r, &r->in[i], PIECES_INPUT, i);
    for (int32_t o = 0; status == ASSAY_OK && o < r->n_out; ++o)
        status = init_buffer(r, &r->out[o], PIECES_OUTPUT, o);
    return status;
}

static assay_status init_backward(run *r) {
    assay_status status = ASSAY_OK;
    for (int32_t o = 0; status == ASSAY_OK && o < r->n_out; ++o)
        if (r->sig->out[o].differentiable)
            status = init_buffer(r, &r->cot[o], PIECES_COTANGENT, o);
    for (int32_t i = 0; status == ASSAY_OK && i < r->n_in; ++i)
        if (r->sig->in[i].differentiable)
            status = init_buffer(r, &r->grad[i], PIECES_GRADIENT, i);
    return status;
}

/* ---- after a call ---- */

static assay_status ask_back(run *r, buffer *buffers, int32_t count, bool input) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i)
        if (buffers[i].memory)
            status = buffer_ask_back(&buffers[i], input, &r->back);
    return status;
}

/* The memory of the call's buffers, but a whole's, and the guards of its workspace. */
static assay_status download_back(run *r, assay_stage stage, workspace *scratch) {
    assay_status status = ASSAY_OK;
    workspace_ask_back(scratch, &r->back);
    if (!r->p->sample) {
        status = ask_back(r, r->in, r->n_in, true);
        if (status == ASSAY_OK)
            status = ask_back(r, r->out, r->n_out, stage == ASSAY_BACKWARD);
        if (status == ASSAY_OK)
            status = ask_back(r, r->cot, r->n_out, true);
        if (status == ASSAY_OK)
            status = ask_back(r, r->grad, r->n_in, false);
    }
    return status == ASSAY_OK ? downloads_run(&r->back, r->device) : status;
}

/* Buffers that the call may not write. */
static assay_status take_back_inputs(const run *r, buffer *buffers, int32_t count) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        if (buffers[i].memory && !r->p->sample)
            status = buffer_take_back(&buffers[i], true);
        else if (buffers[i].memory && r->last)
            status = pieces_check_unchanged(&buffers[i]);
    }
    return status;
}

static _Atomic double *array_of(const assay_arrays *arrays, int32_t i) {
    return (_Atomic double *)arrays->data[i];
}

/* Where what a whole's tensor has goes. All rows of gradients are asked for while all have
 * cotangents. */
static pieces_got ranges_of(const assay_results *got, const pieces *p, int32_t i) {
    if (p->role == PIECES_OUTPUT)
        return (pieces_got){got->out.data[i], array_of(&got->out_low, i),
                            array_of(&got->out_high, i)};
    pieces_got to = {.home = got->grad.data[i]};
    if (p->everywhere) {
        to.low = array_of(&got->grad_low, i);
        to.high = array_of(&got->grad_high, i);
    }
    return to;
}

/* Those that it must write; what a whole's have is then in the results. */
static assay_status take_back_results(const run *r, buffer *buffers, int32_t count,
                                      pieces_role role, const assay_results *got) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i) {
        const pieces p = pieces_of(r, role, i);
        if (!buffers[i].memory)
            continue;
        if (!p.s) {
            status = buffer_take_back(&buffers[i], false);
            continue;
        }
        const pieces_got small = ranges_of(got, &p, i);
        status = pieces_take_back(&buffers[i], &p, &small);
    }
    return status;
}

static void widen(const buffer *buffers, int32_t count, assay_arrays *to) {
    for (int32_t i = 0; i < count; ++i)
        if (buffers[i].image && to->data[i])
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

/* Uploads, behind a pause, the tensors that this stage's call is the first to read. */
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

/* Declining is for supports(), which sees shapes alone: a kernel that may decline when it has seen
 * the data answers only where it is right. */
static assay_status call_variant(const run *r, assay_stage stage, const assay_call *call) {
    const assay_variant *v = r->variant;
    (void)assay_fail(ASSAY_OK, "%s", ""); /* its line, or none: not an older one */
    const assay_status status = stage == ASSAY_FORWARD ? v->forward(call) : v->backward(call);
    if (status != ASSAY_ERR_UNSUPPORTED)
        return status;
    char line[256];
    snprintf(line, sizeof line, "%s", assay_error());
    return assay_fail(ASSAY_ERR_KERNEL,
                      "declined when it had the data; that is for supports(), by shape%s%s",
                      line[0] != '\0' ? ": " : "", line);
}

/* The call, behind inputs that arrive late and before outputs that depart early, and the device's
 * verdict on it. */
static assay_status launch(run *r, assay_stage stage, const assay_call *call) {
    r->device->schedule(r->c->schedule, r->c->seed);
    assay_status status = arrive(r, stage);
    if (status == ASSAY_OK)
        status = call_variant(r, stage, call);
    if (r->device->resume)
        r->device->resume();
    if (status == ASSAY_OK)
        status = depart(r, stage);
    /* The variant may have ignored what a launch reported: the device remembers. The simulated one
     * knows more of it than a launcher that returned CUDA's number. */
    const assay_status finished = r->device->finish();
    const bool knows_more = r->device->simulated && finished != ASSAY_OK;
    return status == ASSAY_OK || knows_more ? finished : status;
}

/* One stage: its workspace around the call, behind which what it had is on the host. */
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
        status = download_back(r, stage, &scratch);
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
        status = take_back_inputs(r, r->in, r->n_in);
    if (status == ASSAY_OK)
        status = stage == ASSAY_FORWARD ? take_back_results(r, r->out, r->n_out, PIECES_OUTPUT, got)
                                        : take_back_inputs(r, r->out, r->n_out);
    if (status == ASSAY_OK)
        status = take_back_inputs(r, r->cot, r->n_out);
    if (status == ASSAY_OK)
        status = take_back_results(r, r->grad, r->n_in, PIECES_GRADIENT, got);
    if (status != ASSAY_OK)
        return status;
    if (stage == ASSAY_FORWARD)
        widen(r->out, r->n_out, &got->out);
    else
        widen(r->grad, r->n_in, &got->grad);
    return ASSAY_OK;
}

/* The same status with the stage named in its line, which an author may have left out. */
static assay_status in_stage(assay_stage stage, assay_status status) {
    if (status == ASSAY_OK)
        return status;
    char line[512];
    snprintf(line, sizeof line, "%s", assay_error());
    return assay_fail_as(status, assay_error_failure(), "%s: %s", assay_stage_name(stage),
                         line[0] != '\0' ? line : "it says no more; see assay_fail()");
}

static assay_status supports(run *r, assay_stage stage) {
    const assay_call call = make_call(r, stage);
    if (r->variant->lacks)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s: %s", r->variant->op, r->variant->name,
                          r->variant->lacks);
    if (stage == ASSAY_FORWARD ? !r->variant->forward : !r->variant->backward)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "%s/%s has no such function; set .%s in its ASSAY_VARIANT%s",
                          r->variant->op, r->variant->name, assay_stage_name(stage),
                          stage == ASSAY_BACKWARD ? ", or give --stage forward" : "");
    (void)assay_fail(ASSAY_OK, "%s", ""); /* its line, or none: not an older one */
    return r->variant->supports ? r->variant->supports(stage, &call) : ASSAY_OK;
}

/* A GPU that cannot hold a whole is no fault of the variant's. The simulated device has the host's
 * memory, which has been asked before. */
static assay_status or_skipped(const run *r, assay_status status) {
    char line[512];
    if (status != ASSAY_ERR_MEMORY || !r->p->sample || r->device->simulated)
        return status;
    snprintf(line, sizeof line, "%s", assay_error());
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s", line);
}

/* The calls that the problem asks for: forward, and backward where there are gradients. */
static int stages_of(const assay_problem *p) {
    return assay_problem_has_backward(p) ? 2 : 1;
}

static const assay_stage stages[ASSAY_STAGES] = {ASSAY_FORWARD, ASSAY_BACKWARD};

static assay_status supports_all(run *r) {
    assay_status status = ASSAY_OK;
    for (int i = 0; status == ASSAY_OK && i < stages_of(r->p); ++i)
        status = in_stage(stages[i], supports(r, stages[i]));
    return status;
}

assay_status assay_supports(const assay_variant *variant, const assay_device *device,
                            const assay_problem *problem) {
    run r;
    assay_status status = run_init(&r, variant, device, problem);
    if (status != ASSAY_OK)
        return status;
    if (device->plan_for)
        device->plan_for(problem->c.multiprocessors);
    status = supports_all(&r);
    run_clear(&r);
    return status;
}

assay_status assay_run(const assay_variant *variant, const assay_device *device,
                       const assay_problem *problem, assay_results *got) {
    if (assay_is_isolated(device))
        return assay_run_isolated(variant, device, problem, got);
    run r;
    got->any_order = variant->order == ASSAY_ORDER_ANY;
    assay_status status = run_init(&r, variant, device, problem);
    if (status != ASSAY_OK)
        return status;
    if (device->plan_for)
        device->plan_for(problem->c.multiprocessors);
    sample_begin_ranges(got);
    const int n_stages = stages_of(problem);
    status = supports_all(&r);
    for (int i = 0; status == ASSAY_OK && i < n_stages; ++i) {
        r.everywhere = problem->sample && stages[i] == ASSAY_BACKWARD;
        if (r.everywhere)
            status = in_stage(stages[i], run_stage(&r, stages[i], got));
        r.everywhere = false;
        r.last = i + 1 == n_stages;
        if (status == ASSAY_OK)
            status = in_stage(stages[i], run_stage(&r, stages[i], got));
    }
    run_clear(&r);
    return or_skipped(&r, status);
}
