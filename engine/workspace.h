/* The scratch memory of one call: NaN patterns inside, a guard zone on both sides. */
#ifndef ASSAY_ENGINE_WORKSPACE_H
#define ASSAY_ENGINE_WORKSPACE_H

#include "assay/device.h"

typedef struct workspace {
    const assay_device *device;
    unsigned char *memory; /* the device's; the first guard begins here */
    void *data;            /* the part that the kernel may use, aligned to 256 bytes */
    size_t bytes;          /* of it */
} workspace;

assay_status workspace_init(workspace *w, const assay_device *device,
                            size_t bytes) ASSAY_MUST_CHECK;

/* ASSAY_ERR_KERNEL when something was written outside. */
assay_status workspace_check(const workspace *w) ASSAY_MUST_CHECK;
void workspace_clear(workspace *w);

#endif
