/*
 * Tests in C on top of GoogleTest. This header is all that a test sees; shim.cpp, the one C++ file,
 * registers the tests with GoogleTest and turns its own exceptions and fatal failures into failed
 * tests.
 *
 *     ASSAY_TEST(rng, known_answers, "unit") {
 *         CHECK(out[0] == 0x6627e8d5u);
 *     }
 *
 * Labels are words separated by blanks: unit golden check property sim race gpu smoke <op>. They
 * become the ctest labels of that test; while one labelled `alone` runs, ctest runs no other. A
 * test may be called by any name without ':' and quotes; case texts are fine.
 */
#ifndef ASSAY_TEST_H
#define ASSAY_TEST_H

#include "assay/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers one test; name and labels are copied, context is kept as it is. Call it from a
 * function marked __attribute__((constructor)). */
void assay_test_register(const char *suite, const char *name, const char *labels,
                         void (*run)(void *context), void *context);

/* The test registered last counts as so many where tests share a process; else as one. */
void assay_test_weigh(unsigned tests);

/* False where this process was started with --run for other tests alone: none of a name that holds
 * `word` is wanted of that suite. For a suite that registers thousands, which takes longer than one
 * runs. */
bool assay_test_wanted(const char *suite, const char *word);

#define ASSAY_TEST(suite, name, labels)                                                            \
    static void suite##_##name(void);                                                              \
    static void suite##_##name##_run(void *context) {                                              \
        (void)context;                                                                             \
        suite##_##name();                                                                          \
    }                                                                                              \
    __attribute__((constructor)) static void suite##_##name##_register(void) {                     \
        assay_test_register(#suite, #name, labels, suite##_##name##_run, NULL);                    \
    }                                                                                              \
    static void suite##_##name(void)

/* Records a failure of the running test; safe in any thread. */
void assay_test_fail(const char *file, int line, const char *format, ...) ASSAY_PRINTF(3, 4);
/* The same and ends the test, from any depth of calls; in a helper thread it ends that thread. */
__attribute__((noreturn)) void assay_test_abort(const char *file, int line, const char *format, ...)
    ASSAY_PRINTF(3, 4);
/* Ends the test as skipped, for a reason. With ASSAY_REQUIRE_GPU=1, SKIP_GPU fails instead. */
__attribute__((noreturn)) void assay_test_skip(const char *file, int line, const char *format, ...)
    ASSAY_PRINTF(3, 4);
__attribute__((noreturn)) void assay_test_skip_gpu(const char *file, int line, const char *reason);

/* Runs `body(context)` in a child process and expects it to die with a message matching `regex`
 * (POSIX extended) on its standard error. */
void assay_test_expect_death(const char *file, int line, void (*body)(void *), void *context,
                             const char *regex);

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : assay_test_fail(__FILE__, __LINE__, "not true: %s", #condition))
#define CHECK_MSG(condition, ...)                                                                  \
    ((condition) ? (void)0 : assay_test_fail(__FILE__, __LINE__, __VA_ARGS__))
#define REQUIRE(condition)                                                                         \
    ((condition) ? (void)0 : assay_test_abort(__FILE__, __LINE__, "not true: %s", #condition))
#define REQUIRE_MSG(condition, ...)                                                                \
    ((condition) ? (void)0 : assay_test_abort(__FILE__, __LINE__, __VA_ARGS__))
/* A call that must succeed; its error line is the message. */
#define REQUIRE_OK(call)                                                                           \
    ((call) == ASSAY_OK ? (void)0                                                                  \
                        : assay_test_abort(__FILE__, __LINE__, "%s: %s", #call, assay_error()))
/* A call that must fail with `status` and a line that contains `text`. */
#define CHECK_FAILS(call, status, text)                                                            \
    assay_test_check_fails(__FILE__, __LINE__, #call, (call), (status), (text))
void assay_test_check_fails(const char *file, int line, const char *call, assay_status got,
                            assay_status want, const char *text);
#define CHECK_STREQ(a, b) assay_test_check_streq(__FILE__, __LINE__, (a), (b))
void assay_test_check_streq(const char *file, int line, const char *a, const char *b);
#define SKIP(...)        assay_test_skip(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP_GPU(reason) assay_test_skip_gpu(__FILE__, __LINE__, (reason))

#ifdef __cplusplus
}
#endif

#endif
