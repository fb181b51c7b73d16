#include "engine/guest.h"
#include "core/clock.h"
#include "engine/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK = 20 }; /* ms between looks at its memory */

/* A GPU's context, a driver that starts: longer than any kernel may take to load. */
static const double start_seconds = 120;

/* ---- what it prints ---- */

/* Keeps the beginning, and lets the rest go so that it never waits for room. */
static void drain(guest *g) {
    char text[4096];
    ssize_t n;
    while ((n = read(g->output, text, sizeof text)) > 0) {
        const size_t room = sizeof g->tail - 1 - g->tail_bytes;
        const size_t take = (size_t)n < room ? (size_t)n : room;
        memcpy(g->tail + g->tail_bytes, text, take);
        g->tail_bytes += take;
    }
    g->tail[g->tail_bytes] = '\0';
}

/* The line that says most: a sanitizer's summary, otherwise the first. */
static const char *said(guest *g, char line[256]) {
    static const char *const marks[] = {"SUMMARY: ", "runtime error: ", "terminate called"};
    const char *at = g->tail;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i) {
        const char *mark = strstr(g->tail, marks[i]);
        if (!mark)
            continue;
        while (mark > g->tail && mark[-1] != '\n')
            --mark;
        at = mark;
        break;
    }
    at += strspn(at, "\n =");
    const int length = (int)strcspn(at, "\n");
    snprintf(line, 256, "%s%.*s", length > 0 ? "; it printed: " : "", length < 220 ? length : 220,
             at);
    return line;
}

/* ---- its end ---- */

void guest_end(guest *g) {
    if (g->pid > 0) {
        process_end(g->pid);
        (void)close(g->door);
        (void)close(g->output);
    }
    *g = (guest){0};
}

static assay_status stopped(guest *g, const char *why) {
    char line[256];
    drain(g);
    const assay_status status =
        assay_fail(ASSAY_ERR_KERNEL, "its process %s%s", why, said(g, line));
    guest_end(g);
    return status;
}

/* It ended by itself: `how` is what waitpid says. */
static assay_status ended(guest *g, int how) {
    char why[96];
    if (WIFSIGNALED(how))
        snprintf(why, sizeof why, "ended by signal %d (%s)", WTERMSIG(how),
                 strsignal(WTERMSIG(how)));
    else
        snprintf(why, sizeof why, "called exit(%d) before it was done", WEXITSTATUS(how));
    char line[256];
    drain(g);
    const assay_status status =
        assay_fail(ASSAY_ERR_KERNEL, "its process %s%s", why, said(g, line));
    (void)kill(-g->pid, SIGKILL); /* what it left behind in its group */
    (void)close(g->door);
    (void)close(g->output);
    *g = (guest){0};
    return status;
}

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

/* ---- its start ---- */

static assay_status no_process(const char *program, int error) {
    return assay_fail(ASSAY_ERR_FILE,
                      "%s, which runs variants, cannot be started: %s; build the target "
                      "assay_guest",
                      program, strerror(error));
}

/* ---- waiting for a word ---- */

/* One message from it, into `text`. Anything else is its end. */
static assay_status await(guest *g, const guest_limits *limits, char *text, size_t size) {
    const double deadline = now() + limits->seconds;
    struct pollfd polls[] = {{.fd = g->door, .events = POLLIN},
                             {.fd = g->output, .events = POLLIN}};
    char why[96];
    for (;;) {
        (void)poll(polls, 2, TICK);
        drain(g);
        const ssize_t n = recv(g->door, text, size - 1, MSG_DONTWAIT);
        if (n > 0) {
            text[n] = '\0';
            return ASSAY_OK;
        }
        int how;
        if (waitpid(g->pid, &how, WNOHANG) == g->pid)
            return ended(g, how);
        if (!(now() < deadline)) {
            snprintf(why, sizeof why, "was stopped: no answer after %g s", limits->seconds);
            return stopped(g, why);
        }
        if (!(resident(g->pid) <= limits->bytes)) {
            snprintf(why, sizeof why, "was stopped: it took more than %.2g GiB of memory",
                     limits->bytes / (1 << 30));
            return stopped(g, why);
        }
        if (n == 0 || (polls[1].revents & POLLHUP) != 0) {
            /* It closed what it was given, or is about to end. */
            const struct timespec moment = {.tv_nsec = 1000000};
            nanosleep(&moment, NULL);
        }
    }
}

assay_status guest_start(guest *g, const char *program, const char *device, const char *kernel) {
    int door[2] = {-1, -1}, output[2] = {-1, -1};
    *g = (guest){0};
    assay_status status = ASSAY_OK;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, door) != 0 ||
        pipe2(output, O_CLOEXEC) != 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) != 0) {
        status = no_process(program, errno);
        goto done;
    }
    char *argv[] = {(char *)program, (char *)device, (char *)kernel, NULL};
    const int error =
        process_start(&g->pid, argv,
                      (const int[PROCESS_FILES]){-1, output[1], output[1], [GUEST_DOOR] = door[1]});
    if (error != 0) {
        *g = (guest){0};
        status = no_process(program, error);
        goto done;
    }
    g->door = door[0];
    g->output = output[0];
    door[0] = output[0] = -1;
    char word[512];
    status =
        await(g, &(guest_limits){.seconds = start_seconds, .bytes = INFINITY}, word, sizeof word);
    if (status == ASSAY_OK && word[0] != 'r') {
        status = assay_fail(ASSAY_ERR_DEVICE, "%s", word);
        guest_end(g);
    }
done:
    for (int i = 0; i < 2; ++i) {
        if (door[i] >= 0)
            (void)close(door[i]);
        if (output[i] >= 0)
            (void)close(output[i]);
    }
    return status;
}

static bool hand_over(int door, int file) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    char word = 'f';
    struct iovec data = {.iov_base = &word, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(header), &file, sizeof file);
    return sendmsg(door, &message, MSG_NOSIGNAL) == 1;
}

assay_status guest_ask(guest *g, int frame, const guest_limits *limits) {
    char word[8];
    g->tail_bytes = 0;
    g->tail[0] = '\0';
    /* What it printed after its last answer belongs to nothing, but an early word of "done" would
     * be taken for this answer: the frame's own mark decides (isolate.c). */
    while (recv(g->door, word, sizeof word, MSG_DONTWAIT) > 0)
        continue;
    if (!hand_over(g->door, frame)) {
        int how;
        const struct timespec moment = {.tv_nsec = 10000000};
        nanosleep(&moment, NULL);
        if (waitpid(g->pid, &how, WNOHANG) == g->pid)
            return ended(g, how);
        return stopped(g, "was stopped: it takes no work");
    }
    return await(g, limits, word, sizeof word);
}
