#include "fuzz/search/corpus.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static assay_status path_of(const char *folder, const assay_op *op, char path[PATH_MAX]) {
    if (snprintf(path, PATH_MAX, "%s/%s.txt", folder, op->name) < PATH_MAX)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_USAGE, "the path of the corpus is too long");
}

static assay_status cannot(const char *path, const char *what) {
    return assay_fail(ASSAY_ERR_FILE, "%.300s: cannot be %s: %s", path, what, strerror(errno));
}

static assay_status visit_line(const char *path, int number, char *line, const assay_op *op,
                               assay_case_visitor visit, void *context) {
    assay_case c;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return ASSAY_OK;
    if (assay_case_parse(line, &c) == ASSAY_OK && c.op == op)
        return visit(&c, context);
    return assay_fail(ASSAY_ERR_FILE, "%.300s:%d: is no case of %s", path, number, op->name);
}

assay_status fuzz_corpus_visit(const char *folder, const assay_op *op, assay_case_visitor visit,
                               void *context) {
    char path[PATH_MAX], line[2 * ASSAY_CASE_TEXT];
    assay_status status = path_of(folder, op, path);
    if (status != ASSAY_OK)
        return status;
    FILE *from = fopen(path, "r");
    if (!from)
        return errno == ENOENT ? ASSAY_OK : cannot(path, "read");
    for (int number = 1; status == ASSAY_OK && fgets(line, sizeof line, from); ++number)
        status = visit_line(path, number, line, op, visit, context);
    if (status == ASSAY_OK && ferror(from))
        status = cannot(path, "read");
    fclose(from);
    return status;
}

typedef struct twin {
    const char *text;
    bool found;
} twin;

static assay_status compare(const assay_case *c, void *context) {
    char text[ASSAY_CASE_TEXT];
    twin *t = context;
    t->found = t->found || strcmp(assay_case_format(c, text), t->text) == 0;
    return ASSAY_OK;
}

assay_status fuzz_corpus_add(const char *folder, const assay_case *c, const char *why) {
    char path[PATH_MAX], text[ASSAY_CASE_TEXT];
    twin t = {.text = assay_case_format(c, text)};
    assay_status status = fuzz_corpus_visit(folder, c->op, compare, &t);
    if (status == ASSAY_OK)
        status = path_of(folder, c->op, path);
    if (status != ASSAY_OK || t.found)
        return status;
    /* One write at the file's end: another campaign may add to it too. */
    char lines[2 * ASSAY_CASE_TEXT];
    const int length = snprintf(lines, sizeof lines, "# %.300s\n%s\n", why, text);
    FILE *to = fopen(path, "a");
    if (!to)
        return cannot(path, "written");
    const bool written = fwrite(lines, 1, (size_t)length, to) == (size_t)length;
    if (fclose(to) != 0 || !written)
        return cannot(path, "written");
    return ASSAY_OK;
}
