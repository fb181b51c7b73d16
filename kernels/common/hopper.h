/*
 * The instructions that sm_90a alone has, by their PTX names: inline PTX under nvcc, models on the
 * simulated device (sim/proxy.h). Shared memory is the launch's dynamic one. Every function is one
 * instruction unless it says otherwise. barrier_sync() and barrier_arrive() are in tensor.h.
 *
 *     uint32_t shared_address(const void *shared)
 *         Where it lies as the hardware counts, which descriptors, swizzles and alignments go by.
 *
 *     mbarrier_init(uint64_t *barrier, uint32_t arrivals)      by one thread, and then by it
 *     mbarriers_made()                                         before the block's __syncthreads
 *     mbarrier_arrive(barrier)
 *     mbarrier_expect(barrier, uint32_t bytes)
 *         Arrives; the phase waits for so many bytes of copies, too.
 *     mbarrier_wait(barrier, uint32_t parity)
 *         A loop until the phase of that parity, 0 of the first, is complete. The barrier must be
 *         in that phase or the one behind it.
 *
 *     mbarriers_made_in_cluster()
 *         By all threads of a cluster's blocks (ASSAY_LAUNCH_CLUSTERS), of mbarriers that other
 *         blocks use, behind mbarriers_made() and __syncthreads: waits until all have come.
 *     cluster_barrier()
 *         As __syncthreads, of all threads of the cluster's blocks. No block may end before others'
 *         accesses to its shared memory.
 *     mbarrier_arrive_at(barrier, uint32_t rank, uint32_t arrivals)
 *         So many arrivals at the barrier that lies at this place in a block of the cluster; ranks
 *         are blockIdx.x modulo its size. It hands back what asynchronous copies and products have
 *         read, and orders no other accesses.
 *
 *     tensor_load(void *shared, const tensor_map *map, int32_t column, int32_t line, barrier)
 *         One thread starts to copy the map's box that begins there. What lies outside of the
 *         matrix is zero. The barrier hears of all the box's bytes.
 *     tensor_load(void *shared, const tensor_map *map, int32_t column, line, plane, barrier)
 *         The same of a map that has planes: a box lies in one.
 *     tensor_load_to(void *shared, const tensor_map *map, int32_t column, line, barrier,
 *                    uint16_t blocks)
 *         The first to this place in all the cluster's blocks that have their bit; it tells the
 *         barrier at this place in each.
 *     tensor_store(const tensor_map *map, int32_t column, int32_t line, const void *shared)
 *         The other way; what lies outside is not written.
 *     tensor_prefetch(const tensor_map *map, int32_t column, int32_t line)
 *         Brings the box to the L2 cache.
 *     tensor_map_prefetch(const tensor_map *map)
 *         Brings the map itself, so that the first copy does not wait for it.
 *     bulk_load(void *shared, const void *global, uint32_t bytes, barrier)
 *     bulk_store(void *global, const void *shared, uint32_t bytes)
 *         One thread starts to copy bytes as they lie; addresses and their number are multiples
 *         of 16.
 *     bulk_add(float *global, const float *shared, uint32_t bytes)
 *         A store that adds. A subnormal number counts as 0 of its sign, and so does a sum that
 *         would be one.
 *     bulk_commit()    bulk_wait_read<N>()    bulk_wait<N>()
 *         Groups of the thread's stores: at most the last N have not read shared memory, are not
 *         complete. What is complete, ordinary accesses see without a fence.
 *     fence_proxy_async()
 *         This thread's accesses to shared memory come before asynchronous accesses that begin
 *         after a barrier behind this call.
 *     fence_proxy_async_global()
 *         The same of global memory, and of what the thread learnt of other threads' accesses.
 *
 *     wgmma<T, A_ROWS_INNER, B_ROWS_INNER>(float (&d)[N / 2], uint64_t a, uint64_t b, bool adds)
 *         D (64, N) = A (64, 16) B (16, N), plus D if it adds; N is 256, 192, 128, 96, 64, 32 or
 *         24, and T, the operands' type, bf16 or f16. All four warps of a warpgroup call it
 *         together.
 *         a and b are descriptors of the operands in shared memory (wgmma_descriptor); the
 *         template's arguments say that their lines there are not along k. Warp w and lane 4g + t
 *         hold in d[4j + i] row 16w + g + 8 (i / 2), column 8j + 2t + i % 2.
 *     wgmma<T, B_ROWS_INNER>(d, const uint32_t (&a)[4], uint64_t b, bool adds)
 *         The same with A in registers: a[i] has row 16w + g + 8 (i % 2), column 2t + 8 (i / 2) in
 *         its low half and the next one in its high half. They may change behind the wait.
 *     wgmma_bf16<A_ROWS_INNER, B_ROWS_INNER>(d, uint64_t a, uint64_t b, bool adds)
 *         The first, of bf16.
 *     wgmma_tf32(d, uint64_t a, uint64_t b, bool adds)
 *     wgmma_tf32(d, const uint32_t (&a)[4], uint64_t b, bool adds)
 *         Both, of TF32: fp32 numbers whose low 13 bits are ignored, 8 k of them, along which lines
 *         in shared memory are. a[i] has row 16w + g + 8 (i % 2), column t + 4 (i / 2).
 *     wgmma_fence()    wgmma_commit()    wgmma_wait<N>()
 *         Registers and the first product; groups; at most the last N are not complete.
 *     wgmma_results(d)
 *         No instruction: behind a wait, before d is read.
 *
 *     uint32_t made_anew(uint32_t x)
 *         No instruction: x, which the compiler knows nothing of. What depends on it is not kept in
 *         registers from one turn of a loop to the next.
 *
 *     registers_lower<N>()    registers_raise<N>()
 *         A warpgroup's threads have N registers each from here on.
 *
 *     assay_status make_tensor_map(tensor_map *map, const tensor_lines *of)
 *         On the host: a matrix of 16-bit elements in global memory for the copies above, or planes
 *         of matrices. It begins at a multiple of 16 bytes, as each of its lines does. In shared
 *         memory a box's lines are 128 bytes, 64 elements, apart, the box is aligned to 1024 bytes,
 *         and pieces of 16 bytes are swizzled: piece p of line l lies at p ^ l % 8.
 *     assay_status make_tf32_map(tensor_map *map, const tensor_lines *of)
 *         The same of fp32, 32 elements a line of a box, which loads round to TF32, to nearest
 * even.
 *
 *     assay_status find_hopper(bool *is_hopper)
 *         Whether the device has all this, and this build the code for it.
 */
#ifndef ASSAY_KERNELS_COMMON_HOPPER_H
#define ASSAY_KERNELS_COMMON_HOPPER_H

#include "device/kernel.h"

/* CUtensorMap's bytes. */
struct alignas(64) tensor_map {
    uint64_t words[16];
};

struct tensor_lines {
    const void *data;
    int64_t length, lines, stride;        /* elements */
    int32_t box_lines;                    /* of 64 elements each, or 32 of fp32 */
    int64_t planes = 0, plane_stride = 0; /* 0: one, of which tensor_load() is not told */
};

constexpr int TENSOR_BOX_LENGTH = 64, TENSOR_LINE_BYTES = 128, TENSOR_ALIGNMENT = 1024;

#if defined(__CUDACC__)
#include "device/hopper.h"
#else
#include "sim/hopper.h"
#endif

/* Declines a call of `name`, "op/variant", where the device or the build is without all this. */
static inline assay_status require_hopper(const char *name) {
    bool hopper;
    const assay_status status = find_hopper(&hopper);
    if (status == ASSAY_OK && !hopper)
        return assay_fail(ASSAY_ERR_UNSUPPORTED,
                          "%s: needs a GPU of compute capability 9.0, and a build with "
                          "-DCMAKE_CUDA_ARCHITECTURES=90a; v3 runs without them",
                          name);
    return status;
}

/*
 * A descriptor of an operand that lies in shared memory as tensor_load() leaves it; its beginning
 * is a multiple of 32 bytes along a line and of 1024 across. `group`: where lines are not along k,
 * the bytes from one 64 rows to the next.
 */
static __device__ __forceinline__ uint64_t wgmma_descriptor(uint32_t address, uint32_t group) {
    const uint64_t swizzle_128 = 1, eight_lines = 8 * TENSOR_LINE_BYTES;
    return (uint64_t)(address >> 4 & 0x3fff) | (uint64_t)(group >> 4) << 16 |
           eight_lines >> 4 << 32 | swizzle_128 << 62;
}

#endif
