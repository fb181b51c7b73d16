/*
 * For each case of each operator's golden file a test that our oracle agrees with it, and one for
 * each device that all variants agree with both; and one for each file, which fails when it cannot
 * be listed.
 */
#include "engine/golden.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096 };

static void load(golden_check *check, const suite_item *item, const assay_device *device) {
    char path[PATH];
    const char *variants[SUITE_VARIANTS];
    for (int32_t i = 0; i < item->n_together; ++i)
        variants[i] = item->together[i];
    REQUIRE_OK(assay_golden_path(item->c.op, path, sizeof path));
    REQUIRE_OK(golden_check_init(check, path, &item->c, device, variants, item->n_together));
}

typedef struct lines {
    int count, declined;
    char reason[512]; /* the last that declined, and why */
} lines;

static void check_passed(const golden_line *line, void *context) {
    lines *seen = context;
    if (line->verdict == ASSAY_SKIP) {
        ++seen->declined;
        snprintf(seen->reason, sizeof seen->reason, "%s: %s", line->who, line->reason);
        return;
    }
    ++seen->count;
    CHECK_MSG(line->verdict == ASSAY_PASS, "%s against %s, %s: %s: %s", line->who, line->against,
              line->tensor, assay_verdict_name(line->verdict), line->reason);
}

/* Every output and every gradient. */
static int count_results(const golden_check *check) {
    const assay_signature *sig = &check->golden.problem.sig;
    int count = sig->n_out;
    for (int32_t i = 0; i < sig->n_in; ++i)
        count += sig->in[i].differentiable;
    return count;
}

static void oracle_agrees(void *context) {
    const suite_item *item = context;
    golden_check check;
    lines seen = {0};
    load(&check, item, NULL);
    REQUIRE_OK(golden_check_oracle(&check, check_passed, &seen));
    CHECK(seen.count >= count_results(&check));
    golden_check_clear(&check);
}

static void variants_agree(void *context) {
    const suite_item *item = context;
    golden_check check;
    lines seen = {0};
    load(&check, item, suite_device(item));
    REQUIRE_OK(golden_check_variants(&check, check_passed, &seen));
    CHECK(seen.count == 2 * count_results(&check) * (item->n_together - seen.declined));
    golden_check_clear(&check);
    if (seen.declined == item->n_together)
        SKIP("%s", seen.reason);
}

static assay_status accept(const char *text, const char *source, bool foreign, void *context) {
    (void)text;
    (void)source;
    (void)foreign;
    (void)context;
    return ASSAY_OK;
}

static void file_can_be_listed(void *context) {
    const suite_item *item = context;
    char path[PATH];
    REQUIRE_OK(assay_golden_path(item->c.op, path, sizeof path));
    REQUIRE_OK(assay_golden_visit(path, accept, NULL));
}

/* ---- registration ---- */

/* The tests of this case, a device each: all variants share what the oracle says. */
static suite_item open_test[2];

static void end_test(int device) {
    suite_item *t = &open_test[device];
    if (t->n_together > 0)
        suite_register("golden", "", "golden", t, variants_agree);
    t->n_together = 0;
}

static void add_variant(const suite_item *item) {
    suite_item *t = &open_test[item->simulated];
    if (t->n_together == SUITE_VARIANTS)
        end_test(item->simulated);
    if (t->n_together == 0) {
        *t = *item;
        t->variant[0] = '\0';
    }
    memcpy(t->together[t->n_together++], item->variant, sizeof item->variant);
}

/* Under instruments one case of a file: others read as it is read, and `check` has its accesses. */
static assay_status register_case(const char *text, const char *source, bool foreign,
                                  void *context) {
    static const assay_op *last;
    suite_item item = {0};
    char name[ASSAY_CASE_TEXT + 16];
    (void)source;
    (void)foreign;
    const assay_status status = assay_case_parse(text, &item.c);
    if (status != ASSAY_OK || (SUITE_INSTRUMENTED && item.c.op == last))
        return status;
    last = item.c.op;
    snprintf(name, sizeof name, "oracle %s", text);
    assay_test_register("golden", name, context, oracle_agrees, suite_keep(&item));
    suite_visit_variants(&item.c, ASSAY_CI, add_variant);
    end_test(0);
    end_test(1);
    return ASSAY_OK;
}

__attribute__((constructor)) static void register_files(void) {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const suite_item item = {.c = {.op = assay_op_at(i)}};
        char path[PATH], name[64], labels[64];
        if (!assay_test_wanted("golden", item.c.op->name))
            continue;
        snprintf(name, sizeof name, "file of %s", item.c.op->name);
        snprintf(labels, sizeof labels, "golden %s", item.c.op->name);
        assay_test_register("golden", name, labels, file_can_be_listed, suite_keep(&item));
        if (assay_golden_path(item.c.op, path, sizeof path) != ASSAY_OK ||
            assay_golden_visit(path, register_case, labels) != ASSAY_OK)
            continue; /* the test above says why */
    }
}
