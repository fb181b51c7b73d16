#include "sim/exec/report.h"

#include "sim/exec/suppress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char *const names[EXEC_PROBLEM_KINDS][2] = {
    [EXEC_PROBLEM_KERNEL] = {"kernel", "kernel failure"},
    [EXEC_PROBLEM_RACE] = {"race", "race"},
    [EXEC_PROBLEM_STREAMS] = {"stream-race", "stream race"},
    [EXEC_PROBLEM_EQUAL] = {"equal-writes", "equal-value race"},
    [EXEC_PROBLEM_GUESS] = {"checked-read", "checked read"},
    [EXEC_PROBLEM_UNINITIALISED] = {"uninitialised", "uninitialised read"},
    [EXEC_PROBLEM_COPY] = {"copy", "wrong transfer"},
    [EXEC_PROBLEM_FREE] = {"free", "wrong release"},
    [EXEC_PROBLEM_MISUSE] = {"misuse", "wrong call"},
    [EXEC_PROBLEM_IGNORED] = {"ignored-error", "ignored error"},
    [EXEC_PROBLEM_LEAK] = {"leak", "leak"},
    [EXEC_PROBLEM_NOT_SIMULATED] = {"not-simulated", "missing function"},
    [EXEC_PROBLEM_OPCODE] = {"opcode", "unknown instruction"},
    [EXEC_PROBLEM_NO_PTX] = {"no-ptx", "unusable image"},
};

const char *exec_problem_name(exec_problem_kind kind) {
    return names[kind][0];
}

const char *exec_problem_noun(exec_problem_kind kind) {
    return names[kind][1];
}

bool exec_problem_is_note(exec_problem_kind kind) {
    return kind == EXEC_PROBLEM_EQUAL || kind == EXEC_PROBLEM_GUESS;
}

static exec_report *map(int file) {
    const int flags = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *at = mmap(NULL, sizeof(exec_report), PROT_READ | PROT_WRITE, flags, file, 0);
    return at != MAP_FAILED ? at : NULL;
}

static void prepare(exec_report *r) {
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&r->lock, &shared);
    pthread_mutexattr_destroy(&shared);
    r->magic = EXEC_REPORT_MAGIC;
}

assay_status exec_report_create(char variable[64], exec_report **report) {
    *report = NULL;
    const int file = memfd_create("assay-exec", MFD_CLOEXEC);
    if (file >= 0 && ftruncate(file, sizeof(exec_report)) == 0)
        *report = map(file);
    if (*report == NULL) {
        const int why = errno;
        if (file >= 0)
            close(file);
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for the program's report: %s",
                          strerror(why));
    }
    prepare(*report);
    /* The file has no name but this; it is open until this process ends. */
    snprintf(variable, 64, "/proc/%ld/fd/%d", (long)getpid(), file);
    return ASSAY_OK;
}

void exec_report_unmap(exec_report *report) {
    if (report != NULL)
        munmap(report, sizeof *report);
}

static exec_report *of_parent(void) {
    const char *path = getenv(EXEC_REPORT_VARIABLE);
    const int file = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return NULL;
    const bool whole = lseek(file, 0, SEEK_END) == (off_t)sizeof(exec_report);
    exec_report *r = whole ? map(file) : NULL;
    close(file);
    if (r == NULL || r->magic == EXEC_REPORT_MAGIC)
        return r;
    munmap(r, sizeof *r);
    return NULL;
}

const char *exec_image_name(const char *otherwise) {
    const char *name = getenv(EXEC_NAME_VARIABLE);
    return name != NULL ? name : otherwise;
}

exec_report *exec_report_get(void) {
    static exec_report *report;
    if (report != NULL)
        return report;
    report = of_parent();
    if (report == NULL) {
        report = map(-1);
        if (report == NULL)
            abort(); /* not even some pages */
        prepare(report);
    }
    return report;
}

/* The other side may have died with it. */
static void lock(exec_report *r) {
    if (pthread_mutex_lock(&r->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&r->lock);
}

/* The first like it, or a new one; NULL: there is no room. */
static report_problem *row_like(exec_report *r, const report_problem *like) {
    for (uint32_t i = 0; i < r->n_problems; ++i)
        if (r->problem[i].kind == like->kind && r->problem[i].key == like->key &&
            (like->key != 0 || strcmp(r->problem[i].text, like->text) == 0))
            return &r->problem[i];
    if (r->n_problems == REPORT_PROBLEMS) {
        ++r->lost;
        return NULL;
    }
    report_problem *p = &r->problem[r->n_problems++];
    *p = *like;
    return p;
}

/* Whether it is new, and to be told. */
static bool note(exec_report *r, report_problem *like) {
    const char *rules = getenv(EXEC_SUPPRESS_VARIABLE);
    like->rule = rules != NULL ? exec_suppress_find(rules, like) : 0;
    report_problem *p = row_like(r, like);
    return p != NULL && ++p->times == 1 && p->rule == 0;
}

static void wipe(exec_report *r) {
    if (r->now.shown)
        fputs("\r\033[K", stderr);
    r->now.shown = false;
}

static void add(exec_report *r, const char *kernel, const char *file, exec_problem_kind kind,
                uint64_t key, const char *format, va_list args) {
    report_problem p = {.kind = kind, .key = key};
    snprintf(p.kernel, sizeof p.kernel, "%s", kernel);
    snprintf(p.file, sizeof p.file, "%s", file);
    vsnprintf(p.text, sizeof p.text, format, args);
    lock(r);
    if (note(r, &p)) {
        wipe(r);
        fprintf(stderr, "assay exec: %s\n", p.text);
    }
    pthread_mutex_unlock(&r->lock);
}

void exec_report_add(exec_report *r, exec_problem_kind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(r, "", "", kind, 0, format, args);
    va_end(args);
}

void exec_problem(exec_problem_kind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(exec_report_get(), "", "", kind, 0, format, args);
    va_end(args);
}

void exec_problem_in(const char *kernel, const char *file, exec_problem_kind kind,
                     const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(exec_report_get(), kernel, file, kind, 0, format, args);
    va_end(args);
}

void exec_problem_keyed(const char *kernel, const char *file, exec_problem_kind kind, uint64_t key,
                        const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(exec_report_get(), kernel, file, kind, key, format, args);
    va_end(args);
}

bool exec_problem_place(const report_problem *p, char file[REPORT_LINE], int32_t *line) {
    const char *colon = p->text, *end;
    while ((colon = strchr(colon, ':')) != NULL) {
        ++colon;
        end = colon + strspn(colon, "0123456789");
        if (end > colon && *end == ':' && memchr(p->text, ' ', (size_t)(colon - p->text)) == NULL) {
            if (p->file[0] != '\0')
                snprintf(file, REPORT_LINE, "%s", p->file);
            else
                snprintf(file, REPORT_LINE, "%.*s", (int)(colon - 1 - p->text), p->text);
            *line = (int32_t)strtol(colon, NULL, 10);
            return colon - 1 > p->text;
        }
    }
    return false;
}

/* ---- what runs now ---- */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void exec_report_begin(const char *kernel, uint64_t blocks) {
    exec_report *r = exec_report_get();
    lock(r);
    snprintf(r->now.kernel, sizeof r->now.kernel, "%s", kernel);
    r->now.blocks = blocks;
    r->now.begun = 0;
    r->now.since = seconds_now();
    ++r->now.launch;
    pthread_mutex_unlock(&r->lock);
}

void exec_report_end(void) {
    exec_report *r = exec_report_get();
    lock(r);
    r->now.kernel[0] = '\0';
    wipe(r);
    pthread_mutex_unlock(&r->lock);
}

void exec_report_show(exec_report *r, void (*show)(const report_now *now)) {
    lock(r);
    if (r->now.kernel[0] != '\0') {
        show(&r->now);
        r->now.shown = true;
    }
    pthread_mutex_unlock(&r->lock);
}

void exec_remark(const char *format, ...) {
    static char last[REPORT_LINE];
    char text[REPORT_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (strcmp(text, last) != 0)
        fprintf(stderr, "assay exec: %s\n", text);
    memcpy(last, text, sizeof last);
}

static report_kernel *row_of(exec_report *r, const char *name) {
    for (uint32_t i = 0; i < r->n_kernels; ++i)
        if (strncmp(r->kernel[i].name, name, REPORT_NAME - 1) == 0)
            return &r->kernel[i];
    if (r->n_kernels == REPORT_KERNELS) {
        ++r->lost;
        return NULL;
    }
    report_kernel *k = &r->kernel[r->n_kernels++];
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

report_kernel *exec_report_kernel(const char *name) {
    exec_report *r = exec_report_get();
    lock(r);
    report_kernel *k = row_of(r, name);
    pthread_mutex_unlock(&r->lock);
    return k;
}
