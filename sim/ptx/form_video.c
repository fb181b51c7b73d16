/* vadd2, vset4 and their like: on two or four parts of a word. Those on one part of each operand,
 * selectors of parts and masks are not known. */
#include "sim/ptx/emit.h"

#include <string.h>

static const char *operation_of(emitter *e, const char *name) {
    static const char *const all[][2] = {{"vadd", "VIDEO_ADD"},   {"vsub", "VIDEO_SUB"},
                                         {"vavrg", "VIDEO_AVRG"}, {"vabsdiff", "VIDEO_ABSDIFF"},
                                         {"vmin", "VIDEO_MIN"},   {"vmax", "VIDEO_MAX"}};
    static const char *const tests[][2] = {{"eq", "VIDEO_EQ"}, {"ne", "VIDEO_NE"},
                                           {"lt", "VIDEO_LT"}, {"le", "VIDEO_LE"},
                                           {"gt", "VIDEO_GT"}, {"ge", "VIDEO_GE"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        if (strlen(all[i][0]) == strlen(name) - 1 && memcmp(name, all[i][0], strlen(name) - 1) == 0)
            return all[i][1];
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i)
        if (emit_has(e, tests[i][0]))
            return tests[i][1];
    emit_unknown(e);
}

static const char *is_signed(emitter *e, const ptx_type *type) {
    if (strcmp(type->name, "u32") != 0 && strcmp(type->name, "s32") != 0)
        emit_unknown(e);
    return type->name[0] == 's' ? "true" : "false";
}

/* v....d.a.b{.sat}{.add} d, a, b, c; vset has the types of a and b alone. */
void form_video(emitter *e, const statement *s) {
    const ptx_type *word = type_named("u32");
    const char *name = s->part[0];
    const uint32_t first = strncmp(name, "vset", 4) == 0 ? 0 : 1;
    if (s->n_operands != 4 || e->n_types != first + 2)
        emit_unknown(e);
    emit_write(e, s->operands[0], word,
               emit_text(e, "video(%s, %c, %s, %s, %s, %s, %s, %s, %s, %s)", operation_of(e, name),
                         name[strlen(name) - 1], is_signed(e, e->types[0]),
                         is_signed(e, e->types[first]), is_signed(e, e->types[first + 1]),
                         emit_flag(e, "sat"), emit_flag(e, "add"),
                         emit_read(e, s->operands[1], word), emit_read(e, s->operands[2], word),
                         emit_read(e, s->operands[3], word)));
}
