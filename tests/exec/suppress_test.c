/* Rules of problems that are known. */
#include "sim/exec/suppress.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static report_problem problem(exec_problem_kind kind, const char *kernel, const char *text) {
    report_problem p = {.kind = kind};
    strcpy(p.kernel, kernel);
    strcpy(p.text, text);
    return p;
}

ASSAY_TEST(exec_suppress, the_first_rule_that_fits, "unit") {
    const report_problem p = problem(EXEC_PROBLEM_KERNEL, "_ZN3foo6reduceIfEEvPT_",
                                     "/src/a b/../reduce.cu:41: barrier: thread 3 is missing");
    const report_problem q =
        problem(EXEC_PROBLEM_KERNEL, "_ZN3foo6reduceIfEEvPT_", "/src/reduce.cu:41: barrier");
    const report_problem leak =
        problem(EXEC_PROBLEM_LEAK, "", "allocation 3 (cudaMalloc, 4000 bytes) has not been freed");
    CHECK(exec_suppress_find("", &q) == 0);
    CHECK(exec_suppress_find("kernel", &q) == 1);
    CHECK(exec_suppress_find("# kernel\n\n*", &q) == 3);
    CHECK(exec_suppress_find("leak\nkernel reduce\nkernel", &q) == 2);
    CHECK(exec_suppress_find("kernel foo*", &q) == 0);
    CHECK(exec_suppress_find("kernel _ZN3foo*", &q) == 1);
    CHECK(exec_suppress_find("  kernel\treduce.cu:41 # known\r\n", &q) == 1);
    CHECK(exec_suppress_find("kernel /src/*:4?", &q) == 1);
    CHECK(exec_suppress_find("kernel reduce.cu:4", &q) == 0);
    CHECK(exec_suppress_find("kernel reduce.cu:*", &p) == 0); /* a path with a blank is no place */
    CHECK(exec_suppress_find("kernel *thread 3 is missing", &p) == 1);
    CHECK(exec_suppress_find("copy allocation 3*\nleak allocation 3*", &leak) == 2);
    CHECK(exec_suppress_find("leak allocation 4*", &leak) == 0);
    CHECK(exec_suppress_find("kernel", &leak) == 0);
}

ASSAY_TEST(exec_suppress, a_wrong_rule_gets_a_line, "unit") {
    REQUIRE_OK(exec_suppress_check("known", ""));
    REQUIRE_OK(exec_suppress_check("known", "leak\n# all\n* x y z\nno-ptx"));
    CHECK_FAILS(exec_suppress_check("known", "leak\nleaks *"), ASSAY_ERR_USAGE,
                "known:2: leaks is no kind of problem; there are * kernel race");
}
