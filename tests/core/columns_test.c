#include "core/columns.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>

/* What the table prints; the caller frees it. */
static char *printed(columns *table) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    REQUIRE(to != NULL);
    CHECK(columns_print(table, to, 1) == ASSAY_OK);
    REQUIRE(fclose(to) == 0);
    return text;
}

ASSAY_TEST(columns, no_cells_touch, "unit") {
    columns table = {.align = "lrl"};
    static const char *const cells[] = {"name",        "ms",        "why",
                                        "v2_cudnnsim", "1234567.5", "ü\033[1m"};
    for (int i = 0; i < 6; ++i)
        columns_add(&table, "%s", cells[i]);
    char *text = printed(&table);
    CHECK_STREQ(text, " name                ms  why\n"
                      " v2_cudnnsim  1234567.5  ü?[1m\n");
    free(text);
}

ASSAY_TEST(columns, widths_count_characters, "unit") {
    columns table = {.align = "ll"};
    for (int i = 0; i < 2; ++i) {
        columns_add(&table, "%s", i == 0 ? "γβ" : "abc");
        columns_add(&table, "%d", i);
    }
    char *text = printed(&table);
    CHECK_STREQ(text, " γβ   0\n abc  1\n");
    free(text);
}

ASSAY_TEST(columns, no_rows_are_no_lines, "unit") {
    columns table = {.align = "l"};
    char *text = printed(&table);
    CHECK_STREQ(text, "");
    free(text);
}
