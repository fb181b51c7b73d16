#include "mutants/command.h"
#include "engine/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    process p;
    if (c->failed)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for a compiler's command");
    const int file = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return assay_fail(ASSAY_ERR_FILE, "%s: %s", log, strerror(errno));
    const int error = process_start(&p, c->word, PROCESS_SILENT, file);
    (void)close(file);
    if (error != 0)
        return assay_fail(ASSAY_ERR_FILE, "%s cannot be started: %s", c->word[0], strerror(error));
    process_finish(&p, &(process_limits){.seconds = seconds, .bytes = INFINITY});
    if (p.end == PROCESS_HANG)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s takes longer than %g s", c->word[0], seconds);
    /* A shell, and env, exit so where there is no such program. */
    if (p.end == PROCESS_EXIT && (p.code == 126 || p.code == 127))
        return assay_fail(ASSAY_ERR_FILE, "%s cannot start its program; build all of assay",
                          c->word[0]);
    return p.end == PROCESS_EXIT && p.code == 0 ? ASSAY_OK : failed(c, log);
}
