#include "tests/sim/count.h"

#include "device/kernel.h"
#include "kernels/common/hopper.h"
#include "kernels/common/tensor.h"

enum { WARP = 32, SIDE = 32, ROW = 8 /* ints of 32 bytes */ };

static __global__ void coalesced(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x];
}

static __global__ void strided(const int *in, int *out) {
    out[threadIdx.x] = in[ROW * threadIdx.x];
}

static __global__ void shifted(const int *in, int *out) {
    out[threadIdx.x] = in[threadIdx.x + 1];
}

static __global__ void one_for_all(const int *in, int *out) {
    out[threadIdx.x] = in[0];
}

static __global__ void whole(const int *in, int *out) {
    const int4 v = load_whole(reinterpret_cast<const int4 *>(in) + threadIdx.x);
    __stcs(reinterpret_cast<int4 *>(out) + threadIdx.x, v);
}

static __global__ void every_other(int *out) {
    if (threadIdx.x % 2 == 0)
        out[threadIdx.x] = 1;
}

/* Lane l makes l % 4 trips. */
static __global__ void trips_by_lane(const volatile int *in) {
#pragma unroll 1
    for (int i = 0; i < (int)threadIdx.x % 4; ++i)
        (void)in[i * WARP + (int)threadIdx.x % WARP];
}

/* Sixteen lanes meet by themselves after each round of one trip or two. Their numbers are
 * arguments: all rounds are to run the same code. */
static __global__ void half_warps(const volatile int *in, int rounds, int uneven) {
    const int lane = (int)threadIdx.x;
    if (lane >= WARP / 2)
        return;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 1
        for (int i = 0; i < (1 + (round < uneven && lane < WARP / 4)); ++i)
            (void)in[64 * round];
        __syncwarp(0x0000ffffu);
    }
}

/* Everybody meets after each round of one trip or two. */
static __global__ void all_meet(const volatile int *in, int rounds, int uneven, bool of_block) {
    const int lane = (int)threadIdx.x % WARP;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll 1
        for (int i = 0; i < (1 + (round < uneven && lane < WARP / 4)); ++i)
            (void)in[64 * round];
        if (of_block)
            __syncthreads();
        else
            __syncwarp();
    }
}

/* A template's shared variable, which gcc leaves out of the file's section. */
template <int PITCH> static __global__ void transposed(const int *in, int *out) {
    __shared__ int tile[SIDE][PITCH];
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    tile[y][x] = in[y * SIDE + x];
    __syncthreads();
    out[y * SIDE + x] = tile[x][y];
}

static __global__ void wide_shared(int *out) {
    __shared__ __align__(16) int tile[4 * WARP];
    for (int i = 0; i < 4; ++i)
        tile[i * WARP + (int)threadIdx.x] = i;
    __syncthreads();
    __stcs(reinterpret_cast<int4 *>(out) + threadIdx.x,
           load_whole(reinterpret_cast<const int4 *>(tile) + threadIdx.x));
}

/* Words of every fourth bank. */
static __global__ void conflicts_of_eight(int *out) {
    ASSAY_DYNAMIC_SHARED(int, tile);
    const int t = (int)threadIdx.x;
    for (int i = 0; i < 8; ++i)
        tile[i * WARP + t] = i;
    __syncthreads();
    out[t] = tile[8 * t];
}

static __global__ void atomics(int *out) {
    __shared__ int bins[2];
    if (threadIdx.x < 2)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 2], 1);
    atomicAdd(&out[threadIdx.x % 4], 1);
}

/* 32 rows of 16 bytes, `pitch` ints apart. */
static __global__ void matrices(int *out, int pitch) {
    ASSAY_DYNAMIC_SHARED(int, tile);
    const int t = (int)threadIdx.x;
    uint32_t r[4];
    for (int i = t; i < WARP * pitch; i += WARP)
        tile[i] = i;
    __syncwarp();
    ldmatrix_x4(r, tile + t * pitch);
    for (int i = 0; i < 4; ++i)
        out[i * WARP + t] = (int)r[i];
}

static __global__ void async_copy(const int *in, int *out) {
    ASSAY_DYNAMIC_SHARED(int, tile);
    const int t = (int)threadIdx.x;
    cp_async_16(tile + 4 * t, in + 4 * t, t < 24 ? 16 : 0);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    out[t] = tile[t];
}

static __global__ void collectives(int *out) {
    int v = (int)threadIdx.x;
    v += __shfl_xor_sync(0xffffffffu, v, 16);
    v += __shfl_down_sync(0xffffffffu, v, 1);
    v += __any_sync(0xffffffffu, v);
    v += (int)__ballot_sync(0xffffffffu, v);
    v += (int)__match_any_sync(0xffffffffu, v);
    v += (int)__reduce_add_sync(0xffffffffu, 1u);
    __syncwarp();
    out[threadIdx.x] = __syncthreads_or(v);
}

/* Lines of 40 elements, 128 bytes apart: 80 bytes, in three sectors. */
enum { LENGTH = 40, PITCH = 64, A_LINES = 64, B_LINES = 128, LEFT = 100, WRITTEN = 50 };

struct hopper_maps {
    tensor_map a, b, out;
};

/* A warpgroup loads both factors of a product, multiplies 16 of their columns, and stores a. */
static __global__ void hopper(const __grid_constant__ hopper_maps maps) {
    ASSAY_DYNAMIC_SHARED(char, shared);
    char *const a = shared + (0 - shared_address(shared)) % TENSOR_ALIGNMENT;
    char *const b = a + A_LINES * TENSOR_LINE_BYTES;
    uint64_t *const barrier = reinterpret_cast<uint64_t *>(b + B_LINES * TENSOR_LINE_BYTES);
    float sums[B_LINES / 2];
    if (threadIdx.x == 0) {
        mbarrier_init(barrier, 1);
        mbarriers_made();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_expect(barrier, (A_LINES + B_LINES) * TENSOR_LINE_BYTES);
        tensor_load(a, &maps.a, 0, 0, barrier);
        tensor_load(b, &maps.b, 0, 0, barrier);
    }
    __syncthreads();
    mbarrier_wait(barrier, 0);
    wgmma_fence();
    wgmma_bf16<false, false>(sums, wgmma_descriptor(shared_address(a), 0),
                             wgmma_descriptor(shared_address(b), 0), false);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_results(sums);
    if (threadIdx.x == 0) {
        tensor_store(&maps.out, 0, 0, a);
        bulk_commit();
        bulk_wait<0>();
    }
}

static assay_status launch_hopper(const int *in, int *out) {
    enum { BYTES = TENSOR_ALIGNMENT + (A_LINES + B_LINES) * TENSOR_LINE_BYTES + sizeof(uint64_t) };
    hopper_maps maps;
    const tensor_lines a = {in, LENGTH, LEFT, PITCH, A_LINES},
                       b = {in, LENGTH, LEFT, PITCH, B_LINES};
    const tensor_lines to = {out, LENGTH, WRITTEN, PITCH, A_LINES};
    assay_status status = make_tensor_map(&maps.a, &a);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps.b, &b);
    if (status == ASSAY_OK)
        status = make_tensor_map(&maps.out, &to);
    return status == ASSAY_OK ? ASSAY_LAUNCH(nullptr, 1, 128, BYTES, hopper, maps) : status;
}

assay_status count_launch(count_kernel kernel, int *in, int *out) {
    enum { WARPS = 2 * WARP };
    const dim3 square(SIDE, SIDE);
    switch (kernel) {
    case COALESCED:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, coalesced, in, out);
    case STRIDED:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, strided, in, out);
    case SHIFTED:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, shifted, in, out);
    case ONE_FOR_ALL:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, one_for_all, in, out);
    case WHOLE:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, whole, in, out);
    case EVERY_OTHER:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, every_other, out);
    case LAST_WARP_NOT_FULL:
        return ASSAY_LAUNCH(nullptr, 3, WARP + 8, 0, coalesced, in, out + 128);
    case TRIPS_BY_LANE:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, trips_by_lane, in);
    case HALF_WARPS:
        return ASSAY_LAUNCH(nullptr, 1, WARP, 0, half_warps, in, 2, 1);
    case ROUNDS_OF_BLOCKS:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, all_meet, in, 2, 1, true);
    case ROUNDS_OF_WARPS:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, all_meet, in, 2, 1, false);
    case TRANSPOSED:
        return ASSAY_LAUNCH(nullptr, 1, square, 0, (transposed<SIDE>), in, out);
    case TRANSPOSED_PADDED:
        return ASSAY_LAUNCH(nullptr, 1, square, 0, (transposed<SIDE + 1>), in, out);
    case WIDE_SHARED:
        return ASSAY_LAUNCH(nullptr, 1, WARP, 0, wide_shared, out);
    case CONFLICTS_OF_EIGHT:
        return ASSAY_LAUNCH(nullptr, 1, WARP, 8 * WARP * sizeof(int), conflicts_of_eight, out);
    case ATOMICS:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, atomics, out);
    case MATRICES:
        return ASSAY_LAUNCH(nullptr, 1, WARP, WARP * 4 * sizeof(int), matrices, out, 4);
    case MATRICES_IN_LINE:
        return ASSAY_LAUNCH(nullptr, 1, WARP, WARP * 32 * sizeof(int), matrices, out, 32);
    case ASYNC_COPY:
        return ASSAY_LAUNCH(nullptr, 1, WARP, WARP * 4 * sizeof(int), async_copy, in, out);
    case COLLECTIVES:
        return ASSAY_LAUNCH(nullptr, 1, WARPS, 0, collectives, out);
    case HOPPER:
        return launch_hopper(in, out);
    case COUNT_KERNELS:
        break;
    }
    return ASSAY_ERR_USAGE;
}
