/* The attributes that golden files use: scalars of three fixed types. */
#ifndef ASSAY_GOLDEN_ATTRIBUTE_H
#define ASSAY_GOLDEN_ATTRIBUTE_H

#include "golden/file.h"

#include <stdint.h>

/* Reading fails with a line about `place`, the name of `object` in the file. */
assay_status golden_get_text(const golden_file *file, hid_t object, const char *place,
                             const char *name, char *text, size_t size) ASSAY_MUST_CHECK;
assay_status golden_get_int(const golden_file *file, hid_t object, const char *place,
                            const char *name, int32_t *value) ASSAY_MUST_CHECK;
assay_status golden_get_seed(const golden_file *file, hid_t object, const char *place,
                             uint64_t *value) ASSAY_MUST_CHECK;

assay_status golden_put_text(const golden_file *file, hid_t object, const char *name,
                             const char *text) ASSAY_MUST_CHECK;
assay_status golden_put_int(const golden_file *file, hid_t object, const char *name,
                            int32_t value) ASSAY_MUST_CHECK;
assay_status golden_put_seed(const golden_file *file, hid_t object,
                             uint64_t value) ASSAY_MUST_CHECK;

#endif
