/* What a campaign once found, judged for ever: every case of fuzz/corpus/<op>.txt, by all variants
 * and relations on the simulated device. */
#include "core/place.h"
#include "engine/isolate.h"
#include "fuzz/search/check.h"
#include "fuzz/search/corpus.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relations repeat a case's accesses: with instruments the comparison does, and of small cases. A
 * large case was found by the comparison, and takes minutes with relations. */
static assay_status judge_case(const assay_case *c, void *context) {
    static fuzz_result result;
    const fuzz_subject subject = {.device = context};
    const bool large = suite_elements(c) > SUITE_LARGE;
    char text[ASSAY_CASE_TEXT];
    if (SUITE_INSTRUMENTED && large)
        return ASSAY_OK;
    const int64_t relations = SUITE_INSTRUMENTED || large ? FUZZ_NO_RELATION : FUZZ_ALL_RELATIONS;
    const assay_status status = fuzz_check(&subject, c, relations, &result);
    for (int32_t i = 0; status == ASSAY_OK && i < result.n_failures; ++i)
        CHECK_MSG(false, "%s %s: %s", result.failure[i].variant, assay_case_format(c, text),
                  result.failure[i].reason);
    CHECK(status != ASSAY_OK || result.passed + result.mistrusted > 0);
    return status;
}

/* The guest whose kernels are recorded, in the program whose own are; "": it is not built. */
static const char *guest_path(char path[PATH_MAX]) {
#if defined(ASSAY_RECORDED)
    REQUIRE_OK(assay_place("assay_recorded_guest", path));
    return access(path, X_OK) == 0 ? path : "";
#else
    (void)path;
    return NULL; /* the usual one */
#endif
}

static void replay(void *context) {
    const assay_op *op = context;
    const assay_device *sim, *apart;
    char path[PATH_MAX];
    const char *guest = guest_path(path);
    if (guest != NULL && guest[0] == '\0')
        SKIP("%s is not built", "assay_recorded_guest");
    REQUIRE_OK(assay_device_open("sim", &sim));
    REQUIRE_OK(
        assay_isolate(sim, &(assay_isolation){.guest = guest, .seconds = 60, .gib = 4}, &apart));
    REQUIRE_OK(fuzz_corpus_visit(ASSAY_CORPUS, op, judge_case, (void *)apart));
    assay_isolate_end(apart);
}

__attribute__((constructor)) static void register_corpora(void) {
    for (int32_t o = 0; o < assay_op_count(); ++o) {
        const assay_op *op = assay_op_at(o);
        char labels[96], path[512];
        snprintf(labels, sizeof labels, "fuzz sim %s", op->name);
        snprintf(path, sizeof path, "%s/%s.txt", ASSAY_CORPUS, op->name);
        if (access(path, R_OK) == 0)
            assay_test_register("fuzz_corpus", op->name, labels, replay, (void *)op);
    }
}

/* ---- the file ---- */

static assay_status count(const assay_case *c, void *context) {
    (void)c;
    ++*(int *)context;
    return ASSAY_OK;
}

ASSAY_TEST(fuzz_corpus, a_case_is_added_once, "fuzz unit") {
    char folder[] = "/tmp/assay-corpus-XXXXXX", path[64];
    int cases = 0;
    assay_case c;
    REQUIRE(mkdtemp(folder) != NULL);
    REQUIRE_OK(assay_case_parse("weighted_sum n=2 d=3 dtype=f32 seed=0", &c));
    for (int i = 0; i < 2; ++i)
        REQUIRE_OK(fuzz_corpus_add(folder, &c, "wrong v9: off by one"));
    REQUIRE_OK(fuzz_corpus_visit(folder, c.op, count, &cases));
    CHECK(cases == 1);
    snprintf(path, sizeof path, "%s/weighted_sum.txt", folder);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

ASSAY_TEST(fuzz_corpus, a_line_that_is_no_case_is_named, "fuzz unit") {
    char folder[] = "/tmp/assay-corpus-XXXXXX", path[64];
    const assay_op *op = assay_op_find("rope", 4);
    int cases = 0;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/rope.txt", folder);
    FILE *to = fopen(path, "w");
    REQUIRE(to != NULL);
    fputs("# why\n\nweighted_sum n=2 d=3 dtype=f32 seed=0\n", to);
    REQUIRE(fclose(to) == 0);
    CHECK_FAILS(fuzz_corpus_visit(folder, op, count, &cases), ASSAY_ERR_FILE, "rope.txt:3");
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}
