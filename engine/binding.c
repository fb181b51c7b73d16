#include "engine/binding.h"
#include "engine/expression.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tvm_prefix[] = "__tvm_ffi_";

typedef struct parser {
    const char *name;
    int line;
    const char *at, *end;
} parser;

static assay_status refuse(const parser *p, const char *format, ...) ASSAY_PRINTF(2, 3);
static assay_status refuse(const parser *p, const char *format, ...) {
    char what[240];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    for (char *c = what; *c != '\0'; ++c)
        if (iscntrl((unsigned char)*c))
            *c = '?';
    return assay_fail(ASSAY_ERR_USAGE, "%.200s: binding, line %d: %s", p->name, p->line, what);
}

static void skip_blanks(parser *p) {
    while (p->at < p->end && isspace((unsigned char)*p->at))
        ++p->at;
}

static bool take(parser *p, char c) {
    skip_blanks(p);
    if (p->at == p->end || *p->at != c)
        return false;
    ++p->at;
    return true;
}

static bool is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Letters, digits and _, and where `more`, what a value may have as well. */
static bool take_word(parser *p, bool more, char *word, size_t size) {
    size_t n = 0;
    skip_blanks(p);
    for (; p->at < p->end && (is_letter(*p->at) || (more && (*p->at == '.' || *p->at == '-')));
         ++p->at, ++n) {
        if (n + 1 >= size)
            return false;
        word[n] = *p->at;
    }
    word[n] = '\0';
    return n > 0;
}

/* ---- types ---- */

static bool is_one_of(const char *word, const char *const *names) {
    for (; *names != NULL; ++names)
        if (strcmp(*names, word) == 0)
            return true;
    return false;
}

static bool is_bf16(const char *word) {
    static const char *const names[] = {"bf16", "__nv_bfloat16", "nv_bfloat16", "bfloat16", NULL};
    return is_one_of(word, names);
}

static bool is_f16(const char *word) {
    static const char *const names[] = {"half", "__half", "f16", "float16", NULL};
    return is_one_of(word, names);
}

static bool is_int32(const char *word) {
    static const char *const names[] = {"int", "int32_t", "uint32_t", "unsigned", "bool", NULL};
    return is_one_of(word, names);
}

static bool is_int64(const char *word) {
    static const char *const names[] = {"long",      "int64_t",   "uint64_t", "size_t", "ssize_t",
                                        "ptrdiff_t", "uintptr_t", "intptr_t", NULL};
    return is_one_of(word, names);
}

static bool says_nothing(const char *word) {
    static const char *const names[] = {"const",    "restrict", "__restrict__", "__restrict",
                                        "volatile", "struct",   "signed",       NULL};
    return is_one_of(word, names);
}

/* One word of a type; false where it is none that is known. */
static bool add_type(const char *word, binding_argument *a) {
    if (says_nothing(word))
        return true;
    if (strcmp(word, "cudaStream_t") == 0 || strcmp(word, "CUstream") == 0 ||
        strcmp(word, "void") == 0) {
        a->type = BINDING_POINTER;
        a->any = true;
    } else if (strcmp(word, "float") == 0) {
        a->type = BINDING_FLOAT;
        a->dtype = ASSAY_F32;
    } else if (strcmp(word, "double") == 0) {
        a->type = BINDING_DOUBLE;
        a->dtype = ASSAY_F64;
    } else if (is_bf16(word) || is_f16(word)) {
        a->type = BINDING_POINTER;
        a->dtype = is_bf16(word) ? ASSAY_BF16 : ASSAY_F16;
    } else if (is_int64(word)) {
        a->type = BINDING_INT64;
    } else if (is_int32(word)) {
        a->type = a->type == BINDING_INT64 ? BINDING_INT64 : BINDING_INT32;
        a->dtype = ASSAY_I32;
    } else {
        return false;
    }
    return true;
}

/* ---- one launcher ---- */

/* "const float *x": words and stars; the last word is the value. */
static assay_status take_argument(parser *p, binding_argument *a) {
    char word[BINDING_VALUE], next[BINDING_VALUE];
    bool star = false;
    *a = (binding_argument){0};
    if (!take_word(p, true, word, sizeof word))
        return refuse(p, "an argument is missing, or its name is longer than %d letters",
                      BINDING_VALUE - 1);
    for (;;) {
        while (take(p, '*'))
            star = true;
        if (!take_word(p, true, next, sizeof next))
            break;
        if (!add_type(word, a))
            return refuse(p, "%s is no type that can be passed", word);
        memcpy(word, next, sizeof word);
    }
    const bool is_wide = a->type == BINDING_INT64;
    if (star && a->type != BINDING_UNTOLD)
        a->type = BINDING_POINTER;
    if (star && a->type == BINDING_UNTOLD)
        return refuse(p, "a * needs a type before it");
    if (star && is_wide)
        return refuse(p, "no tensor has 64-bit integers: %s is int32_t", word);
    memcpy(a->value, word, sizeof word);
    a->optional = take(p, '?');
    return ASSAY_OK;
}

static assay_status take_launcher(parser *p, binding_launcher *l) {
    char word[BINDING_SYMBOL], next[BINDING_SYMBOL];
    *l = (binding_launcher){0};
    if (!take_word(p, false, word, sizeof word))
        return refuse(p, "a function's name is missing, or too long");
    while (take_word(p, false, next, sizeof next)) {
        if (strcmp(word, "cudaError_t") == 0)
            l->result = BINDING_CUDA_ERROR;
        else if (strcmp(word, "int") == 0 || strcmp(word, "int32_t") == 0)
            l->result = BINDING_STATUS;
        memcpy(word, next, sizeof word);
    }
    memcpy(l->symbol, word, sizeof word);
    l->tvm_ffi = strncmp(word, tvm_prefix, sizeof tvm_prefix - 1) == 0;
    if (!take(p, '('))
        return refuse(p, "%s needs its arguments: (x, y, d)", l->symbol);
    while (!take(p, ')')) {
        if (l->count > 0 && !take(p, ','))
            return refuse(p, "expected , or ) after the arguments of %s", l->symbol);
        if (l->count == BINDING_ARGUMENTS)
            return refuse(p, "%s has more than %d arguments", l->symbol, BINDING_ARGUMENTS);
        binding_argument *a = &l->argument[l->count++];
        const assay_status status = take_argument(p, a);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* ---- lines ---- */

/* Up to the line's end, a comment or a quote; `most` values with commas between them. */
static assay_status take_expression(parser *p, int most, char text[BINDING_EXPRESSION]) {
    size_t n = 0;
    skip_blanks(p);
    for (; p->at < p->end && strchr("\"#;", *p->at) == NULL; ++p->at) {
        if (n + 1 == BINDING_EXPRESSION)
            return refuse(p, "an expression of more than %d letters", BINDING_EXPRESSION - 1);
        text[n++] = *p->at;
    }
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        --n;
    text[n] = '\0';
    char why[200];
    if (expression_check(text, most) == ASSAY_OK)
        return ASSAY_OK;
    snprintf(why, sizeof why, "%s", assay_error());
    return refuse(p, "%s", why);
}

/* Where the value of a key lies that is an expression; NULL: there is no such key. */
static char *expression_of(const char *key, binding *b, int *most) {
    *most = 1;
    if (strcmp(key, "workspace") == 0)
        return b->workspace;
    if (strcmp(key, "require") == 0)
        return b->require;
    const bool backward = strncmp(key, "backward.", 9) == 0;
    if (!backward && strncmp(key, "forward.", 8) != 0)
        return NULL;
    binding_geometry *g = &b->geometry[backward ? ASSAY_BACKWARD : ASSAY_FORWARD];
    const char *what = strchr(key, '.') + 1;
    if (strcmp(what, "shared") == 0)
        return g->shared;
    *most = 3;
    return strcmp(what, "grid") == 0 ? g->grid : strcmp(what, "block") == 0 ? g->block : NULL;
}

static assay_status take_value(parser *p, const char *key, binding *b) {
    assay_status status = ASSAY_OK;
    int most;
    char *expression = expression_of(key, b, &most);
    if (strcmp(key, "forward") == 0 || strcmp(key, "backward") == 0) {
        binding_launcher *l = &b->stage[key[0] == 'f' ? ASSAY_FORWARD : ASSAY_BACKWARD];
        if (l->symbol[0] != '\0')
            return refuse(p, "%s is there twice", key);
        status = take_launcher(p, l);
    } else if (strcmp(key, "op") == 0) {
        if (!take_word(p, false, b->op, sizeof b->op))
            return refuse(p, "op needs an operator's name");
    } else if (strcmp(key, "order") == 0) {
        char order[8];
        if (!take_word(p, false, order, sizeof order) || strcmp(order, "any") != 0)
            return refuse(p, "order is any, or left out");
        b->any_order = true;
    } else if (expression != NULL) {
        status = take_expression(p, most, expression);
    } else {
        return refuse(
            p,
            "unknown key %.40s; there are op, forward, backward, workspace, require, order, "
            "and forward.grid, .block and .shared, and backward's",
            key);
    }
    return status;
}

static assay_status take_line(parser *p, binding *b) {
    char key[BINDING_VALUE];
    skip_blanks(p);
    if (p->at == p->end || *p->at == '#' || (p->end - p->at > 1 && memcmp(p->at, "//", 2) == 0))
        return ASSAY_OK;
    if (!take_word(p, true, key, sizeof key) || !take(p, '='))
        return refuse(p, "expected KEY = VALUE, as in forward = f(x, y, d)");
    const bool quoted = take(p, '"');
    const assay_status status = take_value(p, key, b);
    if (status != ASSAY_OK)
        return status;
    if (quoted && !take(p, '"'))
        return refuse(p, "a \" is missing");
    (void)take(p, ';');
    skip_blanks(p);
    return p->at == p->end || *p->at == '#' ? ASSAY_OK
                                            : refuse(p, "what follows %s cannot be read", key);
}

bool binding_is_of_kernels(const binding *b) {
    return b->geometry[ASSAY_FORWARD].grid[0] != '\0';
}

/* Both stages are functions, or both kernels, with a grid and a block. */
static assay_status check_geometry(const char *name, const binding *b) {
    static const char *const stages[ASSAY_STAGES] = {"forward", "backward"};
    for (int s = 0; s < ASSAY_STAGES; ++s) {
        const binding_geometry *g = &b->geometry[s];
        const bool any = g->grid[0] != '\0' || g->block[0] != '\0' || g->shared[0] != '\0';
        const bool stage = b->stage[s].symbol[0] != '\0';
        if (any && !stage)
            return assay_fail(ASSAY_ERR_USAGE,
                              "%.200s: the binding has a grid for %s, and no line "
                              "%s = KERNEL(...)",
                              name, stages[s], stages[s]);
        if ((any || (stage && binding_is_of_kernels(b))) &&
            (g->grid[0] == '\0' || g->block[0] == '\0'))
            return assay_fail(ASSAY_ERR_USAGE, "%.200s: a kernel needs %s.grid and %s.block", name,
                              stages[s], stages[s]);
        if (any && !binding_is_of_kernels(b))
            return assay_fail(ASSAY_ERR_USAGE, "%.200s: backward is a kernel, and forward is not",
                              name);
    }
    return ASSAY_OK;
}

assay_status binding_parse(const char *name, const char *text, binding *b) {
    parser p = {.name = name, .at = text};
    assay_status status = ASSAY_OK;
    *b = (binding){0};
    for (const char *line = text; status == ASSAY_OK && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        p.at = line;
        p.end = line + length;
        ++p.line;
        status = take_line(&p, b);
        line += length + (line[length] == '\n');
    }
    if (status == ASSAY_OK && b->stage[ASSAY_FORWARD].symbol[0] == '\0')
        return assay_fail(ASSAY_ERR_USAGE, "%.200s: the binding has no line forward = ...", name);
    return status == ASSAY_OK ? check_geometry(name, b) : status;
}

static void put_launcher(FILE *to, const char *key, const binding_launcher *l) {
    static const char *const types[] = {
        [BINDING_UNTOLD] = "",        [BINDING_POINTER] = "",     [BINDING_INT32] = "int ",
        [BINDING_INT64] = "int64_t ", [BINDING_FLOAT] = "float ", [BINDING_DOUBLE] = "double "};
    static const char *const pointers[] = {[ASSAY_F64] = "double",
                                           [ASSAY_F32] = "float",
                                           [ASSAY_BF16] = "bf16",
                                           [ASSAY_F16] = "half",
                                           [ASSAY_I32] = "int"};
    static const char *const results[] = {
        [BINDING_NO_RESULT] = "", [BINDING_STATUS] = "int ", [BINDING_CUDA_ERROR] = "cudaError_t "};
    if (l->symbol[0] == '\0')
        return;
    fprintf(to, "%s = %s%s(", key, results[l->result], l->symbol);
    for (int32_t i = 0; i < l->count; ++i) {
        const binding_argument *a = &l->argument[i];
        fprintf(to, "%s%s", i > 0 ? ", " : "", types[a->type]);
        if (a->type == BINDING_POINTER)
            fprintf(to, "%s *", a->any ? "void" : pointers[a->dtype]);
        fprintf(to, "%s%s", a->value, a->optional ? "?" : "");
    }
    fputs(")\n", to);
}

static void put_expression(FILE *to, const char *stage, const char *key, const char *text) {
    if (text[0] != '\0')
        fprintf(to, "%s%s = %s\n", stage, key, text);
}

static void put_geometry(FILE *to, const char *stage, const binding_geometry *g) {
    put_expression(to, stage, ".grid", g->grid);
    put_expression(to, stage, ".block", g->block);
    put_expression(to, stage, ".shared", g->shared);
}

assay_status binding_format(const binding *b, char **text) {
    size_t size;
    FILE *to = open_memstream(text, &size);
    if (to == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a binding");
    if (b->op[0] != '\0')
        fprintf(to, "op = %s\n", b->op);
    put_launcher(to, "forward", &b->stage[ASSAY_FORWARD]);
    put_launcher(to, "backward", &b->stage[ASSAY_BACKWARD]);
    put_geometry(to, "forward", &b->geometry[ASSAY_FORWARD]);
    put_geometry(to, "backward", &b->geometry[ASSAY_BACKWARD]);
    put_expression(to, "", "workspace", b->workspace);
    put_expression(to, "", "require", b->require);
    if (b->any_order)
        fputs("order = any\n", to);
    const bool whole = !ferror(to);
    if (fclose(to) == 0 && whole)
        return ASSAY_OK;
    free(*text);
    *text = NULL;
    return assay_fail(ASSAY_ERR_MEMORY, "no memory for a binding");
}

/* ---- in a source ---- */

/* Comments become blanks, of the same length. */
static void blank_comments(char *text) {
    for (char *at = text; *at != '\0';) {
        size_t length = 0;
        if (strncmp(at, "//", 2) == 0) {
            length = strcspn(at, "\n");
        } else if (strncmp(at, "/*", 2) == 0) {
            const char *end = strstr(at + 2, "*/");
            length = end != NULL ? (size_t)(end + 2 - at) : strlen(at);
        }
        for (size_t i = 0; i < length; ++i)
            at[i] = at[i] == '\n' ? '\n' : ' ';
        at += length > 0 ? length : 1;
    }
}

/* What the source's comments say, without "// assay:"; *any: there is some. */
static char *gather_comments(const char *source, bool *any) {
    static const char mark[] = "// assay:";
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    *any = false;
    if (to == NULL)
        return NULL;
    for (const char *line = source; *line != '\0';) {
        const size_t length = strcspn(line, "\n"), blanks = strspn(line, " \t");
        if (length > blanks + sizeof mark - 1 &&
            memcmp(line + blanks, mark, sizeof mark - 1) == 0) {
            const size_t skipped = blanks + sizeof mark - 1;
            fprintf(to, "%.*s", (int)(length - skipped), line + skipped);
            *any = true;
        }
        putc('\n', to); /* lines keep their numbers */
        line += length + (line[length] == '\n');
    }
    (void)fclose(to);
    return text;
}

/* Where the words before a function's name begin: on its line, behind extern "C". */
static const char *find_start(const char *source, const char *name) {
    const char *start = name;
    while (start > source && start[-1] != '\n' && start[-1] != ';' && start[-1] != '}' &&
           start[-1] != '{' && start[-1] != '"')
        --start;
    return start;
}

/* Whether the words before a name are a function's that C can call: one of these results, last. */
static bool is_result(const char *start, const char *name) {
    static const char *const results[] = {"void", "int", "int32_t", "cudaError_t", NULL};
    static const char *const others[] = {"__global__", "__device__", "static", "inline", NULL};
    char word[BINDING_VALUE];
    parser p = {.at = start, .end = name};
    bool callable = false;
    while (take_word(&p, false, word, sizeof word)) {
        callable = is_one_of(word, results);
        if (is_one_of(word, others))
            return false;
    }
    return callable && p.at == name;
}

/* The declaration of that name, with a result before it; false where there is none, or one whose
 * types are not all known. `source` has no comments. */
static bool find_declaration(const char *source, const char *name, binding_launcher *l) {
    const size_t length = strlen(name);
    for (const char *at = source; (at = strstr(at, name)) != NULL; at += length) {
        const char *open = at + length + strspn(at + length, " \t\n");
        const char *start = find_start(source, at);
        const char *close = strchr(open, ')');
        if ((at > source && is_letter(at[-1])) || *open != '(' || close == NULL ||
            !is_result(start, at))
            continue;
        parser p = {.name = name, .line = 1, .at = start, .end = close + 1};
        if (take_launcher(&p, l) == ASSAY_OK)
            return true;
    }
    *l = (binding_launcher){0};
    return false;
}

static void add_types(const char *source, binding_launcher *l) {
    binding_launcher declared;
    if (l->symbol[0] == '\0' || !find_declaration(source, l->symbol, &declared) ||
        declared.count != l->count)
        return;
    l->result = l->result != BINDING_NO_RESULT ? l->result : declared.result;
    for (int32_t i = 0; i < l->count; ++i) {
        binding_argument *a = &l->argument[i];
        if (a->type != BINDING_UNTOLD)
            continue;
        a->type = declared.argument[i].type;
        a->any = declared.argument[i].any;
        a->dtype = declared.argument[i].dtype;
    }
}

static assay_status find_by_name(const char *name, const char *source, const char *op, binding *b) {
    char symbol[2 * BINDING_VALUE];
    binding_launcher *forward = &b->stage[ASSAY_FORWARD], *backward = &b->stage[ASSAY_BACKWARD];
    snprintf(symbol, sizeof symbol, "%s_forward", op);
    if (!find_declaration(source, symbol, forward) && !find_declaration(source, op, forward) &&
        !find_declaration(source, "forward", forward))
        return assay_fail(ASSAY_ERR_USAGE,
                          "%.200s: neither ASSAY_VARIANT nor a launcher: name it extern \"C\" "
                          "%s_forward, or say // assay: forward = NAME(x, y, ...)",
                          name, op);
    snprintf(symbol, sizeof symbol, "%s_backward", op);
    if (!find_declaration(source, symbol, backward) &&
        !find_declaration(source, "backward", backward))
        *backward = (binding_launcher){0};
    return ASSAY_OK;
}

assay_status binding_of_source(const char *name, const char *source, const char *op, binding *b) {
    bool any;
    assay_status status = ASSAY_OK;
    char *comments = gather_comments(source, &any), *code = strdup(source);
    *b = (binding){0};
    if (comments == NULL || code == NULL) {
        status = assay_fail(ASSAY_ERR_MEMORY, "%.200s: no memory for its binding", name);
        goto done;
    }
    blank_comments(code);
    status = any ? binding_parse(name, comments, b) : find_by_name(name, code, op, b);
    for (int s = 0; status == ASSAY_OK && s < ASSAY_STAGES; ++s)
        add_types(code, &b->stage[s]);
done:
    free(comments);
    free(code);
    return status;
}

assay_status binding_of_comments(const char *name, const char *text, binding *b) {
    bool any;
    char *comments = gather_comments(text, &any);
    *b = (binding){0};
    assay_status status = ASSAY_OK;
    if (comments == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "%.200s: no memory for its binding", name);
    else if (!any)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "%.200s: it does not say how it is launched: give --binding FILE, or "
                            "comments in it such as // assay: forward = KERNEL(x, y, d)",
                            name);
    else
        status = binding_parse(name, comments, b);
    free(comments);
    return status;
}

void binding_of_tvm_ffi(const char *forward, const char *backward, binding *b) {
    const char *const names[ASSAY_STAGES] = {forward, backward};
    *b = (binding){0};
    for (int s = 0; s < ASSAY_STAGES; ++s) {
        if (names[s] == NULL)
            continue;
        binding_launcher *l = &b->stage[s];
        snprintf(l->symbol, sizeof l->symbol, "%s%s", tvm_prefix, names[s]);
        l->tvm_ffi = true;
        l->count = 1;
        snprintf(l->argument->value, sizeof l->argument->value, "all");
    }
}
