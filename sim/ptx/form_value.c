/* mov, setp, set, cvt. */
#include "sim/ptx/emit.h"

#include <string.h>

static const ptx_type *type_at(emitter *e, uint32_t i) {
    if (i >= e->n_types)
        emit_unknown(e);
    return e->types[i];
}

/* ---- mov */

/* mov.b64 {a, b}, c: the first is the low part. */
static void unpack(emitter *e, const operand *to, const operand *from, const ptx_type *type) {
    const uint32_t n = to->n_items, bytes = type->bytes / (n > 0 ? n : 1);
    const ptx_type *part = type_bits(bytes), *whole = type_bits(type->bytes);
    if (part == NULL || whole == NULL)
        emit_unknown(e);
    emit(e, "{const %s q = %s;", whole->c, emit_read(e, from, whole));
    for (uint32_t i = 0; i < n; ++i)
        emit_write(e, &to->items[i], part, emit_text(e, "q >> %u", 8 * bytes * i));
    emit(e, "}");
}

static void pack(emitter *e, const operand *to, const operand *from, const ptx_type *type) {
    const uint32_t n = from->n_items, bytes = type->bytes / (n > 0 ? n : 1);
    const ptx_type *part = type_bits(bytes), *whole = type_bits(type->bytes);
    const char *value = "0";
    if (part == NULL || whole == NULL)
        emit_unknown(e);
    for (uint32_t i = 0; i < n; ++i)
        value = emit_text(e, "%s | (%s)%s << %u", value, whole->c,
                          emit_read(e, &from->items[i], part), 8 * bytes * i);
    emit_write(e, to, whole, value);
}

void form_move(emitter *e, const statement *s) {
    const ptx_type *type = type_at(e, 0);
    if (s->n_operands != 2)
        emit_unknown(e);
    if (s->operands[0]->kind == OPERAND_VECTOR)
        unpack(e, s->operands[0], s->operands[1], type);
    else if (s->operands[1]->kind == OPERAND_VECTOR)
        pack(e, s->operands[0], s->operands[1], type);
    else
        emit_write(e, s->operands[0], type, emit_read(e, s->operands[1], type));
}

/* ---- setp, set */

/* One element's value for a comparison. */
static const char *comparable(emitter *e, const ptx_type *type, const char *value) {
    if (type->class != CLASS_SMALL)
        return value;
    return emit_text(e, "wide_%s(%s, %s)", type->name, value, emit_flag(e, "ftz"));
}

static const char *compared(emitter *e, const ptx_type *type, const char *a, const char *b) {
    static const struct {
        const char *name, *sign;
        bool unordered;
    } all[] = {{"eq", "==", false}, {"ne", "!=", false}, {"lt", "<", false},  {"le", "<=", false},
               {"gt", ">", false},  {"ge", ">=", false}, {"lo", "<", false},  {"ls", "<=", false},
               {"hi", ">", false},  {"hs", ">=", false}, {"equ", "==", true}, {"neu", "!=", true},
               {"ltu", "<", true},  {"leu", "<=", true}, {"gtu", ">", true},  {"geu", ">=", true}};
    const bool floating = type->class == CLASS_FLOAT || type->class == CLASS_SMALL;
    a = comparable(e, type, a);
    b = comparable(e, type, b);
    if (emit_has(e, "num"))
        return emit_text(e, "!__builtin_isunordered(%s, %s)", a, b);
    if (emit_has(e, "nan"))
        return emit_text(e, "(__builtin_isunordered(%s, %s) != 0)", a, b);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        if (!emit_has(e, all[i].name))
            continue;
        if (floating && all[i].unordered && all[i].sign[0] != '!')
            return emit_text(e, "((%s) %s (%s) || __builtin_isunordered(%s, %s))", a, all[i].sign,
                             b, a, b);
        if (floating && !all[i].unordered && all[i].sign[0] == '!')
            return emit_text(e, "__builtin_islessgreater(%s, %s)", a, b);
        return emit_text(e, "((%s) %s (%s))", a, all[i].sign, b);
    }
    emit_unknown(e);
}

static const char *combined(emitter *e, const char *value, const char *with) {
    const char *sign = emit_has(e, "and") ? "&" : emit_has(e, "or") ? "|" : "^";
    return with == NULL ? value : emit_text(e, "(bool)(%s) %s (bool)(%s)", value, sign, with);
}

/* The type of the halves of f16x2 and bf16x2; NULL: of no pair. */
static const ptx_type *half_of(const ptx_type *type) {
    const char *name = type->name;
    return strcmp(name, "f16x2") == 0    ? type_named("f16")
           : strcmp(name, "bf16x2") == 0 ? type_named("bf16")
                                         : NULL;
}

static const char *halves_compared(emitter *e, const statement *s, const ptx_type *pair,
                                   const ptx_type *half, uint32_t i) {
    return compared(e, half, emit_text(e, "HALF(%s, %u)", emit_read(e, s->operands[1], pair), i),
                    emit_text(e, "HALF(%s, %u)", emit_read(e, s->operands[2], pair), i));
}

static void compare_pairs(emitter *e, const statement *s, const ptx_type *half, const char *with) {
    const ptx_type *pair = type_at(e, e->n_types - 1), *pred = type_named("pred");
    emit(e, "{const bool low = %s, high = %s;",
         combined(e, halves_compared(e, s, pair, half, 0), with),
         combined(e, halves_compared(e, s, pair, half, 1), with));
    if (strcmp(s->part[0], "setp") == 0) {
        if (s->operands[0]->kind != OPERAND_PAIR)
            emit_unknown(e);
        emit_write(e, &s->operands[0]->items[0], pred, "low");
        emit_write(e, &s->operands[0]->items[1], pred, "high");
    } else {
        const ptx_type *to = type_at(e, 0);
        const char *one = strcmp(to->name, "f16x2") == 0    ? "0x3c00"
                          : strcmp(to->name, "bf16x2") == 0 ? "0x3f80"
                                                            : "0xffff";
        emit_write(e, s->operands[0], type_named("b32"),
                   emit_text(e, "BOTH(low ? %s : 0, high ? %s : 0)", one, one));
    }
    emit(e, "}");
}

static void write_set(emitter *e, const statement *s, const char *value) {
    const ptx_type *to = type_at(e, 0);
    if (to->class == CLASS_FLOAT)
        emit_write(e, s->operands[0], to, emit_text(e, "(%s) ? 1.0f : 0.0f", value));
    else if (to->class == CLASS_SMALL)
        emit_write(e, s->operands[0], to,
                   emit_text(e, "(%s) ? %s : 0", value, to->name[0] == 'b' ? "0x3f80" : "0x3c00"));
    else
        emit_write(e, s->operands[0], to, emit_text(e, "(%s) ? -1 : 0", value));
}

void form_compare(emitter *e, const statement *s) {
    const bool combines = emit_one_of(e, "and or xor") != NULL, set = s->part[0][3] == '\0';
    const ptx_type *type = type_at(e, e->n_types - 1), *pred = type_named("pred");
    if (s->n_operands != (combines ? 4 : 3) || e->n_types != (set ? 2 : 1))
        emit_unknown(e);
    const char *const with = combines ? emit_read(e, s->operands[3], pred) : NULL;
    const ptx_type *half = half_of(type);
    if (half != NULL) {
        compare_pairs(e, s, half, with);
        return;
    }
    const char *value = compared(e, type, emit_read_flushed(e, s->operands[1], type),
                                 emit_read_flushed(e, s->operands[2], type));
    if (set) {
        write_set(e, s, combined(e, value, with));
    } else if (s->operands[0]->kind == OPERAND_PAIR) {
        const char *not_value = emit_text(e, "!(%s)", value);
        emit(e, "{const bool yes = %s, no = %s;", combined(e, value, with),
             combined(e, not_value, with));
        emit_write(e, &s->operands[0]->items[0], pred, "yes");
        emit_write(e, &s->operands[0]->items[1], pred, "no");
        emit(e, "}");
    } else {
        emit_write(e, s->operands[0], pred, combined(e, value, with));
    }
}
