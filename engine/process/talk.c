#include "core/clock.h"
#include "engine/process/process.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK = 20, /* ms between looks at its limits */
    DEAF_MOMENTS = 50,
    AT_ONCE = 64, /* reads in a row: a child that never stops talking holds nothing up */
};

/* ---- messages ---- */

typedef union file_message {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
} file_message;

bool channel_send(int channel, const void *bytes, size_t count, int file) {
    file_message control = {.room = {0}};
    struct iovec data = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.room;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    return sendmsg(channel, &message, MSG_NOSIGNAL) == (ssize_t)count;
}

ssize_t channel_receive(int channel, void *bytes, size_t size, int *file) {
    file_message control;
    struct iovec data = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = file ? &control : NULL,
                             .msg_controllen = file ? sizeof control.room : 0};
    const ssize_t n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    if (!file)
        return n;
    *file = -1;
    const struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS)
        memcpy(file, CMSG_DATA(header), sizeof *file);
    return n;
}

static bool write_all(int file, const char *text, size_t count) {
    while (count > 0) {
        const ssize_t n = write(file, text, count);
        if (n < 0 && errno != EINTR)
            return false;
        text += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- what it prints ---- */

/* Reads what there is, so that it does not wait for room. Of more than fits, the first half of what
 * is kept is its beginning, the second half its end. */
static void drain(process *p) {
    enum { HALF = PROCESS_SAID / 2, ROOM = PROCESS_SAID - 1 };
    char text[HALF];
    ssize_t n;
    for (int i = 0; i < AT_ONCE && p->output >= 0 && (n = read(p->output, text, sizeof text)) > 0;
         ++i) {
        const size_t come = (size_t)n;
        if (p->said_bytes + come > ROOM) {
            const size_t drop = p->said_bytes + come - ROOM;
            const size_t from = p->said_bytes < HALF ? p->said_bytes : HALF;
            const size_t gone = drop < p->said_bytes - from ? drop : p->said_bytes - from;
            memmove(p->said + from, p->said + from + gone, p->said_bytes - from - gone);
            p->said_bytes -= gone;
        }
        const size_t room = ROOM - p->said_bytes, take = come < room ? come : room;
        memcpy(p->said + p->said_bytes, text + (come - take), take);
        p->said_bytes += take;
    }
    p->said[p->said_bytes] = '\0';
}

void process_hear(process *p) {
    if (p->pid > 0)
        drain(p);
}

/* ---- its end ---- */

/* Takes leave of one that has been waited for. */
static void bury(process *p) {
    if (!p->borrowed)
        (void)kill(-p->pid, SIGKILL); /* what it left behind in its group */
    drain(p);
    if (p->to >= 0)
        (void)close(p->to);
    if (p->from >= 0 && p->from != p->to)
        (void)close(p->from);
    if (p->output >= 0)
        (void)close(p->output);
    p->pid = 0;
}

/* Of one that is not our child the channel tells: only that has ended which closed it. */
static bool has_left(process *p) {
    struct pollfd end = {.fd = p->from};
    if (poll(&end, 1, 0) <= 0 || (end.revents & (POLLHUP | POLLERR)) == 0)
        return false;
    p->end = PROCESS_EXIT;
    p->code = 0;
    bury(p);
    return true;
}

/* Whether it has ended by itself. The first process of a namespace cannot send itself SIGABRT, and
 * exits as a shell would say that it did. */
static bool has_ended(process *p) {
    int how;
    if (p->borrowed)
        return has_left(p);
    if (waitpid(p->pid, &how, WNOHANG) != p->pid)
        return false;
    const bool aborted = WIFEXITED(how) && WEXITSTATUS(how) == 128 + SIGABRT;
    p->end = WIFSIGNALED(how) || aborted ? PROCESS_CRASH : PROCESS_EXIT;
    p->code = WIFSIGNALED(how) ? WTERMSIG(how) : aborted ? SIGABRT : WEXITSTATUS(how);
    bury(p);
    return true;
}

static void stop(process *p, process_end why, double limit) {
    if (!p->borrowed || why != PROCESS_STOPPED) {
        (void)kill(-p->pid, SIGKILL);
        (void)kill(p->pid, SIGKILL); /* should it have left its group */
    }
    while (!p->borrowed && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    p->end = why;
    p->limit = limit;
    bury(p);
}

void process_moved(process *p, pid_t pid) {
    (void)kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    p->pid = pid;
}

void process_stop(process *p) {
    if (p->pid > 0)
        stop(p, PROCESS_STOPPED, 0);
}

const char *process_how(const process *p, char line[PROCESS_LINE]) {
    line[0] = '\0';
    switch (p->end) {
    case PROCESS_NOT_ENDED:
        snprintf(line, PROCESS_LINE, "has not ended");
        break;
    case PROCESS_EXIT:
        snprintf(line, PROCESS_LINE, "ended with exit code %d before it was done", p->code);
        break;
    case PROCESS_CRASH:
        snprintf(line, PROCESS_LINE, "ended by signal %d (%s)", p->code, strsignal(p->code));
        break;
    case PROCESS_HANG:
        snprintf(line, PROCESS_LINE, "was stopped: no answer after %g s", p->limit);
        break;
    case PROCESS_MEMORY:
        snprintf(line, PROCESS_LINE, "was stopped: it took more than %.2g GiB of memory",
                 p->limit / (1 << 30));
        break;
    case PROCESS_DEAF:
        snprintf(line, PROCESS_LINE, "was stopped: it takes no requests");
        break;
    case PROCESS_STOPPED:
        snprintf(line, PROCESS_LINE, "was stopped");
        break;
    }
    return line;
}

/* ---- waiting ---- */

/* Bytes of memory that are its own or shared with us; 0 when it is gone. */
static double resident(pid_t pid) {
    char path[64];
    long long size = 0, pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%lld %lld", &size, &pages) != 2)
        pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Whether it has ended, by itself or because it passed a limit. */
static bool is_over(process *p, const process_limits *limits, double deadline) {
    if (has_ended(p))
        return true;
    if (!(now() < deadline))
        stop(p, PROCESS_HANG, limits->seconds);
    else if (limits->bytes < INFINITY && !(resident(p->pid) <= limits->bytes))
        stop(p, PROCESS_MEMORY, limits->bytes);
    else if (limits->go_on && !limits->go_on(limits->context))
        stop(p, PROCESS_STOPPED, 0);
    return p->pid == 0;
}

/* It takes nothing more: it has ended, or is about to; otherwise it is of no use. */
static void end_deaf(process *p) {
    static const struct timespec moment = {.tv_nsec = 10000000};
    for (int i = 0; i < DEAF_MOMENTS && !has_ended(p); ++i)
        nanosleep(&moment, NULL);
    if (p->pid > 0)
        stop(p, PROCESS_DEAF, 0);
}

bool process_send(process *p, const void *bytes, size_t count, int file) {
    char stale[64];
    if (p->pid == 0)
        return false;
    for (int i = 0; i < AT_ONCE && p->to == p->from && read(p->from, stale, sizeof stale) > 0; ++i)
        continue;
    drain(p);
    p->said_bytes = 0;
    p->said[0] = '\0';
    const bool sent =
        p->to == p->from ? channel_send(p->to, bytes, count, file) : write_all(p->to, bytes, count);
    if (!sent)
        end_deaf(p);
    return sent;
}

size_t process_read(process *p, const process_limits *limits, void *bytes, size_t size) {
    static const struct timespec moment = {.tv_nsec = 1000000};
    const double deadline = now() + limits->seconds;
    struct pollfd polls[] = {{.fd = p->from, .events = POLLIN},
                             {.fd = p->output, .events = POLLIN}};
    while (p->pid > 0) {
        (void)poll(polls, 2, TICK);
        drain(p);
        const ssize_t n = read(p->from, bytes, size);
        if (n > 0)
            return (size_t)n;
        if (is_over(p, limits, deadline))
            return 0;
        if (n == 0 || (polls[1].revents & POLLHUP) != 0)
            nanosleep(&moment, NULL); /* it closed what it was given, or is about to end */
    }
    return 0;
}

void process_finish(process *p, const process_limits *limits) {
    static const struct timespec moment = {.tv_nsec = 2000000};
    const double deadline = now() + limits->seconds;
    while (p->pid > 0 && !is_over(p, limits, deadline))
        nanosleep(&moment, NULL);
}
