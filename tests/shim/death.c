/* Death tests by fork: the child runs the body, the parent reads its standard error and judges. */
#include "tests/shim/assay_test.h"
#include "tests/shim/child.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_LIMIT = 1 << 16 };

__attribute__((noreturn)) static void run_child(void (*body)(void *), void *context, int error_fd) {
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)dup2(error_fd, STDERR_FILENO);
    (void)close(error_fd);
    body(context);
    _exit(0);
}

/* Reads to the end, so that the child never blocks, and keeps the first OUTPUT_LIMIT bytes. */
static void read_all(int fd, char *text) {
    char rest[4096];
    size_t used = 0;
    for (;;) {
        char *to = used < OUTPUT_LIMIT ? text + used : rest;
        size_t room = used < OUTPUT_LIMIT ? OUTPUT_LIMIT - used : sizeof rest;
        ssize_t n = read(fd, to, room);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        used += to == rest ? 0 : (size_t)n;
    }
    text[used] = '\0';
    for (size_t i = 0; i < used; i++) {
        if (text[i] == '\0') {
            text[i] = ' ';
        }
    }
}

static const char *defect(int status, const char *text, const regex_t *regex) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return "the body did not die";
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == ASSAY_TEST_CHILD_FAILED) {
        return "the body failed a check before it died";
    }
    if (regexec(regex, text, 0, NULL, 0) != 0) {
        return "the body died with another message";
    }
    return NULL;
}

void assay_test_expect_death(const char *file, int line, void (*body)(void *), void *context,
                             const char *regex) {
    int fds[2] = {-1, -1};
    regex_t compiled;
    if (regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB) != 0) {
        assay_test_abort(file, line, "bad regular expression: %s", regex);
    }
    char *text = malloc(OUTPUT_LIMIT + 1);
    (void)fflush(NULL);
    pid_t child = text == NULL || pipe(fds) != 0 ? -1 : fork();
    if (child == 0) {
        (void)close(fds[0]);
        run_child(body, context, fds[1]);
    }
    if (child < 0) {
        assay_test_fail(file, line, "cannot start a child process: %s", strerror(errno));
        goto done;
    }
    (void)close(fds[1]);
    fds[1] = -1;
    read_all(fds[0], text);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    const char *wrong = defect(status, text, &compiled);
    if (wrong != NULL) {
        assay_test_fail(file, line, "%s; expected /%s/; its standard error:\n%s", wrong, regex,
                        text);
    }
done:
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            (void)close(fds[i]);
        }
    }
    free(text);
    regfree(&compiled);
}
