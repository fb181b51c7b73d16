#include "sim/ptx/emit.h"

#include <stdio.h>
#include <string.h>

void emit(emitter *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = arena_vprint(e->memory, format, args);
    va_end(args);
    text_add(e->memory, &e->code, text, strlen(text));
}

const char *emit_text(emitter *e, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = arena_vprint(e->memory, format, args);
    va_end(args);
    return text;
}

_Noreturn void emit_unknown(emitter *e) {
    longjmp(e->unknown, 1);
}

bool emit_has(const emitter *e, const char *part) {
    for (uint32_t i = 1; i < e->now->n_parts; ++i)
        if (strcmp(e->now->part[i], part) == 0)
            return true;
    return false;
}

const char *emit_one_of(const emitter *e, const char *parts) {
    for (uint32_t i = 1; i < e->now->n_parts; ++i) {
        const size_t n = strlen(e->now->part[i]);
        for (const char *at = parts; at != NULL && *at != '\0';) {
            const char *end = strchr(at, ' ');
            if ((end != NULL ? (size_t)(end - at) : strlen(at)) == n &&
                memcmp(at, e->now->part[i], n) == 0)
                return e->now->part[i];
            at = end != NULL ? end + 1 : NULL;
        }
    }
    return NULL;
}

const char *emit_flag(const emitter *e, const char *part) {
    return emit_has(e, part) ? "true" : "false";
}

const char *emit_rounding(const emitter *e) {
    static const char *const names[][2] = {{"rn", "RN"},  {"rz", "RZ"},   {"rm", "RM"},
                                           {"rp", "RP"},  {"rna", "RNA"}, {"rni", "RN"},
                                           {"rzi", "RZ"}, {"rmi", "RM"},  {"rpi", "RP"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (emit_has(e, names[i][0]))
            return names[i][1];
    return "RN";
}

static const char *escaped(emitter *e, const char *text) {
    growing out = {0};
    for (; *text != '\0'; ++text)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\' || *text == '?')
            text_put(e->memory, &out, "\\%03o", (unsigned)(unsigned char)*text);
        else
            text_add(e->memory, &out, text, 1);
    const char *copy = arena_copy(e->memory, out.text != NULL ? out.text : "", out.n);
    return copy;
}

/* The file and line of a statement: the source's, or where there is no `.loc` the text's own. */
static const char *file_of(const tree *t, int32_t file) {
    return file > 0 && file < t->n_files ? t->files[file] : NULL;
}

enum { MOST_INLINED = 16 };

/* A header in which the toolkit defines what CUDA's C++ has, such as atomicAdd(). */
static bool is_of_toolkit(const char *path) {
    static const char *const begins[] = {"sm_",
                                         "device_atomic_functions",
                                         "cuda_fp",
                                         "cuda_bf16",
                                         "surface_indirect",
                                         "texture_indirect",
                                         "cuda_pipeline",
                                         "cuda_awbarrier",
                                         "cooperative_groups",
                                         "cuda_device_runtime_api"};
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (dot == NULL || dot[1] != 'h')
        return false;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; ++i)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return strstr(path, "/cooperative_groups/") != NULL || strstr(path, "/crt/") != NULL;
}

/* NULL: no `.loc` says it. What the toolkit's headers do is told where the program calls them. */
static const char *source_of(const tree *t, const statement *s, int32_t *line) {
    const place *at = &s->place;
    for (int32_t i = 0; i < MOST_INLINED; ++i) {
        const char *inner = file_of(t, at->file), *outer = file_of(t, at->outer_file);
        const bool called = inner != NULL && outer != NULL && is_of_toolkit(inner);
        *line = called ? at->outer_line : at->line;
        if (!called || at->above == NULL)
            return called ? outer : inner;
        at = at->above;
    }
    *line = at->line;
    return file_of(t, at->file);
}

const char *emit_file(const tree *t, const statement *s) {
    int32_t line;
    const char *file = source_of(t, s, &line);
    return file != NULL ? file : t->name;
}

int32_t emit_line(const tree *t, const statement *s) {
    int32_t line;
    return source_of(t, s, &line) != NULL ? line : s->line;
}

const char *emit_site(emitter *e) {
    const statement *s = e->now;
    const char *file = emit_file(e->tree, s);
    const place p = {s->place.file, emit_line(e->tree, s), s->place.outer_file, 0, NULL};
    if (e->n_sites == 0 || e->last_site.file != p.file || e->last_site.line != p.line ||
        e->last_site.outer_file != p.outer_file) {
        text_put(e->memory, &e->sites, "    {\"%s\", %d},\n", escaped(e, file), p.line);
        ++e->n_sites;
        e->last_site = p;
    }
    return emit_text(e, "&sites[%d]", e->n_sites - 1);
}

const char *emit_temporary(emitter *e) {
    return emit_text(e, "t%d", e->n_temporaries++);
}

const char *emit_label(emitter *e, const operand *o) {
    int64_t number;
    const symbol *s = o->kind == OPERAND_NAME ? scope_find(e->now->scope, o->name, &number) : NULL;
    if (s == NULL || s->kind != SYMBOL_LABEL)
        emit_unknown(e);
    return emit_text(e, "l%d", s->id);
}

const char *emit_function_name(emitter *e, const function *f) {
    return f->entry ? "entry" : emit_text(e, "f%d", f->symbol->id);
}

/* ---- functions */

static const char *type_of_register(const symbol *s, int64_t i) {
    if (s->type->class == CLASS_BITS && s->vector == 0 && s->lean[i] > 0) {
        if (s->type->bytes == 4)
            return "float";
        if (s->type->bytes == 8)
            return "double";
    }
    return s->type->c;
}

static void declare_register(emitter *e, const symbol *s) {
    for (int64_t i = 0; i < (s->count > 0 ? s->count : 1); ++i) {
        if (!s->used[i])
            continue;
        const char *type = type_of_register(s, i);
        if (s->vector > 0)
            for (uint32_t k = 0; k < s->vector; ++k)
                emit(e, "%s r%d_%c = 0;\n", type, s->id, "xyzw"[k]);
        else if (s->count > 0)
            emit(e, "%s r%d_%d = 0;\n", type, s->id, (int)i);
        else
            emit(e, "%s r%d = 0;\n", type, s->id);
    }
}

/* Beside registers that wgmma takes: when they were written, by the count of fences; beside those
 * of its factors, the last wgmma that read them. */
static void declare_flow(emitter *e, const symbol *s) {
    for (int64_t i = 0; s->vector == 0 && i < (s->count > 0 ? s->count : 1); ++i) {
        const char *name =
            s->count > 0 ? emit_text(e, "r%d_%d", s->id, (int)i) : emit_text(e, "r%d", s->id);
        if (s->used[i] && (s->flow[i] & FLOW_TAKEN) != 0)
            emit(e, "uint32_t s%s = 0;(void)s%s;\n", name, name);
        if (s->used[i] && (s->flow[i] & FLOW_FACTOR) != 0)
            emit(e, "uint32_t g%s = 0;(void)g%s;\n", name, name);
    }
}

static void declare_scope(emitter *e, const scope *s) {
    for (const symbol *v = s->first; v != NULL; v = v->next)
        if (v->kind == SYMBOL_REGISTER) {
            declare_register(e, v);
            declare_flow(e, v);
        } else if (v->kind == SYMBOL_LOCAL)
            emit(e, "char v%d[%llu] __attribute__((aligned(%llu)));\n", v->id,
                 (unsigned long long)(v->bytes > 0 ? v->bytes : 1),
                 (unsigned long long)(v->alignment > 8 ? v->alignment : 8));
}

/* Registers of all scopes are variables of the whole function: each has a name of its own. */
static void declare_all(emitter *e, const function *f) {
    declare_scope(e, f->scope);
    for (const scope *s = f->scopes; s != NULL; s = s->next)
        declare_scope(e, s);
}

static void emit_statement(emitter *e, const statement *s) {
    const size_t before = e->code.n, sites = e->sites.n;
    const int32_t n_sites = e->n_sites;
    const place last = e->last_site;
    e->now = s;
    e->missing = s->opcode;
    if (s->kind == STATEMENT_LABEL) {
        emit(e, "l%d:;\n", s->label->id);
        e->passed[s->label->id] = true;
        return;
    }
    if (s->place.file > 0 && emit_file(e->tree, s) != e->tree->name)
        emit(e, "#line %d \"%s\"\n", emit_line(e->tree, s) > 0 ? emit_line(e->tree, s) : 1,
             escaped(e, emit_file(e->tree, s)));
    volatile bool guarded = false; /* by a register that is there */
    if (setjmp(e->unknown) == 0) {
        const char *guard = s->guard != NULL ? emit_read(e, s->guard, type_named("pred")) : NULL;
        guarded = guard != NULL;
        if (guarded)
            emit(e, "if (%s) {", guard);
        emit_by_table(e, s);
    } else {
        e->code.n = before;
        e->sites.n = sites;
        e->n_sites = n_sites;
        e->last_site = last;
        if (guarded)
            emit(e, "if (%s) {", emit_read(e, s->guard, type_named("pred")));
        emit(e, "x->unknown(\"%s\", %s);", escaped(e, e->missing), emit_site(e));
        if (e->note != NULL)
            e->note(e->note_context, e->function, s, e->missing);
    }
    emit(e, guarded ? "}\n" : "\n");
}

static void emit_signature(emitter *e, const function *f, const char *end) {
    emit(e, "static bool %s(const ptx_context *x, char *const *arguments)%s",
         emit_function_name(e, f), end);
}

/* Parameters that are registers get their values when the function begins. */
static void load_parameters(emitter *e, const function *f) {
    for (int32_t i = 0; i < f->n_parameters; ++i) {
        const symbol *s = f->parameters[i];
        if (s->kind == SYMBOL_REGISTER && s->used[0])
            emit(e, "r%d = *(const %s *)arguments[%d];\n", s->id, type_of_register(s, 0),
                 f->n_results + i);
    }
}

static void emit_function(emitter *e, const function *f) {
    e->function = f;
    emit_signature(e, f,
                   " {\nchar *const shared = *x->shared;\nuint32_t turns = 0, fences = 1;\n"
                   "const char *const parameters = x->parameters;\nbool carry = false;\n");
    declare_all(e, f);
    load_parameters(e, f);
    for (const statement *s = f->first; s != NULL; s = s->next)
        emit_statement(e, s);
    e->now = NULL;
    emit(
        e,
        "(void)shared, (void)turns, (void)fences, (void)parameters, (void)carry, (void)arguments;\nreturn false;\n}\n");
}

/* The function that an address stands for. */
static void emit_addresses(emitter *e) {
    emit(e, "static ptx_code *function_at(uint64_t address) {\nswitch (address) {\n");
    for (int32_t i = 0; i < e->parts->n_functions; ++i)
        emit(e, "case UINT64_C(%llu): return %s;\n",
             (unsigned long long)function_address(e->parts->functions[i]),
             emit_function_name(e, e->parts->functions[i]));
    emit(e, "default: return 0;\n}\n}\n");
}

const char *emit_kernel(const tree *t, const function *kernel, bool records, arena *memory,
                        emit_note *note, void *note_context) {
    emitter e = {.tree = t, .memory = memory, .note = note, .note_context = note_context};
    kernel_parts parts = parts_of(t, kernel, memory);
    e.parts = &parts;
    e.passed = arena_take(memory, (size_t)t->n_symbols + 1);
    for (int32_t i = 0; i < parts.n_functions; ++i)
        emit_function(&e, parts.functions[i]);
    growing body = e.code;
    e.code = (growing){0};
    emit(&e, "#define PTX_RECORD %d\n", records);
    emit(&e, "static const ptx_site sites[] = {\n%.*s    {\"\", 0}};\n", (int)e.sites.n,
         e.sites.n > 0 ? e.sites.text : "");
    for (int32_t i = 0; i < parts.n_functions; ++i)
        emit_signature(&e, parts.functions[i], ";\n");
    if (parts.indirect)
        emit_addresses(&e);
    text_add(memory, &e.code, body.text, body.n);
    emit(&e, "bool ptx_entry(const ptx_context *x) {\nreturn entry(x, 0);\n}\n");
    emit(&e, "const ptx_site_list ptx_sites = {sites, %d};\n", e.n_sites);
    return e.code.text;
}
