#include "mutants/command.h"
#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

/* ---- words ---- */

static void add_bytes(command *c, const char *bytes, size_t n) {
    if (c->count + 1 >= c->room) {
        const int32_t room = 2 * c->room + 64;
        char **more = realloc(c->word, (size_t)room * sizeof *more);
        c->failed = c->failed || !more;
        if (!more)
            return;
        c->word = more;
        c->room = room;
    }
    c->word[c->count] = strndup(bytes, n);
    c->failed = c->failed || !c->word[c->count];
    c->count += c->word[c->count] != NULL;
    c->word[c->count] = NULL;
}

void command_add(command *c, const char *word) {
    add_bytes(c, word, strlen(word));
}

void command_clear(command *c) {
    for (int32_t i = 0; i < c->count; ++i)
        free(c->word[i]);
    free(c->word);
    *c = (command){0};
}

/* The words of a shell's line inside a JSON string, up to its closing quote. */
static assay_status split(command *c, const char *json) {
    char *word = malloc(strlen(json) + 1);
    size_t n = 0;
    bool quoted = false, begun = false;
    if (!word)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a compiler's command");
    for (; *json && *json != '"'; ++json) {
        char byte = *json;
        bool plain = false;
        if (byte == '\\') { /* JSON's, and then the shell's */
            byte = *++json;
            if (byte == '\\') {
                ++json;
                byte = *json == '\\' ? *++json : *json;
                plain = true;
            }
        }
        if (!plain && (byte == '"' || byte == '\'')) {
            quoted = !quoted;
            begun = true;
        } else if (!plain && byte == ' ' && !quoted) {
            if (begun)
                add_bytes(c, word, n);
            n = 0;
            begun = false;
        } else {
            word[n++] = byte;
            begun = true;
        }
    }
    if (begun)
        add_bytes(c, word, n);
    free(word);
    return c->failed ? assay_fail(ASSAY_ERR_MEMORY, "out of memory for a compiler's command")
                     : ASSAY_OK;
}

assay_status command_find(command *c, const char *json, const char *file) {
    static const char name[] = "\"command\": \"";
    char end[256];
    snprintf(end, sizeof end, "/%s\"", file);
    for (const char *entry = strstr(json, name); entry; entry = strstr(entry + 1, name)) {
        const char *line = strstr(entry, "\"file\": \"");
        const char *last = line ? strchr(line, '\n') : NULL;
        const char *found = last ? strstr(line, end) : NULL;
        if (found && found < last)
            return split(c, entry + sizeof name - 1);
    }
    return assay_fail(ASSAY_ERR_FILE,
                      "compile_commands.json has no %s; configure with "
                      "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or a preset",
                      file);
}

/* ---- running ---- */

static int spawn(const command *c, const char *log, pid_t *pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
        if (error == 0)
            error = posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC,
                                                     0600);
        if (error == 0)
            error = posix_spawn_file_actions_adddup2(&files, 1, 2);
        if (error == 0)
            error = posix_spawnp(pid, c->word[0], &files, &attributes, c->word, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* What finish() gives for a program that takes too long. */
enum { TOO_LONG = -2 };

/* Waits, and ends it with its children when it takes too long. */
static int finish(pid_t pid, double seconds) {
    const struct timespec moment = {.tv_nsec = 2000000};
    const double deadline = now() + seconds;
    int how = -1;
    while (waitpid(pid, &how, WNOHANG) == 0) {
        if (!(now() < deadline)) {
            (void)kill(-pid, SIGKILL);
            while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
                continue;
            return TOO_LONG;
        }
        nanosleep(&moment, NULL);
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static assay_status failed(const command *c, const char *log) {
    char line[512] = "";
    FILE *file = fopen(log, "r");
    while (file && fgets(line, sizeof line, file) && !strstr(line, "error") &&
           !strstr(line, "FAILED"))
        continue;
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return assay_fail(ASSAY_ERR_KERNEL, "%s: %s", c->word[0], line);
}

assay_status command_run(const command *c, const char *log, double seconds) {
    pid_t pid;
    if (c->failed)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a compiler's command");
    const int error = spawn(c, log, &pid);
    if (error != 0)
        return assay_fail(ASSAY_ERR_FILE, "%s cannot be started: %s", c->word[0], strerror(error));
    const int code = finish(pid, seconds);
    if (code == TOO_LONG)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s takes longer than %g s", c->word[0], seconds);
    if (code == 126 || code == 127) /* what a shell, and env, say of a program that is not there */
        return assay_fail(ASSAY_ERR_FILE, "%s cannot start its program; build all of assay",
                          c->word[0]);
    return code == 0 ? ASSAY_OK : failed(c, log);
}
