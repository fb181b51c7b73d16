/* assay golden generate|verify|list */
#include "cli/golden.h"
#include "assay/golden.h"
#include "cli/cases.h"
#include "core/columns.h"

#include <string.h>

assay_status golden_file_of(const assay_cli_args *args, const assay_op *op,
                            char path[CLI_GOLDEN_PATH]) {
    if (args->file == NULL)
        return assay_golden_path(op, path, CLI_GOLDEN_PATH);
    if (snprintf(path, CLI_GOLDEN_PATH, "%s", args->file) < CLI_GOLDEN_PATH)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "--file: the path is longer than %d bytes", CLI_GOLDEN_PATH);
}

bool golden_wants_op(const assay_cli_args *args, const assay_op *op) {
    for (int32_t i = 0; i < args->n_targets; ++i)
        if (args->target[i].op == op)
            return true;
    return args->n_targets == 0;
}

/* ---- generate ---- */

/* Computes one case with our oracle and adds it to the file. */
static assay_status generate_case(const assay_cli_args *args, const char *text) {
    char path[CLI_GOLDEN_PATH];
    assay_case c;
    assay_problem problem = {0};
    assay_reference reference = {0};
    assay_status status = assay_case_parse(text, &c);
    if (status == ASSAY_OK)
        status = golden_file_of(args, c.op, path);
    if (status == ASSAY_OK)
        status = assay_problem_init(&problem, &c);
    if (status == ASSAY_OK)
        status = assay_reference_init(&reference, &problem);
    if (status == ASSAY_OK)
        status = assay_golden_write(path, &problem, &reference);
    if (status == ASSAY_OK && !args->quiet)
        fprintf(args->out.stream, "%s: %s\n", path, text);
    assay_reference_clear(&reference);
    assay_problem_clear(&problem);
    return status;
}

static assay_exit generate(const assay_cli_args *args) {
    cli_cases cases = {0};
    assay_status status = ASSAY_OK;
    if (args->n_targets == 0 || (args->n_words == 0 && !args->set_given))
        status = assay_fail(ASSAY_ERR_USAGE, "golden generate: name an operator and its cases, by "
                                             "key=value words or by --set");
    if (status == ASSAY_OK)
        status = cli_cases_gather(args, &cases);
    if (status == ASSAY_OK && args->file != NULL && cases.n_selections > 1)
        status = assay_fail(ASSAY_ERR_USAGE, "golden generate: a file holds one operator's cases; "
                                             "name one operator with --file");
    for (int64_t i = 0; status == ASSAY_OK && i < cases.n_jobs && !assay_cli_interrupted(); ++i)
        status = generate_case(args, cases.job[i].text);
    cli_cases_clear(&cases);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    return assay_cli_interrupted() ? ASSAY_EXIT_INTERRUPTED : ASSAY_EXIT_PASSED;
}

/* ---- list ---- */

typedef struct listing {
    const assay_cli_args *args;
    columns lines;
} listing;

static assay_status list_case(const char *text, const char *source, bool foreign, void *context) {
    listing *l = context;
    assay_case c;
    const assay_status status = assay_case_parse(text, &c);
    if (status == ASSAY_OK && golden_wants_op(l->args, c.op)) {
        columns_add(&l->lines, "%s", text);
        columns_add(&l->lines, "(%s%s)", foreign ? "" : "not foreign: ", source);
    }
    return status;
}

static assay_exit list(const assay_cli_args *args) {
    for (int32_t i = 0; i < assay_op_count(); ++i) {
        const assay_op *op = assay_op_at(i);
        char path[CLI_GOLDEN_PATH];
        if (!golden_wants_op(args, op))
            continue;
        listing l = {.args = args, .lines = {.align = "ll"}};
        assay_status status = golden_file_of(args, op, path);
        if (status == ASSAY_OK)
            status = assay_golden_visit(path, list_case, &l);
        const assay_status printed = columns_print(&l.lines, args->out.stream, 0);
        status = status == ASSAY_OK ? printed : status;
        if (status != ASSAY_OK)
            return assay_cli_complain(status);
        if (args->file != NULL)
            break; /* it has been listed, whatever operators it holds */
    }
    return ASSAY_EXIT_PASSED;
}

/* ---- the verb ---- */

assay_exit assay_cli_golden(const assay_cli_args *args) {
    const char *verb = args->subverb;
    if (verb != NULL && strcmp(verb, "generate") == 0)
        return generate(args);
    if (verb != NULL && args->n_words > 0)
        return assay_cli_complain(assay_fail(
            ASSAY_ERR_USAGE, "golden %s takes operators, and %s is not one", verb, args->word[0]));
    if (verb != NULL && strcmp(verb, "verify") == 0)
        return golden_verify(args);
    if (verb != NULL && strcmp(verb, "list") == 0)
        return list(args);
    return assay_cli_complain(
        assay_fail(ASSAY_ERR_USAGE, "golden: say generate, verify or list after it"));
}
