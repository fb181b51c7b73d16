/* How a command ends that has been told to. */
#include "cli/cli.h"
#include "cli/terminal.h"
#include "tests/shim/assay_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void compute_for_minutes(void) {
    (void)close(STDERR_FILENO); /* its line is no news */
    terminal_catch_signals();
    (void)raise(SIGTERM);
    (void)raise(SIGTERM);
    for (const time_t start = time(NULL); assay_cli_interrupted() && time(NULL) < start + 60;)
        (void)usleep(1000);
    _exit(1);
}

ASSAY_TEST(terminal, a_step_of_minutes_ends_soon_after_sigterm, "unit") {
    const time_t start = time(NULL);
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0)
        compute_for_minutes();
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == ASSAY_EXIT_INTERRUPTED, "status %d",
              status);
    CHECK_MSG(time(NULL) - start < 30, "%lld s", (long long)(time(NULL) - start));
}
