/* cvt. */
#include "sim/ptx/emit.h"

#include <string.h>

static bool is_floating(const ptx_type *t) {
    return t->class == CLASS_FLOAT || t->class == CLASS_SMALL;
}

/* The format of a type, as device/small.h calls it; of a pair, that of its halves. */
static const char *format_of(emitter *e, const ptx_type *t) {
    static const char *const names[][2] = {
        {"f16", "F16"},     {"bf16", "BF16"},   {"tf32", "TF32"},  {"f16x2", "F16"},
        {"bf16x2", "BF16"}, {"e4m3x2", "E4M3"}, {"e5m2x2", "E5M2"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(names[i][0], t->name) == 0)
            return names[i][1];
    emit_unknown(e);
}

static bool is_pair(const ptx_type *t) {
    const size_t n = strlen(t->name);
    return n > 2 && strcmp(t->name + n - 2, "x2") == 0;
}

static bool rounds_to_whole(const emitter *e) {
    return emit_one_of(e, "rni rzi rmi rpi") != NULL;
}

/* A floating-point operand as fp64, rounded to a whole number, clamped, made positive. */
static const char *wide(emitter *e, const operand *o, const ptx_type *from) {
    const char *value = emit_read_flushed(e, o, from);
    if (from->class == CLASS_SMALL)
        value = emit_text(e, "(double)float_of_%s(%s)", from->name, value);
    else
        value = emit_text(e, "(double)(%s)", value);
    if (rounds_to_whole(e))
        value = emit_text(e, "whole(%s, %s)", value, emit_rounding(e));
    if (emit_has(e, "relu"))
        value = emit_text(e, "relu(%s)", value);
    return value;
}

static const char *to_integer(emitter *e, const operand *o, const ptx_type *to,
                              const ptx_type *from) {
    const bool long_ones = to->bytes == 8 || from->bytes == 8;
    return emit_text(e, "to_%s(%s, %s)", to->name, wide(e, o, from), long_ones ? "true" : "false");
}

static const char *from_integer(emitter *e, const operand *o, const ptx_type *to,
                                const ptx_type *from) {
    const char *value = emit_read(e, o, from), *mode = emit_rounding(e);
    if (to->class == CLASS_SMALL)
        return emit_text(e, "narrow(odd_of(%s), %s, %s, false)", value, format_of(e, to), mode);
    if (strcmp(mode, "RN") == 0)
        return emit_text(e, "(%s)(%s)", to->c, value);
    return emit_text(e, to->bytes == 8 ? "to_double(%s, %s)" : "to_float(odd_of(%s), %s)", value,
                     mode);
}

/* Between floating-point formats. */
static const char *reformat(emitter *e, const operand *o, const ptx_type *to,
                            const ptx_type *from) {
    const char *mode = rounds_to_whole(e) ? "RN" : emit_rounding(e);
    const bool plain = strcmp(mode, "RN") == 0 && !rounds_to_whole(e) && !emit_has(e, "relu") &&
                       !emit_has(e, "sat") && !emit_has(e, "satfinite");
    if (to->class == CLASS_SMALL && plain && strcmp(from->name, "f32") == 0 &&
        (strcmp(to->name, "f16") == 0 || strcmp(to->name, "bf16") == 0))
        return emit_text(e, "%s_of(%s)", to->name, emit_read_flushed(e, o, from));
    if (to->class == CLASS_FLOAT && plain && from->class == CLASS_SMALL && to->bytes == 4 &&
        (strcmp(from->name, "f16") == 0 || strcmp(from->name, "bf16") == 0))
        return emit_text(e, "%s(float_of_%s(%s))", from->name[0] == 'f' ? "nan32" : "", from->name,
                         emit_read(e, o, from));
    const char *value = wide(e, o, from);
    /* A signaling NaN keeps its bits where no compiler widens it on the way. */
    if (strcmp(to->name, "tf32") == 0)
        return emit_text(e, "tf32_of(%s%s, %s, %s)", emit_has(e, "relu") ? "(float)" : "",
                         emit_has(e, "relu") ? value : emit_read_flushed(e, o, from), mode,
                         emit_flag(e, "satfinite"));
    if (to->class == CLASS_SMALL)
        return emit_text(e, "%s(%s(%s), %s, %s, %s)", from->bytes == 8 ? "narrow_f64" : "narrow",
                         emit_has(e, "sat") ? "sat64" : "", value, format_of(e, to), mode,
                         emit_flag(e, "satfinite"));
    if (to->bytes == 4 && from->bytes == 8 && emit_has(e, "ftz"))
        return emit_text(e, "ftz_of(to_float(%s, %s), %s, %s)", value, mode, value, mode);
    if (to->bytes == 4) /* fp64 keeps the bits of a NaN */
        return emit_text(e, "%s(to_float(%s, %s))", from->bytes == 8 ? "" : "nan32", value, mode);
    return from->bytes == 4 && emit_has(e, "ftz") ? emit_text(e, "(double)nan32((float)%s)", value)
                                                  : value;
}

/* d = {a, b}: a is the upper half. From a pair of another format: half by half. */
static void convert_pair(emitter *e, const statement *s, const ptx_type *to, const ptx_type *from) {
    const char *format = format_of(e, to), *mode = emit_rounding(e);
    const unsigned bits = 4 * to->bytes;
    const char *half[2];
    for (uint32_t i = 0; i < 2; ++i) {
        const char *value;
        if (!is_pair(from) && s->n_operands == 3)
            value = wide(e, s->operands[2 - i], from);
        else if (is_pair(from) && s->n_operands == 2)
            value = emit_text(e, "%s(widen((uint32_t)%s >> %u & %s, %s))",
                              emit_has(e, "relu") ? "relu" : "", emit_read(e, s->operands[1], from),
                              4 * from->bytes * i, from->bytes == 4 ? "0xffff" : "0xff",
                              format_of(e, from));
        else
            emit_unknown(e);
        half[i] =
            emit_text(e, "narrow(%s, %s, %s, %s)", value, format, mode, emit_flag(e, "satfinite"));
    }
    emit_write(e, s->operands[0], to, emit_text(e, "%s | %s << %u", half[0], half[1], bits));
}

void form_convert(emitter *e, const statement *s) {
    if (e->n_types != 2 || s->n_operands < 2)
        emit_unknown(e);
    const ptx_type *to = e->types[0], *from = e->types[1];
    const operand *o = s->operands[1];
    const char *value;
    if (is_pair(to)) {
        convert_pair(e, s, to, from);
        return;
    }
    if (s->n_operands != 2 || is_pair(from))
        emit_unknown(e);
    if (is_floating(from) && is_floating(to))
        value = reformat(e, o, to, from);
    else if (is_floating(from))
        value = to_integer(e, o, to, from);
    else if (is_floating(to))
        value = from_integer(e, o, to, from);
    else if (emit_has(e, "sat"))
        value = emit_text(e, "within_%s(%s)", to->name, emit_read(e, o, from));
    else
        value = emit_text(e, "(%s)%s", to->c, emit_read(e, o, from));
    emit_write(e, s->operands[0], to, emit_flushed(e, to, value));
}
