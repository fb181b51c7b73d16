/* The state of a campaign as a file: read back, and damaged in every byte. */
#include "fuzz/search/journal.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>

static const char about[] = "seed 1 of it all";
static const char text_of_case[] = "weighted_sum n=2 d=3 dtype=f32 seed=0";

static void fill(fuzz_state *state) {
    bool best;
    *state =
        (fuzz_state){.settled = 77, .seconds = 1.5, .passed = 70, .failed = 3, .before = {1, 1}};
    assay_case c;
    REQUIRE_OK(assay_case_parse(text_of_case, &c));
    REQUIRE_OK(fuzz_population_add(&state->population, 0, &c));
    REQUIRE_OK(
        fuzz_population_mark(&state->population, &(fuzz_mark){.key = 5, .octave = -3}, &best));
    state->population.edges[0] = 1;
    fuzz_finding f = {.failure = {.variant = "v3", .kind = FUZZ_WRONG, .reason = "off by 1"},
                      .first = 9,
                      .again = true};
    memcpy(f.found, text_of_case, sizeof text_of_case);
    memcpy(f.shrunk, text_of_case, sizeof text_of_case);
    REQUIRE_OK(fuzz_findings_add(&state->findings, &f));
}

static char *format(size_t *size) {
    fuzz_state state;
    char *text;
    fill(&state);
    REQUIRE_OK(fuzz_journal_format(&state, about, &text, size));
    fuzz_state_clear(&state);
    return text;
}

ASSAY_TEST(fuzz_journal, is_read_back, "fuzz unit") {
    fuzz_state state;
    size_t size, again_size;
    char *text = format(&size), *again;
    char *copy = strdup(text);
    REQUIRE(copy != NULL);
    REQUIRE_OK(fuzz_journal_parse(&state, about, 1, "file", text, size));
    REQUIRE_OK(fuzz_journal_format(&state, about, &again, &again_size));
    CHECK_STREQ(again, copy);
    fuzz_state_clear(&state);
    free(text);
    free(copy);
    free(again);
}

ASSAY_TEST(fuzz_journal, any_damage_shows, "fuzz unit") {
    fuzz_state state;
    size_t size;
    char *text = format(&size), *copy = malloc(size + 1);
    REQUIRE(copy != NULL);
    for (size_t at = 0; at < size; ++at) {
        memcpy(copy, text, size + 1);
        copy[at] ^= 1;
        CHECK_FAILS(fuzz_journal_parse(&state, about, 1, "file", copy, size), ASSAY_ERR_FILE,
                    "not a complete state");
        memcpy(copy, text, size + 1);
        copy[at] = '\0';
        CHECK_FAILS(fuzz_journal_parse(&state, about, 1, "file", copy, at), ASSAY_ERR_FILE,
                    "not a complete state");
    }
    free(text);
    free(copy);
}

ASSAY_TEST(fuzz_journal, of_another_campaign_is_refused, "fuzz unit") {
    fuzz_state state;
    size_t size;
    char *text = format(&size);
    CHECK_FAILS(fuzz_journal_parse(&state, "seed 2", 1, "file", text, size), ASSAY_ERR_USAGE,
                "another campaign");
    free(text);
}
