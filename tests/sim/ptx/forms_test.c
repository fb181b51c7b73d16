/* Instructions of one thread against an H200, bit for bit (ptx/forms.h). */
#include "sim/ptx/emit.h"
#include "sim/ptx/internal.h"
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/ptx/forms.h"

#include <stdlib.h>
#include <string.h>

ASSAY_TEST(ptx, instructions_give_the_bits_of_an_H200, "unit sim") {
    const uint32_t one[3] = {1, 1, 1}, block[3] = {FORM_TUPLES, 1, 1};
    uint64_t *operands = calloc(FORM_CLASSES * FORM_OPERANDS * FORM_TUPLES, sizeof *operands);
    uint64_t *results = calloc((size_t)n_forms * FORM_TUPLES, sizeof *results);
    char *text = forms_module(false);
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
                  "%s differs", forms[i].opcode);
    ptx_module_free(module);
    free(text);
    free(results);
    free(operands);
}

static const char *code_of(const ptx_module *module, int32_t kernel, arena *memory) {
    return emit_kernel(&module->tree, module->functions[kernel], false, memory, NULL, NULL);
}

/* They become the same C code. */
ASSAY_TEST(ptx, parts_of_an_opcode_stand_in_any_order, "unit sim") {
    char *text[2] = {forms_module(false), forms_module(true)};
    arena memory = {0};
    ptx_module *module[2];
    REQUIRE(strcmp(text[0], text[1]) != 0);
    for (int i = 0; i < 2; ++i)
        REQUIRE_OK(ptx_module_load(text[i], strlen(text[i]), "forms", &module[i]));
    CHECK(ptx_module_unknown(module[1], 0) == NULL);
    for (int32_t k = 0; ptx_module_kernel(module[0], k) != NULL; ++k)
        CHECK_STREQ(code_of(module[1], k, &memory), code_of(module[0], k, &memory));
    arena_free(&memory);
    for (int i = 0; i < 2; ++i) {
        ptx_module_free(module[i]);
        free(text[i]);
    }
}
