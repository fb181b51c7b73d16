/* mma.sync of f64 in tiles of 16 rows, against chains of fused multiply-adds in plain C; where
 * elements lie is said by the PTX ISA, "Matrix Fragments for mma.m16n8k4", and so on. */
#include "assay/rng.h"
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 16, N = 8, MOST_K = 16, LANES = 32, TEXT = 4096 };

/* "{%a0, %a1}" */
static void list(char *text, char name, int n) {
    size_t at = 0;
    for (int i = 0; i < n; ++i)
        at += (size_t)sprintf(text + at, "%s%%%c%d", i == 0 ? "{" : ", ", name, i);
    sprintf(text + at, "}");
}

/* Loads a lane's registers one after the other: those of a, b and c; stores those of c. */
static void write_program(char *text, int k) {
    const int n_a = k / 2, n_b = k / 4;
    char a[128], b[64];
    size_t at =
        (size_t)snprintf(text, TEXT,
                         ".version 8.0\n.target sm_90\n.address_size 64\n"
                         ".visible .entry p(.param .u64 in, .param .u64 out) {\n"
                         ".reg .b64 %%x, %%y; .reg .b32 %%t;\n"
                         ".reg .f64 %%a<8>, %%b<4>, %%c<4>;\n"
                         "ld.param.u64 %%x, [in]; ld.param.u64 %%y, [out];\n"
                         "mov.u32 %%t, %%tid.x;\n"
                         "mad.wide.u32 %%x, %%t, %d, %%x; mad.wide.u32 %%y, %%t, 32, %%y;\n",
                         8 * (n_a + n_b + 4));
    for (int i = 0; i < n_a + n_b + 4; ++i)
        at += (size_t)snprintf(text + at, TEXT - at, "ld.global.f64 %%%c%d, [%%x+%d];\n",
                               i < n_a         ? 'a'
                               : i < n_a + n_b ? 'b'
                                               : 'c',
                               i < n_a         ? i
                               : i < n_a + n_b ? i - n_a
                                               : i - n_a - n_b,
                               8 * i);
    list(a, 'a', n_a);
    list(b, 'b', n_b);
    at += (size_t)snprintf(text + at, TEXT - at,
                           "mma.sync.aligned.m16n8k%d.row.col.f64.f64.f64.f64 "
                           "{%%c0, %%c1, %%c2, %%c3}, %s, %s, {%%c0, %%c1, %%c2, %%c3};\n",
                           k, a, b);
    for (int i = 0; i < 4; ++i)
        at += (size_t)snprintf(text + at, TEXT - at, "st.global.f64 [%%y+%d], %%c%d;\n", 8 * i, i);
    snprintf(text + at, TEXT - at, "ret; }\n");
}

static void run(int k, const double *in, double *out) {
    const uint32_t one[] = {1, 1, 1}, block[] = {LANES, 1, 1};
    const void *parameters[] = {in, out};
    char text[TEXT];
    ptx_module *module;
    write_program(text, k);
    REQUIRE_OK(ptx_module_load(text, strlen(text), "p.ptx", &module));
    REQUIRE_OK(ptx_launch(ptx_module_kernel(module, 0), one, block, one, 0, parameters));
    ptx_module_free(module);
}

static void check(int k) {
    double a[M][MOST_K], b[MOST_K][N], c[M][N], in[LANES * 16], out[LANES * 4];
    uint64_t next = 0;
    for (int i = 0; i < M * MOST_K; ++i)
        a[i / MOST_K][i % MOST_K] = assay_rng_normal(1, 0, next++);
    for (int i = 0; i < MOST_K * N; ++i)
        b[i / N][i % N] = assay_rng_normal(1, 0, next++);
    for (int i = 0; i < M * N; ++i)
        c[i / N][i % N] = assay_rng_normal(1, 0, next++);
    double *to = in;
    for (int l = 0; l < LANES; ++l) {
        const int g = l / 4, t = l % 4;
        for (int i = 0; i < k / 2; ++i)
            *to++ = a[g + 8 * (i % 2)][t + 4 * (i / 2)];
        for (int i = 0; i < k / 4; ++i)
            *to++ = b[t + 4 * i][g];
        for (int i = 0; i < 4; ++i)
            *to++ = c[g + 8 * (i / 2)][2 * t + i % 2];
    }
    run(k, in, out);
    for (int e = 0; e < LANES * 4; ++e) {
        const int l = e / 4, i = l / 4 + 8 * (e % 4 / 2), j = 2 * (l % 4) + e % 2;
        double want = c[i][j];
        for (int s = 0; s < k; ++s)
            want = fma(a[i][s], b[s][j], want);
        CHECK_MSG(out[e] == want, "m16n8k%d (%d,%d): %a, not %a", k, i, j, out[e], want);
    }
}

ASSAY_TEST(ptx, products_in_f64_are_chains_of_fmas, "unit sim") {
    check(4);
    check(8);
    check(16);
}
