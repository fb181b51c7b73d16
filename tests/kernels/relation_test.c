/* Metamorphic relations and determinism of every variant on the smoke cases, on every device. */
#include "engine/relations.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <string.h>

static void check_report(const assay_relation_report *report) {
    if (report->verdict == ASSAY_SKIP)
        SKIP("%s", report->reason);
    CHECK_MSG(report->verdict == ASSAY_PASS, "%s: %s", assay_verdict_name(report->verdict),
              report->reason);
}

static void run_relation(void *context) {
    const suite_item *item = context;
    const assay_device *device = suite_device(item);
    assay_relation_report report;
    REQUIRE_OK(assay_check_relation(item->relation, &item->c, device, suite_variant(item, device),
                                    &report));
    check_report(&report);
}

static void run_determinism(void *context) {
    const suite_item *item = context;
    const assay_device *device = suite_device(item);
    assay_relation_report report;
    REQUIRE_OK(assay_check_determinism(&item->c, device, suite_variant(item, device), &report));
    check_report(&report);
}

/* On the simulated device plain loops stand in for a library, and are most of a variant that calls
 * one; `check` and `fuzz` look at the rest. */
static bool worth_running(const suite_item *item) {
    return !item->simulated || !item->library;
}

/* Asked once for v1 on the simulated device: plain loops, which are the same for every shape. Once
 * for any where builds are instrumented: accesses on these shapes are those of `check`, and do not
 * depend on the schedule. */
static bool is_new(const assay_relation *relation) {
    enum { MOST = 256 };
    static const assay_relation *known[MOST];
    static int32_t count;
    for (int32_t i = 0; i < count; ++i)
        if (known[i] == relation)
            return false;
    if (count < MOST)
        known[count++] = relation;
    return true;
}

static void add(const suite_item *item) {
    const assay_op *op = item->c.op;
    const bool plain = item->simulated && strcmp(item->variant, "v1") == 0;
    if (!worth_running(item))
        return;
    for (int32_t i = 0; i < op->n_relations; ++i) {
        const assay_relation *relation = &op->relations[i];
        if (!relation_applies(relation, &item->c) ||
            ((SUITE_INSTRUMENTED || plain) && !is_new(relation)))
            continue;
        suite_item with_relation = *item;
        with_relation.relation = relation;
        suite_register("property", relation->name, "property", &with_relation, run_relation);
    }
    if (!SUITE_INSTRUMENTED)
        suite_register("property", "determinism", "property", item, run_determinism);
}

__attribute__((constructor)) static void register_properties(void) {
    suite_visit("property", ASSAY_SMOKE, ASSAY_SMOKE, add);
}
