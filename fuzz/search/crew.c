#include "fuzz/search/crew.h"

#include "engine/turn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a judge's process ---- */

typedef struct judge {
    const fuzz_crew *crew;
    const assay_device *device, *twin; /* isolated; NULL: not opened, or there is none */
} judge;

static assay_status open_devices(judge *j) {
    const assay_device *device;
    assay_status status = assay_device_open(j->crew->device, &device);
    if (status == ASSAY_OK)
        status = assay_isolate(device, j->crew->how, &j->device);
    if (status != ASSAY_OK || !j->crew->twin)
        return status;
    status = assay_device_open(j->crew->twin, &device);
    return status == ASSAY_OK ? assay_isolate(device, j->crew->how, &j->twin) : status;
}

/* Every variant that is named must be one of the device's. */
static assay_status check_targets(const judge *j) {
    for (int32_t t = 0; t < j->crew->n_targets; ++t) {
        const fuzz_target *target = &j->crew->target[t];
        for (int32_t v = 0; v < target->n_variants; ++v)
            if (!turn_find_variant(j->device, target->op->name, target->variant[v]))
                return assay_fail(ASSAY_ERR_UNSUPPORTED, "%s/%s is not compiled for %s",
                                  target->op->name, target->variant[v], j->device->name);
    }
    return ASSAY_OK;
}

static assay_status do_task(const judge *j, fuzz_desk *desk) {
    const fuzz_task *task = &desk->task;
    const fuzz_target *target = &j->crew->target[task->target];
    const fuzz_court court = {.device = j->device,
                              .twin = j->twin,
                              .variant = target->variant,
                              .n_variants = target->n_variants,
                              .rows = j->crew->rows};
    assay_case c;
    assay_status status = assay_case_parse(task->text, &c);
    if (status != ASSAY_OK || !task->shrink)
        return status == ASSAY_OK ? fuzz_judge(&court, &c, task->relation, &desk->result) : status;
    fuzz_shrunk shrunk;
    status = fuzz_shrink(&court, &c, &task->failure, &shrunk);
    assay_case_format(&shrunk.c, desk->shrunk);
    desk->again = shrunk.again;
    desk->smallest = shrunk.smallest;
    return status;
}

/* Says that it is done; false: the parent has gone. */
static bool hand_in(int door, fuzz_desk *desk) {
    if (desk->status != ASSAY_OK)
        snprintf(desk->line, sizeof desk->line, "%s", assay_error());
    return send(door, "d", 1, MSG_NOSIGNAL) == 1;
}

static void work(const fuzz_crew *crew, int door, fuzz_desk *desk) {
    judge j = {.crew = crew};
    char word;
    desk->status = open_devices(&j);
    if (desk->status == ASSAY_OK)
        desk->status = check_targets(&j);
    while (hand_in(door, desk) && recv(door, &word, 1, 0) == 1)
        desk->status = do_task(&j, desk);
    assay_isolate_end(j.device);
    assay_isolate_end(j.twin);
}

/* ---- its life ---- */

static assay_status begin(fuzz_crew *crew, fuzz_worker *w) {
    const pid_t parent = getpid();
    int door[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, door) != 0)
        return assay_fail(ASSAY_ERR_MEMORY, "no door to a judge's process: %s", strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)signal(SIGINT, SIG_IGN); /* the parent ends us */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int32_t k = 0; k < crew->jobs; ++k)
            if (crew->worker[k].pid > 0)
                (void)close(crew->worker[k].door);
        (void)close(door[0]);
        if (getppid() == parent)
            work(crew, door[1], w->desk);
        _exit(0);
    }
    (void)close(door[1]);
    if (pid < 0) {
        (void)close(door[0]);
        return assay_fail(ASSAY_ERR_MEMORY, "no process for a judge: %s", strerror(errno));
    }
    *w = (fuzz_worker){.pid = pid, .door = door[0], .desk = w->desk};
    return ASSAY_OK;
}

/* Waits until it has opened its devices, which takes seconds on a GPU. */
static assay_status greet(const fuzz_worker *w) {
    char word;
    ssize_t n;
    while ((n = recv(w->door, &word, 1, 0)) < 0 && errno == EINTR)
        continue;
    if (n != 1)
        return assay_fail(ASSAY_ERR_DEVICE, "a judge's process ended as soon as it began");
    return w->desk->status == ASSAY_OK ? ASSAY_OK
                                       : assay_fail(w->desk->status, "%s", w->desk->line);
}

static assay_status start(fuzz_crew *crew, fuzz_worker *w) {
    const assay_status status = begin(crew, w);
    return status == ASSAY_OK ? greet(w) : status;
}

/* Returns what waitpid says of it. One that lives hears that its door is shut, and ends. */
static int end(fuzz_worker *w) {
    int how = 0;
    if (w->pid <= 0)
        return how;
    (void)close(w->door);
    while (waitpid(w->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
    return how;
}

/* All of them begin before the first is waited for. */
assay_status fuzz_crew_start(fuzz_crew *crew) {
    assay_status status = ASSAY_OK;
    crew->worker = calloc((size_t)crew->jobs, sizeof *crew->worker);
    if (!crew->worker)
        return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d judges", (int)crew->jobs);
    for (int32_t k = 0; status == ASSAY_OK && k < crew->jobs; ++k) {
        void *desk = mmap(NULL, sizeof(fuzz_desk), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (desk == MAP_FAILED)
            return assay_fail(ASSAY_ERR_MEMORY, "no memory for %d judges", (int)crew->jobs);
        crew->worker[k].desk = desk;
        status = begin(crew, &crew->worker[k]);
    }
    for (int32_t k = 0; status == ASSAY_OK && k < crew->jobs; ++k)
        status = greet(&crew->worker[k]);
    return status;
}

void fuzz_crew_end(fuzz_crew *crew) {
    for (int32_t k = 0; crew->worker && k < crew->jobs; ++k) {
        fuzz_worker *w = &crew->worker[k];
        if (w->pid > 0)
            (void)kill(w->pid, SIGKILL); /* its guests end with it */
        (void)end(w);
        if (w->desk)
            (void)munmap(w->desk, sizeof *w->desk);
    }
    free(crew->worker);
    crew->worker = NULL;
}

/* ---- tasks ---- */

fuzz_worker *fuzz_crew_idle(fuzz_crew *crew) {
    for (int32_t k = 0; k < crew->jobs; ++k)
        if (!crew->worker[k].busy)
            return &crew->worker[k];
    return NULL;
}

int32_t fuzz_crew_busy(const fuzz_crew *crew) {
    int32_t busy = 0;
    for (int32_t k = 0; k < crew->jobs; ++k)
        busy += crew->worker[k].busy;
    return busy;
}

assay_status fuzz_crew_give(fuzz_crew *crew, fuzz_worker *w, const fuzz_task *task) {
    w->desk->task = *task;
    if (w->pid > 0 && send(w->door, "t", 1, MSG_NOSIGNAL) == 1) {
        w->busy = true;
        return ASSAY_OK;
    }
    /* It died between two tasks. */
    (void)end(w);
    const assay_status status = start(crew, w);
    if (status != ASSAY_OK)
        return status;
    if (send(w->door, "t", 1, MSG_NOSIGNAL) != 1)
        return assay_fail(ASSAY_ERR_DEVICE, "a judge's process ended as soon as it began");
    w->busy = true;
    return ASSAY_OK;
}

/* A judge that fell over its task: the case is the finding. */
static assay_status bury(fuzz_crew *crew, fuzz_worker *w) {
    const int how = end(w);
    fuzz_desk *desk = w->desk;
    desk->status = ASSAY_OK;
    desk->again = desk->smallest = false;
    snprintf(desk->shrunk, sizeof desk->shrunk, "%s", desk->task.text);
    desk->result = (fuzz_result){.n_failures = 1, .failure[0].kind = FUZZ_NO_JUDGE};
    snprintf(desk->result.failure[0].reason, ASSAY_REASON, "the judge's process ended by %s %d",
             WIFSIGNALED(how) ? "signal" : "exit code",
             WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    return start(crew, w);
}

assay_status fuzz_crew_wait(fuzz_crew *crew, int milliseconds, const fuzz_desk **done) {
    struct pollfd polls[FUZZ_MOST_JOBS];
    *done = NULL;
    for (int32_t k = 0; k < crew->jobs; ++k)
        polls[k] = (struct pollfd){.fd = crew->worker[k].busy ? crew->worker[k].door : -1,
                                   .events = POLLIN};
    if (poll(polls, (nfds_t)crew->jobs, milliseconds) <= 0)
        return ASSAY_OK;
    for (int32_t k = 0; k < crew->jobs; ++k) {
        fuzz_worker *w = &crew->worker[k];
        char word;
        if (polls[k].revents == 0)
            continue;
        *done = w->desk;
        w->busy = false;
        if (recv(w->door, &word, 1, 0) != 1)
            return bury(crew, w);
        return w->desk->status == ASSAY_OK ? ASSAY_OK
                                           : assay_fail(w->desk->status, "%s", w->desk->line);
    }
    return ASSAY_OK;
}
