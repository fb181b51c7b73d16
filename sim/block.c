#include "sim/block.h"

#include "sim/cluster.h"
#include "sim/operation.h"
#include "sim/registers.h"
#include "sim/shared.h"
#include "sim/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RESTS = 1 << 17 };

struct sim_block {
    sim_threads threads;
    uint64_t number;
    int32_t rests; /* since it was given its turn, or got anywhere */
    sim_block_outcome outcome;
    sim_dynamic dynamic;
    struct sim_barriers *barriers;
    struct sim_warps *warps;
    struct sim_copies *copies;
    struct sim_bulks *bulks;
    struct sim_wgmmas *wgmmas;
    struct sim_turns *turns;
    sim_registers registers;
    sim_cluster *cluster;
    uint32_t rank;   /* in it */
    sim_block *next; /* of those that live, or of those that are free */
};

static sim_block *block; /* that runs */
sim_threads *sim_threads_now;

/* Of the launch. */
static struct {
    const sim_launch *launch;
    int64_t rests;    /* in a row, of all blocks */
    int32_t n_blocks; /* that have begun and not ended */
    bool others;      /* blocks that could run instead */
    uint64_t unbegun; /* blocks */
    sim_block *live, *free;
} grid;

/* CUDA's built-in variables, those of the thread that runs. */
extern uint3 blockIdx, blockDim, gridDim;
uint3 threadIdx, blockIdx, blockDim, gridDim, sim_thread_index[SIM_MAX_THREADS];

uint32_t sim_live_lanes(int32_t warp) {
    return block->threads.live[warp];
}

bool sim_lane_exists(int32_t warp, int32_t lane) {
    return warp * SIM_WARP + lane < sim_now.n_threads;
}

sim_range sim_block_shared(void) {
    return block->threads.shared[1];
}

static void leave_block(sim_fiber *own) {
    sim_now.thread = -1;
    trace_thread(block->threads.clocks, block->threads.shared, -1);
    sim_fiber_switch(own, sim_fiber_host());
}

void sim_abandon(void) {
    block->outcome = SIM_BLOCK_ABANDONED;
    leave_block(block->threads.thread[sim_now.thread].fiber);
    __builtin_unreachable(); /* an abandoned fiber is never resumed */
}

static bool same_place(const sim_place *p, const sim_place *q) {
    return p->line == q->line && strcmp(p->call, q->call) == 0 && strcmp(p->file, q->file) == 0;
}

static bool is_live(int32_t thread) {
    return (sim_live_lanes(thread / SIM_WARP) >> thread % SIM_WARP & 1u) != 0;
}

/* How many threads wait where `thread` does; 0 when one before it does, or it has exited. */
static int32_t count_if_first(int32_t thread) {
    const sim_place *place = &block->threads.thread[thread].place;
    int32_t count = 0;
    for (int32_t t = 0; t < sim_now.n_threads && is_live(thread); ++t) {
        if (!is_live(t) || !same_place(&block->threads.thread[t].place, place))
            continue;
        if (t < thread)
            return 0;
        ++count;
    }
    return count;
}

/* All that have not exited wait. */
SIM_REPORT static void report_deadlock(void) {
    char places[360] = "", first[SIM_POSITION];
    size_t used = 0;
    const sim_place *top = NULL;
    for (int32_t t = 0; t < sim_now.n_threads && used < sizeof places; ++t) {
        int32_t count = count_if_first(t);
        if (count == 0)
            continue;
        const sim_place *place = &block->threads.thread[t].place;
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

SIM_REPORT void sim_nothing_runs(void) {
    if (!sim_warps_mismatched())
        report_deadlock();
    sim_abandon();
}

SIM_REPORT static void fibers_exhausted(void) {
    sim_defect("out of memory", NULL, 0, "no stack for one more thread");
    sim_abandon();
}

sim_fiber *sim_start_thread(int32_t thread) {
    sim_fiber *fiber = sim_fiber_acquire();
    if (!fiber)
        fibers_exhausted();
    block->threads.thread[thread].fiber = fiber;
    return fiber;
}

void sim_progress(void) {
    grid.rests = 0;
    block->rests = 0;
    sim_schedule_progress();
}

SIM_REPORT static void report_livelock(const sim_place *place) {
    char where[SIM_POSITION], blocks[96] = "";
    if (grid.unbegun > 0)
        snprintf(blocks, sizeof blocks,
                 "; %" PRIu64 " blocks have not begun, beside %d no more can", grid.unbegun,
                 grid.n_blocks);
    sim_defect("livelock", place->file, place->line,
               "%s still spins at %s after %d turns in which no thread got anywhere%s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), place->call, MAX_RESTS,
               blocks);
    sim_abandon();
}

/* All threads of the block that can run have had two turns at least. */
static bool is_stalled(void) {
    return grid.others && block->rests > 2 * block->threads.n_live;
}

void sim_rest(sim_place place) {
    ++block->rests;
    if (++grid.rests > (int64_t)MAX_RESTS * grid.n_blocks)
        report_livelock(&place);
    sim_schedule_rest(sim_now.thread);
    if (!is_stalled()) {
        sim_switch();
        return;
    }
    block->outcome = SIM_BLOCK_STALLED;
    leave_block(block->threads.thread[sim_now.thread].fiber);
}

/* Once is enough for a block to stall. */
void sim_rest_long(sim_place place, int64_t weight) {
    block->rests += 2 * block->threads.n_live;
    grid.rests += weight;
    sim_rest(place);
}

static void thread_exit(void) {
    int32_t thread = sim_now.thread, warp = thread / SIM_WARP;
    sim_async_exit();
    sim_cluster_exit();
    block->threads.live[warp] &= ~(1u << thread % SIM_WARP);
    if (--block->threads.n_live == 0)
        sim_operation_block_end();
    sim_schedule_sleep(thread);
    sim_progress();
    sim_warp_exit(thread);
    sim_barrier_exit();
}

/* Every fiber runs this: threads, one after the other. A thread that never waits thus costs no
 * switch: the next one starts on the same stack. */
static void run_threads(void) {
    for (;;) {
        sim_fiber *own = block->threads.thread[sim_now.thread].fiber;
        grid.launch->run(grid.launch->closure);
        thread_exit();
        if (block->threads.n_live == 0) {
            sim_fiber_release(own);
            leave_block(own);
            continue;
        }
        const int32_t next = sim_schedule_next();
        if (next < 0)
            sim_nothing_runs();
        block->threads.thread[sim_now.thread].fiber = NULL;
        sim_resume(next);
        if (!block->threads.thread[next].fiber) {
            block->threads.thread[next].fiber = own;
        } else {
            sim_fiber_release(own);
            sim_fiber_switch(own, block->threads.thread[next].fiber);
        }
    }
}

assay_status sim_block_setup(int32_t most_threads) {
    return sim_fiber_setup(run_threads, most_threads);
}

void sim_block_shape(const sim_launch *launch) {
    grid.launch = launch;
    grid.rests = 0;
    grid.n_blocks = 0;
    gridDim = launch->grid;
    blockDim = launch->block;
    uint3 i = {0, 0, 0};
    for (int32_t t = 0; t < sim_now.n_threads; ++t) {
        sim_thread_index[t] = i;
        if (++i.x == blockDim.x) {
            i.x = 0;
            if (++i.y == blockDim.y) {
                i.y = 0;
                ++i.z;
            }
        }
    }
}

void sim_block_others(bool others, uint64_t unbegun) {
    grid.others = others;
    grid.unbegun = unbegun;
}

/* A block runs from now on. */
static void use(sim_block *b) {
    const uint64_t plane = (uint64_t)gridDim.x * gridDim.y;
    block = b;
    sim_threads_now = &b->threads;
    sim_now.block = b->number;
    blockIdx.x = (unsigned)(b->number % gridDim.x);
    blockIdx.y = (unsigned)(b->number % plane / gridDim.x);
    blockIdx.z = (unsigned)(b->number / plane);
    sim_dynamic_use(&b->dynamic);
    sim_barriers_use(b->barriers);
    sim_warps_use(b->warps);
    sim_copies_use(b->copies);
    sim_bulks_use(b->bulks);
    sim_wgmmas_use(b->wgmmas);
    sim_registers_use(&b->registers);
    sim_turns_use(b->turns);
    sim_cluster_use(b->cluster, b->rank);
}

static sim_block *make(void) {
    sim_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->barriers = calloc(1, sim_barriers_bytes);
    b->warps = calloc(1, sim_warps_bytes);
    b->copies = calloc(1, sim_copies_bytes);
    b->bulks = calloc(1, sim_bulks_bytes);
    b->wgmmas = calloc(1, sim_wgmmas_bytes);
    b->turns = calloc(1, sim_turns_bytes);
    if (b->barriers && b->warps && b->copies && b->bulks && b->wgmmas && b->turns)
        return b;
    free(b->barriers);
    free(b->warps);
    free(b->copies);
    free(b->bulks);
    free(b->wgmmas);
    free(b->turns);
    free(b);
    return NULL;
}

static void clear(sim_block *b) {
    b->threads.n_live = sim_now.n_threads;
    b->rests = 0;
    b->registers = (sim_registers){0};
    memset(b->threads.thread, 0, (size_t)sim_now.n_threads * sizeof b->threads.thread[0]);
    for (int32_t w = 0; w < SIM_MAX_WARPS; ++w) {
        int32_t lanes = sim_now.n_threads - w * SIM_WARP;
        b->threads.live[w] = lanes >= SIM_WARP ? UINT32_MAX : lanes > 0 ? (1u << lanes) - 1 : 0;
    }
    sim_schedule_threads(sim_now.n_threads);
    sim_barrier_begin();
    sim_warps_begin();
    sim_async_begin();
    sim_bulks_begin();
    sim_wgmmas_begin();
}

sim_block *sim_block_begin(uint64_t number, sim_range section, sim_cluster *cluster) {
    const size_t bytes = grid.launch->shared_bytes;
    sim_block *b = grid.free ? grid.free : make();
    if (!b) {
        sim_defect("out of memory", NULL, 0, "no memory for a block");
        return NULL;
    }
    grid.free = b; /* it stays there unless it gets memory */
    if (sim_dynamic_resize(&b->dynamic, bytes) != ASSAY_OK) {
        sim_defect("out of memory", NULL, 0, "%s", assay_error());
        return NULL;
    }
    grid.free = b->next;
    b->number = number;
    b->threads.shared[0] = section;
    b->threads.shared[1] = (sim_range){b->dynamic.memory, b->dynamic.memory + bytes};
    b->cluster = cluster;
    b->rank = sim_cluster_join(cluster, &b->threads.shared[1]);
    use(b);
    clear(b);
    sim_shared_fill(b->threads.shared);
    b->threads.clocks = trace_block_begin(b->threads.shared);
    b->next = grid.live;
    grid.live = b;
    ++grid.n_blocks;
    return b;
}

/* The next block has these buffers, warm in the cache. */
static void end(sim_block *b) {
    sim_block **link = &grid.live;
    while (*link != b)
        link = &(*link)->next;
    *link = b->next;
    sim_mbarrier_block_end(b->threads.shared);
    sim_registers_block_end(&b->registers);
    trace_block_end(b->threads.clocks);
    sim_cluster_leave(b->cluster, b->rank);
    b->next = grid.free;
    grid.free = b;
    --grid.n_blocks;
}

sim_block_outcome sim_block_run(sim_block *b) {
    use(b);
    b->rests = 0;
    b->outcome = SIM_BLOCK_ENDED;
    const int32_t first = sim_schedule_next();
    if (!b->threads.thread[first].fiber)
        b->threads.thread[first].fiber = sim_fiber_acquire();
    if (!b->threads.thread[first].fiber) {
        sim_defect("out of memory", NULL, 0, "no stack for a thread");
        return SIM_BLOCK_ABANDONED;
    }
    sim_resume(first);
    sim_fiber_switch(sim_fiber_host(), b->threads.thread[first].fiber);
    if (b->outcome == SIM_BLOCK_ABANDONED)
        sim_fiber_abandon_all();
    if (b->outcome == SIM_BLOCK_ENDED)
        end(b);
    return b->outcome;
}

void sim_blocks_forget(void) {
    while (grid.live)
        end(grid.live);
}
