/* mma.sync: the products that the model of the tensor cores knows (sim/mma.c). */
#include "sim/ptx/device/context.h"
#include "sim/ptx/emit.h"

#include <string.h>

typedef struct product {
    const char *shape, *d, *a, *name; /* d: the type of d and c; f16 lies in pairs */
    uint32_t n_a, n_b, n_c;
    const char *element; /* the type of a and b in registers */
} product;

static const product products[] = {
    {"m16n8k16", "f32", "bf16", "PTX_M16N8K16_BF16", 4, 2, 4, "b32"},
    {"m16n8k16", "f32", "f16", "PTX_M16N8K16_F16", 4, 2, 4, "b32"},
    {"m16n8k8", "f32", "tf32", "PTX_M16N8K8_TF32", 4, 2, 4, "b32"},
    {"m16n8k8", "f32", "bf16", "PTX_M16N8K8_BF16", 2, 1, 4, "b32"},
    {"m16n8k8", "f32", "f16", "PTX_M16N8K8_F16", 2, 1, 4, "b32"},
    {"m16n8k4", "f32", "tf32", "PTX_M16N8K4_TF32", 2, 1, 4, "b32"},
    {"m16n8k16", "f16", "f16", "PTX_M16N8K16_F16_F16", 4, 2, 2, "b32"},
    {"m16n8k8", "f16", "f16", "PTX_M16N8K8_F16_F16", 2, 1, 2, "b32"},
    {"m8n8k4", "f64", "f64", "PTX_M8N8K4_F64", 1, 1, 2, "f64"},
    {"m16n8k4", "f64", "f64", "PTX_M16N8K4_F64", 2, 1, 4, "f64"},
    {"m16n8k8", "f64", "f64", "PTX_M16N8K8_F64", 4, 2, 4, "f64"},
    {"m16n8k16", "f64", "f64", "PTX_M16N8K16_F64", 8, 4, 4, "f64"},
};

static const product *find(emitter *e) {
    if (e->n_types != 4 || emit_has(e, "satfinite") || e->types[1] != e->types[2] ||
        e->types[0] != e->types[3] || !emit_has(e, "row") || !emit_has(e, "col"))
        emit_unknown(e);
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i)
        if (emit_has(e, products[i].shape) && strcmp(e->types[0]->name, products[i].d) == 0 &&
            strcmp(e->types[1]->name, products[i].a) == 0)
            return &products[i];
    emit_unknown(e);
}

/* "const uint32_t a[] = {..};" */
static void emit_fragment(emitter *e, const char *name, const operand *o, uint32_t n,
                          const ptx_type *type) {
    if (o->kind != OPERAND_VECTOR || o->n_items != n)
        emit_unknown(e);
    emit(e, "%s %s[] = {", type->c, name);
    for (uint32_t i = 0; i < n; ++i)
        emit(e, "%s, ", emit_read(e, &o->items[i], type));
    emit(e, "};");
}

static bool is_byte(const ptx_type *type) {
    return strcmp(type->name, "s8") == 0 || strcmp(type->name, "u8") == 0;
}

/* Of bytes, with sums in 32 bits; false: it has other types. */
static bool multiply_integers(emitter *e, const statement *s) {
    const ptx_type *word = type_named("b32"), *sum = type_named("s32");
    const bool wide = emit_has(e, "m16n8k32");
    if (e->n_types != 4 || e->types[0] != sum || e->types[3] != sum || !is_byte(e->types[1]) ||
        !is_byte(e->types[2]))
        return false;
    if ((!wide && !emit_has(e, "m16n8k16")) || !emit_has(e, "row") || !emit_has(e, "col") ||
        s->n_operands != 4 || s->operands[0]->kind != OPERAND_VECTOR ||
        s->operands[0]->n_items != 4)
        emit_unknown(e);
    emit(e, "{");
    emit_fragment(e, "most", s->operands[1], wide ? 4 : 2, word);
    emit_fragment(e, "b", s->operands[2], wide ? 2 : 1, word);
    emit_fragment(e, "c", s->operands[3], 4, sum);
    emit(e, "const uint32_t a[] = {most[0], most[1], %s, %d};", wide ? "most[2], most[3]" : "0, 0",
         (wide ? PTX_INTEGERS_K32 : 0) |
             (e->types[1]->name[0] == 'u' ? PTX_INTEGERS_UNSIGNED_A : 0) |
             (e->types[2]->name[0] == 'u' ? PTX_INTEGERS_UNSIGNED_B : 0) |
             (emit_has(e, "satfinite") ? PTX_INTEGERS_SATURATE : 0));
    emit(e, "x->multiply(PTX_M16N8_INTEGERS, a, b, c, %s);", emit_site(e));
    for (uint32_t i = 0; i < 4; ++i)
        emit_write(e, &s->operands[0]->items[i], sum, emit_text(e, "c[%u]", i));
    emit(e, "}");
    return true;
}

void form_multiply(emitter *e, const statement *s) {
    if (multiply_integers(e, s))
        return;
    const product *p = find(e);
    const ptx_type *element = type_named(p->element),
                   *sum = type_named(strcmp(p->d, "f16") == 0 ? "b32" : p->d);
    if (s->n_operands != 4 || s->operands[0]->kind != OPERAND_VECTOR ||
        s->operands[0]->n_items != p->n_c)
        emit_unknown(e);
    emit(e, "{");
    emit_fragment(e, "a", s->operands[1], p->n_a, element);
    emit_fragment(e, "b", s->operands[2], p->n_b, element);
    emit_fragment(e, "c", s->operands[3], p->n_c, sum);
    emit(e, "x->multiply(%s, a, b, c, %s);", p->name, emit_site(e));
    for (uint32_t i = 0; i < p->n_c; ++i)
        emit_write(e, &s->operands[0]->items[i], sum, emit_text(e, "c[%u]", i));
    emit(e, "}");
}
