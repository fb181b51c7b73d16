#include "cli/check_jobs.h"
#include "cli/report.h"
#include "tests/shim/assay_test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASES = 40, DEADLY = 7, LARGE = 11, LAST = 25 };

typedef struct watch {
    pid_t pid;       /* of this process */
    int64_t taken;   /* reports, in order so far */
    int64_t stop_at; /* no case is wanted behind it */
    bool ordered, broken_seen, alone;
} watch;

static assay_status make_report(int64_t i, const char *reason, assay_report *report) {
    *report = (assay_report){.n_rows = 1, .verdict = ASSAY_PASS};
    report->rows = calloc(1, sizeof *report->rows);
    report->series = calloc(2, sizeof *report->series);
    if (report->rows == NULL || report->series == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory");
    report->series[0] = (double)i;
    report->series[1] = (double)-i;
    report->rows->variant = "v1";
    report->rows->cmp.count = 1;
    report->rows->got = report->series;
    report->rows->want = report->series + 1;
    snprintf(report->rows->reason, sizeof report->rows->reason, "%s", reason);
    return ASSAY_OK;
}

static assay_status judge(void *context, int64_t i, assay_report *report) {
    watch *w = context;
    const bool child = getpid() != w->pid;
    if (i == DEADLY && child)
        raise(SIGKILL);
    if (i == LARGE && child)
        return assay_fail(ASSAY_ERR_MEMORY, "more than a share");
    if (i == LARGE)
        w->alone = true;
    usleep((useconds_t)(i % 3) * 1000); /* they end in another order than they begin */
    return make_report(i, "", report);
}

static assay_status broken(void *context, int64_t i, const char *reason, assay_report *report) {
    watch *w = context;
    w->broken_seen = i == DEADLY && strstr(reason, "signal 9") != NULL;
    return make_report(i, reason, report);
}

static assay_status take(void *context, int64_t i, assay_report *report, bool *more) {
    watch *w = context;
    const assay_row *row = report->rows;
    w->ordered = w->ordered && i == w->taken && *row->got == (double)i && *row->want == (double)-i;
    ++w->taken;
    *more = i != w->stop_at;
    assay_report_clear(report);
    return ASSAY_OK;
}

static watch run(int32_t processes, int64_t stop_at) {
    watch w = {.pid = getpid(), .ordered = true, .stop_at = stop_at};
    const check_pool pool = {.cases = CASES,
                             .processes = processes,
                             .judge = judge,
                             .broken = broken,
                             .take = take,
                             .context = &w};
    CHECK(check_pool_run(&pool) == ASSAY_OK);
    return w;
}

ASSAY_TEST(check_jobs, reports_come_in_the_order_of_the_cases, "unit") {
    for (int32_t processes = 1; processes < 6; ++processes) {
        const watch w = run(processes, -1);
        CHECK_MSG(w.taken == CASES && w.ordered, "%d processes: %lld reports", (int)processes,
                  (long long)w.taken);
        CHECK(w.alone);                          /* it did not fit beside the others */
        CHECK(w.broken_seen == (processes > 1)); /* the others went on without its process */
    }
}

ASSAY_TEST(check_jobs, no_report_behind_the_last_that_is_wanted, "unit") {
    for (int32_t processes = 1; processes < 4; ++processes)
        CHECK(run(processes, LAST).taken == LAST + 1);
}

ASSAY_TEST(check_jobs, a_pass_of_the_set_edge_is_a_failure, "unit") {
    assay_report report;
    REQUIRE_OK(make_report(0, "", &report));
    cli_results results = {.report = &report, .count = 1};
    const struct {
        assay_verdict verdict;
        bool usual, edge;
    } rows[] = {{ASSAY_PASS, false, true},
                {ASSAY_SKIP, false, false},
                {ASSAY_MISTRUSTED, true, false},
                {ASSAY_FAIL, true, true},
                {ASSAY_ERROR, true, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        report.rows->verdict = rows[i].verdict;
        results.edge = false;
        CHECK(report_failed(&results, 0) == rows[i].usual);
        results.edge = true;
        CHECK(report_failed(&results, 0) == rows[i].edge);
    }
    assay_report_clear(&report);
}
