#include "assay/op.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an operator that exists only here ------------------------------------------------------ */

static const assay_key toy_keys[] = {
    {"n", ASSAY_KEY_INT, NULL, 0, 1000, "rows"},
    {"f", ASSAY_KEY_LIST, "2x2", 1, 64, "factors"},
    {"q", ASSAY_KEY_LIST, "", 1, 64, "as many factors again"},
    {"eps", ASSAY_KEY_REAL, "1e-5", -1, 1e300, "a real"},
    {"wide", ASSAY_KEY_INT, "-1", -0x1p63, 0x1p63, "any integer"},
    {"size", ASSAY_KEY_NAME, "mid", 0, 0, "a name"},
};

static const char *const toy_names[] = {"tiny", "mid", "2.7b", NULL};

static assay_status toy_legal(assay_params *params) {
    if (assay_params_int(params, "n") == 13)
        return assay_fail(ASSAY_ERR_USAGE, "toy: thirteen rows");
    return ASSAY_OK;
}

static const assay_case_group toy_groups[] = {{ASSAY_SMOKE, "n=1"},
                                              {ASSAY_CI, "n=2,3"},
                                              {ASSAY_NIGHTLY, " n=4 \t f=3"},
                                              {ASSAY_EDGE, "n=0"},
                                              {ASSAY_BENCH, "n=9"}};

static const assay_op toy = {
    .name = "toy",
    .keys = toy_keys,
    .n_keys = sizeof toy_keys / sizeof toy_keys[0],
    .names = toy_names,
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_F64) | ASSAY_DTYPE_BIT(ASSAY_F32),
    .maths = ASSAY_MATH_BIT(ASSAY_STRICT),
    .fills = ASSAY_FILL_BIT(ASSAY_FILL_HUGE),
    .legal = toy_legal,
    .cases = toy_groups,
    .n_cases = sizeof toy_groups / sizeof toy_groups[0],
};

/* What was visited: the canonical texts, each ended by ';'. */
typedef struct trace {
    char text[4096];
    int count, stop_at;
} trace;

static assay_status visit(const assay_case *c, void *context) {
    trace *t = context;
    char text[ASSAY_CASE_TEXT];
    const size_t used = strlen(t->text);
    snprintf(t->text + used, sizeof t->text - used, "%s;", assay_case_format(c, text));
    return ++t->count == t->stop_at ? assay_fail(ASSAY_ERR_FILE, "enough") : ASSAY_OK;
}

static assay_status expand(trace *t, int count, const char *const *words) {
    t->text[0] = '\0';
    t->count = 0;
    return assay_case_expand(&toy, words, count, visit, t);
}

#define EXPAND(t, ...)                                                                             \
    expand((t), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),                     \
           (const char *[]){__VA_ARGS__})

/* ---- canonical text -------------------------------------------------------------------------- */

ASSAY_TEST(case, canonical_text, "unit") {
    trace t = {0};
    REQUIRE_OK(EXPAND(&t, "n=5"));
    CHECK_STREQ(t.text, "toy n=5 dtype=f32 seed=0;");
    REQUIRE_OK(EXPAND(&t, "seed=18446744073709551615", "dtype=f64", "f=02x3", "n=007", "q=2x3"));
    CHECK_STREQ(t.text, "toy n=7 f=2x3 dtype=f64 seed=18446744073709551615;");
    REQUIRE_OK(EXPAND(&t, "n=0", "f=2x2", "q=4", "eps=0.00001", "math=strict", "fill=normal"));
    CHECK_STREQ(t.text, "toy n=0 q=4 dtype=f32 seed=0;");
    REQUIRE_OK(EXPAND(&t, "sched=warp", "misalign=63", "pad=1024", "fill=exact", "n=1", "f=none",
                      "wide=-9223372036854775808"));
    CHECK_STREQ(t.text, "toy n=1 f=none wide=-9223372036854775808 dtype=f32 fill=exact pad=1024 "
                        "misalign=63 sched=warp seed=0;");
    REQUIRE_OK(EXPAND(&t, "n=1", "size=tiny,mid,2.7b"));
    CHECK_STREQ(t.text, "toy n=1 size=tiny dtype=f32 seed=0;toy n=1 dtype=f32 seed=0;"
                        "toy n=1 size=2.7b dtype=f32 seed=0;");
}

ASSAY_TEST(case, reals_use_the_fewest_digits_that_read_back, "unit") {
    static const char *const pairs[][2] = {
        {"eps=0.1", "eps=0.1"},
        {"eps=0.10000000000000000555", "eps=0.1"},
        {"eps=-0", "eps=0"},
        {"eps=1e300", "eps=1e+300"},
        {"eps=0.30000000000000004", "eps=0.30000000000000004"},
        {"eps=5e-324", "eps=4.94065645841247e-324"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        trace t = {0};
        char want[128];
        REQUIRE_OK(EXPAND(&t, "n=1", pairs[i][0]));
        snprintf(want, sizeof want, "toy n=1 %s dtype=f32 seed=0;", pairs[i][1]);
        CHECK_STREQ(t.text, want);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

ASSAY_TEST(case, refuses_and_names_the_fault, "unit") {
    static const struct {
        const char *word, *line;
    } bad[] = {
        {"k=1",
         "toy has no key \"k\"; its keys: n, f, q, eps, wide, size, dtype, math, fill, exponent, operand, pad"},
        {"=1", "toy has no key \"\""},
        {"n", "\"n\" is not of the form key=value"},
        {"n=", "n=\"\": must be an integer in 0..1000"},
        {"n=1001", "must be an integer in 0..1000"},
        {"n=-1", "must be an integer in 0..1000"},
        {"n=+1", "must be an integer"},
        {"n=1.0", "must be an integer"},
        {"n=0x10", "must be an integer"},
        {"n=99999999999999999999999", "must be an integer"},
        {"n=18446744073709551617", "must be an integer"}, /* 1 modulo 2^64 */
        {"n=18446744073709551621", "must be an integer"}, /* 5 modulo 2^64 */
        {"n=13", "thirteen rows"},
        {"wide=9223372036854775808", "must be an integer"},
        {"wide=-9223372036854775809", "must be an integer"},
        {"wide=-", "must be an integer"},
        {"f=", "integers in 1..64 joined by 'x', or none"},
        {"f=2x", "joined by 'x'"},
        {"f=x2", "joined by 'x'"},
        {"f=2xx2", "joined by 'x'"},
        {"f=65", "joined by 'x'"},
        {"f=2x2:4:1", "the extents of a list such as 3x4 are single integers"},
        {"f=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "at most 16 integers"},
        {"eps=", "must be a decimal number in -1..1e+300"},
        {"eps=inf", "must be a decimal number in -1..1e+300"},
        {"eps=nan", "must be a decimal number in -1..1e+300"},
        {"eps=-1.5", "must be a decimal number in -1..1e+300"},
        {"eps=1.1e300", "must be a decimal number in -1..1e+300"},
        {"eps=1e999", "must be a decimal number in -1..1e+300"},
        {"eps=0x1p3", "must be a decimal number in -1..1e+300"},
        {"eps=1e", "must be a decimal number in -1..1e+300"},
        {"size=", "size=\"\": must be one of tiny, mid, 2.7b"},
        {"size=1", "must be one of tiny, mid, 2.7b"},
        {"size=tin", "must be one of tiny"},
        {"size=tinyx", "must be one of tiny"},
        {"size=0:1:1", "key \"size\" takes no range such as \"0:1:1\""},
        {"dtype=f99", "one of f64, f32, bf16, f16"},
        {"dtype=bf16", "toy is not defined for dtype=bf16; it is for f64, f32"},
        {"math=tf32", "toy is not defined for math=tf32; it is for strict"},
        {"math=fast", "one of strict, tf32"},
        {"fill=initial",
         "toy is not defined for fill=initial; it is for normal, uniform, positive, "
         "exact, golden, inf, nan, huge"},
        {"fill=zero", "one of normal, uniform, positive, exact, golden"},
        {"sched=fifo", "one of inorder, reverse, random, warp"},
        {"exponent=1101", "must be an integer in -1100..1100"},
        {"operand=64", "must be an integer in 0..63"},
        {"pad=1025", "must be an integer in 0..1024"},
        {"pad=-1", "must be an integer in 0..1024"},
        {"misalign=8192", "must be an integer in 0..8191"},
        {"seed=-1", "0..18446744073709551615"},
        {"seed=18446744073709551616", "0..18446744073709551615"},
        {"seed=\x1b[2J\xc3\xa4", "seed=\"\\x1b[2J\\xc3\\xa4\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        trace t = {0};
        const bool names_n = strncmp(bad[i].word, "n", 1) == 0;
        CHECK_FAILS(names_n ? EXPAND(&t, bad[i].word) : EXPAND(&t, "n=1", bad[i].word),
                    ASSAY_ERR_USAGE, bad[i].line);
        CHECK(t.count == 0);
    }
    trace t = {0};
    CHECK_FAILS(EXPAND(&t, "n=1", "exponent=1", "fill=exact"), ASSAY_ERR_USAGE, "use another fill");
    CHECK_FAILS(EXPAND(&t, "f=2"), ASSAY_ERR_USAGE, "key \"n\" is missing: rows");
    CHECK_FAILS(EXPAND(&t, "n=1", "n=1"), ASSAY_ERR_USAGE, "key \"n\" is given twice");
    CHECK_FAILS(EXPAND(&t, "n=1", "seed=1", "seed=1"), ASSAY_ERR_USAGE, "given twice");
    CHECK_FAILS(EXPAND(&t, "n=1 f=2"), ASSAY_ERR_USAGE, "holds a blank");
}

ASSAY_TEST(case, quotes_at_most_40_bytes, "unit") {
    enum { LONG = 100000 };
    char *word = malloc(LONG + 1);
    REQUIRE(word != NULL);
    memset(word, '7', LONG);
    memcpy(word, "n=", 2);
    word[LONG] = '\0';
    trace t = {0};
    CHECK_FAILS(EXPAND(&t, word), ASSAY_ERR_USAGE,
                "\"7777777777777777777777777777777777777777\"...: must be");
    memset(word, 'k', LONG);
    assay_case c;
    CHECK_FAILS(assay_case_parse(word, &c), ASSAY_ERR_USAGE,
                "\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"...; operators:");
    free(word);
}

ASSAY_TEST(case, unknown_operator_gets_the_list, "unit") {
    assay_case c;
    CHECK_FAILS(assay_case_parse("nosuch b=1", &c), ASSAY_ERR_USAGE,
                "no operator \"nosuch\"; operators: weighted_sum");
    CHECK_FAILS(assay_case_parse(" \t", &c), ASSAY_ERR_USAGE, "no operator named");
}

/* ---- lists and ranges ------------------------------------------------------------------------ */

ASSAY_TEST(case, expands_the_last_word_fastest, "unit") {
    trace t = {0};
    REQUIRE_OK(EXPAND(&t, "n=1,2", "f=3,4x5", "seed=8:10:2"));
    CHECK_STREQ(t.text, "toy n=1 f=3 dtype=f32 seed=8;toy n=1 f=3 dtype=f32 seed=10;"
                        "toy n=1 f=4x5 dtype=f32 seed=8;toy n=1 f=4x5 dtype=f32 seed=10;"
                        "toy n=2 f=3 dtype=f32 seed=8;toy n=2 f=3 dtype=f32 seed=10;"
                        "toy n=2 f=4x5 dtype=f32 seed=8;toy n=2 f=4x5 dtype=f32 seed=10;");
    REQUIRE_OK(EXPAND(&t, "n=1", "f=2:4:2,3x5")); /* a list of one extent, and no step */
    CHECK_STREQ(t.text, "toy n=1 f=2 dtype=f32 seed=0;toy n=1 f=4 dtype=f32 seed=0;"
                        "toy n=1 f=3x5 dtype=f32 seed=0;");
    REQUIRE_OK(EXPAND(&t, "n=1:2"));
    CHECK_STREQ(t.text, "toy n=1 dtype=f32 seed=0;toy n=2 dtype=f32 seed=0;");
    REQUIRE_OK(EXPAND(&t, "n=9,1:6:2,7", "dtype=f64"));
    CHECK_STREQ(t.text, "toy n=9 dtype=f64 seed=0;toy n=1 dtype=f64 seed=0;"
                        "toy n=3 dtype=f64 seed=0;toy n=5 dtype=f64 seed=0;"
                        "toy n=7 dtype=f64 seed=0;");
    REQUIRE_OK(EXPAND(&t, "n=1",
                      "wide=-9223372036854775808:9223372036854775807:"
                      "9223372036854775807"));
    CHECK_STREQ(t.text, "toy n=1 wide=-9223372036854775808 dtype=f32 seed=0;"
                        "toy n=1 dtype=f32 seed=0;"
                        "toy n=1 wide=9223372036854775806 dtype=f32 seed=0;");
}

ASSAY_TEST(case, refuses_bad_ranges_before_any_visit, "unit") {
    static const char *const bad[] = {"n=1:",    "n=2:1:1", "n=1:2:0",   "n=1:2:-1",
                                      "n=1:2:x", "n=::",    "n=1:2:3:4", "pad=4:0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        trace t = {0};
        CHECK_FAILS(EXPAND(&t, bad[i]), ASSAY_ERR_USAGE, "first:last:step");
    }
    trace t = {0};
    CHECK_FAILS(EXPAND(&t, "n=1:14:1"), ASSAY_ERR_USAGE, "thirteen rows");
    CHECK(t.count == 0);
    CHECK_FAILS(EXPAND(&t, "n=1,,2"), ASSAY_ERR_USAGE, "must be an integer");
    CHECK_FAILS(EXPAND(&t, "n=1:1000:1", "seed=1:1001:1"), ASSAY_ERR_USAGE, "1000000 cases");
    CHECK_FAILS(EXPAND(&t, "n=1", "seed=0:9223372036854775807:1"), ASSAY_ERR_USAGE, "1000000");
    CHECK_FAILS(EXPAND(&t, "n=1,2", "seed=0:9223372036854775807:1"), ASSAY_ERR_USAGE, "1000000");
    CHECK_FAILS(EXPAND(&t, "n=1,2", "seed=0:4611686018427387904:1"), ASSAY_ERR_USAGE, "1000000");
    CHECK_FAILS(expand(&t, 0, NULL), ASSAY_ERR_USAGE, "key \"n\" is missing");
}

ASSAY_TEST(case, a_list_has_an_end, "unit") {
    enum { VALUES = 1000001 };
    trace t = {0};
    char *word = malloc(2 * VALUES + 2), *end = word;
    REQUIRE(word != NULL);
    end += sprintf(end, "n=");
    for (int i = 0; i < VALUES; ++i)
        end += sprintf(end, i == 0 ? "1" : ",1");
    const char *const words[] = {word};
    CHECK_FAILS(expand(&t, 1, words), ASSAY_ERR_USAGE, "no room for a list of 1000001 values");
    free(word);
}

ASSAY_TEST(case, what_operators_refuse, "unit") {
    static const struct {
        const char *text, *line;
    } bad[] = {
        {"adamw n=3 beta1=0.5000000000000000000000000000000000000000000000000000000000000000000",
         "beta1"},
        {"matmul_accumulate m=3 n=3 k=3 dtype=f32 math=tf32 fill=single", "TF32 holds 11"},
        {"matmul_accumulate m=3 n=3 k=3 dtype=f32 math=tf32 fill=denormal", "use math=strict"},
        {"softmax n=7 d=24 dtype=f64 fill=golden exponent=1", "use another fill"},
        {"weighted_sum n=3 d=5 exponent=x", "an integer in"},
        {"weighted_sum n=3 d=5 operand=64", "an integer in 0..63"},
        {"weighted_sum n=3 d=5 operand=-1", "an integer in 0..63"},
        {"weighted_sum n=3 d", "d"},
        {"weighted_sum =3", "has no key"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assay_case c;
        CHECK_FAILS(assay_case_parse(bad[i].text, &c), ASSAY_ERR_USAGE, bad[i].line);
    }
}

ASSAY_TEST(case, stops_when_the_visitor_fails, "unit") {
    trace t = {.stop_at = 2};
    CHECK_FAILS(EXPAND(&t, "n=1:9:1"), ASSAY_ERR_FILE, "enough");
    CHECK(t.count == 2);
}

ASSAY_TEST(case, sets_hold_the_smaller_ones, "unit") {
    static const char *const want[ASSAY_SETS] = {
        "toy n=1 dtype=f32 seed=0;",
        "toy n=1 dtype=f32 seed=0;toy n=2 dtype=f32 seed=0;toy n=3 dtype=f32 seed=0;",
        ("toy n=1 dtype=f32 seed=0;toy n=2 dtype=f32 seed=0;toy n=3 dtype=f32 seed=0;"
         "toy n=4 f=3 dtype=f32 seed=0;"),
        "toy n=0 dtype=f32 seed=0;",
        "toy n=9 dtype=f32 seed=0;",
    };
    for (int set = 0; set < ASSAY_SETS; ++set) {
        trace t = {0};
        REQUIRE_OK(assay_op_visit_set(&toy, (assay_set)set, visit, &t));
        CHECK_STREQ(t.text, want[set]);
    }
}

/* ---- every registered operator --------------------------------------------------------------- */

static bool same_params(const assay_params *a, const assay_params *b) {
    if (a->count != b->count || a->dtype != b->dtype || a->math != b->math)
        return false;
    for (int32_t i = 0; i < a->count; ++i) {
        const assay_param *p = &a->item[i], *q = &b->item[i];
        if (strcmp(p->name, q->name) != 0 || p->count != q->count || p->real != q->real ||
            memcmp(p->value, q->value, (size_t)p->count * sizeof p->value[0]) != 0)
            return false;
    }
    return true;
}

static bool same_case(const assay_case *a, const assay_case *b) {
    return a->op == b->op && same_params(&a->params, &b->params) && a->fill == b->fill &&
           a->exponent == b->exponent && a->operand == b->operand && a->pad == b->pad &&
           a->misalign == b->misalign && a->schedule == b->schedule && a->seed == b->seed;
}

static void check_round_trip(const assay_case *c) {
    char text[ASSAY_CASE_TEXT], again[ASSAY_CASE_TEXT];
    assay_case back;
    REQUIRE_OK(assay_case_parse(assay_case_format(c, text), &back));
    CHECK_MSG(same_case(c, &back), "\"%s\" parses to another case", text);
    CHECK_STREQ(assay_case_format(&back, again), text);
}

static void draw_case(const assay_op *op, assay_rng *rng, assay_case *c) {
    do
        c->params.dtype = (assay_dtype)assay_rng_between(rng, 0, ASSAY_DTYPES - 1);
    while ((op->dtypes & ASSAY_DTYPE_BIT(c->params.dtype)) == 0);
    op->draw(rng, 1e6, &c->params);
    c->fill = (assay_fill)assay_rng_between(rng, ASSAY_FILL_NORMAL, ASSAY_FILL_GOLDEN);
    if (c->fill != ASSAY_FILL_EXACT && c->fill != ASSAY_FILL_GOLDEN)
        c->exponent = assay_rng_between(rng, -1100, 1100);
    c->operand = c->exponent != 0 ? assay_rng_between(rng, 0, 63) : 0;
    c->pad = assay_rng_between(rng, 0, 1024);
    c->misalign = assay_rng_between(rng, 0, 63);
    c->schedule = (assay_schedule)assay_rng_between(rng, 0, ASSAY_SCHEDULES - 1);
    c->seed = (uint64_t)assay_rng_between(rng, INT64_MIN, INT64_MAX);
}

static assay_status check_registered(const assay_case *c, void *context) {
    ++*(int *)context;
    check_round_trip(c);
    return ASSAY_OK;
}

ASSAY_TEST(case, random_cases_parse_back, "property") {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        assay_rng rng = {.seed = 11, .stream = (uint64_t)i};
        int registered = 0;
        REQUIRE_OK(assay_op_visit_set(op, ASSAY_NIGHTLY, check_registered, &registered));
        REQUIRE_OK(assay_op_visit_set(op, ASSAY_EDGE, check_registered, &registered));
        REQUIRE_OK(assay_op_visit_set(op, ASSAY_BENCH, check_registered, &registered));
        CHECK(registered > 0);

        for (int k = 0; k < 2000; ++k) {
            assay_case c = {.op = op};
            assay_params_init(op, &c.params);
            draw_case(op, &rng, &c);
            check_round_trip(&c);
        }
    }
}
