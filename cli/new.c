/*
 * assay new OP/NAME: a kernel file to begin with. It is the operator's own v1, the naive one, with
 * the headers of its folder written out in it, under another name.
 */
#include "cli/operator.h"
#include "cli/text_file.h"
#include "core/place.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 20, HEADERS = 32 };

typedef struct writer {
    FILE *to;
    const char *op, *name;
    char folder[PATH_MAX]; /* of the operators' kernels */
    char *seen[HEADERS];   /* headers that are written out already */
    int n_seen;
} writer;

static assay_status read_file(const writer *w, const char *name, char **text) {
    char path[2 * PATH_MAX];
    size_t size;
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    const assay_status status = text_file_read(path, "kernel file", MOST, text, &size);
    if (status != ASSAY_OK || *text != NULL)
        return status;
    return assay_fail(ASSAY_ERR_FILE, "%.300s: is not there; install assay again", path);
}

/* "#include "kernels/OP/x.h"", as "OP/x.h"; NULL for any other line, one of kernels/common/ too:
 * those headers are there for every kernel file. */
static char *own_header(const char *line, size_t length) {
    static const char start[] = "#include \"kernels/", common[] = "common/";
    const size_t n = sizeof start - 1;
    if (length <= n || memcmp(line, start, n) != 0 ||
        strncmp(line + n, common, sizeof common - 1) == 0)
        return NULL;
    return strndup(line + n, strcspn(line + n, "\"\n"));
}

static bool is_seen(writer *w, char *name) {
    for (int i = 0; i < w->n_seen; ++i)
        if (strcmp(w->seen[i], name) == 0)
            return true;
    if (w->n_seen < HEADERS)
        w->seen[w->n_seen++] = name;
    return false;
}

/* The lines of a header's guard: #ifndef ASSAY_..._H, #define the same, and the last #endif. */
static bool is_guard(const char *line, const char *last_endif) {
    const size_t length = strcspn(line, "\n");
    const bool named = length > 2 && memcmp(line + length - 2, "_H", 2) == 0;
    return line == last_endif || (named && strncmp(line, "#ifndef ASSAY_", 14) == 0) ||
           (named && strncmp(line, "#define ASSAY_", 14) == 0);
}

static const char *find_last_endif(const char *text) {
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, "#endif")) != NULL; ++at)
        if (at == text || at[-1] == '\n')
            last = at;
    return last;
}

static assay_status put_file(writer *w, const char *name, bool header);

static assay_status put_line(writer *w, const char *line, size_t length, const char *guard) {
    char *name = own_header(line, length);
    if (name == NULL) {
        if (!is_guard(line, guard))
            (void)fwrite(line, 1, length, w->to);
        return ASSAY_OK;
    }
    const bool seen = is_seen(w, name);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", name);
    if (seen)
        free(name);
    return seen ? ASSAY_OK : put_file(w, path, true);
}

static assay_status put_file(writer *w, const char *name, bool header) {
    char *text = NULL;
    assay_status status = read_file(w, name, &text);
    const char *guard = status == ASSAY_OK && header ? find_last_endif(text) : NULL;
    for (const char *line = text; status == ASSAY_OK && *line != '\0';) {
        const size_t length = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
        status = put_line(w, line, length, guard);
        line += length;
    }
    free(text);
    return status;
}

/* The variant's two names in the text, v1, become the new one. */
static void put_renamed(const writer *w, const char *text, FILE *to) {
    char macro[128], member[] = ".name = \"v1\"";
    snprintf(macro, sizeof macro, "ASSAY_VARIANT(%s, v1)", w->op);
    while (*text != '\0') {
        if (strncmp(text, macro, strlen(macro)) == 0) {
            fprintf(to, "ASSAY_VARIANT(%s, %s)", w->op, w->name);
            text += strlen(macro);
        } else if (strncmp(text, member, strlen(member)) == 0) {
            fprintf(to, ".name = \"%s\"", w->name);
            text += strlen(member);
        } else {
            putc(*text++, to);
        }
    }
}

static assay_status make_text(writer *w, char **text, size_t *size) {
    char *whole = NULL, name[128];
    size_t whole_size = 0;
    assay_status status = assay_place("kernels", w->folder);
    w->to = open_memstream(&whole, &whole_size);
    FILE *to = open_memstream(text, size);
    snprintf(name, sizeof name, "%s/v1.cu", w->op);
    if (w->to == NULL || to == NULL)
        status = assay_fail(ASSAY_ERR_MEMORY, "no memory for a kernel file");
    if (status == ASSAY_OK)
        status = put_file(w, name, false);
    if (w->to != NULL)
        (void)fclose(w->to);
    /* It finds its parts among the variants that are built in: a kernel file has none beside it. */
    if (status == ASSAY_OK && strstr(whole, "#include \"kernels/common/variants.h\"") != NULL)
        status = assay_fail(ASSAY_ERR_UNSUPPORTED,
                            "%s is a composition, whose kernel calls those of other operators; "
                            "write one of these, as in assay new rmsnorm/%s",
                            w->op, w->name);
    if (status == ASSAY_OK)
        put_renamed(w, whole, to);
    if (to != NULL)
        (void)fclose(to);
    for (int i = 0; i < w->n_seen; ++i)
        free(w->seen[i]);
    free(whole);
    return status;
}

static assay_status check_words(const assay_cli_args *args) {
    if (args->n_targets != 1 || args->target->variant == NULL)
        return assay_fail(ASSAY_ERR_USAGE, "new: name the kernel, as in rmsnorm/mine");
    const char *name = args->target->variant;
    if (!isalpha((unsigned char)*name) || strlen(name) > 31 ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] !=
            '\0')
        return assay_fail(ASSAY_ERR_USAGE,
                          "new: the name is a letter, then up to 30 letters, digits and _");
    return ASSAY_OK;
}

assay_exit assay_cli_new(const assay_cli_args *args) {
    char path[64];
    char *text = NULL;
    size_t size = 0;
    if (args->subverb != NULL)
        return cli_operator_new(args);
    assay_status status = check_words(args);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    writer w = {.op = args->target->op->name, .name = args->target->variant};
    snprintf(path, sizeof path, "%s.cu", w.name);
    const char *file = args->output != NULL ? args->output : path;
    if (access(file, F_OK) == 0)
        status = assay_fail(ASSAY_ERR_USAGE, "new: %.300s is there already; name another by --out",
                            file);
    if (status == ASSAY_OK)
        status = make_text(&w, &text, &size);
    if (status == ASSAY_OK)
        status = text_file_write(file, text, size);
    free(text);
    if (status != ASSAY_OK)
        return assay_cli_complain(status);
    fprintf(args->out.stream,
            "wrote %s, a kernel that is right and slow. Next:\n\n"
            "  assay check %s/%s --kernel %s\n"
            "  assay bench %s/%s --kernel %s\n",
            file, w.op, w.name, file, w.op, w.name, file);
    return ASSAY_EXIT_PASSED;
}
