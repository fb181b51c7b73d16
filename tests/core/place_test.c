/* A build tree's list, which the installed tree's own test (tests/install) cannot see. */
#include "core/place.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_list(const char *folder, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/" PLACE_LIST, folder);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    REQUIRE(fclose(file) == 0);
}

ASSAY_TEST(place, a_build_tree_says_where_its_files_are, "unit") {
    char path[PATH_MAX];
    REQUIRE_OK(assay_place("assay_guest", path));
    CHECK(access(path, X_OK) == 0);
    REQUIRE_OK(assay_place("golden", path));
    CHECK(access(path, R_OK) == 0);
}

ASSAY_TEST(place, a_tree_may_be_named, "unit") {
    char folder[] = "/tmp/assay-place-XXXXXX", path[PATH_MAX], list[128];
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE(setenv("ASSAY_TREE", folder, 1) == 0);
    CHECK_FAILS(assay_place("golden", path), ASSAY_ERR_FILE, "holds neither " PLACE_LIST);
    write_list(folder, "golden2 /elsewhere\ngolden /some where/golden\n");
    REQUIRE_OK(assay_place("golden", path));
    CHECK_STREQ(path, "/some where/golden");
    CHECK_FAILS(assay_place("gold", path), ASSAY_ERR_FILE, "has no gold;");
    REQUIRE(unsetenv("ASSAY_TREE") == 0);
    snprintf(list, sizeof list, "%s/" PLACE_LIST, folder);
    CHECK(unlink(list) == 0 && rmdir(folder) == 0);
}
