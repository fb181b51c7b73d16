#include "sim/block.h"

#include "sim/fiber.h"
#include "sim/schedule.h"

#include <stdio.h>
#include <string.h>

enum { MAX_WARPS = SIM_MAX_THREADS / SIM_WARP, MAX_RESTS = 1 << 17 };

typedef struct sim_thread {
    sim_fiber *fiber; /* NULL before the first step and after the last */
    sim_place place;  /* call is NULL unless it waits */
} sim_thread;

static struct {
    const sim_launch *launch;
    sim_thread thread[SIM_MAX_THREADS];
    uint3 index[SIM_MAX_THREADS];
    uint32_t live[MAX_WARPS];
    int32_t n_live;
    int32_t rests; /* in a row */
    bool abandoned;
} block;

/* CUDA's built-in variables, those of the thread that runs. */
extern uint3 threadIdx, blockIdx, blockDim, gridDim;
uint3 threadIdx, blockIdx, blockDim, gridDim;

uint32_t sim_live_lanes(int32_t warp) {
    return block.live[warp];
}

int32_t sim_live_threads(void) {
    return block.n_live;
}

bool sim_lane_exists(int32_t warp, int32_t lane) {
    return warp * SIM_WARP + lane < sim_now.n_threads;
}

static void resume(int32_t thread) {
    sim_now.thread = thread;
    threadIdx = block.index[thread];
    trace_thread(thread);
}

static void leave_block(sim_fiber *own) {
    sim_now.thread = -1;
    trace_thread(-1);
    sim_fiber_switch(own, sim_fiber_host());
}

void sim_abandon(void) {
    block.abandoned = true;
    leave_block(block.thread[sim_now.thread].fiber);
    __builtin_unreachable(); /* an abandoned fiber is never resumed */
}

static bool same_place(const sim_place *p, const sim_place *q) {
    return p->line == q->line && strcmp(p->call, q->call) == 0 && strcmp(p->file, q->file) == 0;
}

/* How many threads wait where `thread` does; 0 when one before it does, or it does not wait. */
static int32_t count_if_first(int32_t thread) {
    const sim_place *place = &block.thread[thread].place;
    int32_t count = 0;
    for (int32_t t = 0; t < sim_now.n_threads && place->call; ++t) {
        if (!block.thread[t].place.call || !same_place(&block.thread[t].place, place))
            continue;
        if (t < thread)
            return 0;
        ++count;
    }
    return count;
}

SIM_REPORT static void report_deadlock(void) {
    char places[360] = "", first[SIM_POSITION];
    size_t used = 0;
    const sim_place *top = NULL;
    for (int32_t t = 0; t < sim_now.n_threads && used < sizeof places; ++t) {
        int32_t count = count_if_first(t);
        if (count == 0)
            continue;
        const sim_place *place = &block.thread[t].place;
        int n =
            snprintf(places + used, sizeof places - used, "%s%d thread%s at %s line %d, first %s",
                     top ? "; " : "", count, count == 1 ? " waits" : "s wait", place->call,
                     place->line, sim_thread_text(t, first));
        used += (size_t)n;
        top = top ? top : place;
    }
    sim_defect("deadlock", top->file, top->line, "block (%u,%u,%u): nothing can run: %s",
               blockIdx.x, blockIdx.y, blockIdx.z, places);
}

static int32_t next_or_abandon(void) {
    int32_t next = sim_schedule_next();
    if (next < 0) {
        if (!sim_warps_mismatched())
            report_deadlock();
        sim_abandon();
    }
    return next;
}

SIM_REPORT static void fibers_exhausted(void) {
    sim_defect("out of memory", NULL, 0, "no stack for one more thread");
    sim_abandon();
}

void sim_switch(void) {
    int32_t self = sim_now.thread, next = next_or_abandon();
    if (next == self)
        return;
    sim_fiber *to = block.thread[next].fiber;
    if (!to) {
        to = sim_fiber_acquire();
        if (!to)
            fibers_exhausted();
        block.thread[next].fiber = to;
    }
    sim_fiber *own = block.thread[self].fiber;
    resume(next);
    sim_fiber_switch(own, to);
}

void sim_wait(const char *call, const char *file, int line) {
    block.thread[sim_now.thread].place = (sim_place){call, file, line};
    sim_schedule_sleep(sim_now.thread);
    sim_switch();
}

void sim_wake(int32_t warp, uint32_t lanes) {
    sim_schedule_wake(warp, lanes);
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
        block.thread[warp * SIM_WARP + __builtin_ctz(rest)].place.call = NULL;
}

void sim_progress(void) {
    block.rests = 0;
}

SIM_REPORT static void report_livelock(const sim_place *place) {
    char where[SIM_POSITION];
    sim_defect("livelock", place->file, place->line,
               "%s still spins at %s after %d turns in which no thread got anywhere",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), place->call, MAX_RESTS);
    sim_abandon();
}

void sim_rest(sim_place place) {
    if (++block.rests > MAX_RESTS)
        report_livelock(&place);
    sim_schedule_rest(sim_now.thread);
    sim_switch();
}

static void thread_exit(void) {
    int32_t thread = sim_now.thread, warp = thread / SIM_WARP;
    sim_async_exit();
    block.live[warp] &= ~(1u << thread % SIM_WARP);
    --block.n_live;
    sim_schedule_sleep(thread);
    sim_progress();
    sim_warp_exit(thread);
    sim_barrier_exit();
}

/* What every fiber runs: threads, one after the other. A thread that never waits thus costs no
 * switch: the next one starts on the same stack. */
static void run_threads(void) {
    for (;;) {
        sim_fiber *own = block.thread[sim_now.thread].fiber;
        block.launch->run(block.launch->closure);
        thread_exit();
        if (block.n_live == 0) {
            sim_fiber_release(own);
            leave_block(own);
            continue;
        }
        int32_t next = next_or_abandon();
        block.thread[sim_now.thread].fiber = NULL;
        resume(next);
        if (!block.thread[next].fiber) {
            block.thread[next].fiber = own;
        } else {
            sim_fiber_release(own);
            sim_fiber_switch(own, block.thread[next].fiber);
        }
    }
}

assay_status sim_block_setup(void) {
    return sim_fiber_setup(run_threads);
}

void sim_block_shape(const sim_launch *launch) {
    gridDim = launch->grid;
    blockDim = launch->block;
    uint3 i = {0, 0, 0};
    for (int32_t t = 0; t < sim_now.n_threads; ++t) {
        block.index[t] = i;
        if (++i.x == blockDim.x) {
            i.x = 0;
            if (++i.y == blockDim.y) {
                i.y = 0;
                ++i.z;
            }
        }
    }
}

static void begin(const sim_launch *launch) {
    block.launch = launch;
    block.n_live = sim_now.n_threads;
    block.rests = 0;
    block.abandoned = false;
    memset(block.thread, 0, (size_t)sim_now.n_threads * sizeof block.thread[0]);
    for (int32_t w = 0; w < MAX_WARPS; ++w) {
        int32_t lanes = sim_now.n_threads - w * SIM_WARP;
        block.live[w] = lanes >= SIM_WARP ? UINT32_MAX : lanes > 0 ? (1u << lanes) - 1 : 0;
    }
    uint64_t plane = (uint64_t)gridDim.x * gridDim.y;
    blockIdx.x = (unsigned)(sim_now.block % gridDim.x);
    blockIdx.y = (unsigned)(sim_now.block % plane / gridDim.x);
    blockIdx.z = (unsigned)(sim_now.block / plane);
    sim_schedule_threads(sim_now.n_threads);
    sim_barrier_begin();
    sim_warps_begin();
    sim_async_begin();
}

bool sim_block_run(const sim_launch *launch) {
    begin(launch);
    int32_t first = sim_schedule_next();
    sim_fiber *fiber = block.thread[first].fiber = sim_fiber_acquire();
    if (!fiber) {
        sim_defect("out of memory", NULL, 0, "no stack for a thread");
        return false;
    }
    resume(first);
    sim_fiber_switch(sim_fiber_host(), fiber);
    if (block.abandoned)
        sim_fiber_abandon_all();
    return !block.abandoned;
}
