/* A graph of two captured streams, replayed, changed; and one made by hand. */
#include "check.h"

__global__ void add_to(int *x, int much) {
    x[threadIdx.x] += much;
}

__global__ void sum(const int *x, const int *y, int *z) {
    z[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x];
}

static int *array() {
    int *x;
    CUDA(cudaMalloc(&x, 32 * sizeof *x));
    CUDA(cudaMemset(x, 0, 32 * sizeof *x));
    return x;
}

static int first_of(const int *x) {
    int got;
    CUDA(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost));
    return got;
}

static void captured(int *x, int *y, int *z) {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaStreamCaptureStatus status;
    size_t nodes = 0;
    CUDA(cudaStreamCreate(&a));
    CUDA(cudaStreamCreate(&b));
    CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecord(fork, a));
    CUDA(cudaStreamWaitEvent(b, fork));
    add_to<<<1, 32, 0, a>>>(x, 1);
    add_to<<<1, 32, 0, b>>>(y, 10);
    CUDA(cudaEventRecord(join, b));
    CUDA(cudaStreamWaitEvent(a, join));
    sum<<<1, 32, 0, a>>>(x, y, z);
    CUDA(cudaStreamIsCapturing(b, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CUDA(cudaStreamEndCapture(a, &graph));
    EXPECT(first_of(x) == 0);
    CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    EXPECT(nodes == 3);
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    for (int i = 1; i <= 3; ++i) {
        CUDA(cudaGraphLaunch(replay, a));
        CUDA(cudaStreamSynchronize(a));
        EXPECT(first_of(x) == i && first_of(y) == 10 * i && first_of(z) == 11 * i);
    }
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
    CUDA(cudaEventRecord(fork, a));
    CUDA(cudaStreamWaitEvent(b, fork));
    add_to<<<1, 32, 0, b>>>(y, 10);
    EXPECT(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureUnjoined);
    EXPECT(cudaGetLastError() == cudaErrorStreamCaptureUnjoined);
    CUDA(cudaEventDestroy(fork));
    CUDA(cudaEventDestroy(join));
    CUDA(cudaStreamDestroy(a));
    CUDA(cudaStreamDestroy(b));
}

static void by_hand(int *x) {
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaGraphNode_t clear, add;
    int much = 5;
    void *words[] = {&x, &much};
    cudaMemsetParams fill = {};
    fill.dst = x;
    fill.elementSize = 4;
    fill.width = 32;
    fill.height = 1;
    fill.value = 100;
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)add_to;
    kernel.gridDim = dim3(1);
    kernel.blockDim = dim3(32);
    kernel.kernelParams = words;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemsetNode(&clear, graph, NULL, 0, &fill));
    CUDA(cudaGraphAddKernelNode(&add, graph, &clear, 1, &kernel));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CUDA(cudaGraphLaunch(replay, 0));
    EXPECT(first_of(x) == 105);
    much = 6;
    CUDA(cudaGraphExecKernelNodeSetParams(replay, add, &kernel));
    CUDA(cudaGraphLaunch(replay, 0));
    EXPECT(first_of(x) == 106);
    cudaKernelNodeParams got = {};
    CUDA(cudaGraphKernelNodeGetParams(add, &got));
    EXPECT(got.blockDim.x == 32 && *(int *)got.kernelParams[1] == 5);
    got.blockDim.x = 16;
    CUDA(cudaGraphKernelNodeSetParams(add, &got));
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CUDA(cudaGraphLaunch(replay, 0));
    EXPECT(first_of(x) == 105 && first_of(x + 16) == 100);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(graph));
}

int main() {
    int *x = array(), *y = array(), *z = array();
    captured(x, y, z);
    by_hand(x);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    CUDA(cudaFree(z));
    puts("ok");
}
