#include "cli/project.h"
#include "cli/join.h"
#include "cli/text_file.h"
#include "cli/toml.h"
#include "cli/verbs.h"
#include "engine/process/process.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char project_file[] = "assay.toml";

enum { MOST_BYTES = 1 << 20, NAME = 128 };

/* Keys of a kernel that are no flags of check. */
static const char *const own_keys[] = {"op", "file", "name", "cases"};
enum { OWN_KEYS = sizeof own_keys / sizeof *own_keys };

typedef struct project {
    const assay_cli_args *args;
    toml file;
    int32_t n_kernels;
    joined_run *run;                         /* of each kernel */
    char (*name)[NAME], (*folder)[PATH_MAX]; /* what runs point to */
    char temporary[PATH_MAX];
} project;

bool project_applies(const assay_cli_args *args) {
    const bool named = args->n_targets > 0 || args->n_words > 0 || args->kernel != NULL ||
                       args->operator_file != NULL || args->case_file != NULL || args->random > 0 ||
                       args->last_failed;
    return !named && access(project_file, F_OK) == 0;
}

/* ---- the file ---- */

static const toml_table *kernel_at(const project *p, int32_t i) {
    return &p->file.table[1 + i];
}

static bool is_own(const char *key) {
    for (int i = 0; i < OWN_KEYS; ++i)
        if (strcmp(own_keys[i], key) == 0)
            return true;
    return false;
}

/* NULL: none of check's, or one that only the command line can give. */
static const cli_flag_entry *flag_of(const char *key) {
    static const char *const others[] = {"json", "csv",     "junit",       "markdown", "kernel",
                                         "help", "version", "last-failed", "case-file"};
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strcmp(others[i], key) == 0)
            return NULL;
    for (int i = 0; cli_flags[i].name != NULL; ++i)
        if ((cli_flags[i].verbs & CLI_CHECK) != 0 && strcmp(cli_flags[i].name + 2, key) == 0)
            return &cli_flags[i];
    return NULL;
}

static assay_status refuse(int line, const char *what, const char *word) {
    return assay_fail(ASSAY_ERR_USAGE, "%s, line %d: %s%.80s; see docs/ci.md", project_file, line,
                      what, word);
}

static assay_status check_entry(const toml_entry *e, bool of_kernel) {
    if (of_kernel && is_own(e->key))
        return e->kind == TOML_STRING ? ASSAY_OK
                                      : refuse(e->line, "a string is wanted for ", e->key);
    const cli_flag_entry *flag = flag_of(e->key);
    if (flag == NULL)
        return refuse(e->line, "there is no such key: ", e->key);
    return (flag->value == NULL) == (e->kind == TOML_BOOLEAN)
               ? ASSAY_OK
               : refuse(e->line,
                        flag->value == NULL ? "true or false is wanted for "
                                            : "a string or a number is wanted for ",
                        e->key);
}

static assay_status check_table(const toml_table *table) {
    const bool of_kernel = table->name[0] != '\0';
    assay_status status = ASSAY_OK;
    if (of_kernel && strcmp(table->name, "kernel") != 0)
        return refuse(table->line, "tables are called [[kernel]], not ", table->name);
    for (int32_t i = 0; status == ASSAY_OK && i < table->n_entries; ++i)
        status = check_entry(&table->entry[i], of_kernel);
    for (int i = 0; of_kernel && status == ASSAY_OK && i < 2; ++i)
        if (toml_find(table, own_keys[i]) == NULL)
            status = refuse(table->line, "this kernel has no ", own_keys[i]);
    return status;
}

static assay_status read_file(project *p) {
    char *text = NULL;
    size_t size;
    assay_status status = text_file_read(project_file, "list of kernels", MOST_BYTES, &text, &size);
    if (status == ASSAY_OK && text == NULL)
        status = assay_fail(ASSAY_ERR_FILE, "%s: no such file", project_file);
    if (status != ASSAY_OK)
        return status;
    status = toml_parse(project_file, text, &p->file);
    for (int32_t i = 0; status == ASSAY_OK && i < p->file.n_tables; ++i)
        status = check_table(&p->file.table[i]);
    p->n_kernels = status == ASSAY_OK ? p->file.n_tables - 1 : 0;
    if (status == ASSAY_OK && p->n_kernels == 0)
        status = assay_fail(ASSAY_ERR_USAGE,
                            "%s lists no kernel: add a [[kernel]] with op and file", project_file);
    return status;
}

/* "kernels/rms_norm.cu" and "norms.py:rms" without a name are rms_norm and rms. */
static void name_variant(const toml_table *kernel, char name[NAME]) {
    const toml_entry *const given = toml_find(kernel, "name");
    const char *const op = toml_find(kernel, "op")->value;
    const char *const file = toml_find(kernel, "file")->value;
    const char *const function = strrchr(file, ':'), *const slash = strrchr(file, '/');
    const char *from = function != NULL ? function + 1 : slash != NULL ? slash + 1 : file;
    size_t length = strcspn(from, function != NULL ? "," : ".");
    if (given != NULL) {
        from = given->value;
        length = strlen(from);
    }
    snprintf(name, NAME, "%.60s/%.*s", op, (int)(length < 60 ? length : 60), from);
}

/* ---- places for reports ---- */

static assay_status make_places(project *p) {
    const char *parent = getenv("TMPDIR");
    const size_t n = (size_t)p->n_kernels;
    p->run = calloc(n, sizeof *p->run);
    p->name = calloc(n, sizeof *p->name);
    p->folder = calloc(n, sizeof *p->folder);
    if (p->run == NULL || p->name == NULL || p->folder == NULL)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %zu kernels", n);
    snprintf(p->temporary, sizeof p->temporary, "%.3000s/assay-check-XXXXXX",
             parent != NULL && *parent != '\0' ? parent : "/tmp");
    if (mkdtemp(p->temporary) == NULL) {
        const int error = errno;
        const assay_status status =
            assay_fail(ASSAY_ERR_FILE, "%.300s: %s; set $TMPDIR", p->temporary, strerror(error));
        p->temporary[0] = '\0';
        return status;
    }
    for (int32_t i = 0; i < p->n_kernels; ++i) {
        snprintf(p->folder[i], sizeof p->folder[i], "%.3000s/%" PRId32, p->temporary, i);
        if (mkdir(p->folder[i], 0700) != 0)
            return assay_fail(ASSAY_ERR_FILE, "%.300s: %s", p->folder[i], strerror(errno));
        name_variant(kernel_at(p, i), p->name[i]);
        p->run[i] = (joined_run){.kernel = p->name[i],
                                 .file = toml_find(kernel_at(p, i), "file")->value,
                                 .folder = p->folder[i],
                                 .code = ASSAY_EXIT_NOTHING};
    }
    return ASSAY_OK;
}

static void clear(project *p) {
    char path[2 * PATH_MAX];
    for (int32_t i = 0; p->temporary[0] != '\0' && i < p->n_kernels; ++i) {
        for (int f = 0; f < REPORT_FORMATS; ++f) {
            snprintf(path, sizeof path, "%s/%s", p->folder[i], report_formats[f].name);
            (void)unlink(path);
        }
        (void)rmdir(p->folder[i]);
    }
    if (p->temporary[0] != '\0')
        (void)rmdir(p->temporary);
    free(p->run);
    free(p->name);
    free(p->folder);
    toml_clear(&p->file);
}

/* ---- one kernel's command ---- */

typedef struct words {
    char **word;
    int n, room;
    bool failed;
} words;

static void push(words *w, const char *format, ...) ASSAY_PRINTF(2, 3);
static void push(words *w, const char *format, ...) {
    va_list args;
    if (w->n + 1 >= w->room) {
        const int room = 2 * w->room + 16;
        char **grown = realloc(w->word, (size_t)room * sizeof *grown);
        w->failed = w->failed || grown == NULL;
        if (grown == NULL)
            return;
        w->word = grown;
        w->room = room;
    }
    va_start(args, format);
    w->failed = vasprintf(&w->word[w->n], format, args) < 0 || w->failed;
    va_end(args);
    w->n += !w->failed;
    w->word[w->n] = NULL;
}

static bool is_flag(const char *word, const char *name) {
    const size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

static bool was_given(const assay_cli_args *args, const char *key) {
    for (int i = 1; i < args->argc; ++i)
        if (strncmp(args->argv[i], "--", 2) == 0 && is_flag(args->argv[i] + 2, key))
            return true;
    return false;
}

/* The command's own, but for its reports, which are joined. */
static void push_given(words *w, const assay_cli_args *args) {
    for (int i = 1; i < args->argc; ++i) {
        const char *const word = args->argv[i];
        bool report = false;
        for (int f = 0; f < REPORT_FORMATS; ++f)
            report = report || is_flag(word, report_formats[f].flag);
        if (report)
            i += strchr(word, '=') == NULL;
        else if (strcmp(word, args->verb) != 0)
            push(w, "%s", word);
    }
}

static void push_entries(words *w, const project *p, const toml_table *table,
                         const toml_table *before) {
    const bool cases = before != NULL && toml_find(before, "cases") != NULL;
    for (int32_t i = 0; i < table->n_entries; ++i) {
        const toml_entry *const e = &table->entry[i];
        const bool hidden = was_given(p->args, e->key) ||
                            (before != NULL && toml_find(before, e->key) != NULL) ||
                            (cases && strcmp(e->key, "set") == 0);
        if (is_own(e->key) || hidden || strcmp(e->value, "false") == 0)
            continue;
        push(w, "--%s", e->key);
        if (e->kind != TOML_BOOLEAN)
            push(w, "%s", e->value);
    }
}

static void push_cases(words *w, const char *text) {
    while (*(text += strspn(text, " \t\n")) != '\0') {
        const size_t length = strcspn(text, " \t\n");
        push(w, "%.*s", (int)length, text);
        text += length;
    }
}

static words command_of(const project *p, int32_t i) {
    const toml_table *const kernel = kernel_at(p, i);
    const toml_entry *const cases = toml_find(kernel, "cases");
    words w = {0};
    push(&w, "assay");
    push(&w, "check");
    push(&w, "%s", p->run[i].kernel);
    push(&w, "--kernel");
    push(&w, "%s", p->run[i].file);
    if (cases != NULL && !was_given(p->args, "set"))
        push_cases(&w, cases->value);
    push_entries(&w, p, kernel, NULL);
    push_entries(&w, p, &p->file.table[0], kernel);
    push_given(&w, p->args);
    for (int f = 0; f < REPORT_FORMATS; ++f) {
        if (report_path(p->args, &report_formats[f]) == NULL)
            continue;
        push(&w, "%s", report_formats[f].flag);
        push(&w, "%s/%s", p->folder[i], report_formats[f].name);
    }
    return w;
}

static void clear_words(words *w) {
    for (int i = 0; i < w->n; ++i)
        free(w->word[i]);
    free(w->word);
}

/* ---- running it ---- */

typedef struct job {
    const words *w;
    FILE *text; /* where text for people goes */
} job;

static void work(int channel, void *context) {
    const job *j = context;
    if (j->text != stdout)
        (void)dup2(fileno(j->text), STDOUT_FILENO);
    const assay_exit code = assay_cli_main(j->w->n, j->w->word);
    fflush(NULL);
    (void)channel_send(channel, &code, sizeof code, -1);
}

static assay_status run_kernel(project *p, int32_t i) {
    static const process_limits none = {.seconds = INFINITY, .bytes = INFINITY};
    FILE *const to = p->args->out.stream;
    process child;
    char how[PROCESS_LINE];
    words w = command_of(p, i);
    if (w.failed) {
        clear_words(&w);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for a command");
    }
    if (!p->args->quiet)
        fprintf(to, "%s%s: %s\n", i > 0 ? "\n" : "", p->run[i].kernel, p->run[i].file);
    const int error = process_fork(&child, work, &(job){&w, to});
    clear_words(&w);
    if (error != 0)
        return assay_fail(ASSAY_ERR_DEVICE, "%s: no process: %s", p->run[i].kernel,
                          strerror(error));
    if (process_read(&child, &none, &p->run[i].code, sizeof p->run[i].code) == 0) {
        fprintf(to, "%s: its process %s\n", p->run[i].kernel, process_how(&child, how));
        p->run[i].code = ASSAY_EXIT_ERROR;
    }
    process_finish(&child, &none);
    return ASSAY_OK;
}

/* ---- all of them ---- */

/* Not judged is not passed. */
static assay_exit worse(assay_exit a, assay_exit b) {
    static const assay_exit order[] = {ASSAY_EXIT_INTERRUPTED, ASSAY_EXIT_ERROR,
                                       ASSAY_EXIT_USAGE,       ASSAY_EXIT_FAILED,
                                       ASSAY_EXIT_REFUSED,     ASSAY_EXIT_NOTHING};
    for (size_t i = 0; i < sizeof order / sizeof *order; ++i)
        if (a == order[i] || b == order[i])
            return order[i];
    return ASSAY_EXIT_PASSED;
}

static const char *outcome(assay_exit code) {
    switch (code) {
    case ASSAY_EXIT_PASSED:
        return "pass";
    case ASSAY_EXIT_FAILED:
        return "fail";
    case ASSAY_EXIT_NOTHING:
        return "not judged: nothing could run here";
    case ASSAY_EXIT_INTERRUPTED:
        return "not judged: interrupted";
    case ASSAY_EXIT_USAGE:
    case ASSAY_EXIT_ERROR:
    case ASSAY_EXIT_REFUSED:
        break;
    }
    return "error";
}

static void summarise(const project *p) {
    FILE *const to = p->args->out.stream;
    fprintf(to, "%s%s, %" PRId32 " kernel%s:\n", p->args->quiet ? "" : "\n", project_file,
            p->n_kernels, p->n_kernels == 1 ? "" : "s");
    for (int32_t i = 0; i < p->n_kernels; ++i)
        fprintf(to, "  %s (%s): %s\n", p->run[i].kernel, p->run[i].file, outcome(p->run[i].code));
}

static assay_status judge_all(project *p) {
    assay_status status = ASSAY_OK;
    for (int32_t i = 0; status == ASSAY_OK && i < p->n_kernels; ++i) {
        if (assay_cli_interrupted())
            p->run[i].code = ASSAY_EXIT_INTERRUPTED;
        else
            status = run_kernel(p, i);
    }
    return status;
}

static assay_status write_reports(const project *p) {
    assay_status status = ASSAY_OK;
    for (int f = 0; status == ASSAY_OK && f < REPORT_FORMATS; ++f) {
        const char *const path = report_path(p->args, &report_formats[f]);
        if (path != NULL)
            status = join_reports(&report_formats[f], path, p->run, p->n_kernels);
    }
    return status;
}

assay_exit project_check(const assay_cli_args *args) {
    project p = {.args = args};
    assay_exit code = ASSAY_EXIT_PASSED;
    assay_status status = read_file(&p);
    if (status == ASSAY_OK)
        status = make_places(&p);
    if (status == ASSAY_OK)
        status = judge_all(&p);
    if (status == ASSAY_OK) {
        summarise(&p);
        status = write_reports(&p);
    }
    for (int32_t i = 0; status == ASSAY_OK && i < p.n_kernels; ++i)
        code = worse(code, p.run[i].code);
    clear(&p);
    return status == ASSAY_OK ? code : assay_cli_complain(status);
}
