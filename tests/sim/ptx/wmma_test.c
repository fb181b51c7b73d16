/*
 * wmma against sums in plain C: every shape and type, both orders of each matrix, with strides and
 * without. The numbers are small integers, so that every sum is exact and only an element in the
 * wrong place differs; the bits of inexact sums are those of mma.sync.
 *
 * tf32 has mma.sync of 4 k and of 8, which differ. On an H100 wmma is the first (docs/ptx.md).
 */
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, ROOM = 64 * 64 };

typedef struct product {
    const char *shape, *factor, *sum;
    int m, n, k;
    int a, b, c;   /* registers */
    bool one_type; /* wmma.mma names the types of d and c alone */
} product;

static const product products[] = {
    {"m16n16k16", "f16", "f32", 16, 16, 16, 8, 8, 8, true},
    {"m32n8k16", "f16", "f32", 32, 8, 16, 8, 8, 8, true},
    {"m8n32k16", "f16", "f32", 8, 32, 16, 8, 8, 8, true},
    {"m16n16k16", "f16", "f16", 16, 16, 16, 8, 8, 4, true},
    {"m32n8k16", "f16", "f16", 32, 8, 16, 8, 8, 4, true},
    {"m8n32k16", "f16", "f16", 8, 32, 16, 8, 8, 4, true},
    {"m16n16k16", "bf16", "f32", 16, 16, 16, 4, 4, 8, false},
    {"m32n8k16", "bf16", "f32", 32, 8, 16, 8, 2, 8, false},
    {"m8n32k16", "bf16", "f32", 8, 32, 16, 2, 8, 8, false},
    {"m16n16k8", "tf32", "f32", 16, 16, 8, 4, 4, 8, false},
    {"m16n16k16", "s8", "s32", 16, 16, 16, 2, 2, 8, false},
    {"m32n8k16", "s8", "s32", 32, 8, 16, 4, 1, 8, false},
    {"m8n32k16", "s8", "s32", 8, 32, 16, 1, 4, 8, false},
    {"m16n16k16", "u8", "s32", 16, 16, 16, 2, 2, 8, false},
    {"m8n8k4", "f64", "f64", 8, 8, 4, 1, 1, 2, false},
};

/* A matrix in memory: element (i, j) at i * ld + j, or at j * ld + i. */
typedef struct stored {
    _Alignas(16) unsigned char bytes[ROOM * 8];
    const char *type;
    int rows, columns, ld;
    bool by_rows;
} stored;

static size_t size_of(const char *type) {
    return strcmp(type, "f64") == 0                                ? 8
           : strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 ? 2
           : strcmp(type, "s8") == 0 || strcmp(type, "u8") == 0    ? 1
                                                                   : 4;
}

/* A small integer in a type's bits, and back. */
static void put(const char *type, unsigned char *to, int value) {
    const float f = (float)value;
    const double d = value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (strcmp(type, "f64") == 0) {
        memcpy(to, &d, sizeof d);
    } else if (strcmp(type, "bf16") == 0) {
        memcpy(to, (const unsigned char *)&bits + 2, 2);
    } else if (strcmp(type, "f16") == 0) {
        const uint32_t magnitude = (bits & 0x7fffffffu) >> 13;
        const uint16_t h = (uint16_t)(bits >> 16 & 0x8000u) |
                           (uint16_t)(value == 0 ? 0 : magnitude - (112u << 10));
        memcpy(to, &h, sizeof h);
    } else if (size_of(type) == 1) {
        *to = (unsigned char)value;
    } else if (strcmp(type, "s32") == 0) {
        memcpy(to, &value, sizeof value);
    } else {
        memcpy(to, &bits, sizeof bits);
    }
}

static unsigned char *at(stored *s, int i, int j) {
    const int index = s->by_rows ? i * s->ld + j : j * s->ld + i;
    return s->bytes + (size_t)index * size_of(s->type);
}

static void store_begin(stored *s, const char *type, int rows, int columns, bool by_rows,
                        bool padded) {
    const int pad = padded ? (int)(16 / size_of(type)) : 0;
    memset(s->bytes, 0x5a, sizeof s->bytes);
    s->type = type;
    s->rows = rows;
    s->columns = columns;
    s->by_rows = by_rows;
    s->ld = (by_rows ? columns : rows) + pad;
}

static uint32_t draw(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void list(char *text, const char *name, int n) {
    strcpy(text, "{");
    for (int i = 0; i < n; ++i)
        sprintf(text + strlen(text), "%s%%%s%d", i > 0 ? ", " : "", name, i);
    strcat(text, "}");
}

static const char *register_type(const char *type) {
    return strcmp(type, "f64") == 0   ? "f64"
           : strcmp(type, "f32") == 0 ? "f32"
           : strcmp(type, "s32") == 0 ? "s32"
                                      : "b32";
}

/* The stride, where lines are not close together. */
static const char *stride(char text[16], const stored *s) {
    const bool dense = s->ld == (s->by_rows ? s->columns : s->rows);
    if (dense)
        text[0] = '\0';
    else
        snprintf(text, 16, ", %d", s->ld);
    return text;
}

static const char *order(const stored *s) {
    return s->by_rows ? "row" : "col";
}

static const char *kernel_of(const product *p, const stored *a, const stored *b, const stored *c) {
    static char text[4096];
    char la[128], lb[128], lc[128], ld[128], sa[16], sb[16], sc[16], types[64];
    list(la, "a", p->a);
    list(lb, "b", p->b);
    list(lc, "c", p->c);
    list(ld, "d", p->c);
    snprintf(types, sizeof types, p->one_type ? "%1$s.%1$s" : "%1$s.%2$s.%2$s.%1$s", p->sum,
             p->factor);
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) {\n"
             ".reg .%s %%a<8>, %%b<8>; .reg .%s %%c<8>, %%d<8>; .reg .b64 %%x, %%y, %%z;\n"
             "ld.param.u64 %%x, [pa]; ld.param.u64 %%y, [pb]; ld.param.u64 %%z, [pc];\n"
             "wmma.load.a.sync.aligned.%s.%s.global.%s %s, [%%x]%s;\n"
             "wmma.load.b.sync.aligned.%s.%s.%s %s, [%%y]%s;\n"
             "wmma.load.c.sync.aligned.%s.%s.global.%s %s, [%%z]%s;\n"
             "wmma.mma.sync.aligned.%s.%s.%s.%s %s, %s, %s, %s;\n"
             "wmma.store.d.sync.aligned.%s.%s.global.%s [%%z], %s%s;\nret;\n}\n",
             register_type(p->factor), register_type(p->sum), order(a), p->shape, p->factor, la,
             stride(sa, a), order(b), p->shape, p->factor, lb, stride(sb, b), order(c), p->shape,
             p->sum, lc, stride(sc, c), order(a), order(b), p->shape, types, ld, la, lb, lc,
             order(c), p->shape, p->sum, ld, sc);
    return text;
}

static stored a, b, c, want;

/* Fills them, and computes what c must become. */
static void prepare(const product *p, uint32_t layout, bool padded) {
    static int x[MOST][MOST], y[MOST][MOST];
    uint32_t state = layout + 1;
    store_begin(&a, p->factor, p->m, p->k, layout & 1, padded);
    store_begin(&b, p->factor, p->k, p->n, layout & 2, padded);
    store_begin(&c, p->sum, p->m, p->n, layout & 4, padded);
    const int low = strcmp(p->factor, "u8") == 0 ? 0 : -4;
    for (int i = 0; i < p->m; ++i)
        for (int l = 0; l < p->k; ++l)
            put(p->factor, at(&a, i, l), x[i][l] = low + (int)(draw(&state) % 9));
    for (int l = 0; l < p->k; ++l)
        for (int j = 0; j < p->n; ++j)
            put(p->factor, at(&b, l, j), y[l][j] = low + (int)(draw(&state) % 9));
    want = c;
    for (int i = 0; i < p->m; ++i)
        for (int j = 0; j < p->n; ++j) {
            int sum = (int)(draw(&state) % 17) - 8;
            put(p->sum, at(&c, i, j), sum);
            for (int l = 0; l < p->k; ++l)
                sum += x[i][l] * y[l][j];
            put(p->sum, at(&want, i, j), sum);
        }
}

static assay_status run(const char *text) {
    const uint32_t grid[] = {1, 1, 1}, block[] = {32, 1, 1};
    const void *parameters[] = {a.bytes, b.bytes, c.bytes};
    ptx_module *module;
    assay_status status = ptx_module_load(text, strlen(text), "wmma.ptx", &module);
    if (status != ASSAY_OK)
        return status;
    status = ptx_launch(ptx_module_kernel(module, 0), grid, block, grid, 0, parameters);
    ptx_module_free(module);
    return status;
}

ASSAY_TEST(ptx, wmma_is_a_product, "unit sim") {
    static const uint32_t layouts[] = {0, 3, 5, 6}; /* each order of two matrices */
    for (size_t i = 0; i < sizeof products / sizeof products[0]; ++i)
        for (size_t j = 0; j < sizeof layouts / sizeof layouts[0]; ++j) {
            const uint32_t layout = layouts[j];
            prepare(&products[i], layout, (i + j) % 2 == 0);
            const char *text = kernel_of(&products[i], &a, &b, &c);
            REQUIRE_OK(run(text));
            CHECK_MSG(memcmp(c.bytes, want.bytes, sizeof c.bytes) == 0,
                      "%s of %s, layout %u, differs:\n%s", products[i].shape, products[i].factor,
                      layout, text);
        }
}

/* Each lane's results of the first 8 columns: by wmma, by m16n8k4 twice, by m16n8k8. */
static const char steps[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 out) {\n"
    ".reg .b32 %a<4>, %b<4>, %t; .reg .f32 %c<8>, %d<8>, %e<4>, %f<4>;\n"
    ".reg .b64 %x, %y, %z, %o, %p;\n"
    "ld.param.u64 %x, [pa]; ld.param.u64 %y, [pb]; ld.param.u64 %z, [pc];\n"
    "ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %p, %t, 48; add.u64 %o, %o, %p;\n"
    "wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%a0, %a1, %a2, %a3}, [%x];\n"
    "wmma.load.b.sync.aligned.row.m16n16k8.global.tf32 {%b0, %b1, %b2, %b3}, [%y];\n"
    "wmma.load.c.sync.aligned.row.m16n16k8.global.f32\n"
    "    {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%z];\n"
    "wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32\n"
    "    {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7}, {%a0, %a1, %a2, %a3}, {%b0, %b1, %b2, %b3},\n"
    "    {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};\n"
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32\n"
    "    {%e0, %e1, %e2, %e3}, {%a0, %a1}, {%b0}, {%c0, %c1, %c2, %c3};\n"
    "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32\n"
    "    {%e0, %e1, %e2, %e3}, {%a2, %a3}, {%b1}, {%e0, %e1, %e2, %e3};\n"
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32\n"
    "    {%f0, %f1, %f2, %f3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};\n"
    "st.global.v4.f32 [%o], {%d0, %d1, %d2, %d3};\n"
    "st.global.v4.f32 [%o+16], {%e0, %e1, %e2, %e3};\n"
    "st.global.v4.f32 [%o+32], {%f0, %f1, %f2, %f3};\nret;\n}\n";

ASSAY_TEST(ptx, wmma_of_tf32_takes_two_steps, "unit sim") {
    enum { N = 16 * 16, TILES = 20, SUMS = 4, LANES = 32 };
    static _Alignas(16) float x[N], y[N], z[N];
    static _Alignas(16) uint32_t out[LANES][3][SUMS];
    const uint32_t grid[] = {1, 1, 1}, block[] = {LANES, 1, 1};
    const void *parameters[] = {x, y, z, out};
    ptx_module *module;
    uint32_t state = 1;
    int differ = 0;
    REQUIRE_OK(ptx_module_load(steps, sizeof steps - 1, "steps.ptx", &module));
    for (int tile = 0; tile < TILES; ++tile) {
        for (int i = 0; i < N; ++i) {
            x[i] = (float)draw(&state) - 32768;
            y[i] = (float)draw(&state) - 32768;
            z[i] = ((float)draw(&state) - 32768) * 65536;
        }
        REQUIRE_OK(ptx_launch(ptx_module_kernel(module, 0), grid, block, grid, 0, parameters));
        for (int lane = 0; lane < LANES; ++lane) {
            CHECK(memcmp(out[lane][0], out[lane][1], sizeof out[lane][0]) == 0);
            differ += memcmp(out[lane][0], out[lane][2], sizeof out[lane][0]) != 0;
        }
    }
    CHECK_MSG(differ > 0, "one step of 8 k gives the same");
    ptx_module_free(module);
}
