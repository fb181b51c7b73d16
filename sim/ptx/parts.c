/* The parts of its module that a kernel needs, and how its registers are used. */
#include "sim/ptx/emit.h"

#include <string.h>

typedef struct walk {
    const tree *tree;
    kernel_parts parts;
    bool *taken;        /* by a symbol's id */
    uint64_t alignment; /* of the dynamic part */
} walk;

static uint64_t aligned(uint64_t n, uint64_t to) {
    return (n + to - 1) / to * to;
}

static void take_shared(walk *w, const symbol *s) {
    if (s->external) {
        if (s->alignment > w->alignment)
            w->alignment = s->alignment;
        return;
    }
    const uint64_t at = aligned(w->parts.shared_bytes, s->alignment);
    w->parts.shared[s->id] = at;
    w->parts.shared_bytes = at + s->bytes;
}

static void take(walk *w, const symbol *s) {
    if (w->taken[s->id])
        return;
    w->taken[s->id] = true;
    if (s->kind == SYMBOL_SHARED)
        take_shared(w, s);
    else if (s->kind == SYMBOL_FUNCTION && s->function != NULL && s->function->defined &&
             (w->parts.n_functions == 0 || !s->function->entry)) /* kernels are launched */
        w->parts.functions[w->parts.n_functions++] = s->function;
}

/* `lean`: 1 for a use as a floating-point number, -1 for one as an integer, 0 for a move. */
static void visit(walk *w, const scope *from, const operand *o, int32_t lean) {
    int64_t number;
    if (o->kind == OPERAND_NAME) {
        symbol *s = scope_find(from, o->name, &number);
        if (s == NULL)
            return;
        if (s->kind == SYMBOL_REGISTER) {
            s->used[number < 0 ? 0 : number] = true;
            s->lean[number < 0 ? 0 : number] += lean;
        } else if (s->kind == SYMBOL_TARGETS) {
            return;
        } else {
            take(w, s);
        }
        return;
    }
    for (uint32_t i = 0; i < o->n_items; ++i)
        visit(w, from, &o->items[i], o->kind == OPERAND_ADDRESS ? -1 : lean);
}

static bool one_of(const char *word, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

bool is_arithmetic(const statement *s, const ptx_type *last) {
    static const char *const names[] = {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"};
    return last != NULL && last->class == CLASS_FLOAT && last->bytes == 4 &&
           one_of(s->part[0], names, sizeof names / sizeof names[0]);
}

/* A constant is none of the NaNs that there is a choice of. */
static bool moves_number(const statement *s) {
    return strcmp(s->part[0], "mov") == 0 && s->n_operands == 2 &&
           (s->operands[1]->kind == OPERAND_INTEGER || s->operands[1]->single) &&
           (s->operands[1]->value & 0x7fffffff) <= 0x7f800000;
}

/* What an instruction writes; stores and jumps write less than that. */
static void note_origin(const scope *from, const operand *o, uint8_t origin) {
    int64_t number;
    symbol *s = o->kind == OPERAND_NAME ? scope_find(from, o->name, &number) : NULL;
    if (s != NULL && s->kind == SYMBOL_REGISTER) {
        uint8_t *of = &s->origin[number < 0 ? 0 : number];
        *of = *of == ORIGIN_NONE || *of == origin ? origin : ORIGIN_OTHER;
    }
    for (uint32_t i = 0; i < o->n_items; ++i)
        note_origin(from, &o->items[i], origin);
}

static int32_t lean_of(const ptx_type *type) {
    return type == NULL ? 0 : type->class == CLASS_FLOAT ? 1 : -1;
}

/* How operand i uses its register: by the instruction's types, of which moves tell little. */
static int32_t lean_at(const statement *s, uint32_t i, const ptx_type *first,
                       const ptx_type *last) {
    static const char *const moves[] = {"mov", "ld", "ldu", "st", "selp", "shfl", "atom", "red"};
    if (one_of(s->part[0], moves, sizeof moves / sizeof moves[0]))
        return last != NULL && last->class == CLASS_FLOAT ? 1 : 0;
    if (strcmp(s->part[0], "mma") == 0) /* d, a, b, c */
        return i == 0 || i == 3 ? lean_of(first) : -1;
    return lean_of(i == 0 ? first : last);
}

static bool is_bulk(const statement *s) {
    return s->n_parts > 2 && strcmp(s->part[0], "cp") == 0 &&
           (strcmp(s->part[2], "bulk") == 0 || strcmp(s->part[1], "reduce") == 0);
}

static void visit_statement(walk *w, const statement *s) {
    w->parts.proxies |= is_bulk(s);
    const ptx_type *first = NULL, *last = NULL;
    for (uint32_t i = 1; i < s->n_parts; ++i) {
        const ptx_type *type = type_named(s->part[i]);
        if (type != NULL && first == NULL)
            first = type;
        last = type != NULL ? type : last;
    }
    for (uint32_t i = 0; i < s->n_operands; ++i)
        visit(w, s->scope, s->operands[i], lean_at(s, i, first, last));
    if (s->n_operands > 0)
        note_origin(s->scope, s->operands[0],
                    is_arithmetic(s, last) || moves_number(s) ? ORIGIN_ARITHMETIC : ORIGIN_OTHER);
    if (s->guard != NULL)
        visit(w, s->scope, s->guard, 0);
}

/* Each function's own shared memory lies behind that of those before; then come the variables of
 * the module, as they are met. */
static void walk_function(walk *w, const function *f) {
    for (int32_t i = 0; i < f->n_parameters; ++i)
        if (f->parameters[i]->kind == SYMBOL_REGISTER)
            f->parameters[i]->origin[0] = ORIGIN_OTHER;
    for (const statement *s = f->first; s != NULL; s = s->next)
        if (s->kind == STATEMENT_INSTRUCTION)
            visit_statement(w, s);
    w->parts.proxies |= flow_find(f);
}

/* ---- functions that are called by address ---- */

const operand *call_target(const statement *s) {
    const uint32_t i = s->n_operands > 0 && s->operands[0]->kind == OPERAND_LIST ? 1 : 0;
    return i < s->n_operands && s->operands[i]->kind == OPERAND_NAME ? s->operands[i] : NULL;
}

static bool is_call(const statement *s) {
    return s->kind == STATEMENT_INSTRUCTION && strcmp(s->part[0], "call") == 0;
}

static bool calls_address(const function *f) {
    int64_t number;
    for (const statement *s = f->first; s != NULL; s = s->next) {
        const operand *to = is_call(s) ? call_target(s) : NULL;
        const symbol *target = to != NULL ? scope_find(s->scope, to->name, &number) : NULL;
        if (target != NULL && target->kind != SYMBOL_FUNCTION)
            return true;
    }
    return false;
}

static void take_functions(walk *w, const scope *from, const operand *o) {
    int64_t number;
    const symbol *s = o->kind == OPERAND_NAME ? scope_find(from, o->name, &number) : NULL;
    if (s != NULL && s->kind == SYMBOL_FUNCTION)
        take(w, s);
    for (uint32_t i = 0; i < o->n_items; ++i)
        take_functions(w, from, &o->items[i]);
}

/* Those that a variable of the module, or an instruction other than a call, names. */
static void take_addresses(walk *w) {
    for (int32_t g = 0; g < w->tree->n_globals; ++g)
        for (uint32_t i = 0; i < w->tree->globals[g]->n_initial; ++i)
            take_functions(w, w->tree->globals[g]->names, &w->tree->globals[g]->initial[i]);
    for (const function *f = w->tree->functions; f != NULL; f = f->next)
        for (const statement *s = f->first; s != NULL; s = s->next)
            for (uint32_t i = 0; s->kind == STATEMENT_INSTRUCTION && i < s->n_operands; ++i)
                if (!is_call(s) || s->operands[i] != call_target(s))
                    take_functions(w, s->scope, s->operands[i]);
}

kernel_parts parts_of(const tree *t, const function *kernel, arena *memory) {
    walk w = {.tree = t, .alignment = 16};
    w.taken = arena_take(memory, (size_t)t->n_symbols + 1);
    w.parts.shared = arena_take(memory, ((size_t)t->n_symbols + 1) * sizeof *w.parts.shared);
    w.parts.functions =
        arena_take(memory, ((size_t)t->n_functions + 1) * sizeof *w.parts.functions);
    take(&w, kernel->symbol);
    for (int32_t i = 0; i < w.parts.n_functions; ++i) {
        walk_function(&w, w.parts.functions[i]);
        if (!w.parts.indirect && calls_address(w.parts.functions[i])) {
            w.parts.indirect = true;
            take_addresses(&w);
        }
    }
    w.parts.dynamic = aligned(w.parts.shared_bytes, w.alignment);
    return w.parts;
}
