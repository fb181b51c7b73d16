/* __syncthreads: all threads of the block that have not exited meet, at one source line. */
#include "sim/block.h"
#include "sim/defect.h"

#include <string.h>

static struct {
    int32_t waiting, votes;
    int32_t first; /* the thread that came first, and where it waits */
    sim_place place;
    int32_t met, met_votes; /* of the last meeting, for its threads to read as they go on */
} m;

static const char *const names[] = {
    [SIM_VOTE_NONE] = "__syncthreads",
    [SIM_VOTE_COUNT] = "__syncthreads_count",
    [SIM_VOTE_AND] = "__syncthreads_and",
    [SIM_VOTE_OR] = "__syncthreads_or",
};

void sim_barrier_begin(void) {
    m.waiting = m.votes = 0;
}

static void complete(void) {
    m.met = m.waiting;
    m.met_votes = m.votes;
    m.waiting = m.votes = 0;
    for (int32_t w = 0; w * SIM_WARP < sim_now.n_threads; ++w)
        sim_wake(w, sim_live_lanes(w));
    sim_progress();
    trace_barrier();
}

void sim_barrier_exit(void) {
    if (m.waiting > 0 && m.waiting == sim_live_threads())
        complete();
}

static bool first_waits_at(const char *file, int line) {
    return m.place.line == line && (m.place.file == file || strcmp(m.place.file, file) == 0);
}

SIM_REPORT static void report_divergence(const char *file, int line) {
    char first[SIM_POSITION], second[SIM_POSITION];
    sim_defect("divergent barrier", m.place.file, m.place.line, "%s waits here, %s waits at %s:%d",
               sim_block_thread_text(sim_now.block, m.first, first),
               sim_thread_text(sim_now.thread, second), sim_base_name(file), line);
    sim_abandon();
}

int sim_barrier(sim_vote vote, int predicate, const char *file, int line) {
    if (m.waiting++ == 0) {
        m.first = sim_now.thread;
        m.place = (sim_place){names[vote], file, line};
    } else if (!first_waits_at(file, line)) {
        report_divergence(file, line);
    }
    m.votes += predicate != 0;
    if (m.waiting == sim_live_threads()) {
        complete();
        sim_switch();
    } else {
        sim_wait(names[vote], file, line);
    }
    switch (vote) {
    case SIM_VOTE_NONE:
        break;
    case SIM_VOTE_COUNT:
        return m.met_votes;
    case SIM_VOTE_AND:
        return m.met_votes == m.met;
    case SIM_VOTE_OR:
        return m.met_votes != 0;
    }
    return 0;
}
