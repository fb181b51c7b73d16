/* Correct kernels, one for each thing whose meaning semantics_test.c checks. */
#include "device/kernel.h"
#include "kernels/common/hopper.h"
#include "tests/sim/kernels.h"

static const unsigned all_lanes = 0xffffffffu;

static __global__ void shuffled(int kind, int operand, int width, int *out) {
    int t = (int)threadIdx.x, v = 100 + t;
    switch (kind) {
    case SIM_SHFL:
        out[t] = __shfl_sync(all_lanes, v, operand, width);
        break;
    case SIM_SHFL_UP:
        out[t] = __shfl_up_sync(all_lanes, v, (unsigned)operand, width);
        break;
    case SIM_SHFL_DOWN:
        out[t] = __shfl_down_sync(all_lanes, v, (unsigned)operand, width);
        break;
    default:
        out[t] = __shfl_xor_sync(all_lanes, v, operand, width);
    }
}
extern "C" assay_status sim_shuffled(int kind, int operand, int width, int *out) {
    return ASSAY_LAUNCH(NULL, 1, 32, 0, shuffled, kind, operand, width, out);
}

static __device__ void collect(unsigned mask, int lane, uint32_t v, uint32_t (*out)[32]) {
    int same = 0;
    out[SIM_OUT_BALLOT][lane] = __ballot_sync(mask, (int)(v & 1));
    out[SIM_OUT_ANY][lane] = (uint32_t)__any_sync(mask, (int)(v & 1));
    out[SIM_OUT_ALL][lane] = (uint32_t)__all_sync(mask, (int)(v & 1));
    out[SIM_OUT_MATCH_ANY][lane] = __match_any_sync(mask, v);
    uint32_t lanes = __match_all_sync(mask, v, &same);
    out[SIM_OUT_MATCH_ALL][lane] = same ? lanes : 0;
    out[SIM_OUT_ADD][lane] = __reduce_add_sync(mask, v);
    out[SIM_OUT_MIN][lane] = __reduce_min_sync(mask, v);
    out[SIM_OUT_MAX][lane] = __reduce_max_sync(mask, v);
    out[SIM_OUT_MIN_SIGNED][lane] = (uint32_t)__reduce_min_sync(mask, (int)v);
    out[SIM_OUT_MAX_SIGNED][lane] = (uint32_t)__reduce_max_sync(mask, (int)v);
    out[SIM_OUT_AND][lane] = __reduce_and_sync(mask, v);
    out[SIM_OUT_OR][lane] = __reduce_or_sync(mask, v);
    out[SIM_OUT_XOR][lane] = __reduce_xor_sync(mask, v);
}

static __global__ void collected(unsigned members, const uint32_t *values, uint32_t (*out)[32]) {
    int lane = (int)threadIdx.x;
    if (members >> lane & 1)
        collect(members, lane, values[lane], out);
    else
        collect(~members, lane, values[lane], out);
}
extern "C" assay_status sim_collected(uint32_t members, const uint32_t values[32],
                                      uint32_t out[SIM_OUTS][32]) {
    return ASSAY_LAUNCH(NULL, 1, 32, 0, collected, members, values, out);
}

static __global__ void shuffled_types(const double *in, double (*out)[32]) {
    int t = (int)threadIdx.x, from = 31 - t;
    out[0][t] = __shfl_sync(all_lanes, in[t], from);
    out[1][t] = (double)__shfl_sync(all_lanes, (float)in[t], from);
    out[2][t] = (double)__shfl_sync(all_lanes, (int)in[t], from);
    out[3][t] = (double)__shfl_sync(all_lanes, (long long)in[t], from);
    out[4][t] = (double)__shfl_sync(all_lanes, (unsigned)in[t], from);
    out[5][t] = (double)__shfl_sync(all_lanes, (unsigned long long)in[t], from);
}
extern "C" assay_status sim_shuffled_types(const double in[32], double out[6][32]) {
    return ASSAY_LAUNCH(NULL, 1, 32, 0, shuffled_types, in, out);
}

static __global__ void barrier_votes(const int *values, int exited, int *out) {
    int t = (int)threadIdx.x;
    if (t < exited)
        return;
    int count = __syncthreads_count(values[t]);
    int every = __syncthreads_and(values[t]);
    int some = __syncthreads_or(values[t]);
    if (t == 63) {
        out[0] = count;
        out[1] = every;
        out[2] = some;
    }
}
extern "C" assay_status sim_barrier_votes(const int values[64], int exited, int out[3]) {
    return ASSAY_LAUNCH(NULL, 1, 64, 0, barrier_votes, values, exited, out);
}

static __global__ void index3(int *out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    __syncthreads(); /* the built-in variables must survive a switch */
    out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] +=
        1 + (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x - thread);
}
extern "C" assay_status sim_index(const unsigned grid[3], const unsigned block[3], int *out) {
    return ASSAY_LAUNCH(NULL, dim3(grid[0], grid[1], grid[2]), dim3(block[0], block[1], block[2]),
                        0, index3, out);
}

static __global__ void grid_stride(int64_t n, const float *in, float *out) {
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        out[i] = 2.0f * __ldg(&in[i]);
}
extern "C" assay_status sim_grid_stride(int64_t n, const float *in, float *out) {
    return ASSAY_LAUNCH(NULL, 3, 32, 0, grid_stride, n, in, out);
}

static __global__ void atomics(int64_t *out) {
    int i = 5;
    unsigned u = 5;
    unsigned long long l = 5;
    float f = 5.0f;
    double d = 5.0;
    int64_t k = 0;
#define RECORD(call, cell) (out[k++] = (int64_t)(call), out[k++] = (int64_t)(cell), cell = 5)
    RECORD(atomicAdd(&i, 3), i);
    RECORD(atomicSub(&u, 6u), u);
    RECORD(atomicAdd(&f, 3.0f), f);
    RECORD(atomicAdd(&d, 3.0), d);
    RECORD(atomicMin(&i, -3), i);
    RECORD(atomicMin(&u, 3u), u);
    RECORD(atomicMax(&i, 3), i);
    RECORD(atomicMax(&l, 7ull), l);
    RECORD(atomicExch(&f, 3.0f), f);
    RECORD(atomicAnd(&u, 3u), u);
    RECORD(atomicOr(&u, 3u), u);
    RECORD(atomicXor(&l, 3ull), l);
    RECORD(atomicInc(&u, 3u), u);
    RECORD(atomicInc(&u, 7u), u);
    RECORD(atomicDec(&u, 3u), u);
    RECORD(atomicDec(&u, 7u), u);
    RECORD(atomicCAS(&i, 5, 3), i);
    RECORD(atomicCAS(&l, 6ull, 3ull), l);
#undef RECORD
}
extern "C" assay_status sim_atomics(int64_t *out) {
    return ASSAY_LAUNCH(NULL, 1, 1, 0, atomics, out);
}

enum { ADDED_BYTES = 4 * sizeof(float) };

static __global__ void bulk_added(float *to, const float *values) {
    ASSAY_DYNAMIC_SHARED(float, shared);
    uint64_t *const barrier = reinterpret_cast<uint64_t *>(shared + 4);
    mbarrier_init(barrier, 1);
    mbarriers_made();
    mbarrier_expect(barrier, ADDED_BYTES);
    bulk_load(shared, values, ADDED_BYTES, barrier);
    mbarrier_wait(barrier, 0);
    bulk_add(to, shared, ADDED_BYTES);
    bulk_commit();
    bulk_wait<0>();
}
extern "C" assay_status sim_bulk_added(float to[4], const float values[4]) {
    return ASSAY_LAUNCH(NULL, 1, 1, ADDED_BYTES + sizeof(uint64_t), bulk_added, to, values);
}

/* Each of a cluster's blocks loads one group of eight lines for both, which lets the next pair come
 * when both have read the last one. */
enum { GROUP_BYTES = 8 * TENSOR_LINE_BYTES, GROUP_ELEMENTS = GROUP_BYTES / 2 };

static __global__ void loaded_in_cluster(const __grid_constant__ tensor_map map, uint16_t *out) {
    ASSAY_DYNAMIC_SHARED(uint16_t, shared);
    uint64_t *const full = reinterpret_cast<uint64_t *>(shared + 2 * GROUP_ELEMENTS);
    uint64_t *const empty = full + 1;
    const int rank = (int)blockIdx.x % 2;
    mbarrier_init(full, 1);
    mbarrier_init(empty, 2);
    mbarriers_made();
    __syncthreads();
    mbarriers_made_in_cluster();
    for (int pair = 0; pair < 2; ++pair) {
        mbarrier_wait(empty, (uint32_t)pair ^ 1);
        mbarrier_expect(full, 2 * GROUP_BYTES);
        tensor_load_to(shared + rank * GROUP_ELEMENTS, &map, 0, 8 * (2 * pair + rank), full, 3);
        mbarrier_wait(full, (uint32_t)pair);
        for (int i = 0; i < 2 * GROUP_ELEMENTS; ++i)
            out[(blockIdx.x * 2 + pair) * 2 * GROUP_ELEMENTS + i] = shared[i];
        mbarrier_arrive_at(empty, 0, 1);
        mbarrier_arrive_at(empty, 1, 1);
    }
    cluster_barrier();
}
extern "C" assay_status sim_loaded_in_cluster(const uint16_t *in, uint16_t *out, int blocks) {
    const tensor_lines lines = {in, 64, 32, 64, 8};
    tensor_map map;
    const assay_status status = make_tensor_map(&map, &lines);
    return status == ASSAY_OK
               ? ASSAY_LAUNCH_CLUSTERS(NULL, 2, blocks, 1, 2 * GROUP_BYTES + 2 * sizeof(uint64_t),
                                       loaded_in_cluster, map, out)
               : status;
}

static __global__ void thread_order(int *counter, int *order) {
    __syncthreads();
    order[atomicAdd(counter, 1)] = (int)threadIdx.x;
}
extern "C" assay_status sim_thread_order(int threads, int *counter, int *order) {
    return ASSAY_LAUNCH(NULL, 1, threads, 0, thread_order, counter, order);
}

static __global__ void block_order(int *counter, int *order) {
    order[atomicAdd(counter, 1)] = (int)blockIdx.x;
}
extern "C" assay_status sim_block_order(int blocks, int *counter, int *order) {
    return ASSAY_LAUNCH(NULL, blocks, 1, 0, block_order, counter, order);
}

static __global__ void sums(const float *in, float *out) {
    __shared__ float tree[256], warps[8];
    int t = (int)threadIdx.x;
    tree[t] = in[t];
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half)
            tree[t] += tree[t + half];
    }
    float sum = in[t];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(all_lanes, sum, (unsigned)step);
    if (t % 32 == 0)
        warps[t / 32] = sum;
    __syncthreads();
    if (t < 8) {
        sum = warps[t];
        for (int step = 4; step > 0; step /= 2)
            sum += __shfl_down_sync(0xffu, sum, (unsigned)step, 8);
    }
    if (t == 0) {
        out[0] = tree[0];
        out[1] = sum;
    }
}
extern "C" assay_status sim_sums(const float in[256], float out[2]) {
    return ASSAY_LAUNCH(NULL, 1, 256, 0, sums, in, out);
}

static __global__ void unordered(int *out) {
    __shared__ int s[64];
    int t = (int)threadIdx.x;
    s[t] = t;
    out[t] = s[63 - t];
}
extern "C" assay_status sim_unordered(int *out) {
    return ASSAY_LAUNCH(NULL, 1, 64, 0, unordered, out);
}

template <typename T, int N>
static __global__ void converts(T a, double b, const int *c, double *out) {
    out[0] = (double)(a << N);
    out[1] = b / 2;
    out[2] = *c;
}
extern "C" assay_status sim_converts(int a, int b, int *c, double out[3]) {
    return ASSAY_LAUNCH(NULL, dim3(1), dim3(1), 0, (converts<int64_t, 40>), a, b, c, out);
}

static __global__ void locked(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0)
        __nanosleep(20);
    int before = atomicAdd(sum, 0);
    __syncwarp(1u << threadIdx.x % 32); /* a switch while the lock is held */
    __nanosleep(1);
    atomicExch(sum, before + 1);
    atomicExch(lock, 0);
}
extern "C" assay_status sim_locked(int *lock, int *sum) {
    return ASSAY_LAUNCH(NULL, 1, 64, 0, locked, lock, sum);
}
