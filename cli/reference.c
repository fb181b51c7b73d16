#include "cli/reference.h"
#include "cli/python.h"
#include "engine/reference.h"

static const assay_op *added;

assay_status cli_reference_load(assay_cli_args *args) {
    static char word[128];
    const assay_op *op;
    if (!cli_python_is(args->reference))
        return assay_fail(ASSAY_ERR_USAGE, "--reference %.300s: must be FILE.py or FILE.py:NAME",
                          args->reference);
    assay_status status = reference_open(args->reference, cli_python_interpreter(), &op);
    if (status == ASSAY_OK)
        status = assay_op_add(op);
    if (status != ASSAY_OK)
        return status;
    added = op;
    snprintf(word, sizeof word, "%s/candidate", op->name);
    if (args->n_targets == 0)
        args->target[args->n_targets++].variant = word;
    return ASSAY_OK;
}

void cli_reference_clear(const assay_cli_args *args) {
    if (args->reference == NULL)
        return;
    reference_close();
    if (added != NULL)
        assay_op_remove(added);
    added = NULL;
}
