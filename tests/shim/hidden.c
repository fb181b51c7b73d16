/* Tests that go wrong on purpose, one for each way to do so. They exist only in a process that
 * shim_test.c starts with ASSAY_SHIM_HIDDEN set to one of the groups below. */
#include "tests/shim/assay_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

static void in_thread(void *(*body)(void *)) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void pass(void *context) {
    (void)context;
}

static void check(void *context) {
    (void)context;
    CHECK(1 + 1 == 3);
}

static void check_then_skip(void *context) {
    (void)context;
    CHECK(1 + 1 == 3);
    SKIP("does not rescue it");
}

static void innermost(void) {
    assay_test_abort(__FILE__, __LINE__, "at the bottom");
}

static void inner(void (*call)(void)) {
    call();
    _exit(0);
}

static void nested_abort(void *context) {
    (void)context;
    inner(innermost);
}

static void *check_in_thread(void *unused) {
    CHECK(1 + 1 == 3);
    return unused;
}

static void thread_check(void *context) {
    (void)context;
    in_thread(check_in_thread);
}

static void *abort_in_thread(void *unused) {
    (void)unused;
    inner(innermost);
    return NULL;
}

static void thread_abort(void *context) {
    (void)context;
    in_thread(abort_in_thread);
}

static void *skip_in_thread(void *unused) {
    (void)unused;
    SKIP("not from here");
}

static void thread_skip(void *context) {
    (void)context;
    in_thread(skip_in_thread);
}

/* What `throw std::runtime_error(what)` calls in libstdc++. */
__attribute__((noreturn)) void
throw_runtime_error(const char *what) __asm__("_ZSt21__throw_runtime_errorPKc");

static void standard_exception(void *context) {
    (void)context;
    throw_runtime_error("thrown on purpose");
}

static void foreign_exception(void *context) {
    (void)context;
    static struct _Unwind_Exception exception;
    (void)_Unwind_RaiseException(&exception);
}

static void *throw_in_thread(void *unused) {
    (void)unused;
    throw_runtime_error("thrown in a thread");
}

static void thread_exception(void *context) {
    (void)context;
    in_thread(throw_in_thread);
}

static void exit_0(void *context) {
    (void)context;
    exit(0);
}

static void exit_thread(void *context) {
    (void)context;
    pthread_exit(NULL);
}

static void crash(void *context) {
    (void)context;
    abort();
}

static void skip(void *context) {
    (void)context;
    SKIP("for %s", "a reason");
}

static void skip_gpu(void *context) {
    (void)context;
    SKIP_GPU("no GPU here");
}

static void not_dying(void *context) {
    assay_test_expect_death(__FILE__, __LINE__, pass, context, "");
}

static void dying_otherwise(void *context) {
    assay_test_expect_death(__FILE__, __LINE__, crash, context, "a message that it does not leave");
}

static void failing_before_death(void *context) {
    assay_test_expect_death(__FILE__, __LINE__, nested_abort, context, "at the bottom");
}

static assay_status fail_with_line(void) {
    return assay_fail(ASSAY_ERR_FILE, "the line");
}

static void wrong_status(void *context) {
    (void)context;
    CHECK_FAILS(fail_with_line(), ASSAY_ERR_USAGE, "the line");
}

static void wrong_line(void *context) {
    (void)context;
    CHECK_FAILS(fail_with_line(), ASSAY_ERR_FILE, "another line");
}

static void require_ok(void *context) {
    (void)context;
    REQUIRE_OK(fail_with_line());
    _exit(0);
}

static void streq(void *context) {
    (void)context;
    CHECK_STREQ("one", "two");
}

static const struct {
    const char *group, *name, *labels;
    void (*run)(void *);
} hidden[] = {
    {"good", "pass", "unit", pass},
    {"good", "b=16 f=32x32 -x *? dtype=f64 seed=0", "unit", check},
    {"good", "b=16 f=32x32", "unit", pass},
    {"bad", "pass", "unit", pass},
    {"bad", "check", "unit", check},
    {"bad", "check then skip", "unit", check_then_skip},
    {"bad", "nested abort", "unit", nested_abort},
    {"bad", "thread check", "unit", thread_check},
    {"bad", "thread abort", "unit", thread_abort},
    {"bad", "thread skip", "unit", thread_skip},
    {"bad", "standard exception", "unit", standard_exception},
    {"bad", "foreign exception", "unit", foreign_exception},
    {"bad", "thread exception", "unit", thread_exception},
    {"bad", "exit 0", "unit", exit_0},
    {"bad", "exit thread", "unit", exit_thread},
    {"bad", "crash", "unit", crash},
    {"bad", "skip gpu", "unit", skip_gpu},
    {"bad", "not dying", "unit", not_dying},
    {"bad", "dying otherwise", "unit", dying_otherwise},
    {"bad", "failing before death", "unit", failing_before_death},
    {"bad", "wrong status", "unit", wrong_status},
    {"bad", "wrong line", "unit", wrong_line},
    {"bad", "require ok", "unit", require_ok},
    {"bad", "streq", "unit", streq},
    {"skips", "one", "unit", skip},
    {"skips", "two", "unit", skip},
    {"skips", "three", "unit", pass},
    {"collision", "same name", "unit", pass},
    {"collision", "same name", "unit", pass},
    {"colon", "a:b", "unit", pass},
    {"quote", "a'b", "unit", pass},
    {"disabled", "DISABLED_a", "unit", pass},
    {"early", "never", "unit", pass},
    {"gpu", "one", "gpu a", pass},
    {"gpu", "two", "unit a", pass},
    {"gpu", "three", "gpu a", check},
    {"gpu", "four", "gpu b", pass},
};

__attribute__((constructor)) static void register_hidden(void) {
    const char *group = getenv("ASSAY_SHIM_HIDDEN");
    if (group == NULL) {
        return;
    }
    if (strcmp(group, "early") == 0) {
        assay_test_fail(__FILE__, __LINE__, "before main");
    }
    if (strcmp(group, "labels") == 0) {
        assay_test_register("hidden", "label", "UNIT", pass, NULL);
    }
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (strcmp(hidden[i].group, group) == 0) {
            assay_test_register("hidden", hidden[i].name, hidden[i].labels, hidden[i].run, NULL);
        }
    }
}
