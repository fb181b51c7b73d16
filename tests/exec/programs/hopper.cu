// Hopper's instructions together: TMA brings two tiles of 64 x 64 into swizzled shared memory, an
// mbarrier says when they are there, one warpgroup multiplies them with wgmma. For compute_90a.
#include "check.h"

#include <cstdint>
#include <cuda.h>
#include <cuda_bf16.h>

enum { N = 64, TILE = N * N * 2 };

__device__ uint32_t place(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void load(void *to, const CUtensorMap *map, uint64_t *bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %3}], [%2];" ::"r"(place(to)),
                 "l"(map), "r"(place(bar)), "r"(0)
                 : "memory");
}

// Rows of 128 bytes, swizzled; eight of them are 1024 bytes.
__device__ uint64_t descriptor(const void *tile, int k) {
    return (uint64_t)((place(tile) + 2 * k) >> 4) | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
        "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
        "%27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0; }\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b));
}

__global__ void product(const __grid_constant__ CUtensorMap a,
                        const __grid_constant__ CUtensorMap b, float *c) {
    __shared__ alignas(1024) unsigned char tile[2][TILE];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&bar)));
        asm volatile("fence.proxy.async;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(&bar)),
                     "r"(2 * TILE)
                     : "memory");
        load(tile[0], &a, &bar);
        load(tile[1], &b, &bar);
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra W; }" ::"r"(place(&bar))
                 : "memory");
    float d[32] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < N; k += 16)
        multiply(d, descriptor(tile[0], k), descriptor(tile[1], k));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    for (int i = 0; i < 32; ++i)
        c[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + column + i % 2] = d[i];
}

static float value(int side, int i, int k) {
    return (float)((i * 5 + k * 3 + side * 7 + i * k) % 13 - 6);
}

static CUtensorMap map_of(void *base) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CUDA(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                          cudaEnableDefault, &result));
    EXPECT(found != nullptr);
    CUtensorMap map;
    const cuuint64_t size[] = {N, N}, stride[] = {N * 2};
    const cuuint32_t box[] = {N, N}, step[] = {1, 1};
    EXPECT(((decltype(&cuTensorMapEncodeTiled))found)(
               &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, base, size, stride, box, step,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
    return map;
}

int main() {
    __nv_bfloat16 *m[2];
    float *c;
    for (int s = 0; s < 2; ++s) {
        CUDA(cudaMallocManaged(&m[s], TILE));
        for (int i = 0; i < N * N; ++i)
            m[s][i] = __float2bfloat16(value(s, i / N, i % N));
    }
    CUDA(cudaMallocManaged(&c, N * N * sizeof *c));
    product<<<1, 128>>>(map_of(m[0]), map_of(m[1]), c);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < N * N; ++i) {
        float sum = 0;
        for (int k = 0; k < N; ++k)
            sum += value(0, i / N, k) * value(1, i % N, k);
        EXPECT(c[i] == sum);
    }
    CUDA(cudaFree(m[0]));
    CUDA(cudaFree(m[1]));
    CUDA(cudaFree(c));
    printf("ok\n");
    return 0;
}
