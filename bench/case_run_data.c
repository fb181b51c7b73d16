#include "bench/case_run.h"

#include "engine/check.h"
#include "engine/memory.h"
#include "engine/oracle_pace.h"

static const double large = 1 << 26; /* bytes of one set's inputs */

static assay_status load_data(case_run *k) {
    assay_case c = *k->plan->c;
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < k->sets; ++i) {
        status = assay_problem_load(&k->problem[i], &c);
        ++c.seed;
    }
    return status;
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
    oracle_pace pace = ORACLE_QUICK;
    status = oracle_pace_of(c, k->s->device, k->backward, &pace);
    k->knowable = pace != ORACLE_MINUTES;
    const assay_amount in = assay_amount_of(sig.in, sig.n_in);
    const assay_amount out = assay_amount_of(sig.out, sig.n_out);
    k->sets = pace != ORACLE_QUICK || in.bytes > large ? 1 : CASE_RUN_SETS;
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
