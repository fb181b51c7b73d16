/* The threads of the block that runs: each a fiber that goes on until it waits, rests or ends. */
#ifndef ASSAY_SIM_BLOCK_H
#define ASSAY_SIM_BLOCK_H

#include "sim/runtime.h"
#include "sim/trace.h"

/* Reports are never in a hurry, and their buffers would widen every waiting thread's frame. */
#define SIM_REPORT __attribute__((noinline, cold))

/* Where a thread waits. */
typedef struct sim_place {
    const char *call; /* "__syncthreads" */
    const char *file;
    int line;
} sim_place;

/* For so many threads at a time, of all blocks that run side by side. */
assay_status sim_block_setup(int32_t most_threads) ASSAY_MUST_CHECK;

/* Threads per axis and in all, for a launch. */
void sim_block_shape(const sim_launch *launch);

struct sim_cluster;

/* A block that has begun and not ended. Several may live side by side; one runs. */
typedef struct sim_block sim_block;
typedef enum sim_block_outcome {
    SIM_BLOCK_ENDED,
    SIM_BLOCK_ABANDONED, /* a defect made it abandon its threads, and those of all other blocks */
    SIM_BLOCK_STALLED,   /* its threads wait for other blocks, it seems */
} sim_block_outcome;

/* `section`: the static part of shared memory, which blocks side by side cannot have. NULL: no
 * memory, which is a defect of the launch. */
sim_block *sim_block_begin(uint64_t number, sim_range section, struct sim_cluster *cluster);

/* The block goes on. When it has ended it is gone. */
sim_block_outcome sim_block_run(sim_block *block);

/* The launch ends: blocks that have not ended are gone. */
void sim_blocks_forget(void);

/* Whether another block could run instead of one that stalls; how many have not begun. */
void sim_block_others(bool others, uint64_t unbegun);

/* Lanes of a warp that have not exited. */
uint32_t sim_live_lanes(int32_t warp);
bool sim_lane_exists(int32_t warp, int32_t lane);

/* The current thread lets others go first. More than 2^20 rests in a row without sim_progress
 * between them are a livelock, reported at `place`. */
void sim_rest(sim_place place);
void sim_progress(void);

/* As sim_rest(), at a place that has come `weight` times as far on the way to a livelock. */
void sim_rest_long(sim_place place, int64_t weight);

/* Ends the launch from within a thread, after a defect. */
void sim_abandon(void) __attribute__((noreturn));

/* The parts of the block's end and of its diagnosis that barrier.c and warp.c know. */
void sim_barrier_begin(void);
void sim_barrier_exit(void); /* a thread of the block has exited */
void sim_warps_begin(void);
void sim_warp_exit(int32_t thread);
bool sim_warps_mismatched(void); /* reports lanes that wait for each other in vain */

/* A matrix instruction for which all lanes of a warp have met, each with its value. */
void sim_tensor_meet(sim_collective kind, int32_t warp, const uint64_t values[SIM_WARP]);

/* The dynamic shared memory of the block that runs. */
sim_range sim_block_shared(void);

/* Data that files keep for each block: their size, and those of the block that runs. */
struct sim_barriers;
struct sim_warps;
struct sim_copies;
struct sim_bulks;
struct sim_wgmmas;
extern const size_t sim_barriers_bytes, sim_warps_bytes, sim_copies_bytes, sim_bulks_bytes,
    sim_wgmmas_bytes;
void sim_barriers_use(struct sim_barriers *barriers);
void sim_warps_use(struct sim_warps *warps);
void sim_copies_use(struct sim_copies *copies);
void sim_bulks_use(struct sim_bulks *bulks);
void sim_wgmmas_use(struct sim_wgmmas *wgmmas);

/* Asynchronous copies at the start of a block and when the current thread exits. */
void sim_bulks_begin(void);
void sim_wgmmas_begin(void);
void sim_async_begin(void);
void sim_async_exit(void);

#endif
