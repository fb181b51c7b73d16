/* Metamorphic relations and determinism of every variant on the smoke cases, on every device. */
#include "engine/relations.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

#include <stdio.h>
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

/* How many of the cases that come before `item`, and it, have `property` for its variant. */
static int32_t number_of(const suite_item *item, const void *property) {
    enum { MOST = 1024 };
    static struct {
        const void *property;
        char variant[sizeof item->variant];
        bool simulated;
        int32_t cases;
    } known[MOST];
    static int32_t count;
    int32_t i = 0;
    while (i < count && (known[i].property != property || known[i].simulated != item->simulated ||
                         strcmp(known[i].variant, item->variant) != 0))
        ++i;
    if (i == MOST)
        return 1;
    if (i == count) {
        known[count].property = property;
        known[count].simulated = item->simulated;
        snprintf(known[count++].variant, sizeof item->variant, "%s", item->variant);
    }
    return ++known[i].cases;
}

/*
 * On the simulated device v1 and v2 are plain loops, a library's being stood in for: they are asked
 * on the first, the second, the fourth, the eighth, … case. v3 is asked for determinism on all, and
 * for the relations, with which the oracle's answers are checked too, in turn: every night
 * (ASSAY_ALL_CASES) all on each case. Once for any where builds are instrumented: accesses on these
 * shapes are those of `check`, and do not depend on the schedule.
 */
static bool is_asked(const suite_item *item, const void *property, int32_t turn, int32_t turns) {
    const int32_t n = number_of(item, property);
    const bool power_of_two = (n & (n - 1)) == 0;
    if (SUITE_INSTRUMENTED)
        return n == 1 && strcmp(item->variant, "v1") == 0;
    if (!item->simulated || power_of_two)
        return true;
    return strncmp(item->variant, "v3", 2) == 0 && (SUITE_ALL_CASES || (n + turn) % turns == 0);
}

static void add(const suite_item *item) {
    const assay_op *op = item->c.op;
    suite_item asked = *item;
    asked.smoke = item->first; /* on all cases they would take half of that label's time */
    for (int32_t i = 0; i < op->n_relations; ++i) {
        asked.relation = &op->relations[i];
        if (relation_applies(asked.relation, &item->c) &&
            is_asked(item, asked.relation, i, op->n_relations))
            suite_register("property", asked.relation->name, "property", &asked, run_relation);
    }
    if (!SUITE_INSTRUMENTED && is_asked(item, op, 0, 1))
        suite_register("property", "determinism", "property", &asked, run_determinism);
}

__attribute__((constructor)) static void register_properties(void) {
    suite_visit("property", ASSAY_SMOKE, ASSAY_SMOKE, add);
}
