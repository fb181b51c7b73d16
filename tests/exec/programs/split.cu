/* Launches that several processes may share: they print a sum of what they leave. `stray`: one
 * block writes where nothing is. */
#include "check.h"

#include <cstring>

__device__ unsigned total;

__global__ void mix(unsigned *out, unsigned rounds) {
    __shared__ unsigned tile[128];
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < rounds; ++i)
        x = x * 1664525u + 1013904223u;
    tile[threadIdx.x] = x;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = x ^ tile[127 - threadIdx.x];
    atomicAdd(&total, x);
}

__global__ void write(unsigned *out, unsigned rounds, unsigned stray) {
    unsigned x = threadIdx.x;
    for (unsigned i = 0; i < rounds; ++i)
        x = x * 1664525u + 1013904223u;
    out[blockIdx.x * blockDim.x + threadIdx.x + (blockIdx.x >= stray ? (1u << 28) : 0)] = x;
}

int main(int argc, char **argv) {
    enum { BLOCKS = 2000, THREADS = 128 };
    unsigned *out, sum = 0, host = 0;
    const bool stray = argc > 1 && strcmp(argv[1], "stray") == 0;
    CUDA(cudaMalloc(&out, BLOCKS * THREADS * sizeof *out));
    if (stray) {
        write<<<BLOCKS, THREADS>>>(out, 1000, 1234);
        EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
        puts("ok");
        return 0;
    }
    unsigned *copy = (unsigned *)malloc(BLOCKS * THREADS * sizeof *copy);
    mix<<<BLOCKS, THREADS>>>(out, 1000);
    CUDA(cudaMemcpy(copy, out, BLOCKS * THREADS * sizeof *copy, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpyFromSymbol(&host, total, sizeof host));
    for (int i = 0; i < BLOCKS * THREADS; ++i)
        sum = sum * 31 + copy[i];
    CUDA(cudaFree(out));
    free(copy);
    printf("ok %u %u\n", sum, host);
}
