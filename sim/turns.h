/* Whose turn it is among the threads of the block that runs; inline, see threads.h. */
#ifndef ASSAY_SIM_TURNS_H
#define ASSAY_SIM_TURNS_H

#include "sim/schedule.h"
#include "sim/trace.h"

enum { SIM_MAX_WARPS = SIM_MAX_THREADS / SIM_WARP };

struct sim_turns {
    uint32_t lanes[SIM_MAX_WARPS];   /* runnable */
    uint32_t resting[SIM_MAX_WARPS]; /* runnable when no other is */
    uint32_t ranks;                  /* bit r: the warp of rank r has runnable lanes */
    uint8_t rank[SIM_MAX_WARPS], warp[SIM_MAX_WARPS]; /* of a warp; of a rank. Rank 0 runs first. */
    bool anyone_rests;
    bool progressed;       /* since those that rested last ran */
    int32_t held;          /* a warp that rests on beside others; -1: none */
    uint32_t holding;      /* how often yet */
    uint32_t until_change; /* choices until the next priority change point */
};
extern struct sim_turns *sim_turns_now;
extern assay_schedule sim_schedule_kind;

/* Lanes of a warp become runnable; a thread stops being so. */
static inline void sim_schedule_wake(int32_t warp, uint32_t lanes) {
    struct sim_turns *turns = sim_turns_now;
    turns->lanes[warp] |= lanes;
    if (turns->lanes[warp] != 0)
        turns->ranks |= 1u << turns->rank[warp];
}

static inline void sim_schedule_sleep(int32_t thread) {
    struct sim_turns *turns = sim_turns_now;
    const int32_t warp = thread / SIM_WARP;
    const uint32_t lanes = turns->lanes[warp] & ~(1u << thread % SIM_WARP);
    turns->lanes[warp] = lanes;
    if (lanes == 0)
        turns->ranks &= ~(1u << turns->rank[warp]);
}

/* By the schedules that draw random numbers, or where no thread is runnable but some may rest. */
int32_t sim_schedule_choose(void);

/* The thread to run; -1 when no thread can. */
static inline __attribute__((always_inline)) int32_t sim_schedule_next(void) {
    const struct sim_turns *turns = sim_turns_now;
    const bool reverse = sim_schedule_kind == ASSAY_SCHEDULE_REVERSE;
    if (turns->ranks == 0 || (sim_schedule_kind != ASSAY_SCHEDULE_IN_ORDER && !reverse))
        return sim_schedule_choose();
    const int32_t warp = turns->warp[__builtin_ctz(turns->ranks)];
    const uint32_t lanes = turns->lanes[warp];
    return warp * SIM_WARP + (reverse ? 31 - __builtin_clz(lanes) : __builtin_ctz(lanes));
}

#endif
