/*
 * transformer: logits that may be NaN though they are finite. Where a later token's v is not
 * finite, an earlier query, which does not see it, may multiply it by its weight 0. attention's
 * `outside` says which rows of o are NaN then, and so are the logits of these tokens. The later
 * token's own logits are NaN in any case, and with them the loss and all gradients that come by
 * these rows.
 */
#include "oracles/attention/attention.h"
#include "oracles/common/bound.h"
#include "oracles/transformer/ends.h"
#include "oracles/transformer/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct search {
    const transformer_graph *graph;
    const assay_rounding *rounding;
    bool *token; /* whether its logits may be NaN */
} search;

/* Marks the tokens, (b, t), that have a row of o, (b, h, t, e), that may be NaN. */
static assay_status mark_hidden(void *context, const transformer_node *node,
                                const assay_oracle_args *args, assay_arrays *result) {
    const search *of = context;
    assay_bounds out, grad;
    (void)result;
    if (strcmp(node->op->name, "attention") != 0)
        return ASSAY_OK;
    const assay_status status = transformer_ask(node, args, of->rounding, &out, &grad);
    const bool *nan = status == ASSAY_OK ? out.nan_too[ATTENTION_O] : NULL;
    const transformer_sizes *s = &of->graph->sizes;
    for (int64_t e = 0; nan && e < s->tokens * s->d; ++e) {
        const int64_t row = e / s->head_dim; /* (b, h, t) */
        const int64_t token = row / (s->heads * s->t) * s->t + row % s->t;
        of->token[token] = of->token[token] || nan[e];
    }
    assay_bounds_clear(&out);
    assay_bounds_clear(&grad);
    return status;
}

static assay_status find_hidden(const assay_oracle_args *args, search *of) {
    const transformer_hooks hooks = {.context = of, .forward = mark_hidden};
    transformer_pass pass = {0};
    double **given = transformer_given(args, args->in->data + TRANSFORMER_FIRST, 0);
    assay_status status = given ? transformer_pass_init(&pass, of->graph, given) : ASSAY_ERR_MEMORY;
    pass.hooks = &hooks;
    if (status == ASSAY_OK)
        status = transformer_pass_forward(&pass);
    transformer_pass_clear(&pass);
    free(given);
    return status;
}

static void allow(const transformer_sizes *s, const bool *token, bool *logits) {
    for (int64_t i = 0; i < s->tokens * s->vocab; ++i)
        logits[i] = token[i / s->vocab];
}

static bool parameters_are_finite(const assay_oracle_args *args, const transformer_sizes *s) {
    for (int32_t i = TRANSFORMER_FIRST; i < TRANSFORMER_FIRST + s->parameters; ++i)
        for (int64_t e = 0; e < args->in->size[i]; ++e)
            if (!isfinite(args->in->data[i][e]))
                return false;
    return true;
}

assay_status transformer_outside(const assay_oracle_args *args, const assay_rounding *rounding,
                                 assay_bounds *out, assay_bounds *grad) {
    const transformer_sizes s = transformer_sizes_of(args->params);
    transformer_graph graph = {0};
    (void)grad;
    /* Of a training all is NaN after its first step. */
    if (s.steps > 0 || parameters_are_finite(args, &s))
        return ASSAY_OK;
    bool *token = calloc((size_t)s.tokens + 1, sizeof *token);
    assay_status status =
        token ? transformer_graph_init(&graph, args->params)
              : assay_fail(ASSAY_ERR_MEMORY, "out of memory for %lld marks", (long long)s.tokens);
    if (status == ASSAY_OK)
        status = find_hidden(args, &(search){&graph, rounding, token});
    if (status == ASSAY_OK)
        status = assay_bounds_allow_nan(out, TRANSFORMER_LOGITS);
    if (status == ASSAY_OK)
        allow(&s, token, out->nan_too[TRANSFORMER_LOGITS]);
    transformer_graph_clear(&graph);
    free(token);
    return status;
}
