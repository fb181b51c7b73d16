/* Children and workers: every way to end is told from every other, and none is left behind. */
#include "engine/process/pool.h"
#include "tests/shim/assay_test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const process_limits patient = {.seconds = 60, .bytes = INFINITY};

static bool has_children(void) {
    return waitpid(-1, NULL, WNOHANG | __WALL) >= 0;
}

/* ---- a child ---- */

typedef enum deed { ANSWER, LEAVE, CRASH, HANG } deed;

static void do_deed(int channel, void *context) {
    const deed *what = context;
    char word;
    if (channel_receive(channel, &word, 1, NULL) != 1)
        return;
    if (*what == ANSWER)
        (void)channel_send(channel, "yes", 3, -1);
    else if (*what == LEAVE)
        _exit(7);
    else if (*what == CRASH)
        (void)raise(SIGKILL);
    for (;;)
        (void)pause();
}

/* What came of asking it; *end: how it ended then. */
static size_t ask(deed what, const process_limits *limits, process *p) {
    char answer[8];
    REQUIRE(process_fork(p, do_deed, &what) == 0);
    CHECK(process_send(p, "?", 1, -1));
    return process_read(p, limits, answer, sizeof answer);
}

ASSAY_TEST(process, every_end_is_told_from_every_other, "unit") {
    static const process_limits hasty = {.seconds = 0.05, .bytes = INFINITY};
    static const process_limits narrow = {.seconds = 60, .bytes = 1};
    static const struct {
        deed what;
        const process_limits *limits;
        process_end end;
        int code;
        const char *how;
    } children[] = {
        {LEAVE, &patient, PROCESS_EXIT, 7, "ended with exit code 7 before it was done"},
        {CRASH, &patient, PROCESS_CRASH, SIGKILL, "ended by signal 9 (Killed)"},
        {HANG, &hasty, PROCESS_HANG, 0, "was stopped: no answer after 0.05 s"},
        {HANG, &narrow, PROCESS_MEMORY, 0, "was stopped: it took more than 9.3e-10 GiB of memory"},
    };
    char line[PROCESS_LINE];
    process p;
    for (size_t i = 0; i < sizeof children / sizeof *children; ++i) {
        CHECK(ask(children[i].what, children[i].limits, &p) == 0);
        CHECK_MSG(p.pid == 0 && p.end == children[i].end && p.code == children[i].code,
                  "child %zu: end %d, code %d", i, (int)p.end, p.code);
        CHECK_STREQ(process_how(&p, line), children[i].how);
        CHECK(!process_send(&p, "?", 1, -1));
    }
    CHECK(ask(ANSWER, &patient, &p) == 3 && p.end == PROCESS_NOT_ENDED);
    process_stop(&p);
    CHECK(p.pid == 0 && p.end == PROCESS_STOPPED);
    CHECK(!has_children());
}

ASSAY_TEST(process, of_much_that_is_printed_both_ends_are_kept, "unit") {
    char *const argv[] = {"sh", "-c", "echo first; seq 1 20000; echo last; exit 3", NULL};
    char answer[8];
    process p;
    REQUIRE(process_start(&p, argv, PROCESS_MESSAGES, -1) == 0);
    CHECK(process_read(&p, &patient, answer, sizeof answer) == 0);
    CHECK(p.end == PROCESS_EXIT && p.code == 3);
    CHECK(strncmp(p.said, "first\n1\n", 8) == 0);
    CHECK(p.said_bytes > 5 && strcmp(p.said + p.said_bytes - 5, "last\n") == 0);
    char *const missing[] = {"/nonexistent/program", NULL};
    CHECK(process_start(&p, missing, PROCESS_LINES, -1) != 0 && p.pid == 0);
    CHECK(!has_children());
}

/* ---- workers ---- */

typedef struct sum {
    int32_t number, twice;
} sum;

/* Number 3 takes its worker down, number 5 fails. */
static assay_status add(void *context, void *state, void *job) {
    sum *s = job;
    (void)context;
    (void)state;
    if (s->number == 3)
        _exit(9);
    s->twice = 2 * s->number;
    return s->number == 5 ? assay_fail(ASSAY_ERR_FILE, "no five") : ASSAY_OK;
}

ASSAY_TEST(pool, jobs_are_done_or_said_not_to_be, "unit") {
    const pool_plan plan = {.workers = 2, .job_bytes = sizeof(sum), .work = add};
    int32_t next = 0, done = 0, died = 0, failed = 0;
    pool p;
    REQUIRE_OK(pool_start(&p, &plan));
    while (done + died + failed < 12) {
        for (sum *s; next < 12 && (s = pool_idle(&p)); ++next) {
            *s = (sum){.number = next};
            REQUIRE_OK(pool_give(&p, s));
        }
        pool_done what;
        const assay_status status = pool_wait(&p, -1, &what);
        const sum *s = what.job;
        REQUIRE(s != NULL);
        if (what.end != PROCESS_NOT_ENDED) {
            CHECK(s->number == 3 && what.end == PROCESS_EXIT);
            CHECK_STREQ(what.line, "ended with exit code 9 before it was done");
            ++died;
        } else if (status != ASSAY_OK) {
            CHECK_FAILS(status, ASSAY_ERR_FILE, "no five");
            ++failed;
        } else {
            CHECK(s->twice == 2 * s->number);
            ++done;
        }
    }
    CHECK(done == 10 && died == 1 && failed == 1 && pool_busy(&p) == 0);
    pool_end(&p);
    CHECK(!has_children());
}

ASSAY_TEST(pool, a_worker_that_cannot_be_replaced_is_an_error, "unit") {
    const pool_plan plan = {.workers = 1, .job_bytes = sizeof(sum), .work = add};
    struct rlimit files, none;
    pool_done what;
    pool p;
    REQUIRE_OK(pool_start(&p, &plan));
    sum *s = pool_idle(&p);
    s->number = 3;
    REQUIRE_OK(pool_give(&p, s));
    REQUIRE_OK(pool_wait(&p, -1, &what));
    CHECK(what.end == PROCESS_EXIT);
    REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
    none = files;
    none.rlim_cur = 0;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    const assay_status status = pool_give(&p, s);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK_FAILS(status, ASSAY_ERR_MEMORY, "a worker cannot be started");
    CHECK(pool_busy(&p) == 0);
    pool_end(&p);
}

static assay_status refuse(void *context, int32_t worker, void **state) {
    (void)context;
    (void)state;
    return worker == 1 ? assay_fail(ASSAY_ERR_UNSUPPORTED, "not here") : ASSAY_OK;
}

ASSAY_TEST(pool, what_a_worker_lacks_is_the_error_of_all, "unit") {
    pool_plan plan = {.workers = 2, .job_bytes = sizeof(sum), .begin = refuse, .work = add};
    pool p;
    CHECK_FAILS(pool_start(&p, &plan), ASSAY_ERR_UNSUPPORTED, "not here");
    plan.workers = 0;
    CHECK_FAILS(pool_start(&p, &plan), ASSAY_ERR_USAGE, "must be 1 to 256");
    CHECK(!has_children());
}
