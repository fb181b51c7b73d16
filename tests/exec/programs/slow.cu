// A kernel of many blocks that takes a while, and then a word of the program's own.
#include "check.h"

__global__ void slow(unsigned *to, int turns) {
    unsigned x = threadIdx.x + 1;
    for (int i = 0; i < turns; ++i)
        x = x * 1664525u + 1013904223u;
    to[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

int main() {
    unsigned *to;
    CUDA(cudaMalloc(&to, 64 * 32 * sizeof *to));
    slow<<<64, 32>>>(to, 1 << 20);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaFree(to));
    printf("ok\n");
    return 0;
}
