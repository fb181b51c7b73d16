/* Every variant on every case of the smoke, ci and edge sets, on every device. */
#include "engine/check.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void fail_row(const assay_row *row) {
    assay_test_fail(__FILE__, __LINE__, "%s %s: %s\n  why: %s\n  %s",
                    assay_verdict_name(row->verdict), row->tensor, row->reason, row->why,
                    row->repro);
}

/* Of one variant; -1 for one that was skipped. */
static int32_t count_mistrusted(const assay_report *report, const char *variant) {
    int32_t mistrusted = 0;
    for (int32_t i = 0; i < report->n_rows; ++i) {
        const assay_row *row = &report->rows[i];
        if (strcmp(row->variant, variant) != 0)
            continue;
        if (row->verdict == ASSAY_SKIP)
            return -1;
        mistrusted += row->verdict == ASSAY_MISTRUSTED;
    }
    return mistrusted;
}

/* A degenerate case must be survived, and the engine must not call it proof. */
static void check_edge(const assay_report *report) {
    for (int32_t i = 0; i < report->n_rows; ++i) {
        const assay_row *row = &report->rows[i];
        if (row->verdict == ASSAY_FAIL || row->verdict == ASSAY_ERROR)
            fail_row(row);
        CHECK_MSG(count_mistrusted(report, row->variant) != 0,
                  "%s: an empty case is not mistrusted", row->variant);
    }
}

static void check_report(const assay_report *report) {
    for (int32_t i = 0; i < report->n_rows; ++i)
        if (report->rows[i].verdict != ASSAY_PASS && report->rows[i].verdict != ASSAY_SKIP)
            fail_row(&report->rows[i]);
    CHECK(report->verdict == ASSAY_PASS);
}

static void run(void *context) {
    const suite_item *item = context;
    const char *variants[SUITE_VARIANTS];
    assay_report report;
    for (int32_t i = 0; i < item->n_together; ++i)
        variants[i] = item->together[i];
    REQUIRE_OK(assay_check(&item->c, suite_device(item), variants, item->n_together, &report));
    if (report.verdict == ASSAY_SKIP) {
        char reason[sizeof report.rows[0].reason];
        memcpy(reason, report.rows[0].reason, sizeof reason);
        assay_report_clear(&report);
        SKIP("%s", reason);
    }
    if (item->set == ASSAY_EDGE)
        check_edge(&report);
    else
        check_report(&report);
    assay_report_clear(&report);
}

/* A model of many layers makes the same accesses in each. */
enum { MANY_INPUTS = 100 };

static bool is_deep(const assay_case *c) {
    assay_signature sig;
    if (c->op->signature(&c->params, &sig) != ASSAY_OK)
        return false;
    const bool deep = sig.n_in > MANY_INPUTS;
    assay_signature_clear(&sig);
    return deep;
}

/* Under instruments, which look at accesses, not at numbers. v1 and libraries have no tiles, whose
 * edges need many shapes: the smoke cases, and those of edge, reach every access of theirs. f16
 * takes the way of bf16. */
static bool reaches_more(const suite_item *item) {
    const bool tiled = strcmp(item->variant, "v1") != 0 && !item->library;
    return tiled && item->c.params.dtype != ASSAY_F16 && !is_deep(&item->c);
}

/* Numbers of one kind send a kernel one way. */
static assay_fill kind_of(assay_fill fill) {
    switch (fill) {
    case ASSAY_FILL_HUGE:
    case ASSAY_FILL_NEGATIVE:
        return fill;
    case ASSAY_FILL_INF:
    case ASSAY_FILL_NAN:
        return ASSAY_FILL_INF;
    case ASSAY_FILL_WIDE:
    case ASSAY_FILL_DENORMAL:
    case ASSAY_FILL_MIXED:
        return ASSAY_FILL_WIDE;
    default:
        return ASSAY_FILL_NORMAL;
    }
}

static bool takes_indices(const assay_case *c) {
    assay_signature sig;
    bool indices = false;
    if (c->op->signature(&c->params, &sig) != ASSAY_OK)
        return false;
    for (int32_t i = 0; i < sig.n_in; ++i)
        indices = indices || sig.in[i].dtype == ASSAY_I32;
    assay_signature_clear(&sig);
    return indices;
}

/* What says where a kernel's threads access memory: the case, but for numbers of the same kind. */
static void write_accesses(const assay_case *c, char text[ASSAY_CASE_TEXT]) {
    assay_case like = *c;
    like.fill = kind_of(c->fill);
    if (!takes_indices(c))
        like.seed = 0;
    assay_case_format(&like, text);
}

/* Whether an earlier case makes the same accesses. Asked of each case in turn, once. */
static bool repeats(const assay_case *c) {
    static struct seen {
        char text[ASSAY_CASE_TEXT];
        struct seen *before;
    } * last;
    char text[ASSAY_CASE_TEXT];
    write_accesses(c, text);
    for (const struct seen *s = last; s; s = s->before)
        if (strcmp(s->text, text) == 0)
            return true;
    struct seen *now = malloc(sizeof *now);
    if (!now)
        abort();
    memcpy(now->text, text, sizeof text);
    now->before = last;
    last = now;
    return false;
}

/* RECORDED: the program of recorded kernels; BESIDE: the one beside it. */
enum build { PLAIN, RECORDED, BESIDE, SANITIZED };
#if defined(ASSAY_RECORDED)
static const enum build build = RECORDED;
#elif defined(ASSAY_INSTRUMENTED)
static const enum build build = SANITIZED;
#elif defined(ASSAY_RECORDED_BESIDE)
static const enum build build = BESIDE;
#else
static const enum build build = PLAIN;
#endif

/* To record: elements, or products of them, of which kronecker and attention make many of few. */
static bool is_large(const assay_case *c) {
    static const double most_flops = 1 << 20;
    assay_work work;
    const bool known =
        assay_op_work(c->op, &c->params, ASSAY_FORWARD, &work) == ASSAY_OK && isfinite(work.flops);
    return suite_elements(c) > SUITE_LARGE || (known && work.flops > most_flops);
}

static bool is_same_case(const suite_item *a, const suite_item *b) {
    char one[ASSAY_CASE_TEXT], other[ASSAY_CASE_TEXT];
    return a->set == b->set &&
           strcmp(assay_case_format(&a->c, one), assay_case_format(&b->c, other)) == 0;
}

/* The same of an item: variants of a case come one after the other. */
static bool is_repeat(const suite_item *item) {
    static suite_item asked;
    static bool answer;
    if (!asked.c.op || !is_same_case(&asked, item)) {
        asked = *item;
        answer = repeats(&item->c);
    }
    return answer;
}

/* A case of ci runs once: recorded if it is small enough, and the recorder compares its numbers,
 * too; otherwise plainly, but for large ones of f16. A case whose accesses an earlier one makes
 * runs plainly. Every night (ASSAY_ALL_CASES) it runs in each build. */
static bool worth_running(const suite_item *item) {
    const bool again = is_repeat(item) && !SUITE_ALL_CASES;
    if (item->set != ASSAY_CI || build == PLAIN)
        return true;
    const bool more = item->simulated && reaches_more(item) && !again;
    const bool large = is_large(&item->c);
    switch (build) {
    case RECORDED:
        return more && !large;
    case SANITIZED:
        return more && SUITE_ALL_CASES;
    default:
        if (item->simulated && item->c.params.dtype == ASSAY_F16 &&
            suite_elements(&item->c) > SUITE_LARGE)
            return SUITE_ALL_CASES;
        return SUITE_ALL_CASES || !more || large;
    }
}

/* The test of the last case on each device: all variants of a case share the oracle's answers. */
static suite_item open_test[2];

static void end_test(int device) {
    suite_item *t = &open_test[device];
    if (t->n_together > 0)
        suite_register("check", "", "check", t, run);
    t->n_together = 0;
}

static void add(const suite_item *item) {
    suite_item *t = &open_test[item->simulated];
    if (!worth_running(item))
        return;
    if (t->n_together > 0 && (t->n_together == SUITE_VARIANTS || !is_same_case(t, item)))
        end_test(item->simulated);
    if (t->n_together == 0) {
        *t = *item;
        t->variant[0] = '\0';
    }
    memcpy(t->together[t->n_together++], item->variant, sizeof item->variant);
}

__attribute__((constructor)) static void register_checks(void) {
    suite_visit("check", ASSAY_SMOKE, ASSAY_CI, add);
    suite_visit("check", ASSAY_EDGE, ASSAY_EDGE, add);
    end_test(0);
    end_test(1);
}
