#include "mutants/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

/* Where the reader is, and whether the host's compiler sees that place. */
typedef struct reader {
    const char *text;
    int32_t at, line;
    bool nvcc[DEEPEST]; /* of each #if that is open: its branch is for nvcc alone */
    int32_t depth;
} reader;

static bool live(const reader *r) {
    for (int32_t i = 0; i < r->depth; ++i)
        if (r->nvcc[i])
            return false;
    return true;
}

/* ---- text that is no token ---- */

static void step(reader *r) {
    r->line += r->text[r->at] == '\n';
    ++r->at;
}

static bool skip_comment(reader *r) {
    const char *from = r->text + r->at;
    if (strncmp(from, "//", 2) == 0) {
        while (r->text[r->at] && r->text[r->at] != '\n')
            step(r);
        return true;
    }
    if (strncmp(from, "/*", 2) != 0)
        return false;
    while (r->text[r->at] && strncmp(r->text + r->at, "*/", 2) != 0)
        step(r);
    r->at += r->text[r->at] ? 2 : 0;
    return true;
}

static bool directive(const char *line, const char *word) {
    ++line;
    line += strspn(line, " \t");
    return strncmp(line, word, strlen(word)) == 0;
}

/* The rule of the tree: code for nvcc alone stands between `#if defined(__CUDACC__)` and its #else
 * or #endif. */
static void note_condition(reader *r, const char *line) {
    const size_t length = strcspn(line, "\n");
    if (directive(line, "if")) {
        const char *name = strstr(line, "__CUDACC__");
        const bool nvcc = name && (size_t)(name - line) < length && !memchr(line, '!', length) &&
                          !directive(line, "ifndef");
        if (r->depth < DEEPEST)
            r->nvcc[r->depth++] = nvcc;
    } else if (directive(line, "else") && r->depth > 0) {
        /* After a branch for all, one for all: only nvcc's condition is known here. */
        r->nvcc[r->depth - 1] = false;
    } else if (directive(line, "endif") && r->depth > 0) {
        --r->depth;
    }
}

/* A preprocessor line with its continuations; the body of a macro is not mutated. */
static const char *skip_directive(reader *r) {
    const char *line = r->text + r->at;
    note_condition(r, line);
    while (r->text[r->at] && r->text[r->at] != '\n') {
        if (r->text[r->at] == '\\' && r->text[r->at + 1] == '\n')
            step(r);
        step(r);
    }
    return line;
}

/* Moves to the next token; NULL, or the directive that stood before it, to be asked again. */
static const char *skip_blank(reader *r) {
    for (;;) {
        if (isspace((unsigned char)r->text[r->at]))
            step(r);
        else if (r->text[r->at] == '#')
            return skip_directive(r);
        else if (!skip_comment(r))
            return NULL;
    }
}

/* ---- tokens ---- */

static bool name_byte(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static int32_t quoted_length(const char *from) {
    int32_t n = 1;
    while (from[n] && from[n] != from[0])
        n += from[n] == '\\' && from[n + 1] ? 2 : 1;
    return from[n] ? n + 1 : n;
}

/* Digits with prefix, exponent and suffix: 0xffu, 1.5e-3f. */
static int32_t number_length(const char *from) {
    const bool hexadecimal = from[0] == '0' && (from[1] == 'x' || from[1] == 'X');
    int32_t n = 0;
    while (name_byte(from[n]) || from[n] == '.' ||
           (!hexadecimal && n > 0 && (from[n] == '-' || from[n] == '+') &&
            (from[n - 1] == 'e' || from[n - 1] == 'E')))
        ++n;
    return n;
}

static int32_t mark_length(const char *from) {
    static const char *const marks[] = {"<<=", ">>=", "...", "<=", ">=", "==", "!=", "&&",
                                        "||",  "+=",  "-=",  "*=", "/=", "%=", "|=", "&=",
                                        "^=",  "++",  "--",  "->", "::", "<<"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i)
        if (strncmp(from, marks[i], strlen(marks[i])) == 0)
            return (int32_t)strlen(marks[i]);
    /* Two closing brackets of templates look like a shift, which has blanks around it. */
    return from[0] == '>' && from[1] == '>' && isspace((unsigned char)from[2]) &&
                   isspace((unsigned char)from[-1])
               ? 2
               : 1;
}

static token read_token(reader *r) {
    const char *from = r->text + r->at;
    token t = {.at = r->at, .line = r->line, .partner = -1};
    if (*from == '"' || *from == '\'') {
        t.kind = TOKEN_TEXT;
        t.length = quoted_length(from);
    } else if (isdigit((unsigned char)*from)) {
        t.kind = TOKEN_NUMBER;
        t.length = number_length(from);
    } else if (name_byte(*from)) {
        t.kind = TOKEN_NAME;
        while (name_byte(from[t.length]))
            ++t.length;
    } else {
        t.kind = TOKEN_MARK;
        t.length = mark_length(from);
    }
    t.binary =
        r->at > 0 && isspace((unsigned char)from[-1]) && isspace((unsigned char)from[t.length]);
    for (int32_t i = 0; i < t.length; ++i)
        step(r);
    return t;
}

static void pair_brackets(lexed *code) {
    int32_t open[DEEPEST], depth = 0;
    for (int32_t i = 0; i < code->count; ++i) {
        token *t = &code->token[i];
        const char c = t->kind == TOKEN_MARK && t->length == 1 ? code->text[t->at] : ' ';
        if (strchr("([{", c) && depth < DEEPEST)
            open[depth++] = i;
        else if (strchr(")]}", c) && depth > 0) {
            t->partner = open[--depth];
            code->token[t->partner].partner = i;
        }
    }
}

static assay_status add_token(lexed *code, int32_t *room, token t) {
    if (code->count == *room) {
        *room = 2 * *room + 256;
        token *more = realloc(code->token, (size_t)*room * sizeof *more);
        if (!more)
            return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a source's tokens");
        code->token = more;
    }
    code->token[code->count++] = t;
    return ASSAY_OK;
}

assay_status lex(const char *text, lexed *code) {
    reader r = {.text = text, .line = 1};
    int32_t room = 0;
    assay_status status = ASSAY_OK;
    *code = (lexed){.text = text};
    while (status == ASSAY_OK) {
        while (skip_blank(&r))
            continue;
        if (!r.text[r.at])
            break;
        const token t = read_token(&r);
        if (live(&r))
            status = add_token(code, &room, t);
    }
    if (status == ASSAY_OK)
        pair_brackets(code);
    else
        lex_clear(code);
    return status;
}

void lex_clear(lexed *code) {
    free(code->token);
    *code = (lexed){0};
}

bool lex_is(const lexed *code, int32_t i, const char *text) {
    return i >= 0 && i < code->count && (size_t)code->token[i].length == strlen(text) &&
           memcmp(code->text + code->token[i].at, text, strlen(text)) == 0;
}

bool lex_starts(const lexed *code, int32_t i, const char *start) {
    return i >= 0 && i < code->count && code->token[i].kind == TOKEN_NAME &&
           (size_t)code->token[i].length >= strlen(start) &&
           memcmp(code->text + code->token[i].at, start, strlen(start)) == 0;
}

/* ---- directives ---- */

bool lex_include(const char *line, char *name, int32_t size) {
    if (!directive(line, "include"))
        return false;
    const size_t length = strcspn(line, "\n");
    const char *from = memchr(line, '"', length);
    if (!from)
        return false;
    const size_t n = strcspn(from + 1, "\"\n");
    if ((int32_t)n >= size)
        return false;
    memcpy(name, from + 1, n);
    name[n] = '\0';
    return true;
}

assay_status lex_directives(const char *text, lex_directive_visitor visit, void *context) {
    reader r = {.text = text, .line = 1};
    assay_status status = ASSAY_OK;
    while (status == ASSAY_OK) {
        const char *line;
        while (status == ASSAY_OK && (line = skip_blank(&r)))
            status = live(&r) ? visit(line, context) : ASSAY_OK;
        if (!r.text[r.at])
            break;
        (void)read_token(&r);
    }
    return status;
}
