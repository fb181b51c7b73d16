/* Jumps and calls. */
#include "sim/ptx/emit.h"

#include <string.h>

void form_branch(emitter *e, const statement *s) {
    int64_t number;
    if (s->n_operands != 1)
        emit_unknown(e);
    const char *label = emit_label(e, s->operands[0]);
    if (e->passed[scope_find(s->scope, s->operands[0]->name, &number)->id])
        emit(e, "if (__builtin_expect(++turns == PTX_TURNS, 0)) {turns = 0;x->turn(%s);}",
             emit_site(e));
    emit(e, "goto %s;", label);
}

void form_branch_index(emitter *e, const statement *s) {
    int64_t number;
    const operand *o = s->n_operands == 2 ? s->operands[1] : NULL;
    const symbol *list =
        o != NULL && o->kind == OPERAND_NAME ? scope_find(s->scope, o->name, &number) : NULL;
    if (list == NULL || list->kind != SYMBOL_TARGETS)
        emit_unknown(e);
    emit(e, "switch (%s) {", emit_read(e, s->operands[0], type_named("u32")));
    for (uint32_t i = 0; i < list->n_initial; ++i)
        emit(e, "case %u: goto %s;", i, emit_label(e, &list->targets[i]));
    emit(e,
         "default: x->trap(\"wrong branch\", \"brx.idx with an index behind its list\", %s);"
         "return true;}",
         emit_site(e));
}

/* A function's results that are registers go where its caller wants them. */
void form_return(emitter *e, const statement *s) {
    const function *f = e->function;
    (void)s;
    for (int32_t i = 0; i < f->n_results; ++i) {
        const symbol *r = f->results[i];
        operand name = {.kind = OPERAND_NAME, .name = r->name};
        if (r->kind == SYMBOL_REGISTER)
            emit(e, "*(%s *)arguments[%d] = %s;", r->type->c, i, emit_read(e, &name, r->type));
    }
    emit(e, "return false;");
}

void form_exit(emitter *e, const statement *s) {
    (void)s;
    emit(e, "return true;");
}

/* Where an argument lies; registers and constants get a place: `type` is the parameter's. */
static const char *place_of(emitter *e, const operand *o, const ptx_type *type) {
    int64_t number;
    const symbol *s = o->kind == OPERAND_NAME ? scope_find(e->now->scope, o->name, &number) : NULL;
    if (s != NULL && s->kind == SYMBOL_LOCAL)
        return emit_text(e, "v%d", s->id);
    if (s != NULL && s->kind == SYMBOL_PARAMETER && !e->function->entry)
        return emit_text(e, "arguments[%d]", s->index + (s->result ? 0 : e->function->n_results));
    if (type == NULL)
        emit_unknown(e);
    const char *name = emit_temporary(e);
    emit(e, "%s %s = %s;", type->c, name, emit_read(e, o, type));
    return emit_text(e, "(char *)&%s", name);
}

typedef struct call {
    const operand *results, *target, *arguments;
} call;

/* call (results), target, (arguments), prototype */
static call parts_of_call(emitter *e, const statement *s) {
    call c = {NULL, NULL, NULL};
    uint32_t i = 0;
    if (i < s->n_operands && s->operands[i]->kind == OPERAND_LIST)
        c.results = s->operands[i++];
    c.target = call_target(s);
    if (c.target == NULL)
        emit_unknown(e);
    if (++i < s->n_operands && s->operands[i]->kind == OPERAND_LIST)
        c.arguments = s->operands[i];
    return c;
}

static const ptx_type *type_at(symbol *const *list, int32_t n, uint32_t i) {
    return list != NULL && (int32_t)i < n ? list[i]->type : NULL;
}

/* The places of results and arguments, in `places`, all in one list. */
static uint32_t places_of(emitter *e, const call *c, const function *f, const char **places) {
    uint32_t n = 0;
    for (uint32_t i = 0; c->results != NULL && i < c->results->n_items; ++i)
        places[n++] = place_of(e, &c->results->items[i],
                               f != NULL ? type_at(f->results, f->n_results, i) : NULL);
    for (uint32_t i = 0; c->arguments != NULL && i < c->arguments->n_items; ++i)
        places[n++] = place_of(e, &c->arguments->items[i],
                               f != NULL ? type_at(f->parameters, f->n_parameters, i) : NULL);
    return n;
}

/* A function that no PTX defines. */
_Noreturn static void miss(emitter *e, const char *name) {
    static const char of_launches[] = "__cudaCDP";
    e->missing = strncmp(name, of_launches, sizeof of_launches - 1) == 0
                     ? "a launch by a kernel (dynamic parallelism: launch from the host instead)"
                     : emit_text(e, "%s, which no PTX of the program defines,", name);
    emit_unknown(e);
}

/* What the toolkit declares and the driver defines. */
static void call_system(emitter *e, const char *name, const char *const *a, uint32_t n) {
    if (strcmp(name, "vprintf") == 0 && n == 3)
        emit(e, "*(int32_t *)%s = x->print(*(const char *const *)%s, *(const char *const *)%s);",
             a[0], a[1], a[2]);
    else if (strcmp(name, "cudaGraphSetConditional") == 0 && n == 2)
        emit(e, "x->set_condition(*(const uint64_t *)%s, *(const uint32_t *)%s, %s);", a[0], a[1],
             emit_site(e));
    else if (strcmp(name, "__assertfail") == 0 && n == 5)
        emit(e,
             "x->failed_assertion(*(const char *const *)%s, *(const char *const *)%s, "
             "*(const uint32_t *)%s, *(const char *const *)%s, %s);return true;",
             a[0], a[1], a[2], a[3], emit_site(e));
    else if (strcmp(name, "malloc") == 0 && n == 2)
        emit(e, "*(uint64_t *)%s = (uint64_t)(uintptr_t)x->heap_take(*(const uint64_t *)%s);", a[0],
             a[1]);
    else if (strcmp(name, "free") == 0 && n == 1)
        emit(e, "x->heap_return(*(void *const *)%s, %s);", a[0], emit_site(e));
    else
        miss(e, name);
}

/* Registers among the results take what the function left in their places. */
static void take_results(emitter *e, const call *c, const function *f, const char *const *places) {
    for (uint32_t i = 0; c->results != NULL && i < c->results->n_items; ++i) {
        int64_t number;
        const operand *o = &c->results->items[i];
        const symbol *s =
            o->kind == OPERAND_NAME ? scope_find(e->now->scope, o->name, &number) : NULL;
        const ptx_type *type = f != NULL ? type_at(f->results, f->n_results, i) : NULL;
        if (s != NULL && s->kind == SYMBOL_REGISTER && type != NULL)
            emit_write(e, o, type, emit_text(e, "*(const %s *)%s", type->c, places[i]));
    }
}

void form_call(emitter *e, const statement *s) {
    const call c = parts_of_call(e, s);
    int64_t number;
    const symbol *target = scope_find(s->scope, c.target->name, &number);
    const uint32_t most = (c.results != NULL ? c.results->n_items : 0) +
                          (c.arguments != NULL ? c.arguments->n_items : 0);
    const char **places = arena_take(e->memory, (most + 1) * sizeof *places);
    if (target == NULL)
        emit_unknown(e);
    const function *f = target->kind == SYMBOL_FUNCTION ? target->function : NULL;
    emit(e, "{");
    const uint32_t n = places_of(e, &c, f, places);
    if (f != NULL && !f->defined) {
        call_system(e, f->name, places, n);
    } else {
        emit(e, "char *const list[] = {");
        for (uint32_t i = 0; i < n; ++i)
            emit(e, "%s, ", places[i]);
        emit(e, "0};");
        if (f == NULL)
            emit(e,
                 "ptx_code *const to = function_at(%s);if (to == 0) {x->trap(\"wrong call\", \"a "
                 "call of what is no function's address\", %s);return true;}",
                 emit_read(e, c.target, type_named("u64")), emit_site(e));
        emit(e, "if (%s(x, list)) return true;", f != NULL ? emit_function_name(e, f) : "to");
        take_results(e, &c, f, places);
    }
    emit(e, "}");
}
