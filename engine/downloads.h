/* Copies from a device's memory that are waited for once. */
#ifndef ASSAY_ENGINE_DOWNLOADS_H
#define ASSAY_ENGINE_DOWNLOADS_H

#include "assay/device.h"

typedef struct downloads {
    assay_download *of; /* room for as many as are added */
    int32_t n;
} downloads;

void downloads_add(downloads *list, void *to_host, const void *from, size_t bytes);

/* Does them all, and empties the list. */
assay_status downloads_run(downloads *list, const assay_device *device) ASSAY_MUST_CHECK;

#endif
