/* assay list */
#include "cli/cases.h"
#include "cli/inventory.h"
#include "core/sink.h"

#include <inttypes.h>
#include <string.h>

static assay_status refuse_variants(const assay_cli_args *args) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].variant != NULL)
            return assay_fail(ASSAY_ERR_USAGE, "list takes operators, not variants: %s without /%s",
                              args->target[i].op->name, args->target[i].variant);
    return ASSAY_OK;
}

static bool names_cases(const assay_cli_args *args) {
    return args->n_words > 0 || args->set_given || args->random > 0;
}

static assay_status list_cases(const assay_cli_args *args, FILE *json) {
    cli_cases cases;
    const assay_status status = cli_cases_gather(args, &cases);
    if (status == ASSAY_OK && json != stdout)
        for (int64_t i = 0; i < cases.n_jobs; ++i)
            fprintf(args->out.stream, "%s\n", cases.job[i].text);
    if (status == ASSAY_OK && json != NULL)
        inventory_cases_json(json, &cases);
    cli_cases_clear(&cases);
    return status;
}

static assay_status list_operators(const assay_cli_args *args, FILE *json) {
    inventory inv;
    const assay_status status = inventory_init(&inv, args);
    if (status == ASSAY_OK && json != stdout)
        inventory_text(args->out.stream, &inv);
    if (status == ASSAY_OK && json != NULL)
        inventory_json(json, &inv);
    inventory_clear(&inv);
    return status;
}

assay_exit assay_cli_list(const assay_cli_args *args) {
    cli_sink sink = {0};
    assay_status status = refuse_variants(args);
    if (status == ASSAY_OK && args->json != NULL)
        status = sink_open(&sink, args->json);
    if (status == ASSAY_OK)
        status =
            names_cases(args) ? list_cases(args, sink.stream) : list_operators(args, sink.stream);
    if (status == ASSAY_OK && sink.stream != NULL)
        status = sink_commit(&sink);
    sink_discard(&sink);
    return status == ASSAY_OK ? ASSAY_EXIT_PASSED : assay_cli_complain(status);
}
