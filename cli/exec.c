/* assay exec */
#include "cli/exec.h"
#include "core/sink.h"
#include "sim/exec/launch.h"
#include "sim/exec/limit.h"
#include "sim/exec/race.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int trouble(void) {
    fprintf(stderr, "assay exec: %s\n", assay_error());
    return EXEC_EXIT_TROUBLE;
}

/* ---- what the program is given ---- */

/* A program's own RPATH, where it has one, comes before LD_LIBRARY_PATH; preloaded libraries
 * come before both. */
static bool preload(const char *folder, const char *program) {
    static const char *const libraries[] = {
        "libcudart.so.11.0", "libcudart.so.12",   "libcudart.so.13", "libcuda.so.1",
        "libcublas.so.11",   "libcublas.so.12",   "libcublas.so.13", "libcublasLt.so.11",
        "libcublasLt.so.12", "libcublasLt.so.13",
    };
    char path[PATH_MAX + 32];
    bool done = true;
    for (size_t i = 0; done && i < sizeof libraries / sizeof libraries[0]; ++i) {
        snprintf(path, sizeof path, "%s/%s", folder, libraries[i]);
        if (exec_program_needs(program, libraries[i]))
            done = exec_prepend("LD_PRELOAD", path);
    }
    snprintf(path, sizeof path, "%s/libassay_exec.so", folder);
    return done && exec_prepend("LD_PRELOAD", path);
}

static bool give_schedule(const assay_cli_args *args) {
    char text[64];
    if (args->sched == NULL && !args->seed_given)
        return true;
    snprintf(text, sizeof text, "%s:%" PRIu64, args->sched != NULL ? args->sched : "inorder",
             args->seed);
    return setenv(EXEC_SCHEDULE_VARIABLE, text, 1) == 0;
}

static bool give_jobs(const assay_cli_args *args) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, (int64_t)args->jobs);
    return args->jobs == 0 || setenv(EXEC_JOBS_VARIABLE, text, 1) == 0;
}

static assay_status prepare(const assay_cli_args *args, const char *path, const char *report) {
    char folder[PATH_MAX];
    const assay_status status = exec_stand_ins(folder);
    if (status != ASSAY_OK)
        return status;
    const bool done =
        exec_prepend("LD_LIBRARY_PATH", folder) && preload(folder, path) &&
        setenv(EXEC_REPORT_VARIABLE, report, 1) == 0 && give_schedule(args) && give_jobs(args) &&
        (args->launches == NULL || setenv(EXEC_LIMIT_VARIABLE, args->launches, 1) == 0) &&
        setenv(EXEC_RACE_VARIABLE, args->no_race ? "off" : "on", 1) == 0 &&
        (args->streams == NULL || setenv(EXEC_ORDER_VARIABLE, args->streams, 1) == 0);
    return done ? ASSAY_OK : assay_fail(ASSAY_ERR_MEMORY, "no memory for the environment");
}

/* ---- running it ---- */

static void become(const char *path, char *const *argv) {
    signal(SIGPIPE, SIG_DFL);         /* what assay has set for itself */
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* it does not outlive assay */
    execv(path, argv);
    fprintf(stderr, "assay exec: %s: %s\n", path, strerror(errno));
    _exit(EXEC_EXIT_CANNOT);
}

static int run(const assay_cli_args *args, const char *path, exec_report *report, exec_end *end) {
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0) {
        (void)assay_fail(ASSAY_ERR_FILE, "fork: %s", strerror(errno));
        return trouble();
    }
    if (child == 0)
        become(path, args->program);
    const int status = exec_wait(args, child, report);
    *end =
        WIFSIGNALED(status) ? (exec_end){0, WTERMSIG(status)} : (exec_end){WEXITSTATUS(status), 0};
    return end->signal > 0 ? EXEC_EXIT_SIGNAL + end->signal : end->code;
}

/* An error that was the last thing the program heard, before it said that all went well. */
static void count_unseen(const exec_report *r, exec_end end) {
    if (r->unseen != 0 && end.code == 0 && end.signal == 0)
        exec_report_add((exec_report *)(uintptr_t)r, EXEC_PROBLEM_IGNORED,
                        "%s returned error %d at the end, and the program returned 0 all the same",
                        r->unseen_call, r->unseen);
}

/* ---- what it leaves ---- */

typedef struct output {
    const char *path;
    exec_writer *write;
    cli_sink sink;
} output;

enum { OUTPUTS = 3 };

static assay_status open_outputs(output outputs[OUTPUTS]) {
    assay_status status = ASSAY_OK;
    for (int i = 0; status == ASSAY_OK && i < OUTPUTS; ++i)
        if (outputs[i].path != NULL)
            status = sink_open(&outputs[i].sink, outputs[i].path);
    return status;
}

static assay_status write_outputs(const assay_cli_args *args, output outputs[OUTPUTS],
                                  const exec_report *r, exec_end end) {
    assay_status status = ASSAY_OK;
    for (int i = 0; status == ASSAY_OK && i < OUTPUTS; ++i)
        if (outputs[i].path != NULL) {
            outputs[i].write(r, args, end, outputs[i].sink.stream);
            status = sink_commit(&outputs[i].sink);
        }
    return status;
}

static int finish(const assay_cli_args *args, const char *rules, output outputs[OUTPUTS],
                  const exec_report *r, exec_end end, int code) {
    count_unseen(r, end);
    if (!args->quiet || exec_count(r, true) > 0)
        exec_summary(r, stderr);
    if (rules != NULL)
        exec_rules_unused(r, args->suppress, rules);
    if (end.signal > 0)
        fprintf(stderr, "assay exec: the program ended by signal %d (%s)\n", end.signal,
                strsignal(end.signal));
    if (write_outputs(args, outputs, r, end) != ASSAY_OK)
        return trouble();
    return code == 0 && exec_count_errors(r) > 0 ? (int)args->error_exitcode : code;
}

/* The program is there. */
static int supervise(const assay_cli_args *args, const char *path, const char *rules) {
    char variable[64];
    exec_report *report = NULL;
    output outputs[OUTPUTS] = {{args->json, exec_json, {0}},
                               {args->junit, exec_junit, {0}},
                               {args->sarif, exec_sarif, {0}}};
    exec_end end = {0, 0};
    int code = EXEC_EXIT_TROUBLE;
    assay_status status = open_outputs(outputs);
    if (status == ASSAY_OK)
        status = exec_report_create(variable, &report);
    if (status == ASSAY_OK)
        status = prepare(args, path, variable);
    if (status != ASSAY_OK) {
        code = trouble();
        goto done;
    }
    code = run(args, path, report, &end);
    code = finish(args, rules, outputs, report, end, code);
done:
    exec_report_unmap(report);
    for (int i = 0; i < OUTPUTS; ++i)
        sink_discard(&outputs[i].sink);
    return code;
}

assay_exit assay_cli_exec(const assay_cli_args *args) {
    char path[PATH_MAX];
    if (args->program == NULL)
        return assay_cli_complain(assay_fail(
            ASSAY_ERR_USAGE, "exec: name a program: assay exec [--flags] -- ./program words"));
    if (args->launches != NULL && exec_limit_check(args->launches) != ASSAY_OK)
        return assay_cli_complain(ASSAY_ERR_USAGE);
    char *rules = NULL;
    assay_status status =
        args->suppress != NULL ? exec_rules_read(args->suppress, &rules) : ASSAY_OK;
    int code = status == ASSAY_OK ? exec_program_check(args->program[0], path) : 0;
    if (status != ASSAY_OK)
        code = status == ASSAY_ERR_USAGE ? (int)assay_cli_complain(status) : trouble();
    else if (code != 0)
        fprintf(stderr, "assay exec: %s\n", assay_error());
    else
        code = supervise(args, path, rules);
    free(rules);
    return (assay_exit)code;
}
