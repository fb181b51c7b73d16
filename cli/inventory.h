/* The contents of assay list: operators with their variants and sets, and devices. */
#ifndef ASSAY_CLI_INVENTORY_H
#define ASSAY_CLI_INVENTORY_H

#include "assay/device.h"
#include "cli/cases.h"

enum { INVENTORY_DEVICES = 2 };

typedef struct inventory_device {
    const char *name;
    const assay_device *device;   /* NULL: it cannot run here */
    char text[ASSAY_DEVICE_TEXT]; /* about the device, or why it cannot run */
} inventory_device;

typedef struct inventory_op {
    const assay_op *op;
    int64_t cases[ASSAY_SETS];
} inventory_op;

typedef struct inventory {
    inventory_device device[INVENTORY_DEVICES];
    inventory_op *op;
    int32_t n_ops;
    bool all; /* no operator was named */
} inventory;

/* Of the operators that the command names, or of all. */
assay_status inventory_init(inventory *inv, const assay_cli_args *args) ASSAY_MUST_CHECK;
void inventory_clear(inventory *inv);

/* The variant of `op` with that name on a device; NULL when the device lacks it. */
const assay_variant *inventory_variant(const inventory_device *d, const assay_op *op,
                                       const char *name);

void inventory_text(FILE *to, const inventory *inv);
void inventory_json(FILE *to, const inventory *inv);
void inventory_cases_json(FILE *to, const cli_cases *cases);

/* One line: the key, its legal values and its meaning. */
void inventory_key(FILE *to, const assay_op *op, const assay_key *key);

#endif
