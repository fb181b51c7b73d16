/* The work of assay exec while the program runs: on a terminal it says which kernel runs. */
#include "cli/exec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double patience = 0.5; /* seconds of a launch before the first word */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A launch that has begun all its blocks is in its last. */
static void show(const report_now *now) {
    char name[48];
    const double passed = seconds_now() - now->since;
    const uint64_t begun = __atomic_load_n(&now->begun, __ATOMIC_RELAXED);
    if (passed < patience)
        return;
    exec_short_name(now->kernel, name, sizeof name);
    if (begun > 1)
        assay_cli_progress("launch %" PRIu64 ", %s: block %" PRIu64 " of %" PRIu64
                           ", %.0f s, about %.0f s more",
                           now->launch, name, begun, now->blocks, passed,
                           passed / (double)(begun - 1) * (double)(now->blocks - begun + 1));
    else
        assay_cli_progress("launch %" PRIu64 ", %s: block %" PRIu64 " of %" PRIu64 ", %.0f s",
                           now->launch, name, begun, now->blocks, passed);
}

static bool may_show(const assay_cli_args *args) {
    const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
    return !args->quiet && !args->no_color && (plain == NULL || *plain == '\0') && term != NULL &&
           strcmp(term, "dumb") != 0 && isatty(STDERR_FILENO);
}

int exec_wait(const assay_cli_args *args, pid_t child, exec_report *report) {
    const struct timespec between = {.tv_nsec = 200000000};
    const bool looking = may_show(args);
    int status = 0;
    for (;;) {
        const pid_t ended = waitpid(child, &status, looking ? WNOHANG : 0);
        if (ended == child || (ended < 0 && errno != EINTR))
            return status; /* an interrupt from the keyboard is the program's to answer */
        if (ended == 0) {
            exec_report_show(report, show);
            nanosleep(&between, NULL);
        }
    }
}
