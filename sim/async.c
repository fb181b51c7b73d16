/*
 * cp.async. The memory of a copy is in use from where it is issued to the wait that covers it: at
 * both ends the race recorder sees its accesses, and in between the destination holds 0xFF, so that
 * a thread that reads too early finds a NaN, and one that writes there is reported when the copy is
 * complete. A copy that is never waited for is complete when the thread exits.
 */
#include "sim/block.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 16 };

typedef uint32_t __attribute__((may_alias)) any32;

typedef struct copy {
    void *to;
    const void *from;
    int32_t bytes, valid;
    uint32_t group; /* how many commits came before it */
    const char *file;
    int line;
} copy;

/* A thread's copies that are not complete, in the order of issue. */
typedef struct queue {
    copy *copies;
    int32_t n, capacity;
    uint32_t commits;
} queue;

struct sim_copies {
    queue queue[SIM_MAX_THREADS];
};
const size_t sim_copies_bytes = sizeof(struct sim_copies);
static queue *queues; /* of the block that runs */

void sim_copies_use(struct sim_copies *copies) {
    queues = copies->queue;
}

/* A launch that was abandoned leaves copies behind. */
void sim_async_begin(void) {
    for (int32_t t = 0; t < sim_now.n_threads; ++t) {
        queues[t].n = 0;
        queues[t].commits = 0;
    }
}

/* Words are volatile: a call to memset would be recorded as an access of its own
 * (race_access.c). */
static void store(const copy *c, const any32 words[MAX_BYTES / 4]) {
    volatile any32 *to = c->to;
    trace_write(c->to, (size_t)c->bytes, c->file, c->line);
    for (int32_t i = 0; i < c->bytes / 4; ++i)
        to[i] = words[i];
}

SIM_REPORT static void report(const char *kind, const copy *c, const char *what) {
    char where[SIM_POSITION];
    sim_defect(kind, c->file, c->line, "%s calls cp_async_%d %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), c->bytes, what);
    sim_abandon();
}

/* The copy's destination is unwritten: its old bytes cannot be told from the new ones. */
static bool untouched(const copy *c) {
    const volatile any32 *to = c->to;
    for (int32_t i = 0; i < c->bytes / 4; ++i)
        if (to[i] != UINT32_MAX)
            return false;
    return true;
}

static void complete(const copy *c) {
    any32 words[MAX_BYTES / 4] = {0};
    unsigned char *bytes = (unsigned char *)words;
    const volatile unsigned char *from = c->from;
    if (!untouched(c))
        report("overwritten copy", c, "into memory that was written before the copy was complete");
    trace_read(c->from, (size_t)c->valid, c->file, c->line);
    for (int32_t i = 0; i < c->valid; ++i)
        bytes[i] = from[i];
    store(c, words);
}

static void complete_first(queue *q, int32_t n) {
    for (int32_t i = 0; i < n; ++i)
        complete(&q->copies[i]);
    for (int32_t i = n; i < q->n; ++i)
        q->copies[i - n] = q->copies[i];
    q->n -= n;
}

void sim_async_exit(void) {
    queue *q = &queues[sim_now.thread];
    complete_first(q, q->n);
}

static void push(queue *q, const copy *c) {
    if (q->n == q->capacity) {
        const int32_t capacity = q->capacity == 0 ? 16 : 2 * q->capacity;
        copy *grown = realloc(q->copies, (size_t)capacity * sizeof *grown);
        if (!grown)
            report("out of memory", c, "and there is none to note the copy in");
        q->copies = grown;
        q->capacity = capacity;
    }
    q->copies[q->n++] = *c;
}

void sim_cp_async(void *shared, const void *global, int32_t bytes, int32_t valid, const char *file,
                  int line) {
    static const any32 undefined[MAX_BYTES / 4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
    queue *q = &queues[sim_now.thread];
    const copy c = {shared, global, bytes, valid, q->commits, file, line};
    sim_require_aligned("cp_async", shared, bytes, file, line);
    sim_require_aligned("cp_async", global, bytes, file, line);
    if (valid < 0 || valid > bytes) {
        char what[64];
        snprintf(what, sizeof what, "with more valid bytes than it has (%d)", valid);
        report("wrong size", &c, what);
    }
    push(q, &c);
    trace_copy(shared, global, bytes, valid, file, line);
    trace_read(global, (size_t)valid, file, line);
    store(&c, undefined);
    trace_unwritten(shared, (size_t)bytes);
}

void sim_cp_async_commit(void) {
    ++queues[sim_now.thread].commits;
}

void sim_cp_async_wait(int32_t groups) {
    queue *q = &queues[sim_now.thread];
    int32_t n = 0;
    while (n < q->n && q->copies[n].group + (uint32_t)groups < q->commits)
        ++n;
    complete_first(q, n);
}
