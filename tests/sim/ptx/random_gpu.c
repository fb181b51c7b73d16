#include "tests/sim/ptx/random_gpu.h"

#include "tests/sim/driver_call.h"
#include "tests/sim/ptx/forms.h"
#include "tests/sim/ptx/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIMIZATION_LEVEL = 7 }; /* CU_JIT_OPTIMIZATION_LEVEL */

static uint64_t in, out; /* addresses of the GPU */

bool random_gpu(void) {
    if (driver == NULL)
        driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver != NULL;
}

void random_gpu_open(int32_t number, const uint64_t *operands, int32_t most) {
    const size_t bytes = sizeof *operands * FORM_CLASSES * FORM_OPERANDS * FORM_TUPLES;
    void *context;
    int gpus, device;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGetCount, (int *), &gpus);
    CALL(cuDeviceGet, (int *, int), &device, number % gpus);
    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &in, bytes);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &out, sizeof(uint64_t) * RANDOM_WORDS * (size_t)most);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), in, operands, bytes);
}

void random_gpu_run(const char *text, int32_t count, int level, uint64_t *results) {
    const size_t bytes = sizeof *results * RANDOM_WORDS * (size_t)count;
    int options[] = {OPTIMIZATION_LEVEL};
    void *values[] = {(void *)(intptr_t)level};
    void *module, *kernel, *parameters[] = {&in, &out};
    CALL(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **), &module, text, 1,
         options, values);
    CALL(cuMemsetD8_v2, (uint64_t, unsigned char, size_t), out, 0, bytes);
    for (int32_t i = 0; i * RANDOM_KERNEL < count; ++i) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, name);
        CALL(cuLaunchKernel,
             (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
              void **, void **),
             kernel, 1, 1, 1, RANDOM_THREADS, 1, 1, 0, NULL, parameters, NULL);
    }
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), results, out, bytes);
    CALL(cuModuleUnload, (void *), module);
}
