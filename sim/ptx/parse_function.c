/* Functions: their parameters, directives and statements. */
#include "sim/ptx/parse.h"

#include <string.h>

static void add_parameter(parser *p, function *f, bool result) {
    symbol ***list = result ? &f->results : &f->parameters;
    int32_t *n = result ? &f->n_results : &f->n_parameters;
    const bool in_register = parse_accept_dot(p, "reg");
    if (!in_register)
        (void)parse_accept_dot(p, "param");
    const declaration d = parse_attributes(p);
    const char *name = parse_word(p);
    symbol *s = parse_declare(p, f->scope, name, in_register ? SYMBOL_REGISTER : SYMBOL_PARAMETER);
    bool open = false;
    const uint64_t n_elements = parse_is_char(p, '[') ? parse_dimensions(p, &open) : 1;
    s->type = d.type;
    s->used = arena_take(p->tree->memory, sizeof *s->used);
    s->lean = arena_take(p->tree->memory, sizeof *s->lean);
    s->origin = arena_take(p->tree->memory, sizeof *s->origin);
    s->flow = arena_take(p->tree->memory, sizeof *s->flow);
    s->bytes = parse_times(p, n_elements, d.type->bytes * (d.vector ? d.vector : 1u));
    s->alignment = d.alignment > 0 ? d.alignment : d.type->bytes;
    if (s->alignment == 0 || s->bytes > 32764)
        parse_fail(p, "a parameter of no size or of more than 32764 bytes");
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
    parse_expect(p, '(');
    if (!parse_is_char(p, ')'))
        do
            add_parameter(p, f, results);
        while (parse_accept(p, ','));
    parse_expect(p, ')');
}

static void read_three(parser *p, uint32_t to[3]) {
    to[0] = to[1] = to[2] = 1;
    for (int32_t i = 0; i < 3; ++i) {
        to[i] = (uint32_t)parse_integer(p);
        if (!parse_accept(p, ','))
            break;
    }
}

static void read_performance(parser *p, function *f) {
    while (p->now.kind == TOKEN_DOT) {
        if (parse_accept_dot(p, "maxntid"))
            read_three(p, f->max_threads);
        else if (parse_accept_dot(p, "reqntid"))
            read_three(p, f->required);
        else if (parse_accept_dot(p, "reqnctapercluster"))
            read_three(p, f->cluster);
        else if (parse_accept_dot(p, "minnctapersm"))
            f->min_blocks = (uint32_t)parse_integer(p);
        else if (parse_accept_dot(p, "maxnreg"))
            f->max_registers = (uint32_t)parse_integer(p);
        else if (parse_is(p, TOKEN_DOT, "pragma")) {
            parse_advance(p);
            while (p->now.kind == TOKEN_STRING || parse_is_char(p, ','))
                parse_advance(p);
            (void)parse_accept(p, ';');
        } else { /* a directive for other hardware, maybe with numbers */
            parse_advance(p);
            while (p->now.kind == TOKEN_INTEGER || parse_is_char(p, ','))
                parse_advance(p);
        }
    }
}

/* A function that was inlined into another inlined one comes behind a `.loc` of the latter. */
static const place *above(parser *p, const place *to) {
    const place *last = &p->place;
    if (to->outer_file == 0)
        return NULL;
    if (last->outer_file == to->outer_file && last->outer_line == to->outer_line)
        return last->above;
    if (last->file != to->outer_file || last->line != to->outer_line || last->outer_file == 0)
        return NULL;
    place *copy = arena_take(p->tree->memory, sizeof *copy);
    *copy = *last;
    return copy;
}

static int32_t read_file_number(parser *p) {
    const int32_t file = (int32_t)parse_integer(p);
    return file > 0 && file <= 65535 ? file + p->first_file : 0;
}

/* .loc FILE LINE COLUMN [, function_name NAME [+ N]] [, inlined_at FILE LINE COLUMN] */
void parse_loc(parser *p) {
    place to = {0};
    to.file = read_file_number(p);
    to.line = (int32_t)parse_integer(p);
    (void)parse_integer(p);
    while (parse_is_char(p, ',')) {
        parse_advance(p);
        const char *what = parse_word(p);
        if (strcmp(what, "inlined_at") == 0) {
            to.outer_file = read_file_number(p);
            to.outer_line = (int32_t)parse_integer(p);
            (void)parse_integer(p);
        } else {
            operand name = {0};
            parse_plain(p, &name);
        }
    }
    to.above = above(p, &to);
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
            parse_fail(p, "an instruction of too many parts");
        s->part[s->n_parts] = parse_copy(p);
        s->opcode = arena_print(p->tree->memory, "%s.%s", s->opcode, s->part[s->n_parts++]);
        parse_advance(p);
    }
    if (!parse_is_char(p, ';'))
        do {
            if (s->n_operands == MOST_OPERANDS)
                parse_fail(p, "an instruction of too many operands");
            s->operands[s->n_operands++] = parse_operand(p);
        } while (parse_accept(p, ','));
    parse_expect(p, ';');
}

static void read_targets(parser *p, symbol *label, symbol_kind kind) {
    label->kind = kind;
    if (kind == SYMBOL_TARGETS) {
        operand list = {0};
        parse_items(p, &list, ';');
        label->targets = list.items;
        label->n_initial = list.n_items;
        return;
    }
    while (p->now.kind != TOKEN_END && !parse_is_char(p, ';'))
        parse_advance(p);
    parse_expect(p, ';');
}

static void read_labelled(parser *p, const char *name) {
    symbol *label = parse_declare(p, p->scope, name, SYMBOL_LABEL);
    if (parse_accept_dot(p, "branchtargets"))
        read_targets(p, label, SYMBOL_TARGETS);
    else if (parse_accept_dot(p, "callprototype") || parse_accept_dot(p, "calltargets"))
        read_targets(p, label, SYMBOL_OTHER);
    else
        add_statement(p, STATEMENT_LABEL)->label = label;
}

static void read_body_directive(parser *p) {
    if (parse_accept_dot(p, "reg"))
        parse_registers(p);
    else if (parse_accept_dot(p, "local"))
        parse_variables(p, SYMBOL_LOCAL, false, false);
    else if (parse_accept_dot(p, "param"))
        parse_variables(p, SYMBOL_LOCAL, false, true);
    else if (parse_accept_dot(p, "shared"))
        parse_variables(p, SYMBOL_SHARED, false, false);
    else if (parse_accept_dot(p, "global") || parse_accept_dot(p, "const"))
        parse_variables(p, SYMBOL_GLOBAL, false, false);
    else if (parse_accept_dot(p, "loc"))
        parse_loc(p);
    else if (parse_is(p, TOKEN_DOT, "pragma") || parse_is(p, TOKEN_DOT, "noreturn")) {
        while (p->now.kind != TOKEN_END && !parse_is_char(p, ';'))
            parse_advance(p);
        parse_expect(p, ';');
    } else
        parse_fail(p, "a directive that no function has");
}

static void read_body(parser *p, function *f) {
    int32_t depth = 1;
    p->function = f;
    p->place = (place){0};
    p->scope = parse_open_scope(p);
    p->scope->parent = f->scope;
    while (depth > 0) {
        if (p->now.kind == TOKEN_END)
            parse_fail(p, "a function without an end");
        if (parse_accept(p, '{')) {
            if (++depth > MOST_NESTED)
                parse_fail(p, "too many braces within each other");
            p->scope = parse_open_scope(p);
        } else if (parse_is_char(p, '}')) {
            --depth;
            p->scope = p->scope->parent;
            parse_advance(p);
        } else if (parse_accept(p, ';')) {
            continue;
        } else if (p->now.kind == TOKEN_DOT) {
            read_body_directive(p);
        } else if (parse_accept(p, '@')) {
            operand *guard = arena_take(p->tree->memory, sizeof *guard);
            guard->negated = parse_accept(p, '!');
            parse_plain(p, guard);
            statement *s = add_statement(p, STATEMENT_INSTRUCTION);
            s->guard = guard;
            read_instruction(p, s, parse_word(p));
        } else {
            const char *name = parse_word(p);
            if (parse_accept(p, ':'))
                read_labelled(p, name);
            else
                read_instruction(p, add_statement(p, STATEMENT_INSTRUCTION), name);
        }
    }
    p->function = NULL;
    p->scope = p->module;
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

void parse_function(parser *p, bool entry) {
    function *f = add_function(p, entry, NULL);
    f->scope = parse_open_scope(p);
    (void)parse_accept_dot(p, "noreturn");
    if (parse_is_char(p, '('))
        read_parameters(p, f, true);
    f->name = parse_word(p);
    if (parse_is_char(p, '('))
        read_parameters(p, f, false);
    read_performance(p, f);
    symbol *s = scope_own(p->home, f->name);
    if (s == NULL) {
        s = parse_declare(p, p->home, f->name, SYMBOL_FUNCTION);
        s->index = p->tree->n_functions - 1;
    } else if (s->kind != SYMBOL_FUNCTION ||
               (s->function->defined && parse_is_char(p, '{') && !p->weak)) {
        parse_fail(p, arena_print(p->tree->memory, "%s is defined twice", f->name));
    }
    if (s->function == NULL || !s->function->defined)
        s->function = f;
    f->symbol = s;
    if (parse_accept(p, '{')) {
        f->defined = true;
        read_body(p, f);
    } else {
        parse_expect(p, ';');
    }
}
