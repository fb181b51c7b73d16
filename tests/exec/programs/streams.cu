/* Two streams, an event between them, pinned memory, a function of the host, and times. */
#include "check.h"

__global__ void scale(float *x, float by, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}

static void count(void *data) {
    ++*(int *)data;
}

int main() {
    enum { N = 512 };
    float *host, *device, ms = -1;
    int called = 0, low, high, priority;
    cudaStream_t first, second;
    cudaEvent_t begin, middle, end;
    CUDA(cudaMallocHost(&host, N * sizeof *host));
    CUDA(cudaMalloc(&device, N * sizeof *device));
    CUDA(cudaDeviceGetStreamPriorityRange(&low, &high));
    CUDA(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, high));
    CUDA(cudaStreamGetPriority(first, &priority));
    EXPECT(priority == high);
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
    CUDA(cudaEventCreate(&end));
    for (int i = 0; i < N; ++i)
        host[i] = (float)i;
    CUDA(cudaEventRecord(begin, first));
    CUDA(cudaMemcpyAsync(device, host, N * sizeof *host, cudaMemcpyHostToDevice, first));
    scale<<<2, 256, 0, first>>>(device, 3.0f, N);
    CUDA(cudaEventRecord(middle, first));
    CUDA(cudaStreamWaitEvent(second, middle));
    scale<<<2, 256, 0, second>>>(device, 0.5f, N);
    CUDA(cudaMemcpyAsync(host, device, N * sizeof *host, cudaMemcpyDeviceToHost, second));
    CUDA(cudaLaunchHostFunc(second, count, &called));
    CUDA(cudaEventRecord(end, second));
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventElapsedTime(&ms, begin, end));
    EXPECT(ms > 0 && called == 1);
    EXPECT(cudaEventElapsedTime(&ms, begin, middle) == cudaErrorInvalidResourceHandle);
    EXPECT(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    for (int i = 0; i < N; ++i)
        EXPECT(host[i] == 1.5f * i);
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(middle));
    CUDA(cudaEventDestroy(end));
    CUDA(cudaStreamDestroy(first));
    CUDA(cudaStreamDestroy(second));
    CUDA(cudaFree(device));
    CUDA(cudaFreeHost(host));
    puts("ok");
}
