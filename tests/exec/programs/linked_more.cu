#include "linked.h"

__device__ int table[4] = {100, 200, 300, 400};
__constant__ int factor;
static __device__ int own = 9;

__device__ int twice(int x) {
    return 2 * x;
}

static __device__ int thrice(int x) {
    return 3 * x + own;
}

__device__ int (*chosen)(int) = thrice;

__global__ void greet(int *out) {
    printf("two %d %d\n", own, either<2>(*out));
}

void prepare() {
    const int ten = 10;
    int *out;
    CUDA(cudaMemcpyToSymbol(factor, &ten, sizeof ten));
    CUDA(cudaMalloc(&out, sizeof *out));
    CUDA(cudaMemset(out, 0, sizeof *out));
    greet<<<1, 1>>>(out);
    CUDA(cudaFree(out));
}
