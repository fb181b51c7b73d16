/*
 * Which registers have to do with wgmma. Its sums are under way until a wait, and may be moved
 * meanwhile: compilers copy them from one wgmma to the next by `mov`. Its operands in registers
 * must have been there at the last wgmma.fence, even if moves have put them elsewhere since.
 */
#include "sim/ptx/emit.h"

#include <string.h>

static uint8_t *flow_of(const scope *from, const operand *o) {
    int64_t number;
    const symbol *s = o->kind == OPERAND_NAME ? scope_find(from, o->name, &number) : NULL;
    if (s == NULL || s->kind != SYMBOL_REGISTER || s->vector > 0)
        return NULL;
    return &s->flow[number < 0 ? 0 : number];
}

static bool is_part(const statement *s, const char *name) {
    return s->kind == STATEMENT_INSTRUCTION && strcmp(s->part[0], name) == 0;
}

bool is_plain_move(const statement *s) {
    return is_part(s, "mov") && s->n_operands == 2 && s->operands[0]->kind == OPERAND_NAME &&
           s->operands[1]->kind != OPERAND_VECTOR;
}

bool is_wgmma(const statement *s) {
    return is_part(s, "wgmma") && s->n_parts > 1 && strcmp(s->part[1], "mma_async") == 0 &&
           s->n_operands >= 3;
}

static void mark(const statement *s, const operand *o, uint8_t flow) {
    for (uint32_t i = 0; o->kind == OPERAND_VECTOR && i < o->n_items; ++i) {
        uint8_t *of = flow_of(s->scope, &o->items[i]);
        if (of != NULL)
            *of |= flow;
    }
}

/* Sums go forwards through a move, and what wgmma takes comes backwards. */
static bool carry(const statement *s) {
    uint8_t *to = flow_of(s->scope, s->operands[0]), *from = flow_of(s->scope, s->operands[1]);
    if (to == NULL || from == NULL)
        return false;
    const uint8_t new_to = (uint8_t)(*to | (*from & FLOW_SUM));
    const uint8_t new_from = (uint8_t)(*from | (*to & FLOW_TAKEN));
    const bool changed = new_to != *to || new_from != *from;
    *to = new_to;
    *from = new_from;
    return changed;
}

bool flow_find(const function *f) {
    bool any = false, changed = true;
    for (const statement *s = f->first; s != NULL; s = s->next)
        if (is_wgmma(s)) {
            any = true;
            mark(s, s->operands[0], FLOW_SUM | FLOW_TAKEN | FLOW_RESULT);
            mark(s, s->operands[1], FLOW_TAKEN | FLOW_FACTOR);
        }
    while (any && changed) {
        changed = false;
        for (const statement *s = f->first; s != NULL; s = s->next)
            if (is_plain_move(s))
                changed |= carry(s);
    }
    return any;
}
