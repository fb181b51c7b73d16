/*
 * A test for each case of each operator's golden file: our oracle agrees with it; each variant
 * agrees with both; and one for each file, which fails when it cannot be listed.
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
    const char *variant = item->variant;
    REQUIRE_OK(assay_golden_path(item->c.op, path, sizeof path));
    REQUIRE_OK(golden_check_init(check, path, &item->c, device, &variant, 1));
}

typedef struct lines {
    int count;
    char declined[512]; /* by the variant, and why */
} lines;

static void check_passed(const golden_line *line, void *context) {
    lines *seen = context;
    if (line->verdict == ASSAY_SKIP) {
        snprintf(seen->declined, sizeof seen->declined, "%s: %s", line->who, line->reason);
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

static void variant_agrees(void *context) {
    const suite_item *item = context;
    golden_check check;
    lines seen = {0};
    load(&check, item, suite_device(item));
    REQUIRE_OK(golden_check_variants(&check, check_passed, &seen));
    CHECK(seen.declined[0] != '\0' || seen.count == 2 * count_results(&check));
    golden_check_clear(&check);
    if (seen.declined[0] != '\0')
        SKIP("%s", seen.declined);
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

static void add_variant(const suite_item *item) {
    suite_register("golden", "", "golden", item, variant_agrees);
}

static assay_status register_case(const char *text, const char *source, bool foreign,
                                  void *context) {
    suite_item item = {0};
    char name[ASSAY_CASE_TEXT + 16];
    (void)source;
    (void)foreign;
    const assay_status status = assay_case_parse(text, &item.c);
    if (status != ASSAY_OK)
        return status;
    snprintf(name, sizeof name, "oracle %s", text);
    assay_test_register("golden", name, context, oracle_agrees, suite_keep(&item));
    suite_visit_variants(&item.c, ASSAY_CI, add_variant);
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
