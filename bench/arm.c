#include "bench/arm.h"

#include "core/clock.h"
#include "engine/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 2048, TICK = 20 /* ms */, MOMENTS = 50 };

static void close_all(int *file, int count) {
    for (int i = 0; i < count; ++i)
        if (file[i] >= 0)
            (void)close(file[i]);
}

/* ---- start and end ---- */

/* Its ends first, then ours: 0 of the input, 1 of the output, 2 of the errors. */
static bool make_pipes(int theirs[3], int ours[3]) {
    int ends[2];
    for (int i = 0; i < 3; ++i) {
        if (pipe2(ends, O_CLOEXEC) != 0)
            return false;
        theirs[i] = i == 0 ? ends[0] : ends[1];
        ours[i] = i == 0 ? ends[1] : ends[0];
        if (i > 0 && fcntl(ours[i], F_SETFL, O_NONBLOCK) != 0)
            return false;
    }
    return true;
}

assay_status arm_start(arm *a, char *const argv[], int memory) {
    int theirs[] = {-1, -1, -1}, ours[] = {-1, -1, -1};
    *a = (arm){0};
    int error = make_pipes(theirs, ours) ? 0 : errno;
    if (error == 0)
        error = process_start(&a->pid, argv,
                              (const int[PROCESS_FILES]){theirs[0], theirs[1], theirs[2], memory});
    close_all(theirs, 3);
    if (error != 0) {
        close_all(ours, 3);
        a->pid = 0;
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s cannot be started: %s", argv[0],
                          strerror(error));
    }
    a->to = ours[0];
    a->from = ours[1];
    a->errors = ours[2];
    return ASSAY_OK;
}

void arm_end(arm *a) {
    if (a->pid > 0) {
        process_end(a->pid);
        close_all((int[]){a->to, a->from, a->errors}, 3);
    }
    free(a->heard);
    free(a->answer);
    *a = (arm){0};
}

/* ---- what comes from it ---- */

/* Keeps the end of what it complains of: a traceback's last line says most. */
static void drain_errors(arm *a) {
    char text[1024];
    ssize_t n;
    while ((n = read(a->errors, text, sizeof text)) > 0) {
        const size_t come = (size_t)n, room = sizeof a->tail - 1;
        if (a->tail_bytes + come > room) {
            const size_t drop = a->tail_bytes + come - room;
            memmove(a->tail, a->tail + drop, a->tail_bytes - drop);
            a->tail_bytes -= drop;
        }
        memcpy(a->tail + a->tail_bytes, text, come);
        a->tail_bytes += come;
    }
    a->tail[a->tail_bytes] = '\0';
}

static const char *last_line(arm *a) {
    while (a->tail_bytes > 0 && strchr("\n\r ", a->tail[a->tail_bytes - 1]))
        a->tail[--a->tail_bytes] = '\0';
    const char *line = strrchr(a->tail, '\n');
    return line ? line + 1 : a->tail;
}

/* It is of no use any more. */
static assay_status broke(arm *a, const char *how) {
    drain_errors(a);
    const char *said = last_line(a);
    const assay_status status = assay_fail(ASSAY_ERR_DEVICE, "its process %s%s%.200s", how,
                                           said[0] ? "; it said: " : "", said);
    arm_end(a);
    return status;
}

static assay_status ended(arm *a) {
    static const struct timespec moment = {.tv_nsec = 10000000};
    char how[96];
    int state = 0;
    for (int i = 0; waitpid(a->pid, &state, WNOHANG) != a->pid; ++i) {
        if (i == MOMENTS)
            return broke(a, "closed its output");
        (void)nanosleep(&moment, NULL);
    }
    if (WIFSIGNALED(state))
        snprintf(how, sizeof how, "ended by signal %d (%s)", WTERMSIG(state),
                 strsignal(WTERMSIG(state)));
    else
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(state));
    return broke(a, how);
}

static bool hear(arm *a, const char *text, size_t count) {
    if (a->heard_bytes + count + 1 > a->heard_room) {
        const size_t room = 2 * (a->heard_bytes + count + 1);
        char *more = realloc(a->heard, room);
        if (!more)
            return false;
        a->heard = more;
        a->heard_room = room;
    }
    memcpy(a->heard + a->heard_bytes, text, count);
    a->heard_bytes += count;
    a->heard[a->heard_bytes] = '\0';
    return true;
}

/* Moves the first line heard into a->answer; false when there is no whole one yet. */
static bool take_line(arm *a) {
    char *end = a->heard_bytes > 0 ? strchr(a->heard, '\n') : NULL;
    if (!end)
        return false;
    *end = '\0';
    free(a->answer);
    a->answer = strdup(a->heard);
    const size_t used = (size_t)(end - a->heard) + 1;
    memmove(a->heard, a->heard + used, a->heard_bytes - used + 1);
    a->heard_bytes -= used;
    return true;
}

static assay_status await_line(arm *a, double seconds) {
    const double deadline = now() + seconds;
    struct pollfd polls[] = {{.fd = a->from, .events = POLLIN},
                             {.fd = a->errors, .events = POLLIN}};
    char text[4096], how[96];
    while (!take_line(a)) {
        (void)poll(polls, 2, TICK);
        drain_errors(a);
        if (polls[1].revents & POLLHUP)
            polls[1].fd = -1;
        const ssize_t n = read(a->from, text, sizeof text);
        if (n > 0 && !hear(a, text, (size_t)n))
            return broke(a, "was ended: no memory for its answer");
        if (n == 0)
            return ended(a);
        if (a->go_on && !a->go_on(a->context))
            return broke(a, "was ended: interrupted");
        if (!(now() < deadline)) {
            snprintf(how, sizeof how, "was ended: no answer within %g s", seconds);
            return broke(a, how);
        }
    }
    return a->answer ? ASSAY_OK : broke(a, "was ended: no memory for its answer");
}

/* ---- question and answer ---- */

static assay_status refuse(arm *a, const char *text) {
    static const struct {
        const char *class;
        assay_status status;
    } classes[] = {{"unavailable ", ASSAY_ERR_UNSUPPORTED},
                   {"memory ", ASSAY_ERR_MEMORY},
                   {"error ", ASSAY_ERR_KERNEL}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i)
        if (strncmp(text, classes[i].class, strlen(classes[i].class)) == 0)
            return assay_fail(classes[i].status, "%s", text + strlen(classes[i].class));
    return broke(a, "was ended: its answer is none that docs/bench.md has");
}

/* Cuts the word at the answer's head off. */
static assay_status understand(arm *a) {
    char *text = a->answer;
    if (strncmp(text, "no ", 3) == 0)
        return refuse(a, text + 3);
    if (strcmp(text, "ok") != 0 && strncmp(text, "ok ", 3) != 0)
        return refuse(a, "");
    text += text[2] == ' ' ? 3 : 2;
    memmove(a->answer, text, strlen(text) + 1);
    return ASSAY_OK;
}

static bool send_all(int file, const char *text, size_t count) {
    while (count > 0) {
        const ssize_t n = write(file, text, count);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static assay_status send_line(arm *a, const char *format, va_list arguments) {
    char line[LINE];
    if (a->pid == 0)
        return assay_fail(ASSAY_ERR_DEVICE, "its process ended before");
    const int length = vsnprintf(line, sizeof line - 1, format, arguments);
    if (length < 0 || length >= (int)sizeof line - 1)
        return assay_fail(ASSAY_ERR_USAGE, "a line of %d bytes is too long for an arm", length);
    line[length] = '\n';
    return send_all(a->to, line, (size_t)length + 1) ? ASSAY_OK : ended(a);
}

assay_status arm_send(arm *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const assay_status status = send_line(a, format, arguments);
    va_end(arguments);
    return status;
}

assay_status arm_receive(arm *a, double seconds) {
    if (a->pid == 0)
        return assay_fail(ASSAY_ERR_DEVICE, "its process ended before");
    const assay_status status = await_line(a, seconds);
    return status == ASSAY_OK ? understand(a) : status;
}

assay_status arm_ask(arm *a, double seconds, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const assay_status status = send_line(a, format, arguments);
    va_end(arguments);
    return status == ASSAY_OK ? arm_receive(a, seconds) : status;
}
