/* A race in shared memory, one between blocks, one that a fence and a flag prevent, and a read that
 * compare-and-swaps check. */
#include "check.h"

__device__ int flag, data[32];

__global__ void reversed(int *out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = (int)threadIdx.x;
    asm volatile("" ::: "memory");
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void last_wins(int *out) {
    if (threadIdx.x == 0)
        out[0] = (int)blockIdx.x;
}

/* The first block waits for the last one. */
__global__ void handed_over(int *out) {
    if (blockIdx.x == gridDim.x - 1) {
        data[threadIdx.x] = (int)threadIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            atomicExch(&flag, 1);
    } else if (blockIdx.x == 0) {
        while (*(volatile int *)&flag == 0)
            ;
        __threadfence();
        out[threadIdx.x] = data[31 - threadIdx.x];
    }
}

__global__ void added(double *sum) {
    unsigned long long *bits = (unsigned long long *)sum, old = *bits, assumed;
    do {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(1 + __longlong_as_double(assumed)));
    } while (assumed != old);
}

int main(int argc, char **) {
    int *out;
    CUDA(cudaMalloc(&out, 64 * sizeof(int)));
    handed_over<<<40, 32>>>(out);
    CUDA(cudaGetLastError());
    if (argc > 1)
        reversed<<<1, 64>>>(out), last_wins<<<2, 32>>>(out);
    CUDA(cudaMemset(out, 0, sizeof(double)));
    added<<<2, 32>>>((double *)out);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaFree(out));
    printf("ok\n");
    return 0;
}
