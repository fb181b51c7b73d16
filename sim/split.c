#include "sim/split.h"

#include "sim/defect.h"
#include "sim/schedule.h"
#include "sim/trace.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

/* In memory that all processes share. */
typedef struct shared {
    _Atomic uint64_t next; /* block that none has taken */
    _Atomic uint64_t end;  /* none from there on runs: the last that failed, or all */
    struct result {
        bool done;
        uint64_t failed; /* the block; UINT64_MAX: none */
        sim_defect_text defect;
    } result[MOST];
} shared;

static int32_t allowed = 1;
static int64_t patience; /* nanoseconds */

/* Of the launch. */
static struct {
    bool may;
    struct timespec begun;
    uint64_t taken; /* the last block */
    shared *shared; /* NULL: there is one process */
    int32_t self, n;
    pid_t process[MOST];
} now;

void sim_split_allow(int32_t processes, int64_t nanoseconds) {
    allowed = processes < 1 ? 1 : processes > MOST ? MOST : processes;
    patience = nanoseconds;
}

int32_t sim_split_processes(void) {
    return now.n;
}

void sim_split_begin(const sim_launch *l) {
    now.may = allowed > 1 && l->unordered && !l->records && !sim_schedule_draws();
    now.shared = NULL;
    now.n = 1;
    if (now.may)
        clock_gettime(CLOCK_MONOTONIC, &now.begun);
}

static bool is_warm(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (t.tv_sec - now.begun.tv_sec) * 1000000000 + t.tv_nsec - now.begun.tv_nsec >= patience;
}

/* The program's handlers are for the program. */
static void become_worker(pid_t parent) {
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

/* Fewer processes than are allowed, or none, where the system gives no more. */
static void fork_all(void) {
    const pid_t parent = getpid();
    for (now.n = 1; now.n < allowed; ++now.n) {
        const pid_t child = fork();
        if (child < 0)
            return;
        if (child == 0) {
            become_worker(parent);
            now.self = now.n;
            return;
        }
        now.process[now.n] = child;
    }
}

void sim_split(uint64_t next, uint64_t all) {
    if (!now.may || all - next < 2 * (uint64_t)allowed || !is_warm())
        return;
    now.may = false;
    void *memory =
        mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    now.shared = memory;
    now.shared->next = next;
    now.shared->end = all;
    now.self = 0;
    fork_all();
}

uint64_t sim_split_take(uint64_t next, uint64_t all) {
    if (now.shared == NULL)
        return next < all ? next : UINT64_MAX;
    now.taken = atomic_fetch_add(&now.shared->next, 1);
    return now.taken < atomic_load(&now.shared->end) ? now.taken : UINT64_MAX;
}

/* Those before it run, or have been taken by others: so the first that fails is the same in every
 * run. */
static void note_failure(void) {
    uint64_t end = atomic_load(&now.shared->end);
    while (now.taken < end && !atomic_compare_exchange_weak(&now.shared->end, &end, now.taken))
        ;
}

static void wait_for(int32_t i) {
    int status = 0;
    while (waitpid(now.process[i], &status, 0) < 0)
        if (errno != EINTR) /* somebody else waited for it */
            break;
    if (!now.shared->result[i].done)
        sim_defect("lost process", NULL, 0, "one that ran some of its blocks ended by signal %d",
                   WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void sim_split_end(bool failed) {
    if (now.shared == NULL)
        return;
    struct result *own = &now.shared->result[now.self], *first = own;
    if (failed)
        note_failure();
    own->failed = failed ? now.taken : UINT64_MAX;
    own->defect = *sim_defect_get();
    own->done = true;
    if (now.self != 0)
        _exit(0);
    for (int32_t i = 1; i < now.n; ++i) {
        wait_for(i);
        if (now.shared->result[i].done && now.shared->result[i].failed < first->failed)
            first = &now.shared->result[i];
    }
    if (first != own)
        sim_defect_put(&first->defect);
    munmap(now.shared, sizeof *now.shared);
    now.shared = NULL;
}
