#include "tests/faults/command/sandbox.h"
#include "cli/cli.h"
#include "tests/shim/assay_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HANGS = 60 }; /* seconds after which a command is taken to hang */

/* ---- files ---- */

static void path_of(const sandbox *s, const char *file, char path[2 * SANDBOX_PATH]) {
    snprintf(path, 2 * SANDBOX_PATH, "%s/%s", s->folder, file);
}

file_bytes sandbox_read(const sandbox *s, const char *file) {
    char path[2 * SANDBOX_PATH];
    file_bytes bytes = {0};
    path_of(s, file, path);
    FILE *from = fopen(path, "rb");
    if (from == NULL)
        return bytes;
    REQUIRE(fseek(from, 0, SEEK_END) == 0);
    bytes.size = (size_t)ftell(from);
    rewind(from);
    bytes.data = calloc(bytes.size + 1, 1);
    REQUIRE(bytes.data != NULL);
    REQUIRE(fread(bytes.data, 1, bytes.size, from) == bytes.size);
    fclose(from);
    return bytes;
}

void sandbox_write(const sandbox *s, const char *file, const file_bytes *bytes) {
    char path[2 * SANDBOX_PATH];
    path_of(s, file, path);
    if (bytes->data == NULL) {
        REQUIRE(unlink(path) == 0 || errno == ENOENT);
        return;
    }
    FILE *to = fopen(path, "wb");
    REQUIRE_MSG(to != NULL, "%s cannot be opened", path);
    REQUIRE(fwrite(bytes->data, 1, bytes->size, to) == bytes->size);
    REQUIRE(fclose(to) == 0);
}

bool bytes_equal(const file_bytes *a, const file_bytes *b) {
    if (a->data == NULL || b->data == NULL)
        return a->data == b->data;
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

void sandbox_visit(const sandbox *s, bool (*visit)(const char *file, void *context),
                   void *context) {
    DIR *directory = opendir(s->folder);
    REQUIRE(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && !visit(entry->d_name, context))
            unlinkat(dirfd(directory), entry->d_name, 0);
    closedir(directory);
}

/* ---- life ---- */

void sandbox_init(sandbox *s) {
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || *parent == '\0') /* in memory, where there is such a folder */
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
    snprintf(s->folder, sizeof s->folder, "%s/assay-faults-XXXXXX", parent);
    REQUIRE(mkdtemp(s->folder) != NULL);
    s->record =
        mmap(NULL, sizeof *s->record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s->record != MAP_FAILED);
}

static bool keep_none(const char *file, void *context) {
    (void)file;
    (void)context;
    return false;
}

void sandbox_clear(sandbox *s) {
    sandbox_visit(s, keep_none, NULL);
    CHECK(rmdir(s->folder) == 0);
    munmap(s->record, sizeof *s->record);
}

/* ---- a run ---- */

static void redirect(int from, int to) {
    if (from < 0 || dup2(from, to) < 0)
        _exit(99);
    close(from);
}

__attribute__((noreturn)) static void run_child(const sandbox *s, const char *const *words,
                                                inject_mode mode, int64_t at, int out, int err) {
    const struct rlimit no_core = {0, 0};
    char *argv[SANDBOX_WORDS + 2] = {"assay"};
    int argc = 1;
    for (; words[argc - 1] != NULL && argc <= SANDBOX_WORDS; ++argc)
        argv[argc] = (char *)words[argc - 1];
    (void)setrlimit(RLIMIT_CORE, &no_core);
    redirect(open("/dev/null", O_RDONLY), STDIN_FILENO);
    redirect(out, STDOUT_FILENO);
    redirect(err, STDERR_FILENO);
    if (chdir(s->folder) != 0 || setenv("ASSAY_CERTIFICATES", ".", 1) != 0)
        _exit(99);
    (void)alarm(HANGS);
    inject_arm(mode, at, s->record);
    const assay_exit code = assay_cli_main(argc, argv);
    inject_disarm();
    exit((int)code); /* where LeakSanitizer looks */
}

static void read_text(int file, char text[SANDBOX_TEXT]) {
    const ssize_t size = pread(file, text, SANDBOX_TEXT - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    close(file);
}

static void kill_after(pid_t child, double milliseconds) {
    const double seconds = milliseconds / 1e3;
    struct timespec rest = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
    (void)kill(child, SIGKILL);
}

void sandbox_run(const sandbox *s, const char *const *words, inject_mode mode, int64_t at,
                 double milliseconds, outcome *o) {
    const int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    int status = 0;
    REQUIRE(out >= 0 && err >= 0);
    atomic_store(&s->record->calls, 0);
    s->record->failed[0] = '\0';
    (void)fflush(NULL);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        run_child(s, words, mode, at, out, err);
    if (milliseconds >= 0)
        kill_after(child, milliseconds);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    o->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    o->died = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    o->calls = atomic_load(&s->record->calls);
    o->failed = s->record->failed[0] != '\0' ? s->record->failed : NULL;
    read_text(out, o->out);
    read_text(err, o->err);
}
