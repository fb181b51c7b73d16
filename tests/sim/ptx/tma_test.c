/* Copies of tensors leave in memory what an H200 leaves, bit for bit (tma.h). */
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"
#include "tests/sim/ptx/tma.h"

#include <string.h>

static char image[TMA_SHARED] __attribute__((aligned(16))),
    out[TMA_SHARED] __attribute__((aligned(16))), memory[TMA_MEMORY] __attribute__((aligned(16)));

/* 0: refused, as the GPU refuses a store to a negative coordinate. */
static uint64_t run(const ptx_function *kernel, const tma_case *c) {
    static const uint32_t one[] = {1, 1, 1}, threads[] = {TMA_THREADS, 1, 1};
    static char map[PTX_TENSOR_MAP_BYTES] __attribute__((aligned(64)));
    ptx_tensor tensor = c->tensor;
    tma_parameters p = {.image = (uintptr_t)image,
                        .out = (uintptr_t)out,
                        .map = (uintptr_t)map,
                        .bytes = tma_bytes(c)};
    tensor.base = memory;
    memcpy(p.start, c->start, sizeof p.start);
    tma_fill(image, memory);
    CHECK(ptx_tensor_encode(&tensor, map) == NULL);
    const assay_status status = ptx_launch(kernel, one, threads, one, 0, &p);
    if (status != ASSAY_OK)
        CHECK_MSG(strstr(assay_error(), "a coordinate of a store, -") != NULL, "%s", assay_error());
    return status == ASSAY_OK ? tma_hash(0, out, memory) : 0;
}

static void check(tma_mode mode, uint32_t rank, uint32_t swizzle, const uint64_t *expected) {
    const char *text = tma_kernel(rank, mode);
    ptx_module *module = NULL;
    REQUIRE_OK(ptx_module_load(text, strlen(text), "tma.ptx", &module));
    for (int32_t i = 0; i < TMA_CASES; ++i) {
        const tma_case c = tma_draw(rank, swizzle, mode, i);
        CHECK_MSG(run(ptx_module_kernel(module, 0), &c) == expected[i],
                  "mode %d, rank %u, swizzle %u, case %d: the bits are not the H200's", (int)mode,
                  rank, swizzle, i);
    }
    ptx_module_free(module);
}

static const struct {
    tma_mode mode;
    uint32_t rank, swizzle;
    uint64_t hashes[TMA_CASES];
} groups[] = {
#define TMA(mode, rank, swizzle, ...) {mode, rank, swizzle, {__VA_ARGS__}},
#include "tests/sim/ptx/tma.def"
#undef TMA
};

static void check_mode(tma_mode mode) {
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; ++i)
        if (groups[i].mode == mode)
            check(mode, groups[i].rank, groups[i].swizzle, groups[i].hashes);
}

ASSAY_TEST(ptx, tensor_loads_are_the_gpus, "unit sim") {
    check_mode(TMA_LOAD);
}

ASSAY_TEST(ptx, tensor_stores_are_the_gpus, "unit sim") {
    check_mode(TMA_STORE);
}

ASSAY_TEST(ptx, tensor_reductions_are_the_gpus, "unit sim") {
    check_mode(TMA_ADD);
}
