#include "tests/evidence/workers.h"
#include "core/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_JOBS = 256 };

/* Every jobs-th case of one mode, until `deadline`. */
static assay_status examine_mode(const work *w, const assay_device *device, const mode *m,
                                 int32_t job, double deadline, histogram *page) {
    for (int64_t i = job; i < w->cases && now() < deadline; i += w->jobs) {
        assay_case c;
        assay_status status = source_case(&w->from, m, w->fills, w->first + i, &c);
        if (status == ASSAY_ERR_UNSUPPORTED)
            return ASSAY_OK;
        if (status == ASSAY_OK)
            status = w->examine(&c, device, w->variant, page);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

static assay_status examine_all(const work *w, int32_t job, const ledger *l) {
    const double end = now() + w->seconds;
    const assay_device *device;
    assay_status status = assay_device_open(w->device, &device);
    assay_device prompt = {0};
    if (status == ASSAY_OK) {
        prompt = *device;
        prompt.pause = NULL; /* against cheats, of which there are none here; most of the time */
    }
    for (int32_t i = 0; status == ASSAY_OK && i < l->modes->count; ++i) {
        const double start = now();
        status = examine_mode(w, &prompt, &l->modes->mode[i], job,
                              start + (end - start) / (l->modes->count - i), ledger_at(l, i, 0));
    }
    return status;
}

_Noreturn static void child(const work *w, int32_t job, const ledger *l) {
    const assay_status status = examine_all(w, job, l);
    if (status != ASSAY_OK)
        fprintf(stderr, "assay_evidence: %s\n", assay_error());
    _exit(status == ASSAY_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* How a process ended, as a status. */
static assay_status outcome(pid_t pid) {
    int how = 0;
    while (waitpid(pid, &how, 0) < 0)
        if (errno != EINTR)
            return assay_fail(ASSAY_ERR_DEVICE, "waiting for a process: %s", strerror(errno));
    if (WIFSIGNALED(how))
        return assay_fail(ASSAY_ERR_KERNEL, "a process died: %s", strsignal(WTERMSIG(how)));
    if (WEXITSTATUS(how) != EXIT_SUCCESS)
        return assay_fail(ASSAY_ERR_KERNEL, "a process gave up; its line stands above");
    return ASSAY_OK;
}

assay_status workers_run(const work *w, ledger *total) {
    pid_t pid[MOST_JOBS];
    ledger part[MOST_JOBS] = {{0}};
    int32_t started = 0;
    assay_status status = ASSAY_OK;
    if (w->jobs < 1 || w->jobs > MOST_JOBS)
        return assay_fail(ASSAY_ERR_USAGE, "--jobs %d: must be 1 to %d", w->jobs, MOST_JOBS);
    fflush(NULL);
    while (status == ASSAY_OK && started < w->jobs) {
        status = ledger_init(&part[started], total->modes, total->series, total->n_series);
        if (status == ASSAY_OK && (pid[started] = fork()) < 0)
            status = assay_fail(ASSAY_ERR_MEMORY, "no further process: %s", strerror(errno));
        if (status != ASSAY_OK)
            break;
        if (pid[started] == 0)
            child(w, started, &part[started]);
        ++started;
    }
    for (int32_t j = 0; j < started; ++j) {
        const assay_status ended = outcome(pid[j]);
        status = status == ASSAY_OK ? ended : status;
        ledger_merge(total, &part[j]);
    }
    for (int32_t j = 0; j <= started && j < MOST_JOBS; ++j)
        ledger_clear(&part[j]);
    return status;
}
