/*
 * The order of the threads of a launch: barriers, __syncwarp, mbarriers, and releases and acquires
 * through memory. Each thread has a clock, and knows up to which tick of their clocks it comes
 * behind the others (a vector clock, as in Flanagan, Freund, "FastTrack", PLDI 2009). Threads that
 * do the same show the same time, so that a barrier of a block is one number.
 */
#ifndef ASSAY_SIM_RACE_ORDER_H
#define ASSAY_SIM_RACE_ORDER_H

#include "sim/race/known.h"
#include "sim/trace.h"

enum { SIM_WARPS = SIM_MAX_THREADS / SIM_WARP, SIM_BARRIERS = 16 };

/* Of a thread, which most never have. */
typedef struct sim_ties {
    sim_known *known;       /* beside what is in `base` and `seen` */
    sim_known *released[2]; /* by its last fence of a block (0), of the GPU (1): its next strong
                               write tells others this */
    sim_known *pending[2];  /* seen by strong reads; a fence makes it known */
} sim_ties;

/* When a thread executed fence.proxy.async: its clock, ascending. */
typedef struct sim_fences {
    uint32_t *time;
    uint32_t n, room;
} sim_fences;

/* The clocks of a block that has begun and not ended. */
typedef struct sim_clocks {
    uint32_t serial; /* of the block, in the whole process; 0 is none */
    uint32_t first;  /* of its cluster's blocks */
    uint64_t block;  /* its number in the grid */
    int32_t n_threads;
    uint32_t base;                   /* all threads know the work of all before this time */
    uint32_t top;                    /* no clock shows more */
    uint32_t clock[SIM_MAX_THREADS]; /* where it is more than `base` */
    uint32_t warp_base[SIM_WARPS];   /* the same for the lanes of a warp */
    bool warp_met[SIM_WARPS];
    uint32_t seen[SIM_MAX_THREADS][SIM_WARP]; /* how much a thread knows of its warp's lanes */
    bool tied;                                /* any thread has ties */
    sim_ties ties[SIM_MAX_THREADS];
    bool fenced; /* any thread has fences */
    sim_fences fences[SIM_MAX_THREADS];
    uint32_t n_mbarriers; /* that have an agent */
    uint32_t unmet;       /* warps with waits behind which they have not met (waits.h) */
    struct {
        int32_t thread;
        uint64_t block;
    } issuer[SIM_AGENTS][SIM_MAX_THREADS]; /* by agent: its last thread */
    sim_known *arrived[SIM_BARRIERS];      /* from threads that do not wait */
    struct sim_clocks *next;
} sim_clocks;

/* The thread that runs; `thread` < 0: no thread of a kernel. */
typedef struct sim_running {
    sim_clocks *clocks;
    int32_t thread;
    uint32_t serial, lane, time, base, warp_base; /* copies, for accesses */
    uint32_t first;                               /* serial of the launch */
} sim_running;
extern sim_running sim_running_now;

/* A launch begins: the serial of its first block, below which are those of earlier launches. It
 * ends; blocks may be left over. */
uint32_t sim_order_launch(int32_t n_threads);
void sim_order_launch_end(void);
sim_clocks *sim_order_block(uint64_t block, uint32_t rank, int32_t n_threads);
void sim_order_block_end(sim_clocks *clocks);

/* The number in the grid of a block of this launch, by its serial. */
uint64_t sim_order_block_of(uint32_t serial);

/* Which of `lanes` of a warp did their work of `time` before the running thread's next work. */
uint32_t sim_order_before(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time);

/* Which of the lanes have executed fence.proxy.async behind that time, as far as the running thread
 * knows. */
uint32_t sim_order_fenced(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time);

/* Whether the running thread's own work of that time has been told others and come back, or it has
 * executed fence.proxy.async since. */
bool sim_order_told(uint32_t time);

/* Which of the lanes have done that before any thread of a block that ends has ended. */
uint32_t sim_order_before_end(const sim_clocks *clocks, uint32_t serial, uint32_t warp,
                              uint32_t lanes, uint32_t time);

/* Whether a fence would order them, since the thread has read what they released. */
bool sim_order_lacks_fence(uint32_t serial, uint32_t warp, uint32_t lanes, uint32_t time);

/* A thread runs from now on; -1: none. */
void sim_order_run(sim_clocks *clocks, int32_t thread);

/* The threads in `lanes`, of `live` that have not exited, met at a barrier; one thread arrives at
 * one and goes on; lanes of a warp met in __syncwarp. */
void sim_order_barrier(sim_clocks *clocks, int32_t id, const uint32_t lanes[SIM_WARPS],
                       int32_t live);
void sim_order_arrive(int32_t id);
void sim_order_syncwarp(sim_clocks *clocks, int32_t warp, uint32_t mask);

/* The running thread executes a fence, or accesses memory strongly; `how` as sim/trace.h has it. */
void sim_order_fence(uint32_t how);
void sim_order_strong(const volatile void *address, uint32_t how);

/* The name of an agent that works for the running thread; the thread knows all that an agent did
 * before a time of its clock; it executes fence.proxy.async. */
sim_async sim_order_agent(sim_agent agent, uint32_t number, uint32_t time);
sim_async sim_order_mbarrier_agent(const volatile void *barrier);
void sim_order_done(sim_agent agent, uint32_t number, uint32_t until);
void sim_order_proxy_fence(void);

/* The thread that an entry is told as: the one that asked the agent. */
void sim_order_issuer(uint32_t serial, int32_t number, uint64_t *block, int32_t *thread);

/* The running thread initialises an mbarrier, arrives at it, or has found a phase complete; a phase
 * is complete. */
void sim_order_mbarrier_init(const volatile void *barrier);
/* `relaxed`: only the work before its last fence. */
void sim_order_mbarrier_arrive(const volatile void *barrier, bool relaxed);
/* It adds bytes that the phase waits for, or takes some off. */
void sim_order_mbarrier_bytes(const volatile void *barrier);
/* `by`: what completed it, of an mbarrier that is watched; or NULL. */
struct sim_race_side;
void sim_order_mbarrier_complete(const volatile void *barrier, const struct sim_race_side *by);
void sim_order_mbarrier_wait(const volatile void *barrier, uint32_t parity);

/* Its waits are watched (waits.h): the running thread is about to test a parity, and has missed its
 * phase; it has found its phase complete. */
void sim_order_mbarrier_watch(const volatile void *barrier);
bool sim_order_mbarrier_missed(const volatile void *barrier, uint32_t parity, uint32_t place);
void sim_order_mbarrier_passed(const volatile void *barrier, bool acquires, uint32_t place);

#endif
