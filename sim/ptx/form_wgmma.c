/* wgmma.mma_async d, a, b, scale-d{, +-a, +-b{, transposed a, transposed b}} */
#include "sim/ptx/device/context.h"
#include "sim/ptx/emit.h"

#include <string.h>

enum { MOST_COLUMNS = 256 };

typedef struct kind {
    const char *sum, *type, *product;
    uint32_t k, words; /* registers that 8 columns take of the sums; two of f16 lie in one */
    bool signs, transposes;
} kind;

static const kind kinds[] = {
    {"f32", "bf16", "PTX_M16N8K16_BF16", 16, 4, true, true},
    {"f32", "f16", "PTX_M16N8K16_F16", 16, 4, true, true},
    {"f32", "tf32", "PTX_M16N8K8_TF32", 8, 4, true, false},
    {"f16", "f16", "PTX_M16N8K16_F16_F16", 16, 2, true, true},
    {"s32", "s8", "PTX_M16N8_INTEGERS", 32, 4, false, false},
    {"s32", "u8", "PTX_M16N8_INTEGERS", 32, 4, false, false},
};

static const kind *find_kind(emitter *e) {
    if (e->n_types != 3)
        emit_unknown(e);
    const bool integers = strcmp(e->types[0]->name, "s32") == 0;
    if (integers ? e->types[2]->bytes != 1 || e->types[2]->class == CLASS_BITS
                 : e->types[1] != e->types[2])
        emit_unknown(e);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        if (strcmp(e->types[0]->name, kinds[i].sum) == 0 &&
            strcmp(e->types[1]->name, kinds[i].type) == 0)
            return &kinds[i];
    emit_unknown(e);
}

/* Products of bytes have no odd number of 8 columns beyond 24. */
static uint32_t find_columns(emitter *e, const kind *k) {
    for (uint32_t n = 8; n <= MOST_COLUMNS; n += k->signs || n < 32 ? 8 : 16)
        if (emit_has(e, emit_text(e, "m64n%uk%u", n, k->k)))
            return n;
    emit_unknown(e);
}

/* Of bytes: which. */
static uint32_t integers_of(emitter *e) {
    return PTX_INTEGERS_K32 | (e->types[1]->name[0] == 'u' ? PTX_INTEGERS_UNSIGNED_A : 0) |
           (e->types[2]->name[0] == 'u' ? PTX_INTEGERS_UNSIGNED_B : 0) |
           (emit_has(e, "satfinite") ? PTX_INTEGERS_SATURATE : 0);
}

/* A constant that is one of two. */
static bool is_second(emitter *e, const operand *o, int64_t first, int64_t second) {
    if (o->kind != OPERAND_INTEGER || ((int64_t)o->value != first && (int64_t)o->value != second))
        emit_unknown(e);
    return (int64_t)o->value == second;
}

/* A register that wgmma takes was there at the last fence. */
static void check_fence(emitter *e, const operand *list, const char *unless) {
    uint8_t flow;
    emit(e, "if (%s(false", unless);
    for (uint32_t i = 0; i < list->n_items; ++i) {
        const char *name = emit_register(e, &list->items[i], &flow);
        if (name != NULL)
            emit(e, " | (s%s == fences)", name);
    }
    emit(e, ")) x->wgmma_unfenced(%s);", emit_site(e));
}

static void emit_sums(emitter *e, const statement *s, uint32_t n) {
    const operand *d = s->operands[0];
    if (d->kind != OPERAND_VECTOR || d->n_items != n)
        emit_unknown(e);
    emit(e, "uint32_t c[] = {");
    for (uint32_t i = 0; i < n; ++i)
        emit(e, "%s, ", emit_read(e, &d->items[i], type_named("b32")));
    emit(e, "};");
}

static void emit_a(emitter *e, const operand *a) {
    if (a->kind != OPERAND_VECTOR) {
        emit(e, "w.a = %s;", emit_read(e, a, type_named("u64")));
        return;
    }
    if (a->n_items != 4)
        emit_unknown(e);
    emit(e, "const uint32_t a[] = {");
    for (uint32_t i = 0; i < 4; ++i)
        emit(e, "%s, ", emit_read(e, &a->items[i], type_named("b32")));
    emit(e, "};w.registers = a;");
}

/* The registers of a are in use from now on. */
static void use_a(emitter *e, const operand *a) {
    uint8_t flow;
    for (uint32_t i = 0; a->kind == OPERAND_VECTOR && i < a->n_items; ++i) {
        const char *name = emit_register(e, &a->items[i], &flow);
        if (name != NULL)
            emit(e, "g%s = x->wgmma_issued();", name);
    }
}

void form_wgmma(emitter *e, const statement *s) {
    const kind *k = find_kind(e);
    const uint32_t n = find_columns(e, k), sums = n / 8 * k->words;
    const bool registers = s->n_operands > 1 && s->operands[1]->kind == OPERAND_VECTOR;
    const uint32_t transposes = k->transposes ? (registers ? 1 : 2) : 0;
    if (s->n_operands != (k->signs ? 6 : 4) + transposes)
        emit_unknown(e);
    const bool a_turned = transposes == 2 && is_second(e, s->operands[6], 0, 1);
    const bool b_turned = transposes > 0 && is_second(e, s->operands[5 + transposes], 0, 1);
    emit(e,
         "{ptx_wgmma w = {.product = %s, .integers = %u, .columns = %u, .b = %s, .negate_a = %d, "
         ".negate_b = %d, .transposed_a = %d, .transposed_b = %d, .zero = !(%s)};",
         k->product, k->signs ? 0 : integers_of(e), n,
         emit_read(e, s->operands[2], type_named("u64")),
         k->signs && is_second(e, s->operands[4], 1, -1),
         k->signs && is_second(e, s->operands[5], 1, -1), a_turned, b_turned,
         emit_read(e, s->operands[3], type_named("pred")));
    check_fence(e, s->operands[0], "!w.zero && ");
    if (registers)
        check_fence(e, s->operands[1], "");
    emit_a(e, s->operands[1]);
    emit_sums(e, s, sums);
    emit(e, "x->wgmma(&w, c, %s);", emit_site(e));
    for (uint32_t i = 0; i < sums; ++i)
        emit_write(e, &s->operands[0]->items[i], type_named("b32"), emit_text(e, "c[%u]", i));
    use_a(e, s->operands[1]);
    emit(e, "}");
}

static void settle_register(emitter *e, const symbol *r, int64_t i) {
    const char *name =
        r->count > 0 ? emit_text(e, "r%d_%d", r->id, (int)i) : emit_text(e, "r%d", r->id);
    const bool floating = r->type->class == CLASS_FLOAT || r->lean[i] > 0;
    if (!r->used[i] || (r->flow[i] & FLOW_SUM) == 0)
        return;
    if (floating)
        emit(e, "%s = float_of(result(x, bits32(%s)));", name, name);
    else
        emit(e, "%s = (%s)result(x, (uint32_t)%s);", name, r->type->c, name);
}

static void settle_scope(emitter *e, const scope *s) {
    for (const symbol *r = s->first; r != NULL; r = r->next)
        for (int64_t i = 0;
             r->kind == SYMBOL_REGISTER && r->vector == 0 && i < (r->count > 0 ? r->count : 1); ++i)
            settle_register(e, r, i);
}

/* Tags in registers become what they stand for. */
void form_wgmma_wait(emitter *e, const statement *s) {
    if (s->n_operands != 1 || s->operands[0]->kind != OPERAND_INTEGER)
        emit_unknown(e);
    emit(e, "x->wgmma_wait(%u, %s);", (uint32_t)s->operands[0]->value, emit_site(e));
    settle_scope(e, e->function->scope);
    for (const scope *in = e->function->scopes; in != NULL; in = in->next)
        settle_scope(e, in);
    emit(e, "x->wgmma_taken();");
}
