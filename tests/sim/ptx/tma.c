#include "tests/sim/ptx/tma.h"

#include <stdio.h>
#include <string.h>

/* SplitMix64. */
static uint64_t draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t below(uint64_t *state, uint32_t n) {
    return (uint32_t)(draw(state) % n);
}

static const struct {
    ptx_tensor_type type;
    uint32_t bytes;
} types[] = {{PTX_TENSOR_U8, 1},  {PTX_TENSOR_BF16, 2}, {PTX_TENSOR_U32, 4},
             {PTX_TENSOR_F16, 2}, {PTX_TENSOR_S32, 4},  {PTX_TENSOR_U64, 8}};
/* Of those that a reduction adds in the same order anywhere. */
static const struct {
    ptx_tensor_type type;
    uint32_t bytes;
} integers[] = {{PTX_TENSOR_U32, 4}, {PTX_TENSOR_S32, 4}, {PTX_TENSOR_U64, 8}};

tma_case tma_draw(uint32_t rank, uint32_t swizzle, tma_mode mode, int32_t i) {
    uint64_t state = rank << 20 | swizzle << 16 | (uint32_t)mode << 12 | (uint32_t)i;
    const uint32_t which = below(&state, mode == TMA_ADD ? 3 : 6);
    tma_case c = {.tensor = {.rank = rank, .swizzle = swizzle}};
    ptx_tensor *t = &c.tensor;
    t->type = mode == TMA_ADD ? integers[which].type : types[which].type;
    t->bytes = mode == TMA_ADD ? integers[which].bytes : types[which].bytes;
    const uint32_t widest = swizzle > 0 ? 16u << swizzle : 256, chunk = 16 / t->bytes;
    uint32_t row = 16 * (1 + below(&state, widest / 16));
    while (row / t->bytes > 256)
        row /= 2;
    uint32_t room = TMA_SHARED / (swizzle > 0 ? widest : row); /* with a swizzle, rows' distance */
    t->box[0] = row / t->bytes;
    t->size[0] = 1 + below(&state, t->box[0] * 2 + 7);
    uint64_t bytes = (t->size[0] * t->bytes + 15) / 16 * 16 + 16 * below(&state, 3);
    for (uint32_t d = 1; d < rank; ++d) {
        const uint32_t most = d + 1 == rank ? 9 : 4;
        t->box[d] = 1 + below(&state, room < most ? room : most);
        room /= t->box[d];
        t->size[d] = 1 + below(&state, rank > 3 ? 3 : 6);
        t->stride[d] = bytes;
        bytes = bytes * t->size[d] + 16 * below(&state, 2);
    }
    for (uint32_t d = 1; d < rank; ++d) { /* statements, since C does not order operands */
        c.start[d] = (int32_t)below(&state, (uint32_t)t->size[d] + 4) - 2;
        c.start[d] -= (int32_t)below(&state, t->box[d]) / 2;
    }
    c.start[0] = (int32_t)(chunk * below(&state, (uint32_t)t->size[0] / chunk + 2));
    if (mode == TMA_LOAD) /* a store may not begin in front of the row */
        c.start[0] -= (int32_t)(chunk * below(&state, 3));
    return c;
}

uint32_t tma_bytes(const tma_case *c) {
    uint32_t bytes = c->tensor.bytes;
    for (uint32_t d = 0; d < c->tensor.rank; ++d)
        bytes *= c->tensor.box[d];
    return bytes;
}

const char *tma_kernel(uint32_t rank, tma_mode mode) {
    static char text[4096], at[64];
    size_t used = 0;
    for (uint32_t d = 0; d < rank; ++d)
        used += (size_t)snprintf(at + used, sizeof at - used, "%s%%r%u", d > 0 ? ", " : "", 10 + d);
    used = (size_t)snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k(.param .u64 image, .param .u64 out, .param .u64 map, "
        ".param .u32 c0, .param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4, "
        ".param .u32 bytes)\n{\n"
        ".reg .b32 %%r<16>; .reg .b64 %%rd<8>; .reg .pred %%p<3>;\n"
        ".shared .align 1024 .b8 m[%d];\n.shared .align 8 .b64 bar;\n"
        "ld.param.u64 %%rd1, [image]; ld.param.u64 %%rd2, [out]; ld.param.u64 %%rd3, [map];\n"
        "ld.param.u32 %%r10, [c0]; ld.param.u32 %%r11, [c1]; ld.param.u32 %%r12, [c2]; "
        "ld.param.u32 %%r13, [c3]; "
        "ld.param.u32 %%r14, [c4]; ld.param.u32 %%r15, [bytes];\n"
        "mov.u32 %%r1, %%tid.x; setp.ne.u32 %%p2, %%r1, 0; mul.lo.u32 %%r2, %%r1, 16;\n"
        "L: cvt.u64.u32 %%rd5, %%r2; add.u64 %%rd6, %%rd1, %%rd5;\n"
        "ld.global.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%rd6]; mov.u32 %%r3, m; "
        "add.u32 %%r3, %%r3, %%r2; st.shared.v4.b32 [%%r3], {%%r4, %%r5, %%r6, %%r7};\n"
        "add.u32 %%r2, %%r2, 2048; setp.lt.u32 %%p1, %%r2, %d; @%%p1 bra L;\n"
        "@%%p2 bra B;\nmbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n"
        "B: fence.proxy.async.shared::cta; bar.sync 0;\n@%%p2 bra W;\n",
        TMA_SHARED, TMA_SHARED);
    if (mode == TMA_LOAD)
        snprintf(
            text + used, sizeof text - used,
            "mbarrier.arrive.expect_tx.shared.b64 %%rd5, [bar], %%r15;\n"
            "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[m], [%%rd3, {%s}], [bar];\n"
            "W: mbarrier.try_wait.parity.shared.b64 %%p1, [bar], 0; @!%%p1 bra W;\n",
            rank, at);
    else
        snprintf(text + used, sizeof text - used,
                 "cp.%sasync.bulk.tensor.%ud.global.shared::cta.%stile.bulk_group [%%rd3, {%s}], "
                 "[m];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nW: bar.sync 0;\n",
                 mode == TMA_ADD ? "reduce." : "", rank, mode == TMA_ADD ? "add." : "", at);
    used = strlen(text);
    snprintf(text + used, sizeof text - used,
             "mul.lo.u32 %%r2, %%r1, 16;\n"
             "S: cvt.u64.u32 %%rd5, %%r2; add.u64 %%rd6, %%rd2, %%rd5; mov.u32 %%r3, m; "
             "add.u32 %%r3, %%r3, %%r2;\n"
             "ld.shared.v4.b32 {%%r4, %%r5, %%r6, %%r7}, [%%r3]; "
             "st.global.v4.b32 [%%rd6], {%%r4, %%r5, %%r6, %%r7};\n"
             "add.u32 %%r2, %%r2, 2048; setp.lt.u32 %%p1, %%r2, %d; @%%p1 bra S;\nret;\n}\n",
             TMA_SHARED);
    return text;
}

void tma_fill(void *shared, void *memory) {
    uint64_t state = 1, word;
    for (size_t i = 0; i < TMA_SHARED; i += sizeof word) {
        word = draw(&state);
        memcpy((char *)shared + i, &word, sizeof word);
    }
    for (size_t i = 0; i < TMA_MEMORY; i += sizeof word) {
        word = draw(&state);
        memcpy((char *)memory + i, &word, sizeof word);
    }
}

/* FNV-1a, of words. */
static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const char *)data + i, sizeof word);
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash;
}

uint64_t tma_hash(uint64_t hash, const void *shared, const void *memory) {
    return mix(mix(hash ^ 0xcbf29ce484222325u, shared, TMA_SHARED), memory, TMA_MEMORY);
}
