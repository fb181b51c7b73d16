/* Cases of a campaign: legal, within the words given, and different ones. */
#include "fuzz/search/source.h"
#include "tests/shim/assay_test.h"

#include <string.h>

enum { CASES = 400 };

static fuzz_source source_of(const char *name) {
    const assay_device *sim;
    fuzz_source s = {.op = assay_op_find(name, strlen(name)), .seed = 1, .budget = 65536};
    REQUIRE(s.op != NULL);
    REQUIRE_OK(assay_device_open("sim", &sim));
    fuzz_source_edges(&s, sim, NULL, 0);
    return s;
}

ASSAY_TEST(fuzz_source, cases_of_every_operator_parse_back, "fuzz unit") {
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const fuzz_source s = source_of(assay_op_at(o)->name);
        for (int64_t i = 0; i < CASES / 4; ++i) {
            assay_case c, child, again;
            char text[ASSAY_CASE_TEXT];
            REQUIRE_OK(fuzz_source_draw(&s, i, &c));
            REQUIRE_OK(fuzz_source_alter(&s, i, &c, &child));
            REQUIRE_OK(assay_case_parse(assay_case_format(&c, text), &again));
            REQUIRE_OK(assay_case_parse(assay_case_format(&child, text), &again));
        }
    }
}

static bool has_edge(const fuzz_source *s, int64_t extent) {
    for (int32_t i = 0; i < s->n_edges; ++i)
        if (s->edge[i] == extent)
            return true;
    return false;
}

/* 24576 elements are all that a tile of kronecker's v3 holds, and of no other kernel. */
ASSAY_TEST(fuzz_source, tiles_are_those_of_the_variants, "fuzz unit") {
    static const char *const v1[] = {"v1"};
    const assay_device *sim;
    const fuzz_source all = source_of("kronecker");
    fuzz_source naive = {.op = all.op};
    REQUIRE_OK(assay_device_open("sim", &sim));
    fuzz_source_edges(&naive, sim, v1, 1);
    for (int64_t e = -1; e <= 1; ++e) {
        CHECK(has_edge(&all, 24576 + e) && has_edge(&all, 2 * 24576 + e));
        CHECK(!has_edge(&naive, 24576 + e));
    }
    CHECK(has_edge(&all, 12288) && has_edge(&naive, 0) && has_edge(&naive, 33));
}

ASSAY_TEST(fuzz_source, both_sides_of_a_tile_come, "fuzz unit") {
    const fuzz_source s = source_of("matmul_accumulate");
    bool seen[3] = {false}, empty = false;
    for (int64_t i = 0; i < CASES; ++i) {
        assay_case c;
        REQUIRE_OK(fuzz_source_draw(&s, i, &c));
        const int64_t m = assay_params_int(&c.params, "m");
        for (int64_t e = 0; e < 3; ++e)
            seen[e] = seen[e] || m == 127 + e; /* v3's tiles have 128 rows */
        empty = empty || assay_params_int(&c.params, "k") == 0;
    }
    CHECK(seen[0] && seen[1] && seen[2] && empty);
}

ASSAY_TEST(fuzz_source, fixed_words_hold_for_all, "fuzz unit") {
    static const char *const words[] = {"k=7,9", "dtype=f64"};
    fuzz_source s = source_of("matmul_accumulate");
    int sevens = 0, nines = 0;
    s.fixed = words;
    s.n_fixed = 2;
    for (int64_t i = 0; i < CASES; ++i) {
        assay_case c;
        REQUIRE_OK(fuzz_source_draw(&s, i, &c));
        REQUIRE_OK(fuzz_source_alter(&s, i, &c, &c));
        CHECK(c.params.dtype == ASSAY_F64);
        sevens += assay_params_int(&c.params, "k") == 7;
        nines += assay_params_int(&c.params, "k") == 9;
    }
    CHECK(sevens + nines == CASES && sevens > CASES / 4 && nines > CASES / 4);
}

ASSAY_TEST(fuzz_source, words_that_fit_no_case_are_named, "fuzz unit") {
    static const char *const words[] = {"k=-1"};
    fuzz_source s = source_of("matmul_accumulate");
    assay_case c;
    s.fixed = words;
    s.n_fixed = 1;
    CHECK_FAILS(fuzz_source_draw(&s, 0, &c), ASSAY_ERR_USAGE, "k=\"-1\"");
}
