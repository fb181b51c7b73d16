/* tex, tld4, suld.b, sust.b: of images of one to three dimensions and of cubes, in layers too. */
#include "sim/ptx/emit.h"

#include <string.h>

/* What an instruction says of its image. Lists of three coordinates and of layers in two dimensions
 * have an item more, which says nothing. */
typedef struct geometry {
    const char *name;
    uint32_t dimensions, items;
    bool layered, cube;
} geometry;

static const geometry *emit_geometry(emitter *e) {
    static const geometry all[] = {
        {"1d", 1, 1, false, false},  {"2d", 2, 2, false, false}, {"3d", 3, 4, false, false},
        {"a1d", 1, 2, true, false},  {"a2d", 2, 4, true, false}, {"cube", 2, 4, false, true},
        {"acube", 2, 4, true, true},
    };
    const char *name = emit_one_of(e, "1d 2d 3d a1d a2d cube acube");
    for (size_t i = 0; name != NULL && i < sizeof all / sizeof all[0]; ++i)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    emit_unknown(e);
}

/* [object, {layer, x, y, ...}]: "ptx_fetch f = {..};"; returns the object. A cube's coordinates are
 * three. `level`: NULL: the first. */
static const char *emit_place(emitter *e, const operand *o, bool floats, const operand *level) {
    const geometry *g = emit_geometry(e);
    if (o->kind != OPERAND_ADDRESS || o->n_items != 2 || o->items[0].kind != OPERAND_NAME ||
        o->items[1].kind != OPERAND_VECTOR || o->items[1].n_items != g->items ||
        (g->cube && !floats))
        emit_unknown(e);
    const operand *at = o->items[1].items;
    emit(e,
         "const ptx_fetch f = {.dimensions = %u, .layered = %d, .cube = %d, .whole = %d, .%s = {",
         g->dimensions, g->layered, g->cube, !floats, floats ? "at" : "index");
    for (uint32_t d = 0; d < g->dimensions + g->cube; ++d)
        emit(e, "%s, ", emit_read(e, &at[d + g->layered], type_named(floats ? "f32" : "s32")));
    emit(e, "}, .layer = %s, .level = %s};",
         g->layered ? emit_read(e, &at[0], type_named("u32")) : "0",
         level != NULL ? emit_read(e, level, type_named(floats ? "f32" : "s32")) : "0");
    return emit_read(e, &o->items[0], type_named("u64"));
}

/* d{|p}: four registers, and whether all that was read is there. */
static const operand *emit_results(emitter *e, const statement *s, const operand **resident) {
    const operand *d = s->n_operands > 0 ? s->operands[0] : NULL;
    *resident = d != NULL && d->kind == OPERAND_PAIR ? &d->items[1] : NULL;
    if (*resident != NULL)
        d = &d->items[0];
    if (d == NULL || d->kind != OPERAND_VECTOR || d->n_items != 4 || !emit_has(e, "v4") ||
        e->n_types != 2 || e->types[0]->bytes != 4)
        emit_unknown(e);
    return d;
}

static void write_results(emitter *e, const operand *d, const operand *resident) {
    for (uint32_t i = 0; i < 4; ++i)
        emit_write(e, &d->items[i], type_named("b32"), emit_text(e, "q[%u]", i));
    if (resident != NULL)
        emit_write(e, resident, type_named("pred"), "true");
    emit(e, "}");
}

/* tex{.level}.2d.v4.f32.f32 d{|p}, [object, {..}]{, level} */
void form_texture(emitter *e, const statement *s) {
    const bool level = emit_has(e, "level");
    const operand *resident, *d = emit_results(e, s, &resident);
    if (s->n_operands != 2u + level || emit_has(e, "grad"))
        emit_unknown(e);
    const bool floats = strcmp(e->types[1]->name, "f32") == 0;
    if (!floats && strcmp(e->types[1]->name, "s32") != 0)
        emit_unknown(e);
    emit(e, "{uint32_t q[4];");
    const char *object = emit_place(e, s->operands[1], floats, level ? s->operands[2] : NULL);
    emit(e, "x->texture(%s, &f, q, %s);", object, emit_site(e));
    write_results(e, d, resident);
}

/* tld4.r.2d.v4.f32.f32 d{|p}, [object, {x, y}] */
void form_gather(emitter *e, const statement *s) {
    const operand *resident, *d = emit_results(e, s, &resident);
    static const char channels[] = "rgba";
    const char *channel = emit_one_of(e, "r g b a");
    if (s->n_operands != 2 || channel == NULL || emit_one_of(e, "2d a2d") == NULL ||
        strcmp(e->types[1]->name, "f32") != 0)
        emit_unknown(e);
    emit(e, "{uint32_t q[4];");
    const char *object = emit_place(e, s->operands[1], true, NULL);
    emit(e, "x->gather(%s, &f, %u, q, %s);", object,
         (unsigned)(strchr(channels, channel[0]) - channels), emit_site(e));
    write_results(e, d, resident);
}

/* suld.b.2d{.v2}.b32.trap {..}, [object, {..}]; sust.b.2d{.v2}.b32.trap [object, {..}], {..} */
void form_surface(emitter *e, const statement *s) {
    const bool loads = strcmp(s->part[0], "suld") == 0;
    const uint32_t n = emit_has(e, "v2") ? 2 : emit_has(e, "v4") ? 4 : 1;
    const char *outside = emit_one_of(e, "trap clamp zero");
    if (s->n_operands != 2 || e->n_types != 1 || outside == NULL)
        emit_unknown(e);
    const operand *data = s->operands[loads ? 0 : 1];
    if (data->kind != OPERAND_VECTOR || data->n_items != n)
        emit_unknown(e);
    const ptx_type *type = e->types[0];
    const char *site = emit_site(e);
    emit(e, "{");
    const char *object = emit_place(e, s->operands[loads ? 1 : 0], false, NULL);
    emit(e, "%s *const p = (%s *)x->surface(%s, &f, %u, PTX_OUTSIDE_%s, %s);", type->c, type->c,
         object, n * type->bytes,
         strcmp(outside, "trap") == 0    ? "TRAP"
         : strcmp(outside, "clamp") == 0 ? "CLAMP"
                                         : "ZERO",
         site);
    if (!loads) {
        emit(e, "if (p != 0) {%s written[] = {", type->c);
        for (uint32_t i = 0; i < n; ++i)
            emit(e, "%s, ", emit_read(e, &data->items[i], type));
        emit(e, "};RECORD(p, %u, PTX_WRITES, written, %s);", n * type->bytes, site);
        emit(e, "__builtin_memcpy(p, written, sizeof written);}}");
        return;
    }
    emit(e, "if (p != 0) {RECORD(p, %u, PTX_READS, 0, %s);}", n * type->bytes, site);
    for (uint32_t i = 0; i < n; ++i)
        emit_write(e, &data->items[i], type, emit_text(e, "(p != 0 ? p[%u] : 0)", i));
    emit(e, "}");
}
