#include "sim/block.h"
#include "sim/cluster.h"
#include "sim/defect.h"
#include "sim/device.h"
#include "sim/operation.h"
#include "sim/schedule.h"
#include "sim/shared.h"
#include "sim/split.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". */
enum {
    MAX_GRID_X = INT32_MAX,
    MAX_GRID_YZ = 65535,
    MAX_BLOCK_XY = 1024,
    MAX_BLOCK_Z = 64,
};

sim_current sim_now = {.thread = -1};

static assay_status refuse(const sim_launch *l, const char *format, ...) ASSAY_PRINTF(2, 3);
static assay_status refuse(const sim_launch *l, const char *format, ...) {
    char reason[200];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return assay_fail(ASSAY_ERR_DEVICE, "%s:%d: launch of %s refused: %s", sim_base_name(l->file),
                      l->line, l->kernel, reason);
}

static assay_status check_configuration(const sim_launch *l) {
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    if (sim_now.kernel)
        return refuse(l, "it comes from within the kernel %s", sim_now.kernel);
    if (l->block.x > MAX_BLOCK_XY || l->block.y > MAX_BLOCK_XY || l->block.z > MAX_BLOCK_Z)
        return refuse(l, "a block of %u x %u x %u threads, at most %d x %d x %d are allowed",
                      l->block.x, l->block.y, l->block.z, MAX_BLOCK_XY, MAX_BLOCK_XY, MAX_BLOCK_Z);
    if (threads == 0 || threads > SIM_MAX_THREADS)
        return refuse(l, "a block of %u x %u x %u threads, it must have 1 to %d", l->block.x,
                      l->block.y, l->block.z, SIM_MAX_THREADS);
    if (l->grid.x > MAX_GRID_X || l->grid.y > MAX_GRID_YZ || l->grid.z > MAX_GRID_YZ)
        return refuse(l, "a grid of %u x %u x %u blocks, at most %d x %d x %d are allowed",
                      l->grid.x, l->grid.y, l->grid.z, MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ);
    if (l->shared_bytes > ASSAY_MAX_SHARED)
        return refuse(l, "%zu bytes of dynamic shared memory, a block may have %d", l->shared_bytes,
                      ASSAY_MAX_SHARED);
    return ASSAY_OK;
}

/* Stacks are address space, of which a process can map some ten thousand pieces: threads of blocks
 * that run side by side, where a launch has several. */
enum { MOST_THREADS = 24 * SIM_MAX_THREADS };

/* Static shared memory is there once. */
static int32_t most_threads(const sim_launch *l) {
    const uint64_t n_blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
    return l->section != NULL || n_blocks == 1 ? SIM_MAX_THREADS : MOST_THREADS;
}

typedef struct blocks {
    const sim_launch *launch;
    sim_block **live; /* those that stalled, in the order in which they began */
    int32_t n, most;
    uint64_t begun, all; /* clusters; most have one block */
} blocks;

static bool has_room(const blocks *b) {
    return b->begun < b->all && b->n + (int32_t)sim_cluster_size() <= b->most;
}

/* False: a defect ended the launch. `others`: of the blocks that live, beside this one. */
static bool run_block(const blocks *b, sim_block *block, int32_t others, bool *stalled) {
    sim_block_others(others > 0 || has_room(b), (b->all - b->begun) * sim_cluster_size());
    const sim_block_outcome outcome = sim_block_run(block);
    *stalled = outcome == SIM_BLOCK_STALLED;
    return outcome != SIM_BLOCK_ABANDONED;
}

/* The blocks of the launch's next cluster begin together, and run as far as they get. */
static bool run_next(blocks *b, sim_range section) {
    sim_block *begun[SIM_MOST_CLUSTER];
    const uint32_t n = sim_cluster_size();
    const uint64_t next = sim_split_take(b->begun, b->all);
    b->begun = next < b->all ? next + 1 : b->all;
    if (next >= b->all)
        return true;
    const uint64_t cluster = sim_schedule_block(next);
    sim_cluster *c = sim_cluster_begin();
    bool going = c != NULL;
    if (c == NULL)
        sim_defect("out of memory", NULL, 0, "no memory for a cluster");
    for (uint32_t rank = 0; going && rank < n; ++rank) {
        begun[rank] = sim_block_begin(sim_cluster_block(b->launch, cluster, rank), section, c);
        going = begun[rank] != NULL;
    }
    for (uint32_t rank = 0; going && rank < n; ++rank) {
        bool stalled = false;
        going = run_block(b, begun[rank], b->n + (int32_t)(n - rank - 1), &stalled);
        if (stalled)
            b->live[b->n++] = begun[rank];
    }
    return going;
}

/* All that stalled get another turn. */
static bool run_stalled(blocks *b) {
    const int32_t n = b->n;
    int32_t kept = 0;
    bool going = true;
    for (int32_t i = 0; i < n && going; ++i) {
        bool stalled = false;
        sim_block *block = b->live[i];
        b->n = n - 1; /* others than this one */
        going = run_block(b, block, n - 1, &stalled);
        if (stalled)
            b->live[kept++] = block;
    }
    b->n = kept;
    return going;
}

/*
 * A block runs until it ends, or until its threads do nothing but wait for memory to change. Then
 * the next one begins, as long as there is room; those that wait get another turn when there is
 * none, or all have begun. So a block may wait for a later one.
 */
static bool run_blocks(const sim_launch *l, sim_range section) {
    blocks b = {
        .launch = l, .all = sim_cluster_count(l), .most = most_threads(l) / sim_now.n_threads};
    bool going = true;
    b.most = l->section != NULL ? 1 : b.most;
    b.live = calloc((size_t)b.most + 1, sizeof(sim_block *));
    if (b.live == NULL)
        return false;
    sim_schedule_launch(b.all);
    sim_split_begin(l);
    while (going && (b.n > 0 || b.begun < b.all)) {
        while (going && has_room(&b)) {
            going = run_next(&b, section);
            if (going && b.n == 0)
                sim_split(b.begun, b.all);
        }
        if (going)
            going = run_stalled(&b);
    }
    sim_split_end(!going);
    free(b.live);
    sim_blocks_forget();
    sim_clusters_forget();
    return true;
}

assay_status sim_launch_run(const sim_launch *l) {
    sim_range section;
    assay_status status = check_configuration(l);
    if (status == ASSAY_OK)
        status = sim_block_setup(most_threads(l));
    if (status == ASSAY_OK)
        status = sim_shared_begin(l->section, &section);
    if (status != ASSAY_OK)
        return status;
    sim_now = (sim_current){.kernel = l->kernel,
                            .thread = -1,
                            .n_threads = (int32_t)(l->block.x * l->block.y * l->block.z)};
    sim_defects_begin(l);
    sim_block_shape(l);
    sim_operation_forget();
    sim_mbarrier_forget();
    trace_launch_begin(l);
    const bool enough = run_blocks(l, section);
    trace_launch_end();
    sim_now = (sim_current){.thread = -1};
    status = sim_defects_end();
    return enough ? status : assay_fail(ASSAY_ERR_MEMORY, "%s: no memory to run it", l->kernel);
}

assay_status (*sim_launch_instead)(const sim_launch *launch);

static assay_status run_in_clusters(const sim_launch *l) {
    const uint32_t shape[] = {l->cluster, 1, 1}, one[] = {1, 1, 1};
    if (l->cluster > SIM_MOST_CLUSTER || (l->cluster > 1 && l->grid.x % l->cluster != 0))
        return refuse(l, "clusters of %u in a grid of %u x %u x %u blocks", l->cluster, l->grid.x,
                      l->grid.y, l->grid.z);
    sim_cluster_shape(shape);
    const assay_status status = sim_launch_run(l);
    sim_cluster_shape(one);
    return status;
}

assay_status sim_launch_kernel(const sim_launch *l) {
    assay_status status = ASSAY_OK;
    if (l->function != NULL && sim_launch_instead != NULL)
        status = sim_launch_instead(l);
    else if (l->grid.x != 0 && l->grid.y != 0 && l->grid.z != 0)
        status = run_in_clusters(l);
    sim_device_note(status);
    return status;
}

void sim_trap(const char *kind, const char *what, const char *file, int line) {
    char where[SIM_POSITION];
    if (!sim_now.kernel || sim_now.thread < 0) {
        fprintf(stderr, "%s:%d: %s: %s\n", file, line, kind, what);
        abort();
    }
    sim_defect(kind, file, line, "%s: %s",
               sim_block_thread_text(sim_now.block, sim_now.thread, where), what);
    sim_abandon();
}

long long sim_clock(void) {
    static long long ticks;
    return ++ticks;
}
