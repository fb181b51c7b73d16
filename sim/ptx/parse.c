#include "sim/ptx/parse.h"

#include <stdio.h>
#include <string.h>

_Noreturn void parse_fail(parser *p, const char *what) {
    const char *reason = p->lexer.error != NULL ? p->lexer.error : what;
    assay_fail(ASSAY_ERR_FILE, "%s:%d: not PTX: %s%s%.*s%s", p->tree->name, p->now.line, reason,
               p->now.n > 0 ? " at '" : "", (int)(p->now.n < 40 ? p->now.n : 40), p->now.text,
               p->now.n > 0 ? "'" : "");
    longjmp(p->failed, 1);
}

void parse_advance(parser *p) {
    p->now = lex_next(&p->lexer);
    if (p->lexer.error != NULL)
        parse_fail(p, NULL);
}

bool parse_is(const parser *p, token_kind kind, const char *text) {
    return p->now.kind == kind && p->now.n == strlen(text) &&
           memcmp(p->now.text, text, p->now.n) == 0;
}

bool parse_is_char(const parser *p, char c) {
    return p->now.kind == TOKEN_OTHER && p->now.text[0] == c;
}

bool parse_accept(parser *p, char c) {
    if (!parse_is_char(p, c))
        return false;
    parse_advance(p);
    return true;
}

void parse_expect(parser *p, char c) {
    char what[16] = "expected ' '";
    what[10] = c;
    if (!parse_accept(p, c))
        parse_fail(p, what);
}

bool parse_accept_dot(parser *p, const char *text) {
    if (!parse_is(p, TOKEN_DOT, text))
        return false;
    parse_advance(p);
    return true;
}

const char *parse_copy(parser *p) {
    return arena_copy(p->tree->memory, p->now.text, p->now.n);
}

const char *parse_word(parser *p) {
    if (p->now.kind != TOKEN_WORD)
        parse_fail(p, "expected a name");
    const char *text = parse_copy(p);
    parse_advance(p);
    return text;
}

uint64_t parse_integer(parser *p) {
    if (p->now.kind != TOKEN_INTEGER)
        parse_fail(p, "expected a number");
    const uint64_t value = p->now.value;
    parse_advance(p);
    return value;
}

scope *parse_open_scope(parser *p) {
    scope *s = arena_take(p->tree->memory, sizeof *s);
    s->parent = p->scope;
    s->id = p->tree->n_scopes++;
    if (p->function != NULL) {
        s->next = p->function->scopes;
        p->function->scopes = s;
    }
    return s;
}

symbol *parse_declare(parser *p, scope *s, const char *name, symbol_kind kind) {
    symbol *added = scope_add(p->tree->memory, s, name, kind);
    if (added == NULL)
        parse_fail(p, arena_print(p->tree->memory, "%s is declared twice", name));
    added->id = p->tree->n_symbols++;
    added->line = p->now.line;
    return added;
}
uint64_t parse_times(parser *p, uint64_t a, uint64_t b) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > UINT64_C(1) << 40)
        parse_fail(p, "a variable too large");
    return product;
}

/* ---- the module */

static void read_file(parser *p) {
    uint64_t index = parse_integer(p);
    tree *t = p->tree;
    if (p->now.kind != TOKEN_STRING || index > 65535)
        parse_fail(p, "expected a file's name");
    index += (uint64_t)p->first_file;
    if (index >= MOST_FILES)
        parse_fail(p, "too many files");
    if ((int32_t)index >= t->room_for_files) {
        const int32_t room = 2 * (int32_t)index + 16;
        const char **grown = arena_take(t->memory, (size_t)room * sizeof *grown);
        for (int32_t i = 0; i < t->n_files; ++i)
            grown[i] = t->files[i];
        t->files = grown;
        t->room_for_files = room;
    }
    if ((int32_t)index >= t->n_files)
        t->n_files = (int32_t)index + 1;
    t->files[index] = parse_copy(p);
    parse_advance(p);
    while (parse_accept(p, ','))
        (void)parse_integer(p);
}

static const char *read_rest_of_version(parser *p) {
    char text[32];
    if (p->now.kind == TOKEN_FLOAT) { /* 8.8, which is no binary fraction */
        double value;
        memcpy(&value, &p->now.value, sizeof value);
        snprintf(text, sizeof text, "%.1f", value);
        parse_advance(p);
        return arena_copy(p->tree->memory, text, strlen(text));
    }
    return arena_print(p->tree->memory, "%u", (unsigned)parse_integer(p));
}

static void read_linked(parser *p) {
    bool external = false, many = false;
    p->home = p->module;
    for (;; p->home = p->tree->scope) {
        if (parse_accept_dot(p, "extern"))
            external = true;
        else if (parse_accept_dot(p, "weak") || parse_accept_dot(p, "common"))
            many = true;
        else if (!parse_accept_dot(p, "visible"))
            break;
    }
    p->weak = many;
    p->scope = p->module;
    if (parse_accept_dot(p, "entry"))
        parse_function(p, true);
    else if (parse_accept_dot(p, "func"))
        parse_function(p, false);
    else if (parse_accept_dot(p, "shared"))
        parse_variables(p, SYMBOL_SHARED, external, false);
    else if (parse_accept_dot(p, "global") || parse_accept_dot(p, "const"))
        parse_variables(p, SYMBOL_GLOBAL, external, false);
    else if (parse_accept_dot(p, "tex"))
        parse_variables(p, SYMBOL_OTHER, external, false);
    else if (parse_accept_dot(p, "reg"))
        parse_registers(p);
    else
        parse_fail(p, "a directive that no module has");
}

static void read_target(parser *p) {
    const char *target = parse_word(p);
    p->tree->target = p->tree->target[0] != '\0' ? p->tree->target : target;
    while (parse_accept(p, ','))
        (void)parse_word(p);
}

/* .version: the module's own scope is opened. */
static void begin_module(parser *p) {
    tree *t = p->tree;
    const char *version = read_rest_of_version(p);
    t->version = t->version != NULL ? t->version : version;
    p->scope = t->scope;
    p->module = parse_open_scope(p);
    p->module->parent = t->scope;
    p->module->next = t->modules;
    t->modules = p->module;
    p->first_file = t->n_files;
}

static void read_directive(parser *p) {
    if (p->now.kind != TOKEN_DOT)
        parse_fail(p, "expected a directive");
    if (parse_accept_dot(p, "version")) {
        begin_module(p);
    } else if (parse_accept_dot(p, "target")) {
        read_target(p);
    } else if (parse_accept_dot(p, "address_size")) {
        if (parse_integer(p) != 64)
            parse_fail(p, "addresses of other than 64 bits");
    } else if (parse_accept_dot(p, "file")) {
        read_file(p);
    } else if (parse_accept_dot(p, "loc")) {
        parse_loc(p);
    } else if (parse_accept_dot(p, "section")) {
        while (p->now.kind != TOKEN_END && !parse_is_char(p, '{'))
            parse_advance(p);
        lex_skip_block(&p->lexer);
        parse_advance(p);
    } else if (parse_is(p, TOKEN_DOT, "pragma") || parse_is(p, TOKEN_DOT, "alias")) {
        while (p->now.kind != TOKEN_END && !parse_is_char(p, ';'))
            parse_advance(p);
    } else {
        read_linked(p);
    }
}

static void read_modules(parser *p) {
    parse_advance(p);
    if (!parse_is(p, TOKEN_DOT, "version"))
        parse_fail(p, "expected .version");
    p->tree->target = "";
    while (p->now.kind != TOKEN_END)
        if (!parse_accept(p, ';'))
            read_directive(p);
}

assay_status tree_read(tree *t, const char *text, size_t size) {
    parser *p = arena_take(t->memory, sizeof *p);
    p->tree = t;
    p->lexer = (lexer){.at = text, .end = text + size, .line = 1};
    p->scope = NULL;
    p->registers = MOST_REGISTERS + (uint64_t)size;
    if (setjmp(p->failed) != 0)
        return ASSAY_ERR_FILE;
    p->scope = t->scope = parse_open_scope(p);
    read_modules(p);
    t->globals = arena_take(t->memory, (size_t)(t->n_globals + 1) * sizeof(symbol *));
    for (symbol *v = t->last_global; v != NULL; v = v->next_global)
        t->globals[v->index] = v;
    return ASSAY_OK;
}
