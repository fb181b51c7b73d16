/*
 * The reader of PTX: a module that it takes has kernels whose parameters lie in order within their
 * block, and variables of the size that it says; one that it refuses gets one line with its place.
 */
#include "fuzz/fuzz.h"
#include "sim/ptx/ptx.h"

#include <string.h>

static void expect_kernel(const ptx_module *module, const ptx_function *k) {
    size_t end = 0;
    FUZZ_EXPECT(k->module == module && ptx_module_find(module, k->name) != NULL);
    for (int32_t i = 0; i < k->n_parameters; ++i) {
        const ptx_parameter *p = &k->parameters[i];
        FUZZ_EXPECT(p->alignment > 0 && p->offset % p->alignment == 0 && p->offset >= end);
        end = p->offset + p->bytes;
    }
    FUZZ_EXPECT(end == k->parameter_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ptx_module *module;
    const assay_status status = ptx_module_load((const char *)data, size, "input.ptx", &module);
    if (status != ASSAY_OK) {
        FUZZ_EXPECT(module == NULL && strchr(assay_error(), '\n') == NULL);
        FUZZ_EXPECT(status == ASSAY_ERR_MEMORY || strncmp(assay_error(), "input.ptx:", 10) == 0);
        return 0;
    }
    for (int32_t i = 0; ptx_module_kernel(module, i) != NULL; ++i)
        expect_kernel(module, ptx_module_kernel(module, i));
    ptx_module_free(module);
    return 0;
}
