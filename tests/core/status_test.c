#include "assay/status.h"
#include "assay/verdict.h"
#include "tests/shim/assay_test.h"

#include <pthread.h>
#include <string.h>

ASSAY_TEST(status, records_one_line, "unit") {
    CHECK(assay_fail(ASSAY_ERR_FILE, "%s:\nline %d\r", "a.h5", 7) == ASSAY_ERR_FILE);
    CHECK_STREQ(assay_error(), "a.h5: line 7 ");
}

ASSAY_TEST(status, may_quote_the_line_before, "unit") {
    (void)assay_fail(ASSAY_ERR_FILE, "inner");
    (void)assay_fail(ASSAY_ERR_FILE, "outer: %s", assay_error());
    CHECK_STREQ(assay_error(), "outer: inner");
}

ASSAY_TEST(status, cuts_a_long_line, "unit") {
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    (void)assay_fail(ASSAY_ERR_FILE, "%s", text);
    CHECK(strlen(assay_error()) == 1023);
}

static void *fail_elsewhere(void *seen) {
    *(bool *)seen = assay_error()[0] == '\0';
    (void)assay_fail(ASSAY_ERR_DEVICE, "theirs");
    return NULL;
}

ASSAY_TEST(status, belongs_to_the_thread, "unit") {
    pthread_t thread;
    bool empty_there = false;
    (void)assay_fail(ASSAY_ERR_USAGE, "ours");
    REQUIRE(pthread_create(&thread, NULL, fail_elsewhere, &empty_there) == 0);
    pthread_join(thread, NULL);
    CHECK(empty_there);
    CHECK_STREQ(assay_error(), "ours");
}

ASSAY_TEST(verdict, the_worst_wins_but_a_skip_leaves_the_pass, "unit") {
    for (int a = ASSAY_PASS; a <= ASSAY_ERROR; ++a) {
        for (int b = ASSAY_PASS; b <= ASSAY_ERROR; ++b) {
            int want = a > b ? a : b;
            if (a + b == ASSAY_SKIP)
                want = ASSAY_PASS;
            CHECK((int)assay_verdict_merge((assay_verdict)a, (assay_verdict)b) == want);
        }
    }
    CHECK_STREQ(assay_verdict_name(ASSAY_MISTRUSTED), "mistrusted");
    CHECK_STREQ(assay_verdict_name(ASSAY_PASS), "pass");
    CHECK_STREQ(assay_verdict_name((assay_verdict)99), "error");
}
