/* Memory and events of one process in another, which is this program again: "child" works on what
 * its standard input names, "late" finds it gone, "free" frees what is not its own. */
#include "check.h"

#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { N = 1000, BLOCKS = 4, THREADS = 250 };

struct handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t before, behind;
};

__global__ void fill(int *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = i;
}

__global__ void triple(int *to) {
    to[blockIdx.x * blockDim.x + threadIdx.x] *= 3;
}

/* This program once more. */
static void run(const char *what, const handles &h, const char *self) {
    char *const words[] = {(char *)self, (char *)what, NULL};
    int ends[2], status = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;
    EXPECT(pipe(ends) == 0 && write(ends[1], &h, sizeof h) == (ssize_t)sizeof h);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
    EXPECT(posix_spawn(&child, "/proc/self/exe", &actions, NULL, words, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    close(ends[1]);
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void work(const handles &h) {
    int *memory, *again, host[N];
    cudaEvent_t before, behind;
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaIpcOpenMemHandle((void **)&memory, h.memory, cudaIpcMemLazyEnablePeerAccess));
    CUDA(cudaIpcOpenMemHandle((void **)&again, h.memory, cudaIpcMemLazyEnablePeerAccess));
    CUDA(cudaIpcOpenEventHandle(&before, h.before));
    CUDA(cudaIpcOpenEventHandle(&behind, h.behind));
    EXPECT(again == memory);
    CUDA(cudaStreamWaitEvent(stream, before, 0));
    triple<<<BLOCKS, THREADS, 0, stream>>>(memory);
    CUDA(cudaEventRecord(behind, stream));
    CUDA(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; ++i)
        EXPECT(host[i] == 3 * i);
    cudaIpcMemHandle_t other;
    FAILS(cudaIpcGetMemHandle(&other, memory), cudaErrorInvalidValue);
    CUDA(cudaIpcCloseMemHandle(memory));
    CUDA(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost)); /* open once more */
    CUDA(cudaIpcCloseMemHandle(memory));
    FAILS(cudaIpcCloseMemHandle(memory), cudaErrorInvalidValue);
    CUDA(cudaEventDestroy(before));
    CUDA(cudaEventDestroy(behind));
    CUDA(cudaStreamDestroy(stream));
}

static void free_others(const handles &h) {
    void *memory;
    CUDA(cudaIpcOpenMemHandle(&memory, h.memory, cudaIpcMemLazyEnablePeerAccess));
    FAILS(cudaFree(memory), cudaErrorInvalidValue);
    CUDA(cudaIpcCloseMemHandle(memory));
}

static void refuse(const handles &h) {
    void *memory;
    FAILS(cudaIpcOpenMemHandle(&memory, h.memory, cudaIpcMemLazyEnablePeerAccess),
          cudaErrorInvalidValue);
}

static void begin(const char *self, const char *what) {
    int *memory, host[N], supported = 0;
    void *none;
    handles h, inner;
    cudaEvent_t before, behind, timed;
    cudaStream_t first, second;
    const unsigned shared = cudaEventDisableTiming | cudaEventInterprocess;
    CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrIpcEventSupport, 0));
    EXPECT(supported == 1);
    CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&before, shared));
    CUDA(cudaEventCreateWithFlags(&behind, shared));
    FAILS(cudaEventCreateWithFlags(&timed, cudaEventInterprocess), cudaErrorInvalidValue);
    CUDA(cudaEventCreate(&timed));
    FAILS(cudaIpcGetEventHandle(&h.before, timed), cudaErrorInvalidResourceHandle);
    CUDA(cudaIpcGetEventHandle(&h.before, before));
    CUDA(cudaIpcGetEventHandle(&h.behind, behind));
    CUDA(cudaMalloc(&memory, sizeof host));
    CUDA(cudaMemset(memory, 0, sizeof host));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaIpcGetMemHandle(&h.memory, memory));
    CUDA(cudaIpcGetMemHandle(&inner.memory, memory + 1)); /* the allocation's */
    EXPECT(memcmp(&inner.memory, &h.memory, sizeof h.memory) == 0);
    memset(&inner, 0, sizeof inner);
    FAILS(cudaIpcOpenEventHandle(&timed, inner.before), cudaErrorMapBufferObjectFailed);
    CUDA(cudaEventCreate(&timed));
    FAILS(cudaIpcOpenMemHandle(&none, h.memory, cudaIpcMemLazyEnablePeerAccess),
          cudaErrorDeviceUninitialized);
    CUDA(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 0 && host[N - 1] == 0);

    fill<<<BLOCKS, THREADS, 0, first>>>(memory);
    CUDA(cudaEventRecord(before, first));
    run(what, h, self);
    if (strcmp(what, "child") == 0) {
        CUDA(cudaStreamWaitEvent(second, behind, 0));
        triple<<<BLOCKS, THREADS, 0, second>>>(memory);
        CUDA(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDeviceToHost, second));
        CUDA(cudaStreamSynchronize(second));
        for (int i = 0; i < N; ++i)
            EXPECT(host[i] == 9 * i);
    }
    CUDA(cudaFree(memory));
    run("late", h, self);
    CUDA(cudaEventDestroy(before));
    CUDA(cudaEventDestroy(behind));
    CUDA(cudaEventDestroy(timed));
    CUDA(cudaStreamDestroy(first));
    CUDA(cudaStreamDestroy(second));
    puts("ok");
}

int main(int n, char **words) {
    handles h;
    const char *what = n > 1 ? words[1] : "parent";
    if (strcmp(what, "parent") == 0 || strcmp(what, "with free") == 0) {
        begin(words[0], strcmp(what, "parent") == 0 ? "child" : "free");
        return 0;
    }
    EXPECT(read(0, &h, sizeof h) == (ssize_t)sizeof h);
    if (strcmp(what, "child") == 0)
        work(h);
    else if (strcmp(what, "free") == 0)
        free_others(h);
    else
        refuse(h);
}
