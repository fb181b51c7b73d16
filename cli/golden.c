/* assay golden generate|verify|list|export|import */
#include "cli/golden.h"
#include "assay/golden.h"
#include "assay/state.h"
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

/* ---- export, import: state files, as `assay run` and `assay judge` have them ---- */

static assay_status one_case(const assay_cli_args *args, char path[CLI_GOLDEN_PATH],
                             assay_case *c) {
    cli_cases cases = {0};
    if (args->n_targets != 1 || args->n_words == 0)
        return assay_fail(ASSAY_ERR_USAGE,
                          "golden %s: name one operator and its case by key=value words",
                          args->subverb);
    assay_status status = cli_cases_gather(args, &cases);
    if (status == ASSAY_OK && cases.n_jobs != 1)
        status = assay_fail(ASSAY_ERR_USAGE, "golden %s: these words are %lld cases; name one",
                            args->subverb, (long long)cases.n_jobs);
    if (status == ASSAY_OK)
        status = assay_case_parse(cases.job[0].text, c);
    if (status == ASSAY_OK)
        status = golden_file_of(args, c->op, path);
    cli_cases_clear(&cases);
    return status;
}

static assay_exit export_case(const assay_cli_args *args) {
    char path[CLI_GOLDEN_PATH];
    assay_case c;
    assay_golden golden = {0};
    assay_status status = ASSAY_OK;
    if (args->output == NULL)
        status = assay_fail(ASSAY_ERR_USAGE, "golden export: --out FILE names the file to write");
    if (status == ASSAY_OK)
        status = one_case(args, path, &c);
    if (status == ASSAY_OK)
        status = assay_golden_read(path, &c, &golden);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    status = assay_state_write(args->output, &golden.problem, &golden.want);
    assay_golden_clear(&golden);
    return status == ASSAY_OK ? ASSAY_EXIT_PASSED : assay_cli_complain(status);
}

static int32_t tensors_of(const assay_problem *p) {
    int32_t count = p->in.count;
    for (int32_t i = 0; i < p->cot.count; ++i)
        count += p->cot.data[i] != NULL;
    return count;
}

/* The case has the data of a golden file from then on: fill=golden. */
static assay_status read_all(const assay_cli_args *args, const assay_case *c, assay_problem *p) {
    assay_case any = *c;
    int32_t taken;
    any.fill = ASSAY_FILL_NORMAL;
    assay_status status = assay_problem_init(p, &any);
    if (status == ASSAY_OK)
        status = assay_state_read(args->got, p, &taken);
    if (status == ASSAY_OK && taken != tensors_of(p))
        status = assay_fail(ASSAY_ERR_FILE,
                            "%.300s has %d inputs and cotangents, and the case has %d; "
                            "`assay run --no-run --out` writes all of them",
                            args->got, taken, tensors_of(p));
    p->c.fill = ASSAY_FILL_GOLDEN;
    return status;
}

static assay_status import_file(const assay_cli_args *args, const char *path, const assay_case *c) {
    char source[ASSAY_GOLDEN_SOURCE];
    const char *slash = strrchr(args->got, '/');
    assay_problem problem = {0};
    assay_results got = {0};
    snprintf(source, sizeof source, "imported from %.200s", slash ? slash + 1 : args->got);
    assay_status status = read_all(args, c, &problem);
    if (status == ASSAY_OK)
        status = assay_results_init(&got, &problem.sig);
    if (status == ASSAY_OK)
        status = assay_state_read_results(args->got, &problem, &got);
    if (status == ASSAY_OK)
        status = assay_golden_import(path, &problem, &got, source);
    assay_results_clear(&got);
    assay_problem_clear(&problem);
    return status;
}

static assay_exit import_case(const assay_cli_args *args) {
    char path[CLI_GOLDEN_PATH];
    assay_case c;
    assay_status status = ASSAY_OK;
    if (args->got == NULL || args->file == NULL)
        status = assay_fail(ASSAY_ERR_USAGE, "golden import: --got FILE names the tensors, --file "
                                             "FILE the golden file that they go to");
    if (status == ASSAY_OK)
        status = one_case(args, path, &c);
    if (status == ASSAY_OK && c.params.dtype != ASSAY_F64)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "golden import: the oracle is compared with these answers in fp64, and "
                            "such a file rounds them to %s; import a case of dtype=f64",
                            assay_dtype_name(c.params.dtype));
    if (status == ASSAY_OK)
        status = import_file(args, path, &c);
    return status == ASSAY_OK ? ASSAY_EXIT_PASSED : assay_cli_complain(status);
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
    if (verb != NULL && strcmp(verb, "export") == 0)
        return export_case(args);
    if (verb != NULL && strcmp(verb, "import") == 0)
        return import_case(args);
    if (verb != NULL && args->n_words > 0)
        return assay_cli_complain(assay_fail(
            ASSAY_ERR_USAGE, "golden %s takes operators, and %s is not one", verb, args->word[0]));
    if (verb != NULL && strcmp(verb, "verify") == 0)
        return golden_verify(args);
    if (verb != NULL && strcmp(verb, "list") == 0)
        return list(args);
    return assay_cli_complain(assay_fail(
        ASSAY_ERR_USAGE, "golden: say generate, verify, list, export or import after it"));
}
