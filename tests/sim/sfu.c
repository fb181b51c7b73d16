#include "tests/sim/sfu.h"

/* The sum of a hash of each input and its result: in any order. */
static uint64_t hash(const sfu_checksum *c, uint32_t x) {
    const uint32_t y = c->f64 ? sfu_f64(c->function, x) : sfu_f32(c->function, x, c->ftz);
    uint64_t h = ((uint64_t)x << 32 | y) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 32;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}

uint64_t sfu_of_samples(const sfu_checksum *c) {
    const uint32_t scatter = 0x9e3779b1, most = (1 << 23) - 1;
    uint64_t sum = 0;
    for (uint32_t class = 0; class < 512; ++class)
        for (uint32_t k = 0; k < 48; ++k)
            sum += hash(c, class << 23 | (k < 8 ? k : k < 16 ? most - (k - 8) : k * scatter >> 9));
    return sum;
}

uint64_t sfu_of_part(const sfu_checksum *c, uint32_t part) {
    uint64_t sum = 0;
    for (uint32_t m = 0; m < 1 << 23; ++m)
        sum += hash(c, part << 23 | m);
    return sum;
}

/* f64: the upper words; their samples are those of functions that all inputs proved. */
const sfu_checksum sfu_checksums[] = {
    {"ex2.approx.ftz.f32", SFU_EX2, true, false, 0xce981d6bc78dd794, 0xed2f3b1c683f9446},
    {"lg2.approx.ftz.f32", SFU_LG2, true, false, 0xdb9470dd4623a1e3, 0xc07f7e50468a228f},
    {"rcp.approx.ftz.f32", SFU_RCP, true, false, 0xc0f7571caba9a9e8, 0x81691257456935d0},
    {"rsqrt.approx.ftz.f32", SFU_RSQRT, true, false, 0x079014bfc850e5e8, 0x196fb9f8c282ed81},
    {"sqrt.approx.ftz.f32", SFU_SQRT, true, false, 0xc30bb8354db14547, 0x3018ec119760d5ca},
    {"sin.approx.ftz.f32", SFU_SIN, true, false, 0xf6fba9e23b7c33a2, 0x24b73b78df87af27},
    {"cos.approx.ftz.f32", SFU_COS, true, false, 0x6ef8ddab553483f0, 0x87e3a900e360dba2},
    {"ex2.approx.f32", SFU_EX2, false, false, 0xadc1c02fb189cd4f, 0x2171eb4781725efb},
    {"lg2.approx.f32", SFU_LG2, false, false, 0x0e3c2997aae705d4, 0x1b0912285185418d},
    {"rcp.approx.f32", SFU_RCP, false, false, 0xff61bb38b3073fe1, 0x091d895140b30dea},
    {"rsqrt.approx.f32", SFU_RSQRT, false, false, 0x549aeb8ffc487f5c, 0x2e6ed5b5752140bc},
    {"sqrt.approx.f32", SFU_SQRT, false, false, 0x439dc39991ed0b17, 0x1305aeaa2bc3d4fd},
    {"sin.approx.f32", SFU_SIN, false, false, 0xf6fba9e23b7c33a2, 0x24b73b78df87af27},
    {"cos.approx.f32", SFU_COS, false, false, 0x6ef8ddab553483f0, 0x87e3a900e360dba2},
    {"tanh.approx.f32", SFU_TANH, false, false, 0x8335594c3c1057e8, 0x537232da0ad73869},
    {"rcp.approx.ftz.f64", SFU_RCP, true, true, 0x08df8d2c0c1f5b99, 0x8f9aabe7bd6e11c0},
    {"rsqrt.approx.ftz.f64", SFU_RSQRT, true, true, 0x44185448a22b4dec, 0x24892cc5666a28f5},
};
const int32_t n_sfu_checksums = sizeof sfu_checksums / sizeof sfu_checksums[0];
