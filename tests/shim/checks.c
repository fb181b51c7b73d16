#include "tests/shim/assay_test.h"

#include <string.h>

void assay_test_check_fails(const char *file, int line, const char *call, assay_status got,
                            assay_status want, const char *text) {
    if (got != want) {
        assay_test_fail(file, line, "%s: status %d, not %d (%s)", call, (int)got, (int)want,
                        got == ASSAY_OK ? "it did not fail" : assay_error());
    } else if (want == ASSAY_OK) {
        assay_test_fail(file, line, "%s: CHECK_FAILS wants a failing status", call);
    } else if (strstr(assay_error(), text) == NULL) {
        assay_test_fail(file, line, "%s: the error line \"%s\" does not contain \"%s\"", call,
                        assay_error(), text);
    }
}

void assay_test_check_streq(const char *file, int line, const char *a, const char *b) {
    if (a == NULL || b == NULL || strcmp(a, b) != 0) {
        assay_test_fail(file, line, "\"%s\" is not \"%s\"", a == NULL ? "(null)" : a,
                        b == NULL ? "(null)" : b);
    }
}
