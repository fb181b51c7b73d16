/* mma.sync of bytes, against sums in plain C; where elements lie is said by the PTX ISA, "Matrix
 * Fragments for mma.m16n8k32". */
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <string.h>

enum { M = 16, N = 8, MOST_K = 32, LANES = 32, IN = 10 /* a, b, c of a lane */, OUT = 4 };

typedef struct product {
    int32_t k;
    bool unsigned_a, unsigned_b, saturates;
} product;

static uint8_t a[M][MOST_K], b[MOST_K][N];
static int32_t c[M][N];

static const char *kernel_of(const product *p) {
    static char text[2048];
    const bool wide = p->k == 32;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
             ".reg .b32 %%t, %%a<4>, %%b<2>, %%c<4>, %%d<4>; .reg .b64 %%x, %%y, %%z;\n"
             "ld.param.u64 %%x, [in]; ld.param.u64 %%y, [out]; mov.u32 %%t, %%tid.x;\n"
             "mul.wide.u32 %%z, %%t, %d; add.u64 %%x, %%x, %%z;\n"
             "mul.wide.u32 %%z, %%t, %d; add.u64 %%y, %%y, %%z;\n"
             "ld.global.b32 %%a0, [%%x]; ld.global.b32 %%a1, [%%x+4];\n"
             "ld.global.b32 %%a2, [%%x+8]; ld.global.b32 %%a3, [%%x+12];\n"
             "ld.global.b32 %%b0, [%%x+16]; ld.global.b32 %%b1, [%%x+20];\n"
             "ld.global.b32 %%c0, [%%x+24]; ld.global.b32 %%c1, [%%x+28];\n"
             "ld.global.b32 %%c2, [%%x+32]; ld.global.b32 %%c3, [%%x+36];\n"
             "mma.sync.aligned.m16n8k%d.row.col%s.s32.%s.%s.s32 {%%d0, %%d1, %%d2, %%d3}, %s, %s, "
             "{%%c0, %%c1, %%c2, %%c3};\n"
             "st.global.b32 [%%y], %%d0; st.global.b32 [%%y+4], %%d1;\n"
             "st.global.b32 [%%y+8], %%d2; st.global.b32 [%%y+12], %%d3;\nret;\n}\n",
             4 * IN, 4 * OUT, p->k, p->saturates ? ".satfinite" : "", p->unsigned_a ? "u8" : "s8",
             p->unsigned_b ? "u8" : "s8", wide ? "{%a0, %a1, %a2, %a3}" : "{%a0, %a1}",
             wide ? "{%b0, %b1}" : "{%b0}");
    return text;
}

static uint32_t draw(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Sums that stay within 32 bits, and those at either end of them. */
static void fill(uint32_t seed) {
    uint32_t state = seed;
    for (int32_t i = 0; i < M; ++i)
        for (int32_t k = 0; k < MOST_K; ++k)
            a[i][k] = (uint8_t)draw(&state);
    for (int32_t k = 0; k < MOST_K; ++k)
        for (int32_t j = 0; j < N; ++j)
            b[k][j] = (uint8_t)draw(&state);
    for (int32_t i = 0; i < M; ++i)
        for (int32_t j = 0; j < N; ++j)
            c[i][j] = j % 3 == 0   ? (int32_t)draw(&state) - (1 << 23)
                      : j % 3 == 1 ? INT32_MAX - (int32_t)(draw(&state) % 1000)
                                   : INT32_MIN + (int32_t)(draw(&state) % 1000);
}

static uint32_t four(const uint8_t *first, int32_t step) {
    uint32_t word = 0;
    for (int32_t h = 0; h < 4; ++h)
        word |= (uint32_t)first[h * step] << 8 * h;
    return word;
}

static void pack(uint32_t in[LANES][IN]) {
    for (int32_t l = 0; l < LANES; ++l) {
        const int32_t g = l / 4, t = l % 4;
        for (int32_t r = 0; r < 4; ++r) {
            in[l][r] = four(&a[g + 8 * (r % 2)][4 * t + 16 * (r / 2)], 1);
            in[l][6 + r] = (uint32_t)c[g + 8 * (r / 2)][2 * t + r % 2];
        }
        for (int32_t r = 0; r < 2; ++r)
            in[l][4 + r] = four(&b[4 * t + 16 * r][g], N);
    }
}

static int32_t want(const product *p, int32_t i, int32_t j) {
    int64_t sum = c[i][j];
    for (int32_t k = 0; k < p->k; ++k)
        sum += (p->unsigned_a ? (int32_t)a[i][k] : (int32_t)(int8_t)a[i][k]) *
               (p->unsigned_b ? (int32_t)b[k][j] : (int32_t)(int8_t)b[k][j]);
    if (p->saturates)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (int32_t)(uint32_t)(uint64_t)sum;
}

static void check(const product *p) {
    const uint32_t one[] = {1, 1, 1}, warp[] = {LANES, 1, 1};
    static _Alignas(16) uint32_t in[LANES][IN];
    static _Alignas(16) int32_t out[LANES][OUT];
    void *parameters[] = {in, out};
    const char *text = kernel_of(p);
    ptx_module *module;
    REQUIRE_OK(ptx_module_load(text, strlen(text), "integers.ptx", &module));
    for (uint32_t seed = 1; seed <= 20; ++seed) {
        fill(seed);
        pack(in);
        REQUIRE_OK(ptx_launch(ptx_module_kernel(module, 0), one, warp, one, 0, parameters));
        for (int32_t l = 0; l < LANES; ++l)
            for (int32_t r = 0; r < OUT; ++r) {
                const int32_t i = l / 4 + 8 * (r / 2), j = 2 * (l % 4) + r % 2;
                CHECK_MSG(out[l][r] == want(p, i, j), "k %d, %d%d%d, row %d, column %d: %d, not %d",
                          p->k, p->unsigned_a, p->unsigned_b, p->saturates, i, j, out[l][r],
                          want(p, i, j));
            }
    }
    ptx_module_free(module);
}

ASSAY_TEST(ptx, products_of_bytes_are_exact, "unit sim") {
    for (int32_t i = 0; i < 16; ++i)
        check(&(product){i % 2 == 0 ? 16 : 32, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0});
}
