/* Which headers have tests of their own, and what the output of tests that failed says. */
#include "mutants/unit_check.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 128 };

/* tests/sim/<name>.cu below `root`. */
static void write_test(const char *root, const char *name, const char *text) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/tests/sim/%s.cu", root, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
}

static bool has_test(const char *root, const char *path, const char *of) {
    char name[UNIT_NAME] = "";
    bool found = false;
    REQUIRE_OK(unit_find(root, path, name, &found));
    return found && strcmp(name, of) == 0;
}

ASSAY_TEST(mutants, headers_are_judged_by_their_own_tests, "unit") {
    char root[] = "/tmp/assay-unit-XXXXXX", path[PATH_SIZE];
    static const char *const folders[] = {"tests", "tests/sim"};
    static const char *const files[] = {"exp",        "exp64",         "tensor",
                                        "v3_rmsnorm", "hopper_linear", "digit_kronecker"};
    REQUIRE(mkdtemp(root) != NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        REQUIRE(mkdir(path, 0700) == 0);
    }
    write_test(root, "exp", "#include <math.h>\nASSAY_TEST(exp, one, \"unit\") {\n}\n");
    write_test(root, "exp64", "/* exp */\n\nASSAY_TEST(exp64, one, \"unit\") {\n}\n");
    write_test(root, "tensor", "/* Kernels for tensor_test.c. */\n");
    write_test(root, "hopper_linear", "\nASSAY_TEST(linear, one, \"unit\") {\n}\n");
    write_test(root, "digit_kronecker", "\nASSAY_TEST(kronecker, one, \"unit\") {\n}\n");
    write_test(root, "v3_rmsnorm", "\nASSAY_TEST(rmsnorm, one, \"unit\") {\n}\n");

    CHECK(has_test(root, "kernels/common/exp.h", "exp"));
    CHECK(has_test(root, "kernels/rmsnorm/v3.cu", "v3_rmsnorm"));
    CHECK(has_test(root, "kernels/rmsnorm/v3_row.h", "v3_rmsnorm"));
    CHECK(!has_test(root, "kernels/rmsnorm/v1.cu", "v1_rmsnorm"));
    CHECK(has_test(root, "kernels/linear/hopper_tile.h", "hopper_linear"));
    CHECK(!has_test(root, "kernels/linear/tile.h", "hopper_linear"));
    CHECK(has_test(root, "kernels/kronecker/digit_pair.h", "digit_kronecker"));
    CHECK(has_test(root, "kernels/common/exp64.h", "exp64"));
    CHECK(!has_test(root, "kernels/common/tensor.h", "tensor"));
    CHECK(!has_test(root, "device/grid.h", "grid"));
    CHECK(!has_test(root, "kernels/common/exp.hpp", "exp"));
    CHECK(!has_test(root, "kernels/rmsnorm/exp.h", "exp"));

    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        snprintf(path, sizeof path, "%s/tests/sim/%s.cu", root, files[i]);
        CHECK(unlink(path) == 0);
    }
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        CHECK(rmdir(path) == 0);
    }
    CHECK(rmdir(root) == 0);
}

static void check_log(const char *text, const char *test, const char *reason) {
    char by[ASSAY_CASE_TEXT], why[LAYER_REASON];
    FILE *log = fmemopen((char *)text, strlen(text), "r");
    REQUIRE(log != NULL);
    unit_read_log(log, by, why);
    CHECK(fclose(log) == 0);
    CHECK_STREQ(by, test);
    CHECK_STREQ(why, reason);
}

ASSAY_TEST(mutants, the_test_that_was_running_is_named, "unit") {
    check_log("[ RUN      ] exp.range\n[       OK ] exp.range (3 ms)\n[ RUN      ] exp.zero\n"
              "exp.cu:50: Failure\nFailed\nexp_(0) = 2, not 1\n\n",
              "exp.zero", "exp_(0) = 2, not 1");
    check_log("[ RUN      ] exp.range\n", "exp.range", "[ RUN      ] exp.range");
    check_log("assay_tests: no test ran: nothing matches the filter\n", "",
              "assay_tests: no test ran: nothing matches the filter");
}
