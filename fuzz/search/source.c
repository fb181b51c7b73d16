#include "fuzz/search/source.h"
#include "fuzz/search/big.h"
#include "fuzz/search/cost.h"

#include "assay/problem.h"
#include "engine/buffer.h"
#include "engine/reach.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A case's draws lie in a stretch of its own of the operator's stream. */
enum { DRAWS_PER_CASE = 1 << 16, MOST_TRIES = 200, MOST_EDGES_OF_A_CASE = 3, MOST_CHANGES = 2 };

/* ---- extents worth a try ---- */

static void add_edge(fuzz_source *s, int64_t extent) {
    for (int32_t i = 0; i < s->n_edges; ++i)
        if (s->edge[i] == extent)
            return;
    if (extent >= 0 && s->n_edges < FUZZ_EDGES)
        s->edge[s->n_edges++] = extent;
}

static void add_beside(fuzz_source *s, int64_t extent) {
    for (int64_t e = -1; e <= 1; ++e)
        add_edge(s, extent + e);
}

static bool wanted(const char *name, const char *const *names, int32_t n) {
    for (int32_t i = 0; i < n; ++i)
        if (strcmp(names[i], name) == 0)
            return true;
    return n == 0;
}

void fuzz_source_edges(fuzz_source *s, const assay_device *device, const char *const *variants,
                       int32_t n_variants) {
    static const int64_t general[] = {0, 1, 2, 3, 5, 7, 13, 17, 61, 97, 251, 509, 1021, 4099};
    static const int64_t warps_and_blocks[] = {8, 16, 32, 64, 128, 256, 512, 1024};
    for (int32_t v = 0; v < device->n_variants; ++v) {
        const assay_variant *variant = device->variants[v];
        if (strcmp(variant->op, s->op->name) != 0 || !wanted(variant->name, variants, n_variants))
            continue;
        for (const int32_t *tile = variant->tiles; tile && *tile != 0; ++tile) {
            add_beside(s, *tile);
            add_beside(s, 2 * (int64_t)*tile);
            add_edge(s, *tile / 2);
        }
    }
    for (size_t i = 0; i < sizeof general / sizeof *general; ++i)
        add_edge(s, general[i]);
    for (size_t i = 0; i < sizeof warps_and_blocks / sizeof *warps_and_blocks; ++i)
        add_beside(s, warps_and_blocks[i]);
}

static bool holds_extents(const assay_key *key) {
    return key->kind == ASSAY_KEY_INT || key->kind == ASSAY_KEY_LIST;
}

/* Down to 2^-8 of the source's: most bugs need little work, and little costs less. */
static double draw_budget(const fuzz_source *s, assay_rng *rng) {
    enum { SMALLER = 8 };
    const int64_t a = assay_rng_between(rng, 0, SMALLER), b = assay_rng_between(rng, 0, SMALLER);
    return ldexp(s->budget, -(int)(a > b ? a : b));
}

/* ---- changes of one thing ---- */

static int64_t within(const assay_key *key, int64_t value) {
    return (double)value < key->low    ? (int64_t)key->low
           : (double)value > key->high ? (int64_t)key->high
                                       : value;
}

/* Repetitions, windows, positions: keys that multiply the work of a case as no extent does. */
static bool is_attribute(const assay_key *key) {
    return key->fallback && key->fallback[0] != '\0';
}

/* Small numbers, as repeating is work; or any, down from the largest as well, as a position is
 * none. */
static int64_t new_attribute(const fuzz_source *s, const assay_key *key, assay_rng *rng) {
    enum { SMALL = 66 };
    const int64_t high = (int64_t)key->high, low = key->low > 1 ? (int64_t)key->low : 1;
    switch (assay_rng_between(rng, 0, 3)) {
    case 0:
        return assay_rng_log_between(rng, low, high);
    case 1:
        return within(key, high + 1 - assay_rng_log_between(rng, 1, high));
    default:
        return within(key, s->edge[assay_rng_between(rng, 0, s->n_edges - 1)] % SMALL);
    }
}

/* One of the case's extents. */
static int64_t some_extent(assay_rng *rng, const assay_case *c) {
    const assay_param *p = &c->params.item[assay_rng_between(rng, 0, c->params.count - 1)];
    return p->count > 0 ? p->value[assay_rng_between(rng, 0, p->count - 1)] : 1;
}

static int64_t new_extent(const fuzz_source *s, const assay_case *c, const assay_key *key,
                          assay_rng *rng, int64_t old) {
    enum { SWITCH = 8 };
    if (key->high - key->low < SWITCH)
        return assay_rng_between(rng, (int64_t)key->low, (int64_t)key->high);
    switch (assay_rng_between(rng, 0, 9)) {
    case 0:
        return within(key, old - 1);
    case 1:
        return within(key, old + 1);
    case 2:
        return within(key, old < INT32_MAX ? 2 * old : old);
    case 3:
    case 4:
        return within(key, reach_relative(rng, some_extent(rng, c)));
    default:
        return is_attribute(key) ? new_attribute(s, key, rng)
                                 : within(key, s->edge[assay_rng_between(rng, 0, s->n_edges - 1)]);
    }
}

/* Lists also lose an element, or get one twice. */
static void change_list(const fuzz_source *s, const assay_case *c, const assay_key *key,
                        assay_rng *rng, assay_param *p) {
    const int32_t at = p->count > 0 ? (int32_t)assay_rng_between(rng, 0, p->count - 1) : 0;
    const int64_t how = assay_rng_between(rng, 0, 8);
    if (how == 8) { /* any number of them, small ones, most of them 1: many are much work */
        p->count = (int32_t)assay_rng_between(rng, 1, ASSAY_MAX_LIST);
        for (int32_t i = 0; i < p->count; ++i) {
            const int64_t extent = assay_rng_between(rng, -3, 3);
            p->value[i] = within(key, extent > 1 ? extent : 1);
        }
    } else if (p->count > 0 && how > 1) {
        p->value[at] = new_extent(s, c, key, rng, p->value[at]);
    } else if (p->count > 0 && how == 0) {
        memmove(&p->value[at], &p->value[at + 1], (size_t)(p->count - at - 1) * sizeof *p->value);
        --p->count;
    } else if (p->count < ASSAY_MAX_LIST) {
        p->value[p->count] = p->count > 0 ? p->value[at] : within(key, 2);
        ++p->count;
    }
}

/* A key that follows another one by default goes with it half of the time. */
static void change_key(const fuzz_source *s, assay_rng *rng, assay_case *c, int32_t k) {
    const assay_key *key = &c->op->keys[k];
    assay_param *p = &c->params.item[k];
    switch (key->kind) {
    case ASSAY_KEY_INT:
        p->value[0] = new_extent(s, c, key, rng, p->value[0]);
        break;
    case ASSAY_KEY_LIST:
        change_list(s, c, key, rng, p);
        break;
    case ASSAY_KEY_REAL:
        p->real = reach_real(rng, key);
        break;
    case ASSAY_KEY_NAME: /* as drawn: it may stand for many extents */
        break;
    }
    const bool followed = k + 1 < c->op->n_keys && c->op->keys[k + 1].fallback &&
                          c->op->keys[k + 1].fallback[0] == '\0';
    if (followed && assay_rng_between(rng, 0, 1) == 0) {
        const char *name = p[1].name;
        p[1] = p[0];
        p[1].name = name;
    }
}

static void change_key_of_kind(const fuzz_source *s, assay_rng *rng, assay_case *c) {
    change_key(s, rng, c, (int32_t)assay_rng_between(rng, 0, c->params.count - 1));
}

/* Not those with an Inf or a NaN, see draw_unfinite(). */
static assay_fill new_fill(const assay_op *op, assay_rng *rng) {
    const unsigned common = ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM) |
                            ASSAY_FILL_BIT(ASSAY_FILL_POSITIVE) | ASSAY_FILL_BIT(ASSAY_FILL_EXACT);
    const unsigned mask = (common | op->fills) & ~ASSAY_FILL_BIT(ASSAY_FILL_INITIAL);
    for (;;) {
        const int64_t fill = assay_rng_between(rng, 0, ASSAY_FILLS - 1);
        if ((mask >> fill & 1u) != 0)
            return (assay_fill)fill;
    }
}

static assay_dtype new_dtype(const assay_op *op, assay_rng *rng) {
    for (;;) {
        const int64_t dtype = assay_rng_between(rng, 0, ASSAY_DTYPES - 1);
        if ((op->dtypes >> dtype & 1u) != 0)
            return (assay_dtype)dtype;
    }
}

static bool is_finite(const assay_case *c) {
    return c->fill != ASSAY_FILL_INF && c->fill != ASSAY_FILL_NAN;
}

/* Of a case that is legal so far: only such a one has tensors. */
static void change_layout(assay_rng *rng, assay_case *c) {
    assay_params legal = c->params;
    if (c->op->legal(&legal) == ASSAY_OK && reach_layout(rng, c) != ASSAY_OK)
        c->pad = c->misalign = 0;
}

static void change_something(const fuzz_source *s, assay_rng *rng, assay_case *c) {
    switch (is_finite(c) ? assay_rng_between(rng, 0, 9) : assay_rng_between(rng, 0, 1)) {
    case 0:
        change_layout(rng, c);
        break;
    case 1:
        c->schedule = (assay_schedule)assay_rng_between(rng, 0, ASSAY_SCHEDULES - 1);
        break;
    case 2:
        c->fill = new_fill(c->op, rng);
        break;
    case 3:
        c->params.dtype = new_dtype(c->op, rng);
        break;
    case 4:
        c->params.math =
            c->params.math == ASSAY_STRICT && (c->op->maths & ~1u) != 0 ? ASSAY_TF32 : ASSAY_STRICT;
        break;
    default:
        change_key_of_kind(s, rng, c);
        break;
    }
}

/* ---- long cases ---- */

/* One extent far beyond a usual case's, the others small. Of an operator with overhead they begin
 * lower. One of so many draws is of that kind, and kept when it costs so many times as much as a
 * usual case, or in proportion. */
enum { LONG = 16, LONGER = 16, LEAST_LONG = 1 << 10, LONG_OCTAVES = 11, SMALL_BUDGET = 4 };

/* Up to four times the largest extent: others are 1 to 4 together. */
static cost_limits limits_of_long(const fuzz_source *s) {
    return cost_limits_below(ldexp(LEAST_LONG, LONG_OCTAVES + 2) / cost_overhead(s->op));
}

/* One of the extents of key k is within octave number `octave`. */
static void make_one_long(const fuzz_source *s, assay_rng *rng, assay_case *c, int32_t k,
                          int octave) {
    assay_param *p = &c->params.item[k];
    const int64_t low = (int64_t)(ldexp(LEAST_LONG, octave) / cost_overhead(s->op));
    p->value[assay_rng_between(rng, 0, p->count - 1)] =
        within(&c->op->keys[k], assay_rng_between(rng, low, 2 * low));
    change_layout(rng, c); /* many rows take less padding */
}

static void make_long(const fuzz_source *s, assay_rng *rng, assay_case *c) {
    int32_t k = (int32_t)assay_rng_between(rng, 0, c->params.count - 1);
    while (!holds_extents(&c->op->keys[k]) || c->params.item[k].count == 0)
        k = (k + 1) % c->params.count;
    make_one_long(s, rng, c, k, (int)assay_rng_between(rng, 0, LONG_OCTAVES - 1));
}

/* ---- legal cases ---- */

static bool is_fixed(const fuzz_source *s, const char *word, size_t length) {
    const char *equals = memchr(word, '=', length);
    const size_t key = equals ? (size_t)(equals - word) + 1 : length;
    for (int32_t i = 0; i < s->n_fixed; ++i)
        if (strncmp(s->fixed[i], word, key) == 0)
            return true;
    return false;
}

/* One of the values of key=a,b,c. */
static size_t append_choice(assay_rng *rng, const char *word, char *to, size_t room) {
    const char *value = strchr(word, '=') + 1;
    int64_t commas = 0;
    for (const char *at = value; *at; ++at)
        commas += *at == ',';
    const char *from = value;
    for (int64_t skip = assay_rng_between(rng, 0, commas); skip > 0; --skip)
        from += strcspn(from, ",") + 1;
    const int n =
        snprintf(to, room, " %.*s%.*s", (int)(value - word), word, (int)strcspn(from, ","), from);
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Makes it one that few rows can make up: a list of leading axes becomes one axis. */
static void make_rows(assay_case *c) {
    assay_param *rows = &c->params.item[0];
    int64_t product = 1;
    for (int32_t i = 0; i < rows->count; ++i)
        product *= rows->value[i];
    rows->count = 1;
    rows->value[0] = product;
}

/* An operand that the case has: with other attributes it may have fewer. */
static assay_status fit_operand(assay_case *c) {
    assay_signature sig;
    if (c->exponent == 0)
        return ASSAY_OK;
    const assay_status status = c->op->signature(&c->params, &sig);
    if (status != ASSAY_OK)
        return status;
    c->operand %= assay_problem_operands(&sig);
    assay_signature_clear(&sig);
    return ASSAY_OK;
}

/* Puts the fixed words in place of the case's own; the case is then legal, in canonical form, and
 * has data. */
static assay_status settle(const fuzz_source *s, assay_rng *rng, assay_case *c) {
    char own[ASSAY_CASE_TEXT], text[2 * ASSAY_CASE_TEXT];
    size_t used = 0;
    if (s->sampled)
        make_rows(c);
    assay_case_format(c, own);
    char *rest = NULL;
    for (char *word = strtok_r(own, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (!is_fixed(s, word, strlen(word)))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "",
                                     word);
    for (int32_t i = 0; i < s->n_fixed; ++i)
        used += append_choice(rng, s->fixed[i], text + used, sizeof text - used);
    assay_status status = assay_case_parse(text, c);
    if (status == ASSAY_OK)
        status = fit_operand(c);
    if (status != ASSAY_OK)
        return status;
    bool exact = true;
    const assay_status answer =
        c->fill == ASSAY_FILL_EXACT ? random_has_exact_data(c->op, &c->params, &exact) : ASSAY_OK;
    if (answer != ASSAY_OK || exact)
        return answer;
    return assay_fail(ASSAY_ERR_USAGE, "%s: no exact data for %s", s->op->name, text);
}

static assay_rng rng_of(const fuzz_source *s, int64_t index) {
    char name[96];
    snprintf(name, sizeof name, "fuzz %s", s->op->name);
    return (assay_rng){.seed = s->seed,
                       .stream = assay_rng_stream(name),
                       .next = (uint64_t)index * DRAWS_PER_CASE};
}

/* Whether the answer is known: another case is drawn in the place of one that is refused. Without
 * memory it is not known, and another case would be no function of the seed. */
static bool is_answered(assay_status status) {
    return status == ASSAY_OK || status == ASSAY_ERR_MEMORY;
}

/* Lets `change` work on copies of a case until one is legal and within the limits; otherwise the
 * case itself, if that is legal. */
static assay_status
change_until_legal(const fuzz_source *s, assay_rng *rng, const assay_case *from,
                   const cost_limits *most, int changes,
                   void (*change)(const fuzz_source *, assay_rng *, assay_case *), assay_case *c) {
    enum { TRIES = 12 };
    for (int tries = 0; tries < TRIES; ++tries) {
        *c = *from;
        for (int64_t n = assay_rng_between(rng, 1, changes); n > 0; --n)
            change(s, rng, c);
        assay_status status = settle(s, rng, c);
        if (status == ASSAY_OK)
            status = cost_affords(most, c);
        if (is_answered(status))
            return status;
    }
    *c = *from;
    return settle(s, rng, c);
}

/* What becomes of an Inf or a NaN depends on the attributes and on the tensor that holds it, and an
 * operator does not promise it for all: one of its own cases, laid out otherwise. */
typedef struct lottery {
    assay_rng *rng;
    int64_t seen;
    assay_case *winner;
} lottery;

static assay_status maybe_take(const assay_case *c, void *context) {
    lottery *l = context;
    if (!is_finite(c) && assay_rng_between(l->rng, 0, l->seen++) == 0)
        *l->winner = *c;
    return ASSAY_OK;
}

/* `found` is false where the operator has no such case. */
static assay_status draw_unfinite(const fuzz_source *s, assay_rng *rng, assay_case *c,
                                  bool *found) {
    lottery l = {.rng = rng, .winner = c};
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < s->op->n_cases; ++i) {
        const assay_case_group *group = &s->op->cases[i];
        if (group->set <= ASSAY_CI && (strstr(group->words, "inf") || strstr(group->words, "nan")))
            status = assay_op_visit_group(s->op, group, maybe_take, &l);
    }
    *found = status == ASSAY_OK && l.seen > 0;
    if (*found)
        change_layout(rng, c);
    return status;
}

/* The rows of a fresh case become many, unless they are fixed. */
static assay_status draw_big(const fuzz_source *s, int64_t index, assay_case *c) {
    char rows[32];
    assay_rng rng = rng_of(s, index);
    random_wish wish = random_any(s->op);
    assay_status status = ASSAY_OK;
    snprintf(rows, sizeof rows, "%s=", s->op->keys[0].name);
    wish.budget = fuzz_big_budget;
    for (int tries = 0; tries < MOST_TRIES; ++tries) {
        char text[ASSAY_CASE_TEXT];
        status = random_case(s->op, &wish, s->seed + (uint64_t)tries, index, c);
        if (status == ASSAY_OK)
            status = settle(s, &rng, c);
        if (status == ASSAY_OK && !is_fixed(s, rows, strlen(rows)))
            status = fuzz_big_enlarge(&rng, c);
        if (status == ASSAY_OK)
            status = assay_case_parse(assay_case_format(c, text), c);
        if (is_answered(status))
            return status;
    }
    return status;
}

/* Whether to stop drawing. The words that hold for all cases may leave none that is cheap. */
static bool is_drawn(const fuzz_source *s, assay_rng *rng, double usual, assay_status status,
                     const assay_case *c, int tries) {
    enum { PATIENCE = MOST_TRIES / 2 };
    return is_answered(status) &&
           (status != ASSAY_OK || tries >= PATIENCE || s->sampled || cost_keeps(rng, usual, c));
}

assay_status fuzz_source_draw(const fuzz_source *s, int64_t index, assay_case *c) {
    enum { RARE = 24 }; /* of cases with an Inf or a NaN most prove nothing else */
    if (s->big)
        return draw_big(s, index, c);
    assay_rng rng = rng_of(s, index);
    random_wish wish = random_any(s->op);
    assay_status status = ASSAY_OK;
    for (int tries = 0; tries < MOST_TRIES; ++tries) {
        assay_case drawn;
        const bool is_long = !s->sampled && assay_rng_between(&rng, 0, LONG - 1) == 0;
        const double usual = (is_long ? LONGER : 1) * cost_usual(s->op);
        wish.budget = is_long ? SMALL_BUDGET : draw_budget(s, &rng);
        status = random_case(s->op, &wish, s->seed + (uint64_t)tries, index, &drawn);
        if (status != ASSAY_OK)
            return status;
        if (is_long) {
            const cost_limits most = limits_of_long(s);
            status = change_until_legal(s, &rng, &drawn, &most, 1, make_long, c);
            if (is_drawn(s, &rng, usual, status, c, tries))
                return status;
            continue;
        }
        bool unfinite = false;
        if (s->n_fixed == 0 && !s->sampled && assay_rng_between(&rng, 0, RARE - 1) == 0)
            status = draw_unfinite(s, &rng, &drawn, &unfinite);
        if (status != ASSAY_OK)
            return status;
        if (unfinite || assay_rng_between(&rng, 0, 1) == 0) {
            *c = drawn;
            status = settle(s, &rng, c);
        } else {
            cost_limits most;
            status = cost_limits_from(&drawn, s->budget, &most);
            if (status == ASSAY_OK)
                status = change_until_legal(s, &rng, &drawn, &most, MOST_EDGES_OF_A_CASE,
                                            change_key_of_kind, c);
        }
        if (is_drawn(s, &rng, usual, status, c, tries))
            return status;
    }
    return status;
}

assay_status fuzz_source_longest(const fuzz_source *s, int32_t k, int32_t halvings, int64_t index,
                                 assay_case *c) {
    assay_rng rng = rng_of(s, index);
    random_wish wish = random_any(s->op);
    const cost_limits most = limits_of_long(s);
    wish.budget = SMALL_BUDGET;
    for (int tries = 0; holds_extents(&s->op->keys[k]) && tries < MOST_TRIES; ++tries) {
        assay_status status = random_case(s->op, &wish, s->seed + (uint64_t)tries, index, c);
        if (status == ASSAY_OK && c->params.item[k].count > 0) {
            make_one_long(s, &rng, c, k, LONG_OCTAVES - 1 - halvings);
            status = settle(s, &rng, c);
            if (status == ASSAY_OK)
                status = cost_affords(&most, c);
            if (is_answered(status))
                return status;
        }
    }
    return assay_fail(ASSAY_ERR_USAGE, "%s: %s alone is no large case", s->op->name,
                      s->op->keys[k].name);
}

assay_status fuzz_source_alter(const fuzz_source *s, int64_t index, const assay_case *parent,
                               assay_case *c) {
    assay_rng rng = rng_of(s, index);
    assay_case child = *parent;
    const cost_limits most = cost_limits_within(
        s->op, s->budget, cost_growth * draw_budget(s, &rng)); /* or they grow without end */
    const assay_status fits = cost_affords(&most, parent);
    if (fits == ASSAY_ERR_USAGE)
        return fuzz_source_draw(s, index, c);
    if (is_finite(&child)) /* otherwise the seed says which tensor is not finite */
        child.seed = (uint64_t)index;
    if (fits != ASSAY_OK)
        return fits;
    const assay_status status =
        change_until_legal(s, &rng, &child, &most, MOST_CHANGES, change_something, c);
    return status != ASSAY_OK || s->sampled || cost_keeps(&rng, cost_usual(s->op), c)
               ? status
               : fuzz_source_draw(s, index, c);
}
