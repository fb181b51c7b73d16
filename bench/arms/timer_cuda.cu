/* Times of the GPU, by its events; a module, which timer.c loads. */
#include "bench/arms/timer.h"

#include <cuda_runtime.h>

#include <algorithm>

static struct {
    cudaStream_t stream;
    cudaEvent_t mark[2];
    cudaGraphExec_t kept; /* NULL: nothing is */
    void *cache;          /* as much memory as overwrites the L2 cache */
    size_t cache_bytes;
} timer;

static assay_status check(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return ASSAY_OK;
    (void)cudaGetLastError(); /* it would be blamed on the next launch */
    return assay_fail(error == cudaErrorMemoryAllocation ? ASSAY_ERR_MEMORY : ASSAY_ERR_DEVICE,
                      "cuda: %s: %s (%s)", what, cudaGetErrorString(error),
                      cudaGetErrorName(error));
}

/* ---- life ---- */

static void forget_kept() {
    if (timer.kept)
        (void)cudaGraphExecDestroy(timer.kept);
    timer.kept = nullptr;
}

static void cuda_close() {
    forget_kept();
    for (cudaEvent_t &mark : timer.mark)
        if (mark)
            (void)cudaEventDestroy(mark);
    if (timer.stream)
        (void)cudaStreamDestroy(timer.stream);
    (void)cudaFree(timer.cache);
    timer = {};
}

/* With fewer bytes than its size, a part of the data would stay in the cache. */
static assay_status open_cache() {
    const size_t least = (size_t)128 << 20;
    int bytes = 0;
    const assay_status status = check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0),
                                      "the size of the L2 cache");
    timer.cache_bytes = std::max(2 * (size_t)std::max(bytes, 0), least);
    return status == ASSAY_OK ? check(cudaMalloc(&timer.cache, timer.cache_bytes),
                                      "memory that overwrites the L2 cache")
                              : status;
}

/* No default stream waits for this one, nor the other way round: a variant that works elsewhere
 * than on the stream that it is given leaves its outputs too late. */
static assay_status cuda_open(void **stream) {
    assay_status status =
        check(cudaStreamCreateWithFlags(&timer.stream, cudaStreamNonBlocking), "a stream");
    for (cudaEvent_t &mark : timer.mark)
        if (status == ASSAY_OK)
            status = check(cudaEventCreate(&mark), "an event");
    if (status == ASSAY_OK)
        status = open_cache();
    if (status != ASSAY_OK)
        cuda_close();
    *stream = timer.stream;
    return status;
}

/* ---- what is queued ---- */

static assay_status cuda_blank(void *memory, size_t bytes) {
    return check(cudaMemsetAsync(memory, 0xff, bytes, timer.stream), "blanking memory");
}

static assay_status cuda_copy(void *to, const void *from, size_t bytes) {
    return check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, timer.stream),
                 "copying");
}

static __global__ void swap_kernel(unsigned char *a, unsigned char *b, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        const unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static assay_status cuda_swap(void *a, void *b, size_t bytes) {
    swap_kernel<<<1, 1, 0, timer.stream>>>(static_cast<unsigned char *>(a),
                                           static_cast<unsigned char *>(b), bytes);
    return check(cudaGetLastError(), "swapping two elements");
}

/* Nanoseconds of a clock that does not change with the SMs'. */
static __device__ unsigned long long global_time() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

static __global__ void spin_kernel(unsigned long long nanoseconds) {
    const unsigned long long start = global_time();
    while (global_time() - start < nanoseconds)
        continue;
}

static assay_status cuda_spin(double microseconds) {
    spin_kernel<<<1, 1, 0, timer.stream>>>((unsigned long long)(1e3 * microseconds));
    return check(cudaGetLastError(), "a wait");
}

static assay_status cuda_flush() {
    return check(cudaMemsetAsync(timer.cache, 0, timer.cache_bytes, timer.stream),
                 "overwriting the L2 cache");
}

/* ---- marks ---- */

static assay_status cuda_mark(arm_mark mark) {
    return check(cudaEventRecord(timer.mark[mark], timer.stream), "recording an event");
}

static assay_status cuda_passed(arm_mark mark, bool *passed) {
    const cudaError_t error = cudaEventQuery(timer.mark[mark]);
    *passed = error == cudaSuccess;
    if (error != cudaErrorNotReady)
        return check(error, "asking for an event");
    (void)cudaGetLastError(); /* "not ready" counts as an error there */
    return ASSAY_OK;
}

static assay_status cuda_elapsed(double *microseconds) {
    float milliseconds = 0;
    const assay_status status =
        check(cudaEventElapsedTime(&milliseconds, timer.mark[ARM_START], timer.mark[ARM_END]),
              "the time between two events");
    *microseconds = 1e3 * (double)milliseconds;
    return status;
}

/* ---- graphs ---- */

static assay_status cuda_record() {
    forget_kept();
    return check(cudaStreamBeginCapture(timer.stream, cudaStreamCaptureModeRelaxed),
                 "beginning a graph");
}

static assay_status cuda_keep(bool wanted) {
    cudaGraph_t graph = nullptr;
    assay_status status = check(cudaStreamEndCapture(timer.stream, &graph), "ending a graph");
    if (status == ASSAY_OK && wanted)
        status = check(cudaGraphInstantiate(&timer.kept, graph, 0), "instantiating a graph");
    if (status == ASSAY_OK && wanted)
        status = check(cudaGraphUpload(timer.kept, timer.stream), "uploading a graph");
    if (graph)
        (void)cudaGraphDestroy(graph);
    if (status != ASSAY_OK)
        forget_kept();
    return status;
}

static assay_status cuda_replay() {
    return check(cudaGraphLaunch(timer.kept, timer.stream), "launching a graph");
}

extern "C" __attribute__((visibility("default"))) const arm_timer *assay_arm_timer_module() {
    static const arm_timer functions = {
        .queues = true,
        .open = cuda_open,
        .close = cuda_close,
        .blank = cuda_blank,
        .copy = cuda_copy,
        .swap = cuda_swap,
        .spin = cuda_spin,
        .flush = cuda_flush,
        .mark = cuda_mark,
        .passed = cuda_passed,
        .elapsed = cuda_elapsed,
        .record = cuda_record,
        .keep = cuda_keep,
        .replay = cuda_replay,
    };
    return &functions;
}
