/*
 * Every call that may fail, failed in turn: the command says in one line what could not be done,
 * exits with 3 and leaves every file as it was, or whole. docs/robustness.md says what is run.
 */
#include "assay/status.h"
#include "tests/faults/command/commands.h"
#include "tests/shim/assay_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_line(const char *text) {
    return strncmp(text, "assay: ", 7) == 0 && strchr(text, '\n') == text + strlen(text) - 1;
}

#ifdef ASSAY_INSTRUMENTED /* where a process takes a tenth of a second */
enum { USUAL_STRIDE = 32 };
#else
enum { USUAL_STRIDE = 2 };
#endif

/* A case that could not be checked is a result, and the run goes on. */
static bool tells_of_error(const char *out) {
    return strstr(out, "\n  error ") != NULL && strstr(out, " 0 errors,") == NULL;
}

static bool is_verb(const stage *s, const char *verb) {
    const size_t length = strlen(verb);
    return strncmp(s->command->words, verb, length) == 0 && s->command->words[length] == ' ';
}

/* Trouble of this host's costs assay fuzz a case, which it says: one that cannot be judged is none,
 * and what a variant's process ended by is a finding, but one that was not met again. Or it costs a
 * finding its tensors. */
static bool lost_a_case(const outcome *o) {
    if (o->code == 0)
        return strstr(o->out, " case could not be made; ") != NULL;
    const bool once = strstr(o->out, " (did not fail again when run alone)\n") != NULL;
    const bool bare = strstr(o->out, ": without the variant's tensors: ") != NULL;
    return o->code == 1 && (once || bare) && strstr(o->out, "; 1 finding\n") != NULL;
}

/* A command that succeeds all the same must have done all that was asked of it. */
static const char *fault_of(const stage *s, char text[STAGE_FAULT]) {
    const outcome *o = &s->outcome;
    if (o->died != 0) {
        snprintf(text, STAGE_FAULT, "died of signal %d (%s)", o->died, strsignal(o->died));
        return text;
    }
    if ((o->code == 0 || o->code == 4) && o->err[0] == '\0' && strstr(o->out, "refused  ") != NULL)
        return NULL; /* a certificate that could not be read counts as none */
    if ((o->code == 4 || o->code == 77) && is_verb(s, "bench") && is_one_line(o->err))
        return NULL; /* what could not be proven, or started, is not timed */
    if (o->code == 1 && o->err[0] == '\0' && strstr(o->out, " 0 failed, 1 mistrusted") != NULL)
        return NULL; /* what cannot be held to our v1's result is not passed */
    if (is_verb(s, "fuzz") && o->err[0] == '\0' && lost_a_case(o))
        return NULL;
    if (o->code == s->command->code && o->err[0] == '\0')
        return stage_lack(s, text);
    if (o->code == 3 && (is_one_line(o->err) || (o->err[0] == '\0' && tells_of_error(o->out))))
        return NULL;
    snprintf(text, STAGE_FAULT, "exit %d, and on standard error: %.3500s", o->code, o->err);
    return text;
}

static void run_fault(stage *s, int64_t call) {
    char text[STAGE_FAULT];
    stage_run(s, INJECT_FAILURE, call, -1);
    const char *failed = s->outcome.failed;
    if (failed == NULL) /* a run that took another way ended before that call */
        return;
    if (s->outcome.code == 0 &&
        (strncmp(failed, "dl", 2) == 0 || (is_verb(s, "list") && strcmp(failed, "access") == 0)))
        return; /* a device that cannot be opened is one that is not there, and `list` says so; the
                 * GPU's driver looks for its files by access() */
    if (strncmp(failed, "cuda", 4) == 0 && s->outcome.code == 77 && is_one_line(s->outcome.err))
        return; /* a GPU that does not answer is none */
    const char *fault = fault_of(s, text);
    if (fault == NULL)
        fault = stage_fault(s, strcmp(failed, "unlink") == 0, text);
    CHECK_MSG(fault == NULL, "call %lld, %s, failed in: assay %s: %s", (long long)call, failed,
              s->command->words, fault);
}

/* ---- which calls ---- */

typedef struct noted {
    uint64_t path;
    int64_t call;
    const char *function;
} noted;

static int by_path(const void *a, const void *b) {
    const noted *x = a, *y = b;
    if (x->path != y->path)
        return x->path < y->path ? -1 : 1;
    return x->call < y->call ? -1 : x->call > y->call;
}

static int by_call(const void *a, const void *b) {
    const noted *x = a, *y = b;
    return x->call < y->call ? -1 : x->call > y->call;
}

/* ASSAY_FAULTS=all: every call. Otherwise the first call on each way through the program, which is
 * all ways but not all of their repetitions; ASSAY_FAULTS=N: of these each N-th; ASSAY_FAULTS=@N:
 * call N alone, as a failed test names it. */
static const char *wish(void) {
    const char *text = getenv("ASSAY_FAULTS");
    return text != NULL ? text : "";
}

static int64_t stride(void) {
    const int64_t each = strtoll(wish(), NULL, 10);
    return each > 0 ? each : USUAL_STRIDE;
}

typedef bool (*name_rule)(const char *function);

static bool is_any(const char *function) {
    (void)function;
    return true;
}

/* No way before it leads to the same function. */
static bool is_first(const noted *ways, int64_t i) {
    for (int64_t w = 0; w < i; ++w)
        if (strcmp(ways[w].function, ways[i].function) == 0)
            return false;
    return true;
}

/* Keeps one call of each way, in the order of calls. */
static int64_t keep_ways(noted *calls, int64_t count) {
    int64_t ways = 0;
    qsort(calls, (size_t)count, sizeof *calls, by_path);
    for (int64_t i = 0; i < count; ++i)
        if (i == 0 || calls[i].path != calls[ways - 1].path)
            calls[ways++] = calls[i];
    qsort(calls, (size_t)ways, sizeof *calls, by_call);
    return ways;
}

/* The calls of the last run that are to fail, of functions that `rule` is for. Returns how many. */
static int64_t choose_calls(const stage *s, name_rule rule, int64_t *chosen) {
    static noted calls[INJECT_NOTED];
    const int64_t made = s->outcome.calls < INJECT_NOTED ? s->outcome.calls : INJECT_NOTED;
    const int64_t each = s->command->each > 0 ? s->command->each : 1, step = stride();
    const bool all = strcmp(wish(), "all") == 0;
    int64_t count = 0, kept = 0;
    if (wish()[0] == '@') {
        chosen[0] = strtoll(wish() + 1, NULL, 10);
        return 1;
    }
    for (int64_t i = 0; i < made; ++i) {
        const char *function = s->box.record->call[i].name;
        if (rule(function))
            calls[count++] = (noted){s->box.record->call[i].path, i + 1, function};
    }
    if (!all)
        count = keep_ways(calls, count);
    for (int64_t i = 0; i < count; i += all ? 1 : step)
        if (all || i % each == 0 || is_first(calls, i))
            chosen[kept++] = calls[i].call;
    return kept;
}

static void fail_calls(const command *c, name_rule rule) {
    static int64_t calls[INJECT_NOTED];
    static stage s;
    stage_init(&s, c);
    const int64_t count = choose_calls(&s, rule, calls);
    CHECK(count > 0);
    for (int64_t i = 0; i < count; ++i)
        run_fault(&s, calls[i]);
    stage_clear(&s);
}

static void fail_every_call(void *context) {
    hide_gpu();
    fail_calls(context, is_any);
}

__attribute__((constructor)) static void register_commands(void) {
    const command *c;
    for (int i = 0; (c = command_that_writes(i)) != NULL; ++i)
        assay_test_register("faults", c->name, "faults", fail_every_call, (void *)c);
    for (int i = 0; (c = command_that_reads(i)) != NULL; ++i)
        assay_test_register("faults", c->name, "faults", fail_every_call, (void *)c);
}

#ifdef ASSAY_CUDA_FAULTS

/* The calls of the GPU's module: those on the host are the same for every device. */
static bool is_cuda(const char *function) {
    return strncmp(function, "cu", 2) == 0 || strncmp(function, "__cuda", 6) == 0;
}

static void fail_every_cuda_call(void *context) {
    fail_calls(context, is_cuda);
}

__attribute__((constructor)) static void register_gpu_commands(void) {
    const command *c;
    for (int i = 0; (c = command_on_gpu(i)) != NULL; ++i)
        assay_test_register("faults_cuda", c->name, "faults gpu", fail_every_cuda_call, (void *)c);
}

#endif
