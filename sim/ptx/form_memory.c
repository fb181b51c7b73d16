/* Loads, stores, atomics, copies. */
#include "sim/ptx/device/context.h"
#include "sim/ptx/emit.h"

#include <string.h>

static const ptx_type *last_type(emitter *e) {
    if (e->n_types == 0)
        emit_unknown(e);
    return e->types[e->n_types - 1];
}

static uint32_t vector_of(const emitter *e) {
    return emit_has(e, "v2") ? 2 : emit_has(e, "v4") ? 4 : emit_has(e, "v8") ? 8 : 1;
}

/* `o` itself, or the items of {a, b}. */
static const operand *item(emitter *e, const operand *o, uint32_t i, uint32_t n) {
    if (n == 1 && o->kind != OPERAND_VECTOR)
        return o;
    if (o->kind != OPERAND_VECTOR || o->n_items != n)
        emit_unknown(e);
    return &o->items[i];
}

static bool in_space(const emitter *e, const char *space) {
    return strcmp(emit_space(e), space) == 0;
}

/* Parameters have no address to get wrong. */
static bool is_checked(const emitter *e) {
    return !in_space(e, "param");
}

/* Local memory is the thread's own, and no thread writes constants. */
static bool is_recorded(const emitter *e) {
    return is_checked(e) && !in_space(e, "local") && !in_space(e, "const");
}

/* Other threads write there on purpose. */
static bool is_strong(const emitter *e) {
    return emit_one_of(e, "volatile relaxed acquire release mmio sc") != NULL;
}

static uint32_t scope_of(const emitter *e) {
    return emit_has(e, "cta") ? PTX_BLOCK_SCOPE : 0;
}

static uint32_t order_of(const emitter *e) {
    const bool both = emit_one_of(e, "acq_rel sc") != NULL;
    return (both || emit_has(e, "acquire") ? PTX_ACQUIRE : 0) |
           (both || emit_has(e, "release") ? PTX_RELEASE : 0);
}

static uint32_t how_of(const emitter *e, uint32_t access) {
    return access | (is_strong(e) ? PTX_STRONG | scope_of(e) | order_of(e) : 0);
}

/* Opens a block with `p`, the address as a pointer to elements. */
static void open_access(emitter *e, const operand *address, const ptx_type *type) {
    emit(e, "{%s *const p = (%s *)%s;", type->c, type->c, emit_address(e, address, emit_space(e)));
}

void form_load(emitter *e, const statement *s) {
    const ptx_type *type = last_type(e);
    const uint32_t n = vector_of(e);
    if (s->n_operands < 2 || type->bytes == 0)
        emit_unknown(e);
    open_access(e, s->operands[1], type);
    if (is_recorded(e))
        emit(e, "READ(p, %u, %u, %s);", n * type->bytes, how_of(e, PTX_READS), emit_site(e));
    else if (is_checked(e))
        emit(e, "ALIGNED(p, %u, %s);", n * type->bytes, emit_site(e));
    if (n == 1) {
        emit_write(e, item(e, s->operands[0], 0, 1), type, "*p");
    } else { /* a register may be in the address and among the results */
        emit(e, "const %s q[] = {p[0]", type->c);
        for (uint32_t i = 1; i < n; ++i)
            emit(e, ", p[%u]", i);
        emit(e, "};");
        for (uint32_t i = 0; i < n; ++i)
            emit_write(e, item(e, s->operands[0], i, n), type, emit_text(e, "q[%u]", i));
    }
    if (is_strong(e))
        emit(e, "x->poll(%s);", emit_site(e));
    emit(e, "}");
}

void form_store(emitter *e, const statement *s) {
    const ptx_type *type = last_type(e);
    const uint32_t n = vector_of(e);
    if (s->n_operands < 2 || type->bytes == 0)
        emit_unknown(e);
    open_access(e, s->operands[0], type);
    if (is_recorded(e)) {
        emit(e, "WRITE(p, %u, %u, %s", n * type->bytes, how_of(e, PTX_WRITES), emit_site(e));
        for (uint32_t i = 0; i < n; ++i)
            emit(e, ", (%s)(%s)", type->c, emit_read(e, item(e, s->operands[1], i, n), type));
        emit(e, ");");
    } else if (is_checked(e)) {
        emit(e, "ALIGNED(p, %u, %s);", n * type->bytes, emit_site(e));
    }
    for (uint32_t i = 0; i < n; ++i)
        emit(e, "p[%u] = %s;", i, emit_read(e, item(e, s->operands[1], i, n), type));
    if (is_strong(e))
        emit(e, "x->progress();");
    emit(e, "}");
}

/* What an atomic leaves, from the old value `old` and the operand `b`. */
static const char *next_value(emitter *e, const ptx_type *type, const char *operation) {
    static const struct {
        const char *operation, *code;
    } integers[] = {{"add", "old + b"},
                    {"min", "old < b ? old : b"},
                    {"max", "old > b ? old : b"},
                    {"inc", "old >= b ? 0 : old + 1"},
                    {"dec", "old == 0 || old > b ? b : old - 1"},
                    {"and", "old & b"},
                    {"or", "old | b"},
                    {"xor", "old ^ b"},
                    {"exch", "b"}};
    const char *name = type->name;
    if (strcmp(operation, "exch") != 0) {
        if (type->class == CLASS_FLOAT && strcmp(operation, "add") == 0)
            return type->bytes == 4 ? "nan32(old + b)" : "old + b";
        const bool pair = strstr(name, "x2") != NULL;
        const char *half = pair ? emit_text(e, "%.*s", (int)strlen(name) - 2, name) : name;
        const char *call = strcmp(operation, "add") == 0
                               ? emit_text(e, "add_%s(%%s, %%s, false, false)", half)
                           : strcmp(operation, "min") == 0 || strcmp(operation, "max") == 0
                               ? emit_text(e, "choose_%s(%%s, %%s, %s, false, false, false)", half,
                                           operation[1] == 'a' ? "true" : "false")
                               : NULL;
        if (type->class == CLASS_SMALL && call != NULL) {
            const char *open = strstr(call, "%s");
            const int head = (int)(open - call);
            const char *rest = strstr(open + 2, "%s") + 2;
            return pair ? emit_text(e,
                                    "BOTH(%.*sHALF(old, 0), HALF(b, 0)%s, "
                                    "%.*sHALF(old, 1), HALF(b, 1)%s)",
                                    head, call, rest, head, call, rest)
                        : emit_text(e, "%.*sold, b%s", head, call, rest);
        }
        if (type->class == CLASS_FLOAT || type->class == CLASS_SMALL)
            emit_unknown(e);
    }
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; ++i)
        if (strcmp(integers[i].operation, operation) == 0)
            return integers[i].code;
    emit_unknown(e);
}

/* One that blocks of several processes may do at the same time (blocks.c). */
static bool is_concurrent(const emitter *e, const ptx_type *type, const char *operation) {
    return !in_space(e, "shared") && type->class != CLASS_FLOAT && type->class != CLASS_SMALL &&
           strstr("add and or xor min max", operation) != NULL;
}

/* Threads of a process run one at a time: a read and a write are atomic. */
void form_atomic(emitter *e, const statement *s) {
    const bool returns = strcmp(s->part[0], "atom") == 0;
    const ptx_type *type = last_type(e);
    const uint32_t n = vector_of(e), first = returns ? 1 : 0;
    const char *operation = emit_one_of(e, "add min max inc dec and or xor exch cas");
    const char *site = emit_site(e);
    const uint32_t how = PTX_READS | PTX_WRITES | PTX_STRONG | scope_of(e) | order_of(e);
    if (operation == NULL || s->n_operands < first + 2)
        emit_unknown(e);
    const bool compares = strcmp(operation, "cas") == 0;
    if (compares && (s->n_operands < first + 3 || n > 1))
        emit_unknown(e);
    emit(e, "{%s *const p = (%s *)%s;ALIGNED(p, %u, %s);", type->c, type->c,
         emit_address(e, s->operands[first], emit_space(e)), n * type->bytes, site);
    const bool concurrent = !compares && is_concurrent(e, type, operation);
    for (uint32_t i = 0; i < n; ++i) {
        emit(e, "{%s old = p[%u], next; const %s b = %s;", type->c, i, type->c,
             emit_read(e, item(e, s->operands[first + 1], i, n), type));
        if (compares)
            emit(e, "next = old == b ? %s : old;", emit_read(e, s->operands[first + 2], type));
        else if (!concurrent)
            emit(e, "next = %s;", next_value(e, type, operation));
        /* One that compares and fails only reads. */
        emit(e, "RECORD(p + %u, %u, %s, %s, %s);", i, type->bytes,
             compares ? emit_text(e, "old == b ? %u : %u", how | PTX_COMPARES,
                                  (how | PTX_COMPARES) & ~(uint32_t)PTX_WRITES)
                      : emit_text(e, "%u", how),
             compares ? "&b" : "0", site);
        if (concurrent)
            emit(e, "do next = %s; while (!SWAPPED(p + %u, old, next));",
                 next_value(e, type, operation), i);
        else
            emit(e, "p[%u] = next;", i);
        if (returns)
            emit_write(e, item(e, s->operands[0], i, n), type, "old");
        emit(e, "x->atomic_done(__builtin_memcmp(&old, &next, %u) != 0, %s);}", type->bytes, site);
    }
    emit(e, "}");
}

/* Of the fences between proxies only that of the asynchronous one orders anything here. */
void form_fence(emitter *e, const statement *s) {
    const bool membar = strcmp(s->part[0], "membar") == 0;
    const bool proxy = e->now->n_parts > 1 && strcmp(s->part[1], "proxy") == 0;
    const uint32_t order = membar ? PTX_ACQUIRE | PTX_RELEASE : order_of(e);
    if (proxy && emit_one_of(e, "async async::global async::shared::cta async::shared::cluster"))
        emit(e, "x->proxy_fence(%s);", emit_site(e));
    else
        emit(e, "x->fence(%u, %s);", proxy ? 0 : order | scope_of(e), emit_site(e));
}

/* cp.async [shared], [global], bytes{, valid | ignored}{, policy} */
void form_copy(emitter *e, const statement *s) {
    const bool hint = emit_has(e, "L2::cache_hint");
    const uint32_t n = s->n_operands - (hint ? 1 : 0);
    if (n < 3 || n > 4 || s->operands[2]->kind != OPERAND_INTEGER)
        emit_unknown(e);
    const int bytes = (int)s->operands[2]->value;
    const char *valid = emit_text(e, "%d", bytes);
    int64_t number;
    if (n == 4) {
        const operand *o = s->operands[3];
        const symbol *r = o->kind == OPERAND_NAME ? scope_find(s->scope, o->name, &number) : NULL;
        const bool ignores = r != NULL && r->type != NULL && r->type->class == CLASS_PRED;
        valid = ignores ? emit_text(e, "(%s) ? 0 : %d", emit_read(e, o, r->type), bytes)
                        : emit_text(e, "(int32_t)%s", emit_read(e, o, type_named("u32")));
    }
    emit(e, "x->copy(%s, %s, %d, %s, %s);", emit_address(e, s->operands[0], "shared"),
         emit_address(e, s->operands[1], "global"), bytes, valid, emit_site(e));
}

static uint32_t matrices_of(emitter *e) {
    if (!emit_has(e, "m8n8"))
        emit_unknown(e);
    return emit_has(e, "x1") ? 1 : emit_has(e, "x2") ? 2 : emit_has(e, "x4") ? 4 : 0;
}

void form_load_matrix(emitter *e, const statement *s) {
    const uint32_t n = matrices_of(e);
    if (s->n_operands != 2 || n == 0)
        emit_unknown(e);
    emit(e, "{uint32_t q[4];x->load_matrix(q, %u, %s, %s, %s);", n, emit_flag(e, "trans"),
         emit_address(e, s->operands[1], emit_space(e)), emit_site(e));
    for (uint32_t i = 0; i < n; ++i)
        emit_write(e, item(e, s->operands[0], i, n), type_named("b32"), emit_text(e, "q[%u]", i));
    emit(e, "}");
}

void form_store_matrix(emitter *e, const statement *s) {
    const uint32_t n = matrices_of(e);
    if (s->n_operands != 2 || n == 0)
        emit_unknown(e);
    emit(e, "{const uint32_t q[] = {");
    for (uint32_t i = 0; i < n; ++i)
        emit(e, "%s, ", emit_read(e, item(e, s->operands[1], i, n), type_named("b32")));
    emit(e, "};x->store_matrix(q, %u, %s, %s, %s);}", n, emit_flag(e, "trans"),
         emit_address(e, s->operands[0], emit_space(e)), emit_site(e));
}
