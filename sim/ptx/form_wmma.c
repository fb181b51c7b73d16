/*
 * wmma.load, wmma.mma and wmma.store, as ptxas makes them for sm_80 and later: each product is one
 * or two of mma.sync, of tf32 twice as many, with 4 k. A fragment is the fragments of those, one
 * after the other. With n = 32 the transposed matrices are multiplied. A register beyond those
 * repeats the first ones.
 */
#include "sim/ptx/device/context.h"
#include "sim/ptx/emit.h"

#include <string.h>

typedef struct shape {
    const char *name;
    uint32_t m, n, k;
    uint32_t left, right; /* tiles of 16 rows or 8 columns; f64: of 8 */
    bool turned;          /* b is on the left */
} shape;

static const shape shapes[] = {
    {"m16n16k16", 16, 16, 16, 1, 2, false}, {"m32n8k16", 32, 8, 16, 2, 1, false},
    {"m8n32k16", 8, 32, 16, 2, 1, true},    {"m16n16k8", 16, 16, 8, 1, 2, false},
    {"m8n8k4", 8, 8, 4, 1, 1, false},
};

/* By the type of a and b. */
typedef struct kind {
    const char *type, *sum, *product;
    uint32_t bytes, left, right, sums; /* registers of a tile */
    uint32_t k, steps;                 /* along k, a product each */
    bool bytes_of_integers, pads;      /* pads: a fragment always has 8 registers */
} kind;

static const kind kinds[] = {
    {"f16", "f32", "PTX_M16N8K16_F16", 2, 4, 2, 4, 16, 1, false, true},
    {"f16", "f16", "PTX_M16N8K16_F16_F16", 2, 4, 2, 2, 16, 1, false, true},
    {"bf16", "f32", "PTX_M16N8K16_BF16", 2, 4, 2, 4, 16, 1, false, false},
    {"tf32", "f32", "PTX_M16N8K4_TF32", 4, 4, 2, 4, 8, 2, false, false},
    {"s8", "s32", "PTX_M16N8_INTEGERS", 1, 2, 1, 4, 16, 1, true, false},
    {"u8", "s32", "PTX_M16N8_INTEGERS", 1, 2, 1, 4, 16, 1, true, false},
    {"f64", "f64", "PTX_M8N8K4_F64", 8, 1, 1, 2, 4, 1, false, false},
};

/* One of the three matrices: how a lane holds it, and how memory does. */
typedef struct matrix {
    const ptx_type *element, *in_register;
    uint32_t tiles, registers, all; /* of a tile; with those that repeat */
    uint32_t parts;                 /* elements in a register */
    uint32_t rows, columns;
    bool sums, on_left, turned; /* turned: its rows are the product's columns */
} matrix;

static const shape *find_shape(emitter *e) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; ++i)
        if (emit_has(e, shapes[i].name))
            return &shapes[i];
    emit_unknown(e);
}

static const kind *find_kind(emitter *e, const shape *s, const char *type, const char *sum) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
        if (strcmp(kinds[i].type, type) == 0 && kinds[i].k == s->k &&
            (sum == NULL || strcmp(kinds[i].sum, sum) == 0))
            return &kinds[i];
    emit_unknown(e);
}

static matrix factor_of(const shape *s, const kind *k, bool is_b) {
    const bool on_left = is_b == s->turned;
    matrix m = {.element = type_named(k->bytes == 2   ? "b16"
                                      : k->bytes == 1 ? "b8"
                                      : k->bytes == 4 ? "b32"
                                                      : "f64"),
                .in_register = type_named(k->bytes == 8 ? "f64" : "b32"),
                .tiles = on_left ? s->left : s->right,
                .registers = on_left ? k->left : k->right,
                .parts = k->bytes < 4 ? 4 / k->bytes : 1,
                .rows = is_b ? s->k : s->m,
                .columns = is_b ? s->n : s->k,
                .on_left = on_left,
                .turned = is_b};
    m.all = k->pads ? 8 : m.tiles * m.registers;
    return m;
}

static matrix sums_of(emitter *e, const shape *s, const ptx_type *type) {
    const bool halves = strcmp(type->name, "f16") == 0;
    matrix m = {.element = halves ? type_named("b16") : type,
                .in_register = halves ? type_named("b32") : type,
                .tiles = s->left * s->right,
                .registers = type->bytes == 4 ? 4 : 2,
                .parts = halves ? 2 : 1,
                .rows = s->m,
                .columns = s->n,
                .sums = true,
                .on_left = s->left > 1,
                .turned = s->turned};
    if (!halves && strcmp(type->name, "f32") != 0 && strcmp(type->name, "s32") != 0 &&
        strcmp(type->name, "f64") != 0)
        emit_unknown(e);
    m.all = m.tiles * m.registers;
    return m;
}

/* The product's line that an element of a lane belongs to, as a C expression of g = lane / 4 and
 * t = lane % 4: a row, of the right factor a column; and its place in it. */
typedef struct element {
    const char *line, *place;
} element;

static element element_of(emitter *e, const matrix *m, uint32_t tile, uint32_t i, uint32_t part) {
    if (m->sums) {
        const uint32_t at = i * m->parts + part;
        return (element){emit_text(e, "(g + %u)", 8 * (at / 2) + (m->on_left ? 16 * tile : 0)),
                         emit_text(e, "(2 * t + %u)", at % 2 + (m->on_left ? 0 : 8 * tile))};
    }
    const uint32_t row = m->on_left ? i % 2 : 0, chunk = m->on_left ? i / 2 : i;
    return (element){emit_text(e, "(g + %u)", m->on_left ? 16 * tile + 8 * row : 8 * tile),
                     emit_text(e, "(%u * t + %u)", m->parts, part + 4 * m->parts * chunk)};
}

/* "m + .. * ld + ..": where it lies; *along: the next part lies behind it. */
static const char *address_of(emitter *e, const matrix *m, uint32_t at, uint32_t part,
                              bool *along) {
    const element one = element_of(e, m, at / m->registers, at % m->registers, part);
    const bool by_rows = emit_has(e, "row");
    *along = by_rows != m->turned;
    return emit_text(e, "m + (%s * ld + %s)", *along ? one.line : one.place,
                     *along ? one.place : one.line);
}

/* Opens a block with m, the matrix's first element; ld, elements from line to line; g and t. All
 * lanes of the warp are there, as `.aligned` says. PTX asks for lines that begin at multiples of a
 * fragment's bytes, the guide of CUDA C++ for 16. */
static void open_access(emitter *e, const matrix *m, const operand *address, const operand *ld) {
    const uint32_t bytes = m->all * m->in_register->bytes, least = bytes < 16 ? bytes : 16;
    const char *site = emit_site(e);
    emit(e, "{%s *const m = (%s *)%s; const int64_t ld = %s;", m->element->c, m->element->c,
         emit_address(e, address, emit_space(e)),
         ld != NULL ? emit_text(e, "(uint32_t)%s", emit_read(e, ld, type_named("u32")))
                    : emit_text(e, "%u", emit_has(e, "row") ? m->columns : m->rows));
    emit(e, "const uint32_t g = LANE / 4, t = LANE %% 4;(void)g;(void)t;");
    emit(e, "x->meet(PTX_BALLOT, 0xffffffffu, 0, 0, 0, %s);", site);
    emit(e, "ALIGNED(m, %u, %s);ALIGNED(m + ld, %u, %s);", least, site, least, site);
}

static const operand *list_of(emitter *e, const operand *o, uint32_t n) {
    if (o->kind != OPERAND_VECTOR || o->n_items != n)
        emit_unknown(e);
    return o->items;
}

static matrix matrix_of(emitter *e, const statement *s, const shape *h) {
    const char *which = s->n_parts > 2 ? s->part[2] : "";
    if (e->n_types != 1)
        emit_unknown(e);
    if (strcmp(which, "c") == 0 || strcmp(which, "d") == 0)
        return sums_of(e, h, e->types[0]);
    return factor_of(h, find_kind(e, h, e->types[0]->name, NULL), strcmp(which, "b") == 0);
}

/* wmma.load r, [address]{, stride} */
void form_wmma_load(emitter *e, const statement *s) {
    const matrix m = matrix_of(e, s, find_shape(e));
    if (s->n_operands != 2 && s->n_operands != 3)
        emit_unknown(e);
    const operand *to = list_of(e, s->operands[0], m.all);
    const char *site = emit_site(e);
    const uint32_t n = m.tiles * m.registers;
    open_access(e, &m, s->operands[1], s->n_operands == 3 ? s->operands[2] : NULL);
    emit(e, "%s q[%u];", m.in_register->c, n);
    for (uint32_t i = 0; i < n; ++i) {
        bool along;
        const char *first = address_of(e, &m, i, 0, &along);
        if (m.parts == 1 || along) {
            emit(e, "{const %s *const p = (const %s *)(%s);READ(p, %u, PTX_READS, %s);q[%u] = *p;}",
                 m.in_register->c, m.in_register->c, first, m.in_register->bytes, site, i);
            continue;
        }
        emit(e, "q[%u] = 0;", i);
        for (uint32_t part = 0; part < m.parts; ++part)
            emit(e,
                 "{const %s *const p = %s;READ(p, %u, PTX_READS, %s);q[%u] |= (uint32_t)*p << %u;}",
                 m.element->c, address_of(e, &m, i, part, &along), m.element->bytes, site, i,
                 8 * m.element->bytes * part);
    }
    for (uint32_t i = 0; i < m.all; ++i)
        emit_write(e, &to[i], m.in_register, emit_text(e, "q[%u]", i % n));
    emit(e, "}");
}

/* wmma.store [address], r{, stride} */
void form_wmma_store(emitter *e, const statement *s) {
    const matrix m = matrix_of(e, s, find_shape(e));
    if (s->n_operands != 2 && s->n_operands != 3)
        emit_unknown(e);
    const operand *from = list_of(e, s->operands[1], m.all);
    const char *site = emit_site(e);
    open_access(e, &m, s->operands[0], s->n_operands == 3 ? s->operands[2] : NULL);
    for (uint32_t i = 0; i < m.all; ++i) {
        const char *value = emit_read(e, &from[i], m.in_register);
        bool along;
        const char *first = address_of(e, &m, i, 0, &along);
        if (m.parts == 1 || along) {
            emit(e, "{%s *const p = (%s *)(%s), v = %s;WRITE(p, %u, PTX_WRITES, %s, v);*p = v;}",
                 m.in_register->c, m.in_register->c, first, value, m.in_register->bytes, site);
            continue;
        }
        for (uint32_t part = 0; part < m.parts; ++part)
            emit(e,
                 "{%s *const p = %s, v = (%s)(%s >> %u);WRITE(p, %u, PTX_WRITES, %s, v);*p = v;}",
                 m.element->c, address_of(e, &m, i, part, &along), m.element->c, value,
                 8 * m.element->bytes * part, m.element->bytes, site);
    }
    emit(e, "}");
}

static void emit_registers(emitter *e, const char *name, const matrix *m, const operand *list,
                           uint32_t tile, const char *rest) {
    emit(e, "%s %s[] = {", m->in_register->c, name);
    for (uint32_t i = 0; i < m->registers; ++i)
        emit(e, "%s, ", emit_read(e, &list[tile * m->registers + i], m->in_register));
    emit(e, "%s};", rest);
}

/* What the model's product of integers reads behind a's registers. */
static const char *integers_of(emitter *e, const shape *h) {
    const bool a = strcmp(e->types[1]->name, "u8") == 0, b = strcmp(e->types[2]->name, "u8") == 0;
    return emit_text(e, "0, 0, %d",
                     ((h->turned ? b : a) ? PTX_INTEGERS_UNSIGNED_A : 0) |
                         ((h->turned ? a : b) ? PTX_INTEGERS_UNSIGNED_B : 0) |
                         (emit_has(e, "satfinite") ? PTX_INTEGERS_SATURATE : 0));
}

/* wmma.mma d, a, b, c, with the types of d and c where a and b are f16, else of d, a, b and c. */
void form_wmma_multiply(emitter *e, const statement *s) {
    const shape *h = find_shape(e);
    const bool short_form = e->n_types == 2;
    if (s->n_operands != 4 || (!short_form && e->n_types != 4) ||
        e->types[0] != e->types[e->n_types - 1])
        emit_unknown(e);
    const char *const sum = e->types[0]->name;
    const kind *k = find_kind(e, h, short_form ? "f16" : e->types[1]->name, sum),
               *kind_of_b = short_form ? k : find_kind(e, h, e->types[2]->name, sum);
    /* Bytes alone may be of two types, signed and unsigned, and saturate. */
    if (!k->bytes_of_integers && (kind_of_b != k || emit_has(e, "satfinite")))
        emit_unknown(e);
    const matrix a = factor_of(h, k, false), b = factor_of(h, k, true),
                 sums = sums_of(e, h, e->types[0]);
    const operand *d = list_of(e, s->operands[0], sums.all),
                  *c = list_of(e, s->operands[3], sums.all),
                  *of_a = list_of(e, s->operands[1], a.all),
                  *of_b = list_of(e, s->operands[2], b.all);
    emit(e, "{");
    for (uint32_t tile = 0; tile < sums.tiles; ++tile) {
        const uint32_t left = tile % h->left, right = tile % h->right;
        emit(e, "%s d%u[%u];{", sums.in_register->c, tile, sums.registers);
        emit_registers(e, "a", h->turned ? &b : &a, h->turned ? of_b : of_a, left,
                       k->bytes_of_integers ? integers_of(e, h) : "");
        emit_registers(e, "b", h->turned ? &a : &b, h->turned ? of_a : of_b, right, "");
        emit_registers(e, "c", &sums, c, tile, "");
        for (uint32_t step = 0; step < k->steps; ++step)
            emit(e, "x->multiply(%s, a + %u, b + %u, c, %s);", k->product, 2 * step, step,
                 emit_site(e));
        emit(e, "__builtin_memcpy(d%u, c, sizeof c);}", tile);
    }
    for (uint32_t i = 0; i < sums.all; ++i)
        emit_write(e, &d[i], sums.in_register,
                   emit_text(e, "d%u[%u]", i / sums.registers, i % sums.registers));
    emit(e, "}");
}
