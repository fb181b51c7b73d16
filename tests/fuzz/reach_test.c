/*
 * The cases that are drawn cover the legal ones. That is asked of every operator by its keys'
 * ranges, so that a key that is drawn from a few constants fails here, as do offsets, relations of
 * sizes and data that never come.
 */
#include "engine/buffer.h"
#include "engine/reach.h"
#include "fuzz/search/source.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <string.h>

enum {
    DRAWS = 4000,
    OCTAVES = 160,
    LINE = 256,
    TENSORS = 4,
    NEAR = 8,
    MOST_TIMES = 4,
    LONG_LIST = 7
};

/* Which octaves of a key's range came, counted from the least number that counts, and which ends.
 */
typedef struct coverage {
    bool octave[OCTAVES], low, high;
} coverage;

/* How often one size was another, plus -NEAR to NEAR, or times 2 to MOST_TIMES. */
typedef struct relation {
    bool apart[2 * NEAR + 1], times[MOST_TIMES + 1];
} relation;

typedef struct seen {
    coverage key[ASSAY_MAX_KEYS];
    relation pair[ASSAY_MAX_KEYS][ASSAY_MAX_KEYS];
    bool offset[TENSORS][LINE]; /* bytes, of fp32 tensors */
    bool fill[ASSAY_FILLS];
    int32_t axes[ASSAY_MAX_KEYS]; /* the longest list */
} seen;

static double least(const assay_key *key) {
    return key->low > 0 ? key->low : key->kind == ASSAY_KEY_REAL ? key->high * 0x1p-40 : 1;
}

static int32_t octave_of(const assay_key *key, double value) {
    return (int32_t)floor(log2(value / least(key)) + 1e-9);
}

static void note_number(coverage *c, const assay_key *key, double value) {
    c->low = c->low || value == key->low;
    c->high = c->high || value == key->high;
    if (value >= least(key))
        c->octave[octave_of(key, value)] = true;
}

static int32_t missing(const coverage *c, int32_t octaves) {
    int32_t n = 0;
    for (int32_t o = 0; o < octaves; ++o)
        n += !c->octave[o];
    return n;
}

/* One in four may be missing: so many draws are too few for all; one in two of an operator whose
 * attributes count in few cases, and one where numbers are even. */
static bool is_covered(const assay_op *op, const coverage *c, int32_t octaves) {
    return missing(c, octaves) <= fmax(1, octaves / (op->overhead > 16 ? 2 : 4));
}

static void note_pair(relation *r, int64_t a, int64_t b) {
    if (a - b >= -NEAR && a - b <= NEAR)
        r->apart[a - b + NEAR] = true;
    for (int64_t t = 2; t <= MOST_TIMES; ++t)
        r->times[t] = r->times[t] || a == t * b;
}

static void note_case(seen *s, const assay_case *c) {
    for (int32_t k = 0; k < c->params.count; ++k) {
        const assay_key *key = &c->op->keys[k];
        const assay_param *p = &c->params.item[k];
        if (key->kind == ASSAY_KEY_REAL)
            note_number(&s->key[k], key, p->real);
        for (int32_t i = 0; key->kind != ASSAY_KEY_NAME && i < p->count; ++i)
            note_number(&s->key[k], key, (double)p->value[i]);
        s->axes[k] = p->count > s->axes[k] ? p->count : s->axes[k];
        for (int32_t other = 0; other < c->params.count; ++other)
            if (p->count > 0 && c->params.item[other].count > 0)
                note_pair(&s->pair[k][other], p->value[0], c->params.item[other].value[0]);
    }
    for (int32_t t = 0; t < TENSORS && c->params.dtype == ASSAY_F32; ++t)
        s->offset[t][buffer_spacing(c, t).shift * (int64_t)sizeof(float) % LINE] = true;
    s->fill[c->fill] = true;
}

static fuzz_source source_of(const assay_op *op) {
    const assay_device *sim;
    fuzz_source s = {.op = op, .seed = 1, .budget = FUZZ_SIM_BUDGET};
    REQUIRE_OK(assay_device_open("sim", &sim));
    fuzz_source_edges(&s, sim, NULL, 0);
    return s;
}

/* Whether tensors grow with the number: then work ends its range here. */
static bool is_size(const assay_op *op, const assay_case *c, int32_t k) {
    assay_case larger = *c;
    assay_signature before, after;
    bool grows = false;
    larger.params.item[k].value[0] = 2 * c->params.item[k].value[0] + 2;
    if (op->keys[k].high < NEAR)
        return false;
    if (op->legal(&larger.params) != ASSAY_OK)
        return true;
    REQUIRE_OK(op->signature(&c->params, &before));
    REQUIRE_OK(op->signature(&larger.params, &after));
    for (int32_t i = 0; i < before.n_in && i < after.n_in; ++i)
        grows = grows || assay_spec_count(&after.in[i]) > assay_spec_count(&before.in[i]);
    assay_signature_clear(&before);
    assay_signature_clear(&after);
    return grows;
}

/* Octaves that must come: all, but for sizes that work limits. A size that is large by itself goes
 * through those of usual cases, up to where long cases take over. */
static int32_t octaves_of(const fuzz_source *s, const assay_case *c, int32_t k) {
    enum { USUAL = 13, SLOW = 9, SLOWEST = 4, TOGETHER = 2 };
    const assay_key *key = &s->op->keys[k];
    const int32_t all = octave_of(key, key->high) + 1;
    assay_case longest;
    if (key->kind == ASSAY_KEY_REAL)
        return all;
    int32_t most = s->op->overhead > 16 ? SLOWEST : s->op->overhead > 1 ? SLOW : USUAL;
    if (!is_size(s->op, c, k))
        most = s->op->overhead > 16 ? SLOWEST : all;
    else if (fuzz_source_longest(s, k, 0, 0, &longest) != ASSAY_OK)
        most = TOGETHER;
    return most < all ? most : all;
}

static void check_keys(const fuzz_source *s, const assay_case *c, const seen *all) {
    for (int32_t k = 0; k < s->op->n_keys; ++k) {
        const assay_key *key = &s->op->keys[k];
        if (key->kind == ASSAY_KEY_NAME)
            continue;
        const int32_t octaves = octaves_of(s, c, k);
        CHECK_MSG(is_covered(s->op, &all->key[k], octaves), "%s: %s misses %d of %d octaves",
                  s->op->name, key->name, missing(&all->key[k], octaves), octaves);
        if (key->kind == ASSAY_KEY_REAL)
            CHECK_MSG(all->key[k].low && all->key[k].high, "%s: %s misses an end", s->op->name,
                      key->name);
        if (key->kind == ASSAY_KEY_LIST && s->op->n_keys == 2)
            CHECK_MSG(all->axes[k] >= LONG_LIST, "%s: %s has at most %d axes", s->op->name,
                      key->name, all->axes[k]);
    }
}

static void check_pairs(const fuzz_source *s, const assay_case *c, const seen *all) {
    for (int32_t a = 0; a < s->op->n_keys; ++a)
        for (int32_t b = 0; b < s->op->n_keys; ++b) {
            int32_t lacking = 0;
            if (a == b || s->op->overhead > 1 || !is_size(s->op, c, a) || !is_size(s->op, c, b))
                continue;
            for (int32_t i = 0; i <= 2 * NEAR; ++i)
                lacking += !all->pair[a][b].apart[i];
            for (int32_t t = 2; t <= MOST_TIMES; ++t)
                lacking += !all->pair[a][b].times[t];
            CHECK_MSG(lacking <= 2, "%s: %s and %s lack %d relations", s->op->name,
                      s->op->keys[a].name, s->op->keys[b].name, lacking);
        }
}

/* One in four may be missing, as above: 4,000 draws lack 3 in the mean, and 10 of one operator. */
static void check_offsets(const assay_op *op, const seen *all) {
    for (int32_t t = 0; t < TENSORS; ++t) {
        int32_t lacking = 0;
        for (int32_t at = 0; at < LINE; at += (int32_t)sizeof(float))
            lacking += !all->offset[t][at];
        CHECK_MSG(lacking <= 16, "%s: tensor %d lacks %d of 64 offsets", op->name, t, lacking);
    }
}

static void check_fills(const assay_op *op, const seen *all) {
    const unsigned wanted = (op->fills & ~ASSAY_FILL_BIT(ASSAY_FILL_INITIAL)) |
                            ASSAY_FILL_BIT(ASSAY_FILL_NORMAL) | ASSAY_FILL_BIT(ASSAY_FILL_UNIFORM);
    for (int f = 0; f < ASSAY_FILLS; ++f)
        CHECK_MSG((wanted >> f & 1u) == 0 || all->fill[f], "%s: fill=%s never comes", op->name,
                  assay_fill_name((assay_fill)f));
}

static assay_status first(const assay_case *c, void *context) {
    *(assay_case *)context = *c;
    return assay_fail(ASSAY_ERR_USAGE, "one is enough");
}

ASSAY_TEST(reach, draws_cover_what_is_legal, "fuzz unit") {
    static seen all;
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const fuzz_source s = source_of(assay_op_at(o));
        assay_case c;
        memset(&all, 0, sizeof all);
        for (int64_t i = 0; i < DRAWS; ++i) {
            REQUIRE_OK(fuzz_source_draw(&s, i, &c));
            note_case(&all, &c);
        }
        CHECK_FAILS(assay_op_visit_set(s.op, ASSAY_SMOKE, first, &c), ASSAY_ERR_USAGE, "enough");
        check_keys(&s, &c, &all);
        check_pairs(&s, &c, &all);
        check_offsets(s.op, &all);
        check_fills(s.op, &all);
    }
}

/* What the test above says of attributes that are a few usual values. */
ASSAY_TEST(reach, three_constants_do_not_cover_a_key, "fuzz unit") {
    static const double usual[] = {1e-5, 1e-3, 0.25};
    const assay_op *op = assay_op_find("rmsnorm", strlen("rmsnorm"));
    for (int32_t k = 0; k < op->n_keys; ++k) {
        coverage c = {0};
        if (op->keys[k].kind != ASSAY_KEY_REAL)
            continue;
        for (size_t i = 0; i < sizeof usual / sizeof *usual; ++i)
            note_number(&c, &op->keys[k], usual[i]);
        CHECK(!is_covered(op, &c, octave_of(&op->keys[k], op->keys[k].high) + 1) && !c.low &&
              !c.high);
    }
}

/* A large size alone, a few seconds' work, and none of an attribute. */
ASSAY_TEST(reach, a_size_alone_is_large, "fuzz unit") {
    const fuzz_source s = source_of(assay_op_find("rmsnorm", strlen("rmsnorm")));
    assay_case c;
    REQUIRE_OK(fuzz_source_longest(&s, 0, 0, 0, &c));
    int64_t rows = 1;
    for (int32_t i = 0; i < c.params.item[0].count; ++i)
        rows *= c.params.item[0].value[i];
    CHECK(rows >= 1 << 20 && assay_params_int(&c.params, "d") <= 8);
    REQUIRE_OK(fuzz_source_longest(&s, 1, 3, 0, &c));
    CHECK(assay_params_int(&c.params, "d") >= 1 << 17 &&
          assay_params_int(&c.params, "d") <= 1 << 18);
    CHECK_FAILS(fuzz_source_longest(&s, 3, 0, 0, &c), ASSAY_ERR_USAGE,
                "eps alone is no large case");
}

ASSAY_TEST(reach, offsets_are_what_buffers_have, "fuzz unit") {
    for (int64_t shift = 1; shift < LINE / 2; ++shift)
        for (int32_t moved = 0; moved < TENSORS; ++moved)
            for (int32_t t = 0; t < TENSORS; ++t) {
                const assay_case all = {.misalign = reach_shift_of_all(shift)};
                const assay_case one = {.misalign = reach_shift_of_one(moved, shift)};
                CHECK(buffer_spacing(&all, t).shift == shift);
                CHECK(buffer_spacing(&one, t).shift == (t == moved ? shift : 0));
            }
}
