/* What kernels from PTX do: hand.ptx is written by hand, made.ptx is nvcc's (made.cu). */
#include "sim/asan.h"
#include "sim/ptx/launch.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ptx_module *load(const char *name) {
    static char text[1 << 17];
    char path[1024];
    ptx_module *module;
    snprintf(path, sizeof path, "%s/%s", ASSAY_PTX_SOURCES, name);
    FILE *file = fopen(path, "rb");
    REQUIRE_MSG(file != NULL, "%s cannot be read", path);
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    REQUIRE_OK(ptx_module_load(text, n, name, &module));
    return module;
}

static assay_status start(ptx_module *module, const char *name, uint32_t threads, size_t dynamic,
                          const void *parameters) {
    const uint32_t one[] = {1, 1, 1}, block[] = {threads, 1, 1};
    const ptx_function *kernel = ptx_module_find(module, name);
    REQUIRE_MSG(kernel != NULL, "no kernel %s", name);
    return ptx_launch(kernel, one, block, one, dynamic, parameters);
}

/* One block of a kernel of hand.ptx with one pointer, aligned for the widest stores. */
static void run(const char *name, uint32_t threads, void *out) {
    ptx_module *module = load("hand.ptx");
    REQUIRE((uintptr_t)out % 16 == 0);
    REQUIRE_OK(start(module, name, threads, 0, &out));
    ptx_module_free(module);
}

ASSAY_TEST(ptx, barriers_have_numbers_and_counts, "unit sim") {
    _Alignas(16) uint32_t out[128];
    run("barriers", 128, out);
    for (uint32_t t = 0; t < 128; ++t)
        CHECK(out[t] == (t < 64 ? 7 : t - 64) + 64 + 10000);
}

ASSAY_TEST(ptx, lanes_meet_by_mask_segment_and_predicate, "unit sim") {
    _Alignas(16) uint32_t out[32][8];
    run("warps", 32, out);
    for (uint32_t t = 0; t < 32; ++t) {
        const bool low = t < 8, inside = low ? t + 3 <= 7 : t % 8 >= 2;
        CHECK(out[t][0] == (!inside ? t : low ? t + 3 : t - 2) && out[t][1] == inside);
        CHECK(out[t][2] == (low ? 0 : 8) && out[t][3] == (t == 0 || t == 8));
        CHECK(out[t][4] == (t < 16 ? 0xffff : 0xffff0000) && out[t][5] == 0 && out[t][6] == 2);
        CHECK(out[t][7] == (1u << t) - 1);
    }
}

ASSAY_TEST(ptx, atomics_give_back_what_they_found, "unit sim") {
    static const uint32_t found[8] = {0, 0xffffffff, 0, 5, 0, 0x3f800000, 0, 0};
    static const uint32_t left[8] = {5, 0, 9, 77, 0, 0x40400000, 0x3c003c00, 11};
    ptx_module *module = load("hand.ptx");
    _Alignas(16) uint32_t out[8];
    void *parameter = out, *counters;
    size_t bytes;
    REQUIRE_OK(start(module, "atomics", 1, 0, &parameter));
    REQUIRE_OK(ptx_module_symbol(module, "counters", &counters, &bytes));
    CHECK(memcmp(out, found, sizeof found) == 0);
    CHECK(bytes == sizeof left && memcmp(counters, left, sizeof left) == 0);
    ptx_module_free(module);
}

ASSAY_TEST(ptx, a_carry_goes_from_one_instruction_to_the_next, "unit sim") {
    struct {
        _Alignas(16) uint64_t sums[4];
        uint32_t product[2];
    } out;
    run("carries", 1, &out);
    CHECK(out.sums[0] == 1 && out.sums[1] == 0 && out.sums[2] == UINT64_MAX && out.sums[3] == 4);
    CHECK(out.product[0] == 0xfffffffc && out.product[1] == 3);
}

ASSAY_TEST(ptx, addresses_know_their_spaces, "unit sim") {
    static const uint32_t want[11] = {3, 4, 42, 8, 0, 99, 11, 32, 132, 100, UINT32_MAX};
    ptx_module *module = load("hand.ptx");
    _Alignas(16) uint32_t out[11];
    struct {
        void *out;
        uint64_t unused;
        uint32_t block[8];
    } parameters = {out, 0, {1, 2, 3, 4, 5, 6, 7, 8}};
    const ptx_function *kernel = ptx_module_find(module, "addresses");
    REQUIRE(kernel != NULL && kernel->shared_bytes == 20 && kernel->dynamic_offset == 32);
    REQUIRE_OK(start(module, "addresses", 1, 100, &parameters));
    for (int i = 0; i < 11; ++i)
        CHECK_MSG(out[i] == want[i], "%d: %u", i, out[i]);
    ptx_module_free(module);
}

ASSAY_TEST(ptx, an_exit_in_a_function_ends_the_thread, "unit sim") {
    _Alignas(16) uint32_t out[32] = {[6] = 1000};
    run("exits", 32, out);
    for (uint32_t t = 0; t < 32; ++t)
        CHECK(out[t] == (t == 6 ? 1000 : t / 2));
}

ASSAY_TEST(ptx, mbarriers_count_arrivals_and_bytes, "unit sim") {
    _Alignas(16) uint32_t out[32], seen = 0;
    run("mbarriers", 32, out);
    for (uint32_t t = 0; t < 32; ++t) /* each came at another count, and none too early */
        seen |= out[t] >= 1 && out[t] <= 32 ? 1u << (out[t] - 1) : 0;
    CHECK(seen == UINT32_MAX);
}

ASSAY_TEST(ptx, copies_and_matrices_go_through_shared_memory, "unit sim") {
    uint16_t in[32][8];
    struct {
        uint16_t rows[32][8];
        uint32_t column[32][4];
    } out;
    ptx_module *module = load("hand.ptx");
    void *parameters[] = {&out, in};
    for (uint32_t i = 0; i < 256; ++i)
        in[i / 8][i % 8] = (uint16_t)(i * 257 + 3);
    REQUIRE_OK(start(module, "copies", 32, 0, parameters));
    for (uint32_t i = 0; i < 256; ++i)
        CHECK(out.rows[i / 8][i % 8] == (i % 8 < 6 ? in[i / 8][i % 8] : 0));
    for (uint32_t t = 0; t < 32; ++t) {
        const uint32_t c = t / 4, r = 2 * (t % 4);
        CHECK(out.column[t][0] == (c < 6 ? in[r][c] | (uint32_t)in[r + 1][c] << 16 : 0));
    }
    ptx_module_free(module);
}

ASSAY_TEST(ptx, instructions_have_two_results, "unit sim") {
    static const uint32_t want[4] = {0x80, 1, 0, 1};
    _Alignas(16) uint32_t out[4];
    run("pairs", 1, out);
    CHECK(memcmp(out, want, sizeof want) == 0);
}

ASSAY_TEST(ptx, all_blocks_of_a_cooperative_launch_wait_for_each_other, "unit sim") {
    enum { BLOCKS = 7 };
    const uint32_t grid[] = {BLOCKS, 1, 1}, one[] = {1, 1, 1};
    uint32_t out[2 * BLOCKS];
    void *parameter = out;
    ptx_module *module = load("hand.ptx");
    REQUIRE_OK(ptx_launch_cooperative(ptx_module_find(module, "grid_waits"), grid, one, one, 0,
                                      &parameter));
    for (uint32_t b = 0; b < BLOCKS; ++b)
        CHECK(out[b] == b + 100 && out[BLOCKS + b] == (b + 1) % BLOCKS + 100);
    ptx_module_free(module);
}

ASSAY_TEST(ptx, defects_are_named_with_their_line, "unit sim") {
    ptx_module *module = load("hand.ptx");
    uint32_t reach = 0, memory[2] = {0};
    void *pointer = memory;
    const ptx_unknown *first = ptx_module_unknown(module, 0);
    REQUIRE(first != NULL && ptx_module_unknown(module, 1) == NULL);
    CHECK_STREQ(first->opcode, "tcgen05.wait::ld.sync.aligned");
    CHECK_STREQ(first->function, "unknown");
    CHECK_STREQ(first->file, "hand.ptx");
    REQUIRE_OK(start(module, "unknown", 1, 0, &reach));
    reach = 1;
    CHECK_FAILS(
        start(module, "unknown", 1, 0, &reach), ASSAY_ERR_KERNEL,
        "unknown instruction in unknown: block (0,0,0) thread (0,0,0): the simulated device "
        "does not know tcgen05.wait::ld.sync.aligned");
    CHECK_FAILS(start(module, "misaligned", 1, 0, &pointer), ASSAY_ERR_KERNEL,
                "misaligned address in misaligned: block (0,0,0) thread (0,0,0) accesses 4 bytes");
    CHECK_FAILS(
        start(module, "two_counts", 64, 0, NULL), ASSAY_ERR_KERNEL,
        "mismatched barriers in two_counts: block (0,0,0) thread (0,0,0) comes to barrier 1 "
        "for 96 threads, thread (32,0,0) for 64 at hand.ptx");
    CHECK_FAILS(
        start(module, "raw_mbarrier", 1, 0, NULL), ASSAY_ERR_KERNEL,
        "wrong mbarrier in raw_mbarrier: block (0,0,0) thread (0,0,0): it was not initialised");
    CHECK_FAILS(start(module, "spins", 1, 0, &pointer), ASSAY_ERR_KERNEL, "livelock in spins");
    CHECK_FAILS(
        start(module, "required", 32, 0, NULL), ASSAY_ERR_DEVICE,
        "hand.ptx: launch of required refused: a block of other than the shape it requires");
    CHECK_FAILS(start(module, "required", 64, 1 << 20, NULL), ASSAY_ERR_DEVICE, "227 KB");
    CHECK_FAILS(start(module, "pairs", 2000, 0, &pointer), ASSAY_ERR_DEVICE, "launch of pairs");
    ptx_module_free(module);
}

/* ---- nvcc's */

static uint64_t factorial(uint64_t n) {
    return n < 2 ? 1 : n * factorial(n - 1);
}

ASSAY_TEST(ptx, functions_call_themselves_and_each_other, "unit sim") {
    ptx_module *module = load("made.ptx");
    uint64_t factorials[20];
    int32_t values[9];
    void *first = factorials;
    struct {
        void *out;
        int32_t which;
    } second = {values, 1};
    REQUIRE_OK(start(module, "recursion", 20, 0, &first));
    REQUIRE_OK(start(module, "indirect", 9, 0, &second));
    for (uint64_t n = 0; n < 20; ++n)
        CHECK(factorials[n] == factorial(n));
    for (int32_t t = 0; t < 9; ++t)
        CHECK(values[t] == ((t + 1) % 3 == 0 ? t + 1 : (t + 1) % 3 == 1 ? 2 * t : t * t));
    ptx_module_free(module);
}

/* The same as made.cu's kernel. */
static void branches(int32_t *out, const int32_t *selector, int32_t n) {
    static const int32_t table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    int32_t local[16];
    uint32_t s = 0;
    for (int32_t i = 0; i < 16; ++i)
        local[i] = i * n;
    for (int32_t i = 0; i < n; ++i)
        switch (selector[i] & 7) {
        case 0:
            s += 1;
            local[s & 15] ^= 3;
            break;
        case 1:
            s ^= 0x55;
            break;
        case 2:
            s = s * 7 + (uint32_t)local[i & 15];
            break;
        case 3:
            s -= (uint32_t)table[i & 7];
            break;
        case 4:
            s = s << 3 | s >> 29;
            break;
        case 5:
            s += (uint32_t)local[s & 15];
            break;
        case 6:
            s = 0 - s;
            break;
        default:
            local[i & 15] = (int32_t)((uint32_t)local[i & 15] + s);
        }
    for (int32_t t = 0; t < 16; ++t)
        out[t] = (int32_t)(s + (uint32_t)local[t]);
}

ASSAY_TEST(ptx, branches_go_by_tables_and_arrays_lie_in_local_memory, "unit sim") {
    ptx_module *module = load("made.ptx");
    int32_t selector[64], got[16], want[16];
    for (int32_t i = 0; i < 64; ++i)
        selector[i] = i * 37 / 5;
    struct {
        void *out, *selector;
        int32_t n;
    } parameters = {got, selector, 64};
    branches(want, selector, 64);
    REQUIRE_OK(start(module, "branches", 16, 0, &parameters));
    CHECK(memcmp(got, want, sizeof want) == 0);
    ptx_module_free(module);
}

ASSAY_TEST(ptx, shared_memory_is_a_function_s_a_kernel_s_and_dynamic, "unit sim") {
    ptx_module *module = load("made.ptx");
    _Alignas(16) float out[64];
    void *parameter = out;
    const ptx_function *kernel = ptx_module_find(module, "shared_memory");
    REQUIRE(kernel != NULL && kernel->shared_bytes == (4 * 32 + 33) * 4);
    REQUIRE_OK(start(module, "shared_memory", 32, 128, &parameter));
    for (int t = 0; t < 32; ++t) {
        CHECK(out[t] == (float)(31 - t) + (float)(131 - t) * 0.5f);
        CHECK(out[32 + t] == (float)(1031 - t));
    }
    ptx_module_free(module);
}

ASSAY_TEST(ptx, blocks_add_up_by_shuffles_votes_and_atomics, "unit sim") {
    enum { N = 200 };
    ptx_module *module = load("made.ptx");
    int32_t in[N], sum[2] = {0, -1}, want = 0;
    uint32_t ballots[8] = {0}, odd[8] = {0};
    for (int32_t i = 0; i < N; ++i) {
        in[i] = i * i % 97 - (i > 190 ? 1000 : 0);
        want += in[i];
        odd[i / 32] |= (uint32_t)(in[i] & 1) << i % 32;
    }
    struct {
        void *sum, *ballots, *in;
        int32_t n;
    } parameters = {sum, ballots, in, N};
    const uint32_t grid[] = {4, 1, 1}, block[] = {64, 1, 1}, none[] = {0, 0, 0};
    REQUIRE_OK(ptx_launch(ptx_module_find(module, "reduce"), grid, block, none, 0, &parameters));
    CHECK(sum[0] == want && sum[1] == 3 && memcmp(ballots, odd, sizeof odd) == 0);
    ptx_module_free(module);
}

ASSAY_TEST(ptx, kernels_print_assert_and_trap, "unit sim") {
    ptx_module *module = load("made.ptx");
    struct {
        int32_t n;
        double x;
    } print = {7, 2.5};
    int32_t many = 3, value = 0, pipes[2];
    char line[128] = "";
    struct {
        void *out;
        int32_t n;
    } stops = {&value, 2};
    REQUIRE(pipe(pipes) == 0);
    fflush(stdout);
    const int out = dup(STDOUT_FILENO);
    dup2(pipes[1], STDOUT_FILENO);
    const assay_status status = start(module, "prints", 2, 0, &print);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    close(pipes[1]);
    CHECK(read(pipes[0], line, sizeof line - 1) > 0);
    close(pipes[0]);
    REQUIRE_OK(status);
    CHECK_STREQ(line, "thread 7%  2.50 q -5 ff\n");
    CHECK_FAILS(start(module, "asserts", 1, 0, &many), ASSAY_ERR_KERNEL,
                "failed assertion in asserts: block (0,0,0) thread (0,0,0): n < 3");
    REQUIRE_OK(start(module, "stops", 1, 0, &stops));
    CHECK(value == 2);
    stops.n = 3;
    CHECK_FAILS(start(module, "stops", 1, 0, &stops), ASSAY_ERR_KERNEL, "trap in stops");
    ptx_module_free(module);
}

#if defined(SIM_ASAN)

static void store_outside(void *context) {
    struct {
        void *out;
        int32_t n;
    } parameters = {malloc(1), 2};
    (void)!start(context, "stops", 1, 0, &parameters);
    free(parameters.out);
}

ASSAY_TEST(ptx, a_store_out_of_bounds_dies_with_its_line, "unit sim") {
    ptx_module *module = load("made.ptx");
    assay_test_expect_death(
        __FILE__, __LINE__, store_outside, module,
        "error in stops: block \\(0,0,0\\) thread \\(0,0,0\\)(.|\n)*made.cu:1[0-9][0-9]");
    ptx_module_free(module);
}

#endif

/* Two modules, each with an `own`, a `$text` and a copy of `shared`; `chosen` and `count` are of
 * one and used by the other. */
static const char linked[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"one.cu\"\n"
    ".extern .func (.param .b32 r) get (.param .b32 a);\n.extern .global .u32 count;\n"
    ".extern .global .u64 chosen;\n.global .u32 own = 7;\n"
    ".weak .func (.param .b32 r) both (.param .b32 a)\n{ .reg .b32 %r<2>; ld.param.b32 %r1, [a]; "
    "add.s32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
    ".visible .entry k(.param .u64 out)\n{ .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [own]; ld.global.u32 %r2, [count];\n"
    "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r2; call (r), get, (a); "
    "ld.param.b32 %r3, [r]; }\n"
    "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), both, (a); "
    "ld.param.b32 %r4, [r]; }\n"
    "ld.global.u64 %rd2, [chosen]; ld.global.u32 %r5, [%rd2];\n"
    "st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r4;\n"
    "st.global.u32 [%rd1+12], %r5; ret; }\n"
    ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"two.cu\"\n"
    ".global .u32 own = 9;\n.visible .global .u64 chosen = own;\n"
    ".visible .global .u32 count = 40;\n"
    ".weak .func (.param .b32 r) both (.param .b32 a)\n{ .reg .b32 %r<2>; ld.param.b32 %r1, [a]; "
    "add.s32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
    ".visible .func (.param .b32 r) get (.param .b32 a)\n{ .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    ".loc 1 5 0\nld.param.b32 %r1, [a]; ld.global.u32 %r2, [own]; add.s32 %r1, %r1, %r2;\n"
    "setp.eq.s32 %p1, %r1, 0; st.param.b32 [r], %r1; ret; }\n";

ASSAY_TEST(ptx, modules_of_one_text_are_linked, "unit sim") {
    _Alignas(16) uint32_t out[4];
    uint32_t *const to = out;
    ptx_module *module;
    REQUIRE_OK(ptx_module_load(linked, strlen(linked), "linked.ptx", &module));
    const ptx_unknown *unknown = ptx_module_unknown(module, 0);
    REQUIRE(unknown != NULL && unknown->line == 5); /* %p1 is not declared */
    CHECK_STREQ(unknown->file, "two.cu");
    ptx_module_free(module);
    char *text = strdup(linked);
    REQUIRE(text != NULL);
    memset(strstr(text, "setp"), ' ', strlen("setp.eq.s32 %p1, %r1, 0;"));
    REQUIRE_OK(ptx_module_load(text, strlen(text), "linked.ptx", &module));
    free(text);
    REQUIRE_OK(start(module, "k", 1, 0, &to));
    CHECK(out[0] == 7 && out[1] == 40 && out[2] == 40 + 9 + 1 && out[3] == 9);
    ptx_module_free(module);
}

ASSAY_TEST(ptx, what_no_module_defines_is_named, "unit sim") {
    static const char end[] = ".version 8.0";
    const size_t size = (size_t)(strstr(linked + sizeof end, end) - linked); /* the first module */
    ptx_module *module;
    REQUIRE_OK(ptx_module_load(linked, size, "linked.ptx", &module));
    const ptx_unknown *unknown = ptx_module_unknown(module, 0);
    REQUIRE(unknown != NULL);
    CHECK_STREQ(unknown->opcode, "get, which no PTX of the program defines,");
    ptx_module_free(module);
}
