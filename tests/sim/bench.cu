/* The kernels that bench.c times. */
#include "device/kernel.h"
#include "tests/sim/kernels.h"

static __global__ void barriers(int rounds) {
    for (int i = 0; i < rounds; ++i)
        __syncthreads();
}

extern "C" assay_status sim_bench_barriers(int threads, int rounds) {
    return ASSAY_LAUNCH(NULL, 1, threads, 0, barriers, rounds);
}

static __global__ void shuffles(int rounds, float *out) {
    float v = (float)threadIdx.x;
    for (int i = 0; i < rounds; ++i)
        v = __shfl_xor_sync(0xffffffffu, v, 1);
    out[threadIdx.x] = v;
}

extern "C" assay_status sim_bench_shuffles(int rounds, float *out) {
    return ASSAY_LAUNCH(NULL, 1, 32, 0, shuffles, rounds, out);
}

enum { TILE = 16 };

static __global__ void matmul(int n, const float *a, const float *b, float *c) {
    __shared__ float ta[TILE][TILE], tb[TILE][TILE];
    int row = (int)(blockIdx.y * TILE + threadIdx.y), col = (int)(blockIdx.x * TILE + threadIdx.x);
    float sum = 0.0f;
    for (int k = 0; k < n; k += TILE) {
        ta[threadIdx.y][threadIdx.x] = a[row * n + k + (int)threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k + (int)threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < TILE; ++i)
            sum = fmaf(ta[threadIdx.y][i], tb[i][threadIdx.x], sum);
        __syncthreads();
    }
    c[row * n + col] = sum;
}

/* n is a multiple of 16. */
extern "C" assay_status sim_bench_matmul(int n, const float *a, const float *b, float *c) {
    return ASSAY_LAUNCH(NULL, dim3(n / TILE, n / TILE), dim3(TILE, TILE), 0, matmul, n, a, b, c);
}
