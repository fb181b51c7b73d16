#include "oracles/transformer/ends.h"
#include "oracles/common/bound.h"
#include "oracles/common/range.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

assay_status transformer_ends_init(transformer_ends *e, const transformer_graph *g) {
    const size_t n = (size_t)g->n_values;
    e->value = calloc(n, sizeof *e->value);
    e->gradient = calloc(n, sizeof *e->gradient);
    if (e->value && e->gradient)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a line of each of %zu values", n);
}

void transformer_ends_clear(transformer_ends *e) {
    free(e->value);
    free(e->gradient);
    *e = (transformer_ends){0};
}

void transformer_end(const char from[ASSAY_WHY], char to[ASSAY_WHY]) {
    if (from[0] != '\0')
        memcpy(to, from, ASSAY_WHY);
}

assay_status transformer_ask(const transformer_node *node, const assay_oracle_args *args,
                             const assay_rounding *r, assay_bounds *out, assay_bounds *grad) {
    *out = *grad = (assay_bounds){0};
    assay_status status = assay_bounds_init(out, node->n_out);
    if (status == ASSAY_OK)
        status = assay_bounds_init(grad, node->n_in);
    /* attention marks elements of its result; those of gradients are not asked for. */
    for (int32_t i = 0; status == ASSAY_OK && node->sig.out && i < node->n_out; ++i)
        status = assay_arrays_add(&out->element, i, assay_spec_count(&node->sig.out[i]));
    if (status == ASSAY_OK && node->op->outside)
        status = node->op->outside(args, r, out, grad);
    return status;
}

/* The first of some values that has a line; "": none. */
static const char *first_line(char (*const lines)[ASSAY_WHY], int32_t count, const int32_t *value) {
    for (int32_t i = 0; i < count; ++i)
        if (lines[value[i]][0] != '\0')
            return lines[value[i]];
    return "";
}

/* A node's results: what they are computed from has the line `inherited`, or the operator has one
 * of its own. */
static void take_line(const transformer_node *node, const char *inherited,
                      const char own[ASSAY_WHY], char line[ASSAY_WHY]) {
    if (line[0] != '\0')
        return;
    if (inherited[0] != '\0')
        memcpy(line, inherited, ASSAY_WHY);
    else if (own[0] != '\0')
        snprintf(line, ASSAY_WHY, "%s: %.*s", node->op->name, ASSAY_WHY - ASSAY_TENSOR_NAME, own);
}

/* Of the results of a direction, in `lines`. */
static assay_status take_lines(const transformer_node *node, const assay_oracle_args *args,
                               const assay_rounding *r, bool backward, const char *inherited,
                               char (*lines)[ASSAY_WHY]) {
    const int32_t *value = backward ? node->in : node->out;
    const int32_t count = backward ? node->n_in : node->n_out;
    assay_bounds out, grad;
    const assay_status status = transformer_ask(node, args, r, &out, &grad);
    for (int32_t i = 0; status == ASSAY_OK && i < count; ++i)
        take_line(node, inherited, (backward ? &grad : &out)->outside[i], lines[value[i]]);
    assay_bounds_clear(&out);
    assay_bounds_clear(&grad);
    return status;
}

assay_status transformer_ends_forward(transformer_ends *e, const transformer_node *node,
                                      const assay_oracle_args *args, const assay_rounding *r) {
    return take_lines(node, args, r, false, first_line(e->value, node->n_in, node->in), e->value);
}

/* One contribution to a value's gradient without a definition leaves none to their sum. */
assay_status transformer_ends_backward(transformer_ends *e, const transformer_node *node,
                                       const assay_oracle_args *args, const assay_rounding *r) {
    const char *inherited = first_line(e->value, node->n_in, node->in);
    if (inherited[0] == '\0')
        inherited = first_line(e->gradient, node->n_out, node->out);
    return take_lines(node, args, r, true, inherited, e->gradient);
}

void transformer_ends_sum(transformer_ends *e, const transformer_node *node, int32_t slot,
                          double *sum, int64_t size, const assay_rounding *r) {
    const assay_arrays sums = {.count = 1, .size = &size, .data = &sum};
    assay_bounds bounds = {.outside = &e->gradient[node->in[slot]]};
    range_hold(r, range_largest(&sums, 0), "a sum of gradients", &bounds, 0);
}
