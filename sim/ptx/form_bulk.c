/* cp.async.bulk.tensor, cp.reduce.async.bulk.tensor: copies of boxes of tensors. */
#include "sim/ptx/emit.h"

#include <string.h>

/* [map, {x, y, ...}]: "const int32_t at[] = {..};"; returns the map's address. */
static const char *emit_box(emitter *e, const operand *o, uint32_t rank) {
    operand map = *o;
    map.n_items = 1;
    if (o->kind != OPERAND_ADDRESS || o->n_items != 2 || o->items[1].kind != OPERAND_VECTOR ||
        o->items[1].n_items != rank)
        emit_unknown(e);
    emit(e, "const int32_t at[] = {");
    for (uint32_t i = 0; i < rank; ++i)
        emit(e, "%s, ", emit_read(e, &o->items[1].items[i], type_named("s32")));
    emit(e, "};");
    return emit_address(e, &map, "");
}

static const char *reduction_of(emitter *e) {
    static const char *const names[][2] = {
        {"add", "PTX_REDUCE_ADD"}, {"min", "PTX_REDUCE_MIN"}, {"max", "PTX_REDUCE_MAX"},
        {"and", "PTX_REDUCE_AND"}, {"or", "PTX_REDUCE_OR"},   {"xor", "PTX_REDUCE_XOR"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (emit_has(e, names[i][0]))
            return names[i][1];
    emit_unknown(e);
}

/* [shared], [map, {..}], [mbarrier]{, mask}{, policy}; [map, {..}], [shared]{, policy} */
void form_tensor_copy(emitter *e, const statement *s) {
    const char *dimensions = emit_one_of(e, "1d 2d 3d 4d 5d");
    const bool loads = emit_has(e, "mbarrier::complete_tx::bytes");
    const bool reduces = strcmp(s->part[1], "reduce") == 0;
    const uint32_t least = loads ? 3 : 2, policy = emit_has(e, "L2::cache_hint");
    const uint32_t mask = emit_has(e, "multicast::cluster");
    const char *other =
        emit_one_of(e, "im2col im2col_no_offs im2col::w im2col::w::128 tile::gather4 "
                       "tile::scatter4 cta_group::1 cta_group::2");
    if (dimensions == NULL || other != NULL || s->n_operands != least + policy + mask ||
        (!loads && !emit_has(e, "bulk_group")))
        emit_unknown(e);
    const uint32_t rank = (uint32_t)(dimensions[0] - '0');
    emit(e, "{");
    const char *map = emit_box(e, s->operands[loads ? 1 : 0], rank);
    if (loads) {
        const char *to = emit_address(e, s->operands[0], "shared::cluster");
        const char *barrier = emit_address(e, s->operands[2], "shared::cluster");
        emit(e, mask ? "x->tensor_load_to_all(" : "x->tensor_load(");
        emit(e, "%s, %s, %u, at, %s, ", to, map, rank, barrier);
        if (mask)
            emit(e, "%s, ", emit_read(e, s->operands[3], type_named("u16")));
        emit(e, "%s);}", emit_site(e));
    } else {
        emit(e, "x->tensor_store(%s, %u, at, %s, %s, %s);}", map, rank,
             emit_address(e, s->operands[1], "shared"), reduces ? reduction_of(e) : "-1",
             emit_site(e));
    }
}
