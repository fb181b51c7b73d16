/*
 * One kernel for each class of defect. With broken = 0 it is its own correct twin, and leaves in
 * out[t] either n - 1 - t, through shared memory, or t ^ 1, through a shuffle. The #line directives
 * pin the lines that the reports must name.
 */
#include "device/kernel.h"
#include "tests/sim/kernels.h"

enum { THREADS = SIM_TEST_THREADS };

static __device__ int mirror(int t) {
    return (int)blockDim.x - 1 - t;
}

#define LAUNCHER(name, threads)                                                                    \
    extern "C" assay_status sim_defect_##name(int broken, int *out) {                              \
        return ASSAY_LAUNCH(NULL, 1, threads, 0, name, broken, out);                               \
    }

static __global__ void missing_barrier(int broken, int *out) {
    __shared__ int s[THREADS];
    int t = (int)threadIdx.x;
    s[t] = t;
    if (!broken || t < 32)
#line 101
        __syncthreads();
#line 103
    __syncthreads();
    out[t] = s[mirror(t)];
}
LAUNCHER(missing_barrier, THREADS)

static __global__ void divergent_barrier(int broken, int *out) {
    __shared__ int s[THREADS];
    int t = (int)threadIdx.x;
    s[t] = t;
    if (broken && t == 7)
#line 201
        __syncthreads();
    else
#line 202
        __syncthreads();
    out[t] = s[mirror(t)];
}
LAUNCHER(divergent_barrier, THREADS)

static __global__ void mask_without_caller(int broken, int *out) {
    int t = (int)threadIdx.x;
    unsigned mask = broken && t == 35 ? 0xfffffff7u : 0xffffffffu;
#line 301
    out[t] = __shfl_xor_sync(mask, t, 1);
}
LAUNCHER(mask_without_caller, THREADS)

/* The mask may name lanes that the block does not have; reading one is undefined. */
static __global__ void reads_absent_lane(int broken, int *out) {
    int t = (int)threadIdx.x;
#line 401
    out[t] = __shfl_xor_sync(0xffffffffu, t, broken ? 16 : 1);
}
LAUNCHER(reads_absent_lane, 20)

static __global__ void reads_exited_lane(int broken, int *out) {
    int t = (int)threadIdx.x;
    if (broken && t == 5)
        return;
#line 501
    out[t] = __shfl_xor_sync(0xffffffffu, t, 1);
}
LAUNCHER(reads_exited_lane, THREADS)

static __global__ void mismatched_masks(int broken, int *out) {
    int t = (int)threadIdx.x;
    if (broken && t < 16)
#line 601
        __syncwarp(0xfffffff0u | 1u << t);
    else if (broken && t < 32)
#line 602
        __syncwarp(0xffffff00u);
    out[t] = __shfl_xor_sync(0xffffffffu, t, 1);
}
LAUNCHER(mismatched_masks, THREADS)

static __global__ void mismatched_collectives(int broken, int *out) {
    int t = (int)threadIdx.x;
    if (broken && t < 16)
#line 701
        __any_sync(0xffffffffu, t);
    else if (broken && t < 32)
#line 702
        __all_sync(0xffffffffu, t);
    out[t] = __shfl_xor_sync(0xffffffffu, t, 1);
}
LAUNCHER(mismatched_collectives, THREADS)

static __global__ void wrong_lane(int broken, int *out) {
    int t = (int)threadIdx.x, lane = t % 32;
    if (lane < 16)
#line 801
        out[t] = __shfl_sync(0xffffu, t, broken && t == 3 ? 20 : lane ^ 1);
    else
        out[t] = __shfl_xor_sync(0xffff0000u, t, 1);
}
LAUNCHER(wrong_lane, THREADS)

static __global__ void wrong_width(int broken, int *out) {
    int t = (int)threadIdx.x;
#line 901
    out[t] = __shfl_xor_sync(0xffffffffu, t, 1, broken ? 12 : 16);
}
LAUNCHER(wrong_width, THREADS)

static __global__ void deadlock(int broken, int *out) {
    __shared__ int s[THREADS];
    int t = (int)threadIdx.x;
    s[t] = t;
    if (broken && t < 16)
#line 1001
        __syncwarp();
    else
#line 1002
        __syncthreads();
    out[t] = s[mirror(t)];
}
LAUNCHER(deadlock, THREADS)

static __global__ void livelock(int broken, int *out) {
    __shared__ int s[THREADS], flag;
    int t = (int)threadIdx.x;
    s[t] = t;
    if (t == 0)
        flag = 0;
    __syncthreads();
    if (t == 0)
#line 1101
        while (atomicAdd(&flag, 0) == 0)
            continue;
    else if (t == 1 && !broken)
        atomicExch(&flag, 1);
    out[t] = s[mirror(t)];
}
LAUNCHER(livelock, THREADS)

static __global__ void trap(int broken, int *out) {
    int t = (int)threadIdx.x;
    if (broken && t == 9)
#line 1201
        __trap();
    out[t] = mirror(t);
}
LAUNCHER(trap, THREADS)

struct alignas(16) four {
    int v[4];
};

static __global__ void misaligned_access(int broken, int *out) {
    __shared__ four s[THREADS / 4 + 1];
    int t = (int)threadIdx.x, *elements = reinterpret_cast<int *>(s);
    elements[t] = mirror(t);
    __syncthreads();
    const int *from = elements + t / 4 * 4 + (broken && t == 9);
#line 1301
    const four f = load_whole(reinterpret_cast<const four *>(from));
    out[t] = f.v[t % 4];
}
LAUNCHER(misaligned_access, THREADS)

static __global__ void misaligned_store(int broken, int *out) {
    __shared__ float4 s[THREADS / 4 + 1];
    int t = (int)threadIdx.x;
    float *to = reinterpret_cast<float *>(s) + t / 4 * 4 + (broken && t == 8);
    if (t % 4 == 0)
#line 1401
        __stcs(reinterpret_cast<float4 *>(to), make_float4(3, 2, 1, 0));
    __syncthreads();
    const int least = THREADS - 4 - t / 4 * 4;
    out[t] = least + (int)reinterpret_cast<const float *>(s)[t];
}
LAUNCHER(misaligned_store, THREADS)

static __global__ void misaligned_cast(int broken, int *out) {
    __shared__ float4 s[THREADS / 4 + 1];
    int t = (int)threadIdx.x;
    float *elements = reinterpret_cast<float *>(s);
    elements[t] = (float)mirror(t);
    __syncthreads();
    const float *from = elements + t / 4 * 4 + (broken && t == 9 ? 2 : 0);
#line 1501
    const float4 f = *reinterpret_cast<const float4 *>(from);
    out[t] = (int)(t % 4 == 0 ? f.x : t % 4 == 1 ? f.y : t % 4 == 2 ? f.z : f.w);
}
LAUNCHER(misaligned_cast, THREADS)

static __global__ void misaligned_cast_store(int broken, int *out) {
    int t = (int)threadIdx.x, *to = out + t / 2 * 2 + (broken && t == 8);
    const int2 pair = {mirror(t), mirror(t + 1)};
    if (t % 2 == 0)
#line 1601
        *reinterpret_cast<int2 *>(to) = pair;
}
LAUNCHER(misaligned_cast_store, THREADS)

static __global__ void misaligned_atomic(int broken, int *out) {
    int t = (int)threadIdx.x, *to = out + t / 2 * 2 + (broken && t == 8);
    const unsigned long long low = (unsigned)mirror(t), high = (unsigned)mirror(t + 1);
    if (t % 2 == 0)
#line 1701
        atomicExch(reinterpret_cast<unsigned long long *>(to), high << 32 | low);
}
LAUNCHER(misaligned_atomic, THREADS)

/* Thread 11 does not write its cell. */
static __global__ void uninitialised_shared(int broken, float *out) {
    __shared__ float s[THREADS];
    int t = (int)threadIdx.x;
    if (!broken || t != 11)
        s[t] = (float)t;
    __syncthreads();
    out[t] = s[mirror(t)];
}
extern "C" assay_status sim_uninitialised_shared(int broken, float *out) {
    return ASSAY_LAUNCH(NULL, 2, THREADS, 0, uninitialised_shared, broken, out);
}

static __global__ void uninitialised_dynamic(int broken, float *out) {
    ASSAY_DYNAMIC_SHARED(float, s);
    int t = (int)threadIdx.x;
    if (!broken || t != 11)
        s[t] = (float)t;
    __syncthreads();
    out[t] = s[mirror(t)];
}
extern "C" assay_status sim_uninitialised_dynamic(int broken, float *out) {
    return ASSAY_LAUNCH(NULL, 2, THREADS, THREADS * sizeof(float), uninitialised_dynamic, broken,
                        out);
}

/* Element `i` is written by the last thread: the arrays have THREADS of them. */
static __global__ void store_global(int i, int *out) {
    if (threadIdx.x == THREADS - 1)
        out[i] = i;
}
extern "C" assay_status sim_store_global(int i, int *out) {
    return ASSAY_LAUNCH(NULL, 1, THREADS, 0, store_global, i, out);
}

static __global__ void store_static(int i, int *out) {
    __shared__ int before[THREADS], s[THREADS], after[THREADS];
    int t = (int)threadIdx.x;
    int *cells = s; /* so that no bounds are known to UndefinedBehaviorSanitizer */
    before[t] = after[t] = s[t] = 0;
    __syncthreads();
    if (t == THREADS - 1)
        cells[i] = i;
    __syncthreads();
    out[t] = before[t] + s[t] + after[t];
}
extern "C" assay_status sim_store_static(int i, int *out) {
    return ASSAY_LAUNCH(NULL, 1, THREADS, 0, store_static, i, out);
}

static __global__ void store_dynamic(int i, int *out) {
    ASSAY_DYNAMIC_SHARED(int, s);
    int t = (int)threadIdx.x;
    s[t] = 0;
    __syncthreads();
    if (t == THREADS - 1)
        s[i] = i;
    __syncthreads();
    out[t] = s[t];
}
extern "C" assay_status sim_store_dynamic(int i, int *out) {
    return ASSAY_LAUNCH(NULL, 1, THREADS, THREADS * sizeof(int), store_dynamic, i, out);
}

static __global__ void configured(int *out) {
    atomicExch(out, 1);
}
extern "C" assay_status sim_configured(const unsigned grid[3], const unsigned block[3],
                                       size_t shared_bytes, int *out) {
    dim3 blocks(grid[0], grid[1], grid[2]), threads(block[0], block[1], block[2]);
#line 2001
    return ASSAY_LAUNCH(NULL, blocks, threads, shared_bytes, configured, out);
}

static __global__ void launching(int *out) {
    out[1] = (int)ASSAY_LAUNCH(NULL, 1, 1, 0, configured, out);
}
extern "C" assay_status sim_nested_launch(int *out) {
    return ASSAY_LAUNCH(NULL, 1, 1, 0, launching, out);
}
