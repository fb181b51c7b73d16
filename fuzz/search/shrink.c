#include "fuzz/search/shrink.h"

#include "assay/op.h"

#include <string.h>

/* Each costs a run; after a hang, the time limit; of a case of 2^28 elements, half a minute. */
enum { MOST_TRIES = 600, MOST_HANGS = 30, MOST_LARGE = 60, LARGE = 1 << 28 };

typedef struct search {
    const fuzz_subject *subject;
    const fuzz_failure *failure;
    fuzz_shrunk *best;
    int32_t most;
    assay_status status;
} search;

/* ---- one step ---- */

static bool same_case(const assay_case *a, const assay_case *b) {
    char x[ASSAY_CASE_TEXT], y[ASSAY_CASE_TEXT];
    return strcmp(assay_case_format(a, x), assay_case_format(b, y)) == 0;
}

/* Takes `c` if it is another legal case that fails alike. */
static bool take(search *s, const assay_case *c) {
    assay_case legal;
    char text[ASSAY_CASE_TEXT];
    bool alike = false;
    if (s->status != ASSAY_OK || s->best->tries >= s->most ||
        assay_case_parse(assay_case_format(c, text), &legal) != ASSAY_OK ||
        same_case(&legal, &s->best->c))
        return false;
    ++s->best->tries;
    s->status = fuzz_fails_alike(s->subject, &legal, s->failure, &alike);
    if (s->status == ASSAY_OK && alike)
        s->best->c = legal;
    return s->status == ASSAY_OK && alike;
}

/* ---- what is not an extent ---- */

/* Sets a number of the layout to 0, or else to a smaller power of two; a tensor that is moved alone
 * is moved by one. */
static bool shrink_number(search *s, int64_t *(*number)(assay_case *)) {
    assay_case c = s->best->c;
    const int64_t old = *number(&c);
    *number(&c) = 0;
    if (take(s, &c))
        return true;
    for (int64_t smaller = 1; smaller < old; smaller *= 2) {
        *number(&c) = smaller;
        if (take(s, &c))
            return true;
    }
    return false;
}

static int64_t *pad_of(assay_case *c) {
    return &c->pad;
}

static int64_t *misalign_of(assay_case *c) {
    return &c->misalign;
}

/* Halves the exponent while that fails alike. */
static bool shrink_exponent(search *s) {
    assay_case c = s->best->c;
    bool any = false;
    if (c.exponent == 0)
        return false;
    c.exponent = c.operand = 0;
    if (take(s, &c))
        return true;
    for (c = s->best->c; c.exponent / 2 != 0; c = s->best->c) {
        c.exponent /= 2;
        if (!take(s, &c))
            return any;
        any = true;
    }
    return any;
}

static bool shrink_layout(search *s) {
    assay_case c = s->best->c;
    c.schedule = ASSAY_SCHEDULE_IN_ORDER;
    bool any = take(s, &c);
    any |= shrink_number(s, pad_of);
    any |= shrink_number(s, misalign_of);
    return any;
}

/* The simplest fill that still fails; those that come first in the list are simpler. */
static bool shrink_fill(search *s) {
    static const assay_fill simple[] = {ASSAY_FILL_NORMAL, ASSAY_FILL_UNIFORM, ASSAY_FILL_POSITIVE,
                                        ASSAY_FILL_EXACT,  ASSAY_FILL_ZEROS,   ASSAY_FILL_CANCEL};
    for (size_t i = 0; i < sizeof simple / sizeof *simple && simple[i] != s->best->c.fill; ++i) {
        assay_case c = s->best->c;
        const unsigned own = ASSAY_FILL_BIT(ASSAY_FILL_ZEROS) | ASSAY_FILL_BIT(ASSAY_FILL_CANCEL);
        if ((ASSAY_FILL_BIT(simple[i]) & own & ~c.op->fills) != 0)
            continue;
        c.fill = simple[i];
        if (take(s, &c))
            return true;
    }
    return false;
}

static bool shrink_arithmetic(search *s) {
    bool any = false;
    assay_case c = s->best->c;
    c.params.math = ASSAY_STRICT;
    any |= take(s, &c);
    c = s->best->c;
    c.params.dtype = ASSAY_F32;
    any |= c.params.dtype != s->best->c.params.dtype && take(s, &c);
    c = s->best->c;
    c.seed = 0;
    any |= take(s, &c);
    return any;
}

/* ---- attributes ---- */

/* Extents that are keys with a default as well go down only, or the two kinds of steps would undo
 * each other for ever. */
static bool grows(const assay_param *from, const assay_param *to) {
    bool any = to->count > from->count;
    for (int32_t i = 0; !any && i < to->count; ++i)
        any = to->value[i] > from->value[i];
    return any;
}

/* The case's text without that key's word: the parser then takes the default. */
static bool to_default(search *s, int32_t k) {
    char text[ASSAY_CASE_TEXT], without[ASSAY_CASE_TEXT] = "";
    const char *name = s->best->c.op->keys[k].name;
    const size_t length = strlen(name);
    char *rest = NULL;
    assay_case c;
    assay_case_format(&s->best->c, text);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (strncmp(word, name, length) == 0 && word[length] == '=')
            continue;
        if (without[0] != '\0')
            strcat(without, " ");
        strcat(without, word);
    }
    return assay_case_parse(without, &c) == ASSAY_OK &&
           !grows(&s->best->c.params.item[k], &c.params.item[k]) && take(s, &c);
}

static bool shrink_attributes(search *s) {
    bool any = false;
    for (int32_t k = 0; k < s->best->c.op->n_keys; ++k)
        if (s->best->c.op->keys[k].fallback)
            any |= to_default(s, k);
    return any;
}

/* ---- extents ---- */

/* Which integers are set at once: one of one key, or all that have its value. */
typedef struct place {
    int32_t key, at;
    bool together;
} place;

static assay_case with_value(const assay_case *from, const place *p, int64_t value) {
    assay_case c = *from;
    const int64_t old = from->params.item[p->key].value[p->at];
    for (int32_t k = 0; p->together && k < c.params.count; ++k) {
        const assay_key_kind kind = c.op->keys[k].kind;
        for (int32_t i = 0; kind != ASSAY_KEY_NAME && i < c.params.item[k].count; ++i)
            if (c.params.item[k].value[i] == old)
                c.params.item[k].value[i] = value;
    }
    c.params.item[p->key].value[p->at] = value;
    return c;
}

static bool try_value(search *s, const place *p, int64_t value) {
    const assay_case c = with_value(&s->best->c, p, value);
    return take(s, &c);
}

static int64_t value_at(const search *s, const place *p) {
    return s->best->c.params.item[p->key].value[p->at];
}

/* Leaps of half the way to `low` and of a half of that, then single steps. */
static bool shrink_value(search *s, const place *p, int64_t low) {
    bool any = false;
    if (value_at(s, p) <= low)
        return false;
    any |= try_value(s, p, low);
    for (int64_t leap = (value_at(s, p) - low) / 2; leap > 0;) {
        if (value_at(s, p) - leap > low && try_value(s, p, value_at(s, p) - leap))
            any = true;
        else
            leap /= 2;
    }
    return any;
}

/* Toward 1, or to the least that is legal; 0 is no smaller a case but an empty one. */
static int64_t least(const assay_key *key) {
    return key->low > 1 ? (int64_t)key->low : 1;
}

static bool shrink_extents(search *s) {
    bool any = false;
    for (int32_t k = 0; k < s->best->c.params.count; ++k) {
        const assay_key *key = &s->best->c.op->keys[k];
        if (key->kind != ASSAY_KEY_INT && key->kind != ASSAY_KEY_LIST)
            continue;
        for (int32_t at = 0; at < s->best->c.params.item[k].count; ++at) {
            const place together = {k, at, true}, alone = {k, at, false};
            any |= shrink_value(s, &together, least(key));
            any |= shrink_value(s, &alone, least(key));
            if (value_at(s, &alone) == 0 && !key->fallback)
                any |= try_value(s, &alone, 1);
        }
    }
    return any;
}

/* Lists without one of their elements; the next key's too, when it must be as long. */
static bool shrink_list(search *s, int32_t k) {
    for (int32_t at = 0; at < s->best->c.params.item[k].count; ++at)
        for (int32_t last = k; last <= k + 1 && last < s->best->c.params.count; ++last) {
            assay_case c = s->best->c;
            if (c.op->keys[last].kind != ASSAY_KEY_LIST || at >= c.params.item[last].count)
                continue;
            for (int32_t i = k; i <= last; ++i) {
                assay_param *p = &c.params.item[i];
                memmove(&p->value[at], &p->value[at + 1],
                        (size_t)(p->count - at - 1) * sizeof *p->value);
                --p->count;
            }
            if (take(s, &c))
                return true;
        }
    return false;
}

static bool shrink_lists(search *s) {
    bool any = false;
    for (int32_t k = 0; k < s->best->c.params.count; ++k)
        while (s->best->c.op->keys[k].kind == ASSAY_KEY_LIST && shrink_list(s, k))
            any = true;
    return any;
}

/* ---- the whole ---- */

static bool is_large(const assay_case *c) {
    assay_work work;
    return assay_op_work(c->op, &c->params, ASSAY_FORWARD, &work) == ASSAY_OK &&
           work.read + work.written > LARGE * (double)assay_dtype_size(c->params.dtype);
}

static int32_t most_tries(const assay_case *c, fuzz_kind kind) {
    return kind == FUZZ_HANG ? MOST_HANGS : is_large(c) ? MOST_LARGE : MOST_TRIES;
}

assay_status fuzz_shrink(const fuzz_subject *subject, const assay_case *c,
                         const fuzz_failure *failure, fuzz_shrunk *shrunk) {
    search s = {.subject = subject,
                .failure = failure,
                .best = shrunk,
                .most = most_tries(c, failure->kind)};
    *shrunk = (fuzz_shrunk){.c = *c, .tries = 1};
    s.status = fuzz_fails_alike(subject, c, failure, &shrunk->again);
    bool any = s.status == ASSAY_OK && shrunk->again;
    while (any) {
        any = shrink_layout(&s);
        any |= shrink_fill(&s);
        any |= shrink_exponent(&s);
        any |= shrink_attributes(&s);
        any |= shrink_lists(&s);
        any |= shrink_extents(&s);
        any |= shrink_arithmetic(&s);
    }
    shrunk->smallest = shrunk->again && shrunk->tries < s.most;
    return s.status;
}
