/* A cooperative launch: as many blocks as the device holds, and one more. */
#include "check.h"

__global__ void put(int *x) {
    x[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}

int main() {
    int per = 0, can = 0;
    int *x;
    cudaDeviceProp about;
    CUDA(cudaGetDeviceProperties(&about, 0));
    CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(can == 1 && about.cooperativeLaunch == 1);
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, put, 128, 0));
    const int blocks = per * about.multiProcessorCount;
    EXPECT(blocks > 0);
    CUDA(cudaMallocManaged(&x, blocks * 128 * sizeof *x));
    void *words[] = {&x};
    CUDA(cudaLaunchCooperativeKernel((void *)put, dim3(blocks), dim3(128), words, 0, 0));
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < blocks * 128; ++i)
        EXPECT(x[i] == i / 128);
    EXPECT(cudaLaunchCooperativeKernel((void *)put, dim3(blocks + 1), dim3(128), words, 0, 0) ==
           cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    CUDA(cudaFree(x));
    puts("ok");
}
