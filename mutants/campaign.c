#include "mutants/campaign.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the processes share. */
typedef struct slot {
    mutant_result result;
    atomic_bool judged;
    bool told; /* to the visitor */
} slot;

typedef struct board {
    atomic_int next; /* mutant that nobody has */
    slot slot[];
} board;

typedef struct worker {
    pid_t pid; /* 0: none */
} worker;

typedef struct crew {
    const campaign *c;
    board *board;
    _Atomic(int32_t) *at; /* shared: the mutant that each worker has; -1: none */
    worker *worker;
    size_t board_bytes, at_bytes;
    int32_t told;
} crew;

/* ---- a judge's process ---- */

static void work(crew *w, int32_t number) {
    const campaign *c = w->c;
    judge j;
    assay_status status = judge_init(&j, c->builder, c->cases, c->n_cases, number);
    for (int32_t i; (i = atomic_fetch_add(&w->board->next, 1)) < c->count;) {
        slot *s = &w->board->slot[i];
        atomic_store(&w->at[number], i);
        if (status == ASSAY_OK) {
            judge_mutant(&j, c->mutant[i], &s->result);
        } else {
            s->result.outcome = MUTANT_BROKEN;
            snprintf(s->result.reason, LAYER_REASON, "%s", assay_error());
        }
        atomic_store(&s->judged, true);
        atomic_store(&w->at[number], -1);
    }
    judge_clear(&j);
}

static assay_status start(crew *w, int32_t number) {
    const pid_t parent = getpid();
    atomic_store(&w->at[number], -1);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        return assay_fail(ASSAY_ERR_MEMORY, "no process for a judge: %s", strerror(errno));
    if (pid == 0) {
        (void)signal(SIGINT, SIG_IGN); /* the parent ends us */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* tests end where they fail */
        if (getppid() == parent)
            work(w, number);
        _exit(0);
    }
    w->worker[number].pid = pid;
    return ASSAY_OK;
}

/* ---- the parent ---- */

static void tell(crew *w) {
    for (int32_t i = 0; i < w->c->count; ++i) {
        slot *s = &w->board->slot[i];
        if (s->told || !atomic_load(&s->judged))
            continue;
        s->told = true;
        w->c->visit(w->c->mutant[i], &s->result, ++w->told, w->c->context);
    }
}

/* A judge that fell over its mutant: the next one goes on behind it. */
static void bury(crew *w, int32_t number, int how) {
    const int32_t i = atomic_load(&w->at[number]);
    w->worker[number].pid = 0;
    if (i < 0 || atomic_load(&w->board->slot[i].judged))
        return;
    mutant_result *r = &w->board->slot[i].result;
    *r = (mutant_result){.outcome = MUTANT_BROKEN};
    if (WIFSIGNALED(how))
        snprintf(r->reason, LAYER_REASON, "the judge ended by signal %d", WTERMSIG(how));
    else
        snprintf(r->reason, LAYER_REASON, "the judge ended with exit code %d", WEXITSTATUS(how));
    atomic_store(&w->board->slot[i].judged, true);
}

/* Whether any judge is at work; ends those that died, and replaces them while there is work. */
static bool watch(crew *w) {
    bool busy = false;
    for (int32_t k = 0; k < w->c->jobs; ++k) {
        int how;
        if (w->worker[k].pid > 0 && waitpid(w->worker[k].pid, &how, WNOHANG) == w->worker[k].pid) {
            bury(w, k, how);
            if (atomic_load(&w->board->next) < w->c->count)
                (void)start(w, k);
        }
        busy = busy || w->worker[k].pid > 0;
    }
    return busy;
}

static void end_all(crew *w) {
    for (int32_t k = 0; w->worker && k < w->c->jobs; ++k)
        if (w->worker[k].pid > 0) {
            (void)kill(w->worker[k].pid, SIGKILL);
            while (waitpid(w->worker[k].pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        }
}

static void *share(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static assay_status crew_init(crew *w, const campaign *c) {
    *w = (crew){.c = c,
                .board_bytes = sizeof(board) + (size_t)c->count * sizeof(slot),
                .at_bytes = (size_t)c->jobs * sizeof *w->at};
    w->board = share(w->board_bytes);
    w->at = share(w->at_bytes);
    w->worker = calloc((size_t)c->jobs, sizeof *w->worker);
    if (w->board && w->at && w->worker)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_MEMORY, "out of memory for %d mutants", (int)c->count);
}

static void crew_clear(crew *w) {
    end_all(w);
    if (w->board)
        (void)munmap(w->board, w->board_bytes);
    if (w->at)
        (void)munmap(w->at, w->at_bytes);
    free(w->worker);
}

assay_status campaign_run(const campaign *c) {
    const struct timespec moment = {.tv_nsec = 20000000};
    crew w;
    assay_status status = crew_init(&w, c);
    for (int32_t k = 0; status == ASSAY_OK && k < c->jobs && k < c->count; ++k)
        status = start(&w, k);
    while (status == ASSAY_OK && !c->interrupted() && watch(&w)) {
        tell(&w);
        nanosleep(&moment, NULL);
    }
    if (w.board)
        tell(&w);
    crew_clear(&w);
    return status;
}
