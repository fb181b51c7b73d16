/* Constant memory, variables of the device and managed ones, and managed memory. */
#include "check.h"

__constant__ float factor[4];
__device__ int counter = 40;
__device__ __managed__ int shared_by_all = 5;

__global__ void work(float *x, int n) {
    const int i = threadIdx.x;
    if (i < n)
        x[i] = factor[i % 4] * (float)shared_by_all;
    __syncthreads();
    if (i == 0) {
        counter += 2;
        shared_by_all = 6;
    }
}

int main() {
    const float factors[4] = {1, 2, 3, 4};
    float *x;
    int *address, got = 0;
    size_t bytes = 0;
    cudaPointerAttributes about;
    CUDA(cudaMallocManaged(&x, 64 * sizeof *x));
    CUDA(cudaMemcpyToSymbol(factor, factors, sizeof factors));
    work<<<1, 32>>>(x, 32);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 32; ++i)
        EXPECT(x[i] == 5 * factors[i % 4]);
    EXPECT(shared_by_all == 6);
    CUDA(cudaMemcpyFromSymbol(&got, counter, sizeof got));
    EXPECT(got == 42);
    CUDA(cudaGetSymbolSize(&bytes, factor));
    EXPECT(bytes == sizeof factors);
    CUDA(cudaGetSymbolAddress((void **)&address, counter));
    got = 1;
    CUDA(cudaMemcpy(address, &got, sizeof got, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpyFromSymbol(&got, counter, sizeof got));
    EXPECT(got == 1);
    CUDA(cudaPointerGetAttributes(&about, x));
    EXPECT(about.type == cudaMemoryTypeManaged && about.hostPointer == x);
    CUDA(cudaPointerGetAttributes(&about, &got));
    EXPECT(about.type == cudaMemoryTypeUnregistered);
    CUDA(cudaFree(x));
    puts("ok");
}
