/* assay fuzz finds bugs that were planted, from a cold start, and shrinks them to the case they are
 * made for; one seed gives one campaign. */
#include "fuzz/search/hunt.h"
#include "fuzz/search/journal.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_LIMIT = 600 };

/* ---- a campaign ---- */

typedef struct planted {
    const char *file, *op, *variant; /* no file: the built-in one, and jobs share a guest */
    uint64_t seed;
    int64_t cases;
    int32_t jobs;
} planted;

static bool never(void) {
    return false;
}

static void say_nothing(const fuzz_state *state, void *context) {
    (void)state;
    (void)context;
}

static void hear_nothing(const fuzz_finding *finding, void *context) {
    (void)finding;
    (void)context;
}

static assay_status keep_nothing(const fuzz_state *state, void *context) {
    (void)state;
    (void)context;
    return ASSAY_OK;
}

static void hunt(const planted *p, bool guided, fuzz_state *state) {
    char path[512];
    const assay_device *sim;
    snprintf(path, sizeof path, "%s/%s.so", ASSAY_PLANTED, p->file ? p->file : "");
    const assay_isolation how = {.kernel = p->file ? path : NULL,
                                 .op = p->op,
                                 .variant = p->variant,
                                 .seconds = NO_LIMIT,
                                 .gib = 4,
                                 .together = p->file == NULL};
    const fuzz_target target = {
        .op = assay_op_find(p->op, strlen(p->op)), .variant = &p->variant, .n_variants = 1};
    fuzz_source source = {.op = target.op, .seed = p->seed, .budget = 65536};
    fuzz_workers workers = {
        .device = "sim", .how = &how, .target = &target, .n_targets = 1, .jobs = p->jobs};
    const fuzz_hunt campaign = {.workers = &workers,
                                .stretch = 16,
                                .source = &source,
                                .seed = p->seed,
                                .shards = 1,
                                .cases = p->cases,
                                .guided = guided,
                                .progress = say_nothing,
                                .found = hear_nothing,
                                .keep = keep_nothing,
                                .interrupted = never};
    REQUIRE_OK(assay_device_open("sim", &sim));
    fuzz_source_edges(&source, sim, target.variant, 1);
    REQUIRE_OK(fuzz_workers_start(&workers));
    REQUIRE_OK(fuzz_hunt_run(&campaign, state));
    fuzz_workers_end(&workers);
}

/* Instruments would find the planted bugs in their own way, and campaigns take their time there. */
#if !defined(ASSAY_INSTRUMENTED)

static bool found(const fuzz_state *state, fuzz_kind kind, const char *shrunk) {
    for (int32_t i = 0; i < state->findings.count; ++i) {
        const fuzz_finding *f = &state->findings.finding[i];
        if (f->failure.kind == kind && f->smallest && strcmp(f->shrunk, shrunk) == 0)
            return true;
    }
    return false;
}

static void expect(const planted *p, fuzz_kind kind, const char *shrunk) {
    fuzz_state state = {0};
    hunt(p, true, &state);
    for (int32_t i = 0; i < state.findings.count; ++i)
        printf("%s\n", state.findings.finding[i].shrunk);
    CHECK_MSG(found(&state, kind, shrunk), "%s was not found, or not as %s", p->variant, shrunk);
    fuzz_state_clear(&state);
}

/* ---- what it finds ---- */

ASSAY_TEST(fuzz, finds_a_lost_tail, "fuzz sim") {
    expect(&(planted){"matmul", "matmul_accumulate", "k_tail", 1, 16, 1}, FUZZ_WRONG,
           "matmul_accumulate m=1 n=1 k=1 dtype=f32 seed=0");
}

ASSAY_TEST(fuzz, finds_packed_rows, "fuzz sim") {
    expect(&(planted){"matmul", "matmul_accumulate", "packed_rows", 1, 48, 1}, FUZZ_WRONG,
           "matmul_accumulate m=2 n=1 k=1 dtype=f32 pad=1 seed=0");
}

ASSAY_TEST(fuzz, finds_a_masked_row, "fuzz sim") {
    expect(&(planted){"attention", "attention", "masked_row", 1, 32, 1}, FUZZ_WRONG,
           "attention b=1 h=1 sq=2 sk=1 d=1 causal=1 dtype=f32 seed=0");
}

/* The process that died is replaced, and the campaign goes on. */
ASSAY_TEST(fuzz, finds_a_crash, "fuzz sim") {
    const planted p = {"weighted_sum", "weighted_sum", "crashes_wide", 2, 96, 1};
    fuzz_state state = {0};
    hunt(&p, true, &state);
    CHECK(state.settled == p.cases && state.passed > p.cases / 2);
    CHECK(found(&state, FUZZ_CRASH, "weighted_sum n=none d=4097 dtype=f32 seed=0"));
    fuzz_state_clear(&state);
}

/* Its cases get smaller as crashes and as wrong numbers, neither turns into the other. */
ASSAY_TEST(fuzz, tells_two_bugs_apart, "fuzz sim") {
    const planted p = {"weighted_sum", "weighted_sum", "two_bugs", 2, 96, 1};
    fuzz_state state = {0};
    hunt(&p, true, &state);
    CHECK(found(&state, FUZZ_CRASH, "weighted_sum n=none d=4097 dtype=f32 seed=0"));
    CHECK(found(&state, FUZZ_WRONG, "weighted_sum n=2 d=2 dtype=f32 seed=0"));
    fuzz_state_clear(&state);
}

#endif

ASSAY_TEST(fuzz, finds_nothing_where_nothing_is, "fuzz sim") {
    const planted p = {"matmul", "matmul_accumulate", "none", 2, 96, 2};
    fuzz_state state = {0};
    hunt(&p, true, &state);
    CHECK_MSG(state.findings.count == 0, "%s", state.findings.finding[0].failure.reason);
    CHECK(state.settled == p.cases && state.passed > p.cases / 2 && state.population.count > 0);
    fuzz_state_clear(&state);
}

#if !defined(ASSAY_INSTRUMENTED)

/* ---- one seed, one campaign ---- */

static char *journal_of(const planted *p, bool guided) {
    fuzz_state state = {0};
    char *text;
    size_t size;
    hunt(p, guided, &state);
    state.seconds = 0;
    for (int32_t i = 0; i < state.findings.count; ++i)
        state.findings.finding[i].seconds = 0;
    REQUIRE_OK(fuzz_journal_format(&state, "a campaign", &text, &size));
    fuzz_state_clear(&state);
    return text;
}

ASSAY_TEST(fuzz, jobs_do_not_change_the_campaign, "fuzz sim") {
    planted p = {"matmul", "matmul_accumulate", "empty_k", 7, 150, 1};
    char *one = journal_of(&p, true);
    p.jobs = 3;
    char *three = journal_of(&p, true);
    CHECK_STREQ(one, three);
    free(one);
    free(three);
}

ASSAY_TEST(fuzz, jobs_that_share_a_guest_do_not_change_the_campaign, "fuzz sim") {
    planted p = {NULL, "matmul_accumulate", "v1", 7, 60, 1};
    char *one = journal_of(&p, true);
    p.jobs = 3;
    char *three = journal_of(&p, true);
    CHECK_STREQ(one, three);
    free(one);
    free(three);
}

ASSAY_TEST(fuzz, a_campaign_that_was_cut_goes_on_as_if_it_was_not, "fuzz sim") {
    planted p = {"matmul", "matmul_accumulate", "none", 5, 150, 2};
    fuzz_state whole = {0}, part = {0}, rest = {0};
    char *text;
    size_t size;
    hunt(&p, true, &whole);
    p.cases = 90;
    hunt(&p, true, &part);
    REQUIRE_OK(fuzz_journal_format(&part, "it", &text, &size));
    REQUIRE_OK(fuzz_journal_parse(&rest, "it", 1, "state", text, size));
    free(text);
    p.cases = 150;
    hunt(&p, true, &rest);
    CHECK(rest.settled == whole.settled && rest.passed == whole.passed);
    REQUIRE(rest.population.count == whole.population.count);
    for (int32_t i = 0; i < whole.population.count; ++i) {
        char a[ASSAY_CASE_TEXT], b[ASSAY_CASE_TEXT];
        CHECK_STREQ(assay_case_format(&rest.population.member[i].c, a),
                    assay_case_format(&whole.population.member[i].c, b));
    }
    fuzz_state_clear(&whole);
    fuzz_state_clear(&part);
    fuzz_state_clear(&rest);
}

#endif
