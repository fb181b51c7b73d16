/* The launches that the tests of the simulated device call; each .cu file here defines its own. */
#ifndef ASSAY_TESTS_SIM_KERNELS_H
#define ASSAY_TESTS_SIM_KERNELS_H

#include "assay/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bench.cu */
assay_status sim_bench_barriers(int threads, int rounds);
assay_status sim_bench_shuffles(int rounds, float *out);
assay_status sim_bench_matmul(int n, const float *a, const float *b, float *c);

/* defects.cu: one block of 64 threads (20 where a lane is absent); out has one cell a thread. */
enum { SIM_TEST_THREADS = 64 };
assay_status sim_defect_missing_barrier(int broken, int *out);
assay_status sim_defect_divergent_barrier(int broken, int *out);
assay_status sim_defect_mask_without_caller(int broken, int *out);
assay_status sim_defect_reads_absent_lane(int broken, int *out);
assay_status sim_defect_reads_exited_lane(int broken, int *out);
assay_status sim_defect_mismatched_masks(int broken, int *out);
assay_status sim_defect_mismatched_collectives(int broken, int *out);
assay_status sim_defect_wrong_lane(int broken, int *out);
assay_status sim_defect_wrong_width(int broken, int *out);
assay_status sim_defect_deadlock(int broken, int *out);
assay_status sim_defect_livelock(int broken, int *out);
assay_status sim_defect_trap(int broken, int *out);
assay_status sim_defect_misaligned_access(int broken, int *out);
assay_status sim_defect_misaligned_store(int broken, int *out);
assay_status sim_defect_misaligned_cast(int broken, int *out);
assay_status sim_defect_misaligned_cast_store(int broken, int *out); /* `out` aligned to 8 */
assay_status sim_defect_misaligned_atomic(int broken, int *out);     /* likewise */
assay_status sim_uninitialised_shared(int broken, float *out);
assay_status sim_uninitialised_dynamic(int broken, float *out);
assay_status sim_store_global(int i, int *out);
assay_status sim_store_static(int i, int *out);
assay_status sim_store_dynamic(int i, int *out);
assay_status sim_configured(const unsigned grid[3], const unsigned block[3], size_t shared_bytes,
                            int *out);
assay_status sim_nested_launch(int *out);

/* semantics.cu */
enum { SIM_SHFL, SIM_SHFL_UP, SIM_SHFL_DOWN, SIM_SHFL_XOR, SIM_SHFLS };
/* One warp; lane i brings 100 + i. */
assay_status sim_shuffled(int kind, int operand, int width, int *out);
/* One warp; lanes in `members` and the others each call every collective among themselves. Lane i
 * brings values[i]; out[collective][lane]. */
enum {
    SIM_OUT_BALLOT,
    SIM_OUT_ANY,
    SIM_OUT_ALL,
    SIM_OUT_MATCH_ANY,
    SIM_OUT_MATCH_ALL,
    SIM_OUT_ADD,
    SIM_OUT_MIN,
    SIM_OUT_MAX,
    SIM_OUT_MIN_SIGNED,
    SIM_OUT_MAX_SIGNED,
    SIM_OUT_AND,
    SIM_OUT_OR,
    SIM_OUT_XOR,
    SIM_OUTS,
};
assay_status sim_collected(uint32_t members, const uint32_t values[32], uint32_t out[SIM_OUTS][32]);
/* One warp; reverses the lanes of every type that a shuffle takes. */
assay_status sim_shuffled_types(const double in[32], double out[6][32]);
/* 64 threads, of which those with values[t] = 0 have exited; out[0..2] = count, and, or. */
assay_status sim_barrier_votes(const int values[64], int exited, int out[3]);
/* Adds 1 to the cell of each thread of each block, by all eight built-in variables. */
assay_status sim_index(const unsigned grid[3], const unsigned block[3], int *out);
/* out[i] = 2 in[i] for i < n, with few threads. */
assay_status sim_grid_stride(int64_t n, const float *in, float *out);
/* One thread: the results of atomics on 5 with 3, in the order of the source. */
assay_status sim_atomics(int64_t *out);
/* Brings the values to shared memory by a bulk copy, and adds them to `to` by another. */
assay_status sim_bulk_added(float to[4], const float values[4]);
/* `in`: 32 lines of 64, which each block writes to `out`, swizzled. */
assay_status sim_loaded_in_cluster(const uint16_t *in, uint16_t *out, int blocks);
/* order[k]: the k-th thread (of `threads`) to run after a barrier; the k-th block to run. */
assay_status sim_thread_order(int threads, int *counter, int *order);
assay_status sim_block_order(int blocks, int *counter, int *order);
/* The sum over 256 threads, by a tree in shared memory and by shuffles. */
assay_status sim_sums(const float in[256], float out[2]);
/* Reads the mirrored cell without a barrier after its write. */
assay_status sim_unordered(int *out);
/* Passes int arguments to a kernel that takes (int64_t, double, const int *). */
assay_status sim_converts(int a, int b, int *c, double out[3]);
/* A thread waits for another one's lock. */
assay_status sim_locked(int *lock, int *sum);

#ifdef __cplusplus
}
#endif

#endif
