#include "sim/device.h"

#include <stdio.h>

enum { LINE = 768 };

/* The first bad launch since finish() last asked or a run began; a variant may have ignored its
 * status. */
static assay_status first_status;
static char first_line[LINE];

void sim_device_note(assay_status status) {
    if (status == ASSAY_OK || first_status != ASSAY_OK)
        return;
    first_status = status;
    snprintf(first_line, sizeof first_line, "%s", assay_error());
}

void sim_device_forget(void) {
    first_status = ASSAY_OK;
}

assay_status sim_device_noted(void) {
    const assay_status status = first_status;
    sim_device_forget();
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(status, "%s", first_line);
}
