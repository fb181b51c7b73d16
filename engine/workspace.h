/* The scratch memory of one call: NaN patterns inside, a guard zone on both sides. */
#ifndef ASSAY_ENGINE_WORKSPACE_H
#define ASSAY_ENGINE_WORKSPACE_H

#include "engine/downloads.h"

enum { WORKSPACE_GUARD = 4096 };

typedef struct workspace {
    const assay_device *device;
    unsigned char *memory; /* the device's; the first guard begins here */
    void *data;            /* the part that the kernel may use, aligned to 256 bytes */
    size_t bytes;          /* of it */
    unsigned char guards[2][WORKSPACE_GUARD]; /* as they were taken back */
} workspace;

assay_status workspace_init(workspace *w, const assay_device *device,
                            size_t bytes) ASSAY_MUST_CHECK;

/* Adds what workspace_check() looks at to a list of downloads, at most WORKSPACE_DOWNLOADS. */
enum { WORKSPACE_DOWNLOADS = 2 };
void workspace_ask_back(workspace *w, downloads *list);

/* ASSAY_ERR_KERNEL when something was written outside. */
assay_status workspace_check(const workspace *w) ASSAY_MUST_CHECK;
void workspace_clear(workspace *w);

#endif
