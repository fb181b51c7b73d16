/* Which launches --launches leaves out. */
#include "sim/exec/limit.h"

#include "tests/shim/assay_test.h"

ASSAY_TEST(exec_limit, the_first_rule_that_fits_counts, "unit") {
    const char *rules = "add=2,_ZN3one3twoEv=0,*=5";
    CHECK(exec_limit_by(rules, "_Z3addPf", 1));
    CHECK(!exec_limit_by(rules, "_Z3addPf", 2));
    CHECK(!exec_limit_by(rules, "_ZN3one3twoEv", 0));
    CHECK(exec_limit_by(rules, "_Z5otherv", 4));
    CHECK(!exec_limit_by(rules, "_Z5otherv", 5));
    CHECK(exec_limit_by("add=2", "_Z5otherv", 1000));
    CHECK(!exec_limit_by("add=2", "_Z3addPf", UINT64_MAX));
}

ASSAY_TEST(exec_limit, what_is_no_rule_is_refused, "unit") {
    CHECK(exec_limit_check("add=2,*=0") == ASSAY_OK);
    static const char *const wrong[] = {
        "",       "add",     "add=",   "=2",     "add=2,",
        "add=-1", "add=two", "add=2;", ",add=2", "a=1234567890123456789"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        CHECK_MSG(exec_limit_check(wrong[i]) == ASSAY_ERR_USAGE, "taken: '%s'", wrong[i]);
}
