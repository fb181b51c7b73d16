#include "assay/rng.h"

#include "core/normal.h"

void assay_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    enum { ROUNDS = 10 };
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; ++round) {
        const uint64_t p0 = UINT64_C(0xD2511F53) * c0;
        const uint64_t p1 = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += UINT32_C(0x9E3779B9); /* golden ratio */
        k1 += UINT32_C(0xBB67AE85); /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint64_t assay_rng_bits(uint64_t seed, uint64_t stream, uint64_t index) {
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                                 (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    assay_philox4x32(counter, key, out);
    return out[0] | (uint64_t)out[1] << 32;
}

/* Above 1/2 the half rounds to an even last bit, for the largest value to 1: that one is held. */
double assay_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index) {
    const uint64_t bits = assay_rng_bits(seed, stream, index) >> 11;
    const double u = ((double)bits + 0.5) * 0x1p-53;
    return u < 1 ? u : 1 - 0x1p-53;
}

double assay_rng_normal(uint64_t seed, uint64_t stream, uint64_t index) {
    return assay_normal_quantile(assay_rng_uniform(seed, stream, index));
}

uint64_t assay_rng_stream(const char *name) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name != '\0'; ++name)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

int64_t assay_rng_between(assay_rng *rng, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)high - (uint64_t)low + 1; /* 0: all of 2^64 */
    uint64_t bits = assay_rng_bits(rng->seed, rng->stream, rng->next++);
    if (span == 0)
        return (int64_t)bits;
    /* 2^64 mod span values too many would favour the small remainders: draw again. */
    const uint64_t excess = (0 - span) % span;
    while (bits < excess)
        bits = assay_rng_bits(rng->seed, rng->stream, rng->next++);
    return (int64_t)((uint64_t)low + bits % span);
}

static int bit_length(uint64_t v) {
    return v == 0 ? 0 : 64 - __builtin_clzll(v);
}

/* Uniform over the octaves [2^k, 2^(k+1)) that low..high meets, then inside one: no logarithm. */
int64_t assay_rng_log_between(assay_rng *rng, int64_t low, int64_t high) {
    const int64_t octave =
        assay_rng_between(rng, bit_length((uint64_t)low), bit_length((uint64_t)high));
    const int64_t first = (int64_t)(UINT64_C(1) << (octave - 1));
    const int64_t last = (int64_t)((UINT64_C(1) << octave) - 1);
    return assay_rng_between(rng, first > low ? first : low, last < high ? last : high);
}
