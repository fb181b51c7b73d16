/* Conditional nodes: a kernel sets the handle by which a graph runs or does not. */
#include "check.h"

__global__ void set(cudaGraphConditionalHandle handle, const int *x) {
    cudaGraphSetConditional(handle, *x);
}

__global__ void count_down(cudaGraphConditionalHandle handle, int *x, int *rounds) {
    ++*rounds;
    cudaGraphSetConditional(handle, --*x > 0);
}

__global__ void write(int *x, int value) {
    *x = value;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t need, void *function,
                                  void **words) {
    cudaGraphNode_t node;
    cudaKernelNodeParams k = {};
    k.func = function;
    k.gridDim = k.blockDim = dim3(1);
    k.kernelParams = words;
    CUDA(cudaGraphAddKernelNode(&node, graph, &need, need != NULL, &k));
    return node;
}

static cudaGraph_t *add_conditional(cudaGraph_t graph, cudaGraphNode_t need,
                                    cudaGraphConditionalHandle handle,
                                    cudaGraphConditionalNodeType type, unsigned n) {
    cudaGraphNode_t node;
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = n;
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphAddNode(&node, graph, &need, NULL, need != NULL, &p));
#else
    CUDA(cudaGraphAddNode(&node, graph, &need, need != NULL, &p));
#endif
    return p.conditional.phGraph_out;
}

static int launch(cudaGraphExec_t replay, int *x, int start, const int *y) {
    int got;
    CUDA(cudaMemcpy(x, &start, sizeof start, cudaMemcpyHostToDevice));
    CUDA(cudaGraphLaunch(replay, 0));
    CUDA(cudaMemcpy(&got, y, sizeof got, cudaMemcpyDeviceToHost));
    return got;
}

/* y = x == 0 ? 20 : 10 */
static void either(int *x, int *y) {
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaGraphConditionalHandle handle;
    int ten = 10, twenty = 20;
    void *words[] = {&handle, &x}, *yes[] = {&y, &ten}, *no[] = {&y, &twenty};
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphConditionalHandleCreate(&handle, graph));
    EXPECT(cudaGraphInstantiate(&replay, graph, 0) == cudaErrorInvalidValue); /* without a node */
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    cudaGraphNode_t first = add_kernel(graph, NULL, (void *)set, words);
    cudaGraph_t *bodies = add_conditional(graph, first, handle, cudaGraphCondTypeIf, 2);
    add_kernel(bodies[0], NULL, (void *)write, yes);
    add_kernel(bodies[1], NULL, (void *)write, no);
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    EXPECT(launch(replay, x, 0, y) == 20 && launch(replay, x, 1, y) == 10);
    CUDA(cudaGraphExecDestroy(replay));
}

/* A loop, captured, whose handle each launch sets to 1. */
static void loop(int *x, int *y) {
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaGraphConditionalHandle handle;
    cudaStream_t s;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraph_t *bodies = add_conditional(graph, NULL, handle, cudaGraphCondTypeWhile, 1);
    CUDA(cudaStreamBeginCaptureToGraph(s, bodies[0], NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    count_down<<<1, 1, 0, s>>>(handle, x, y);
    CUDA(cudaStreamEndCapture(s, NULL));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    CUDA(cudaMemset(y, 0, sizeof *y));
    EXPECT(launch(replay, x, 5, y) == 5);
    EXPECT(launch(replay, x, 0, y) == 6); /* once at least */
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(s));
}

int main() {
    int *x, *y;
    CUDA(cudaMalloc(&x, sizeof *x));
    CUDA(cudaMalloc(&y, sizeof *y));
    either(x, y);
    loop(x, y);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
    puts("ok");
}
