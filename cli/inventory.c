#include "cli/inventory.h"

#include <stdlib.h>
#include <string.h>

static assay_status count_case(const assay_case *c, void *context) {
    (void)c;
    ++*(int64_t *)context;
    return ASSAY_OK;
}

static assay_status add_op(inventory *inv, const assay_op *op) {
    for (int32_t i = 0; i < inv->n_ops; ++i)
        if (inv->op[i].op == op)
            return ASSAY_OK;
    inventory_op *entry = &inv->op[inv->n_ops++];
    *entry = (inventory_op){.op = op};
    for (int s = 0; s < ASSAY_SETS; ++s) {
        const assay_status status =
            assay_op_visit_set(op, (assay_set)s, count_case, &entry->cases[s]);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* A device that cannot run here is listed with the reason. An error is trouble with our own files.
 */
static assay_status look_at_device(inventory_device *d, const char *name) {
    d->name = name;
    const assay_status status = assay_device_open(name, &d->device);
    if (status != ASSAY_OK)
        d->device = NULL;
    if (d->device == NULL || d->device->probe(d->text) != ASSAY_OK)
        snprintf(d->text, sizeof d->text, "%s", assay_error());
    return status == ASSAY_ERR_FILE ? status : ASSAY_OK;
}

assay_status inventory_init(inventory *inv, const assay_cli_args *args) {
    const int32_t most = args->n_targets > 0 ? args->n_targets : assay_op_count();
    *inv = (inventory){.all = args->n_targets == 0};
    inv->op = calloc((size_t)most, sizeof *inv->op);
    if (inv->op == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the list of operators");
    assay_status status = look_at_device(&inv->device[0], "sim");
    if (status == ASSAY_OK)
        status = look_at_device(&inv->device[1], "cuda");
    for (int32_t i = 0; status == ASSAY_OK && i < most; ++i)
        status = add_op(inv, inv->all ? assay_op_at(i) : args->target[i].op);
    return status;
}

void inventory_clear(inventory *inv) {
    free(inv->op);
    *inv = (inventory){0};
}

const assay_variant *inventory_variant(const inventory_device *d, const assay_op *op,
                                       const char *name) {
    for (int32_t i = 0; d->device != NULL && i < d->device->n_variants; ++i)
        if (strcmp(d->device->variants[i]->op, op->name) == 0 &&
            strcmp(d->device->variants[i]->name, name) == 0)
            return d->device->variants[i];
    return NULL;
}
