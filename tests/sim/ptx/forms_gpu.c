/*
 * A program of its own: runs the forms on a GPU, by the driver alone, and prints forms.c's lines
 * with the checksums found there. With an argument it writes all results to that file.
 *   cc -I. -Iinclude tests/sim/ptx/forms.c tests/sim/ptx/forms_module.c
 *      tests/sim/ptx/forms_gpu.c -ldl -o forms_gpu
 */
#include "tests/sim/driver_call.h"
#include "tests/sim/ptx/forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void launch(void *module, int32_t i, uint64_t in, uint64_t out) {
    char name[16];
    void *kernel, *parameters[] = {&in, &out};
    snprintf(name, sizeof name, "k%d", i);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, name);
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         kernel, 1, 1, 1, FORM_TUPLES, 1, 1, 0, NULL, parameters, NULL);
    CALL(cuCtxSynchronize, (void), );
}

int main(int count, char **arguments) {
    const size_t in_bytes = sizeof(uint64_t) * FORM_CLASSES * FORM_OPERANDS * FORM_TUPLES;
    const size_t out_bytes = sizeof(uint64_t) * (size_t)n_forms * FORM_TUPLES;
    uint64_t *operands = calloc(1, in_bytes), *results = calloc(1, out_bytes), in, out;
    char *text = forms_module(false);
    void *context, *module;
    int device;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL || operands == NULL || results == NULL) {
        fprintf(stderr, "no driver, or no memory\n");
        return 1;
    }
    forms_operands(operands);
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    CALL(cuModuleLoadData, (void **, const void *), &module, text);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &in, in_bytes);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &out, out_bytes);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), in, operands, in_bytes);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), out, results, out_bytes);
    for (int32_t i = 0; i * FORM_KERNEL < n_forms; ++i)
        launch(module, i, in, out);
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), results, out, out_bytes);
    for (int32_t i = 0; i < n_forms; ++i)
        printf("    {\"%s\", \"%s\", \"%s\", 0x%016llx},\n", forms[i].opcode, forms[i].result,
               forms[i].operands,
               (unsigned long long)form_checksum(results + (size_t)i * FORM_TUPLES));
    if (count > 1) {
        FILE *file = fopen(arguments[1], "wb");
        if (file == NULL || fwrite(results, 1, out_bytes, file) != out_bytes || fclose(file) != 0)
            return 1;
    }
    free(text);
    free(operands);
    free(results);
    return 0;
}
