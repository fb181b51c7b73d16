/*
 * Holds the model of wgmma (sim/mma.c) against a GPU, bit for bit: every number of columns, a from
 * registers and from shared memory, K- and MN-major, all swizzles, on random tiles. A program of
 * its own, which needs the driver alone:
 *
 *     cc -O2 -I. -Iinclude tests/sim/wgmma_gpu.c sim/mma.c sim/mma_sum.c -ldl -lm -o wgmma_gpu
 *     ./wgmma_gpu TYPE SOURCE SECONDS [PART PARTS]
 *
 * TYPE: bf16, f16, tf32, half (f16 with sums in f16), s8, u8, s8u8 and u8s8 (a's and b's,
 * saturating; of bytes all classes are any bits); SOURCE: registers, shared; of the numbers of
 * columns it takes every PARTS-th from PART on. It goes round all layouts until SECONDS have
 * passed, and prints for each class of numbers how many tiles of 64 x 8 it compared, and how many
 * elements differ. Exit code 1 when one differs, 2 when the GPU fails.
 */
#include "sim/mma.h"
#include "tests/sim/driver_call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    THREADS = 128,
    BLOCKS = 66,
    BYTES = 49152,
    B_AT = 16384,
    MOST_WORDS = 128,
    MOST_K = 32,
    ROWS = 64,
    COLUMNS = 256,
};

/* SplitMix64. */
static uint64_t state;
static uint64_t draw(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

typedef struct type {
    const char *name, *types; /* of the sums, a, b */
    sim_mma_shape shape;
    int exponent_bits, fraction_bits; /* of a factor, as it lies in memory; 0: any bits */
    uint32_t k, bytes;
    bool half;
    uint32_t integers; /* as sim_wgmma_compute_integers() has it; 0: no bytes */
} type;

static const type types[] = {
    {"bf16", "f32.bf16.bf16", SIM_M16N8K16_BF16, 8, 7, 16, 2, false, 0},
    {"f16", "f32.f16.f16", SIM_M16N8K16_F16, 5, 10, 16, 2, false, 0},
    {"tf32", "f32.tf32.tf32", SIM_M16N8K8_TF32, 8, 23, 8, 4, false, 0},
    {"half", "f16.f16.f16", SIM_M16N8K16_F16_F16, 5, 10, 16, 2, true, 0},
    {"s8", "s32.s8.s8", SIM_M16N8_INTEGERS, 0, 0, 32, 1, false, SIM_INTEGERS_K32},
    {"u8", "s32.u8.u8", SIM_M16N8_INTEGERS, 0, 0, 32, 1, false,
     SIM_INTEGERS_K32 | SIM_INTEGERS_UNSIGNED_A | SIM_INTEGERS_UNSIGNED_B},
    {"s8u8", "s32.s8.u8.satfinite", SIM_M16N8_INTEGERS, 0, 0, 32, 1, false,
     SIM_INTEGERS_K32 | SIM_INTEGERS_UNSIGNED_B | SIM_INTEGERS_SATURATE},
    {"u8s8", "s32.u8.s8.satfinite", SIM_M16N8_INTEGERS, 0, 0, 32, 1, false,
     SIM_INTEGERS_K32 | SIM_INTEGERS_UNSIGNED_A | SIM_INTEGERS_SATURATE},
};

typedef enum oddity { NOTHING_ODD, POSITIVE, ZEROS, SUBNORMALS, SPECIALS } oddity;

/* Exponents of the numbers, as tensor_gpu.cu has them. One of its classes is not here, which needs
 * pairs of products: sums that cancel stand for all that are not `positive`. */
static const struct {
    const char *name;
    oddity odd;
    int factors[2], sums[2];
} classes[] = {
    {"spread", NOTHING_ODD, {-6, 6}, {-12, 12}},
    {"positive", POSITIVE, {-6, 6}, {-12, 12}},
    {"narrow", NOTHING_ODD, {0, 0}, {-24, 0}},
    {"wide", NOTHING_ODD, {-60, 60}, {-120, 120}},
    {"zeros", ZEROS, {-6, 6}, {-12, 12}},
    {"subnormal", SUBNORMALS, {-126, -10}, {-126, -12}},
    {"small", SUBNORMALS, {-75, -60}, {-126, -120}},
    {"overflow", NOTHING_ODD, {61, 63}, {120, 127}},
    {"infinity and NaN", SPECIALS, {-6, 6}, {-12, 12}},
};
enum { CLASSES = sizeof classes / sizeof classes[0] };

static uint32_t draw_number(int exponent_bits, int fraction_bits, oddity odd, const int range[2]) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint64_t random = draw();
    int field = bias + range[0] + (int)((random >> 32) % (uint64_t)(range[1] - range[0] + 1));
    field = field < 1 ? 1 : field > 2 * bias ? 2 * bias : field;
    uint32_t fraction = (uint32_t)random & ((1u << fraction_bits) - 1);
    const uint32_t negative = odd == POSITIVE ? 0 : random >> 31 & 1;
    const uint32_t chance = (uint32_t)(random >> 58);
    if (odd == ZEROS && chance < 32)
        field = 0, fraction = 0;
    if (odd == SUBNORMALS && chance < 32)
        field = 0;
    if (odd == SPECIALS && chance == 0) {
        field = 2 * bias + 1;
        fraction = (uint32_t)(random >> 20 & 1) << (fraction_bits - 1);
    }
    return negative << (exponent_bits + fraction_bits) | (uint32_t)field << fraction_bits |
           fraction;
}

/* Words of one number, or of two of 16 bits. */
static void fill(uint32_t *to, size_t n, int exponent_bits, int fraction_bits, oddity odd,
                 const int range[2]) {
    for (size_t i = 0; i < n; ++i) {
        to[i] = exponent_bits == 0 ? (uint32_t)(draw() >> 32)
                                   : draw_number(exponent_bits, fraction_bits, odd, range);
        if (exponent_bits + fraction_bits == 15)
            to[i] |= draw_number(exponent_bits, fraction_bits, odd, range) << 16;
    }
}

/* ---- layouts ---- */

typedef struct layout {
    uint32_t swizzle; /* as descriptors have it */
    bool a_turned, b_turned;
} layout;

/* Of a matrix of `rows` rows that lies at `at`; of the slices of k that a swizzled row has, the
 * second, where it has two. */
static uint64_t descriptor(const type *t, const layout *l, bool turned, uint32_t rows,
                           uint32_t at) {
    const uint32_t w = l->swizzle == 0 ? 1 : 16u >> l->swizzle;
    const uint32_t row = 16 * w, atom = 8 * row, slice = t->k * t->bytes;
    uint32_t leading = 0, stride = atom;
    if (w == 1) {
        leading = turned ? 128 * (rows / 8) : rows * 16;
        stride = 128;
    } else if (turned) {
        leading = 2 * atom;
    } else if (row > slice) {
        at += slice;
    }
    return (uint64_t)(at >> 4) | (uint64_t)(leading >> 4) << 16 | (uint64_t)(stride >> 4) << 32 |
           (uint64_t)l->swizzle << 62;
}

/* ---- the kernel: shared memory from the first parameter, sums from and to the second ---- */

static uint32_t words_of(const type *t, uint32_t columns) {
    return columns / 8 * (t->half ? 2 : 4);
}

static size_t write_kernel(char *text, size_t room, const type *t, bool registers, bool a_turned,
                           bool b_turned, uint32_t columns) {
    const uint32_t n = words_of(t, columns);
    FILE *f = fmemopen(text, room, "w");
    fprintf(f,
            ".version 8.4\n.target sm_90a\n.address_size 64\n"
            ".visible .entry k(.param .u64 in, .param .u64 sums, .param .u64 regs, .param .u64 a, "
            ".param .u64 b)\n{\n.reg .b32 %%f<%u>; .reg .b32 %%r<12>; .reg .b64 %%rd<16>; "
            ".reg .pred %%p<3>;\n.shared .align 1024 .b8 m[%d];\n"
            "ld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [sums]; ld.param.u64 %%rd7, [regs]; "
            "ld.param.u64 %%rd3, [a]; ld.param.u64 %%rd4, [b]; mov.u32 %%r1, %%tid.x; "
            "mov.u32 %%r8, %%ctaid.x;\n"
            "mul.wide.u32 %%rd8, %%r8, %d; add.u64 %%rd1, %%rd1, %%rd8;\n"
            "mad.lo.u32 %%r9, %%r8, %d, %%r1; mul.wide.u32 %%rd8, %%r9, 16; "
            "add.u64 %%rd7, %%rd7, %%rd8;\n"
            "mul.wide.u32 %%rd8, %%r9, %d; add.u64 %%rd2, %%rd2, %%rd8;\n"
            "mul.lo.u32 %%r2, %%r1, 16;\n"
            "L: cvt.u64.u32 %%rd5, %%r2; add.u64 %%rd6, %%rd1, %%rd5;\n"
            "ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd6]; mov.u32 %%r3, m; "
            "add.u32 %%r3, %%r3, %%r2; st.shared.v4.b32 [%%r3], {%%r4, %%r5, %%r6, %%r7};\n"
            "add.u32 %%r2, %%r2, 2048; setp.lt.u32 %%p1, %%r2, %d; @%%p1 bra L;\n"
            "ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd7];\n",
            n, BYTES, BYTES, THREADS, 4 * MOST_WORDS, BYTES);
    for (uint32_t i = 0; i < n; ++i)
        fprintf(f, "ld.global.b32 %%f%u, [%%rd2+%u];\n", i, 4 * i);
    fprintf(f,
            "mov.u32 %%r3, m; shr.u32 %%r3, %%r3, 4; cvt.u64.u32 %%rd5, %%r3; "
            "add.u64 %%rd3, %%rd3, %%rd5; add.u64 %%rd4, %%rd4, %%rd5;\n"
            "setp.eq.u32 %%p2, 0, 0;\nfence.proxy.async.shared::cta; bar.sync 0;\n"
            "wgmma.fence.sync.aligned;\n"
            "wgmma.mma_async.sync.aligned.m64n%uk%u.%s {",
            columns, t->k, t->types);
    for (uint32_t i = 0; i < n; ++i)
        fprintf(f, "%s%%f%u", i > 0 ? ", " : "", i);
    fprintf(f, "}, %s, %%rd4, %%p2%s", registers ? "{%r4, %r5, %r6, %r7}" : "%rd3",
            t->integers == 0 ? ", 1, 1" : "");
    if (t->bytes == 2 && !registers)
        fprintf(f, ", %d", a_turned);
    if (t->bytes == 2)
        fprintf(f, ", %d", b_turned);
    fprintf(f, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (uint32_t i = 0; i < n; ++i)
        fprintf(f, "st.global.b32 [%%rd2+%u], %%f%u;\n", 4 * i, i);
    fprintf(f, "ret;\n}\n");
    const size_t size = (size_t)ftell(f);
    fclose(f);
    return size;
}

/* ---- what the model says ---- */

typedef struct batch {
    uint32_t memory[BLOCKS][BYTES / 4], registers[BLOCKS][THREADS][4];
    uint32_t sums[BLOCKS][THREADS][MOST_WORDS], got[BLOCKS][THREADS][MOST_WORDS];
} batch;

static void gather(const type *t, const uint32_t *memory, uint64_t d, bool turned, uint32_t rows,
                   unsigned *to) {
    for (uint32_t i = 0; i < rows; ++i)
        for (uint32_t k = 0; k < t->k; ++k) {
            uint32_t bits = 0;
            memcpy(&bits, (const char *)memory + sim_wgmma_offset(d, turned, t->bytes, i, k),
                   t->bytes);
            *to++ = bits;
        }
}

static void gather_registers(const type *t, const uint32_t registers[THREADS][4], unsigned *a) {
    const uint32_t per = 4 / t->bytes, width = 8 * t->bytes;
    for (uint32_t thread = 0; thread < THREADS; ++thread)
        for (uint32_t r = 0; r < 4; ++r)
            for (uint32_t h = 0; h < per; ++h) {
                const uint32_t i = thread / 32 * 16 + thread % 32 / 4 + 8 * (r & 1);
                const uint32_t k = per * (thread % 4 + 4 * (r >> 1)) + h;
                a[i * t->k + k] = registers[thread][r] >> width * h & UINT32_MAX >> (32 - width);
            }
}

enum { MOST_TOLD = 60 };
static int n_told;

/* The sum before and after, and the factors of its row and columns: of two where it holds two. */
static void tell(const type *t, int32_t thread, uint32_t word, uint32_t before, uint32_t got,
                 uint32_t want, const unsigned *a, const unsigned *b) {
    const uint32_t i = t->half ? 2 * word : word;
    const uint32_t row = (uint32_t)thread / 32 * 16 + (uint32_t)thread % 32 / 4 + 8 * (i / 2 % 2);
    const uint32_t column = i / 4 * 8 + 2 * ((uint32_t)thread % 4) + i % 2;
    printf("  c %08x: GPU %08x, model %08x; a", before, got, want);
    for (uint32_t k = 0; k < t->k; ++k)
        printf(" %x", a[row * t->k + k]);
    for (uint32_t n = 0; n < (t->half ? 2u : 1u); ++n) {
        printf("; b");
        for (uint32_t k = 0; k < t->k; ++k)
            printf(" %x", b[(column + n) * t->k + k]);
    }
    printf("\n");
}

static int64_t compare(const type *t, const layout *l, bool registers, uint32_t columns,
                       uint64_t d_a, uint64_t d_b, batch *b, int32_t block) {
    static unsigned a[ROWS * MOST_K], other[COLUMNS * MOST_K];
    static uint32_t before[THREADS][MOST_WORDS];
    unsigned *c[THREADS];
    int64_t different = 0;
    memcpy(before, b->sums[block], sizeof before);
    if (registers)
        gather_registers(t, (const uint32_t(*)[4])b->registers[block], a);
    else
        gather(t, b->memory[block], d_a, l->a_turned, ROWS, a);
    gather(t, b->memory[block], d_b, l->b_turned, columns, other);
    for (int32_t i = 0; i < THREADS; ++i)
        c[i] = b->sums[block][i];
    if (t->integers != 0)
        sim_wgmma_compute_integers(t->integers, columns, a, other, c);
    else
        sim_wgmma_compute(t->shape, columns, a, other, c);
    for (int32_t i = 0; i < THREADS; ++i)
        for (uint32_t w = 0; w < words_of(t, columns); ++w) {
            if (b->got[block][i][w] == b->sums[block][i][w])
                continue;
            ++different;
            if (n_told++ < MOST_TOLD)
                tell(t, i, w, before[i][w], b->got[block][i][w], b->sums[block][i][w], a, other);
        }
    return different;
}

/* ---- all of it ---- */

typedef struct tally {
    int64_t tiles, different;
    bool told;
} tally;

static tally tallies[CLASSES];
static uint64_t on_device[3];
static batch now;

static void run_layout(const type *t, bool registers, uint32_t columns, void *kernel,
                       const layout *l, int class) {
    static const int swizzles[] = {0, 128, 64, 32};
    uint64_t a = descriptor(t, l, l->a_turned, ROWS, 0);
    uint64_t b = descriptor(t, l, l->b_turned, columns, B_AT);
    void *parameters[] = {&on_device[0], &on_device[1], &on_device[2], &a, &b};
    const int bits[2] = {t->integers != 0 ? 0 : t->half ? 5 : 8, t->half ? 10 : 23};
    tally *sum = &tallies[class];
    fill(&now.sums[0][0][0], sizeof now.sums / 4, bits[0], bits[1], classes[class].odd,
         classes[class].sums);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), on_device[1], now.sums,
         sizeof now.sums);
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL);
    CALL(cuCtxSynchronize, (void), );
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), now.got, on_device[1], sizeof now.got);
    for (int32_t block = 0; block < BLOCKS; ++block) {
        const int64_t different = compare(t, l, registers, columns, a, b, &now, block);
        sum->tiles += columns / 8;
        sum->different += different;
        if (different > 0 && !sum->told) {
            sum->told = true;
            printf("  first: n %u, swizzle %d, a %s, b %s, class %s: %lld of %u differ\n", columns,
                   swizzles[l->swizzle], l->a_turned ? "MN" : "K", l->b_turned ? "MN" : "K",
                   classes[class].name, (long long)different, ROWS * columns);
        }
    }
}

static void run_columns(const type *t, bool registers, uint32_t columns, int round) {
    static char text[1 << 16];
    for (int turned = 0; turned < 4; ++turned) {
        layout l = {0, (turned & 1) != 0, (turned & 2) != 0};
        void *module, *kernel;
        if ((turned > 0 && t->bytes != 2) || (l.a_turned && registers) ||
            (t->integers != 0 && columns > 24 && columns % 16 != 0)) /* which bytes lack */
            continue;
        memset(text, 0, sizeof text);
        write_kernel(text, sizeof text, t, registers, l.a_turned, l.b_turned, columns);
        CALL(cuModuleLoadData, (void **, const void *), &module, text);
        CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, "k");
        for (int class = 0; class < CLASSES; ++class) {
            fill(&now.memory[0][0], sizeof now.memory / 4, t->exponent_bits, t->fraction_bits,
                 classes[class].odd, classes[class].factors);
            fill(&now.registers[0][0][0], sizeof now.registers / 4, t->exponent_bits,
                 t->fraction_bits, classes[class].odd, classes[class].factors);
            CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), on_device[0], now.memory,
                 sizeof now.memory);
            CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), on_device[2], now.registers,
                 sizeof now.registers);
            l.swizzle = (uint32_t)(class + round) % 4;
            run_layout(t, registers, columns, kernel, &l, class);
        }
        CALL(cuModuleUnload, (void *), module);
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int count, char **arguments) {
    const type *t = NULL;
    const double begin = seconds(), limit = count > 3 ? atof(arguments[3]) : 60;
    const uint32_t part = count > 5 ? (uint32_t)atoi(arguments[4]) : 0;
    const uint32_t parts = count > 5 ? (uint32_t)atoi(arguments[5]) : 1;
    const bool registers = count > 2 && strcmp(arguments[2], "registers") == 0;
    void *context;
    int device, rounds = 0, wrong = 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (count > 1 && strcmp(arguments[1], types[i].name) == 0)
            t = &types[i];
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (t == NULL || driver == NULL) {
        fprintf(stderr, "wgmma_gpu: %s\n", t == NULL ? "no such type" : "no driver");
        return 2;
    }
    state = (uint64_t)(t - types) << 32 | (uint64_t)registers << 16 | part;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &on_device[0], sizeof now.memory);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &on_device[1], sizeof now.sums);
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &on_device[2], sizeof now.registers);
    while (seconds() - begin < limit) {
        for (uint32_t n = 8 * (1 + part); n <= COLUMNS && seconds() - begin < limit; n += 8 * parts)
            run_columns(t, registers, n, rounds);
        ++rounds;
    }
    for (int class = 0; class < CLASSES; ++class) {
        printf("%-4s %-9s %-16s %9lld tiles, %lld elements differ\n", t->name,
               registers ? "registers" : "shared", classes[class].name,
               (long long)tallies[class].tiles, (long long)tallies[class].different);
        wrong |= tallies[class].different > 0;
    }
    printf("%-4s %-9s part %u of %u: %d rounds of all numbers of columns begun\n", t->name,
           registers ? "registers" : "shared", part, parts, rounds);
    return wrong;
}
