/*
 * Whether a kernel's blocks may run at the same time and leave the bits that they leave one after
 * the other. They may if no block can learn of another. The kernel then has no access, fence or
 * spin by which blocks could wait. It may have atomics in global memory of one operation only, on
 * integers, which commutes and whose results it never reads. Plain accesses of two blocks to one
 * place would be a race.
 */
#include "sim/ptx/emit.h"

#include <string.h>

static bool has_part(const statement *s, const char *parts) {
    for (uint32_t i = 1; i < s->n_parts; ++i) {
        const char *found = strstr(parts, s->part[i]);
        const size_t n = strlen(s->part[i]);
        if (found != NULL && (found == parts || found[-1] == ' ') &&
            (found[n] == ' ' || found[n] == '\0'))
            return true;
    }
    return false;
}

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

static bool names(const operand *o, bool (*is)(const char *name, const void *data),
                  const void *data) {
    bool any = o->name != NULL && is(o->name, data);
    for (uint32_t i = 0; i < o->n_items && !any; ++i)
        any = names(&o->items[i], is, data);
    return any;
}

static bool mentions(const statement *s, uint32_t from,
                     bool (*is)(const char *name, const void *data), const void *data) {
    bool any = s->guard != NULL && names(s->guard, is, data);
    for (uint32_t i = from; i < s->n_operands && !any; ++i)
        any = names(s->operands[i], is, data);
    return any;
}

/* Registers that differ with what ran before. */
static bool is_clock(const char *name, const void *data) {
    (void)data;
    return begins(name, "%clock") || begins(name, "%globaltimer") || begins(name, "%envreg");
}

static bool is_same(const char *name, const void *other) {
    return strcmp(name, other) == 0;
}

/* By its name: one of another scope counts, too. */
static bool is_read(const function *f, const statement *by, const char *name) {
    for (const statement *s = f->first; s != NULL; s = s->next)
        if (s->kind == STATEMENT_INSTRUCTION && mentions(s, s == by ? 1 : 0, is_same, name))
            return true;
    return false;
}

static bool is_integer(const statement *s) {
    const ptx_type *type = NULL;
    for (uint32_t i = 1; i < s->n_parts; ++i)
        if (type_named(s->part[i]) != NULL)
            type = type_named(s->part[i]);
    return type != NULL && type->class != CLASS_FLOAT && type->class != CLASS_SMALL;
}

/* `operation`: of the kernel's atomics so far; NULL: there were none. */
static bool atomic_orders(const function *f, const statement *s, const char **operation) {
    static const char *const commuting[] = {"add", "and", "or", "xor", "min", "max"};
    const char *own = NULL;
    for (size_t i = 0; i < sizeof commuting / sizeof commuting[0]; ++i)
        if (has_part(s, commuting[i]))
            own = commuting[i];
    if (own == NULL || !is_integer(s) || (*operation != NULL && *operation != own))
        return true;
    *operation = own;
    const operand *to = s->n_operands > 0 ? s->operands[0] : NULL;
    return strcmp(s->part[0], "atom") == 0 &&
           (to == NULL || to->kind != OPERAND_NAME || is_read(f, s, to->name));
}

static bool call_orders(const statement *s) {
    for (uint32_t i = 0; i < s->n_operands; ++i) {
        int64_t number;
        const operand *o = s->operands[i];
        const symbol *to = o->kind == OPERAND_NAME ? scope_find(s->scope, o->name, &number) : NULL;
        if (to != NULL && to->kind == SYMBOL_FUNCTION)
            return to->function == NULL ||
                   (!to->function->defined && strcmp(to->name, "__assertfail") != 0);
    }
    return true;
}

static bool orders(const function *f, const statement *s, const char **operation) {
    const char *name = s->part[0];
    const bool shared = has_part(s, "shared shared::cta");
    if (mentions(s, 0, is_clock, NULL))
        return true;
    if (strcmp(name, "ld") == 0 || strcmp(name, "st") == 0)
        return !shared && has_part(s, "volatile relaxed acquire release mmio");
    if (strcmp(name, "membar") == 0)
        return !has_part(s, "cta proxy");
    if (strcmp(name, "fence") == 0)
        return has_part(s, "gpu sys");
    if (strcmp(name, "atom") == 0 || strcmp(name, "red") == 0)
        return !shared && atomic_orders(f, s, operation);
    if (strcmp(name, "cp") == 0)
        return has_part(s, "reduce");
    if (strcmp(name, "call") == 0)
        return call_orders(s);
    return strcmp(name, "nanosleep") == 0 || strcmp(name, "multimem") == 0;
}

bool blocks_unordered(const kernel_parts *parts) {
    const char *operation = NULL;
    for (int32_t i = 0; i < parts->n_functions; ++i)
        for (const statement *s = parts->functions[i]->first; s != NULL; s = s->next)
            if (s->kind == STATEMENT_INSTRUCTION && orders(parts->functions[i], s, &operation))
                return false;
    return true;
}
