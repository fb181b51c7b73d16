/* Registers and variables. */
#include "sim/ptx/parse.h"

#include <string.h>

/* [4][2]; *open: the first is empty. */
uint64_t parse_dimensions(parser *p, bool *open) {
    uint64_t n = 1;
    *open = false;
    while (parse_accept(p, '[')) {
        if (parse_is_char(p, ']'))
            *open = true;
        else
            n = parse_times(p, n, parse_integer(p));
        parse_expect(p, ']');
    }
    return *open ? 0 : n;
}

static void flatten(parser *p, const operand *o, operand **out, uint32_t *n, uint32_t *room) {
    if (o->kind == OPERAND_VECTOR) {
        for (uint32_t i = 0; i < o->n_items; ++i)
            flatten(p, &o->items[i], out, n, room);
        return;
    }
    if (*n == *room) {
        operand *grown = arena_take(p->tree->memory, (2 * (size_t)*room + 8) * sizeof *grown);
        if (*n > 0)
            memcpy(grown, *out, *n * sizeof *grown);
        *out = grown;
        *room = 2 * *room + 8;
    }
    (*out)[(*n)++] = *o;
}

static void read_initial(parser *p, symbol *s) {
    operand *values = NULL;
    uint32_t n = 0, room = 0;
    flatten(p, parse_operand(p), &values, &n, &room);
    s->initial = values;
    s->names = p->scope;
    s->n_initial = n;
    if (s->bytes == 0)
        s->bytes = parse_times(p, n, s->type->bytes);
    if (n > s->bytes)
        parse_fail(p, "more values than the variable has elements");
}

/* .align 4 .v2 .b8 .ptr .global: everything up to the name. */
declaration parse_attributes(parser *p) {
    declaration d = {0};
    while (p->now.kind == TOKEN_DOT) {
        const ptx_type *type = type_find(p->now.text, p->now.n);
        if (type != NULL) {
            d.type = type;
        } else if (parse_is(p, TOKEN_DOT, "align")) {
            parse_advance(p);
            d.alignment = parse_integer(p);
            if (d.alignment == 0 || d.alignment > 65536 || (d.alignment & (d.alignment - 1)) != 0)
                parse_fail(p, "an alignment that is no power of two");
            continue;
        } else if (parse_is(p, TOKEN_DOT, "ptr")) { /* the rest is about what it points at */
            while (p->now.kind == TOKEN_DOT) {
                const bool align = parse_is(p, TOKEN_DOT, "align");
                parse_advance(p);
                if (align)
                    (void)parse_integer(p);
            }
            break;
        } else if (parse_is(p, TOKEN_DOT, "v2") || parse_is(p, TOKEN_DOT, "v4")) {
            d.vector = (uint32_t)(p->now.text[1] - '0');
        } else if (parse_is(p, TOKEN_DOT, "attribute")) {
            parse_advance(p);
            while (p->now.kind != TOKEN_END && !parse_is_char(p, ')'))
                parse_advance(p);
        }
        parse_advance(p);
    }
    if (d.type == NULL)
        d.type = type_named("b64"); /* .texref and its like */
    return d;
}

void parse_registers(parser *p) {
    const declaration d = parse_attributes(p);
    do {
        const char *name = parse_word(p);
        uint64_t count = 0;
        if (parse_accept(p, '<')) {
            count = parse_integer(p);
            parse_expect(p, '>');
            name = arena_print(p->tree->memory, "%s<", name);
            if (count > p->registers)
                parse_fail(p, "too many registers");
            p->registers -= count;
        }
        symbol *s = parse_declare(p, p->scope, name, SYMBOL_REGISTER);
        s->type = d.type;
        s->vector = d.vector;
        s->count = (uint32_t)count;
        s->used = arena_take(p->tree->memory, (count + 1) * sizeof *s->used);
        s->lean = arena_take(p->tree->memory, (count + 1) * sizeof *s->lean);
        s->origin = arena_take(p->tree->memory, (count + 1) * sizeof *s->origin);
        s->flow = arena_take(p->tree->memory, (count + 1) * sizeof *s->flow);
    } while (parse_accept(p, ','));
    parse_expect(p, ';');
}

static uint64_t place_in(uint64_t *used, const symbol *s) {
    const uint64_t offset = (*used + s->alignment - 1) & ~(s->alignment - 1);
    *used = offset + s->bytes;
    return offset;
}

static symbol *add_variable(parser *p, scope *in, const char *name, symbol_kind kind) {
    symbol *s = parse_declare(p, in, name, kind);
    if (kind == SYMBOL_GLOBAL) {
        s->index = p->tree->n_globals++;
        s->next_global = p->tree->last_global;
        p->tree->last_global = s;
    }
    return s;
}

/* The symbol that a declaration is about. Where another module has defined it, that is not. */
static symbol *declared(parser *p, const char *name, symbol_kind kind, bool external) {
    if (p->function != NULL)
        return add_variable(p, p->scope, name, kind);
    symbol *s = scope_own(p->home, name);
    if (s == NULL || (!s->external && !external && !p->weak))
        return add_variable(p, p->home, name, kind);
    if (s->kind != kind)
        parse_fail(p, arena_print(p->tree->memory, "%s is declared in two spaces", name));
    return s->external ? s : arena_take(p->tree->memory, sizeof *s);
}

void parse_variables(parser *p, symbol_kind kind, bool external, bool parameter) {
    const declaration d = parse_attributes(p);
    do {
        bool open;
        const char *name = parse_word(p);
        symbol *s = declared(p, name, kind, external);
        s->kind = kind;
        s->type = d.type;
        s->alignment = d.alignment > 0 ? d.alignment : d.type->bytes * (d.vector ? d.vector : 1u);
        if (s->alignment == 0)
            parse_fail(p, "a variable of type .pred");
        s->bytes =
            parse_times(p, parse_dimensions(p, &open), d.type->bytes * (d.vector ? d.vector : 1u));
        s->external = external;
        if (p->function != NULL && kind == SYMBOL_SHARED)
            s->offset = place_in(&p->function->shared_bytes, s);
        if (p->function != NULL && kind == SYMBOL_LOCAL && !parameter)
            s->offset = place_in(&p->function->local_bytes, s);
        if (parse_accept(p, '='))
            read_initial(p, s);
    } while (parse_accept(p, ','));
    parse_expect(p, ';');
}
