#include "bench/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *op_of(const bench_arm *what, const char *op) {
    return bench_arm_is_ours(what) ? op : "";
}

bench_process *bench_processes_find(const bench_session *s, const char *op, const bench_arm *what) {
    for (int32_t i = 0; i < s->n_processes; ++i)
        if (s->process[i].what.program == what->program &&
            strcmp(s->process[i].what.name, what->name) == 0 &&
            strcmp(s->process[i].op, op_of(what, op)) == 0)
            return &s->process[i];
    return NULL;
}

static void drop(bench_session *s, int32_t i) {
    arm_process_end(&s->process[i].process);
    s->process[i] = s->process[--s->n_processes];
}

static void keep_line(bench_process *p, assay_status status) {
    p->status = status;
    if (status != ASSAY_OK)
        snprintf(p->line, sizeof p->line, "%s", assay_error());
}

static bool is_wanted(void *context) {
    bench_session *s = context;
    return s->progress(s->progress_context, "");
}

/* Frameworks take long to load: all of them say hello at once. */
static void start(bench_session *s, bench_process *p, const char *op) {
    char *argv[BENCH_ARGV];
    assay_status status = bench_arm_command(&p->what, op, argv);
    if (status == ASSAY_OK)
        status = arm_process_start(&p->process, argv, s->memory.file);
    p->process.go_on = is_wanted;
    p->process.context = s;
    if (status == ASSAY_OK)
        status = arm_process_send(&p->process, "hello %s", s->device->name);
    keep_line(p, status);
}

static void await_hello(bench_process *p) {
    const assay_status status = arm_process_receive(&p->process, PROCESS_START);
    if (status == ASSAY_OK)
        snprintf(p->versions, sizeof p->versions, "%s", p->process.answer);
    keep_line(p, status);
}

assay_status bench_processes_need(bench_session *s, const char *op, const bench_arms *arms) {
    for (int32_t i = s->n_processes - 1; i >= 0; --i)
        if (s->process[i].op[0] != '\0' && strcmp(s->process[i].op, op) != 0)
            drop(s, i);
    const size_t most = (size_t)s->n_processes + (size_t)arms->count;
    bench_process *more = realloc(s->process, (most + 1) * sizeof *more);
    if (!more)
        return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %zu arms", most);
    s->process = more;
    for (int32_t a = 0; a < arms->count; ++a) {
        const bench_arm *what = &arms->arm[a];
        bench_process *p = bench_processes_find(s, op, what);
        if (p && p->status == ASSAY_OK &&
            !arm_process_runs(&p->process)) { /* it broke in an earlier case */
            drop(s, (int32_t)(p - s->process));
            p = NULL;
        }
        if (p)
            continue;
        p = &s->process[s->n_processes++];
        *p = (bench_process){.what = *what};
        snprintf(p->op, sizeof p->op, "%s", op_of(what, op));
        start(s, p, op);
    }
    for (int32_t i = 0; i < s->n_processes; ++i) {
        bench_process *p = &s->process[i];
        if (!p->started && p->status == ASSAY_OK)
            await_hello(p);
        p->started = true;
    }
    return ASSAY_OK;
}

void bench_processes_end(bench_session *s) {
    for (int32_t i = 0; i < s->n_processes; ++i)
        arm_process_end(&s->process[i].process);
    free(s->process);
    s->process = NULL;
    s->n_processes = 0;
}
