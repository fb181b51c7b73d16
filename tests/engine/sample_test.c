/*
 * Large cases judged through small ones: rows are dealt out without a pattern, kernels that are
 * right pass, and a fault in large tensors alone is found (tests/fuzz/planted/large.cu).
 */
#include "engine/check.h"
#include "engine/isolate.h"
#include "engine/sample.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const assay_device *open_sim(void) {
    const assay_device *device;
    REQUIRE_OK(assay_device_open("sim", &device));
    return device;
}

/* ---- which rows ---- */

static sample sample_of(const char *text, int64_t rows) {
    assay_case c;
    variant_runs t;
    sample s;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(variant_runs_init(&t, open_sim(), c.op->name, NULL, 0));
    REQUIRE_OK(sample_init(&s, &c, rows, &t));
    variant_runs_clear(&t);
    return s;
}

static bool is_home(const sample *s, int64_t row) {
    for (int64_t i = 0; i < s->count; ++i)
        if (s->home[i] == row)
            return true;
    return false;
}

ASSAY_TEST(sample, homes_are_at_the_ends_and_where_numbers_grow, "unit") {
    const int64_t past = INT64_C(1) << 32;
    sample s = sample_of("adamw n=4294967306 dtype=f32 seed=0", 64);
    const int64_t wanted[] = {0,        past / 8 - 1, past / 8, past / 4 - 1,
                              past / 4, past / 2 - 1, past / 2, past - 1,
                              past,     past + 9};
    CHECK(s.count == 64);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i)
        CHECK_MSG(is_home(&s, wanted[i]), "row %lld is no home", (long long)wanted[i]);
    for (int64_t i = 1; i < s.count; ++i)
        CHECK(s.home[i - 1] < s.home[i]);
    sample_clear(&s);

    /* Element 2^31 begins a row; a tile of v3 has 32 rows. */
    s = sample_of("linear m=2097160 n=8 k=1024 dtype=f32 seed=1", 40);
    CHECK(is_home(&s, (1 << 21) - 1) && is_home(&s, 1 << 21) && is_home(&s, 2097159));
    sample_clear(&s);

    s = sample_of("rmsnorm n=5 d=3 dtype=f32 seed=0", 64);
    CHECK(s.count == 5 && s.home[0] == 0 && s.home[4] == 4);
    sample_clear(&s);
}

ASSAY_TEST(sample, what_has_no_rows_is_refused, "unit") {
    static const struct {
        const char *text, *line;
    } cases[] = {{"cross_entropy t=9 v=5 dtype=f32 seed=0", "depend on each other"},
                 {"rmsnorm n=3x4 d=5 dtype=f32 seed=0", "one number for n"},
                 {"rmsnorm n=9 d=5 dtype=f32 fill=inf seed=0", "cannot use fill=inf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assay_case c;
        assay_report report;
        REQUIRE_OK(assay_case_parse(cases[i].text, &c));
        CHECK_FAILS(assay_check_rows(&c, open_sim(), NULL, 0, 4, false, &report), ASSAY_ERR_USAGE,
                    cases[i].line);
    }
}

ASSAY_TEST(sample, what_the_host_cannot_hold_is_refused, "unit") {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse("adamw n=1000000000000 dtype=f32 seed=0", &c));
    CHECK_FAILS(assay_check_rows(&c, open_sim(), NULL, 0, 4, false, &report), ASSAY_ERR_MEMORY,
                "GiB of host memory");
}

static assay_status no_room(size_t bytes, void **memory) {
    *memory = NULL;
    return assay_fail(ASSAY_ERR_MEMORY, "no room for %zu bytes", bytes);
}

ASSAY_TEST(sample, what_a_gpu_cannot_hold_is_skipped, "unit sim") {
    assay_device small = *open_sim();
    assay_case c;
    assay_report report;
    small.name = "small";
    small.simulated = false;
    small.alloc = no_room;
    REQUIRE_OK(assay_case_parse("rmsnorm n=50 d=6 dtype=f32 seed=0", &c));
    REQUIRE_OK(assay_check_rows(&c, &small, &(const char *){"v1"}, 1, 4, false, &report));
    CHECK(report.verdict == ASSAY_SKIP && strstr(report.rows[0].reason, "no room for"));
    assay_report_clear(&report);
}

/* ---- what the others hold ---- */

typedef struct watch {
    const sample *s;
    sample_axis axis;
    int64_t next;     /* element of the whole */
    int64_t seen[16]; /* how many rows had that small row's data */
    bool right;
} watch;

static void see(void *context, int64_t at, int64_t small, int64_t count) {
    watch *w = context;
    const int64_t row = at / w->axis.inner % w->s->rows;
    const int64_t twin = small / w->axis.inner % w->s->count;
    w->right = w->right && at == w->next && twin == sample_twin(w->s, row) &&
               at % w->axis.inner == small % w->axis.inner;
    ++w->seen[twin];
    w->next = at + count;
}

/* Of a tensor whose rows lie as `axis` says, all elements come once, in order. */
static void check_dealt(const sample *s, sample_axis axis) {
    const int64_t elements = axis.outer * s->rows * axis.inner;
    watch w = {.s = s, .axis = axis, .right = true};
    for (int64_t first = 0; first < elements; first += 97)
        sample_visit(s, axis, first, first + 97 < elements ? first + 97 : elements, see, &w);
    CHECK(w.right && w.next == elements);
    for (int64_t i = 0; i < s->count; ++i)
        CHECK_MSG(w.seen[i] >= elements / axis.inner / s->count / 2, "row %lld: %lld times",
                  (long long)i, (long long)w.seen[i]);
}

ASSAY_TEST(sample, rows_are_dealt_out_evenly, "unit") {
    sample s = sample_of("matmul_accumulate m=3000 n=5 k=4 ta=1 dtype=f32 seed=0", 16);
    check_dealt(&s, (sample_axis){.outer = 1, .inner = 5});
    check_dealt(&s, (sample_axis){.outer = 4, .inner = 1}); /* of a, transposed */
    for (int64_t i = 0; i < s.count; ++i) {
        CHECK(sample_twin(&s, s.home[i]) == i);
        CHECK(sample_home(&s, (sample_axis){.outer = 1, .inner = 5}, 5 * i + 3) ==
              5 * s.home[i] + 3);
    }
    int same = 0; /* as the row 1024 before it */
    for (int64_t row = 1024; row < s.rows; ++row)
        same += sample_twin(&s, row) == sample_twin(&s, row - 1024);
    CHECK_MSG(same < 250, "%d of 1976 rows", same);
    sample_clear(&s);
}

/* ---- verdicts ---- */

static void check_passes(const assay_device *device, const char *text) {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse(text, &c));
    REQUIRE_OK(assay_check_rows(&c, device, NULL, 0, 8, false, &report));
    for (int32_t i = 0; i < report.n_rows; ++i) {
        const assay_row *row = &report.rows[i];
        CHECK_MSG(row->verdict == ASSAY_PASS || row->verdict == ASSAY_SKIP, "%s/%s %s: %s", text,
                  row->variant, row->tensor, row->reason);
    }
    CHECK(report.verdict == ASSAY_PASS || report.verdict == ASSAY_SKIP);
    CHECK(strstr(report.rows[0].repro, " --rows 8 "));
    assay_report_clear(&report);
}

ASSAY_TEST(sample, right_kernels_pass, "unit sim") {
    const assay_isolation how = {.seconds = 60, .gib = 8, .rehearsals = 1};
    const assay_device *apart;
    static const char *const cases[] = {
        "weighted_sum n=300 d=33 pad=3 misalign=1 dtype=f32 seed=0",
        "rmsnorm n=200 d=40 residual=1 dtype=bf16 seed=0",
        "swiglu n=100 d=24 dtype=f32 seed=0",
        "softmax n=100 d=24 dtype=bf16 seed=0",
        "layernorm n=100 d=24 dtype=f32 seed=0",
        "gelu n=100 d=24 form=tanh dtype=f32 seed=0",
        "rope b=50 h=2 s=3 d=8 dtype=f32 seed=0",
        "embedding t=300 v=20 d=12 dtype=f32 seed=0",
        "linear m=200 n=20 k=30 dtype=f32 seed=0",
        "matmul_accumulate m=100 n=20 k=30 ta=1 dtype=f32 seed=0",
        "matmul_accumulate m=100 n=20 k=30 tb=1 dtype=f32 fill=exact seed=0",
        "adamw n=3000 dtype=f32 seed=0",
        "attention b=20 h=2 sq=5 d=8 dtype=f32 seed=0",
        "kronecker b=100 f=4x5 q=3x7 dtype=f32 seed=0",
        "conv3d_groupnorm_mean n=12 ci=2 co=4 s=4x4x4 k=2 g=2 dtype=f32 seed=0",
    };
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const size_t length = strlen(assay_op_at(o)->name);
        bool listed = false;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
            listed = listed || (strncmp(cases[i], assay_op_at(o)->name, length) == 0 &&
                                cases[i][length] == ' ');
        CHECK_MSG(listed == assay_op_at(o)->by_rows, "%s", assay_op_at(o)->name);
    }
    REQUIRE_OK(assay_isolate(open_sim(), &how, &apart));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        check_passes(i % 2 == 0 ? apart : open_sim(), cases[i]);
    assay_isolate_end(apart);
}

ASSAY_TEST(sample, the_worst_element_is_told_by_its_place_in_the_whole, "unit sim") {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse("rmsnorm n=500 d=6 dtype=f32 seed=0", &c));
    REQUIRE_OK(assay_check_rows(&c, open_sim(), &(const char *){"v1"}, 1, 2, false, &report));
    const assay_row *y = &report.rows[0];
    CHECK(y->shape[0] == 500 && y->cmp.count == 12);
    CHECK(y->cmp.worst < 6 || (y->cmp.worst >= 499 * 6 && y->cmp.worst < 500 * 6));
    CHECK(strstr(y->why, "500 rows of 2 kinds"));
    assay_report_clear(&report);
}

#if defined(ASSAY_GPU_TESTS)
/* y has 2^31 elements and some more. The host makes the table and 64 rows.
 */
ASSAY_TEST(sample, a_gpu_beyond_2_to_the_31, "gpu embedding") {
    const assay_isolation how = {.seconds = 60, .gib = 16};
    const assay_device *gpu, *apart;
    assay_case c;
    assay_report report;
    if (assay_device_open("cuda", &gpu) != ASSAY_OK)
        SKIP_GPU(assay_error());
    REQUIRE_OK(assay_case_parse("embedding t=2097160 v=1000 d=1024 dtype=f32 seed=0", &c));
    REQUIRE_OK(assay_isolate(gpu, &how, &apart));
    REQUIRE_OK(assay_check_rows(&c, apart, &(const char *){"v3"}, 1, 64, false, &report));
    for (int32_t i = 0; i < report.n_rows; ++i)
        CHECK_MSG(report.rows[i].verdict == ASSAY_PASS, "%s: %s", report.rows[i].tensor,
                  report.rows[i].reason);
    CHECK(report.verdict == ASSAY_PASS);
    assay_report_clear(&report);
    assay_isolate_end(apart);
}
#endif

#if !defined(ASSAY_RECORDED)
static const struct {
    const char *name;
    assay_verdict verdict;
    const char *reason;
    const char *fill;
} planted[] = {
    {"reads_wrapped", ASSAY_FAIL, "beyond their bound", "normal"},
    {"writes_wrapped", ASSAY_ERROR, "left y unwritten, first at (64)", "normal"},
    {"gradient_wrapped", ASSAY_ERROR, "left dx unwritten, first at (64, 0)", "normal"},
    {"drops_rows", ASSAY_FAIL, "beyond their bound", "normal"},
    {"drops_one", ASSAY_ERROR, "the exact sum over all rows is", "exact"},
    {"drops_one", ASSAY_PASS, "", "normal"}, /* what other data cannot show */
    {"one_row", ASSAY_FAIL, "beyond their bound", "normal"},
    {"one_gradient", ASSAY_FAIL, "beyond their bound", "normal"},
    {"stray_row", ASSAY_ERROR, "at (777, 0), where the row's cotangents are 0", "normal"},
    {"overwrites", ASSAY_ERROR, "changed its input x", "normal"},
};

ASSAY_TEST(sample, what_goes_wrong_past_a_limit_is_found, "unit sim") {
    for (size_t i = 0; i < sizeof planted / sizeof *planted; ++i) {
        const assay_isolation how = {.seconds = 60,
                                     .gib = 8,
                                     .kernel = ASSAY_PLANTED "/large.so",
                                     .op = "weighted_sum",
                                     .variant = planted[i].name};
        const assay_device *apart;
        char text[ASSAY_CASE_TEXT];
        assay_case c;
        assay_report report;
        snprintf(text, sizeof text, "weighted_sum n=2000 d=16 dtype=f32 fill=%s seed=0",
                 planted[i].fill);
        REQUIRE_OK(assay_case_parse(text, &c));
        REQUIRE_OK(assay_isolate(open_sim(), &how, &apart));
        REQUIRE_OK(
            assay_check_rows(&c, apart, &(const char *){planted[i].name}, 1, 16, false, &report));
        bool told = false;
        for (int32_t r = 0; r < report.n_rows; ++r)
            told = told || strstr(report.rows[r].reason, planted[i].reason);
        CHECK_MSG(report.verdict == planted[i].verdict && told, "%s: %s", planted[i].name,
                  report.rows[0].reason);
        assay_report_clear(&report);
        assay_isolate_end(apart);
    }
}
#endif
