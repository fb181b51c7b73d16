/* A number that shows nothing of another one: the finaliser of SplitMix64 (Steele, Lea, Flood,
 * OOPSLA 2014). */
#ifndef ASSAY_CORE_MIX_H
#define ASSAY_CORE_MIX_H

#include <stdint.h>

static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
