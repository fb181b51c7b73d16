/* The shim's own tests. Each starts this program again with a test that goes wrong (hidden.c) and
 * looks at what came out. They abort instead of using CHECK, which is what they judge. */
#include "tests/shim/assay_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASSED = 0, FAILED = 1, BROKEN = 3, NOTHING_RAN = 4, SKIPPED = 77, ARGUMENTS = 8 };

#define MUST(condition) must((condition), __LINE__, #condition)

static void must(bool condition, int line, const char *text) {
    if (!condition) {
        (void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, line, text);
        abort();
    }
}

typedef struct outcome {
    int status;           /* exit status, or 128 + the signal */
    char output[1 << 24]; /* --write-ctest lists every test there is */
} outcome;

static void become(const char *group, const char *setting, const char *const *arguments) {
    char *argv[ARGUMENTS + 2] = {(char *)"assay_tests"};
    for (int i = 0; i < ARGUMENTS && arguments[i] != NULL; i++) {
        argv[i + 1] = (char *)arguments[i];
    }
    (void)setenv("ASSAY_SHIM_HIDDEN", group, 1);
    (void)unsetenv("ASSAY_REQUIRE_GPU");
    if (setting != NULL) {
        (void)putenv((char *)setting);
    }
    (void)execv("/proc/self/exe", argv);
    _exit(127);
}

/* Starts this program with the hidden tests of `group`, `setting` (NAME=VALUE or NULL) and the
 * arguments, up to a NULL. */
static const outcome *start(const char *group, const char *setting, const char *const *arguments) {
    static outcome result;
    int fds[2];
    MUST(pipe(fds) == 0);
    (void)fflush(NULL);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)dup2(fds[1], STDERR_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        become(group, setting, arguments);
    }
    (void)close(fds[1]);
    FILE *from = fdopen(fds[0], "r");
    MUST(from != NULL);
    size_t n = fread(result.output, 1, sizeof result.output - 1, from);
    result.output[n] = '\0';
    (void)fclose(from);
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return &result;
}

static void expect(const char *group, const char *setting, const char *const *arguments, int status,
                   const char *text) {
    const outcome *o = start(group, setting, arguments);
    if (o->status != status || strstr(o->output, text) == NULL) {
        (void)fprintf(stderr, "%s %s %s: exit %d, wanted %d with \"%s\"; it printed:\n%s\n", group,
                      arguments[0], arguments[1] == NULL ? "" : arguments[1], o->status, status,
                      text, o->output);
        abort();
    }
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

ASSAY_TEST(shim, good_test_passes, "unit smoke") {
    expect("good", NULL, ARGS("--run", "hidden.pass"), PASSED, "[  PASSED  ] 1 test");
}

ASSAY_TEST(shim, run_takes_the_exact_name, "unit smoke") {
    expect("good", NULL, ARGS("--run", "hidden.b=16 f=32x32 -x *? dtype=f64 seed=0"), FAILED,
           "[  FAILED  ] 1 test");
    expect("good", NULL, ARGS("--run", "hidden.b=16 f=32x32"), PASSED, "[  PASSED  ] 1 test");
    expect("good", NULL, ARGS("--run", "hidden.*"), NOTHING_RAN, "no test is called");
}

ASSAY_TEST(shim, every_kind_of_failure_fails, "unit smoke") {
    static const struct {
        const char *name;
        int status;
        const char *text;
    } bad[] = {
        {"check", FAILED, "not true: 1 + 1 == 3"},
        {"check then skip", FAILED, "not true: 1 + 1 == 3"},
        {"nested abort", FAILED, "at the bottom"},
        {"thread check", FAILED, "not true: 1 + 1 == 3"},
        {"thread abort", FAILED, "at the bottom"},
        {"thread skip", FAILED, "only the test's own thread"},
        {"standard exception", FAILED, "C++ exception: thrown on purpose"},
        {"foreign exception", BROKEN, "a foreign exception"},
        {"thread exception", 128 + SIGABRT, "thrown in a thread"},
        {"exit 0", BROKEN, "a test ended the process"},
        {"exit thread", BROKEN, "pthread_exit on the test's thread"},
        {"crash", 128 + SIGABRT, ""},
        {"not dying", FAILED, "did not die"},
        {"dying otherwise", FAILED, "another message"},
        {"failing before death", FAILED, "failed a check before it died"},
        {"wrong status", FAILED, "status 4, not 1 (the line)"},
        {"wrong line", FAILED, "does not contain \"another line\""},
        {"require ok", FAILED, "fail_with_line(): the line"},
        {"streq", FAILED, "\"one\" is not \"two\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "hidden.%s", bad[i].name);
        expect("bad", NULL, ARGS("--run", name), bad[i].status, bad[i].text);
    }
}

ASSAY_TEST(shim, one_failure_among_passes_fails, "unit smoke") {
    expect("bad", NULL, ARGS("--run", "hidden.pass", "--run", "hidden.check"), FAILED,
           "[  FAILED  ] hidden.check");
}

ASSAY_TEST(shim, nothing_selected_is_an_error, "unit smoke") {
    expect("good", NULL, ARGS("--gtest_filter=no.such"), NOTHING_RAN, "no test ran");
    expect("good", NULL, ARGS("--run", "hidden.none"), NOTHING_RAN, "hidden.none");
    expect("good", "GTEST_FILTER=no.such", ARGS("--run", "hidden.pass"), NOTHING_RAN,
           "no test ran");
    expect("good", NULL, ARGS("--gtest_repeat=0", "--run", "hidden.pass"), NOTHING_RAN,
           "no test ran");
    expect("good", NULL, ARGS("hidden.pass"), 2, "usage:");
}

ASSAY_TEST(shim, all_skipped_is_77, "unit smoke") {
    expect("skips", NULL, ARGS("--run", "hidden.one"), SKIPPED, "for a reason");
    expect("skips", NULL, ARGS("--run", "hidden.one", "--run", "hidden.two"), SKIPPED, "");
    expect("skips", NULL, ARGS("--run", "hidden.one", "--run", "hidden.three"), PASSED, "");
}

ASSAY_TEST(shim, gpu_may_be_required, "unit smoke") {
    expect("bad", NULL, ARGS("--run", "hidden.skip gpu"), SKIPPED, "no GPU here");
    expect("bad", "ASSAY_REQUIRE_GPU=0", ARGS("--run", "hidden.skip gpu"), SKIPPED, "no GPU here");
    expect("bad", "ASSAY_REQUIRE_GPU=1", ARGS("--run", "hidden.skip gpu"), FAILED, "no GPU here");
}

ASSAY_TEST(shim, bad_registrations_are_refused, "unit smoke") {
    expect("collision", NULL, ARGS("--run", "hidden.same name"), BROKEN, "two tests are called");
    expect("colon", NULL, ARGS("--gtest_list_tests"), BROKEN, "bad name");
    expect("quote", NULL, ARGS("--gtest_list_tests"), BROKEN, "bad name");
    expect("disabled", NULL, ARGS("--gtest_list_tests"), BROKEN, "would not run it");
    expect("labels", NULL, ARGS("--gtest_list_tests"), BROKEN, "labels are words");
    expect("early", NULL, ARGS("--gtest_list_tests"), BROKEN, "before any test: before main");
}

static void die_with_message(void *context) {
    (void)fprintf(stderr, "dying of %s\n", (const char *)context);
    abort();
}

ASSAY_TEST(shim, expected_death_passes, "unit smoke") {
    static char cause[] = "old age";
    assay_test_expect_death(__FILE__, __LINE__, die_with_message, cause,
                            "dying of (old|great) age");
}

ASSAY_TEST(shim, ctest_lines, "unit smoke") {
    const outcome *o = start(
        "skips", NULL,
        ARGS("--write-ctest", "/dev/stdout", "--labels", "race", "--timeout", "7", "--cost", "9"));
    MUST(o->status == PASSED);
    MUST(strstr(o->output, "add_test([==[hidden.one]==] [==[/") != NULL);
    MUST(strstr(o->output, "]==] --run [==[hidden.one]==])\n") != NULL);
    MUST(strstr(o->output, "set_tests_properties([==[hidden.one]==] PROPERTIES LABELS "
                           "[==[unit;race]==] TIMEOUT 7 COST 9 SKIP_RETURN_CODE 77)\n") != NULL);
    o = start("gpu", NULL, ARGS("--write-ctest", "/dev/stdout"));
    MUST(strstr(o->output, "] --run [==[hidden.one]==] --run [==[hidden.three]==])\n") != NULL);
    MUST(strstr(o->output, "add_test([==[hidden: gpu b 1]==] ") != NULL);
    MUST(strstr(o->output, "] --run [==[hidden.two]==])\n") != NULL);
    o = start("skips", NULL, ARGS("--write-ctest", "/dev/stdout", "--batch", "2"));
    MUST(strstr(o->output, "] --run [==[hidden.one]==] --run [==[hidden.two]==])\n") != NULL);
    MUST(strstr(o->output, "add_test([==[hidden: unit 2]==] ") != NULL);
    expect("gpu", NULL, ARGS("--run", "hidden.one", "--run", "hidden.three"), FAILED,
           "[  PASSED  ] 1 test");
    expect("skips", NULL, ARGS("--write-ctest", "/nowhere/file"), BROKEN, "/nowhere/file");
    expect("skips", NULL, ARGS("--write-ctest", "/dev/full"), BROKEN, "cannot be written");
}
