/*
 * Counter-based random numbers: element i of stream s under seed k is a pure function of (k, s, i),
 * so the data is the same for any thread count, order and device.
 *
 * Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011), key = seed, counter = {index, stream}, each 64-bit value low word first.
 * Uniform: the first two output words give 53 bits, value (bits + 1/2) * 2^-53, never 0 or 1.
 * Normal: the inverse CDF, Wichura's AS 241 PPND16 (Applied Statistics 37, 1988), of that uniform,
 * with a logarithm made of IEEE basic operations only, so that no libm changes a bit of it.
 */
#ifndef ASSAY_RNG_H
#define ASSAY_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void assay_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint64_t assay_rng_bits(uint64_t seed, uint64_t stream, uint64_t index);
double assay_rng_uniform(uint64_t seed, uint64_t stream, uint64_t index); /* in (0, 1) */
double assay_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);  /* N(0, 1) */

/* A stream for a name, so that a tensor's data does not depend on its place in a list (FNV-1a). */
uint64_t assay_rng_stream(const char *name);

/* A sequential reader over one stream, for drawing random cases. */
typedef struct assay_rng {
    uint64_t seed, stream, next;
} assay_rng;

/* Uniform over the integers low..high, both included; low <= high. */
int64_t assay_rng_between(assay_rng *rng, int64_t low, int64_t high);

/* An integer in low..high, low >= 1, uniform in its logarithm: small values as often as large. */
int64_t assay_rng_log_between(assay_rng *rng, int64_t low, int64_t high);

#ifdef __cplusplus
}
#endif

#endif
