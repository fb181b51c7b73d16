/* One thing after the other that a program should not do, and goes on from. */
#include "check.h"

__constant__ float factor[4];

__global__ void nothing(int *x) {
    *x = (int)factor[0];
}

int main() {
    int *x, *freed, host[64] = {0};
    cudaMalloc(&x, 32 * sizeof *x);
    cudaMalloc(&freed, sizeof *freed);
    cudaFree(freed);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);       /* 256 bytes into 128 */
    cudaMemcpy(host, freed, sizeof *freed, cudaMemcpyDeviceToHost); /* what is freed */
    cudaMemcpy(x, host, sizeof *x, cudaMemcpyDeviceToHost);         /* the wrong way */
    cudaMemcpyToSymbol(factor, host, sizeof factor, 8);             /* 16 bytes from 8 on */
    cudaFree(freed);                                                /* twice */
    nothing<<<1, 2048>>>(x);                                        /* too many threads */
    cudaDeviceSynchronize();
    puts("done"); /* and x is not freed */
}
