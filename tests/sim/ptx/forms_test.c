/* Instructions of one thread against an H200, bit for bit (ptx/forms.h). */
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/ptx/forms.h"

#include <stdlib.h>
#include <string.h>

static void check_forms(bool turned) {
    const uint32_t one[3] = {1, 1, 1}, block[3] = {FORM_TUPLES, 1, 1};
    uint64_t *operands = calloc(FORM_CLASSES * FORM_OPERANDS * FORM_TUPLES, sizeof *operands);
    uint64_t *results = calloc((size_t)n_forms * FORM_TUPLES, sizeof *results);
    char *text = forms_module(turned);
    const void *parameters[] = {operands, results};
    const ptx_function *kernel;
    ptx_module *module;
    REQUIRE(operands != NULL && results != NULL);
    forms_operands(operands);
    REQUIRE_OK(ptx_module_load(text, strlen(text), "forms", &module));
    CHECK(ptx_module_unknown(module, 0) == NULL);
    for (int32_t i = 0; (kernel = ptx_module_kernel(module, i)) != NULL; ++i)
        REQUIRE_OK(ptx_launch(kernel, one, block, one, 0, parameters));
    for (int32_t i = 0; i < n_forms; ++i)
        CHECK_MSG(form_checksum(results + (size_t)i * FORM_TUPLES) == forms[i].checksum,
                  "%s differs%s", forms[i].opcode, turned ? ", its parts turned" : "");
    ptx_module_free(module);
    free(text);
    free(results);
    free(operands);
}

ASSAY_TEST(ptx, instructions_give_the_bits_of_an_H200, "unit sim") {
    check_forms(false);
}

ASSAY_TEST(ptx, parts_of_an_opcode_stand_in_any_order, "unit sim") {
    check_forms(true);
}
