/* What a capture forbids, and what becomes of it then, as an H200's driver (580.159.04) has it. */
#include "check.h"

#include <thread>

__global__ void add_to(int *x, int much) {
    x[threadIdx.x] += much;
}

static cudaStream_t a, b, alone; /* `alone` does not block with the default stream */
static cudaEvent_t in_capture, outside;
static int *x;
static cudaGraph_t graph;

static cudaError_t last(cudaError_t error) {
    EXPECT(cudaGetLastError() == error);
    return error;
}

static void begin(cudaStream_t stream, cudaStreamCaptureMode mode) {
    CUDA(cudaStreamBeginCapture(stream, mode));
    add_to<<<1, 32, 0, stream>>>(x, 1);
    CUDA(cudaEventRecord(in_capture, stream));
}

static void end(cudaStream_t stream, bool valid) {
    cudaStreamCaptureStatus status;
    CUDA(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == (valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated));
    graph = (cudaGraph_t)1;
    EXPECT(last(cudaStreamEndCapture(stream, &graph)) ==
           (valid ? cudaSuccess : cudaErrorStreamCaptureInvalidated));
    EXPECT((graph != NULL) == valid);
    if (valid)
        CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
}

/* A call beside a capture of `stream`: its error, after which the capture is invalid. */
#define BESIDE(stream, mode, error, ...)                                                           \
    do {                                                                                           \
        begin(stream, mode);                                                                       \
        EXPECT((__VA_ARGS__) == (error));                                                          \
        (void)cudaGetLastError();                                                                  \
        end(stream, (error) == cudaSuccess);                                                       \
    } while (0)

static const cudaStreamCaptureMode global = cudaStreamCaptureModeGlobal,
                                   local = cudaStreamCaptureModeThreadLocal,
                                   relaxed = cudaStreamCaptureModeRelaxed;
static const cudaError_t unsupported = cudaErrorStreamCaptureUnsupported,
                         implicit = cudaErrorStreamCaptureImplicit, fine = cudaSuccess;

static cudaError_t launch(cudaStream_t stream) {
    add_to<<<1, 32, 0, stream>>>(x, 1);
    return cudaGetLastError();
}

static cudaError_t allocate() {
    void *p = NULL;
    const cudaError_t error = last(cudaMalloc(&p, 64));
    cudaStreamCaptureMode mode = relaxed;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    if (error == cudaSuccess)
        CUDA(cudaFree(p));
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    return error;
}

template <class F> static cudaError_t elsewhere(F f) {
    cudaError_t error = cudaSuccess;
    std::thread([&] { error = f(); }).join();
    return error;
}

/* Not in a mode that is relaxed: what might wait for the device. */
static void unsafe_calls() {
    for (auto mode : {global, local, relaxed}) {
        const cudaError_t unsafe = mode == relaxed ? fine : unsupported;
        void *p;
        cudaStream_t made;
        cudaEvent_t e;
        int host[32];
        size_t bytes;
        BESIDE(a, mode, unsafe, allocate());
        BESIDE(a, mode, unsafe, cudaFree(NULL));
        BESIDE(a, mode, unsafe, cudaStreamSynchronize(b));
        BESIDE(a, mode, unsafe, cudaStreamQuery(alone));
        BESIDE(a, mode, unsafe, cudaEventSynchronize(outside));
        BESIDE(a, mode, unsafe, cudaEventQuery(outside));
        BESIDE(alone, mode, unsafe, cudaStreamSynchronize(0));
        if (mode != relaxed) {
            BESIDE(a, mode, unsafe, cudaMallocManaged(&p, 64));
            BESIDE(a, mode, unsafe, cudaMallocHost(&p, 64));
            BESIDE(a, mode, unsafe, cudaMallocAsync(&p, 64, b));
            BESIDE(a, mode, unsafe, cudaDeviceSetLimit(cudaLimitStackSize, 2048));
        }
        BESIDE(a, mode, fine, cudaStreamCreate(&made));
        BESIDE(a, mode, fine, cudaStreamDestroy(made));
        BESIDE(a, mode, fine, cudaEventCreate(&e));
        BESIDE(a, mode, fine, cudaEventDestroy(e));
        BESIDE(a, mode, fine, cudaMemGetInfo(&bytes, &bytes));
        BESIDE(a, mode, fine, launch(b));
        BESIDE(a, mode, fine, cudaMemcpyAsync(host, x, 128, cudaMemcpyDeviceToHost, b));
        BESIDE(a, mode, fine, cudaEventRecord(outside, b));
    }
}

/* In every mode: what waits for the capture, or is what a graph cannot hold. */
static void conflicts() {
    for (auto mode : {global, local, relaxed}) {
        int host[32];
        float ms;
        BESIDE(a, mode, unsupported, cudaStreamSynchronize(a));
        BESIDE(a, mode, unsupported, cudaStreamQuery(a));
        BESIDE(a, mode, unsupported, cudaDeviceSynchronize());
        BESIDE(a, mode, cudaErrorCapturedEvent, cudaEventSynchronize(in_capture));
        BESIDE(a, mode, cudaErrorCapturedEvent, cudaEventQuery(in_capture));
        BESIDE(a, mode, cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(a, outside, 0));
        BESIDE(a, mode, unsupported,
               cudaStreamAddCallback(
                   a, [](cudaStream_t, cudaError_t, void *) {}, NULL, 0));
        /* The default stream would wait for it. */
        BESIDE(a, mode, implicit, launch(0));
        BESIDE(a, mode, implicit, cudaMemcpy(host, x, 128, cudaMemcpyDeviceToHost));
        BESIDE(a, mode, implicit, cudaMemset(x, 0, 128));
        BESIDE(a, mode, implicit, cudaStreamSynchronize(0));
        BESIDE(a, mode, implicit, cudaStreamQuery(0));
        BESIDE(a, mode, implicit, cudaEventRecord(outside, 0));
        BESIDE(a, mode, implicit, cudaStreamWaitEvent(0, in_capture, 0));
        BESIDE(alone, mode, fine, launch(0));
        BESIDE(alone, mode, fine, cudaMemcpy(host, x, 128, cudaMemcpyDeviceToHost));
        BESIDE(alone, mode, fine, cudaEventRecord(outside, 0));
        BESIDE(alone, mode, implicit, cudaStreamWaitEvent(0, in_capture, 0));
        /* Only an error. */
        begin(a, mode);
        FAILS(cudaEventElapsedTime(&ms, in_capture, outside), cudaErrorCapturedEvent);
        FAILS(cudaStreamBeginCapture(a, mode), cudaErrorIllegalState);
        FAILS(cudaStreamEndCapture(b, &graph), cudaErrorIllegalState);
        end(a, true);
    }
}

static void afterwards() {
    int *p;
    cudaEvent_t never;
    begin(a, global);
    (void)last(cudaStreamSynchronize(a));
    EXPECT(launch(a) == cudaErrorStreamCaptureInvalidated);
    FAILS(cudaMemsetAsync(x, 0, 4, a), cudaErrorStreamCaptureInvalidated);
    FAILS(cudaMallocAsync((void **)&p, 4, a), cudaErrorStreamCaptureInvalidated);
    FAILS(cudaEventRecord(outside, a), cudaErrorStreamCaptureInvalidated);
    FAILS(cudaStreamWaitEvent(a, in_capture, 0), cudaErrorStreamCaptureInvalidated);
    FAILS(cudaStreamBeginCapture(a, global), cudaErrorIllegalState);
    FAILS(cudaStreamWaitEvent(b, in_capture, 0), cudaErrorInvalidValue);
    FAILS(cudaEventQuery(in_capture), cudaErrorInvalidValue);
    end(a, false);
    begin(a, global);
    end(a, true);
    /* The event stands for nothing until it is recorded again. */
    FAILS(cudaEventQuery(in_capture), cudaErrorInvalidValue);
    FAILS(cudaEventSynchronize(in_capture), cudaErrorInvalidValue);
    FAILS(cudaStreamWaitEvent(b, in_capture, 0), cudaErrorInvalidValue);
    CUDA(cudaEventRecord(in_capture, a));
    CUDA(cudaEventSynchronize(in_capture));
    /* One that was never recorded is no hindrance. */
    CUDA(cudaEventCreate(&never));
    begin(a, global);
    CUDA(cudaStreamWaitEvent(a, never, 0));
    end(a, true);
    CUDA(cudaEventDestroy(never));
}

static void several() {
    cudaStreamCaptureStatus status;
    cudaStream_t c;
    begin(a, relaxed);
    CUDA(cudaStreamWaitEvent(b, in_capture, 0));
    FAILS(cudaStreamEndCapture(b, &graph), cudaErrorStreamCaptureUnmatched);
    end(a, false);
    begin(a, relaxed);
    CUDA(cudaStreamBeginCapture(b, relaxed));
    FAILS(cudaStreamWaitEvent(b, in_capture, 0), cudaErrorStreamCaptureMerge);
    end(a, false);
    end(b, false);
    /* A stream that goes takes its capture along, or leaves another's. */
    CUDA(cudaStreamCreate(&c));
    begin(a, relaxed);
    CUDA(cudaStreamWaitEvent(c, in_capture, 0));
    CUDA(cudaStreamDestroy(c));
    end(a, true);
    CUDA(cudaStreamCreate(&c));
    CUDA(cudaStreamBeginCapture(c, global));
    CUDA(cudaStreamDestroy(c));
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaStreamIsCapturing(a, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
}

static cudaError_t allocate_in(cudaStreamCaptureMode mode) {
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    const cudaError_t error = allocate();
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    return error;
}

static void threads() {
    BESIDE(a, global, unsupported, elsewhere(allocate));
    BESIDE(a, local, fine, elsewhere(allocate));
    BESIDE(a, relaxed, fine, elsewhere(allocate));
    for (auto mode : {global, local}) {
        BESIDE(a, mode, unsupported, allocate_in(local));
        BESIDE(a, mode, fine, allocate_in(relaxed));
        BESIDE(a, mode, fine, elsewhere([] { return allocate_in(local); }));
        begin(a, mode);
        EXPECT(elsewhere([] { return last(cudaStreamEndCapture(a, &graph)); }) ==
               cudaErrorStreamCaptureWrongThread);
        FAILS(cudaStreamEndCapture(a, &graph), cudaErrorIllegalState); /* it is over */
    }
    begin(a, relaxed);
    EXPECT(elsewhere([] { return last(cudaStreamEndCapture(a, &graph)); }) == cudaSuccess);
    CUDA(cudaGraphDestroy(graph));
}

int main() {
    CUDA(cudaMalloc(&x, 128));
    CUDA(cudaMemset(x, 0, 128));
    CUDA(cudaStreamCreate(&a));
    CUDA(cudaStreamCreate(&b));
    CUDA(cudaStreamCreateWithFlags(&alone, cudaStreamNonBlocking));
    CUDA(cudaEventCreate(&in_capture));
    CUDA(cudaEventCreate(&outside));
    CUDA(cudaEventRecord(outside, b));
    CUDA(cudaDeviceSynchronize());
    add_to<<<1, 32>>>(x, 1);
    CUDA(cudaDeviceSynchronize());
    unsafe_calls();
    conflicts();
    afterwards();
    several();
    threads();
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventDestroy(in_capture));
    CUDA(cudaEventDestroy(outside));
    CUDA(cudaStreamDestroy(a));
    CUDA(cudaStreamDestroy(b));
    CUDA(cudaStreamDestroy(alone));
    CUDA(cudaFree(x));
    puts("ok");
}
