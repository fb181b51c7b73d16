/* The process's ends: signals, standard error. */
#ifndef ASSAY_CLI_TERMINAL_H
#define ASSAY_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* The first SIGINT sets a mark (assay_cli_interrupted), the second ends the process. A reader that
 * went away shows as a failing write, not as a signal. */
void terminal_catch_signals(void);

/* Whether the reader of `stream` is gone. Such a command ends without a word. */
bool terminal_reader_gone(FILE *stream);

#endif
