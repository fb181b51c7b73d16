#include "sim/asan.h"
#include "sim/ptx/emit.h"
#include "sim/ptx/internal.h"
#include "sim/ptx/name.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PLENTY = 256 /* cudaGetSymbolAddress: as cudaMalloc aligns; and between two variables */ };

/* ---- variables */

static assay_status refuse_value(const ptx_module *m, const symbol *s, const char *why) {
    return assay_fail(ASSAY_ERR_FILE, "%s:%d: not PTX: %s begins with %s", m->tree.name, s->line,
                      s->name, why);
}

static assay_status value_of(const ptx_module *m, const symbol *s, const operand *o,
                             uint64_t *value) {
    *value = o->value;
    if (o->kind == OPERAND_FLOAT) {
        float narrow;
        double wide;
        memcpy(&wide, &o->value, sizeof wide);
        memcpy(&narrow, &o->value, sizeof narrow);
        if (s->type->bytes == 4 && !o->single) {
            narrow = (float)wide;
            *value = 0;
            memcpy(value, &narrow, sizeof narrow);
        } else if (s->type->bytes == 8 && o->single) {
            wide = (double)narrow;
            memcpy(value, &wide, sizeof wide);
        }
    } else if (o->kind == OPERAND_NAME) {
        int64_t number;
        const symbol *other = scope_find(s->names, o->name, &number);
        if (s->type->bytes == 8 && other != NULL && other->kind == SYMBOL_GLOBAL)
            *value = (uint64_t)(uintptr_t)m->globals[other->index] + (uint64_t)o->offset;
        else if (s->type->bytes == 8 && other != NULL && other->kind == SYMBOL_FUNCTION &&
                 other->function->defined)
            *value = function_address(other->function);
        else
            return refuse_value(m, s, "what is no address of a variable or a function");
    } else if (o->kind != OPERAND_INTEGER) {
        return refuse_value(m, s, "what is no number");
    }
    return ASSAY_OK;
}

static assay_status fill(const ptx_module *m, const symbol *s) {
    char *to = m->globals[s->index];
    for (uint32_t i = 0; i < s->n_initial; ++i) {
        uint64_t value = 0;
        const size_t size = s->type->bytes < sizeof value ? s->type->bytes : sizeof value;
        const assay_status status = value_of(m, s, &s->initial[i], &value);
        if (status != ASSAY_OK)
            return status;
        if (s->bytes / s->type->bytes <= i)
            return refuse_value(m, s, "more values than it has elements");
        memcpy(to + (size_t)i * s->type->bytes, &value, size);
    }
    return ASSAY_OK;
}

/* Where a variable begins at the earliest; beyond all memory where that is not to be had. */
static uint64_t place_of(const symbol *s, uint64_t at) {
    const uint64_t alignment = s->alignment > PLENTY ? s->alignment : PLENTY;
    const uint64_t end = SIZE_MAX / 2;
    return at > end || s->bytes > end || alignment > end
               ? end
               : (at + PLENTY + alignment - 1) / alignment * alignment;
}

/* Of all variables from the address `at` on; the last one is followed by a gap, too. */
static uint64_t end_of_globals(const ptx_module *m, uint64_t at) {
    for (int32_t i = 0; i < m->tree.n_globals; ++i)
        at = place_of(m->tree.globals[i], at) + m->tree.globals[i]->bytes;
    return at + PLENTY;
}

/* Shared, for processes that share a launch's blocks (sim/split.h); zero where nothing else is said
 * (PTX ISA, "Initializers"). The gaps trap in a build with AddressSanitizer. */
static assay_status map_globals(ptx_module *m) {
    uint64_t widest = 4096;
    for (int32_t i = 0; i < m->tree.n_globals; ++i)
        if (m->tree.globals[i]->alignment > widest)
            widest = m->tree.globals[i]->alignment;
    /* However a mapping lies, less than `widest` is lost. */
    const uint64_t bytes = end_of_globals(m, 0);
    void *memory =
        bytes > SIZE_MAX / 4 || widest > SIZE_MAX / 4
            ? MAP_FAILED
            : mmap(NULL, bytes + widest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory for its variables", m->tree.name);
    m->variables = memory;
    m->variable_bytes = bytes + widest;
    sim_poison(memory, m->variable_bytes, true);
    return ASSAY_OK;
}

/* All get their places before any is filled: one may hold the address of another. */
static assay_status place_globals(ptx_module *m) {
    const tree *t = &m->tree;
    m->globals = arena_take(&m->memory, ((size_t)t->n_globals + 1) * sizeof(char *));
    assay_status status = t->n_globals > 0 ? map_globals(m) : ASSAY_OK;
    uint64_t at = (uintptr_t)m->variables;
    for (int32_t i = 0; i < t->n_globals && status == ASSAY_OK; ++i) {
        at = place_of(t->globals[i], at);
        m->globals[i] = m->variables + (at - (uintptr_t)m->variables);
        at += t->globals[i]->bytes;
        sim_poison(m->globals[i], t->globals[i]->bytes, false);
    }
    for (int32_t i = 0; i < t->n_globals && status == ASSAY_OK; ++i)
        status = fill(m, t->globals[i]);
    return status;
}

/* ---- kernels */

static void add_parameters(ptx_module *m, ptx_function *k, const function *f) {
    ptx_parameter *parameters =
        arena_take(&m->memory, ((size_t)f->n_parameters + 1) * sizeof *parameters);
    for (int32_t i = 0; i < f->n_parameters; ++i)
        parameters[i] = (ptx_parameter){f->parameters[i]->offset, f->parameters[i]->bytes,
                                        f->parameters[i]->alignment};
    k->parameters = parameters;
    k->n_parameters = f->n_parameters;
    k->parameter_bytes = f->parameter_bytes;
}

static uint32_t threads(const uint32_t shape[3]) {
    const uint64_t n = (uint64_t)shape[0] * shape[1];
    return n > UINT32_MAX || n * shape[2] > UINT32_MAX ? UINT32_MAX : (uint32_t)(n * shape[2]);
}

static bool has_part(const statement *s, const char *part) {
    for (uint32_t i = 0; i < s->n_parts; ++i)
        if (strcmp(s->part[i], part) == 0)
            return true;
    return false;
}

/* Scope .sys, which volatile accesses have too, but for those of shared memory. */
static bool is_system_scope(const function *f) {
    for (const statement *s = f->first; s != NULL; s = s->next)
        if (has_part(s, "sys") || (has_part(s, "volatile") && !has_part(s, "shared")))
            return true;
    return false;
}

/* What the toolkit declares and the driver defines. */
static bool calls(const function *f, const char *name) {
    for (const statement *s = f->first; s != NULL; s = s->next) {
        const operand *target =
            s->n_parts > 0 && strcmp(s->part[0], "call") == 0 ? call_target(s) : NULL;
        if (target != NULL && target->kind == OPERAND_NAME && strcmp(target->name, name) == 0)
            return true;
    }
    return false;
}

static const char *own_name(ptx_module *m, const char *mangled) {
    const char *own;
    const size_t length = (size_t)ptx_own_name(mangled, &own);
    char *copy = arena_take(&m->memory, length + 1);
    memcpy(copy, own, length);
    copy[length] = '\0';
    return copy;
}

static void list_kernels(ptx_module *m) {
    const size_t n = (size_t)m->tree.n_functions + 1;
    m->kernels = arena_take(&m->memory, n * sizeof *m->kernels);
    m->functions = arena_take(&m->memory, n * sizeof *m->functions);
    m->compiled = arena_take(&m->memory, n * sizeof *m->compiled);
    for (const function *f = m->tree.functions; f != NULL; f = f->next) {
        if (!f->entry || !f->defined || f->symbol->function != f) /* one of those that are .weak */
            continue;
        m->functions[m->n_kernels] = f;
        ptx_function *k = &m->kernels[m->n_kernels++];
        const bool fixed = threads(f->required) > 0;
        k->name = f->name;
        k->own_name = own_name(m, f->name);
        k->module = m;
        k->max_threads = threads(fixed ? f->required : f->max_threads);
        memcpy(k->required, f->required, sizeof k->required);
        k->min_blocks = f->min_blocks;
        k->max_registers = f->max_registers;
        const kernel_parts parts = parts_of(&m->tree, f, &m->memory);
        m->proxies |= parts.proxies;
        k->shared_bytes = parts.shared_bytes;
        k->dynamic_offset = parts.dynamic;
        k->local_bytes = f->local_bytes;
        for (int32_t i = 0; i < parts.n_functions; ++i) {
            k->system_scope |= is_system_scope(parts.functions[i]);
            k->allocates |= calls(parts.functions[i], "malloc");
            k->prints |= calls(parts.functions[i], "vprintf");
        }
        k->unordered = blocks_unordered(&parts);
        add_parameters(m, k, f);
    }
}

/* ---- what is not known */

static void note_unknown(void *context, const function *f, const statement *s, const char *what) {
    ptx_module *m = context;
    const ptx_unknown note = {emit_file(&m->tree, s), emit_line(&m->tree, s),
                              arena_copy(&m->memory, what, strlen(what)), f->name};
    for (int32_t i = 0; i < m->n_unknown; ++i)
        if (strcmp(m->unknown[i].opcode, note.opcode) == 0 && m->unknown[i].line == note.line &&
            m->unknown[i].function == note.function)
            return;
    if (m->n_unknown == m->room_for_unknown) {
        const int32_t room = 2 * m->room_for_unknown + 16;
        ptx_unknown *grown = arena_take(&m->memory, (size_t)room * sizeof *grown);
        if (m->n_unknown > 0)
            memcpy(grown, m->unknown, (size_t)m->n_unknown * sizeof *grown);
        m->unknown = grown;
        m->room_for_unknown = room;
    }
    m->unknown[m->n_unknown++] = note;
}

/* Emits every kernel once, for what it does not know. */
static void find_unknown(ptx_module *m) {
    for (int32_t i = 0; i < m->n_kernels; ++i) {
        arena scratch = {.out_of_memory = m->memory.out_of_memory};
        (void)emit_kernel(&m->tree, m->functions[i], false, &scratch, note_unknown, m);
        arena_free(&scratch);
    }
}

const ptx_unknown *ptx_module_unknown(const ptx_module *m, int32_t i) {
    return i >= 0 && i < m->n_unknown ? &m->unknown[i] : NULL;
}

assay_status ptx_module_load(const char *text, size_t size, const char *name, ptx_module **module) {
    ptx_module *m = *module = calloc(1, sizeof *m);
    jmp_buf out_of_memory;
    assay_status status;
    if (m == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "%s: no memory to read PTX", name);
    m->memory.out_of_memory = &out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        status = assay_fail(ASSAY_ERR_MEMORY, "%s: no memory to read PTX", name);
        goto done;
    }
    m->tree.memory = &m->memory;
    m->tree.name = arena_copy(&m->memory, name, strlen(name));
    status = tree_read(&m->tree, text, size);
    if (status == ASSAY_OK)
        status = place_globals(m);
    if (status == ASSAY_OK) {
        list_kernels(m);
        find_unknown(m);
    }
    m->memory.out_of_memory = NULL;
done:
    if (status != ASSAY_OK) {
        ptx_module_free(m);
        *module = NULL;
    }
    return status;
}

void ptx_module_free(ptx_module *m) {
    if (m == NULL)
        return;
    for (int32_t i = 0; i < m->n_kernels; ++i)
        ptx_unload(&m->compiled[i]);
    if (m->variables != NULL) {
        sim_poison(m->variables, m->variable_bytes, false);
        munmap(m->variables, m->variable_bytes);
    }
    arena_free(&m->memory);
    free(m);
}

const char *ptx_module_target(const ptx_module *m) {
    return m->tree.target;
}

const char *ptx_module_version(const ptx_module *m) {
    return m->tree.version;
}

const ptx_function *ptx_module_kernel(const ptx_module *m, int32_t i) {
    return i >= 0 && i < m->n_kernels ? &m->kernels[i] : NULL;
}

const ptx_function *ptx_module_find(const ptx_module *m, const char *kernel) {
    for (int32_t i = 0; i < m->n_kernels; ++i)
        if (strcmp(m->kernels[i].name, kernel) == 0)
            return &m->kernels[i];
    return NULL;
}

assay_status ptx_module_symbol(const ptx_module *m, const char *name, void **address,
                               size_t *bytes) {
    const symbol *s = scope_own(m->tree.scope, name);
    for (const scope *own = m->tree.modules; own != NULL && s == NULL; own = own->next)
        s = scope_own(own, name);
    if (s == NULL || s->kind != SYMBOL_GLOBAL)
        return assay_fail(ASSAY_ERR_USAGE, "%s has no variable %s", m->tree.name, name);
    *address = m->globals[s->index];
    *bytes = s->bytes;
    return ASSAY_OK;
}
