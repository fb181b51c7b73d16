/* Matrix products against an H200, bit for bit: the checksums were found there, by products.ptx. */
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { TILES = 512, LANES = 32, IN = 12, OUT = 20 };

static const struct {
    int32_t at, n; /* the registers of a lane's results */
    uint64_t checksum;
} products[] = {
    {0, 4, UINT64_C(0x7bacf480eb2ab46e)},  {4, 4, UINT64_C(0x9173ff6b7625db91)},
    {8, 4, UINT64_C(0xf64e2189da467ca1)},  {12, 2, UINT64_C(0x267c9d45937ef183)},
    {16, 2, UINT64_C(0x17042efb220711dd)},
};

static uint32_t next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z ^ z >> 31);
}

/* A number of one of `range` exponents around 1. */
static uint32_t around_one(uint64_t *state, uint32_t fraction, uint32_t keep, uint32_t bias,
                           uint32_t range) {
    const uint32_t bits = next(state) & keep;
    return bits | (bias - range / 2 + next(state) % range) << fraction;
}

static uint32_t half(uint64_t *state, uint32_t range) {
    return around_one(state, 10, 0x83ff, 15, range);
}

static uint32_t register_of(uint64_t *state, uint32_t kind, uint32_t range) {
    uint32_t low;
    switch (kind) {
    case 0:
        low = half(state, range);
        return low | half(state, range) << 16;
    case 1:
        low = around_one(state, 7, 0x807f, 127, range);
        return low | around_one(state, 7, 0x807f, 127, range) << 16;
    case 2:
        return around_one(state, 23, 0x807fffff, 127, range);
    default:
        return next(state) & 0xfbfffbff;
    }
}

/* Tiles of f16, of bf16, of fp32 and of any bits, with ever more exponents. */
static void fill(uint32_t *in) {
    uint64_t state = 7;
    for (uint32_t t = 0; t < TILES; ++t)
        for (uint32_t l = 0; l < LANES; ++l, in += IN) {
            const uint32_t range = 1 + t / 4 % 13;
            for (int i = 0; i < 6; ++i)
                in[i] = register_of(&state, t % 4, range);
            for (int i = 6; i < 10; ++i)
                in[i] = register_of(&state, 2, 2 * range);
            for (int i = 10; i < 12; ++i)
                in[i] = register_of(&state, t % 8 == 3 ? 3 : 0, range);
        }
}

static uint64_t checksum(const uint32_t *out, int32_t at, int32_t n) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (int32_t l = 0; l < TILES * LANES; ++l)
        for (int32_t i = at; i < at + n; ++i)
            h = (h ^ out[l * OUT + i]) * UINT64_C(1099511628211);
    return h;
}

ASSAY_TEST(ptx, matrix_products_give_the_bits_of_an_H200, "unit sim") {
    static char text[8192];
    const uint32_t grid[] = {TILES, 1, 1}, block[] = {LANES, 1, 1}, one[] = {1, 1, 1};
    uint32_t *in = malloc(sizeof(uint32_t) * TILES * LANES * IN);
    uint32_t *out = malloc(sizeof(uint32_t) * TILES * LANES * OUT);
    const void *parameters[] = {in, out};
    FILE *file = fopen(ASSAY_PTX_SOURCES "/products.ptx", "rb");
    ptx_module *module;
    REQUIRE(in != NULL && out != NULL && file != NULL);
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    fill(in);
    REQUIRE_OK(ptx_module_load(text, n, "products.ptx", &module));
    REQUIRE_OK(ptx_launch(ptx_module_kernel(module, 0), grid, block, one, 0, parameters));
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i)
        CHECK_MSG(checksum(out, products[i].at, products[i].n) == products[i].checksum,
                  "product %zu differs", i);
    ptx_module_free(module);
    free(out);
    free(in);
}
