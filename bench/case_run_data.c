#include "bench/case_run.h"

#include "engine/check.h"
#include "engine/memory.h"

static const double large = 1 << 26;                     /* bytes of one set's inputs */
static const double slow_flops = 1e9, most_flops = 5e11; /* of an oracle on the host */

static assay_status load_data(case_run *k) {
    assay_case c = *k->plan->c;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < k->sets; ++i) {
        status = assay_problem_load(&k->problem[i], &c);
        ++c.seed;
    }
    return status;
}

/* An oracle on the device is quick, and so are products, which run there; others are the host's:
 * where they take seconds there is one input set, and where they take minutes nothing is compared.
 */
static assay_status weigh_oracle(case_run *k, bool *slow) {
    const assay_case *c = k->plan->c;
    const assay_device *device = k->s->device;
    assay_work forward, backward = {0};
    assay_status status = assay_op_work(c->op, &c->params, ASSAY_FORWARD, &forward);
    if (status == ASSAY_OK && k->backward)
        status = assay_op_work(c->op, &c->params, ASSAY_BACKWARD, &backward);
    if (status != ASSAY_OK)
        return status;
    const double flops = forward.flops + backward.flops;
    const bool helped =
        (device->gemm && c->op->multilinear) || assay_device_oracle_find(device, c->op);
    *slow = !helped && flops > slow_flops;
    k->knowable = helped || flops <= most_flops;
    return ASSAY_OK;
}

/* Of the host: data in fp64, and where they are compared wants and bounds of each set, and the
 * oracle's twin of one; the memory that arms share, and an arm's own image of a set. */
static double memory_needed(const case_run *k, const assay_amount *in, const assay_amount *out) {
    const double both = in->elements + out->elements;
    const double data = k->backward ? both : in->elements;
    const double results = k->backward ? both : out->elements;
    const double fp64 = k->sets * data + (k->knowable ? k->sets * 2 * results + 2 * both : 0);
    const double bytes = in->bytes + out->bytes;
    return fp64 * sizeof(double) + k->sets * (k->backward ? 2 : 1) * bytes + bytes;
}

assay_status case_run_prepare(case_run *k) {
    const assay_case *c = k->plan->c;
    assay_signature sig;
    assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    bool slow = false;
    status = weigh_oracle(k, &slow);
    const assay_amount in = assay_amount_of(sig.in, sig.n_in);
    const assay_amount out = assay_amount_of(sig.out, sig.n_out);
    k->sets = slow || in.bytes > large ? 1 : CASE_RUN_SETS;
    if (status == ASSAY_OK)
        status = assay_memory_holds(memory_needed(k, &in, &out));
    assay_signature_clear(&sig);
    if (status == ASSAY_OK)
        status = load_data(k);
    if (status == ASSAY_OK)
        status = exchange_layout(&k->s->memory, &k->problem[0].sig, k->backward, k->sets);
    for (int32_t i = 0; status == ASSAY_OK && i < k->sets; ++i)
        exchange_put(&k->s->memory, i, &k->problem[i]);
    return status;
}
