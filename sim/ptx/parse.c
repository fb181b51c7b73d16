#include "sim/ptx/lex.h"
#include "sim/ptx/tree.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NESTED = 64, MOST_FAMILY = 1 << 20 };

typedef struct parser {
    lexer lexer;
    token now;
    tree *tree;
    scope *scope;
    function *function;
    place place;
    jmp_buf failed;
    int32_t depth;
} parser;

static _Noreturn void fail(parser *p, const char *what) {
    const char *reason = p->lexer.error != NULL ? p->lexer.error : what;
    assay_fail(ASSAY_ERR_FILE, "%s:%d: not PTX: %s%s%.*s%s", p->tree->name, p->now.line, reason,
               p->now.n > 0 ? " at '" : "", (int)(p->now.n < 40 ? p->now.n : 40), p->now.text,
               p->now.n > 0 ? "'" : "");
    longjmp(p->failed, 1);
}

static void advance(parser *p) {
    p->now = lex_next(&p->lexer);
    if (p->lexer.error != NULL)
        fail(p, NULL);
}

static bool is(const parser *p, token_kind kind, const char *text) {
    return p->now.kind == kind && p->now.n == strlen(text) &&
           memcmp(p->now.text, text, p->now.n) == 0;
}

static bool is_char(const parser *p, char c) {
    return p->now.kind == TOKEN_OTHER && p->now.text[0] == c;
}

static bool accept(parser *p, char c) {
    if (!is_char(p, c))
        return false;
    advance(p);
    return true;
}

static void expect(parser *p, char c) {
    char what[16] = "expected ' '";
    what[10] = c;
    if (!accept(p, c))
        fail(p, what);
}

static bool accept_dot(parser *p, const char *text) {
    if (!is(p, TOKEN_DOT, text))
        return false;
    advance(p);
    return true;
}

static const char *copy(parser *p) {
    return arena_copy(p->tree->memory, p->now.text, p->now.n);
}

static const char *word(parser *p) {
    if (p->now.kind != TOKEN_WORD)
        fail(p, "expected a name");
    const char *text = copy(p);
    advance(p);
    return text;
}

static uint64_t integer(parser *p) {
    if (p->now.kind != TOKEN_INTEGER)
        fail(p, "expected a number");
    const uint64_t value = p->now.value;
    advance(p);
    return value;
}

static scope *open_scope(parser *p) {
    scope *s = arena_take(p->tree->memory, sizeof *s);
    s->parent = p->scope;
    s->id = p->tree->n_scopes++;
    return s;
}

static symbol *declare(parser *p, scope *s, const char *name, symbol_kind kind) {
    symbol *added = scope_add(p->tree->memory, s, name, kind);
    if (added == NULL)
        fail(p, arena_print(p->tree->memory, "%s is declared twice", name));
    added->id = p->tree->n_symbols++;
    added->line = p->now.line;
    return added;
}

/* ---- operands */

static operand *read_operand(parser *p);

/* Items up to `close`, which is taken. */
static void read_items(parser *p, operand *o, char close) {
    operand *first = NULL, **last = &first;
    if (!is_char(p, close))
        do {
            *last = read_operand(p);
            last = &(*last)->next;
            ++o->n_items;
        } while (accept(p, ','));
    expect(p, close);
    o->items = arena_take(p->tree->memory, (o->n_items + 1) * sizeof *o);
    for (uint32_t i = 0; first != NULL; first = first->next)
        o->items[i++] = *first;
}

static void read_component(parser *p, operand *o) {
    if (p->now.kind == TOKEN_DOT && p->now.n == 1 && !p->now.spaced &&
        strchr("xyzwrgba", p->now.text[0]) != NULL) {
        static const char names[] = "xyzwrgba", standard[] = "xyzwxyzw";
        o->component = standard[strchr(names, p->now.text[0]) - names];
        advance(p);
    }
}

static void read_offset(parser *p, operand *o) {
    while (is_char(p, '+') || is_char(p, '-')) {
        const bool minus = is_char(p, '-');
        advance(p);
        const bool again = accept(p, '-');
        const uint64_t value = integer(p);
        o->offset = (int64_t)((uint64_t)o->offset + (minus != again ? 0 - value : value));
    }
}

static void read_plain(parser *p, operand *o) {
    if (p->now.kind == TOKEN_INTEGER || p->now.kind == TOKEN_FLOAT) {
        o->kind = p->now.kind == TOKEN_INTEGER ? OPERAND_INTEGER : OPERAND_FLOAT;
        o->value = p->now.value;
        o->single = p->now.single;
        advance(p);
        return;
    }
    o->kind = OPERAND_NAME;
    o->name = word(p);
    read_component(p, o);
    if (strcmp(o->name, "generic") == 0 && accept(p, '(')) {
        read_plain(p, o);
        read_offset(p, o);
        expect(p, ')');
    }
    read_offset(p, o);
}

static operand *read_operand(parser *p) {
    operand *o = arena_take(p->tree->memory, sizeof *o);
    if (++p->depth > MOST_NESTED)
        fail(p, "too many braces within each other");
    if (accept(p, '{')) {
        o->kind = OPERAND_VECTOR;
        read_items(p, o, '}');
    } else if (accept(p, '[')) {
        o->kind = OPERAND_ADDRESS;
        read_items(p, o, ']');
    } else if (accept(p, '(')) {
        o->kind = OPERAND_LIST;
        read_items(p, o, ')');
    } else {
        o->negated = accept(p, '!');
        o->minus = accept(p, '-');
        read_plain(p, o);
        if (o->kind == OPERAND_INTEGER && o->minus) {
            o->value = 0 - o->value;
            o->minus = false;
        }
        if (o->kind == OPERAND_FLOAT && o->minus) {
            o->value ^= o->single ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
            o->minus = false;
        }
        if (accept(p, '|')) {
            operand *pair = arena_take(p->tree->memory, sizeof *pair);
            pair->kind = OPERAND_PAIR;
            pair->n_items = 2;
            pair->items = arena_take(p->tree->memory, 2 * sizeof *pair);
            pair->items[0] = *o;
            read_plain(p, &pair->items[1]);
            o = pair;
        }
    }
    --p->depth;
    return o;
}

/* ---- variables */

static uint64_t times(parser *p, uint64_t a, uint64_t b) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > UINT64_C(1) << 40)
        fail(p, "a variable too large");
    return product;
}

/* [4][2]; *open: the first is empty. */
static uint64_t read_dimensions(parser *p, bool *open) {
    uint64_t n = 1;
    *open = false;
    while (accept(p, '[')) {
        if (is_char(p, ']'))
            *open = true;
        else
            n = times(p, n, integer(p));
        expect(p, ']');
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
    flatten(p, read_operand(p), &values, &n, &room);
    s->initial = values;
    s->n_initial = n;
    if (s->bytes == 0)
        s->bytes = times(p, n, s->type->bytes);
    if (n > s->bytes)
        fail(p, "more values than the variable has elements");
}

typedef struct declaration {
    const ptx_type *type;
    uint32_t vector;
    uint64_t alignment;
} declaration;

/* .align 4 .v2 .b8 .ptr .global: everything up to the name. */
static declaration read_attributes(parser *p) {
    declaration d = {0};
    while (p->now.kind == TOKEN_DOT) {
        const ptx_type *type = type_find(p->now.text, p->now.n);
        if (type != NULL) {
            d.type = type;
        } else if (is(p, TOKEN_DOT, "align")) {
            advance(p);
            d.alignment = integer(p);
            if (d.alignment == 0 || d.alignment > 65536 || (d.alignment & (d.alignment - 1)) != 0)
                fail(p, "an alignment that is no power of two");
            continue;
        } else if (is(p, TOKEN_DOT, "ptr")) { /* the rest is about what it points at */
            while (p->now.kind == TOKEN_DOT) {
                const bool align = is(p, TOKEN_DOT, "align");
                advance(p);
                if (align)
                    (void)integer(p);
            }
            break;
        } else if (is(p, TOKEN_DOT, "v2") || is(p, TOKEN_DOT, "v4")) {
            d.vector = (uint32_t)(p->now.text[1] - '0');
        } else if (is(p, TOKEN_DOT, "attribute")) {
            advance(p);
            while (p->now.kind != TOKEN_END && !is_char(p, ')'))
                advance(p);
        }
        advance(p);
    }
    if (d.type == NULL)
        d.type = type_named("b64"); /* .texref and its like */
    return d;
}

static void read_registers(parser *p) {
    const declaration d = read_attributes(p);
    do {
        const char *name = word(p);
        uint64_t count = 0;
        if (accept(p, '<')) {
            count = integer(p);
            expect(p, '>');
            name = arena_print(p->tree->memory, "%s<", name);
            if (count > MOST_FAMILY)
                fail(p, "too many registers");
        }
        symbol *s = declare(p, p->scope, name, SYMBOL_REGISTER);
        s->type = d.type;
        s->vector = d.vector;
        s->count = (uint32_t)count;
        s->used = arena_take(p->tree->memory, count * sizeof *s->used);
    } while (accept(p, ','));
    expect(p, ';');
}

static uint64_t place_in(uint64_t *used, const symbol *s) {
    const uint64_t offset = (*used + s->alignment - 1) & ~(s->alignment - 1);
    *used = offset + s->bytes;
    return offset;
}

/* `parameter`: of a call, which is no memory of the thread. */
static void read_variables(parser *p, symbol_kind kind, bool external, bool parameter) {
    const declaration d = read_attributes(p);
    do {
        bool open;
        const char *name = word(p);
        int64_t number;
        symbol *s = p->function == NULL ? scope_find(p->scope, name, &number) : NULL;
        if (s == NULL || !s->external)
            s = declare(p, p->scope, name, kind);
        s->kind = kind;
        s->type = d.type;
        s->alignment = d.alignment > 0 ? d.alignment : d.type->bytes * (d.vector ? d.vector : 1u);
        if (s->alignment == 0)
            fail(p, "a variable of type .pred");
        s->bytes = times(p, read_dimensions(p, &open), d.type->bytes * (d.vector ? d.vector : 1u));
        s->external = external;
        if (p->function != NULL && kind == SYMBOL_SHARED)
            s->offset = place_in(&p->function->shared_bytes, s);
        if (p->function != NULL && kind == SYMBOL_LOCAL && !parameter)
            s->offset = place_in(&p->function->local_bytes, s);
        if (accept(p, '='))
            read_initial(p, s);
    } while (accept(p, ','));
    expect(p, ';');
}

/* ---- functions */

static void add_parameter(parser *p, function *f, bool result) {
    symbol ***list = result ? &f->results : &f->parameters;
    int32_t *n = result ? &f->n_results : &f->n_parameters;
    const bool in_register = accept_dot(p, "reg");
    if (!in_register)
        (void)accept_dot(p, "param");
    const declaration d = read_attributes(p);
    const char *name = word(p);
    symbol *s = declare(p, f->scope, name, in_register ? SYMBOL_REGISTER : SYMBOL_PARAMETER);
    bool open = false;
    const uint64_t n_elements = is_char(p, '[') ? read_dimensions(p, &open) : 1;
    s->type = d.type;
    s->used = arena_take(p->tree->memory, 1);
    s->bytes = times(p, n_elements, d.type->bytes * (d.vector ? d.vector : 1u));
    s->alignment = d.alignment > 0 ? d.alignment : d.type->bytes;
    if (s->alignment == 0 || s->bytes > 32764)
        fail(p, "a parameter of no size or of more than 32764 bytes");
    s->index = *n;
    s->result = result;
    if (!result) {
        f->parameter_bytes = (f->parameter_bytes + s->alignment - 1) & ~(s->alignment - 1);
        s->offset = f->parameter_bytes;
        f->parameter_bytes += s->bytes;
    }
    symbol **grown = arena_take(p->tree->memory, (size_t)(*n + 1) * sizeof(symbol *));
    if (*n > 0)
        memcpy(grown, *list, (size_t)*n * sizeof(symbol *));
    grown[(*n)++] = s;
    *list = grown;
}

static void read_parameters(parser *p, function *f, bool results) {
    expect(p, '(');
    if (!is_char(p, ')'))
        do
            add_parameter(p, f, results);
        while (accept(p, ','));
    expect(p, ')');
}

static void read_three(parser *p, uint32_t to[3]) {
    to[0] = to[1] = to[2] = 1;
    for (int32_t i = 0; i < 3; ++i) {
        to[i] = (uint32_t)integer(p);
        if (!accept(p, ','))
            break;
    }
}

static void read_performance(parser *p, function *f) {
    while (p->now.kind == TOKEN_DOT) {
        if (accept_dot(p, "maxntid"))
            read_three(p, f->max_threads);
        else if (accept_dot(p, "reqntid"))
            read_three(p, f->required);
        else if (accept_dot(p, "minnctapersm"))
            f->min_blocks = (uint32_t)integer(p);
        else if (accept_dot(p, "maxnreg"))
            f->max_registers = (uint32_t)integer(p);
        else if (is(p, TOKEN_DOT, "pragma")) {
            advance(p);
            while (p->now.kind == TOKEN_STRING || is_char(p, ','))
                advance(p);
            (void)accept(p, ';');
        } else { /* what concerns other hardware, maybe with numbers */
            advance(p);
            while (p->now.kind == TOKEN_INTEGER || is_char(p, ','))
                advance(p);
        }
    }
}

/* .loc FILE LINE COLUMN [, function_name NAME [+ N]] [, inlined_at FILE LINE COLUMN] */
static void read_loc(parser *p) {
    place to = {0};
    to.file = (int32_t)integer(p);
    to.line = (int32_t)integer(p);
    (void)integer(p);
    while (is_char(p, ',')) {
        advance(p);
        const char *what = word(p);
        if (strcmp(what, "inlined_at") == 0) {
            to.outer_file = (int32_t)integer(p);
            to.outer_line = (int32_t)integer(p);
            (void)integer(p);
        } else {
            operand name = {0};
            read_plain(p, &name);
        }
    }
    p->place = to;
}

static statement *add_statement(parser *p, statement_kind kind) {
    statement *s = arena_take(p->tree->memory, sizeof *s);
    function *f = p->function;
    s->kind = kind;
    s->scope = p->scope;
    s->place = p->place;
    s->line = p->now.line;
    if (f->last != NULL)
        f->last->next = s;
    else
        f->first = s;
    return f->last = s;
}

static void read_instruction(parser *p, statement *s, const char *base) {
    s->part[s->n_parts++] = base;
    s->opcode = base;
    while (p->now.kind == TOKEN_DOT && !p->now.spaced) {
        if (s->n_parts == MOST_PARTS)
            fail(p, "an instruction of too many parts");
        s->part[s->n_parts] = copy(p);
        s->opcode = arena_print(p->tree->memory, "%s.%s", s->opcode, s->part[s->n_parts++]);
        advance(p);
    }
    if (!is_char(p, ';'))
        do {
            if (s->n_operands == MOST_OPERANDS)
                fail(p, "an instruction of too many operands");
            s->operands[s->n_operands++] = read_operand(p);
        } while (accept(p, ','));
    expect(p, ';');
}

static void read_targets(parser *p, symbol *label, symbol_kind kind) {
    label->kind = kind;
    if (kind == SYMBOL_TARGETS) {
        operand list = {0};
        read_items(p, &list, ';');
        label->targets = list.items;
        label->n_initial = list.n_items;
        return;
    }
    while (p->now.kind != TOKEN_END && !is_char(p, ';'))
        advance(p);
    expect(p, ';');
}

static void read_labelled(parser *p, const char *name) {
    symbol *label = declare(p, p->scope, name, SYMBOL_LABEL);
    if (accept_dot(p, "branchtargets"))
        read_targets(p, label, SYMBOL_TARGETS);
    else if (accept_dot(p, "callprototype") || accept_dot(p, "calltargets"))
        read_targets(p, label, SYMBOL_OTHER);
    else
        add_statement(p, STATEMENT_LABEL)->label = label;
}

static void read_body_directive(parser *p) {
    if (accept_dot(p, "reg"))
        read_registers(p);
    else if (accept_dot(p, "local"))
        read_variables(p, SYMBOL_LOCAL, false, false);
    else if (accept_dot(p, "param"))
        read_variables(p, SYMBOL_LOCAL, false, true);
    else if (accept_dot(p, "shared"))
        read_variables(p, SYMBOL_SHARED, false, false);
    else if (accept_dot(p, "global") || accept_dot(p, "const"))
        read_variables(p, SYMBOL_GLOBAL, false, false);
    else if (accept_dot(p, "loc"))
        read_loc(p);
    else if (is(p, TOKEN_DOT, "pragma") || is(p, TOKEN_DOT, "noreturn")) {
        while (p->now.kind != TOKEN_END && !is_char(p, ';'))
            advance(p);
        expect(p, ';');
    } else
        fail(p, "a directive that no function has");
}

static void read_body(parser *p, function *f) {
    int32_t depth = 1;
    p->function = f;
    p->place = (place){0};
    p->scope = open_scope(p);
    p->scope->parent = f->scope;
    while (depth > 0) {
        if (p->now.kind == TOKEN_END)
            fail(p, "a function without an end");
        if (accept(p, '{')) {
            if (++depth > MOST_NESTED)
                fail(p, "too many braces within each other");
            p->scope = open_scope(p);
        } else if (is_char(p, '}')) {
            --depth;
            p->scope = p->scope->parent;
            advance(p);
        } else if (accept(p, ';')) {
            continue;
        } else if (p->now.kind == TOKEN_DOT) {
            read_body_directive(p);
        } else if (accept(p, '@')) {
            operand *guard = arena_take(p->tree->memory, sizeof *guard);
            guard->negated = accept(p, '!');
            read_plain(p, guard);
            statement *s = add_statement(p, STATEMENT_INSTRUCTION);
            s->guard = guard;
            read_instruction(p, s, word(p));
        } else {
            const char *name = word(p);
            if (accept(p, ':'))
                read_labelled(p, name);
            else
                read_instruction(p, add_statement(p, STATEMENT_INSTRUCTION), name);
        }
    }
    p->function = NULL;
    p->scope = p->tree->scope;
}

static function *add_function(parser *p, bool entry, const char *name) {
    tree *t = p->tree;
    function *f = arena_take(t->memory, sizeof *f);
    f->entry = entry;
    f->name = name;
    f->line = p->now.line;
    if (t->last_function != NULL)
        t->last_function->next = f;
    else
        t->functions = f;
    ++t->n_functions;
    return t->last_function = f;
}

static void read_function(parser *p, bool entry) {
    function *f = add_function(p, entry, NULL);
    p->scope = p->tree->scope;
    f->scope = open_scope(p);
    (void)accept_dot(p, "noreturn");
    if (is_char(p, '('))
        read_parameters(p, f, true);
    f->name = word(p);
    if (is_char(p, '('))
        read_parameters(p, f, false);
    read_performance(p, f);
    int64_t number;
    symbol *s = scope_find(p->tree->scope, f->name, &number);
    if (s == NULL) {
        s = declare(p, p->tree->scope, f->name, SYMBOL_FUNCTION);
        s->index = p->tree->n_functions - 1;
    } else if (s->kind != SYMBOL_FUNCTION || (s->function->defined && is_char(p, '{'))) {
        fail(p, arena_print(p->tree->memory, "%s is defined twice", f->name));
    }
    if (s->function == NULL || !s->function->defined)
        s->function = f;
    f->symbol = s;
    if (accept(p, '{')) {
        f->defined = true;
        read_body(p, f);
    } else {
        expect(p, ';');
    }
}

/* ---- the module */

static void read_file(parser *p) {
    const uint64_t index = integer(p);
    tree *t = p->tree;
    if (p->now.kind != TOKEN_STRING || index > 65535)
        fail(p, "expected a file's name");
    if ((int32_t)index >= t->n_files) {
        const char **grown = arena_take(t->memory, (index + 1) * sizeof *grown);
        for (int32_t i = 0; i < t->n_files; ++i)
            grown[i] = t->files[i];
        t->files = grown;
        t->n_files = (int32_t)index + 1;
    }
    t->files[index] = copy(p);
    advance(p);
    while (accept(p, ','))
        (void)integer(p);
}

static const char *read_rest_of_version(parser *p) {
    char text[32];
    if (p->now.kind == TOKEN_FLOAT) { /* 8.8, which is no binary fraction */
        double value;
        memcpy(&value, &p->now.value, sizeof value);
        snprintf(text, sizeof text, "%.1f", value);
        advance(p);
        return arena_copy(p->tree->memory, text, strlen(text));
    }
    return arena_print(p->tree->memory, "%u", (unsigned)integer(p));
}

static void read_linked(parser *p) {
    bool external = false;
    for (;;) {
        if (accept_dot(p, "extern"))
            external = true;
        else if (!accept_dot(p, "visible") && !accept_dot(p, "weak") && !accept_dot(p, "common"))
            break;
    }
    if (accept_dot(p, "entry"))
        read_function(p, true);
    else if (accept_dot(p, "func"))
        read_function(p, false);
    else if (accept_dot(p, "shared"))
        read_variables(p, SYMBOL_SHARED, external, false);
    else if (accept_dot(p, "global") || accept_dot(p, "const"))
        read_variables(p, SYMBOL_GLOBAL, external, false);
    else if (accept_dot(p, "tex"))
        read_variables(p, SYMBOL_OTHER, external, false);
    else if (accept_dot(p, "reg"))
        read_registers(p);
    else
        fail(p, "a directive that no module has");
}

static void read_module(parser *p) {
    tree *t = p->tree;
    advance(p);
    if (!accept_dot(p, "version"))
        fail(p, "expected .version");
    t->version = read_rest_of_version(p);
    t->target = "";
    while (p->now.kind != TOKEN_END) {
        if (accept(p, ';'))
            continue;
        if (p->now.kind != TOKEN_DOT)
            fail(p, "expected a directive");
        if (accept_dot(p, "target")) {
            t->target = word(p);
            while (accept(p, ','))
                (void)word(p);
        } else if (accept_dot(p, "address_size")) {
            if (integer(p) != 64)
                fail(p, "addresses of other than 64 bits");
        } else if (accept_dot(p, "file")) {
            read_file(p);
        } else if (accept_dot(p, "loc")) {
            read_loc(p);
        } else if (accept_dot(p, "section")) {
            while (p->now.kind != TOKEN_END && !is_char(p, '{'))
                advance(p);
            lex_skip_block(&p->lexer);
            advance(p);
        } else if (is(p, TOKEN_DOT, "pragma") || is(p, TOKEN_DOT, "alias")) {
            while (p->now.kind != TOKEN_END && !is_char(p, ';'))
                advance(p);
        } else {
            read_linked(p);
        }
    }
}

static void number_globals(tree *t, scope *s) {
    for (symbol *v = s->first; v != NULL; v = v->next)
        if (v->kind == SYMBOL_GLOBAL)
            v->index = t->n_globals++;
}

assay_status tree_read(tree *t, const char *text, size_t size) {
    parser *p = arena_take(t->memory, sizeof *p);
    p->tree = t;
    p->lexer = (lexer){.at = text, .end = text + size, .line = 1};
    p->scope = NULL;
    if (setjmp(p->failed) != 0)
        return ASSAY_ERR_FILE;
    p->scope = t->scope = open_scope(p);
    read_module(p);
    number_globals(t, t->scope);
    t->globals = arena_take(t->memory, (size_t)(t->n_globals + 1) * sizeof(symbol *));
    for (symbol *v = t->scope->first; v != NULL; v = v->next)
        if (v->kind == SYMBOL_GLOBAL)
            t->globals[v->index] = v;
    return ASSAY_OK;
}
