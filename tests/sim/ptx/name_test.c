/* What a kernel is called in its source. */
#include "sim/ptx/name.h"

#include "tests/shim/assay_test.h"

#include <string.h>

static void names(const char *mangled, const char *own) {
    const char *name;
    const int n = ptx_own_name(mangled, &name);
    CHECK_MSG(n == (int)strlen(own) && strncmp(name, own, strlen(own)) == 0, "%s: %.*s", mangled, n,
              name);
}

ASSAY_TEST(ptx_name, a_mangled_name_holds_the_functions_own, "unit") {
    names("_Z3addPKfS0_Pfi", "add");
    names("_Z10sum_blocksIfEvPKT_PS0_i", "sum_blocks");
    names("_ZN3one3two5thirdEPf", "third");
    names("_ZN12_GLOBAL__N_14mineEPf", "mine");
    names("_ZN3one3twoIfEEvPT_", "two");
    names("plain", "plain");
    names("_Z", "_Z");
    names("_Z99short", "_Z99short"); /* a length that lies */
}
