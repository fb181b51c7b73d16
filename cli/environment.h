/* The machine, the device and the software that the numbers come from. */
#ifndef ASSAY_CLI_ENVIRONMENT_H
#define ASSAY_CLI_ENVIRONMENT_H

#include "assay/device.h"
#include "engine/sandbox/sandbox.h"

typedef struct cli_environment {
    const char *device;
    char device_text[ASSAY_DEVICE_TEXT];
    char cpu[128], os[256], blas[256], date[32]; /* date: UTC, ISO 8601 */
    const char *compiler, *build_type;
    char sandbox[SANDBOX_TEXT]; /* the walls around guests; "": not asked */
} cli_environment;

void environment_init(cli_environment *e, const assay_device *device);

/* Notes the walls around the device's guests, and returns them; to be asked when some have run. */
sandbox_walls environment_walls(cli_environment *e, const assay_device *device);

/* The same as name and text, for report writers; the text is NULL after the last. */
typedef struct cli_environment_item {
    const char *name, *text;
} cli_environment_item;
cli_environment_item environment_item(const cli_environment *e, int i);

#endif
