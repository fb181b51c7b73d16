#include "cli/annotate.h"
#include "cli/text_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A step shows ten of a kind. */
enum { SHOWN = 10, MOST_BYTES = 16 << 20 };

typedef struct source {
    char path[PATH_MAX];
    const char *name; /* in the path, behind its folders */
    int line;         /* of the function that was judged */
} source;

/* ---- where ---- */

/* The line on which `word` stands and `next` follows it; 0: none. */
static int line_of(const char *text, const char *word, char next) {
    const size_t length = strlen(word);
    int line = 1;
    const char *begin = text;
    for (const char *at = text; length > 0 && (at = strstr(at, word)) != NULL; ++at) {
        const bool whole = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (!whole || at[length + strspn(at + length, " ")] != next)
            continue;
        for (; begin < at; ++begin)
            line += *begin == '\n';
        return line;
    }
    return 0;
}

/* The forward function's name: that of the binding, or behind FILE.py: */
static void function_of(const assay_cli_args *args, const char *words, char name[256]) {
    const char *from = strrchr(words, ':');
    const char *const forward = args->binding != NULL ? strstr(args->binding, "forward = ") : NULL;
    name[0] = '\0';
    if (forward != NULL) {
        const char *const end = forward + strcspn(forward, "(\n");
        for (from = end; from > forward && from[-1] != ' ';)
            --from;
        snprintf(name, 256, "%.*s", (int)(end - from < 200 ? end - from : 200), from);
    } else if (from != NULL) {
        snprintf(name, 256, "%.*s", (int)strcspn(from + 1, ","), from + 1);
    }
}

static void find_source(const assay_cli_args *args, source *s) {
    const char *const words = args->kernel_source != NULL ? args->kernel_source : args->kernel;
    const char *const python = strstr(words, ".py:");
    char function[256], *text = NULL;
    size_t size;
    snprintf(s->path, sizeof s->path, "%.*s",
             (int)(python != NULL ? python + 3 - words : (ptrdiff_t)strlen(words)), words);
    const char *const slash = strrchr(s->path, '/');
    s->name = slash != NULL ? slash + 1 : s->path;
    s->line = 1;
    if (text_file_read(s->path, "source", MOST_BYTES, &text, &size) != ASSAY_OK || text == NULL)
        return;
    function_of(args, words, function);
    int line = line_of(text, function, '(');
    if (line == 0)
        line = line_of(text, "ASSAY_VARIANT", '(');
    s->line = line > 0 ? line : 1;
    free(text);
}

/* A message that names a line of the source, as those of races and bad accesses do, stands there.
 */
static int named_line(const source *s, const char *reason) {
    const size_t length = strlen(s->name);
    for (const char *at = reason; (at = strstr(at, s->name)) != NULL; at += length)
        if (at[length] == ':' && isdigit((unsigned char)at[length + 1]))
            return atoi(at + length + 1);
    return s->line;
}

/* ---- what ---- */

static void put(FILE *to, const char *text, bool property) {
    for (; *text != '\0'; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c == '%' || c < 0x20 || (property && (c == ':' || c == ',')))
            fprintf(to, "%%%02X", c);
        else
            putc(c, to);
    }
}

/* GitHub knows files by their paths in the repository, which is checked out there. */
static void put_path(FILE *to, const char *path) {
    const char *const workspace = getenv("GITHUB_WORKSPACE");
    char *const root = workspace != NULL ? realpath(workspace, NULL) : NULL;
    char *const whole = realpath(path, NULL);
    const size_t length = root != NULL ? strlen(root) : 0;
    const bool inside =
        root != NULL && whole != NULL && strncmp(whole, root, length) == 0 && whole[length] == '/';
    put(to, inside ? whole + length + 1 : path, true);
    free(root);
    free(whole);
}

static void put_head(FILE *to, const source *s, const char *reason, const char *title) {
    fputs("::error file=", to);
    put_path(to, s->path);
    fprintf(to, ",line=%d,title=", named_line(s, reason));
    put(to, title, true);
    fputs("::", to);
}

static void put_part(FILE *to, const source *s, const assay_report *report, const cli_part *part) {
    char title[160];
    const char *const reason = part->worst->reason;
    snprintf(title, sizeof title, "%.60s/%.60s: %s", report->c.op->name, part->rows->variant,
             assay_verdict_name(part->verdict));
    put_head(to, s, reason, title);
    if (part->worst->tensor[0] != '\0') {
        put(to, part->worst->tensor, false);
        fputs(": ", to);
    }
    put(to, reason, false);
    fputs("%0A", to);
    put(to, part->worst->repro, false);
    putc('\n', to);
}

static bool is_wanted(const assay_cli_args *args) {
    const char *const github = getenv("GITHUB_ACTIONS");
    return github != NULL && strcmp(github, "true") == 0 && args->kernel != NULL;
}

void annotate_unjudged(const assay_cli_args *args) {
    char line[1024], title[160];
    source s;
    if (!is_wanted(args) || args->n_targets == 0)
        return;
    snprintf(line, sizeof line, "%s", assay_error());
    find_source(args, &s);
    snprintf(title, sizeof title, "%.60s/%.60s: not judged", args->target->op->name,
             args->target->variant != NULL ? args->target->variant : "");
    put_head(args->out.stream, &s, line, title);
    put(args->out.stream, line, false);
    putc('\n', args->out.stream);
}

void annotate(const assay_cli_args *args, const cli_results *results) {
    source s;
    int shown = 0;
    if (!is_wanted(args))
        return;
    find_source(args, &s);
    for (int64_t i = 0; i < results->count; ++i)
        for (cli_part part = {0}; shown < SHOWN && report_next_part(&results->report[i], &part);) {
            if (!part_failed(results, &part))
                continue;
            put_part(args->out.stream, &s, &results->report[i], &part);
            ++shown;
        }
}
