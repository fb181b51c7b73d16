/*
 * A program of its own: makes sim/sfu/tables.c from a GPU's results.
 *   cc -O2 -I. tests/sim/sfu_tables.c tests/sim/sfu_fit.c sim/sfu/sfu.c sim/sfu/tables.c -lm -ldl
 * -o sfu_tables sfu_tables measure FILE    on a GPU, by the driver alone: 328 MB sfu_tables model
 * FILE      the same of the model sfu_tables fit FILE | clang-format > tables.c FILE: of each table
 * of sfu_fit_tables, each segment, each point the result, 4 bytes, low ones first.
 */
#include "tests/sim/driver_call.h"
#include "tests/sim/sfu_fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 };

static uint64_t in, out; /* addresses of the GPU */
static void *module;
static uint32_t inputs[SFU_FIT_MOST_POINTS], results[SFU_FIT_MOST_POINTS];

static void open_gpu(void) {
    char text[16384];
    int n = snprintf(text, sizeof text, ".version 7.0\n.target sm_80\n.address_size 64\n"), device;
    void *context;
    for (int32_t i = 0; i < SFU_FIT_TABLES; ++i)
        n +=
            snprintf(text + n, sizeof text - (size_t)n,
                     ".visible .entry %s(.param .u64 in, .param .u64 out) {\n"
                     ".reg .b64 %%in, %%out, %%at; .reg .b32 %%i, %%n, %%m; .reg .f32 %%x;\n"
                     "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out];\n"
                     "mov.u32 %%n, %%ctaid.x; mov.u32 %%m, %%tid.x; mad.lo.u32 %%i, %%n, %d, %%m;\n"
                     "mul.wide.u32 %%at, %%i, 4; add.u64 %%in, %%in, %%at; add.u64 %%out, %%out, "
                     "%%at;\nld.global.f32 %%x, [%%in]; %s %%x, %%x; st.global.f32 [%%out], %%x;\n"
                     "ret;\n}\n",
                     sfu_fit_tables[i].name, BLOCK, sfu_fit_tables[i].instruction);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == NULL)
        driver_failed("libcuda.so.1", -1);
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuCtxCreate_v2, (void **, unsigned, int), &context, 0, device);
    CALL(cuModuleLoadData, (void **, const void *), &module, text);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &in, sizeof inputs);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &out, sizeof results);
}

static void ask_gpu(const sfu_fit_table *t, size_t bytes) {
    void *kernel, *parameters[] = {&in, &out};
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), in, inputs, bytes);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, t->name);
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         kernel, (unsigned)(bytes / sizeof inputs[0] / BLOCK), 1, 1, BLOCK, 1, 1, 0, NULL,
         parameters, NULL);
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), results, out, bytes);
}

static void make(const sfu_fit_table *t, int32_t segment, FILE *file) {
    const int32_t n = sfu_fit_points(t);
    const size_t bytes = (size_t)n * sizeof results[0];
    for (int32_t i = 0; i < n; ++i) {
        inputs[i] = sfu_fit_input(t, segment, i);
        results[i] = sfu_f32(t->function, inputs[i], true);
    }
    if (driver != NULL)
        ask_gpu(t, bytes);
    if (fwrite(results, 1, bytes, file) != bytes)
        driver_failed("fwrite", 0);
}

static void fit(const sfu_fit_table *t, int32_t segment, FILE *file) {
    const size_t bytes = (size_t)sfu_fit_points(t) * sizeof results[0];
    sfu_segment found;
    if (fread(results, 1, bytes, file) != bytes)
        driver_failed("fread", 0);
    const int32_t sets = sfu_fit(t, segment, results, &found);
    if (sets != 1) {
        fprintf(stderr, "%s, segment %d: %d sets of coefficients fit\n", t->name, segment, sets);
        exit(1);
    }
    printf("{%d, %d, %d},\n", found.c0, found.c1, found.c2);
}

int main(int n, char **arguments) {
    const bool fits = n == 3 && strcmp(arguments[1], "fit") == 0;
    const bool measures = n == 3 && strcmp(arguments[1], "measure") == 0;
    if (n != 3 || (!fits && !measures && strcmp(arguments[1], "model") != 0)) {
        fprintf(stderr, "sfu_tables measure|model|fit FILE\n");
        return 2;
    }
    FILE *file = fopen(arguments[2], fits ? "rb" : "wb");
    if (file == NULL)
        driver_failed(arguments[2], 0);
    if (measures)
        open_gpu();
    if (fits)
        printf(
            "/*\n * The coefficients of the special function unit of an H200 (sfu.c has the formula), "
            "made by\n * tests/sim/sfu_tables.c. c0 in units of 2^-26, c1 of 2^-41 for each unit of x, "
            "c2 of 2^-39 for each\n * unit of its square.\n */\n#include \"sim/sfu/tables.h\"\n");
    for (int32_t i = 0; i < SFU_FIT_TABLES; ++i) {
        const sfu_fit_table *t = &sfu_fit_tables[i];
        if (fits)
            printf("\nconst sfu_segment sfu_%s_segments[] = {\n", t->name);
        for (int32_t s = 0; s < t->segments; ++s)
            (fits ? fit : make)(t, s, file);
        if (fits)
            printf("};\n");
    }
    return fclose(file) != 0;
}
