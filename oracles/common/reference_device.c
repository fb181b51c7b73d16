/* References that a device helps to make. */
#include "assay/relation.h"
#include "oracles/common/blas.h"
#include "oracles/common/bound.h"
#include "oracles/common/reference.h"

#include <stdlib.h>
#include <string.h>

const assay_device_oracle *assay_device_oracle_find(const assay_device *device,
                                                    const assay_op *op) {
    for (int32_t i = 0; i < device->n_oracles; ++i)
        if (strcmp(device->oracles[i]->op, op->name) == 0)
            return device->oracles[i];
    return NULL;
}

/* ---- arrays on the device ---- */

/* Twins of some arrays in device memory; absent where the arrays are. */
typedef struct twins {
    const assay_device *device;
    const assay_arrays *of;
    double **data; /* of->count */
} twins;

static size_t bytes_of(const assay_arrays *arrays, int32_t i) {
    return (size_t)arrays->size[i] * sizeof(double);
}

static assay_status twins_init(twins *t, const assay_device *device, const assay_arrays *of) {
    *t = (twins){.device = device, .of = of};
    t->data = calloc((size_t)of->count + 1, sizeof *t->data);
    if (!t->data)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %d device arrays", of->count);
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < of->count; ++i)
        if (of->data[i])
            status = device->alloc(bytes_of(of, i), (void **)&t->data[i]);
    return status;
}

static void twins_clear(twins *t) {
    for (int32_t i = 0; t->data && i < t->of->count; ++i)
        t->device->release(t->data[i]);
    free(t->data);
}

static assay_status twins_upload(const twins *t) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < t->of->count; ++i)
        if (t->data[i])
            status = t->device->upload(t->data[i], t->of->data[i], bytes_of(t->of, i));
    return status;
}

static assay_status twins_download(const twins *t) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < t->of->count; ++i)
        if (t->data[i])
            status = t->device->download(t->of->data[i], t->data[i], bytes_of(t->of, i));
    return status;
}

/* ---- the device's oracle ---- */

enum { IN, COT, OUT, GRAD, OUT_BOUND, GRAD_BOUND, GROUPS };

static assay_status run_oracle(const assay_device *device, const assay_device_oracle *oracle,
                               assay_oracle_call *call) {
    assay_status status = ASSAY_OK;
    call->workspace_bytes = oracle->workspace ? oracle->workspace(call->params) : 0;
    if (call->workspace_bytes > 0)
        status = device->alloc(call->workspace_bytes, &call->workspace);
    if (status == ASSAY_OK)
        status = oracle->run(call);
    const assay_status finished = device->finish();
    device->release(call->workspace);
    return status == ASSAY_OK ? finished : status;
}

/* It computes both stages in one call, whatever is asked for. */
static assay_status allocate_all(assay_reference *r, const assay_problem *p) {
    assay_problem whole = *p;
    if (!p->c.forward_only)
        return reference_allocate(r, p);
    assay_status status = p->c.op->signature(&p->c.params, &whole.sig);
    if (status != ASSAY_OK)
        return status;
    status = reference_allocate(r, &whole);
    assay_signature_clear(&whole.sig);
    return status;
}

static void drop_gradients(assay_reference *r) {
    for (int32_t i = 0; i < r->want.grad.count; ++i) {
        assay_arrays_drop(&r->want.grad, i);
        assay_arrays_drop(&r->grad_bound.element, i);
    }
}

assay_status assay_reference_init_by(assay_reference *r, const assay_problem *p,
                                     const assay_device *device,
                                     const assay_device_oracle *oracle) {
    const assay_rounding rounding =
        assay_rounding_of(p->c.params.dtype, p->c.params.math, p->c.fill);
    twins group[GROUPS] = {{0}};
    assay_status status = allocate_all(r, p);
    const assay_arrays *arrays[GROUPS] = {&p->in,
                                          &p->cot,
                                          &r->want.out,
                                          &r->want.grad,
                                          &r->out_bound.element,
                                          &r->grad_bound.element};
    for (int g = 0; status == ASSAY_OK && g < GROUPS; ++g)
        status = twins_init(&group[g], device, arrays[g]);
    for (int g = IN; status == ASSAY_OK && g <= COT; ++g)
        status = twins_upload(&group[g]);
    if (status == ASSAY_OK) {
        assay_oracle_call call = {.params = &p->c.params,
                                  .rounding = &rounding,
                                  .in = (const double *const *)group[IN].data,
                                  .cot = (const double *const *)group[COT].data,
                                  .out = group[OUT].data,
                                  .grad = group[GRAD].data,
                                  .out_bound = group[OUT_BOUND].data,
                                  .grad_bound = group[GRAD_BOUND].data,
                                  .out_why = r->out_bound.why,
                                  .grad_why = r->grad_bound.why};
        device->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
        status = run_oracle(device, oracle, &call);
    }
    for (int g = OUT; status == ASSAY_OK && g < GROUPS; ++g)
        status = twins_download(&group[g]);
    for (int g = 0; g < GROUPS; ++g)
        twins_clear(&group[g]);
    if (status == ASSAY_OK && p->c.forward_only)
        drop_gradients(r);
    if (status == ASSAY_OK)
        status = reference_limit(r, p, &rounding);
    if (status != ASSAY_OK)
        assay_reference_clear(r);
    return status;
}

/* ---- which help ---- */

/* Elements of all tensors from which on the device's oracle answers sooner than ours. */
static const double large = 0x1p20;

static bool is_large(const assay_signature *sig) {
    double elements = 0;
    for (int32_t i = 0; i < sig->n_in; ++i)
        elements += (double)assay_spec_count(&sig->in[i]);
    for (int32_t i = 0; i < sig->n_out; ++i)
        elements += (double)assay_spec_count(&sig->out[i]);
    return elements >= large;
}

assay_status assay_reference_init_with(assay_reference *r, const assay_problem *p,
                                       const assay_device *device) {
    if (!device || !device->gemm || !is_large(&p->sig))
        return assay_reference_init(r, p);
    const assay_device_oracle *oracle = assay_device_oracle_find(device, p->c.op);
    if (oracle && !assay_fill_is_exact(p->c.fill))
        return assay_reference_init_by(r, p, device, oracle);
    blas_delegate(device->gemm);
    const assay_status status = assay_reference_init(r, p);
    blas_delegate(NULL);
    return status;
}
