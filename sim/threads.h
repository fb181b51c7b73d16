/*
 * How the threads of the block that runs wait and go on, for the files whose functions they wait
 * in. All of it is inline: it runs for each thread at each meeting, and every frame between a
 * kernel and the switch would be one more piece of the cache for each thread that waits.
 */
#ifndef ASSAY_SIM_THREADS_H
#define ASSAY_SIM_THREADS_H

#include "sim/block.h"
#include "sim/fiber.h"
#include "sim/turns.h"

typedef struct sim_thread {
    sim_fiber *fiber; /* NULL before the first step and after the last */
    sim_place place;  /* where it waits, or waited last */
} sim_thread;

/* Those of a block; of the block that runs. */
typedef struct sim_threads {
    sim_thread thread[SIM_MAX_THREADS];
    uint32_t live[SIM_MAX_WARPS]; /* lanes that have not exited */
    int32_t n_live;
    sim_clocks *clocks;  /* the recorder's */
    sim_range shared[2]; /* the static and the dynamic part */
} sim_threads;
extern sim_threads *sim_threads_now;

/* CUDA's built-in variable, and its value for each thread of the launch. */
extern uint3 threadIdx, sim_thread_index[SIM_MAX_THREADS];

#define SIM_HOT static inline __attribute__((always_inline))

SIM_HOT void sim_resume(int32_t thread) {
    sim_now.thread = thread;
    threadIdx = sim_thread_index[thread];
    trace_thread(sim_threads_now->clocks, sim_threads_now->shared, thread);
}

/* The thread has not run yet: a stack for it; without one the launch ends. Nothing can run: the
 * launch ends. */
sim_fiber *sim_start_thread(int32_t thread);
void sim_nothing_runs(void) __attribute__((noreturn));

/* The schedule chooses the thread that runs now; returns when it has chosen the caller again. */
SIM_HOT void sim_switch(void) {
    const int32_t self = sim_now.thread, next = sim_schedule_next();
    if (next < 0)
        sim_nothing_runs();
    if (next == self)
        return;
    sim_fiber *to = sim_threads_now->thread[next].fiber;
    if (!to)
        to = sim_start_thread(next);
    sim_fiber *own = sim_threads_now->thread[self].fiber;
    sim_resume(next);
    sim_fiber_switch(own, to);
}

/* The place where the current thread waits, for reports. */
SIM_HOT void sim_come_to(const sim_place *place) {
    sim_threads_now->thread[sim_now.thread].place = *place;
}

/* It waits there from now on, until it is woken. */
SIM_HOT void sim_wait(void) {
    sim_schedule_sleep(sim_now.thread);
    sim_switch();
}

#endif
