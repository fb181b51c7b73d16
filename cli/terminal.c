#include "cli/terminal.h"
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;
static void (*volatile at_interrupt)(void);

static void interrupt(void) {
    const int kept = errno;
    interrupted = 1;
    if (at_interrupt != NULL)
        at_interrupt();
    errno = kept;
}

static void on_interrupt(int signal) {
    (void)signal;
    interrupt();
}

void terminal_at_interrupt(void (*callee)(void)) {
    at_interrupt = callee;
}

/* Commands end by themselves between two steps. A step may be an oracle that takes minutes; `docker
 * stop` waits for ten seconds. Files are whole: they are written beside, and then renamed. */
enum { GRACE = 8 }; /* seconds */

static void on_termination(int signal) {
    (void)signal;
    if (!interrupted)
        (void)alarm(GRACE);
    interrupt();
}

static void on_alarm(int signal) {
    static const char line[] = "assay: terminated in the middle of a step\n";
    (void)signal;
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(ASSAY_EXIT_INTERRUPTED);
}

void terminal_catch_signals(void) {
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    /* mpirun sends it twice: to the process, and to its group */
    action = (struct sigaction){.sa_handler = on_termination, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    action = (struct sigaction){.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* the write fails, and what it wrote is removed */
}

bool terminal_reader_gone(FILE *stream) {
    struct pollfd end = {.fd = fileno(stream), .events = POLLOUT};
    return poll(&end, 1, 0) == 1 && (end.revents & POLLERR) != 0;
}

bool assay_cli_interrupted(void) {
    return interrupted != 0;
}

assay_exit assay_cli_complain(assay_status status) {
    assay_cli_progress("%s", "");
    if (!(status == ASSAY_ERR_FILE && ferror(stdout) && terminal_reader_gone(stdout)))
        fprintf(stderr, "assay: %s\n", assay_error());
    switch (status) {
    case ASSAY_OK:
        return ASSAY_EXIT_PASSED;
    case ASSAY_ERR_USAGE:
        return ASSAY_EXIT_USAGE;
    case ASSAY_ERR_UNSUPPORTED:
        return ASSAY_EXIT_NOTHING;
    case ASSAY_ERR_MEMORY:
    case ASSAY_ERR_FILE:
    case ASSAY_ERR_DEVICE:
    case ASSAY_ERR_KERNEL:
        return ASSAY_EXIT_ERROR;
    }
    return ASSAY_EXIT_ERROR;
}

void assay_cli_print_verdict(const assay_cli_out *out, assay_verdict verdict, int width) {
    static const char *const colors[] = {
        [ASSAY_PASS] = "\033[32m", [ASSAY_SKIP] = "\033[36m",    [ASSAY_MISTRUSTED] = "\033[33m",
        [ASSAY_FAIL] = "\033[31m", [ASSAY_ERROR] = "\033[1;31m",
    };
    const char *word = assay_verdict_name(verdict);
    const int fill = width - (int)strlen(word);
    fprintf(out->stream, "%s%s%s%*s", out->color ? colors[verdict] : "", word,
            out->color ? "\033[0m" : "", fill > 0 ? fill : 0, "");
}

void assay_cli_progress(const char *format, ...) {
    const char *term = getenv("TERM");
    if (!isatty(STDERR_FILENO) || term == NULL || strcmp(term, "dumb") == 0)
        return;
    va_list arguments;
    char line[100]; /* longer ones would wrap and could not be overwritten */
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}
