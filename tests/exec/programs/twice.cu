/* A benchmark's loop of equal launches, and one of another kind. */
#include "check.h"

__global__ void busy(int *x) {
    atomicAdd(x, 1);
}

int main() {
    int *x, got;
    CUDA(cudaMalloc(&x, sizeof *x));
    CUDA(cudaMemset(x, 0, sizeof *x));
    for (int i = 0; i < 50; ++i)
        busy<<<1, 1>>>(x);
    busy<<<1, 2>>>(x);
    CUDA(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(x, &got, sizeof got, cudaMemcpyHostToDevice));
    busy<<<1, 2>>>(x); /* after a copy into what it works on */
    CUDA(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost));
    CUDA(cudaFree(x));
    printf("%d threads ran\n", got);
}
