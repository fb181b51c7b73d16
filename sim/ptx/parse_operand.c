/* Operands. */
#include "sim/ptx/parse.h"

#include <string.h>

/* Items up to `close`, which is taken. */
void parse_items(parser *p, operand *o, char close) {
    operand *first = NULL, **last = &first;
    if (!parse_is_char(p, close))
        do {
            *last = parse_operand(p);
            last = &(*last)->next;
            ++o->n_items;
        } while (parse_accept(p, ','));
    parse_expect(p, close);
    o->items = arena_take(p->tree->memory, (o->n_items + 1) * sizeof *o);
    for (uint32_t i = 0; first != NULL; first = first->next)
        o->items[i++] = *first;
}

static void read_component(parser *p, operand *o) {
    if (p->now.kind == TOKEN_DOT && p->now.n == 1 && !p->now.spaced &&
        strchr("xyzwrgba", p->now.text[0]) != NULL) {
        static const char names[] = "xyzwrgba", standard[] = "xyzwxyzw";
        o->component = standard[strchr(names, p->now.text[0]) - names];
        parse_advance(p);
    }
}

static void read_offset(parser *p, operand *o) {
    while (parse_is_char(p, '+') || parse_is_char(p, '-')) {
        const bool minus = parse_is_char(p, '-');
        parse_advance(p);
        const bool again = parse_accept(p, '-');
        const uint64_t value = parse_integer(p);
        o->offset = (int64_t)((uint64_t)o->offset + (minus != again ? 0 - value : value));
    }
}

void parse_plain(parser *p, operand *o) {
    if (p->now.kind == TOKEN_INTEGER || p->now.kind == TOKEN_FLOAT) {
        o->kind = p->now.kind == TOKEN_INTEGER ? OPERAND_INTEGER : OPERAND_FLOAT;
        o->value = p->now.value;
        o->single = p->now.single;
        parse_advance(p);
        return;
    }
    o->kind = OPERAND_NAME;
    o->name = parse_word(p);
    read_component(p, o);
    if (strcmp(o->name, "generic") == 0 && parse_accept(p, '(')) {
        parse_plain(p, o);
        read_offset(p, o);
        parse_expect(p, ')');
    }
    read_offset(p, o);
}

operand *parse_operand(parser *p) {
    operand *o = arena_take(p->tree->memory, sizeof *o);
    if (++p->depth > MOST_NESTED)
        parse_fail(p, "too many braces within each other");
    if (parse_accept(p, '{')) {
        o->kind = OPERAND_VECTOR;
        parse_items(p, o, '}');
    } else if (parse_accept(p, '[')) {
        o->kind = OPERAND_ADDRESS;
        parse_items(p, o, ']');
    } else if (parse_accept(p, '(')) {
        o->kind = OPERAND_LIST;
        parse_items(p, o, ')');
    } else {
        o->negated = parse_accept(p, '!');
        o->minus = parse_accept(p, '-');
        parse_plain(p, o);
        if (o->kind == OPERAND_INTEGER && o->minus) {
            o->value = 0 - o->value;
            o->minus = false;
        }
        if (o->kind == OPERAND_FLOAT && o->minus) {
            o->value ^= o->single ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
            o->minus = false;
        }
    }
    if ((o->kind == OPERAND_NAME || o->kind == OPERAND_VECTOR) && parse_accept(p, '|')) {
        operand *pair = arena_take(p->tree->memory, sizeof *pair);
        pair->kind = OPERAND_PAIR;
        pair->n_items = 2;
        pair->items = arena_take(p->tree->memory, 2 * sizeof *pair);
        pair->items[0] = *o;
        parse_plain(p, &pair->items[1]);
        o = pair;
    }
    --p->depth;
    return o;
}
