#include "engine/oracle_pace.h"

#include "assay/problem.h"

/* Flops of the operator, on the host; a bound takes several times as many. */
static const double seconds = 1e9, minutes = 2e11;

assay_status oracle_pace_of(const assay_case *c, const assay_device *device, bool backward,
                            oracle_pace *pace) {
    assay_work one, other = {0};
    assay_status status = assay_op_work(c->op, &c->params, ASSAY_FORWARD, &one);
    if (status == ASSAY_OK && backward)
        status = assay_op_work(c->op, &c->params, ASSAY_BACKWARD, &other);
    if (status != ASSAY_OK)
        return status;
    const double flops = one.flops + other.flops;
    const bool helped =
        (device->gemm && c->op->multilinear) || assay_device_oracle_find(device, c->op);
    *pace = helped || flops <= seconds ? ORACLE_QUICK
            : flops <= minutes         ? ORACLE_SECONDS
                                       : ORACLE_MINUTES;
    return ASSAY_OK;
}
