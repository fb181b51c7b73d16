#include "engine/sandbox/sandbox.h"
#include "engine/process/process.h"
#include "engine/sandbox/restrict.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, LAST_CAPABILITY = 63, MOST_PROCESSES = 4096 };

static const rlim_t most_bytes = 64 << 20; /* of a file that it writes */

/* ---- words ---- */

static const char *const words[SANDBOX_WALLS] = {
    [WALL_USER] = "user",       [WALL_PID] = "pid",
    [WALL_MOUNT] = "mount",     [WALL_NETWORK] = "network",
    [WALL_IPC] = "ipc",         [WALL_LANDLOCK] = "landlock",
    [WALL_SECCOMP] = "seccomp", [WALL_PRIVILEGES] = "privileges",
    [WALL_LIMITS] = "limits",
};

const char *sandbox_text(sandbox_walls walls, char text[SANDBOX_TEXT]) {
    text[0] = '\0';
    for (int w = 0; w < SANDBOX_WALLS; ++w)
        if (walls & 1u << w)
            strcat(strcat(text, text[0] != '\0' ? " " : ""), words[w]);
    return text[0] != '\0' ? text : strcpy(text, "none");
}

sandbox_walls sandbox_of_text(const char *text) {
    sandbox_walls walls = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, " ");
        for (int w = 0; w < SANDBOX_WALLS; ++w)
            if (strlen(words[w]) == length && memcmp(words[w], text, length) == 0)
                walls |= 1u << w;
        text += length + strspn(text + length, " ");
    }
    return walls;
}

sandbox_walls sandbox_required(void) {
    return ((1u << SANDBOX_WALLS) - 1) & ~(1u << WALL_LANDLOCK);
}

/* ---- a user of its own ---- */

static bool write_text(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const ssize_t n = file >= 0 ? write(file, text, strlen(text)) : -1;
    if (file >= 0)
        close(file);
    return n == (ssize_t)strlen(text);
}

/* A namespace in which the same numbers stand for the same user. */
static bool enter_user(void) {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", user, user);
    snprintf(groups, sizeof groups, "%u %u 1", group, group);
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

static bool can_read_all(const sandbox_plan *plan) {
    bool can = true;
    for (int i = 0; can && i < SANDBOX_FILES && plan->file[i]; ++i) {
        const int file = open(plan->file[i], O_RDONLY | O_CLOEXEC);
        can = file >= 0;
        if (can)
            close(file);
    }
    return can && (plan->simulated || access("/dev/nvidiactl", F_OK) != 0 ||
                   faccessat(AT_FDCWD, "/dev/nvidiactl", R_OK | W_OK, AT_EACCESS) == 0);
}

/* root becomes the user `nobody`, where that user can read what is needed. */
static bool become_nobody(const sandbox_plan *plan) {
    if (seteuid(NOBODY) != 0)
        return false;
    const bool can = can_read_all(plan);
    if (seteuid(0) != 0 || !can)
        return false;
    return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* ---- privileges and limits ---- */

/* While it may: what no program that it starts could have. */
static void drop_bounds(void) {
    for (int c = 0; c <= LAST_CAPABILITY; ++c)
        (void)prctl(PR_CAPBSET_DROP, c);
}

static bool drop_privileges(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    return syscall(SYS_capset, &header, none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0)
        return false;
    if (now.rlim_max > most)
        now.rlim_max = most;
    if (now.rlim_cur > now.rlim_max)
        now.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)resource, &now) == 0;
}

static bool set_limits(const sandbox_plan *plan, bool own_user) {
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_MSGQUEUE, 0) &&
           (!plan->simulated || limit(RLIMIT_FSIZE, most_bytes)) &&
           (!own_user || limit(RLIMIT_NPROC, MOST_PROCESSES));
}

/* ---- a process of its own ---- */

/* The first process of a namespace takes no signal that it sends itself, unless it handles it. */
static void on_abort(int signal) {
    _exit(128 + signal);
}

/* The copy waits for the end of the pipe: it says nothing before its number has been told. */
static void move(void (*moved)(int pid)) {
    char none;
    int told[2];
    if (pipe2(told, O_CLOEXEC) != 0)
        _exit(2);
    const long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        close(told[1]);
        while (read(told[0], &none, 1) < 0 && errno == EINTR)
            continue;
        close(told[0]);
        return;
    }
    if (pid < 0) {
        fprintf(stderr, "no process in a namespace of its own: %s\n", strerror(errno));
        _exit(2);
    }
    moved((int)pid);
    close(told[1]);
    for (;;)
        pause();
}

/* ---- all of it ---- */

static bool entered(int namespace) {
    return unshare(namespace) == 0;
}

sandbox_walls sandbox_enter(const sandbox_plan *plan, void (*moved)(int pid)) {
    sandbox_walls walls = 0;
    visible v;
    const bool root = geteuid() == 0;
    visible_init(&v, plan);
    process_settle();
    bool stands[SANDBOX_WALLS] = {0};
    stands[WALL_USER] = !root && enter_user();
    const bool own_user = stands[WALL_USER];
    const bool own_mounts = entered(CLONE_NEWNS);
    stands[WALL_NETWORK] = entered(CLONE_NEWNET);
    stands[WALL_IPC] = entered(CLONE_NEWIPC);
    (void)entered(CLONE_NEWUTS);
    stands[WALL_PID] = plan->alone && entered(CLONE_NEWPID);
    if (stands[WALL_PID]) {
        move(moved);
        (void)signal(SIGABRT, on_abort);
    }
    (void)setsid(); /* no terminal */
    stands[WALL_MOUNT] = own_mounts && visible_mount(&v, stands[WALL_PID]);
    drop_bounds();
    if (root)
        stands[WALL_USER] = become_nobody(plan);
    process_settle(); /* a change of the user undoes it, and so does a new process */
    stands[WALL_PRIVILEGES] = drop_privileges();
    stands[WALL_LIMITS] = set_limits(plan, own_user);
    stands[WALL_LANDLOCK] = restrict_files(&v, stands[WALL_MOUNT]);
    stands[WALL_SECCOMP] = restrict_calls(plan);
    visible_clear(&v);
    for (int w = 0; w < SANDBOX_WALLS; ++w)
        walls |= stands[w] ? 1u << w : 0;
    return walls;
}

/* Ends as that child does. */
static void end_as(pid_t child) {
    int how = 0;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(how)) {
        (void)signal(WTERMSIG(how), SIG_DFL);
        (void)raise(WTERMSIG(how));
    }
    _exit(WIFEXITED(how) ? WEXITSTATUS(how) : 2);
}

bool sandbox_conceal(const char *file) {
    enum { APART = CLONE_NEWNS | CLONE_NEWPID };
    if (!entered(APART) && !(enter_user() && entered(APART)))
        return false;
    const pid_t child = fork();
    if (child < 0)
        return false;
    if (child > 0)
        end_as(child);
    process_settle();
    /* The file is behind /proc/PID/root of each process outside as well. */
    const bool covered = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                         mount("/dev/null", file, NULL, MS_BIND, NULL) == 0;
    const unsigned long how = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    return covered && mount("proc", "/proc", "proc", how, NULL) == 0;
}

void sandbox_hide(void) {
    (void)prctl(PR_SET_DUMPABLE, 0);
}
