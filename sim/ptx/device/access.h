/* Accesses to memory: plain ones, which the kernel's code makes itself, behind these. */
#ifndef ASSAY_SIM_PTX_DEVICE_ACCESS_H
#define ASSAY_SIM_PTX_DEVICE_ACCESS_H

#include "sim/ptx/device/base.h"

#define ALIGNED(p, bytes, site)                                                                    \
    if (__builtin_expect(((uintptr_t)(p) & ((bytes)-1)) != 0, 0))                                  \
    x->misaligned((p), (bytes), (site))

/* An access of `bytes` at p comes next; the last arguments are the values that it writes. The code
 * of a kernel defines PTX_RECORD, 1 or 0, behind these headers. */
#define RECORD(p, bytes, how, value, site)                                                         \
    do {                                                                                           \
        if (PTX_RECORD)                                                                            \
            x->access((p), (bytes), (how), (value), (uint32_t)((site)-sites));                     \
    } while (0)
#define READ(p, bytes, how, site)                                                                  \
    do {                                                                                           \
        ALIGNED(p, bytes, site);                                                                   \
        RECORD(p, bytes, how, 0, site);                                                            \
    } while (0)
#define WRITE(p, bytes, how, site, ...)                                                            \
    do {                                                                                           \
        ALIGNED(p, bytes, site);                                                                   \
        const __typeof__(*(p)) written[] = {__VA_ARGS__};                                          \
        RECORD(p, bytes, how, written, site);                                                      \
    } while (0)
/* An atomic for blocks that run at the same time in several processes (sim/split.h). false: memory
 * was not `old`, and `old` now has memory's value. */
#define SWAPPED(p, old, next)                                                                      \
    __atomic_compare_exchange_n((p), &(old), (next), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)

#endif
