/* Which row an instruction is, and its template filled in. */
#include "sim/ptx/table.h"

#include <string.h>

/* The n-th word of a list; false behind the last. */
static bool word_at(const char *list, uint32_t n, const char **word, size_t *length) {
    for (;;) {
        list += strspn(list, " ");
        *length = strcspn(list, " ");
        *word = list;
        if (*length == 0)
            return false;
        if (n-- == 0)
            return true;
        list += *length;
    }
}

static bool is_word(const char *word, size_t n, const char *text) {
    return strlen(text) == n && memcmp(word, text, n) == 0;
}

static bool listed(const char *list, const char *text) {
    const char *word;
    size_t n;
    for (uint32_t i = 0; word_at(list, i, &word, &n); ++i)
        if (is_word(word, n, text))
            return true;
    return false;
}

static uint32_t words(const char *list) {
    const char *word;
    size_t n;
    uint32_t count = 0;
    while (word_at(list, count, &word, &n))
        ++count;
    return count;
}

/* "u32.s32" are the types, in their order. */
static bool sequence_fits(const emitter *e, const char *sequence, size_t length) {
    const char *end = sequence + length;
    for (uint32_t i = 0; i < e->n_types; ++i) {
        const size_t n = strlen(e->types[i]->name);
        if ((size_t)(end - sequence) < n || memcmp(sequence, e->types[i]->name, n) != 0)
            return false;
        sequence += n;
        if (i + 1 < e->n_types) {
            if (sequence == end || *sequence++ != '.')
                return false;
        }
    }
    return sequence == end;
}

static bool types_fit(const emitter *e, const instruction_row *r) {
    const char *word;
    size_t n;
    if (r->types == NULL)
        return true;
    for (uint32_t i = 0; word_at(r->types, i, &word, &n); ++i)
        if (sequence_fits(e, word, n))
            return true;
    return r->types[0] == '\0' && e->n_types == 0;
}

/* The part that a word of a row's name stands for, apart from those in `taken`. The first word is
 * the first part; ptxas takes the others in any order, and so do programs: `vote.ballot.sync`. */
static uint32_t part_of(const statement *s, const char *word, size_t n, uint64_t taken) {
    uint32_t i = 0;
    while (i < s->n_parts && ((taken >> i & 1) != 0 || !is_word(word, n, s->part[i])))
        ++i;
    return taken == 0 && i > 0 ? s->n_parts : i;
}

/* All parts but types: those of the name, the rest optional. */
static bool parts_fit(const statement *s, const instruction_row *r) {
    uint64_t taken = 0;
    for (const char *name = r->name, *end; name != NULL; name = *end == '.' ? end + 1 : NULL) {
        end = name + strcspn(name, ".");
        const uint32_t i = part_of(s, name, (size_t)(end - name), taken);
        if (i == s->n_parts)
            return false;
        taken |= UINT64_C(1) << i;
    }
    for (uint32_t i = 1; i < s->n_parts; ++i)
        if ((taken >> i & 1) == 0 && type_named(s->part[i]) == NULL &&
            strcmp(r->optional, "*") != 0 && !listed(r->optional, s->part[i]))
            return false;
    return true;
}

static void collect_types(emitter *e, const statement *s) {
    e->n_types = 0;
    for (uint32_t i = 1; i < s->n_parts; ++i) {
        const ptx_type *type = type_named(s->part[i]);
        if (type != NULL && e->n_types < sizeof e->types / sizeof e->types[0])
            e->types[e->n_types++] = type;
    }
}

static const ptx_type *wide(const ptx_type *t) {
    static const char *const names[][2] = {
        {"u16", "u32"}, {"s16", "s32"}, {"u32", "u64"}, {"s32", "s64"}, {"f32", "f64"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(t->name, names[i][0]) == 0)
            return type_named(names[i][1]);
    return t;
}

static const ptx_type *operand_type(const emitter *e, const char *word, size_t n) {
    const ptx_type *last = e->n_types > 0 ? e->types[e->n_types - 1] : NULL;
    const ptx_type *type = NULL;
    if (is_word(word, n, "t"))
        type = last;
    else if (is_word(word, n, "T"))
        type = e->n_types > 0 ? e->types[0] : NULL;
    else if (is_word(word, n, "w") && last != NULL)
        type = wide(last);
    else if (is_word(word, n, "b") && last != NULL)
        type = type_bits(last->bytes);
    else if (is_word(word, n, "B") && last != NULL)
        type = type_bits(e->types[0]->bytes);
    else
        type = type_find(word, n);
    return type;
}

static const char *read_operand(emitter *e, const operand *o, const char *word, size_t n) {
    if (word[0] == '[') {
        const char *space = emit_text(e, "%.*s", (int)(n - 2), word + 1);
        return emit_address(e, o, n > 2 ? space : emit_space(e));
    }
    if (word[0] == '#') {
        if (o->kind != OPERAND_INTEGER)
            emit_unknown(e);
        return emit_read(e, o, type_named("s32"));
    }
    const ptx_type *type = operand_type(e, word, n);
    if (type == NULL)
        emit_unknown(e);
    return emit_read_flushed(e, o, type);
}

static const char *code_for(emitter *e, const statement *s, const instruction_row *r, char what) {
    const ptx_type *last = e->n_types > 0 ? e->types[e->n_types - 1] : type_named("b32");
    const ptx_type *first = e->n_types > 0 ? e->types[0] : last;
    const char *word;
    size_t n;
    switch (what) {
    case 't':
        return last->name;
    case 'T':
        return first->name;
    case 'c':
        return last->c;
    case 'w':
        return wide(last)->c;
    case 'b':
        return emit_text(e, "%u", 8 * last->bytes);
    case 'r':
        return emit_rounding(e);
    case '@':
        return emit_site(e);
    default:
        if (!word_at(r->operands, (uint32_t)(what - '0'), &word, &n))
            emit_unknown(e);
        return read_operand(e, s->operands[what - '0'], word, n);
    }
}

static const char *fill_in(emitter *e, const statement *s, const instruction_row *r) {
    growing out = {0};
    const char *at = r->code;
    while (*at != '\0') {
        const size_t plain = strcspn(at, "$");
        text_add(e->memory, &out, at, plain);
        at += plain;
        if (*at == '\0')
            break;
        const char *text;
        if (at[1] == '(') {
            const size_t n = strcspn(at, ")");
            text = emit_flag(e, emit_text(e, "%.*s", (int)(n - 2), at + 2));
            at += n + 1;
        } else {
            const char what = at[1];
            text = code_for(e, s, r, what);
            if (what >= '0' && what <= '9')
                text = emit_text(e, "(%s)", text);
            at += 2;
        }
        text_add(e->memory, &out, text, strlen(text));
    }
    return out.text != NULL ? out.text : "";
}

/* Both results of d|p: the code is 64 bits, of which bit 32 is p. */
static void write_pair(emitter *e, const operand *o, const char *spec, size_t n,
                       const char *value) {
    const char *bar = memchr(spec, '|', n), *name = emit_temporary(e);
    const ptx_type *type = operand_type(e, spec, (size_t)(bar - spec));
    const operand *low = o->kind == OPERAND_PAIR ? &o->items[0] : o;
    emit(e, "{const uint64_t %s = %s;", name, value);
    emit_write(e, low, type, name);
    if (o->kind == OPERAND_PAIR)
        emit_write(e, &o->items[1], type_named("pred"), emit_text(e, "(%s >> 32 & 1) != 0", name));
    emit(e, "}");
}

static void apply(emitter *e, const statement *s, const instruction_row *r) {
    const char *word, *code = fill_in(e, s, r);
    size_t n;
    if (!word_at(r->operands, 0, &word, &n) || word[0] != '=') {
        emit(e, "%s;", code);
        return;
    }
    if (memchr(word, '|', n) != NULL) {
        write_pair(e, s->operands[0], word + 1, n - 1, code);
        return;
    }
    const ptx_type *type = operand_type(e, word + 1, n - 1);
    if (type == NULL)
        emit_unknown(e);
    emit_write(e, s->operands[0], type, emit_flushed(e, type, code));
}

/* Comparisons, minima and approximations make one NaN of all, or none. */
static bool takes_any_nan(const emitter *e, const statement *s) {
    const ptx_type *last = e->n_types > 0 ? e->types[e->n_types - 1] : NULL;
    return is_arithmetic(s, last) ||
           listed("setp min max neg abs ex2 lg2 sin cos tanh rsqrt testp", s->part[0]);
}

void emit_by_table(emitter *e, const statement *s) {
    collect_types(e, s);
    e->any_nan = takes_any_nan(e, s);
    for (size_t i = 0; i < n_instruction_rows; ++i) {
        const instruction_row *r = &instruction_rows[i];
        if (r->name[0] != s->part[0][0] || !parts_fit(s, r) || !types_fit(e, r))
            continue;
        if (r->form != NULL) {
            r->form(e, s);
            return;
        }
        if (words(r->operands) != s->n_operands)
            continue;
        apply(e, s, r);
        return;
    }
    emit_unknown(e);
}
