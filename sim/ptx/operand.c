/* Operands as C expressions. */
#include "sim/ptx/emit.h"

#include <inttypes.h>
#include <string.h>

/* Registers that PTX defines. `index`: by a component, x, y, z. */
static const struct {
    const char *name, *code, *type;
} special[] = {
    {"%tid", "x->thread->%c", "u32"},
    {"%ntid", "x->block_shape.%c", "u32"},
    {"%ctaid", "x->block->%c", "u32"},
    {"%nctaid", "x->grid_shape.%c", "u32"},
    {"%clusterid", "(x->block->%c / x->cluster_shape.%c)", "u32"},
    {"%nclusterid", "(x->grid_shape.%c / x->cluster_shape.%c)", "u32"},
    {"%cluster_ctaid", "IN_CLUSTER(%c)", "u32"},
    {"%cluster_nctaid", "x->cluster_shape.%c", "u32"},
    {"%cluster_ctarank", "CLUSTER_RANK", "u32"},
    {"%cluster_nctarank", "CLUSTER_SIZE", "u32"},
    {"%is_explicit_cluster", "(CLUSTER_SIZE > 1)", "pred"},
    {"%laneid", "LANE", "u32"},
    {"%warpid", "((uint32_t)*x->thread_number >> 5)", "u32"},
    {"%nwarpid", "((x->block_shape.x * x->block_shape.y * x->block_shape.z + 31) / 32)", "u32"},
    {"%lanemask_eq", "(1u << LANE)", "u32"},
    {"%lanemask_lt", "((1u << LANE) - 1)", "u32"},
    {"%lanemask_le", "((2u << LANE) - 1)", "u32"},
    {"%lanemask_gt", "~((2u << LANE) - 1)", "u32"},
    {"%lanemask_ge", "~((1u << LANE) - 1)", "u32"},
    {"%smid", "0u", "u32"},
    {"%nsmid", "2u", "u32"},
    {"%gridid", "UINT64_C(1)", "u64"},
    /* What the driver tells cooperative groups (cooperative_groups/details/driver_abi.h). */
    {"%envreg0", "0u", "u32"},
    {"%envreg1", "(uint32_t)((uintptr_t)x->grid_barrier >> 32)", "u32"},
    {"%envreg2", "(uint32_t)(uintptr_t)x->grid_barrier", "u32"},
    {"%clock", "(uint32_t)x->clock()", "u32"},
    {"%clock_hi", "(uint32_t)(x->clock() >> 32)", "u32"},
    {"%clock64", "x->clock()", "u64"},
    {"%globaltimer", "x->clock()", "u64"},
    {"%globaltimer_lo", "(uint32_t)x->clock()", "u32"},
    {"%globaltimer_hi", "(uint32_t)(x->clock() >> 32)", "u32"},
    {"%dynamic_smem_size", "x->dynamic_bytes", "u32"},
    {"%total_smem_size", "x->shared_bytes", "u32"},
    {"%aggr_smem_size", "x->shared_bytes", "u32"},
    {"%reserved_smem_offset_begin", "0u", "u32"},
    {"%reserved_smem_offset_end", "0u", "u32"},
    {"WARP_SZ", "32u", "u32"},
};

/* The type of the C variable that holds a register, and its value as another type. */
typedef struct holder {
    const char *name;
    const ptx_type *type;
    bool any_nan; /* ORIGIN_ARITHMETIC */
    uint8_t flow;
} holder;

static const char *convert(emitter *e, const char *value, const ptx_type *from,
                           const ptx_type *to) {
    const bool from_float = from->class == CLASS_FLOAT, to_float = to->class == CLASS_FLOAT;
    if (to->class == CLASS_PRED)
        return from->class == CLASS_PRED ? value : emit_text(e, "((%s) != 0)", value);
    if (from == to)
        return value;
    if (from_float && to_float)
        emit_unknown(e);
    if (from_float)
        return emit_text(e, "(%s)bits%u(%s)", to->c, 8 * from->bytes, value);
    if (to_float)
        return emit_text(e, to->bytes == 4 ? "float_of((uint32_t)(%s))" : "double_of(%s)", value);
    return emit_text(e, "(%s)(%s)", to->c, value);
}

static bool is_f32(const ptx_type *type) {
    return type->class == CLASS_FLOAT && type->bytes == 4;
}

/* The variable of a register, or of one element of a vector register. */
static bool find_register(emitter *e, const operand *o, holder *h) {
    int64_t number;
    const symbol *s = scope_find(e->now->scope, o->name, &number);
    if (s == NULL || s->kind != SYMBOL_REGISTER)
        return false;
    const bool floating = s->type->class == CLASS_BITS && s->vector == 0 &&
                          (s->type->bytes == 4 || s->type->bytes == 8) &&
                          s->lean[number < 0 ? 0 : number] > 0;
    h->type = floating ? type_named(s->type->bytes == 4 ? "f32" : "f64") : s->type;
    h->any_nan = is_f32(h->type) && s->vector == 0 &&
                 s->origin[number < 0 ? 0 : number] == ORIGIN_ARITHMETIC;
    h->flow = s->vector > 0 ? 0 : s->flow[number < 0 ? 0 : number];
    if (s->vector > 0 && o->component == 0)
        emit_unknown(e);
    if (s->vector > 0)
        h->name = emit_text(e, "r%d_%c", s->id, o->component);
    else
        h->name =
            number < 0 ? emit_text(e, "r%d", s->id) : emit_text(e, "r%d_%d", s->id, (int)number);
    return true;
}

const char *emit_register(emitter *e, const operand *o, uint8_t *flow) {
    holder h;
    if (o->kind != OPERAND_NAME || strcmp(o->name, "_") == 0 || !find_register(e, o, &h))
        return NULL;
    *flow = h.flow;
    return h.name;
}

/* A sum that is under way may be moved, and added to by wgmma; no more. */
static const char *read_sum(emitter *e, const holder *h, const char *value) {
    if ((h->flow & FLOW_SUM) == 0 || is_plain_move(e->now) || is_wgmma(e->now))
        return value;
    if (h->type->class == CLASS_FLOAT)
        return emit_text(e, "float_of(settled(x, bits32(%s), %s))", value, emit_site(e));
    return emit_text(e, "(%s)settled(x, (uint32_t)%s, %s)", h->type->c, value, emit_site(e));
}

static const char *bits_of(emitter *e, const holder *h) {
    return emit_text(e, h->type->class == CLASS_FLOAT ? "bits32(%s)" : "(uint32_t)%s", h->name);
}

/* Before a register gets a value: what it held, or was read for, may be under way. */
static void check_write(emitter *e, const holder *h, bool moves_sum) {
    if ((h->flow & FLOW_RESULT) != 0 && !moves_sum)
        emit(e, "unsettled(x, %s, %s);", bits_of(e, h), emit_site(e));
    if ((h->flow & FLOW_FACTOR) != 0)
        emit(e, "if (g%s) {x->wgmma_factor_written(g%s, %s);g%s = 0;}", h->name, h->name,
             emit_site(e), h->name);
}

/* And behind it: at which wgmma.fence it has the value; a constant has it at any. */
static void note_write(emitter *e, const holder *h) {
    uint8_t flow;
    if ((h->flow & FLOW_TAKEN) == 0)
        return;
    const operand *from = is_plain_move(e->now) ? e->now->operands[1] : NULL;
    const char *name = from != NULL ? emit_register(e, from, &flow) : NULL;
    if (is_wgmma(e->now) || (from != NULL && name == NULL))
        emit(e, "s%s = 0;", h->name);
    else if (name != NULL && (flow & FLOW_TAKEN) != 0)
        emit(e, "s%s = s%s;", h->name, name);
    else
        emit(e, "s%s = fences;", h->name);
}

static bool moves_sum(emitter *e) {
    uint8_t flow;
    return is_wgmma(e->now) ||
           (is_plain_move(e->now) && emit_register(e, e->now->operands[1], &flow) != NULL &&
            (flow & FLOW_SUM) != 0);
}

static const char *read_special(emitter *e, const operand *o, const ptx_type *type) {
    for (size_t i = 0; i < sizeof special / sizeof special[0]; ++i)
        if (strcmp(special[i].name, o->name) == 0) {
            const char *at = strstr(special[i].code, "%c");
            const char *code = special[i].code;
            if (at != NULL && (o->component == 0 || o->component == 'w'))
                emit_unknown(e);
            for (; at != NULL; at = strstr(code, "%c"))
                code = emit_text(e, "%.*s%c%s", (int)(at - code), code, o->component, at + 2);
            return convert(e, code, type_named(special[i].type), type);
        }
    emit_unknown(e);
}

/* Where a variable lies, as its state space counts. */
static const char *variable(emitter *e, const symbol *s, int64_t offset, bool host) {
    switch (s->kind) {
    case SYMBOL_SHARED: {
        const uint64_t at = (s->external ? e->parts->dynamic : e->parts->shared[s->id]);
        return emit_text(e, host ? "(shared + %" PRIu64 ")" : "UINT64_C(%" PRIu64 ")",
                         at + (uint64_t)offset);
    }
    case SYMBOL_GLOBAL:
        return emit_text(e, "%s(x->globals[%d] + %" PRId64 ")", host ? "" : "(uint64_t)(uintptr_t)",
                         s->index, offset);
    case SYMBOL_PARAMETER:
        if (e->function->entry)
            return emit_text(e, "%s(parameters + %" PRIu64 ")",
                             host ? "(char *)" : "(uint64_t)(uintptr_t)",
                             s->offset + (uint64_t)offset);
        return emit_text(e, "%s(arguments[%d] + %" PRId64 ")", host ? "" : "(uint64_t)(uintptr_t)",
                         s->index + (s->result ? 0 : e->function->n_results), offset);
    case SYMBOL_LOCAL:
        return emit_text(e, "%s(v%d + %" PRId64 ")", host ? "" : "(uint64_t)(uintptr_t)", s->id,
                         offset);
    case SYMBOL_FUNCTION:
        if (host || s->function == NULL || !s->function->defined)
            emit_unknown(e);
        return emit_text(e, "UINT64_C(%" PRIu64 ")", function_address(s->function));
    default:
        emit_unknown(e);
    }
}

static const char *read_number(emitter *e, const operand *o, const ptx_type *type) {
    uint64_t value = o->value;
    float narrow = 0;
    double wide = 0;
    if (o->kind == OPERAND_INTEGER && type->class == CLASS_FLOAT) {
        wide = (double)(int64_t)value;
        narrow = (float)wide;
    } else if (o->kind == OPERAND_FLOAT && o->single) {
        const uint32_t bits = (uint32_t)value;
        memcpy(&narrow, &bits, sizeof narrow);
        wide = (double)narrow;
    } else if (o->kind == OPERAND_FLOAT) {
        memcpy(&wide, &value, sizeof wide);
        narrow = (float)wide;
        if (type->bytes == 4)
            value = 0;
    }
    if (type->class == CLASS_FLOAT || (o->kind == OPERAND_FLOAT && !o->single)) {
        if (type->bytes == 4)
            memcpy(&value, &narrow, sizeof narrow);
        else
            memcpy(&value, &wide, sizeof wide);
    }
    if (type->class == CLASS_FLOAT)
        return type->bytes == 4 ? emit_text(e, "float_of(0x%08xu)", (uint32_t)value)
                                : emit_text(e, "double_of(UINT64_C(0x%" PRIx64 "))", value);
    if (type->class == CLASS_PRED)
        return value != 0 ? "true" : "false";
    return emit_text(e, "(%s)UINT64_C(0x%" PRIx64 ")", type->c, value);
}

const char *emit_read(emitter *e, const operand *o, const ptx_type *type) {
    holder h;
    int64_t number;
    const char *value;
    if (o->kind == OPERAND_INTEGER || o->kind == OPERAND_FLOAT) {
        value = read_number(e, o, type);
    } else if (o->kind != OPERAND_NAME) {
        emit_unknown(e);
    } else if (find_register(e, o, &h)) {
        if (o->offset != 0)
            emit_unknown(e);
        value = h.any_nan && !e->any_nan ? emit_text(e, "nan32(%s)", h.name) : h.name;
        value = read_sum(e, &h, value);
        value = convert(e, value, h.type, type);
    } else {
        const symbol *s = scope_find(e->now->scope, o->name, &number);
        value = s == NULL ? read_special(e, o, type)
                          : convert(e, variable(e, s, o->offset, false), type_named("u64"), type);
    }
    if (o->negated)
        return emit_text(e, "!(%s)", value);
    return o->minus ? emit_text(e, "-(%s)", value) : value;
}

void emit_write(emitter *e, const operand *o, const ptx_type *type, const char *value) {
    holder h;
    if (o->kind != OPERAND_NAME)
        emit_unknown(e);
    if (strcmp(o->name, "_") == 0) {
        emit(e, "(void)(%s);", value);
        return;
    }
    if (!find_register(e, o, &h))
        emit_unknown(e);
    if (h.flow != 0)
        check_write(e, &h, moves_sum(e));
    if (is_f32(type) && is_arithmetic(e->now, type) && !h.any_nan)
        value = emit_text(e, "nan32(%s)", value);
    if (type->class == CLASS_PRED && h.type->class == CLASS_PRED)
        emit(e, "%s = %s;", h.name, value);
    else if (type == h.type && type->class == CLASS_FLOAT)
        emit(e, "%s = %s;", h.name, value);
    else if (type->class == CLASS_FLOAT || h.type->class == CLASS_PRED || type->class == CLASS_PRED)
        emit(e, "%s = %s;", h.name, convert(e, value, type, h.type));
    else
        emit(e, "%s = %s;", h.name,
             convert(e, emit_text(e, "(%s)(%s)", type->c, value), type, h.type));
    note_write(e, &h);
}

const char *emit_read_flushed(emitter *e, const operand *o, const ptx_type *type) {
    const char *value = emit_read(e, o, type);
    return is_f32(type) && emit_has(e, "ftz") ? emit_text(e, "ftz(%s)", value) : value;
}

const char *emit_flushed(emitter *e, const ptx_type *type, const char *value) {
    if (is_f32(type) && emit_has(e, "ftz"))
        value = emit_text(e, "ftz(%s)", value);
    if (type->class == CLASS_FLOAT && emit_has(e, "sat"))
        value = emit_text(e, "sat%u(%s)", 8 * type->bytes, value);
    return value;
}

const char *emit_space(const emitter *e) {
    const char *space = emit_one_of(e, "shared shared::cta shared::cluster global const local param"
                                       " param::entry param::func");
    if (space == NULL)
        return "";
    return strcmp(space, "shared::cluster") == 0 ? space
           : strncmp(space, "shared", 6) == 0    ? "shared"
           : strncmp(space, "param", 5) == 0     ? "param"
                                                 : space;
}

const char *emit_address(emitter *e, const operand *o, const char *space) {
    const bool shared = strcmp(space, "shared") == 0;
    const bool cluster = strcmp(space, "shared::cluster") == 0;
    if (o->kind != OPERAND_ADDRESS || o->n_items != 1)
        emit_unknown(e);
    const operand *base = &o->items[0];
    int64_t number;
    if (base->kind == OPERAND_INTEGER)
        return emit_text(e, shared ? "(shared + (uint32_t)%s)" : "(char *)(uintptr_t)%s",
                         emit_read(e, base, type_named("u64")));
    if (base->kind != OPERAND_NAME)
        emit_unknown(e);
    const symbol *s = scope_find(e->now->scope, base->name, &number);
    if (s == NULL)
        emit_unknown(e);
    if (s->kind != SYMBOL_REGISTER)
        return variable(e, s, base->offset, true);
    operand plain = *base;
    plain.offset = 0;
    if (cluster)
        return emit_text(e,
                         "x->cluster_address((uint32_t)(%s + (uint32_t)INT64_C(%" PRId64 ")), %s)",
                         emit_read(e, &plain, type_named("u32")), base->offset, emit_site(e));
    if (shared)
        return emit_text(e, "(shared + (uint32_t)(%s + (uint32_t)INT64_C(%" PRId64 ")))",
                         emit_read(e, &plain, type_named("u32")), base->offset);
    return emit_text(e, "((char *)(uintptr_t)%s + INT64_C(%" PRId64 "))",
                     emit_read(e, &plain, type_named("u64")), base->offset);
}
