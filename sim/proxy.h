/*
 * Hopper's asynchronous operations, as PTX has them: mbarriers, bulk copies (TMA) and wgmma.
 * Kernels from PTX and kernels of C++ call the same functions; all act for the thread that runs.
 *
 * An operation is done where it is issued, or when a thread waits for it; the schedule says which.
 * The recorder sees its accesses where it is issued, as those of an agent (trace.h). They come
 * behind everything that the issuing thread knew, and before a thread's work after its wait for
 * them. So the findings depend on neither.
 */
#ifndef ASSAY_SIM_PROXY_H
#define ASSAY_SIM_PROXY_H

#include "sim/mma.h"
#include "sim/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- mbarriers; `barrier`: where its 8 bytes lie */

void sim_mbarrier_init(void *barrier, uint32_t count, const sim_site *site);
void sim_mbarrier_invalidate(void *barrier, const sim_site *site);
void sim_mbarrier_expect(void *barrier, int64_t bytes, const sim_site *site);
/* `complete`: it may complete the phase. Returns the state before. */
uint64_t sim_mbarrier_arrive(void *barrier, uint32_t count, int64_t expected, bool drop,
                             bool complete, bool releases, const sim_site *site);
/* `wanted`: the phase's parity, or SIM_BY_STATE and the parity that a state of the barrier has. */
enum { SIM_BY_STATE = 2 };
bool sim_mbarrier_test(const void *barrier, uint32_t wanted, bool tries, bool acquires,
                       const sim_site *site);
/* cp.async.mbarrier.arrive; `counted`: .noinc */
void sim_mbarrier_copy_arrive(void *barrier, bool counted, const sim_site *site);

/* ---- clusters, of the thread that runs */

void sim_cluster_arrive(bool releases, const sim_site *site);
void sim_cluster_wait(bool acquires, const sim_site *site);
/* mapa of a generic address */
char *sim_cluster_map_generic(const void *address, uint32_t rank, const sim_site *site);

/* ---- bulk copies; `global` lies in global memory, `map` is sim/ptx/tensor_map.h's */

typedef enum sim_reduction {
    SIM_NO_REDUCTION = -1,
    SIM_BULK_ADD,
    SIM_BULK_MIN,
    SIM_BULK_MAX,
    SIM_BULK_AND,
    SIM_BULK_OR,
    SIM_BULK_XOR,
} sim_reduction;

void sim_bulk_load(void *shared, const void *global, uint32_t bytes, void *barrier,
                   const sim_site *site);
/* To the blocks of the cluster that `mask` has, by their ranks. */
void sim_bulk_load_to_all(void *shared, const void *global, uint32_t bytes, void *barrier,
                          uint32_t mask, const sim_site *site);
void sim_tensor_load_to_all(void *shared, const void *map, uint32_t rank, const int32_t *at,
                            void *barrier, uint32_t mask, const sim_site *site);
/* `reduction`: of sim_reduction; `type`: of an element, as tensor_map.h numbers them. */
void sim_bulk_store(void *global, const void *shared, uint32_t bytes, int reduction, uint32_t type,
                    const sim_site *site);
void sim_tensor_load(void *shared, const void *map, uint32_t rank, const int32_t *at, void *barrier,
                     const sim_site *site);
void sim_tensor_store(const void *map, uint32_t rank, const int32_t *at, const void *shared,
                      int reduction, const sim_site *site);
/* fence.proxy.async */
void sim_proxy_fence(const sim_site *site);
void sim_bulk_commit(void);
/* All but the last `groups` groups of the thread are done; `read`: they have read at least. */
void sim_bulk_wait(uint32_t groups, bool read, const sim_site *site);

/* ---- wgmma */

typedef struct sim_wgmma {
    sim_mma_shape product; /* its factors' type and its sums' */
    uint32_t integers;     /* SIM_M16N8_INTEGERS: of which (mma.h) */
    uint32_t columns;
    uint64_t a, b;             /* descriptors */
    const uint32_t *registers; /* four of a; NULL: it lies in shared memory */
    bool negate_a, negate_b, transposed_a, transposed_b;
    bool zero;     /* the sums begin at zero: scale-d is false */
    bool in_place; /* results are stored to `c` by the wait, which must be there until then */
} sim_wgmma;

/* How many words of 32 bits a lane's sums take. */
uint32_t sim_wgmma_words(const sim_wgmma *w);

/*
 * c: the lane's sums. Until its wait they are tags, NaNs that say whose result will stand there; a
 * tag may be moved, and be the sum that a later product adds to. sim_wgmma_result() makes a tag
 * that has been waited for its result and leaves all else as it is.
 */
void sim_wgmma_issue(const sim_wgmma *w, uint32_t *c, const sim_site *site);
void sim_wgmma_fence(void);
void sim_wgmma_commit(void);
void sim_wgmma_wait(uint32_t groups, const sim_site *site);
uint32_t sim_wgmma_result(uint32_t word);
/* The thread has made results of all its tags that it has waited for. */
void sim_wgmma_taken(void);
/* A product that is under way: its sum is read, is written, or its factors in registers are. */
bool sim_wgmma_is_pending(uint32_t word);
void sim_wgmma_touched(uint32_t word, const sim_site *site);
void sim_wgmma_overwritten(uint32_t word, const sim_site *site);
uint32_t sim_wgmma_issued(void);
void sim_wgmma_factor_written(uint32_t issued, const sim_site *site);
void sim_wgmma_unfenced(const sim_site *site);

#ifdef __cplusplus
}
#endif

#endif
