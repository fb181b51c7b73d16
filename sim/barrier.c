/* __syncthreads: all threads of the block that have not exited meet, at one source line. */
#include "sim/block.h"
#include "sim/defect.h"

#include <string.h>

static struct {
    int32_t waiting, votes;
    int32_t first; /* the thread that came first, and where it waits */
    sim_place place;
    int32_t met, met_votes; /* of the last meeting, for its threads to read as they go on */
} barrier;

static const char *const names[] = {
    [SIM_VOTE_NONE] = "__syncthreads",
    [SIM_VOTE_COUNT] = "__syncthreads_count",
    [SIM_VOTE_AND] = "__syncthreads_and",
    [SIM_VOTE_OR] = "__syncthreads_or",
};

void sim_barrier_begin(void) {
    barrier.waiting = barrier.votes = 0;
}

static void complete(void) {
    barrier.met = barrier.waiting;
    barrier.met_votes = barrier.votes;
    barrier.waiting = barrier.votes = 0;
    for (int32_t w = 0; w * SIM_WARP < sim_now.n_threads; ++w)
        sim_wake(w, sim_live_lanes(w));
    sim_progress();
    trace_barrier();
}

void sim_barrier_exit(void) {
    if (barrier.waiting > 0 && barrier.waiting == sim_live_threads())
        complete();
}

static bool first_waits_at(const char *file, int line) {
    return barrier.place.line == line &&
           (barrier.place.file == file || strcmp(barrier.place.file, file) == 0);
}

SIM_REPORT static void report_divergence(const char *file, int line) {
    char first[SIM_POSITION], second[SIM_POSITION];
    sim_defect("divergent barrier", barrier.place.file, barrier.place.line,
               "%s waits here, %s waits at %s:%d",
               sim_block_thread_text(sim_now.block, barrier.first, first),
               sim_thread_text(sim_now.thread, second), sim_base_name(file), line);
    sim_abandon();
}

int sim_barrier(sim_vote vote, int predicate, const char *file, int line) {
    if (barrier.waiting++ == 0) {
        barrier.first = sim_now.thread;
        barrier.place = (sim_place){names[vote], file, line};
    } else if (!first_waits_at(file, line)) {
        report_divergence(file, line);
    }
    barrier.votes += predicate != 0;
    if (barrier.waiting == sim_live_threads()) {
        complete();
        sim_switch();
    } else {
        sim_wait(names[vote], file, line);
    }
    switch (vote) {
    case SIM_VOTE_NONE:
        break;
    case SIM_VOTE_COUNT:
        return barrier.met_votes;
    case SIM_VOTE_AND:
        return barrier.met_votes == barrier.met;
    case SIM_VOTE_OR:
        return barrier.met_votes != 0;
    }
    return 0;
}
