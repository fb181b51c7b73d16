/* The tables of the special function unit follow from results (sfu_fit.h): here the model's. */
#include "tests/shim/assay_test.h"
#include "tests/sim/sfu_fit.h"

static uint32_t results[SFU_FIT_MOST_POINTS];

static void make_results(const sfu_fit_table *t, int32_t segment) {
    for (int32_t i = 0; i < sfu_fit_points(t); ++i)
        results[i] = sfu_f32(t->function, sfu_fit_input(t, segment, i), true);
}

ASSAY_TEST(sfu, one_set_of_coefficients_of_each_segment_gives_its_results, "unit sim") {
    for (int32_t i = 0; i < SFU_FIT_TABLES; ++i)
        for (int32_t s = 0; s < sfu_fit_tables[i].segments; ++s) {
            const sfu_fit_table *t = &sfu_fit_tables[i];
            const sfu_segment *want = &t->committed[s];
            sfu_segment got = {0};
            make_results(t, s);
            const int32_t sets = sfu_fit(t, s, results, &got);
            CHECK_MSG(sets == 1, "%s, segment %d: %d sets", t->name, s, sets);
            CHECK_MSG(got.c0 == want->c0 && got.c1 == want->c1 && got.c2 == want->c2,
                      "%s, segment %d: %d %d %d", t->name, s, got.c0, got.c1, got.c2);
        }
}

/* By the last bit, at eight points. */
ASSAY_TEST(sfu, no_coefficients_give_results_of_which_one_is_altered, "unit sim") {
    static const uint32_t altered[] = {1, UINT32_MAX};
    for (int32_t i = 0; i < 2 * SFU_FIT_TABLES; ++i) {
        const sfu_fit_table *t = &sfu_fit_tables[i / 2];
        const int32_t segment = t->segments / 2, apart = sfu_fit_points(t) / 8;
        make_results(t, segment);
        for (int32_t at = 1; at < sfu_fit_points(t); at += apart) {
            sfu_segment got;
            results[at] += altered[i % 2];
            CHECK_MSG(sfu_fit(t, segment, results, &got) == 0, "%s, point %d", t->name, at);
            results[at] -= altered[i % 2];
        }
    }
}
