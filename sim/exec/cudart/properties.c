/* cudaDeviceProp: 1,008 bytes in CUDA 13, 1,032 in CUDA 12, 728 before. */
#include "sim/exec/properties.h"

#include "sim/exec/cudart/cudart.h"
#include "sim/exec/memory.h"

#include <string.h>

#if EXEC_CUDART >= 13
#define UNTIL_12(field)
#else
#define UNTIL_12(field) field;
#endif

typedef struct properties {
    char name[256], uuid[16], luid[8];
    unsigned luid_mask;
    size_t memory, shared;
    int registers, warp;
    size_t pitch;
    int threads, block[3], grid[3];
    UNTIL_12(int clock)
    size_t constants;
    int major, minor;
    size_t texture_alignment, texture_pitch;
    UNTIL_12(int overlap)
    int multiprocessors;
    UNTIL_12(int timeout)
    int integrated, maps_host;
    UNTIL_12(int mode)
    int texture_1d, texture_1d_mipmap;
    UNTIL_12(int texture_1d_linear)
    int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2];
    int texture_3d[3], texture_3d_other[3], cubemap, texture_1d_layered[2], texture_2d_layered[3];
    int cubemap_layered[2], surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2];
    int surface_2d_layered[3], surface_cubemap, surface_cubemap_layered[2];
    size_t surface_alignment;
    int concurrent, ecc, bus, bus_device, bus_domain, tcc, engines, unified;
    UNTIL_12(int memory_clock)
    int memory_bus, cache, persisting_cache, multiprocessor_threads, priorities, global_l1,
        local_l1;
    size_t multiprocessor_shared;
    int multiprocessor_registers, managed, multi_gpu, multi_gpu_group, native_atomics;
    UNTIL_12(int single_to_double)
    int pageable, concurrent_managed, preemption, host_pointer, cooperative;
    UNTIL_12(int cooperative_multi)
    size_t most_shared;
    int page_tables, managed_from_host, multiprocessor_blocks, window;
    size_t reserved_shared;
    /* The struct of CUDA 11 ends here. */
    int host_register, sparse, read_only, semaphores, pools, rdma;
    unsigned rdma_flush;
    int rdma_order;
    unsigned pool_handles;
    int deferred, ipc_events, clusters, function_pointers, reserved[63];
} properties;
#if EXEC_CUDART >= 13
_Static_assert(sizeof(properties) == 1008, "as CUDA 13 lays it out");
#else
_Static_assert(sizeof(properties) == 1032, "as CUDA 12 lays it out");
#endif

static int attribute(int number) {
    int value = 0;
    return exec_attribute(number, &value) == EXEC_SUCCESS ? value : 0;
}

static void fill(properties *p) {
    *p = (properties){
        .name = EXEC_DEVICE_NAME,
        .uuid = "assay-sim-sm-90",
        .memory = EXEC_DEVICE_BYTES,
        .shared = EXEC_SHARED,
        .registers = EXEC_MULTIPROCESSOR_REGISTERS,
        .warp = 32,
        .pitch = INT32_MAX,
        .threads = EXEC_MOST_THREADS,
        .block = {attribute(2), attribute(3), attribute(4)},
        .grid = {attribute(5), attribute(6), attribute(7)},
        .constants = 65536,
        .major = 9,
        .minor = 0,
        .texture_alignment = 512,
        .texture_pitch = 32,
        .multiprocessors = EXEC_MULTIPROCESSORS,
        .maps_host = 1,
        .surface_alignment = 512,
        .concurrent = 1,
        .engines = attribute(40),
        .unified = 1,
        .memory_bus = attribute(37),
        .cache = EXEC_CACHE,
        .multiprocessor_threads = EXEC_MULTIPROCESSOR_THREADS,
        .priorities = 1,
        .global_l1 = 1,
        .local_l1 = 1,
        .multiprocessor_shared = EXEC_MULTIPROCESSOR_SHARED,
        .multiprocessor_registers = EXEC_MULTIPROCESSOR_REGISTERS,
        .managed = 1,
        .pageable = attribute(88),
        .concurrent_managed = attribute(89),
        .preemption = attribute(90),
        .host_pointer = attribute(91),
        .cooperative = 1,
        .most_shared = EXEC_MOST_SHARED,
        .multiprocessor_blocks = EXEC_MULTIPROCESSOR_BLOCKS,
        .reserved_shared = EXEC_RESERVED_SHARED,
        .host_register = attribute(99),
        .read_only = attribute(113),
        .pools = attribute(115),
        .ipc_events = attribute(125),
        .clusters = attribute(120),
    };
#if EXEC_CUDART < 13
    p->clock = p->memory_clock = EXEC_CLOCK;
    p->overlap = 1;
    p->single_to_double = attribute(87);
#endif
}

static exec_error give(void *to, size_t bytes, int device) {
    properties p;
    if (device != 0)
        return EXEC_INVALID_DEVICE;
    if (to == NULL)
        return EXEC_INVALID_VALUE;
    fill(&p);
    memcpy(to, &p, bytes);
    return EXEC_SUCCESS;
}

#if EXEC_CUDART >= 13
EXPORT exec_error cudaGetDeviceProperties(void *to, int device) {
    EXEC_CALL(give(to, sizeof(properties), device));
}
#else
EXPORT exec_error cudaGetDeviceProperties(void *to, int device) {
    EXEC_CALL(give(to, offsetof(properties, host_register), device));
}
#endif
#if EXEC_CUDART == 12
EXPORT exec_error cudaGetDeviceProperties_v2(void *to, int device) {
    EXEC_CALL(give(to, sizeof(properties), device));
}
#endif
