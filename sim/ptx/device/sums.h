/* Sums of wgmma that are under way: tags in registers (sim/proxy.h). */
#ifndef ASSAY_SIM_PTX_DEVICE_SUMS_H
#define ASSAY_SIM_PTX_DEVICE_SUMS_H

#include "sim/ptx/device/base.h"

INLINE bool is_tag(uint32_t word) {
    return word >= 0xffe00000u || word >> 21 == 0x80200000u >> 21; /* of bytes */
}

/* A register is read, is written, at a place where neither may be under way. */
INLINE uint32_t settled(const ptx_context *x, uint32_t word, const ptx_site *site) {
    if (is_tag(word))
        x->wgmma_touched(word, site);
    return word;
}
INLINE void unsettled(const ptx_context *x, uint32_t word, const ptx_site *site) {
    if (is_tag(word))
        x->wgmma_overwritten(word, site);
}

INLINE uint32_t result(const ptx_context *x, uint32_t word) {
    return is_tag(word) ? x->wgmma_result(word) : word;
}

#endif
