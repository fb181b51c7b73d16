/*
 * The CUDA headers of this folder call these functions: the runtime behind the inline functions
 * that kernels include. It is never compiled with the recorder's instrumentation, so that
 * collectives and atomics are not taken for a kernel's own accesses.
 */
#ifndef ASSAY_SIM_RUNTIME_H
#define ASSAY_SIM_RUNTIME_H

#include "assay/status.h"
#include "sim/ptx/device/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct uint3 {
    unsigned int x, y, z;
} uint3;

/* Bytes of shared memory that one block may have: 227 KB, as on sm_90. */
#define ASSAY_MAX_SHARED 232448

/* The shared memory that kernels plan with; given on the command line for mutants
 * (mutants/build.c). Where accesses are recorded (ASSAY_RECORDED), so little that small cases take
 * the ways that plain kernels take at large sizes only, unless a test wants all of it. */
#ifndef ASSAY_SHARED_BUDGET
#ifdef ASSAY_RECORDED
#define ASSAY_SHARED_BUDGET sim_shared_budget()
#else
#define ASSAY_SHARED_BUDGET ASSAY_MAX_SHARED
#endif
#endif
int32_t sim_shared_budget(void);

/* linear_grid(): every kernel strides. */
#define ASSAY_MAX_GRID 5

/* So few that plans for small problems and those for large ones are both seen at small sizes; as
 * many as the GPU has where the two devices' bits are compared (assay/device.h, plan_for). */
#define ASSAY_MULTIPROCESSORS sim_multiprocessors()
int32_t sim_multiprocessors(void);

/* The static shared memory of one kernel file: a section of the object that holds it. */
typedef struct sim_section {
    const char *name;
    char *low, *high; /* valid when found */
    bool found;
} sim_section;

typedef struct sim_launch {
    const char *kernel, *file; /* the kernel as written in ASSAY_LAUNCH, and where that is */
    int line;
    uint3 grid, block;
    uint32_t cluster;                 /* of a kernel in C++: blocks along x; 0: no clusters */
    size_t shared_bytes;              /* dynamic shared memory */
    sim_section *section;             /* NULL: there is no other */
    void (*run)(const void *closure); /* runs one thread */
    const void *closure;
    /* Of a kernel in C++: its code, and its parameters as CUDA lays them out. */
    const void *function;
    const void *parameters;
    /* Accesses are recorded; of a kernel from PTX, the places that sim_trace_site() is called from:
     * in C++ the compiler's hooks tell (race/race_access.c). */
    bool records;
    bool proxies;   /* it has instructions of the asynchronous proxy */
    bool unordered; /* its blocks may run at the same time and leave the same bits */
    const sim_site *sites;
    size_t n_sites;
} sim_launch;

/* Launches of kernels in C++ go there instead, when it is not NULL: to run their PTX. */
extern assay_status (*sim_launch_instead)(const sim_launch *launch);

/*
 * Runs all threads of all blocks.
 *   ASSAY_ERR_KERNEL  a defect was found; the line names the kernel's file and line
 *   ASSAY_ERR_DEVICE  CUDA would refuse this configuration
 *   ASSAY_ERR_MEMORY  no memory for stacks
 */
assay_status sim_launch_run(const sim_launch *launch) ASSAY_MUST_CHECK;

/* The same for the host code of a kernel, which may ignore the status: the device's finish()
 * returns it, too. */
assay_status sim_launch_kernel(const sim_launch *launch) ASSAY_MUST_CHECK;

/* The dynamic shared memory of the block that runs, and where that is said. */
void *sim_dynamic_shared(void);
char *const *sim_dynamic_place(void);

typedef enum sim_vote { SIM_VOTE_NONE, SIM_VOTE_COUNT, SIM_VOTE_AND, SIM_VOTE_OR } sim_vote;

/* __syncthreads and its relatives. */
int sim_barrier(sim_vote vote, int predicate, const char *file, int line);

/* PTX's barriers 0 to 15. `count`: of threads, a multiple of 32; 0: all of the block. `aligned`:
 * lanes of a warp must come at one line. To arrive is not to wait. */
int sim_barrier_numbered(uint32_t id, uint32_t count, bool aligned, sim_vote vote, int predicate,
                         const char *file, int line);
void sim_barrier_arrive(uint32_t id, uint32_t count, bool aligned, const char *file, int line);

typedef enum sim_collective {
    SIM_SYNCWARP,
    SIM_SHUFFLE,
    SIM_SHUFFLE_UP,
    SIM_SHUFFLE_DOWN,
    SIM_SHUFFLE_XOR,
    SIM_BALLOT,
    SIM_ANY,
    SIM_ALL,
    SIM_MATCH_ANY,
    SIM_MATCH_ALL,
    SIM_REDUCE_ADD,
    SIM_REDUCE_MIN,
    SIM_REDUCE_MAX,
    SIM_REDUCE_MIN_SIGNED,
    SIM_REDUCE_MAX_SIGNED,
    SIM_REDUCE_AND,
    SIM_REDUCE_OR,
    SIM_REDUCE_XOR,
    SIM_MMA_BF16,
    SIM_MMA_F16,
    SIM_MMA_TF32,
    SIM_MMA_F64,
    SIM_MMA_K8_BF16,
    SIM_MMA_K8_F16,
    SIM_MMA_K4_TF32,
    SIM_MMA_F16_F16,
    SIM_MMA_K8_F16_F16,
    SIM_MMA_M16N8K4_F64,
    SIM_MMA_M16N8K8_F64,
    SIM_MMA_M16N8K16_F64,
    SIM_MMA_INTEGERS,
    SIM_LDMATRIX,
    SIM_STMATRIX,
    SIM_MOVMATRIX,
    SIM_WGMMA,
} sim_collective;

/* Events for the counters alone (count/count.h), beside accesses and meetings. */
typedef enum sim_event {
    SIM_EVENT_MULTIPLY_ADDS, /* of tensor cores, mma.sync and wgmma */
    SIM_EVENT_WGMMA_BF16,    /* instructions of a warpgroup */
    SIM_EVENT_WGMMA_F16,
    SIM_EVENT_WGMMA_TF32,
    SIM_EVENT_BULK_LOADS, /* cp.async.bulk, of tensors or not */
    SIM_EVENT_BULK_LOAD_BYTES,
    SIM_EVENT_BULK_LOAD_SECTORS,
    SIM_EVENT_BULK_STORES,
    SIM_EVENT_BULK_STORE_BYTES,
    SIM_EVENT_BULK_STORE_SECTORS,
    SIM_EVENT_BULK_REDUCTIONS,
    SIM_EVENT_BULK_REDUCTION_BYTES,
    SIM_EVENT_BULK_REDUCTION_SECTORS,
    SIM_EVENT_MBARRIER_PHASES, /* that were completed */
    SIM_EVENT_MBARRIER_WAITS,  /* a thread finds its phase complete */
    SIM_EVENT_MBARRIER_STALLS, /* it looks, and the phase is not complete yet */
    SIM_EVENTS,
} sim_event;

/* The calling lane meets the lanes of `mask`. `value`: what it brings; `lane` and `width`: the
 * shuffles' last two arguments. Returns this lane's result of the collective; of SIM_BALLOT, the
 * upper half says which lanes met. */
uint64_t sim_meet(sim_collective kind, uint32_t mask, uint64_t value, uint32_t lane, int width,
                  const char *file, int line);

/* A shuffle as PTX has it: `clamp` is the instruction's operand c. The first function says which
 * lane's value `own` takes; false: that lane is not in its segment, and it keeps its own value. */
bool sim_shuffle_source(sim_collective kind, int32_t own, uint32_t lane, uint32_t clamp,
                        int32_t *source);
uint64_t sim_shuffle(sim_collective kind, uint32_t mask, uint64_t value, uint32_t lane,
                     uint32_t clamp, const char *file, int line);

/* The warp's matrix instructions and asynchronous copies, as kernels/common/tensor.h documents
 * them. `kind`: one of SIM_MMA_...; a, b, c: the lane's fragments. */
void sim_mma(sim_collective kind, const void *a, const void *b, void *c, const char *file,
             int line);
void sim_ldmatrix(uint32_t *r, int32_t matrices, bool transposed, const void *row, const char *file,
                  int line);
void sim_stmatrix(const uint32_t *r, int32_t matrices, bool transposed, void *row, const char *file,
                  int line);
uint32_t sim_movmatrix(uint32_t r, const char *file, int line);
void sim_cp_async(void *shared, const void *global, int32_t bytes, int32_t valid, const char *file,
                  int line);
void sim_cp_async_commit(void);
void sim_cp_async_wait(int32_t groups);

/* A copy of SIM_WHOLE bytes from or to the device's memory, recorded as one access of its caller:
 * in programs with the recorder (race/race_access.c).
 */
enum { SIM_WHOLE = 16 };
void sim_load_whole(void *to, const void *from);
void sim_store_whole(void *to, const void *from);

/* The calling lane's bit alone: lanes run one at a time here, and CUDA promises no more. */
uint32_t sim_activemask(void);

/* Lets other threads run: in __nanosleep at once, in fences once in a while. */
void sim_sleep(const char *file, int line);
void sim_fence(const char *file, int line);

/* A loop of the thread has gone round many times (PTX_TURNS). */
void sim_turn(const char *file, int line);

/* The thread polls memory by `call`: others run once in a while. */
void sim_poll(const char *call, const char *file, int line);

/* setmaxnreg: from now on each thread of the warpgroup has so many registers. */
void sim_registers_set(int32_t n, const char *file, int line);

/* A clock that counts its own calls, so that runs repeat. */
long long sim_clock(void);

/* __trap and a failed assert end the launch; outside of a kernel they abort the process. */
void sim_trap(const char *kind, const char *what, const char *file, int line)
    __attribute__((noreturn));

/* Ends the launch with a report unless the address is a multiple of `bytes`. */
void sim_require_aligned(const char *call, const void *address, int32_t bytes, const char *file,
                         int line);

/* T atomicOp(T *address, T value): returns the old value. */
#define SIM_ATOMICS(DO)                                                                            \
    DO(add, i32, int)                                                                              \
    DO(add, u32, unsigned int)                                                                     \
    DO(add, u64, unsigned long long)                                                               \
    DO(sub, i32, int)                                                                              \
    DO(sub, u32, unsigned int)                                                                     \
    DO(min, i32, int)                                                                              \
    DO(min, u32, unsigned int)                                                                     \
    DO(min, i64, long long)                                                                        \
    DO(min, u64, unsigned long long)                                                               \
    DO(max, i32, int)                                                                              \
    DO(max, u32, unsigned int)                                                                     \
    DO(max, i64, long long)                                                                        \
    DO(max, u64, unsigned long long)                                                               \
    DO(exch, i32, int)                                                                             \
    DO(exch, u32, unsigned int)                                                                    \
    DO(exch, u64, unsigned long long)                                                              \
    DO(and, i32, int)                                                                              \
    DO(and, u32, unsigned int)                                                                     \
    DO(and, u64, unsigned long long)                                                               \
    DO(or, i32, int)                                                                               \
    DO(or, u32, unsigned int)                                                                      \
    DO(or, u64, unsigned long long)                                                                \
    DO(xor, i32, int)                                                                              \
    DO(xor, u32, unsigned int)                                                                     \
    DO(xor, u64, unsigned long long)                                                               \
    DO(inc, u32, unsigned int)                                                                     \
    DO(dec, u32, unsigned int)
#define SIM_ATOMICS_FLOAT(DO)                                                                      \
    DO(add, f32, float)                                                                            \
    DO(add, f64, double)                                                                           \
    DO(exch, f32, float)
#define SIM_ATOMIC_CAS(DO)                                                                         \
    DO(i32, int)                                                                                   \
    DO(u32, unsigned int)                                                                          \
    DO(u64, unsigned long long)                                                                    \
    DO(u16, unsigned short)

#define SIM_DECLARE(op, suffix, type)                                                              \
    type sim_atomic_##op##_##suffix(type *address, type value, const char *file, int line);
#define SIM_DECLARE_CAS(suffix, type)                                                              \
    type sim_atomic_cas_##suffix(type *address, type compare, type value, const char *file,        \
                                 int line);
SIM_ATOMICS(SIM_DECLARE)
SIM_ATOMICS_FLOAT(SIM_DECLARE)
SIM_ATOMIC_CAS(SIM_DECLARE_CAS)
#undef SIM_DECLARE
#undef SIM_DECLARE_CAS

/* An atomic of the current thread at `address` has been done; `changed`: memory differs now. For
 * atomics on types that this header does not know. */
void sim_atomic_done(const volatile void *address, size_t bytes, bool changed, const char *file,
                     int line);
/* The same, without recording the access. */
void sim_atomic_turn(bool changed, const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
