#include "engine/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int choose_files(posix_spawn_file_actions_t *actions, const int file[PROCESS_FILES]) {
    int error = 0;
    for (int i = 0; error == 0 && i < PROCESS_FILES; ++i) {
        if (file[i] >= 0)
            error = posix_spawn_file_actions_adddup2(actions, file[i], i);
        else if (i < 3)
            error = posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
    }
    return error;
}

int process_start(pid_t *pid, char *const argv[], const int file[PROCESS_FILES]) {
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

void process_end(pid_t pid) {
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL); /* should it have left its group */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
