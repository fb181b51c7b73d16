/* The variants compiled for this device, for operators that are made of others: the table that
 * kernels/CMakeLists.txt writes. No kernel file includes another operator's. */
#ifndef ASSAY_KERNELS_COMMON_VARIANTS_H
#define ASSAY_KERNELS_COMMON_VARIANTS_H

#include "device/kernel.h"

#define ASSAY_TABLE_OF(device, what)   ASSAY_TABLE_NAME(device, what)
#define ASSAY_TABLE_NAME(device, what) assay_##device##_##what

extern "C" const assay_variant *const ASSAY_TABLE_OF(ASSAY_DEVICE, variants)[];
extern "C" const int32_t ASSAY_TABLE_OF(ASSAY_DEVICE, n_variants);

/* NULL where the device has none of that name. */
static inline const assay_variant *variant_of(const char *op, const char *name) {
    for (int32_t i = 0; i < ASSAY_TABLE_OF(ASSAY_DEVICE, n_variants); ++i) {
        const assay_variant *v = ASSAY_TABLE_OF(ASSAY_DEVICE, variants)[i];
        if (strcmp(v->op, op) == 0 && strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

#endif
