/* Blocks in several processes (sim/split.h): the same bits, the same line where a block fails, and
 * only for kernels whose blocks nothing orders. */
#include "sim/ptx/launch.h"
#include "sim/split.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 300, THREADS = 64 };

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_90\n.address_size 64\n.global .align 4 .u32 total;\n"                \
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"                      \
    ".visible .entry k(.param .u64 out, .param .u32 bad) {\n"                                      \
    ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f32 %f<4>;\n"                     \
    ".shared .align 4 .b8 tile[256];\n"                                                            \
    "ld.param.u64 %rd1, [out]; ld.param.u32 %r9, [bad];\n"                                         \
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u64 %rd3, total;\n"
#define TAIL "ret;\n}\n"

/* Each thread mixes its number some times; neighbours swap by shared memory; all are counted.
 * Blocks from `bad` on, each third, trap. */
static const char mixes[] =
    HEAD "shl.b32 %r3, %r1, 2; mov.u32 %r4, tile; add.u32 %r4, %r4, %r3;\n"
         "mad.lo.u32 %r5, %r2, 64, %r1; mov.u32 %r6, 0;\n"
         "L: mad.lo.u32 %r5, %r5, 1664525, 1013904223; add.u32 %r6, %r6, 1;\n"
         "red.global.add.u32 [%rd3], %r5;\n"
         "setp.lt.u32 %p1, %r6, 200; @%p1 bra L;\n"
         "st.shared.u32 [%r4], %r5; bar.sync 0; mov.u32 %r7, tile; sub.u32 %r8, 252, %r3;\n"
         "add.u32 %r7, %r7, %r8; ld.shared.u32 %r5, [%r7];\n"
         "setp.ge.u32 %p1, %r2, %r9; sub.u32 %r10, %r2, %r9; rem.u32 %r10, %r10, 3;\n"
         "setp.eq.and.u32 %p2, %r10, 0, %p1; @%p2 trap;\n"
         "mad.lo.u32 %r11, %r2, 64, %r1; mul.wide.u32 %rd2, %r11, 4; add.u64 %rd2, %rd1, %rd2;\n"
         "st.global.u32 [%rd2], %r5;\n" TAIL;

/* In memory that processes share; the module's variable is the last word. */
static uint32_t *run(uint32_t bad, int32_t processes, assay_status *status) {
    const uint32_t grid[] = {BLOCKS, 1, 1}, block[] = {THREADS, 1, 1}, one[] = {1, 1, 1};
    const size_t bytes = (BLOCKS * THREADS + 1) * sizeof(uint32_t);
    ptx_module *module;
    void *total;
    size_t size;
    uint32_t *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(out != MAP_FAILED);
    const struct { uint32_t *out, bad; } parameters = {out, bad};
    REQUIRE_OK(ptx_module_load(mixes, sizeof mixes - 1, "mixes.ptx", &module));
    sim_split_allow(processes, 0);
    *status = ptx_launch(ptx_module_kernel(module, 0), grid, block, one, 0, &parameters);
    sim_split_allow(1, 0);
    CHECK(sim_split_processes() == processes);
    REQUIRE_OK(ptx_module_symbol(module, "total", &total, &size));
    memcpy(&out[BLOCKS * THREADS], total, sizeof(uint32_t));
    ptx_module_free(module);
    return out;
}

ASSAY_TEST(ptx_split, blocks_of_several_processes_leave_the_same_bits, "unit sim") {
    assay_status status;
    const size_t bytes = (BLOCKS * THREADS + 1) * sizeof(uint32_t);
    uint32_t *alone = run(BLOCKS, 1, &status);
    REQUIRE_OK(status);
    for (int32_t n = 2; n <= 3; ++n) {
        uint32_t *together = run(BLOCKS, n, &status);
        REQUIRE_OK(status);
        CHECK(memcmp(alone, together, bytes) == 0);
        munmap(together, bytes);
    }
    munmap(alone, bytes);
}

ASSAY_TEST(ptx_split, the_first_block_that_fails_is_told, "unit sim") {
    for (uint32_t bad = 1; bad < 60; bad += 13)
        for (int32_t n = 1; n <= 3; n += 2) {
            char line[80];
            assay_status status;
            uint32_t *out = run(bad, n, &status);
            snprintf(line, sizeof line, "trap in k: block (%u,0,0)", bad);
            CHECK_MSG(status == ASSAY_ERR_KERNEL && strstr(assay_error(), line) != NULL,
                      "%d processes, block %u: %s", n, bad, assay_error());
            munmap(out, (BLOCKS * THREADS + 1) * sizeof(uint32_t));
        }
}

ASSAY_TEST(ptx_split, only_blocks_that_nothing_orders_run_at_the_same_time, "unit sim") {
    static const struct {
        const char *code;
        bool unordered;
    } bodies[] = {
        {"st.global.u32 [%rd1], %r1;", true},
        {"atom.shared.add.u32 %r3, [tile], 1; st.global.u32 [%rd1], %r3;", true},
        {"ld.volatile.shared.u32 %r3, [tile]; membar.cta; fence.acq_rel.cta;", true},
        {"red.global.add.u32 [%rd1], 1; red.relaxed.gpu.global.add.u64 [%rd3], %rd1;", true},
        {"atom.global.max.s32 %r3, [%rd1], %r1;", true}, /* nothing reads %r3 */
        {"atom.global.max.s32 %r3, [%rd1], %r1; st.global.u32 [%rd3], %r3;", false},
        {"atom.global.max.s32 %r3, [%rd1], %r3;", false},
        {"red.global.add.u32 [%rd1], 1; red.global.xor.b32 [%rd3], 1;", false},
        {"red.global.add.f32 [%rd1], %f1;", false},
        {"red.global.inc.u32 [%rd1], 7;", false},
        {"atom.global.exch.b32 %r3, [%rd1], 1;", false},
        {"atom.global.cas.b32 %r3, [%rd1], 0, 1;", false},
        {"ld.volatile.global.u32 %r3, [%rd1];", false},
        {"ld.acquire.gpu.u32 %r3, [%rd1];", false},
        {"st.relaxed.gpu.global.u32 [%rd1], %r3;", false},
        {"membar.gl;", false},
        {"fence.sc.sys;", false},
        {"nanosleep.u32 20;", false},
        {"mov.u32 %r3, %clock;", false},
        {"mov.u64 %rd2, %globaltimer;", false},
        {"mov.u32 %r3, %envreg1;", false},
        {"{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd1; "
         "st.param.b64 [a], %rd1; call.uni (r), vprintf, (f, a); }",
         false},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [tile], 16;", false},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; ++i) {
        char text[2048];
        ptx_module *module;
        snprintf(text, sizeof text, "%s%s\n%s", HEAD, bodies[i].code, TAIL);
        REQUIRE_OK(ptx_module_load(text, strlen(text), "body.ptx", &module));
        CHECK_MSG(ptx_module_unknown(module, 0) == NULL, "%s", bodies[i].code);
        CHECK_MSG(ptx_module_kernel(module, 0)->unordered == bodies[i].unordered, "%s",
                  bodies[i].code);
        ptx_module_free(module);
    }
}
