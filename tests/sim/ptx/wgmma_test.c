/*
 * wgmma against plain loops, on small whole numbers, whose products are exact: matrices in each
 * layout that a descriptor has, laid out here as the PTX ISA draws them, with the chunks of 16
 * bytes of a swizzled row in another order in each row.
 */
#include "assay/dtype.h"
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 128, THREADS = 128, BYTES = 40960, B_AT = 16384, SUMS = COLUMNS / 2 };
enum { BF16, F16, TF32, S8, U8 }; /* U8: of b, a signed; saturating */

typedef struct layout {
    int type, chunks; /* of a row of the swizzle; 1: none */
    bool a_turned, b_turned, registers;
    bool half; /* sums in f16, two in a register */
} layout;

static int sums_of(const layout *l) {
    return l->half ? SUMS / 2 : SUMS;
}

static bool is_bytes(const layout *l) {
    return l->type >= S8;
}

static int bytes_of(const layout *l) {
    return is_bytes(l) ? 1 : l->type == TF32 ? 4 : 2;
}

/* Sums of bytes begin where they wrap around, or saturate. */
static int32_t start_of(const layout *l) {
    return l->type == S8 ? INT32_MIN + 5 : INT32_MAX - 5;
}

static int value(int side, int i, int k) {
    return (i * 5 + k * 3 + side * 7 + i * k) % 13 - 6;
}

static uint32_t bits_of(int type, int number) {
    const float f = (float)number;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (type >= S8)
        return (uint8_t)number;
    if (type == TF32)
        return bits;
    if (type == BF16)
        return bits >> 16;
    uint16_t half;
    assay_dtype_narrow(ASSAY_F16, &(double){number}, &half, 1);
    return half;
}

typedef struct image {
    int leading, stride, first; /* bytes */
} image;

/* The second slice of a K-major swizzled row is taken, where there is one, to see that the order of
 * chunks follows the address. */
static int first_of(const layout *l, bool turned) {
    return !turned && l->chunks > 2 ? 32 : 0;
}

static image describe(const layout *l, bool turned, int rows) {
    const int row = 16 * l->chunks, atom = 8 * row;
    if (l->chunks == 1)
        return (image){rows * 16, 128, 0};
    return turned ? (image){2 * atom, atom, 0} : (image){0, atom, first_of(l, turned)};
}

/* Where an element lies, with chunks in the swizzle's order. */
static int lies_at(const layout *l, bool turned, int rows, int i, int k) {
    const int bytes = bytes_of(l), per = 16 / bytes, w = l->chunks;
    const image m = describe(l, turned, rows);
    int chunk = turned ? i / per : k / per, within = (turned ? i % per : k % per) * bytes;
    const int line = turned ? k % 8 : i % 8, group = turned ? k / 8 : i / 8;
    if (w == 1)
        return within + line * 16 +
               (turned ? chunk * m.stride + group * m.leading
                       : group * m.stride + chunk * m.leading);
    chunk += m.first / 16;
    const int block = turned ? chunk / w : 0;
    chunk %= w;
    chunk ^= (w == 8 ? line : w == 4 ? line / 2 : line / 4);
    return within + chunk * 16 + line * 16 * w + group * m.stride + block * m.leading;
}

static void fill(char *shared, const layout *l, int side, bool turned, int rows) {
    const int bytes = bytes_of(l), n_k = 32 / bytes;
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < n_k; ++k) {
            const uint32_t bits = bits_of(l->type, value(side, i, k));
            memcpy(shared + lies_at(l, turned, rows, i, k), &bits, (size_t)bytes);
        }
}

static uint64_t descriptor(const layout *l, int at, bool turned, int rows) {
    static const uint64_t swizzles[] = {[1] = 0, [8] = 1, [4] = 2, [2] = 3};
    const image m = describe(l, turned, rows);
    return (uint64_t)((at + m.first) >> 4) | (uint64_t)(m.leading >> 4) << 16 |
           (uint64_t)(m.stride >> 4) << 32 | swizzles[l->chunks] << 62;
}

/* A kernel that copies its shared memory from the first parameter, multiplies, and stores. */
static void write_module(char *to, size_t room, const layout *l, const char *signs) {
    static const char *const types[] = {"f32.bf16.bf16", "f32.f16.f16", "f32.tf32.tf32",
                                        "s32.s8.s8", "s32.s8.u8"};
    const uint32_t start = is_bytes(l) ? (uint32_t)start_of(l) : l->half ? 0x3c003c00 : 0x3f800000;
    const int n = sums_of(l);
    FILE *f = fmemopen(to, room, "w");
    fprintf(f,
            ".version 8.0\n.target sm_90a\n.address_size 64\n"
            ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 a, .param .u64 b, "
            ".param .u64 regs)\n{\n.reg .b32 %%f<%d>; .reg .b32 %%r<12>; .reg .b64 %%rd<12>; "
            ".reg .pred %%p<3>;\n.shared .align 1024 .b8 m[%d];\n"
            "ld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; ld.param.u64 %%rd3, [a]; "
            "ld.param.u64 %%rd4, [b]; ld.param.u64 %%rd7, [regs]; mov.u32 %%r1, %%tid.x;\n"
            "mul.lo.u32 %%r2, %%r1, 16;\n"
            "L: cvt.u64.u32 %%rd5, %%r2; add.u64 %%rd6, %%rd1, %%rd5;\n"
            "ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd6]; mov.u32 %%r3, m; "
            "add.u32 %%r3, %%r3, %%r2; st.shared.v4.b32 [%%r3], {%%r4, %%r5, %%r6, %%r7};\n"
            "add.u32 %%r2, %%r2, 2048; setp.lt.u32 %%p1, %%r2, %d; @%%p1 bra L;\n"
            "mul.wide.u32 %%rd5, %%r1, 16; add.u64 %%rd7, %%rd7, %%rd5;\n"
            "ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd7];\n"
            "fence.proxy.async.shared::cta; bar.sync 0;\n",
            SUMS, BYTES, BYTES);
    for (int i = 0; i < n; ++i)
        fprintf(f, "mov.b32 %%f%d, 0x%x;\n", i, start);
    fprintf(f,
            "setp.eq.u32 %%p2, 0, %s;\nwgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.m64n%dk%d.%s%s {",
            signs[0] == '+' ? "0" : "1", COLUMNS, 32 / bytes_of(l),
            l->half ? "f16.f16.f16" : types[l->type], l->type == U8 ? ".satfinite" : "");
    for (int i = 0; i < n; ++i)
        fprintf(f, "%s%%f%d", i > 0 ? ", " : "", i);
    fprintf(f, "}, %s, %%rd4, %%p2", l->registers ? "{%r4, %r5, %r6, %r7}" : "%rd3");
    if (!is_bytes(l))
        fprintf(f, ", %s1, %s1", signs[1] == '-' ? "-" : "", signs[2] == '-' ? "-" : "");
    if (bytes_of(l) == 2 && !l->registers)
        fprintf(f, ", %d", l->a_turned);
    if (bytes_of(l) == 2)
        fprintf(f, ", %d", l->b_turned);
    fprintf(f,
            ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
            "mul.wide.u32 %%rd5, %%r1, %d; add.u64 %%rd2, %%rd2, %%rd5;\n",
            4 * n);
    for (int i = 0; i < n; ++i)
        fprintf(f, "st.global.b32 [%%rd2+%d], %%f%d;\n", 4 * i, i);
    fputs("ret;\n}\n", f);
    fclose(f);
}

/* What mma.sync's a would be in the lanes of the four warps. */
static void fill_registers(uint32_t *to, const layout *l) {
    const int bytes = bytes_of(l), per = 4 / bytes;
    for (int t = 0; t < THREADS; ++t)
        for (int r = 0; r < 4; ++r) {
            const int i = t / 32 * 16 + t % 32 / 4 + 8 * (r & 1), k = t % 4 + 4 * (r >> 1);
            uint32_t word = 0;
            for (int h = 0; h < per; ++h)
                word |= bits_of(l->type, value(0, i, per * k + h)) << 8 * bytes * h;
            *to++ = word;
        }
}

typedef struct run {
    char text[32768], shared[BYTES];
    uint32_t registers[THREADS * 4];
    float out[THREADS * SUMS];
} run;

static assay_status launch(run *r, const char *signs, const layout *l, uint64_t a, uint64_t b) {
    const uint32_t one[] = {1, 1, 1}, block[] = {THREADS, 1, 1};
    const struct {
        const void *in;
        void *out;
        uint64_t a, b;
        const void *registers;
    } parameters = {r->shared, r->out, a, b, r->registers};
    ptx_module *module = NULL;
    write_module(r->text, sizeof r->text, l, signs);
    assay_status status = ptx_module_load(r->text, strlen(r->text), "wgmma.ptx", &module);
    if (status == ASSAY_OK && ptx_module_unknown(module, 0) != NULL)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "%s", ptx_module_unknown(module, 0)->opcode);
    if (status == ASSAY_OK)
        status = ptx_launch(ptx_module_kernel(module, 0), one, block, one, 0, &parameters);
    ptx_module_free(module);
    return status;
}

static double wanted(const layout *l, const char *signs, int i, int j) {
    const int sign = !is_bytes(l) && signs[1] != signs[2] ? -1 : 1;
    int64_t sum = signs[0] != '+' ? 0 : is_bytes(l) ? start_of(l) : 1;
    for (int k = 0; k < 32 / bytes_of(l); ++k) {
        const int b = value(1, j, k);
        sum += sign * value(0, i, k) * (l->type == U8 && b < 0 ? b + 256 : b);
    }
    if (l->type == U8)
        return (double)(sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum);
    return l->type == S8 ? (double)(int32_t)(uint32_t)sum : (double)sum;
}

static double sum_at(const run *r, const layout *l, int thread, int s) {
    double sum;
    int32_t integer;
    memcpy(&integer, &r->out[thread * SUMS + s], sizeof integer);
    if (!l->half)
        return is_bytes(l) ? integer : (double)r->out[thread * SUMS + s];
    assay_dtype_widen(ASSAY_F16, (const char *)r->out + (thread * SUMS + s) * 2, &sum, 1);
    return sum;
}

static int count_wrong(const run *r, const layout *l, const char *signs) {
    int wrong = 0;
    for (int t = 0; t < THREADS; ++t)
        for (int s = 0; s < SUMS; ++s) {
            const int i = t / 32 * 16 + t % 32 / 4 + 8 * (s / 2 % 2);
            const int j = s / 4 * 8 + t % 4 * 2 + s % 2;
            wrong += sum_at(r, l, t, s) != wanted(l, signs, i, j);
        }
    return wrong;
}

ASSAY_TEST(ptx, wgmma_finds_its_matrices, "unit sim") {
    static const layout layouts[] = {
        {BF16, 1, false, false, false, false}, {BF16, 2, false, false, false, false},
        {F16, 4, false, false, false, false},  {BF16, 8, false, false, false, false},
        {BF16, 8, true, true, false, false},   {F16, 4, true, false, false, false},
        {BF16, 2, false, true, false, false},  {BF16, 1, true, true, false, false},
        {TF32, 8, false, false, false, false}, {TF32, 1, false, false, false, false},
        {F16, 8, false, true, true, false},    {TF32, 4, false, false, true, false},
        {F16, 8, false, false, false, true},   {S8, 8, false, false, false, false},
        {S8, 1, false, false, true, false},    {U8, 4, false, false, false, false},
        {S8, 2, false, false, false, false},   {U8, 8, false, false, true, false},
    };
    static const char *const signs[] = {"+++", " ++", "+-+", " +-"}; /* of the sum, a, b */
    run *r = calloc(1, sizeof *r);
    REQUIRE(r != NULL);
    for (size_t n = 0; n < sizeof layouts / sizeof layouts[0]; ++n) {
        const layout *l = &layouts[n];
        const char *sign = signs[n % 4];
        memset(r->shared, 0xff, sizeof r->shared);
        fill(r->shared, l, 0, l->a_turned, ROWS);
        fill(r->shared + B_AT, l, 1, l->b_turned, COLUMNS);
        fill_registers(r->registers, l);
        REQUIRE_OK(launch(r, sign, l, descriptor(l, 0, l->a_turned, ROWS),
                          descriptor(l, B_AT, l->b_turned, COLUMNS)));
        CHECK_MSG(count_wrong(r, l, sign) == 0, "layout %zu: %d wrong", n, count_wrong(r, l, sign));
    }
    /* A stride that is wrong by 16 bytes is another matrix. */
    const layout plain = layouts[0];
    fill(r->shared, &plain, 0, false, ROWS);
    fill(r->shared + B_AT, &plain, 1, false, COLUMNS);
    REQUIRE_OK(launch(r, "+++", &plain, descriptor(&plain, 0, false, ROWS) + (UINT64_C(1) << 32),
                      descriptor(&plain, B_AT, false, COLUMNS)));
    CHECK(count_wrong(r, &plain, "+++") > 0);
    free(r);
}

ASSAY_TEST(ptx, wgmma_with_a_wrong_descriptor_gets_a_line, "unit sim") {
    const layout l = {BF16, 8, false, false, false, false};
    const uint64_t a = descriptor(&l, 0, false, ROWS), b = descriptor(&l, B_AT, false, COLUMNS);
    run *r = calloc(1, sizeof *r);
    REQUIRE(r != NULL);
    CHECK_FAILS(launch(r, "+++", &l, a, b + (BYTES >> 4) - (B_AT >> 4)), ASSAY_ERR_KERNEL,
                "its matrix does not lie in the block's shared memory");
    CHECK_FAILS(launch(r, "+++", &l, a | UINT64_C(1) << 49, b), ASSAY_ERR_KERNEL,
                "a base offset is not simulated");
    free(r);
}
