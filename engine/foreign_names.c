#include "engine/foreign_names.h"
#include "engine/foreign_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which arguments were found, in any case that was visited. */
typedef struct search {
    const binding *binding;
    bool found[ASSAY_STAGES][BINDING_ARGUMENTS];
    int64_t cases;
    char names[200]; /* of the last case */
} search;

static assay_tensor shape_of(const assay_tensor_spec *spec) {
    assay_tensor t = {.dtype = spec->dtype, .rank = spec->rank, .inner = spec->inner};
    memcpy(t.shape, spec->shape, sizeof t.shape);
    return t;
}

/* All tensors of either stage, in the order of assay_call: more than it has does no harm. */
static void shape_all(const assay_signature *sig, assay_tensor *in, assay_tensor *out,
                      assay_stage stage) {
    for (int32_t i = 0; i < sig->n_in; ++i)
        *in++ = shape_of(&sig->in[i]);
    for (int32_t o = 0; o < sig->n_out; ++o)
        *(stage == ASSAY_FORWARD ? out++ : in++) = shape_of(&sig->out[o]);
    for (int32_t o = 0; o < sig->n_out; ++o)
        if (stage == ASSAY_BACKWARD && sig->out[o].differentiable)
            *in++ = shape_of(&sig->out[o]);
    for (int32_t i = 0; i < sig->n_in; ++i)
        if (stage == ASSAY_BACKWARD && sig->in[i].differentiable)
            *out++ = shape_of(&sig->in[i]);
}

static void look(search *s, const foreign_call *c) {
    const binding_launcher *l = &s->binding->stage[c->stage];
    for (int32_t i = 0; i < l->count; ++i) {
        foreign_value v;
        const bool all = l->tvm_ffi && strcmp(l->argument[i].value, "all") == 0;
        s->found[c->stage][i] =
            s->found[c->stage][i] || all || foreign_find(c, &l->argument[i], &v) == ASSAY_OK;
    }
}

static assay_status visit(const assay_case *c, void *context) {
    search *s = context;
    assay_signature sig;
    assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    const size_t room = 2 * (size_t)(sig.n_in + sig.n_out) + 1;
    assay_tensor *in = calloc(room, sizeof *in), *out = calloc(room, sizeof *out);
    if (in == NULL || out == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory to read a binding");
    for (int stage = 0; status == ASSAY_OK && stage < ASSAY_STAGES; ++stage) {
        const assay_call call = {.params = &c->params, .in = in, .out = out};
        const foreign_call f = {&sig, (assay_stage)stage, &call};
        shape_all(&sig, in, out, (assay_stage)stage);
        look(s, &f);
        foreign_names(&f, s->names, sizeof s->names);
    }
    s->cases += status == ASSAY_OK;
    free(in);
    free(out);
    assay_signature_clear(&sig);
    return status;
}

assay_status foreign_check_names(const char *file, const assay_op *op, const binding *b) {
    search s = {.binding = b};
    const assay_status status = assay_op_visit_set(op, ASSAY_SMOKE, visit, &s);
    for (int stage = 0; status == ASSAY_OK && s.cases > 0 && stage < ASSAY_STAGES; ++stage)
        for (int32_t i = 0; i < b->stage[stage].count; ++i)
            if (!s.found[stage][i])
                return assay_fail(ASSAY_ERR_USAGE,
                                  "%.200s: %s takes %s, which %s has not in %s: it has%s, and "
                                  "x.rows, x.stride and so on; say what is passed "
                                  "(docs/own-kernel.md, Bindings)",
                                  file, b->stage[stage].symbol, b->stage[stage].argument[i].value,
                                  op->name, assay_stage_name((assay_stage)stage), s.names);
    return status;
}
