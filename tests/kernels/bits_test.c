/* Our own variants give the same bits on the simulated device and on the GPU. Those that call a
 * library sum in its order and are left to their bounds. */
#include "engine/relations.h"
#include "tests/shim/assay_test.h"
#include "tests/suite/suite.h"

static void run(void *context) {
    const suite_item *item = context;
    suite_item on_sim = *item;
    on_sim.device = "sim";
    const assay_device *cuda = suite_device(item), *sim = suite_device(&on_sim);
    assay_relation_report report;
    REQUIRE_OK(assay_check_same_bits(&item->c, sim, suite_variant(item, sim), cuda,
                                     suite_variant(item, cuda), &report));
    if (report.verdict == ASSAY_SKIP)
        SKIP("%s", report.reason);
    CHECK_MSG(report.verdict == ASSAY_PASS, "%s", report.reason);
}

static void add(const suite_item *item) {
    if (!item->simulated && !item->library)
        suite_register("same_bits", "sim and", "check", item, run);
}

__attribute__((constructor)) static void register_same_bits(void) {
    suite_visit("same_bits", ASSAY_SMOKE, ASSAY_CI, add);
}
