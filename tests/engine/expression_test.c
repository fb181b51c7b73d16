/* Expressions: their values are C's, and a text that is none gets one line. */
#include "engine/expression.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static assay_status find(const void *data, const char *name, int64_t *value) {
    (void)data;
    *value = strcmp(name, "d") == 0 ? 33 : strcmp(name, "x.rows") == 0 ? 5 : INT64_MAX;
    return strcmp(name, "gone") == 0 ? assay_fail(ASSAY_ERR_UNSUPPORTED, "there is no gone")
                                     : ASSAY_OK;
}
static const expression_names names = {find, NULL};

ASSAY_TEST(expression, has_the_values_of_c, "unit") {
    static const struct {
        const char *text;
        int64_t value;
    } right[] = {
        {"7", 7},
        {" d ", 33},
        {"d + x.rows * 2", 33 + 5 * 2},
        {"(d + x.rows) * 2", (33 + 5) * 2},
        {"d - x.rows - 1", 33 - 5 - 1},
        {"d / x.rows * x.rows + d % x.rows", 33},
        {"-d / 2", -33 / 2},
        {"-7 % 3", -7 % 3},
        {"- - 3", 3},
        {"cdiv(d, 32)", 2},
        {"cdiv(d - 1, 32)", 1},
        {"cdiv(-d, 32)", -1},
        {"min(d, x.rows) + max(d, cdiv(1, 2))", 5 + 33},
        {"d == 33", 1},
        {"d != 33 || x.rows >= 5", 1},
        {"d < 33 || x.rows > 5", 0},
        {"d <= 33 && d % 2 == 1 && x.rows < 6", 1},
        {"1 || 0 && 0", 1},
        {"1 && 0", 0},
        {"(-huge - 1) / 2", INT64_MIN / 2},
        {"a_b - huge", 0},
        {"9223372036854775807", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; ++i) {
        int64_t value = 0;
        int count;
        REQUIRE_OK(expression_check(right[i].text, 1));
        REQUIRE_OK(expression_values(right[i].text, &names, 1, &value, &count));
        CHECK(count == 1 && value == right[i].value);
    }
    int64_t three[3];
    int count;
    REQUIRE_OK(expression_values("d, cdiv(d, 2), 1", &names, 3, three, &count));
    CHECK(count == 3 && three[0] == 33 && three[1] == 17 && three[2] == 1);
}

ASSAY_TEST(expression, a_wrong_one_gets_a_line, "unit") {
    static const struct {
        const char *text;
        assay_status status;
        const char *line;
    } wrong[] = {
        {"", ASSAY_ERR_USAGE, "cannot be read at its end"},
        {"d +", ASSAY_ERR_USAGE, "d +: cannot be read at its end"},
        {"d d", ASSAY_ERR_USAGE, "cannot be read at d"},
        {"(d", ASSAY_ERR_USAGE, "cannot be read at its end"},
        {"d)", ASSAY_ERR_USAGE, "cannot be read at )"},
        {"d,", ASSAY_ERR_USAGE, "cannot be read at its end"},
        {"1, 2, 3", ASSAY_ERR_USAGE, "too many values"},
        {"f(1, 2)", ASSAY_ERR_USAGE, "its functions are cdiv, min and max"},
        {"cdiv(1)", ASSAY_ERR_USAGE, "cannot be read at )"},
        {"cdiv(1, 2", ASSAY_ERR_USAGE, "cannot be read at its end"},
        {"a123456789a123456789a123456789a123456789a123456789a123456789a123456789a123456789"
         "a123456789a123456789a123456789a123456789a123456789",
         ASSAY_ERR_USAGE, "cannot be read at"},
        {"1.5", ASSAY_ERR_USAGE, "cannot be read at .5"},
        {"$", ASSAY_ERR_USAGE, "cannot be read at $"},
        {"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1", ASSAY_ERR_USAGE,
         "nested too deeply"},
        {"gone", ASSAY_ERR_UNSUPPORTED, "there is no gone"},
        {"cdiv(gone, d)", ASSAY_ERR_UNSUPPORTED, "there is no gone"},
        {"gone + d", ASSAY_ERR_UNSUPPORTED, "there is no gone"},
        {"gone + 1 / 0", ASSAY_ERR_UNSUPPORTED, "there is no gone"},
        {"1 / (d - 33)", ASSAY_ERR_UNSUPPORTED, "divides by 0"},
        {"1 % 0", ASSAY_ERR_UNSUPPORTED, "divides by 0"},
        {"cdiv(1, 0)", ASSAY_ERR_UNSUPPORTED, "divides by 0"},
        {"huge + 1", ASSAY_ERR_UNSUPPORTED, "more than 64 bits"},
        {"huge * -2", ASSAY_ERR_UNSUPPORTED, "more than 64 bits"},
        {"-huge - 2", ASSAY_ERR_UNSUPPORTED, "more than 64 bits"},
        {"-(-huge - 1)", ASSAY_ERR_UNSUPPORTED, "more than 64 bits"},
        {"(-huge - 1) / -1", ASSAY_ERR_UNSUPPORTED, "more than 64 bits"},
        {"9223372036854775808", ASSAY_ERR_UNSUPPORTED, "more than 64 bits"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        int64_t values[2];
        int count;
        CHECK_FAILS(expression_values(wrong[i].text, &names, 2, values, &count), wrong[i].status,
                    wrong[i].line);
        CHECK((expression_check(wrong[i].text, 2) == ASSAY_OK) ==
              (wrong[i].status == ASSAY_ERR_UNSUPPORTED));
    }
}
