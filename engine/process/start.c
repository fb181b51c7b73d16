#include "engine/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILES = PROCESS_CHANNEL + 1 };

extern char **environ;

/* ---- the ends of what they talk through ---- */

typedef struct ends {
    int theirs[FILES]; /* -1: none */
    int to, from, output;
} ends;

static void close_file(int file) {
    if (file >= 0)
        (void)close(file);
}

static bool make_pipe(int *read_end, int *write_end) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0)
        return false;
    *read_end = pair[0];
    *write_end = pair[1];
    return true;
}

static bool at_once(int file) {
    return fcntl(file, F_SETFL, O_NONBLOCK) == 0;
}

int process_channel(int *ours, int *theirs) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    *ours = pair[0];
    *theirs = pair[1];
    return at_once(*ours) ? 0 : errno;
}

static bool make_ends(ends *e, process_talk talk) {
    *e = (ends){{-1, -1, -1, -1}, -1, -1, -1};
    if (talk == PROCESS_SILENT)
        return true;
    if (!make_pipe(&e->output, &e->theirs[2]) || !at_once(e->output))
        return false;
    if (talk == PROCESS_LINES)
        return make_pipe(&e->theirs[0], &e->to) && make_pipe(&e->from, &e->theirs[1]) &&
               at_once(e->from);
    const bool made = process_channel(&e->to, &e->theirs[PROCESS_CHANNEL]) == 0;
    e->from = e->to;
    return made;
}

static void close_theirs(const ends *e) {
    for (int i = 0; i < FILES; ++i)
        close_file(e->theirs[i]);
}

static void close_ours(const ends *e) {
    close_file(e->to);
    if (e->from != e->to)
        close_file(e->from);
    close_file(e->output);
}

/* What came of a start, in the parent; returns `error`. */
static int take_ours(process *p, pid_t pid, const ends *e, int error) {
    close_theirs(e);
    *p = (process){0};
    if (error == 0)
        *p = (process){.pid = pid, .to = e->to, .from = e->from, .output = e->output};
    else
        close_ours(e);
    return error;
}

void process_borrow(process *p, pid_t pid, int channel) {
    *p = (process){.pid = pid, .to = channel, .from = channel, .output = -1, .borrowed = true};
}

/* ---- a program ---- */

static int choose_files(posix_spawn_file_actions_t *actions, const int file[FILES]) {
    int error = 0;
    for (int i = 0; error == 0 && i < FILES; ++i) {
        if (file[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, file[i], i);
        else if (i < PROCESS_CHANNEL)
            error = posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
    }
    return error;
}

static int spawn(pid_t *pid, char *const argv[], const int file[FILES]) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t signals;
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    int error = choose_files(&files, file);
    if (error == 0)
        error = posix_spawnp(pid, argv[0], &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int process_start(process *p, char *const argv[], process_talk talk, int file) {
    ends e;
    pid_t pid = 0;
    int error = make_ends(&e, talk) ? 0 : errno;
    int files[FILES] = {e.theirs[0], e.theirs[1], e.theirs[2], e.theirs[PROCESS_CHANNEL]};
    if (talk == PROCESS_SILENT)
        files[1] = files[2] = file;
    else if (talk == PROCESS_LINES)
        files[PROCESS_CHANNEL] = file;
    else
        files[1] = files[2];
    if (error == 0)
        error = spawn(&pid, argv, files);
    return take_ours(p, pid, &e, error);
}

/* ---- a copy of this process ---- */

void process_settle(void) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

int process_fork(process *p, void (*work)(int channel, void *context), void *context) {
    const pid_t parent = getpid();
    ends e = {{-1, -1, -1, -1}, -1, -1, -1};
    int error = process_channel(&e.to, &e.theirs[PROCESS_CHANNEL]);
    e.from = e.to;
    fflush(NULL);
    const pid_t pid = error == 0 ? fork() : -1;
    if (error == 0 && pid < 0)
        error = errno;
    if (pid == 0) {
        (void)signal(SIGINT, SIG_IGN);
        process_settle();
        close_ours(&e);
        if (getppid() == parent) /* it may have ended before we settled */
            work(e.theirs[PROCESS_CHANNEL], context);
        _exit(0);
    }
    return take_ours(p, pid, &e, error);
}
