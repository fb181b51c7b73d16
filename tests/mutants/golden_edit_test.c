/* A golden file with wrong numbers and right hashes does not get past the oracle. */
#include "mutants/golden_edit.h"
#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count_coarse(const char *case_text, const char *tensor, golden_edit kind,
                         void *context) {
    if (kind == GOLDEN_ULP)
        return;
    ++*(int *)context;
    assay_test_fail(__FILE__, __LINE__, "%s: %s: %s is not seen", case_text, tensor,
                    golden_edit_name(kind));
}

ASSAY_TEST(mutants, golden_edits_are_seen, "unit golden") {
    char folder[] = "/tmp/assay-golden-XXXXXX";
    golden_score score[GOLDEN_EDITS] = {0};
    int unseen = 0;
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE_OK(golden_edits_check(assay_op_find("weighted_sum", strlen("weighted_sum")), folder,
                                  score, count_coarse, &unseen));
    CHECK(rmdir(folder) == 0);
    CHECK(unseen == 0);
    for (int i = 0; i < GOLDEN_EDITS; ++i)
        CHECK_MSG(score[i].made == score[i].refused + score[i].wrong + score[i].within,
                  "%s does not add up", golden_edit_name((golden_edit)i));
    CHECK(score[GOLDEN_ELEMENT].wrong > 0 && score[GOLDEN_ROW].wrong > 0);
    /* An input that its dtype does not have is refused; an output is fp64, and one ulp is within.
     */
    CHECK(score[GOLDEN_ULP].refused > 0 && score[GOLDEN_ULP].within > 0);
}
