#include "fuzz/search/big.h"

#include <math.h>
#include <stdio.h>

const double fuzz_big_budget = 1 << 20;

/* Of all tensors with their cotangents and gradients; of either stage. */
static const double most_bytes = 72.0 * (1 << 30), most_flops = 0x1p41;

/* Elements of a row where gradients are sums over rows: a naive kernel walks along 2^32 / 512 of
 * them in seconds. Rows beyond the drawn limit. Elements between paddings, which may be 104. */
enum { LEAST_ROW = 512, FEW = 64, LEAST_PADDED = 1024 };

/* Of all tensors: of each row, and of what has no rows. */
typedef struct growth {
    int64_t row;    /* elements, the largest tensor's */
    int64_t packed; /* elements between two paddings, at least */
    double row_bytes, other_bytes;
    bool summed; /* there are gradients of what has no rows */
} growth;

static int64_t packed(const assay_tensor_spec *spec) {
    int64_t count = spec->inner == spec->rank ? INT64_MAX : 1; /* one row: nothing lies between */
    for (int32_t a = spec->rank - spec->inner; count < INT64_MAX && a < spec->rank; ++a)
        count *= spec->shape[a];
    return count;
}

static void add_tensor(growth *g, const assay_tensor_spec *one, const assay_tensor_spec *two) {
    const int64_t row = assay_spec_count(two) - assay_spec_count(one);
    const double size = (double)assay_dtype_size(one->dtype);
    g->packed = packed(one) < g->packed ? packed(one) : g->packed;
    g->row = row > g->row ? row : g->row;
    g->row_bytes += size * (double)row;
    g->other_bytes += size * (double)(assay_spec_count(one) - row);
    g->summed = g->summed || (row == 0 && one->differentiable);
}

static void set_rows(assay_case *c, int64_t rows) {
    c->params.item[0].count = 1;
    c->params.item[0].value[0] = rows;
}

/* How the tensors grow with the rows: those of two rows beside those of one. */
static assay_status measure(const assay_case *c, growth *g) {
    assay_case small[2] = {*c, *c};
    assay_signature sig[2] = {{0}, {0}};
    assay_status status = ASSAY_OK;
    *g = (growth){.packed = INT64_MAX};
    for (int i = 0; i < 2 && status == ASSAY_OK; ++i) {
        set_rows(&small[i], i + 1);
        status = c->op->signature(&small[i].params, &sig[i]);
    }
    for (int32_t i = 0; status == ASSAY_OK && i < sig->n_in; ++i)
        add_tensor(g, &sig[0].in[i], &sig[1].in[i]);
    for (int32_t o = 0; status == ASSAY_OK && o < sig->n_out; ++o)
        add_tensor(g, &sig[0].out[o], &sig[1].out[o]);
    assay_signature_clear(&sig[0]);
    assay_signature_clear(&sig[1]);
    return status;
}

/* Elements that are passed. */
static int64_t draw_limit(assay_rng *rng, assay_dtype dtype) {
    const int64_t past = INT64_C(1) << 32;
    const int64_t limits[] = {past / 2, past / 2, past, past / (int64_t)assay_dtype_size(dtype)};
    return limits[assay_rng_between(rng, 0, 3)];
}

static bool too_much_work(const assay_case *c) {
    for (assay_stage stage = ASSAY_FORWARD; stage <= ASSAY_BACKWARD; ++stage) {
        assay_work work;
        if (stage == ASSAY_BACKWARD && !c->op->backward)
            continue;
        if (assay_op_work(c->op, &c->params, stage, &work) != ASSAY_OK || work.flops > most_flops)
            return true;
    }
    return false;
}

assay_status fuzz_big_enlarge(assay_rng *rng, assay_case *c) {
    growth g;
    const assay_status status = measure(c, &g);
    if (status != ASSAY_OK)
        return status;
    const int64_t limit = draw_limit(rng, c->params.dtype), few = assay_rng_between(rng, 1, FEW);
    if (g.row == 0 || (g.summed && g.row < LEAST_ROW))
        return assay_fail(ASSAY_ERR_USAGE, "%s: rows of %lld elements are too short for --big",
                          c->op->name, (long long)g.row);
    if (c->pad > 0 && g.packed < LEAST_PADDED)
        return assay_fail(ASSAY_ERR_USAGE, "%s: padding of rows of %lld elements takes too much",
                          c->op->name, (long long)g.packed);
    const int64_t rows = limit / g.row + few;
    const double bytes = 2 * ((double)rows * g.row_bytes + g.other_bytes);
    set_rows(c, rows);
    if ((double)rows > c->op->keys[0].high || bytes > most_bytes || too_much_work(c))
        return assay_fail(ASSAY_ERR_USAGE, "%s: a case of too much memory or work", c->op->name);
    return ASSAY_OK;
}
