/* Memory that a device does not have is refused in one line: how much, and how much there is. */
#include "engine/check.h"
#include "engine/variant_run.h"
#include "tests/shim/assay_test.h"

#include <string.h>

static const assay_device *sim(void) {
    const assay_device *device;
    REQUIRE_OK(assay_device_open("sim", &device));
    return device;
}

static const size_t PEBIBYTE = (size_t)1 << 50;

ASSAY_TEST(device_memory, too_much_is_refused_with_what_there_is, "unit smoke") {
    void *memory;
    CHECK_FAILS(sim()->alloc(PEBIBYTE, &memory), ASSAY_ERR_MEMORY,
                "simulated device: needs 1048576.00 GiB more of host memory, ");
    CHECK(memory == NULL);
    CHECK(strstr(assay_error(), " GiB are free: choose a smaller case") != NULL);
}

static size_t a_pebibyte(assay_stage stage, const assay_call *call) {
    (void)stage;
    (void)call;
    return PEBIBYTE;
}

ASSAY_TEST(device_memory, a_workspace_that_does_not_fit_is_an_error, "unit smoke") {
    assay_case c;
    assay_report report;
    REQUIRE_OK(assay_case_parse("weighted_sum n=3 d=5 dtype=f32", &c));
    assay_variant greedy = *variant_find(sim(), "weighted_sum", "v1");
    greedy.workspace = a_pebibyte;
    const assay_variant *const list[] = {&greedy};
    assay_device device = *sim();
    device.variants = list;
    device.n_variants = 1;
    REQUIRE_OK(assay_check(&c, &device, NULL, 0, &report));
    CHECK(report.verdict == ASSAY_ERROR);
    CHECK(report.n_rows == 1);
    CHECK_MSG(strstr(report.rows[0].reason, "forward: simulated device: needs 1048576.00 GiB"),
              "%s", report.rows[0].reason);
    assay_report_clear(&report);
}
