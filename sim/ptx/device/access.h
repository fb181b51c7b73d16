/* Accesses to memory: plain ones, which the kernel's code makes itself, behind these. */
#ifndef ASSAY_SIM_PTX_DEVICE_ACCESS_H
#define ASSAY_SIM_PTX_DEVICE_ACCESS_H

#include "sim/ptx/device/base.h"

#define ALIGNED(p, bytes, site)                                                                    \
    if (__builtin_expect(((uintptr_t)(p) & ((bytes)-1)) != 0, 0))                                  \
    x->misaligned((p), (bytes), (site))

#if PTX_RECORD
#define READ(p, bytes, site)                                                                       \
    do {                                                                                           \
        ALIGNED(p, bytes, site);                                                                   \
        x->read((p), (bytes), (site));                                                             \
    } while (0)
#define WRITE(p, bytes, site)                                                                      \
    do {                                                                                           \
        ALIGNED(p, bytes, site);                                                                   \
        x->write((p), (bytes), (site));                                                            \
    } while (0)
#else
#define READ  ALIGNED
#define WRITE ALIGNED
#endif

#endif
