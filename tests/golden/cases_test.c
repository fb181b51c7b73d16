/*
 * A test for each case of each operator's golden file: our oracle agrees with it; each variant
 * agrees with both. A file that cannot be listed becomes a failing test.
 */
#include "tests/engine/golden.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH = 4096 };

static void load(golden_check *check, const assay_case *c) {
    char path[PATH];
    REQUIRE_OK(assay_golden_path(c->op, path, sizeof path));
    REQUIRE_OK(golden_check_init(check, path, c));
}

static void check_passed(const golden_line *line, void *count) {
    if (line->verdict == ASSAY_SKIP)
        SKIP("%s: %s", line->who, line->reason);
    ++*(int *)count;
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
    int count = 0;
    load(&check, &item->c);
    REQUIRE_OK(golden_check_oracle(&check, check_passed, &count));
    CHECK(count >= count_results(&check));
    golden_check_clear(&check);
}

static void variant_agrees(void *context) {
    const suite_item *item = context;
    const assay_device *device = suite_device(item);
    const assay_variant *variant = suite_variant(item, device);
    golden_check check;
    int count = 0;
    load(&check, &item->c);
    REQUIRE_OK(golden_check_variant(&check, variant, device, check_passed, &count));
    CHECK(count == 2 * count_results(&check));
    golden_check_clear(&check);
}

static void file_is_bad(void *line) {
    assay_test_fail(__FILE__, __LINE__, "%s", (const char *)line);
}

/* ---- registration ---- */

/* What registered tests refer to: it lives as long as the program. */
typedef struct kept {
    struct kept *before;
    suite_item item;
    char line[1024];
} kept;

static kept *keep(void) {
    static kept *last;
    kept *k = calloc(1, sizeof *k);
    if (k == NULL) {
        fputs("assay_tests: out of memory for the list of tests\n", stderr);
        exit(3);
    }
    k->before = last;
    last = k;
    return k;
}

static void register_oracle(const suite_item *item, const char *text) {
    char name[ASSAY_CASE_TEXT + 16], labels[64];
    snprintf(name, sizeof name, "oracle %s", text);
    snprintf(labels, sizeof labels, "golden %s", item->c.op->name);
    kept *k = keep();
    k->item = *item;
    assay_test_register("golden", name, labels, oracle_agrees, &k->item);
}

static assay_status register_case(const char *text, const char *source, bool foreign,
                                  void *context) {
    static const char *const devices[] = {"sim", "cuda"};
    const assay_device *sim = context;
    suite_item item = {.set = ASSAY_CI};
    (void)source;
    (void)foreign;
    const assay_status status = assay_case_parse(text, &item.c);
    if (status != ASSAY_OK)
        return status;
    register_oracle(&item, text);
    for (int32_t i = 0; i < sim->n_variants; ++i) {
        if (strcmp(sim->variants[i]->op, item.c.op->name) != 0)
            continue;
        snprintf(item.variant, sizeof item.variant, "%s", sim->variants[i]->name);
        for (size_t d = 0; d < sizeof devices / sizeof *devices; ++d) {
            item.device = devices[d];
            suite_register("golden", "", "golden", &item, variant_agrees);
        }
    }
    return ASSAY_OK;
}

__attribute__((constructor)) static void register_files(void) {
    const assay_device *sim = NULL;
    assay_status status = assay_device_open("sim", &sim);
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        char path[PATH], name[64], labels[64];
        if (status == ASSAY_OK)
            status = assay_golden_path(op, path, sizeof path);
        if (status == ASSAY_OK)
            status = assay_golden_visit(path, register_case, (void *)sim);
        if (status == ASSAY_OK)
            continue;
        snprintf(name, sizeof name, "file of %s", op->name);
        snprintf(labels, sizeof labels, "golden %s", op->name);
        kept *k = keep();
        snprintf(k->line, sizeof k->line, "%s", assay_error());
        assay_test_register("golden", name, labels, file_is_bad, k->line);
        status = ASSAY_OK;
    }
}
