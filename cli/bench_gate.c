#include "cli/bench_gate.h"

#include "bench/proof.h"
#include "cli/state.h"
#include "engine/variant_run.h"

#include <stdlib.h>
#include <string.h>

/* ---- by certificate ---- */

static assay_status is_certified(const bench_gate_state *g, const assay_variant *variant,
                                 check_scope scope, bool *holds) {
    certificate_subject now;
    assay_certificate c;
    char directory[PATH_MAX], path[PATH_MAX], why[CERTIFICATE_WHY];
    unsigned char key[HASH_KEY];
    bool exists = false;
    *holds = false;
    assay_status status = certificate_subject_init(&now, g->isolated, variant);
    now.scope = scope;
    if (status == ASSAY_OK)
        status = state_directory(directory);
    if (status == ASSAY_OK)
        status = state_key(directory, key);
    if (status == ASSAY_OK)
        status = state_certificate_path(directory, &now, path);
    if (status == ASSAY_OK)
        status = state_read(path, key, &exists, &c);
    if (status != ASSAY_OK || !exists)
        return status;
    status = certificate_holds(&c, &now, holds, why);
    certificate_clear(&c);
    return status;
}

/* ---- by a set of cases ---- */

/* The ci set stands in where a variant does none of the smoke set's shapes. */
static assay_status pass_a_set(const bench_gate_state *g, const assay_op *op,
                               const bench_ruling *r) {
    const assay_dtype *dtype = g->args->python ? &r->dtype : NULL;
    int32_t passed = 0;
    assay_status status = ASSAY_OK;
    for (assay_set set = ASSAY_SMOKE; status == ASSAY_OK && passed == 0 && set <= ASSAY_CI; ++set)
        status = bench_prove(op, set, g->args->scope, dtype, g->isolated, r->variant, &passed);
    if (status != ASSAY_OK || passed > 0)
        return status;
    return assay_fail(ASSAY_ERR_KERNEL, "no case of %s runs here, so it cannot be proven",
                      op->name);
}

/* ---- the ruling ---- */

static void rule(const bench_gate_state *g, const assay_op *op, bench_ruling *r) {
    const assay_variant *variant = variant_find(g->isolated, op->name, r->variant);
    assay_status status = ASSAY_OK;
    if (!variant)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "%s has no such variant", g->isolated->name);
    /* A certificate that is damaged is none. One of all stages and layouts holds of each. */
    const check_scope scopes[] = {{0}, g->args->scope};
    for (int i = 0; status == ASSAY_OK && !r->open && i < 2; ++i)
        r->open = is_certified(g, variant, scopes[i], &r->open) == ASSAY_OK && r->open;
    if (status == ASSAY_OK && !r->open)
        status = pass_a_set(g, op, r);
    r->open = status == ASSAY_OK;
    if (!r->open)
        snprintf(r->why, sizeof r->why, "not proven: %.300s", assay_error());
}

static bench_ruling *find(bench_gate_state *g, const char *op, const char *variant,
                          assay_dtype dtype) {
    for (int32_t i = 0; i < g->count; ++i)
        if (strcmp(g->ruling[i].op, op) == 0 && strcmp(g->ruling[i].variant, variant) == 0 &&
            (!g->args->python || g->ruling[i].dtype == dtype))
            return &g->ruling[i];
    return NULL;
}

bool bench_gate_open(void *context, const assay_case *c, const char *variant,
                     char why[BENCH_REASON]) {
    bench_gate_state *g = context;
    const assay_op *op = c->op;
    bench_ruling *r = find(g, op->name, variant, c->params.dtype);
    if (!r) {
        bench_ruling *more = realloc(g->ruling, ((size_t)g->count + 1) * sizeof *more);
        if (!more) {
            snprintf(why, BENCH_REASON, "out of memory to prove it");
            return false;
        }
        g->ruling = more;
        r = &g->ruling[g->count++];
        *r = (bench_ruling){.dtype = c->params.dtype};
        snprintf(r->op, sizeof r->op, "%s", op->name);
        snprintf(r->variant, sizeof r->variant, "%s", variant);
        rule(g, op, r);
    }
    memcpy(why, r->why, sizeof r->why);
    return r->open;
}

void bench_gate_clear(bench_gate_state *g) {
    free(g->ruling);
    *g = (bench_gate_state){0};
}
