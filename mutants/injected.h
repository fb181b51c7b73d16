/* Names that mutants use beside a kernel's own words (rules_device.c): compiled before the kernel.
 */
#ifndef ASSAY_MUTANTS_INJECTED_H
#define ASSAY_MUTANTS_INJECTED_H

#include <stdint.h>
#include <string.h>

/* Keeps the upper 32 - bits bits of an fp32 number: cut, as tensor cores do. fp64 becomes fp32. */
static inline __attribute__((unused)) float mutant_cut(float x, int bits) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word &= ~((UINT32_C(1) << bits) - 1);
    memcpy(&x, &word, sizeof word);
    return x;
}
static inline __attribute__((unused)) float mutant_tf32(float x) {
    return mutant_cut(x, 13);
}
static inline __attribute__((unused)) double mutant_tf32(double x) {
    return (double)(float)x;
}
/* To nearest, half away from zero. */
static inline __attribute__((unused)) float mutant_bf16(float x) {
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    word += UINT32_C(1) << 15;
    memcpy(&x, &word, sizeof word);
    return mutant_cut(x, 16);
}
static inline __attribute__((unused)) double mutant_bf16(double x) {
    return (double)(float)x;
}

/* For integers there is none: such a mutant is not a program. */
static inline __attribute__((unused)) float mutant_scaled(float x) {
    return x * (1 + 1e-4f);
}
static inline __attribute__((unused)) double mutant_scaled(double x) {
    return x * (1 + 1e-4);
}
template <typename T> float mutant_scaled(T) = delete;

/* Counts without telling the race recorder: the count is the harness's, not the kernel's. */
static __attribute__((noinline, unused, no_sanitize("thread"))) bool mutant_chosen() {
    static unsigned calls;
    return calls++ % 61 == 5;
}
static inline __attribute__((unused)) float mutant_one_element(float x) {
    return mutant_chosen() ? x * 1.03f : x;
}
static inline __attribute__((unused)) double mutant_one_element(double x) {
    return mutant_chosen() ? x * 1.03 : x;
}
template <typename T> float mutant_one_element(T) = delete;

static inline __attribute__((unused)) bool mutant_not_last() {
    return threadIdx.x + 1 < blockDim.x;
}

template <typename T> static inline T mutant_one(T) {
    return T(1);
}
template <typename T> static inline T mutant_zero(T) {
    return T(0);
}

#endif
