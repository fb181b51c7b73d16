/*
 * Barriers of a block. __syncthreads is barrier 0, for all threads that have not exited, and they
 * must come to it at one source line. PTX's are numbered, may be for a part of the block, and let a
 * thread arrive without waiting; only lanes of one warp must come at one line, and only where the
 * instruction says `.aligned`.
 *
 * PTX counts a warp as 32 threads once all lanes have come that have not exited.
 */
#include "sim/defect.h"
#include "sim/threads.h"

#include <string.h>

enum { BARRIERS = 16, WARPS = SIM_MAX_WARPS };

typedef struct arrival {
    int32_t thread;
    sim_place place;
} arrival;

struct barrier {
    uint32_t arrived[WARPS], waiting[WARPS]; /* lanes */
    int32_t n_arrived, votes;
    uint32_t count; /* of threads that it is for; 0: all of the block */
    bool asked;     /* a thread wants to know the votes */
    arrival first, first_of[WARPS];
};

struct sim_barriers {
    struct barrier barrier[BARRIERS];
    uint32_t open; /* bit i: threads have come to barrier i */
    /* Of the last meeting, for its threads to read as they go on. */
    struct {
        int32_t threads, votes;
    } met[SIM_MAX_THREADS];
};
const size_t sim_barriers_bytes = sizeof(struct sim_barriers);
static struct sim_barriers *now; /* of the block that runs */

void sim_barriers_use(struct sim_barriers *barriers) {
    now = barriers;
}

static const char *const names[] = {
    [SIM_VOTE_NONE] = "__syncthreads",
    [SIM_VOTE_COUNT] = "__syncthreads_count",
    [SIM_VOTE_AND] = "__syncthreads_and",
    [SIM_VOTE_OR] = "__syncthreads_or",
};

static void begin(struct barrier *b) {
    memset(b->arrived, 0, sizeof b->arrived);
    memset(b->waiting, 0, sizeof b->waiting);
    b->n_arrived = b->votes = 0;
    b->asked = false;
    now->open &= ~(1u << (b - now->barrier));
}

/* A launch that was abandoned leaves barriers open. */
void sim_barrier_begin(void) {
    for (uint32_t rest = now->open; rest != 0; rest &= rest - 1)
        begin(&now->barrier[__builtin_ctz(rest)]);
}

/* Of an open one. */
static bool has_its_count(const struct barrier *b) {
    uint32_t threads = 0;
    for (int32_t w = 0; w < WARPS; ++w) {
        const uint32_t lanes = b->arrived[w];
        if (lanes != 0)
            threads += (lanes & sim_threads_now->live[w]) == sim_threads_now->live[w]
                           ? SIM_WARP
                           : (uint32_t)__builtin_popcount(lanes);
    }
    return threads >= b->count;
}

SIM_HOT bool is_complete(const struct barrier *b) {
    return b->count == 0 ? b->n_arrived == sim_threads_now->n_live : has_its_count(b);
}

static void tell_votes(const struct barrier *b, int32_t warp) {
    for (uint32_t rest = b->waiting[warp]; rest != 0; rest &= rest - 1) {
        const int32_t thread = warp * SIM_WARP + __builtin_ctz(rest);
        now->met[thread].threads = b->n_arrived;
        now->met[thread].votes = b->votes;
    }
}

static __attribute__((noinline)) void complete(struct barrier *b) {
    for (int32_t w = 0; w * SIM_WARP < sim_now.n_threads; ++w) {
        if (b->asked)
            tell_votes(b, w);
        if (b->waiting[w] != 0)
            sim_schedule_wake(w, b->waiting[w]);
    }
    trace_barrier((int32_t)(b - now->barrier), b->waiting, sim_threads_now->n_live);
    begin(b);
    sim_progress();
}

void sim_barrier_exit(void) {
    for (uint32_t rest = now->open; rest != 0; rest &= rest - 1) {
        struct barrier *b = &now->barrier[__builtin_ctz(rest)];
        if (is_complete(b))
            complete(b);
    }
}

static bool same_line(const sim_place *p, const sim_place *q) {
    return p->line == q->line && (p->file == q->file || strcmp(p->file, q->file) == 0);
}

SIM_REPORT static void report_divergence(const arrival *came, const sim_place *place) {
    char first[SIM_POSITION], second[SIM_POSITION];
    sim_defect("divergent barrier", came->place.file, came->place.line,
               "%s waits here, %s waits at %s:%d",
               sim_block_thread_text(sim_now.block, came->thread, first),
               sim_thread_text(sim_now.thread, second), sim_base_name(place->file), place->line);
    sim_abandon();
}

SIM_REPORT static void report_count(const struct barrier *b, uint32_t count,
                                    const sim_place *place) {
    char first[SIM_POSITION], second[SIM_POSITION];
    sim_defect("mismatched barriers", b->first.place.file, b->first.place.line,
               "%s comes to barrier %d for %u threads, %s for %u at %s:%d",
               sim_block_thread_text(sim_now.block, b->first.thread, first),
               (int)(b - now->barrier), b->count, sim_thread_text(sim_now.thread, second), count,
               sim_base_name(place->file), place->line);
    sim_abandon();
}

/* The current thread is counted. */
SIM_HOT void arrive(struct barrier *b, uint32_t count, int predicate, const sim_place *place) {
    const int32_t warp = sim_now.thread / SIM_WARP;
    if (b->n_arrived == 0) {
        b->first = (arrival){sim_now.thread, *place};
        b->count = count;
        now->open |= 1u << (b - now->barrier);
    } else if (b->count != count) {
        report_count(b, count, place);
    }
    if (b->arrived[warp] == 0)
        b->first_of[warp] = (arrival){sim_now.thread, *place};
    b->arrived[warp] |= 1u << sim_now.thread % SIM_WARP;
    ++b->n_arrived;
    b->votes += predicate != 0;
}

SIM_HOT void wait_for_all(struct barrier *b, sim_vote vote, const sim_place *place) {
    b->waiting[sim_now.thread / SIM_WARP] |= 1u << sim_now.thread % SIM_WARP;
    b->asked |= vote != SIM_VOTE_NONE;
    sim_come_to(place);
    sim_schedule_sleep(sim_now.thread);
    if (is_complete(b))
        complete(b);
    sim_switch();
}

SIM_HOT int result(sim_vote vote) {
    switch (vote) {
    case SIM_VOTE_NONE:
        break;
    case SIM_VOTE_COUNT:
        return now->met[sim_now.thread].votes;
    case SIM_VOTE_AND:
        return now->met[sim_now.thread].votes == now->met[sim_now.thread].threads;
    case SIM_VOTE_OR:
        return now->met[sim_now.thread].votes != 0;
    }
    return 0;
}

int sim_barrier(sim_vote vote, int predicate, const char *file, int line) {
    struct barrier *b = &now->barrier[0];
    const sim_place place = {names[vote], file, line};
    arrive(b, 0, predicate, &place);
    if (!same_line(&b->first.place, &place))
        report_divergence(&b->first, &place);
    wait_for_all(b, vote, &place);
    return result(vote);
}

SIM_REPORT static void report_number(uint32_t id, uint32_t count, const sim_place *place) {
    char where[SIM_POSITION];
    sim_defect("wrong barrier", place->file, place->line,
               "%s comes to barrier %u for %u threads; there are %d, each for a multiple of 32",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), id, count, BARRIERS);
    sim_abandon();
}

SIM_HOT struct barrier *numbered(uint32_t id, uint32_t count, int predicate, bool aligned,
                                 const sim_place *place) {
    const int32_t warp = sim_now.thread / SIM_WARP;
    if (id >= BARRIERS || count % SIM_WARP != 0)
        report_number(id, count, place);
    struct barrier *b = &now->barrier[id];
    arrive(b, count, predicate, place);
    if (aligned && !same_line(&b->first_of[warp].place, place))
        report_divergence(&b->first_of[warp], place);
    return b;
}

int sim_barrier_numbered(uint32_t id, uint32_t count, bool aligned, sim_vote vote, int predicate,
                         const char *file, int line) {
    const sim_place place = {vote == SIM_VOTE_NONE ? "bar.sync" : "bar.red", file, line};
    wait_for_all(numbered(id, count, predicate, aligned, &place), vote, &place);
    return result(vote);
}

void sim_barrier_arrive(uint32_t id, uint32_t count, bool aligned, const char *file, int line) {
    const sim_place place = {"bar.arrive", file, line};
    struct barrier *b = numbered(id, count, 0, aligned, &place);
    trace_barrier_arrive((int32_t)id);
    if (is_complete(b))
        complete(b);
}
