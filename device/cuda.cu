/* The GPU as an assay_device; the module that open.c loads. */
#include "assay/device.h"
#include "device/arena.h"
#include "device/kernel.h"

#include <stdio.h>

extern "C" const assay_variant *const assay_cuda_variants[];
extern "C" const int32_t assay_cuda_n_variants;

static __global__ void probe_kernel() {
}

static assay_status unsupported(const char *what, cudaError_t error, const char *remedy) {
    (void)cudaGetLastError();
    return assay_fail(ASSAY_ERR_UNSUPPORTED, "cuda: %s: %s (%s); %s", what,
                      cudaGetErrorString(error), cudaGetErrorName(error), remedy);
}

/* How much L2 cache may hold on to data; as the device had it before any variant ran. */
static size_t cache_at_start;

static size_t persisting_cache() {
    size_t bytes = 0;
    if (cudaDeviceGetLimit(&bytes, cudaLimitPersistingL2CacheSize) != cudaSuccess)
        (void)cudaGetLastError(); /* a device without such a cache has nothing to set aside */
    return bytes;
}

static assay_status cuda_probe(char text[ASSAY_DEVICE_TEXT]) {
    int count = 0, driver = 0, runtime = 0;
    cudaDeviceProp gpu;
    cudaFuncAttributes attributes;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        return unsupported("no GPU that the driver gives", error,
                           "see nvidia-smi, or use --device sim");
    if (count == 0)
        return assay_fail(ASSAY_ERR_UNSUPPORTED, "cuda: no GPU on this machine; use --device sim");
    if ((error = cudaGetDeviceProperties(&gpu, 0)) != cudaSuccess)
        return unsupported("GPU 0 does not answer", error, "use --device sim");
    error = cudaFuncGetAttributes(&attributes, probe_kernel); /* the first call with a context */
    if (error == cudaErrorMemoryAllocation)
        return assay_fail(ASSAY_ERR_MEMORY,
                          "cuda: %.160s has no memory left: end a program that nvidia-smi lists, "
                          "or use --device sim",
                          gpu.name);
    if (error != cudaSuccess) {
        char what[ASSAY_DEVICE_TEXT];
        snprintf(what, sizeof what, "%.200s, sm_%d%d, cannot run these kernels", gpu.name,
                 gpu.major, gpu.minor);
        return unsupported(what, error,
                           "configure with -DCMAKE_CUDA_ARCHITECTURES for it, or use --device sim");
    }
    static bool probed;
    if (!probed)
        cache_at_start = persisting_cache();
    probed = true;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(text, ASSAY_DEVICE_TEXT, "%.160s, sm_%d%d, driver %d.%d, runtime %d.%d", gpu.name,
             gpu.major, gpu.minor, driver / 1000, driver % 1000 / 10, runtime / 1000,
             runtime % 1000 / 10);
    return ASSAY_OK;
}

static int32_t cuda_capability() {
    int major = 0, minor = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    return 10 * major + minor;
}

static assay_status no_memory(size_t bytes) {
    const double gib = 1 << 30;
    size_t available = 0, all = 0;
    (void)cudaMemGetInfo(&available, &all);
    return assay_fail(ASSAY_ERR_MEMORY,
                      "cuda: needs %.2f GiB more of device memory, %.2f GiB of %.2f GiB are free: "
                      "choose a smaller case",
                      (double)bytes / gib, (double)available / gib, (double)all / gib);
}

/*
 * A small case takes and gives back memory dozens of times, and the driver takes longer over each
 * than the kernels run: with the device's pool, ten processes under MPS judge four times as many
 * cases of rope. In the order of the default stream; memory that is given back has been waited for:
 * its kernels.
 */
static bool pooled;
static const uint64_t most_kept = (uint64_t)1 << 26; /* bytes */

/* What this thread queues goes into this stream; nullptr: the default one. Only threads with one of
 * their own have an arena: elsewhere compute-sanitizer is to see each tensor's end. */
static thread_local cudaStream_t own;
static thread_local arena runs;

/*
 * To wait for a stream keeps a processor busy, and where many processes or threads use the GPU they
 * wait for each other's work, too. They sleep until an event; a benchmark's arm, whose memory is
 * not kept, waits as fast as it can.
 */
static cudaError_t wait_for_stream() {
    static thread_local cudaEvent_t done;
    cudaError_t error = cudaSuccess;
    if (!pooled)
        return cudaStreamSynchronize(own);
    if (done == nullptr)
        error = cudaEventCreateWithFlags(&done, cudaEventBlockingSync | cudaEventDisableTiming);
    if (error == cudaSuccess)
        error = cudaEventRecord(done, own);
    return error == cudaSuccess ? cudaEventSynchronize(done) : error;
}

static void cuda_keep_memory(void) {
    int pools = 0;
    cudaMemPool_t pool;
    uint64_t kept = most_kept;
    pooled = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0) == cudaSuccess &&
             pools != 0 && cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess &&
             cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept) == cudaSuccess;
    if (!pooled)
        (void)cudaGetLastError(); /* without pools every piece is the driver's */
}

static assay_status cuda_alloc(size_t bytes, void **memory) {
    *memory = nullptr;
    const size_t some = bytes > 0 ? bytes : 1;
    if ((*memory = arena_take(&runs, some)) != nullptr)
        return ASSAY_OK;
    cudaError_t error = pooled ? cudaMallocAsync(memory, some, own) : cudaMalloc(memory, some);
    if (error != cudaErrorMemoryAllocation)
        return assay_cuda_check(error, "device memory");
    (void)cudaGetLastError(); /* it would be blamed on the next launch */
    return no_memory(bytes);
}

static void cuda_release(void *memory) {
    if (memory != nullptr && !arena_give_back(&runs, memory))
        (void)(pooled ? cudaFreeAsync(memory, own) : cudaFree(memory));
}

/*
 * Processes take turns on a GPU, and threads of one process do not: their kernels run side by side.
 * A stream that the default stream does not wait for, so that none waits for another's work.
 */
static assay_status cuda_begin_thread(void) {
    cudaError_t error = cudaSetDevice(0);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        arena_open(&runs);
    return assay_cuda_check(error, "a thread's stream");
}

static void *cuda_stream(void) {
    return own;
}

/*
 * Before it copies pageable memory to the device, the driver waits for the stream. Where processes
 * share the GPU in turns, each such wait takes a turn, a millisecond with eight of them, and a case
 * uploads a dozen tensors. So small uploads are copied into page-locked memory here, which needs no
 * wait. Memory there is used again once the thread's stream has been waited for.
 */
static thread_local struct {
    unsigned char *memory; /* nullptr: none yet, or none to be had */
    size_t used;
    bool tried;
} stage;
static const size_t stage_bytes = (size_t)1 << 22, most_staged = (size_t)1 << 18;

static bool stage_takes(size_t bytes) {
    if (!stage.tried &&
        cudaHostAlloc(&stage.memory, stage_bytes, cudaHostAllocDefault) != cudaSuccess) {
        stage.memory = nullptr;
        (void)cudaGetLastError(); /* then the driver copies by itself */
    }
    stage.tried = true;
    return stage.memory != nullptr && bytes <= most_staged;
}

static bool stage_has_room(size_t bytes) {
    if (!stage_takes(bytes))
        return false;
    if (bytes > stage_bytes - stage.used && wait_for_stream() != cudaSuccess)
        return false;
    if (bytes > stage_bytes - stage.used)
        stage.used = 0;
    return true;
}

static assay_status copy_now(void *to, const void *from, size_t bytes, cudaMemcpyKind way,
                             const char *what) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, way, own);
    if (error == cudaSuccess)
        error = wait_for_stream();
    return assay_cuda_check(error, what);
}

static assay_status cuda_upload(void *to, const void *from, size_t bytes) {
    if (!stage_has_room(bytes))
        return copy_now(to, from, bytes, cudaMemcpyHostToDevice, "upload");
    unsigned char *const staged = stage.memory + stage.used;
    stage.used += bytes;
    memcpy(staged, from, bytes);
    return assay_cuda_check(cudaMemcpyAsync(to, staged, bytes, cudaMemcpyHostToDevice, own),
                            "upload");
}

static assay_status cuda_download(void *to, const void *from, size_t bytes) {
    return copy_now(to, from, bytes, cudaMemcpyDeviceToHost, "download");
}

/* Where a download goes that is the next behind those at *used; nullptr: by the driver. */
static unsigned char *stage_place(size_t bytes, size_t *used) {
    if (!stage_takes(bytes) || bytes > stage_bytes - *used)
        return nullptr;
    *used += bytes;
    return stage.memory + *used - bytes;
}

static assay_status cuda_download_all(const assay_download *of, int32_t n) {
    size_t used = stage.used;
    cudaError_t error = cudaSuccess;
    for (int32_t i = 0; error == cudaSuccess && i < n; ++i) {
        unsigned char *const place = stage_place(of[i].bytes, &used);
        error = cudaMemcpyAsync(place != nullptr ? place : of[i].to_host, of[i].from, of[i].bytes,
                                cudaMemcpyDeviceToHost, own);
    }
    if (error == cudaSuccess)
        error = wait_for_stream();
    used = stage.used;
    for (int32_t i = 0; error == cudaSuccess && i < n; ++i) {
        const unsigned char *const place = stage_place(of[i].bytes, &used);
        if (place != nullptr)
            memcpy(of[i].to_host, place, of[i].bytes);
    }
    return assay_cuda_check(error, "download");
}

/* ---- the order of the stream ---- */

static __device__ __forceinline__ unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* How many pauses the host has ended, in its memory; nullptr: none yet, or none to be had. */
static thread_local volatile unsigned *resumed;
static thread_local unsigned paused;

/* By time and not by cycles: between small cases the clock is a sixth of what it is under load. */
static __global__ void pause_kernel(const volatile unsigned *ended, unsigned number,
                                    unsigned long long most, unsigned long long more) {
    const unsigned long long start = nanoseconds();
    unsigned long long last = start + most;
    while (ended != nullptr && *ended < number && nanoseconds() < last)
        continue;
    if (ended != nullptr && nanoseconds() < last)
        last = nanoseconds() + more;
    while (nanoseconds() < last)
        continue;
}

/*
 * Until the host has handed over the call's launches, and a moment longer, so that work on another
 * stream has begun. Meanwhile the GPU does nothing else, not even for other processes; so where
 * cases follow each other fast (keep_memory) it is at most 0.2 ms, and one call in eight: a kernel
 * that does not wait is seen in other calls, too.
 */
static assay_status cuda_pause(void) {
    static thread_local unsigned calls;
    if (pooled && calls++ % 8 != 0)
        return ASSAY_OK;
    if (resumed == nullptr) {
        void *memory = nullptr;
        if (cudaHostAlloc(&memory, sizeof *resumed, cudaHostAllocMapped) == cudaSuccess) {
            resumed = static_cast<volatile unsigned *>(memory);
            *resumed = 0;
            paused = 0;
        } else
            (void)cudaGetLastError(); /* then it takes its time in full */
    }
    return ASSAY_LAUNCH(own, 1, 1, 0, pause_kernel, resumed, ++paused,
                        pooled ? 200000ull : 5000000ull, pooled ? 50000ull : 200000ull);
}

static void cuda_resume(void) {
    if (resumed != nullptr)
        *resumed = paused;
}

static assay_status cuda_blank(void *memory, size_t bytes) {
    return assay_cuda_check(cudaMemsetAsync(memory, 0xff, bytes, own), "blanking memory");
}

static assay_status cuda_copy(void *to, const void *from, size_t bytes) {
    return assay_cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, own),
                            "copying");
}

/* Only the simulated device can trap accesses or order threads. */
static void cuda_guard(void *, size_t, bool) {
}
static void cuda_schedule(assay_schedule, uint64_t) {
}

/* Errors that a kernel's own accesses and assertions cause. After one of them the process's CUDA
 * context is lost: every later call gives the same error. */
static bool is_kernels_fault(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorIllegalInstruction:
    case cudaErrorHardwareStackError:
    case cudaErrorAssert:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
        return true;
    default:
        return false;
    }
}

/* A part of the L2 cache set aside would make the calls after this one look fast. */
static assay_status check_cache(void) {
    const size_t now = persisting_cache();
    cudaLaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    if (cudaStreamGetAttribute(own, cudaStreamAttributeAccessPolicyWindow, &value) != cudaSuccess)
        (void)cudaGetLastError(); /* a device without such windows has none to leave behind */
    if (now == cache_at_start && value.accessPolicyWindow.num_bytes == 0)
        return ASSAY_OK;
    return assay_fail(ASSAY_ERR_KERNEL,
                      "cuda: it changed the L2 cache's persisting set-aside and did not "
                      "restore it: %zu bytes, %zu before, with a window of %zu",
                      now, cache_at_start, value.accessPolicyWindow.num_bytes);
}

static assay_status cuda_finish(void) {
    cudaError_t error = pooled || own != nullptr ? wait_for_stream() : cudaSuccess;
    if (error == cudaSuccess && own == nullptr)
        error = cudaDeviceSynchronize(); /* and for what is in other streams */
    stage.used = 0;
    if (error == cudaSuccess)
        error = cudaGetLastError();
    if (is_kernels_fault(error))
        return assay_fail(ASSAY_ERR_KERNEL,
                          "cuda: a kernel failed: %s (%s); compute-sanitizer shows where",
                          cudaGetErrorString(error), cudaGetErrorName(error));
    const assay_status status = assay_cuda_check(error, "waiting for the kernels");
    return status == ASSAY_OK ? check_cache() : status;
}

extern "C" __attribute__((visibility("default"))) const assay_device *assay_device_module() {
    static const assay_device device = {
        .name = "cuda",
        .simulated = false,
        .probe = cuda_probe,
        .alloc = cuda_alloc,
        .release = cuda_release,
        .keep_memory = cuda_keep_memory,
        .begin_thread = cuda_begin_thread,
        .stream = cuda_stream,
        .upload = cuda_upload,
        .download = cuda_download,
        .download_all = cuda_download_all,
        .guard = cuda_guard,
        .pause = cuda_pause,
        .resume = cuda_resume,
        .blank = cuda_blank,
        .copy = cuda_copy,
        .schedule = cuda_schedule,
        .multiprocessors = ASSAY_MULTIPROCESSORS,
        .capability = cuda_capability,
        .finish = cuda_finish,
        .variants = assay_cuda_variants,
        .n_variants = assay_cuda_n_variants,
    };
    return &device;
}
