/* Bulk copies and tensor maps: what lies where afterwards, and what is refused. */
#include "sim/ptx/launch.h"
#include "sim/ptx/tensor_map.h"
#include "sim/sim.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 20, HEIGHT = 5, BOX_X = 16, BOX_Y = 4, BOX = BOX_X * BOX_Y };

/* One thread. The parts of the kernel that are not about copies; %rd1 and %rd2 are `in` and `out`,
 * %rd3 the map, and `m` begins with 1024 bytes of data. */
static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;\n.shared .align 1024 .b8 m[2048];\n"
    ".shared .align 8 .b64 bar;\n"
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.b64 %rd3, map; "
    "cvta.param.u64 %rd3, %rd3;\n"
    "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n"
    "mov.u32 %r1, -4; mov.u32 %r2, 2; mov.u32 %r3, 0;\n";
static const char wait[] = "W: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @!%p1 bra W;\n";

typedef struct parameters {
    const void *in;
    void *out;
    char map[PTX_TENSOR_MAP_BYTES];
} parameters;

static assay_status run(const char *body, const parameters *p) {
    static char text[8192];
    const uint32_t one[] = {1, 1, 1};
    char aligned[sizeof *p + 64]; /* the map lies at a multiple of 64 */
    ptx_module *module = NULL;
    memset(aligned, 0, sizeof aligned);
    memcpy(aligned, p, 16);
    memcpy(aligned + 64, p->map, sizeof p->map);
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", head, body);
    assay_status status = ptx_module_load(text, strlen(text), "bulk.ptx", &module);
    if (status == ASSAY_OK && ptx_module_unknown(module, 0) != NULL)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED, "%s", ptx_module_unknown(module, 0)->opcode);
    if (status == ASSAY_OK)
        status = ptx_launch(ptx_module_kernel(module, 0), one, one, one, 0, aligned);
    ptx_module_free(module);
    return status;
}

static assay_status load_and_store(const char *load, const char *store, const parameters *p) {
    char body[2048];
    snprintf(
        body, sizeof body,
        "mbarrier.arrive.expect_tx.shared.b64 %%rd5, [bar], 256;\n%s\n%sfence.proxy.async;\n%s\n"
        "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n",
        load, wait, store);
    return run(body, p);
}

#define LOAD                                                                                       \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m], [%rd1], 256, [bar];"
#define STORE "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [m], 256;"

ASSAY_TEST(ptx, bulk_copies_move_bytes, "unit sim") {
    uint32_t in[64] __attribute__((aligned(16))), out[64] __attribute__((aligned(16)));
    const parameters p = {.in = in, .out = out};
    for (uint32_t i = 0; i < 64; ++i) {
        in[i] = 1000 + i;
        out[i] = 7;
    }
    REQUIRE_OK(load_and_store(LOAD, STORE, &p));
    CHECK(memcmp(in, out, sizeof in) == 0);
    REQUIRE_OK(load_and_store(
        LOAD, "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [m], 128;", &p));
    CHECK(out[31] == 2 * 1031 && out[32] == 1032);
    REQUIRE_OK(load_and_store(
        LOAD, "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%rd2], [m], 16;", &p));
    CHECK(out[3] == 1003 && out[4] == 2 * 1004);
    REQUIRE_OK(run("cp.async.bulk.prefetch.L2.global [%rd1], 64;", &p));
}

static ptx_tensor tensor_of(float *data, uint32_t swizzle) {
    return (ptx_tensor){.base = (char *)data,
                        .size = {WIDTH, HEIGHT},
                        .stride = {0, WIDTH * sizeof *data},
                        .box = {BOX_X, BOX_Y},
                        .rank = 2,
                        .type = PTX_TENSOR_F32,
                        .swizzle = swizzle};
}

/* The box at (-4, 2) of a tensor of 20 x 5, which leaves it on two sides. */
static float in_box(const float *data, int x, int y) {
    const int tx = x - 4, ty = y + 2;
    return tx >= 0 && tx < WIDTH && ty < HEIGHT ? data[ty * WIDTH + tx] : 0;
}

#define TENSOR_LOAD                                                                                \
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "            \
    "[m], [%rd3, {%r1, %r2}], [bar];"
#define STORE_BOX "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [m], 512;"
#define TENSOR_STORE                                                                               \
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {%r3, %r3}], [m];"

ASSAY_TEST(ptx, tensor_copies_take_boxes, "unit sim") {
    static float data[WIDTH * HEIGHT] __attribute__((aligned(16))),
        out[2 * BOX] __attribute__((aligned(16)));
    for (uint32_t swizzle = 0; swizzle <= 3; swizzle += 3) { /* none, 128 bytes */
        parameters p = {.in = data, .out = out};
        for (int i = 0; i < WIDTH * HEIGHT; ++i)
            data[i] = (float)(i + 1);
        const ptx_tensor t = tensor_of(data, swizzle);
        CHECK(ptx_tensor_encode(&t, p.map) == NULL);
        REQUIRE_OK(load_and_store(TENSOR_LOAD, STORE_BOX, &p));
        for (int i = 0; i < BOX; ++i) {
            /* With a swizzle, rows of 64 bytes lie 128 apart, in its order of chunks. */
            const int y = i / BOX_X, x = i % BOX_X, chunk = y * (swizzle == 0 ? 4 : 8) + x / 4;
            const int at = swizzle == 0 ? chunk : chunk ^ y;
            CHECK(out[at * 4 + x % 4] == in_box(data, x, y));
        }
    }
    /* And back, to the corner: the box as it was laid down. */
    parameters p = {.in = data, .out = out};
    const ptx_tensor t = tensor_of(data, 0);
    CHECK(ptx_tensor_encode(&t, p.map) == NULL);
    REQUIRE_OK(load_and_store(TENSOR_LOAD, TENSOR_STORE, &p));
    CHECK(data[0] == 0 && data[4] == 41 && data[WIDTH + 4] == 61 && data[BOX_X] == 17);
    REQUIRE_OK(load_and_store(
        TENSOR_LOAD,
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd3, {%r3, %r3}], "
        "[m];",
        &p));
    CHECK(data[8] == 45 + 81 && data[BOX_X] == 17 && data[WIDTH * 4] == 81);
}

/* What an H100 made of them; of all 2^32 words it differs from the same rule in none. */
static const uint32_t rounded[][2] = {
    {0x00000000, 0x00000000}, {0x80000001, 0x80000000}, {0x00001000, 0x00000000},
    {0x00001001, 0x00002000}, {0x00003000, 0x00004000}, {0x807ff000, 0x80800000},
    {0x3f801000, 0x3f800000}, {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000},
    {0x7f7fefff, 0x7f7fe000}, {0x7f7ff000, 0x7f800000}, {0xff7fffff, 0xff800000},
    {0xff800000, 0xff800000}, {0x7f800001, 0x7fffe000}, {0xffc01234, 0x7fffe000},
    {0xffffffff, 0x7fffe000},
};

ASSAY_TEST(ptx, tensor_loads_round_to_tf32, "unit sim") {
    static const uint32_t types[] = {PTX_TENSOR_TF32, PTX_TENSOR_TF32_FTZ, PTX_TENSOR_F32};
    static uint32_t data[WIDTH * HEIGHT] __attribute__((aligned(16))),
        out[2 * BOX] __attribute__((aligned(16)));
    const int n = (int)(sizeof rounded / sizeof rounded[0]);
    for (int i = 0; i < n; ++i) /* in the box's first two rows */
        data[(2 + i / 8) * WIDTH + i % 8] = rounded[i][0];
    for (int type = 0; type < 3; ++type) {
        parameters p = {.in = data, .out = out};
        ptx_tensor t = tensor_of((float *)data, 0);
        t.type = types[type];
        CHECK(ptx_tensor_encode(&t, p.map) == NULL);
        REQUIRE_OK(load_and_store(TENSOR_LOAD, STORE_BOX, &p));
        for (int i = 0; i < n; ++i)
            CHECK(out[i / 8 * BOX_X + 4 + i % 8] == rounded[i][type == 2 ? 0 : 1]);
    }
}

ASSAY_TEST(ptx, wrong_bulk_copies_get_a_line, "unit sim") {
    static float data[WIDTH * HEIGHT] __attribute__((aligned(16)));
    static const struct {
        const char *load, *line;
    } wrong[] = {
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m], [%rd1], 24, [bar];",
         "a number of bytes that is no multiple of 16"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m], [%rd1+4], 32, "
         "[bar];",
         "an address in global memory that is no multiple of 16"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m+8], [%rd1], 32, "
         "[bar];",
         "an address in shared memory that is no multiple of 16"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [m+2000], [%rd1], 256, "
         "[bar];",
         "it leaves the block's shared memory"},
        {TENSOR_LOAD, "its tensor map is none that cuTensorMapEncodeTiled made"},
    };
    static const struct {
        const char *copy, *line;
    } starts[] = {
        {"mov.u32 %r1, -2;" TENSOR_LOAD, "its first coordinate, -2, is no multiple of 16 bytes"},
        {"mov.u32 %r3, 5;" TENSOR_STORE, "its first coordinate, 5, is no multiple of 16 bytes"},
        {"mov.u32 %r3, -4;" TENSOR_STORE, "a coordinate of a store, -4, is negative"},
    };
    const parameters p = {.in = data, .out = data};
    assay_sim_device()->schedule(ASSAY_SCHEDULE_IN_ORDER, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i)
        CHECK_FAILS(load_and_store(wrong[i].load, "", &p), ASSAY_ERR_KERNEL, wrong[i].line);
    parameters mapped = p;
    const ptx_tensor t = tensor_of(data, 0);
    CHECK(ptx_tensor_encode(&t, mapped.map) == NULL);
    CHECK_FAILS(
        load_and_store("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx"
                       "::bytes [m], [%rd3, {%r1}], [bar];",
                       "", &mapped),
        ASSAY_ERR_KERNEL, "its tensor map is of another rank");
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; ++i)
        CHECK_FAILS(run(starts[i].copy, &mapped), ASSAY_ERR_KERNEL, starts[i].line);
    REQUIRE_OK(assay_sim_device()->finish()); /* their callers know of them */
}

ASSAY_TEST(ptx, tensor_maps_follow_the_rules, "unit sim") {
    static float data[WIDTH * HEIGHT] __attribute__((aligned(16)));
    char map[PTX_TENSOR_MAP_BYTES];
    const ptx_tensor right = tensor_of(data, 0);
    ptx_tensor t = right, again;
    CHECK(ptx_tensor_encode(&t, map) == NULL && ptx_tensor_decode(map, &again));
    CHECK(again.rank == 2 && again.bytes == 4 && again.size[1] == HEIGHT && again.stride[0] == 4);
    t.base += 4;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "its address is no multiple of 16");
    t = right;
    t.stride[1] = 76;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "a stride is no multiple of 16 bytes, or 2^40 or more");
    t = right;
    t.box[0] = 6;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "a row of the box is no multiple of 16 bytes");
    t.box[0] = 257;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "a dimension of the box is not 1 to 256");
    t = right;
    t.swizzle = 1;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "a row of the box is longer than the swizzle");
    t = right;
    t.rank = 6;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "its rank is not 1 to 5");
    t = right;
    t.size[0] = 0;
    CHECK_STREQ(ptx_tensor_encode(&t, map), "a dimension is not 1 to 2^32");
    memset(map, 0, sizeof map);
    CHECK(!ptx_tensor_decode(map, &again));
}
