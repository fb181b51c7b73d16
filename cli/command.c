#include "cli/annotate.h"
#include "cli/kernel.h"
#include "cli/operator.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

#include <string.h>

/* A listing is whole as far as its reader wants it: assay list | head -1. */
static bool is_listing(const assay_cli_args *args) {
    const cli_verb *verb = args->verb != NULL ? cli_verb_find(args->verb) : NULL;
    const char *sub = args->subverb != NULL ? args->subverb : "";
    return args->help || args->version || verb == NULL || verb->bit == CLI_LIST ||
           verb->bit == CLI_HELP || verb->bit == CLI_COMPLETION || strcmp(sub, "list") == 0 ||
           strcmp(sub, "show") == 0;
}

/* Whether the verb's results rest on an oracle. */
static bool is_judge(const assay_cli_args *args) {
    const unsigned judges = CLI_CHECK | CLI_JUDGE | CLI_GOLDEN | CLI_FUZZ | CLI_BENCH;
    return (cli_verb_find(args->verb)->bit & judges) != 0;
}

/* Text that never arrived is an error: of a full disk always, of a reader that went away unless
 * the text is a listing. */
static assay_exit flush_output(FILE *stream, bool listing, assay_exit code) {
    if (fflush(stream) == 0 && !ferror(stream))
        return code;
    const bool gone = terminal_reader_gone(stream);
    if (code == ASSAY_EXIT_USAGE || (code == ASSAY_EXIT_ERROR && !(gone && listing)))
        return code;
    if (gone)
        return listing ? ASSAY_EXIT_PASSED : ASSAY_EXIT_ERROR;
    fputs("assay: standard output cannot be written\n", stderr);
    return ASSAY_EXIT_ERROR;
}

assay_exit assay_cli_main(int argc, char *const *argv) {
    assay_cli_args args;
    terminal_catch_signals();
    assay_status status = assay_cli_args_parse(argc, argv, &args);
    const bool parsed = status == ASSAY_OK;
    if (status == ASSAY_OK && !args.version && !args.help)
        status = cli_kernel_prepare(&args);
    if (status == ASSAY_OK && !args.version && !args.help && is_judge(&args))
        status = cli_operator_prove(&args);
    assay_exit code = ASSAY_EXIT_PASSED;
    if (status != ASSAY_OK) {
        code = assay_cli_complain(status);
        if (parsed)
            annotate_unjudged(&args);
    } else if (args.version) {
        printf("assay %s\n", ASSAY_VERSION);
    } else if (args.help) {
        cli_help(stdout, args.verb != NULL ? cli_verb_find(args.verb) : NULL);
    } else {
        code = cli_verb_find(args.verb)->run(&args);
    }
    code = flush_output(stdout, status == ASSAY_OK && is_listing(&args), code);
    assay_cli_args_clear(&args);
    return code;
}
