// Work of streams and of the host that nothing orders, and the same with what orders it.
#include <cstdio>
#include <cstring>

static const int n = 4096;

__global__ void scale(float *x, int count, float factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        x[i] *= factor;
}

__global__ void copy(const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}

// Tells the host while it runs.
__global__ void answer(volatile int *ready, int *data) {
    *data = 5;
    __threadfence_system();
    *ready = 1;
}

static float *a, *b, *pinned, *managed;
static int *flag;
static cudaStream_t s, t; // s: not ordered against the default stream
static cudaEvent_t e;

static void twice(cudaStream_t stream) {
    scale<<<n / 256, 256, 0, stream>>>(a, n, 2);
}

// A graph that scales `a`, with the record of an event before or behind it.
static void launch_graph(bool behind) {
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaGraphNode_t kernel, record;
    int count = n;
    float factor = 2;
    void *words[] = {&a, &count, &factor};
    cudaKernelNodeParams p = {};
    p.func = (void *)scale;
    p.gridDim = dim3(n / 256);
    p.blockDim = dim3(256);
    p.kernelParams = words;
    cudaGraphCreate(&graph, 0);
    if (!behind)
        cudaGraphAddEventRecordNode(&record, graph, NULL, 0, e);
    cudaGraphAddKernelNode(&kernel, graph, behind ? NULL : &record, behind ? 0 : 1, &p);
    if (behind)
        cudaGraphAddEventRecordNode(&record, graph, &kernel, 1, e);
    cudaGraphInstantiate(&replay, graph, 0);
    cudaGraphLaunch(replay, s);
    cudaStreamWaitEvent(t, e);
    twice(t);
    cudaDeviceSynchronize();
    cudaGraphExecDestroy(replay);
    cudaGraphDestroy(graph);
}

static void run(const char *what) {
    if (!strcmp(what, "graph, event behind"))
        launch_graph(true);
    if (!strcmp(what, "graph, event before"))
        launch_graph(false);
    if (!strcmp(what, "other stream"))
        twice(t);
    if (!strcmp(what, "default stream"))
        twice(0);
    if (!strcmp(what, "event")) {
        cudaEventRecord(e, s);
        cudaStreamWaitEvent(t, e);
        twice(t);
    }
    if (!strcmp(what, "event too late")) {
        cudaStreamWaitEvent(t, e);
        cudaEventRecord(e, s);
        twice(t);
    }
    if (!strcmp(what, "blocking")) { // t and the default stream are ordered
        cudaStreamSynchronize(s);
        twice(t);
        copy<<<n / 256, 256>>>(a, b);
        twice(t);
    }
    if (!strcmp(what, "halves")) {
        cudaStreamSynchronize(s);
        scale<<<n / 512, 256, 0, s>>>(a, n / 2, 2);
        scale<<<n / 512, 256, 0, t>>>(a + n / 2, n / 2, 2);
    }
    if (!strcmp(what, "neighbours")) { // one page, each element one stream's
        cudaStreamSynchronize(s);
        for (int i = 0; i < 8; ++i)
            scale<<<1, 1, 0, i % 4 < 2 ? s : t>>>(a + i, 1, 2);
    }
    if (!strcmp(what, "readers")) {
        cudaStreamSynchronize(s);
        copy<<<n / 256, 256, 0, s>>>(a, b);
        cudaMemcpyAsync(pinned, a, n * sizeof *a, cudaMemcpyDeviceToHost, t);
    }
    if (!strcmp(what, "destroyed")) {
        cudaStream_t u;
        cudaStreamSynchronize(s);
        cudaStreamCreate(&u);
        twice(u);
        cudaStreamDestroy(u);
        twice(s);
    }
    if (!strcmp(what, "release")) {
        float *x;
        cudaStreamSynchronize(s);
        cudaMallocAsync(&x, 4096, s);
        cudaStreamSynchronize(s);
        cudaMemsetAsync(x, 0, 4096, s);
        cudaFreeAsync(x, t);
    }
    if (!strcmp(what, "host writes"))
        pinned[7] = 3;
    if (!strcmp(what, "host reads what is read"))
        b = pinned[7] == 7 ? b : NULL;
    if (!strcmp(what, "host writes later")) {
        while (cudaStreamQuery(s) == cudaErrorNotReady) {
        }
        pinned[7] = 3;
    }
    if (!strcmp(what, "host reads")) {
        cudaMemcpyAsync(pinned, a, n * sizeof *a, cudaMemcpyDeviceToHost, s);
        if (pinned[1] < 0)
            puts("negative");
    }
    if (!strcmp(what, "managed")) {
        scale<<<n / 256, 256>>>(managed, n, 3);
        if (managed[5] < 0)
            puts("negative");
    }
    if (!strcmp(what, "managed, waited for")) {
        scale<<<n / 256, 256>>>(managed, n, 3);
        cudaDeviceSynchronize();
        if (managed[5] != 3)
            puts("wrong");
    }
    if (!strcmp(what, "flag")) {
        answer<<<1, 1>>>(flag, flag + 1);
        while (*(volatile int *)flag == 0) {
        }
        if (flag[1] != 5)
            puts("wrong");
    }
}

int main(int, char **words) {
    cudaMalloc(&a, n * sizeof *a);
    cudaMalloc(&b, n * sizeof *b);
    cudaMallocHost(&pinned, n * sizeof *pinned);
    cudaMallocHost(&flag, 8192);
    cudaMallocManaged(&managed, n * sizeof *managed);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreate(&t);
    cudaEventCreate(&e);
    for (int i = 0; i < n; ++i)
        pinned[i] = (float)i, managed[i] = 1;
    flag[0] = 0;
    cudaMemcpyAsync(a, pinned, n * sizeof *a, cudaMemcpyHostToDevice, s);
    run(words[1]);
    cudaDeviceSynchronize();
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
    cudaEventDestroy(e);
    cudaFree(a);
    cudaFree(b);
    cudaFree(managed);
    cudaFreeHost(pinned);
    cudaFreeHost(flag);
    puts("ok");
    return 0;
}
