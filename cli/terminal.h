/* The process's ends: signals, standard error. */
#ifndef ASSAY_CLI_TERMINAL_H
#define ASSAY_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* The first SIGINT sets a mark (assay_cli_interrupted), the second ends the process. A reader that
 * went away shows as a failing write, not as a signal. */
void terminal_catch_signals(void);

/* `callee` runs at once when SIGINT or SIGTERM comes, in the signal's handler, so it may call only
 * what is safe there (signal-safety(7)). NULL: nothing runs. */
void terminal_at_interrupt(void (*callee)(void));

/* Whether the reader of `stream` is gone. Such a command ends without a word. */
bool terminal_reader_gone(FILE *stream);

#endif
