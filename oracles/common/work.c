#include "oracles/common/work.h"

#include "assay/dtype.h"

double work_bytes(const assay_tensor_spec *spec) {
    return (double)assay_spec_count(spec) * (double)assay_dtype_size(spec->dtype);
}

static void count_bytes(const assay_signature *sig, assay_stage stage, assay_work *work) {
    for (int32_t i = 0; i < sig->n_in; ++i) {
        work->read += work_bytes(&sig->in[i]);
        if (stage == ASSAY_BACKWARD && sig->in[i].differentiable)
            work->written += work_bytes(&sig->in[i]);
    }
    for (int32_t o = 0; o < sig->n_out; ++o) {
        if (stage == ASSAY_FORWARD)
            work->written += work_bytes(&sig->out[o]);
        else if (sig->out[o].differentiable)
            work->read += work_bytes(&sig->out[o]);
    }
}

assay_status assay_op_work(const assay_op *op, const assay_params *params, assay_stage stage,
                           assay_work *work) {
    *work = (assay_work){0};
    assay_signature sig;
    if (!op->work)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "%s: its assay_op has no .work, which counts what a call must do; write "
                          "one",
                          op->name);
    const assay_status status = op->signature(params, &sig);
    if (status != ASSAY_OK)
        return status;
    count_bytes(&sig, stage, work);
    op->work(params, &sig, stage, work);
    assay_signature_clear(&sig);
    return ASSAY_OK;
}
