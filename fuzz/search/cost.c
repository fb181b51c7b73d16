#include "fuzz/search/cost.h"
#include "fuzz/search/source.h"

#include "engine/buffer.h"

#include <math.h>

/* ---- work ---- */

/* A number that grows at least as fast as the work when one extent does: work is a sum of products
 * in which each extent is a factor once or, of a matrix that is square by default, twice. */
static double volume(const assay_case *c) {
    double product = 1;
    for (int32_t k = 0; k < c->params.count; ++k) {
        const assay_key_kind kind = c->op->keys[k].kind;
        const bool extents = kind == ASSAY_KEY_INT || kind == ASSAY_KEY_LIST;
        for (int32_t i = 0; extents && i < c->params.item[k].count; ++i)
            product *= fmax(1, (double)c->params.item[k].value[i]);
    }
    return product;
}

/* Of all tensors. */
static assay_status elements(const assay_case *c, double *count) {
    assay_signature sig;
    const assay_status status = c->op->signature(&c->params, &sig);
    *count = 0;
    if (status != ASSAY_OK)
        return status;
    for (int32_t i = 0; i < sig.n_in; ++i)
        *count += (double)assay_spec_count(&sig.in[i]);
    for (int32_t o = 0; o < sig.n_out; ++o)
        *count += (double)assay_spec_count(&sig.out[o]);
    assay_signature_clear(&sig);
    return ASSAY_OK;
}

double cost_overhead(const assay_op *op) {
    return fmax(op->overhead, 1);
}

cost_limits cost_limits_within(const assay_op *op, double most, double budget) {
    const double work = fmin(budget, most / cost_overhead(op));
    return (cost_limits){work, cost_growth * work};
}

cost_limits cost_limits_below(double work) {
    return (cost_limits){work, 2 * cost_growth * work};
}

assay_status cost_limits_from(const assay_case *drawn, double budget, cost_limits *most) {
    double before;
    const assay_status status = elements(drawn, &before);
    *most = cost_limits_within(drawn->op, budget, budget);
    most->work = fmax(most->work, cost_growth * volume(drawn));
    most->elements = fmax(most->elements, cost_growth * before);
    return status;
}

assay_status cost_affords(const cost_limits *most, const assay_case *c) {
    double after;
    const assay_status status = elements(c, &after);
    if (status != ASSAY_OK || (volume(c) <= most->work && after <= most->elements))
        return status;
    return assay_fail(ASSAY_ERR_USAGE, "%s: a case of too much work", c->op->name);
}

/* ---- time ---- */

/* Of the tensors as they lie in memory: of each row, kernels have blocks of threads, which is what
 * takes a simulated device longest. */
static assay_status cost_of_tensors(const assay_case *c, double *cost) {
    static const double row = 40;
    assay_signature sig;
    const assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    for (int32_t t = 0; t < sig.n_in + sig.n_out; ++t) {
        const assay_tensor_spec *spec = t < sig.n_in ? &sig.in[t] : &sig.out[t - sig.n_in];
        const assay_tensor laid = buffer_layout(spec, buffer_spacing(c, t));
        const double rows = (double)assay_tensor_rows(&laid);
        *cost += rows * ((double)assay_tensor_row_stride(&laid) + row * cost_overhead(c->op));
    }
    assay_signature_clear(&sig);
    return ASSAY_OK;
}

assay_status cost_of(const assay_case *c, double *elements) {
    static const double flop = 0.5;
    assay_status status = ASSAY_OK;
    *elements = c->op->blocks ? c->op->blocks(&c->params) : 0;
    for (int stage = ASSAY_FORWARD; status == ASSAY_OK && stage <= ASSAY_BACKWARD; ++stage) {
        assay_work work;
        status = assay_op_work(c->op, &c->params, (assay_stage)stage, &work);
        *elements += status == ASSAY_OK ? flop * work.flops : 0;
    }
    return status == ASSAY_OK ? cost_of_tensors(c, elements) : status;
}

/* Small cases of an operator with overhead cost more as well. On a GPU as well it is the host that
 * a large case keeps busy. */
double cost_usual(const assay_op *op) {
    static const double plain = FUZZ_SIM_BUDGET / 6;
    return plain * (1 + cost_overhead(op));
}

bool cost_keeps(assay_rng *rng, double usual, const assay_case *c) {
    double cost;
    return cost_of(c, &cost) != ASSAY_OK || cost <= usual ||
           assay_rng_uniform(rng->seed, rng->stream, rng->next++) * cost < usual;
}
