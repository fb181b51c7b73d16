#include "cli/cli.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

/* Text that never arrived is an error. */
static assay_exit flush_output(FILE *stream, assay_exit code) {
    if (fflush(stream) == 0 && !ferror(stream))
        return code;
    if (code == ASSAY_EXIT_USAGE || code == ASSAY_EXIT_ERROR)
        return code;
    if (!terminal_reader_gone(stream))
        fputs("assay: standard output cannot be written\n", stderr);
    return ASSAY_EXIT_ERROR;
}

assay_exit assay_cli_main(int argc, char *const *argv) {
    assay_cli_args args;
    terminal_catch_signals();
    const assay_status status = assay_cli_args_parse(argc, argv, &args);
    assay_exit code = ASSAY_EXIT_PASSED;
    if (status != ASSAY_OK)
        code = assay_cli_complain(status);
    else if (args.version)
        printf("assay %s\n", ASSAY_VERSION);
    else if (args.help)
        cli_help(stdout, args.verb != NULL ? cli_verb_find(args.verb) : NULL);
    else
        code = cli_verb_find(args.verb)->run(&args);
    assay_cli_args_clear(&args);
    return flush_output(stdout, code);
}
