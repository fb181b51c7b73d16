/* It reads pinned memory before the copy into it is done: right by luck. */
#include "check.h"

__global__ void fill(int *x) {
    x[threadIdx.x] = 7;
}

int main() {
    int *host, *device;
    cudaStream_t stream;
    CUDA(cudaMallocHost(&host, 32 * sizeof *host));
    CUDA(cudaMalloc(&device, 32 * sizeof *device));
    CUDA(cudaStreamCreate(&stream));
    host[0] = 0;
    fill<<<1, 32, 0, stream>>>(device);
    CUDA(cudaMemcpyAsync(host, device, 32 * sizeof *host, cudaMemcpyDeviceToHost, stream));
    puts(host[0] == 7 ? "there" : "not there yet");
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 7);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(host));
}
