#include "mutants/equivalent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *equivalent_entry(const mutant *m) {
    char *entry = NULL;
    if (asprintf(&entry, "%s | %s | %s -> %s | %d", m->file->path, m->change.rule, m->before,
                 m->after, (int)m->occurrence) < 0)
        return NULL;
    return entry;
}

/* Whether `text` is as `pattern` says. */
static bool matches(const char *pattern, const char *text) {
    const char *star = NULL, *from = text;
    while (*text) {
        if (*pattern == '@') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            ++pattern;
            ++text;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '@')
        ++pattern;
    return *pattern == '\0';
}

/* The reason stands behind the last bar. */
static assay_status add_line(equivalents *all, const char *path, char *line) {
    char *bar = strrchr(line, '|');
    if (!bar || bar == line || bar[1] == '\0' || bar[2] == '\0')
        return assay_fail(ASSAY_ERR_FILE, "%s: no reason behind the last bar: %.100s", path, line);
    bar[-1] = '\0';
    all->line[all->count] = line;
    all->reason[all->count++] = bar + 2;
    return ASSAY_OK;
}

assay_status equivalents_read(equivalents *all, const char *path) {
    *all = (equivalents){0};
    assay_status status = source_read(path, &all->text);
    if (status != ASSAY_OK)
        return status;
    size_t lines = 1;
    for (const char *at = all->text; (at = strchr(at, '\n')); ++at)
        ++lines;
    all->line = calloc(lines, sizeof *all->line);
    all->reason = calloc(lines, sizeof *all->reason);
    all->met = calloc(lines, sizeof *all->met);
    if (!all->line || !all->reason || !all->met)
        status = assay_fail(ASSAY_ERR_MEMORY, "out of memory for %s", path);
    char *rest = NULL;
    for (char *line = strtok_r(all->text, "\n", &rest); line && status == ASSAY_OK;
         line = strtok_r(NULL, "\n", &rest))
        if (line[0] != '#')
            status = add_line(all, path, line);
    if (status != ASSAY_OK)
        equivalents_clear(all);
    return status;
}

void equivalents_clear(equivalents *all) {
    free(all->text);
    free(all->line);
    free(all->reason);
    free(all->met);
    *all = (equivalents){0};
}

const char *equivalents_find(equivalents *all, const mutant *m) {
    char *entry = equivalent_entry(m);
    const char *reason = NULL;
    for (int32_t i = 0; entry && !reason && i < all->count; ++i)
        if (matches(all->line[i], entry)) {
            all->met[i] = true;
            reason = all->reason[i];
        }
    free(entry);
    return reason;
}
