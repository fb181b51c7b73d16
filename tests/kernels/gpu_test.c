/* Says once, in every build, whether there is a GPU; ASSAY_REQUIRE_GPU=1 insists on one. */
#include "assay/device.h"
#include "tests/shim/assay_test.h"

ASSAY_TEST(gpu, is_there, "gpu smoke") {
    const assay_device *device = NULL;
    char text[ASSAY_DEVICE_TEXT];
    if (assay_device_open("cuda", &device) == ASSAY_ERR_UNSUPPORTED)
        SKIP_GPU(assay_error());
    REQUIRE_MSG(device != NULL, "%s", assay_error());
    REQUIRE_OK(device->probe(text));
    CHECK(device->n_variants > 0);
}
