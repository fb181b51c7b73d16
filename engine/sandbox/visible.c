#include "engine/sandbox/visible.h"

#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the list ---- */

typedef struct entry {
    const char *pattern; /* of glob() */
    visible_use use;
    bool driver; /* for a real device alone */
} entry;

static const entry entries[] = {
    {"/usr", VISIBLE_READ, false},
    {"/lib", VISIBLE_READ, false},
    {"/lib32", VISIBLE_READ, false},
    {"/lib64", VISIBLE_READ, false},
    {"/bin", VISIBLE_READ, false},
    {"/sbin", VISIBLE_READ, false},
    {"/sys", VISIBLE_READ, false},
    {"/nix/store", VISIBLE_READ, false},
    {"/gnu/store", VISIBLE_READ, false},
    {"/etc/ld.so*", VISIBLE_READ, false},
    {"/etc/alternatives", VISIBLE_READ, false},
    {"/etc/localtime", VISIBLE_READ, false},
    {"/etc/passwd", VISIBLE_READ, false},
    {"/etc/group", VISIBLE_READ, false},
    {"/etc/nsswitch.conf", VISIBLE_READ, false},
    {"/dev/null", VISIBLE_DEVICE, false},
    {"/dev/zero", VISIBLE_DEVICE, false},
    {"/dev/full", VISIBLE_DEVICE, false},
    {"/dev/random", VISIBLE_DEVICE, false},
    {"/dev/urandom", VISIBLE_DEVICE, false},
    /* NVIDIA's driver: its nodes, those of its capabilities (MIG), its folders and sockets. */
    {"/dev/nvidia*", VISIBLE_DEVICE, true},
    {"/dev/nvidia-caps/*", VISIBLE_DEVICE, true},
    {"/dev/nvidia-caps-imex-channels/*", VISIBLE_DEVICE, true},
    {"/dev/dri/*", VISIBLE_DEVICE, true},
    {"/dev/dxg", VISIBLE_DEVICE, true},
    {"/dev/nvmap", VISIBLE_DEVICE, true},
    {"/dev/nvhost*", VISIBLE_DEVICE, true},
    {"/dev/nvgpu/*/*", VISIBLE_DEVICE, true},
    {"/etc/nvidia*", VISIBLE_READ, true},
    {"/etc/OpenCL", VISIBLE_READ, true},
    {"/etc/nv_tegra_release", VISIBLE_READ, true},
    {"/opt", VISIBLE_READ, true},
    {"/run/nvidia-persistenced", VISIBLE_READ, true},
    {"/run/nvidia-fabricmanager", VISIBLE_READ, true},
    {"/run/opengl-driver", VISIBLE_READ, true},
    {"/run/nvidia", VISIBLE_READ, true},
    {"/var/lib/nvidia", VISIBLE_READ, true},
};

/* Folders of libraries, with colons between them. */
static const char *const variables[] = {"LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"};

/* Whether it is there already, by itself or in a folder. A link's target is its own affair. */
static bool covers(const visible *v, const char *path) {
    struct stat info;
    for (int i = 0; i < v->count; ++i) {
        const size_t n = strlen(v->path[i]);
        if (strncmp(path, v->path[i], n) == 0 && (path[n] == '\0' || path[n] == '/') &&
            (path[n] == '\0' || (lstat(v->path[i], &info) == 0 && S_ISDIR(info.st_mode))))
            return true;
    }
    return false;
}

static void add(visible *v, const char *path, visible_use use) {
    struct stat info;
    if (path[0] != '/' || path[1] == '\0' || v->count == VISIBLE_MOST || covers(v, path) ||
        lstat(path, &info) != 0)
        return;
    v->path[v->count] = strdup(path);
    v->use[v->count] = use;
    v->count += v->path[v->count] != NULL;
}

static void add_pattern(visible *v, const entry *e) {
    glob_t found;
    if (glob(e->pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; ++i) {
            struct stat info;
            const bool device = stat(found.gl_pathv[i], &info) == 0 &&
                                (S_ISCHR(info.st_mode) || S_ISLNK(info.st_mode));
            if (e->use == VISIBLE_READ || device)
                add(v, found.gl_pathv[i], e->use);
        }
    globfree(&found);
}

static void add_folders(visible *v, const char *list) {
    char folder[PATH_MAX], real[PATH_MAX];
    for (const char *at = list; at && *at != '\0';) {
        const size_t length = strcspn(at, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)length, at);
        add(v, folder, VISIBLE_READ);
        if (realpath(folder, real))
            add(v, real, VISIBLE_READ);
        at += length + (at[length] == ':');
    }
}

void visible_init(visible *v, const sandbox_plan *plan) {
    *v = (visible){.driver = !plan->simulated, .compiles = plan->compiles};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i)
        if (!entries[i].driver || !plan->simulated)
            add_pattern(v, &entries[i]);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i)
        add_folders(v, getenv(variables[i]));
    for (int i = 0; i < SANDBOX_FILES && plan->file[i]; ++i)
        add(v, plan->file[i], VISIBLE_READ);
}

void visible_clear(visible *v) {
    for (int i = 0; i < v->count; ++i)
        free(v->path[i]);
    *v = (visible){0};
}

/* ---- mounting ---- */

/* What glibc's and the kernel's headers define in ways that exclude each other. */
enum {
    TREE_CLONE = 1,
    TREE_CLOEXEC = O_CLOEXEC,
    RECURSIVE = 0x8000,
    EMPTY_PATH = 0x1000,
    MOVE_FROM_EMPTY = 4,
    SET_READ_ONLY = 1,
    SET_NO_SUID = 2,
    SET_NO_DEVICES = 4,
};

typedef struct attributes {
    uint64_t set, clear, propagation, namespace;
} attributes;

static const char new_root[] = "/tmp";

static bool set_attributes(int tree, uint64_t what, int how) {
    const attributes a = {.set = what};
    return syscall(SYS_mount_setattr, tree, "", EMPTY_PATH | how, &a, sizeof a) == 0;
}

/* Each folder of a path below the new root. */
static bool make_folders(char *path) {
    for (char *end = strchr(path + sizeof new_root, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        (void)mkdir(path, 0755);
        *end = '/';
    }
    return true;
}

/* The path in the new root, with all folders above it. */
static void place(const char *path, char below[PATH_MAX + 8]) {
    snprintf(below, PATH_MAX + 8, "%s%s", new_root, path);
    make_folders(below);
}

static bool copy_link(const char *path) {
    char below[PATH_MAX + 8], target[PATH_MAX];
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0)
        return false;
    target[n] = '\0';
    place(path, below);
    return symlink(target, below) == 0;
}

static bool is_link(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* A copy of the tree, detached, which is read-only, except for /proc of a driver's process: there
 * the rights of the user decide, and those of Landlock. */
static int clone_tree(const visible *v, int i) {
    const int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, v->path[i], TREE_CLONE | TREE_CLOEXEC | RECURSIVE);
    const uint64_t what = (v->use[i] == VISIBLE_WRITE ? 0 : SET_READ_ONLY) | SET_NO_SUID |
                          (v->use[i] == VISIBLE_DEVICE ? 0 : SET_NO_DEVICES);
    if (tree >= 0 && set_attributes(tree, what, RECURSIVE))
        return tree;
    if (tree >= 0)
        close(tree);
    return -1;
}

static bool attach(int tree, const char *path) {
    char below[PATH_MAX + 8];
    struct stat info;
    if (fstat(tree, &info) != 0)
        return false;
    place(path, below);
    const int file = S_ISDIR(info.st_mode) ? -1 : open(below, O_CREAT | O_CLOEXEC, 0644);
    if (file >= 0)
        close(file);
    else
        (void)mkdir(below, 0755);
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, below, MOVE_FROM_EMPTY) == 0;
}

static bool mount_scratch(const visible *v, const char *path) {
    char below[PATH_MAX + 8];
    place(path, below);
    (void)mkdir(below, 0755);
    return mount("tmpfs", below, "tmpfs",
                 MS_NOSUID | MS_NODEV | (v->compiles ? 0 : (unsigned long)MS_NOEXEC),
                 v->compiles ? "size=1g,mode=1777" : "size=64m,nr_inodes=4096,mode=1777") == 0;
}

/* Of this process namespace; where the system refuses a new one, as containers do, the old one,
 * whose other processes are out of reach by other means. */
static bool mount_proc(const visible *v, int old, bool own) {
    char below[PATH_MAX + 8];
    place("/proc", below);
    (void)mkdir(below, 0755);
    const unsigned long how =
        MS_NOSUID | MS_NODEV | MS_NOEXEC | (v->driver ? 0 : (unsigned long)MS_RDONLY);
    return (own && mount("proc", below, "proc", how, NULL) == 0) ||
           (old >= 0 && syscall(SYS_move_mount, old, "", AT_FDCWD, below, MOVE_FROM_EMPTY) == 0);
}

/* pivot_root(2), "pivot_root(".", ".")" */
static bool enter_root(void) {
    return chdir(new_root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
           umount2(".", MNT_DETACH) == 0 && chdir("/") == 0;
}

static bool seal_root(void) {
    const int root = open("/", O_PATH | O_CLOEXEC);
    const bool sealed = root >= 0 && set_attributes(root, SET_READ_ONLY | SET_NO_SUID, 0);
    if (root >= 0)
        close(root);
    return sealed;
}

bool visible_mount(const visible *v, bool own_proc) {
    int tree[VISIBLE_MOST];
    visible proc = {.path = {(char *)"/proc"}, .count = 1};
    proc.use[0] = v->driver ? VISIBLE_WRITE : VISIBLE_READ;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    /* All of them before the new root hides what lies below it. */
    const int old_proc = clone_tree(&proc, 0);
    for (int i = 0; i < v->count; ++i)
        tree[i] = is_link(v->path[i]) ? -1 : clone_tree(v, i);
    /* The scratch folders before what may lie below them, as a build in /tmp does. */
    bool good = mount("tmpfs", new_root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0 &&
                mount_scratch(v, "/tmp") && mount_scratch(v, "/dev/shm");
    for (int i = 0; i < v->count; ++i) {
        if (good && tree[i] >= 0)
            good = attach(tree[i], v->path[i]);
        else if (good && is_link(v->path[i]))
            good = copy_link(v->path[i]);
        if (tree[i] >= 0)
            close(tree[i]);
    }
    good = good && mount_proc(v, old_proc, own_proc) && enter_root() && seal_root();
    if (old_proc >= 0)
        close(old_proc);
    return good;
}
