/* What the driver tells of addresses, streams, occupancy and peers. */
#include "check.h"

#include <cuda.h>

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

__global__ void nothing() {
}

__device__ int variable[8];

static void pointers(CUcontext context) {
    CUdeviceptr memory, plain, begin = 0, managed;
    CUmemoryPool pool, of = NULL;
    CUcontext found = NULL;
    unsigned type = 0;
    int device = 7, own = 0;
    size_t bytes = 0;
    unsigned is_managed = 0xffffffff;
    DRIVER(cuDeviceGetDefaultMemPool(&pool, 0));
    DRIVER(cuMemAllocAsync(&memory, 1000, NULL));
    DRIVER(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    CUpointer_attribute which[] = {
        CU_POINTER_ATTRIBUTE_CONTEXT,        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
    };
    void *to[] = {&found, &type, &device, &begin, &bytes, &is_managed, &of};
    DRIVER(cuPointerGetAttributes(7, which, to, memory + 999));
    /* Memory of pools is of no context. */
    EXPECT(found == NULL && type == CU_MEMORYTYPE_DEVICE && device == 0 && begin == memory);
    EXPECT(bytes == 1000 && is_managed == 0 && of == pool);
    DRIVER(cuPointerGetAttributes(7, which, to, managed));
    EXPECT(found == context && is_managed == 1 && bytes == 64 && of == NULL);
    DRIVER(cuMemAlloc(&plain, 100));
    DRIVER(cuPointerGetAttributes(7, which, to, plain + 99));
    EXPECT(found == context && begin == plain && bytes == 100 && of == NULL);
    void *address;
    CUDA(cudaGetSymbolAddress(&address, variable));
    DRIVER(cuPointerGetAttributes(7, which, to, (CUdeviceptr)address + 4));
    EXPECT(found == context && begin == (CUdeviceptr)address && bytes == sizeof variable);
    begin = bytes = 0;
    DRIVER(cuMemGetAddressRange(&begin, &bytes, (CUdeviceptr)address + 4));
    EXPECT(begin == (CUdeviceptr)address && bytes == sizeof variable);
    static int own_memory[4096];
    DRIVER(cuMemHostRegister(own_memory, sizeof own_memory, 0));
    DRIVER(cuPointerGetAttributes(7, which, to, (CUdeviceptr)(own_memory + 2)));
    EXPECT(found == context && type == CU_MEMORYTYPE_HOST && begin == (CUdeviceptr)own_memory &&
           bytes == sizeof own_memory);
    DRIVER(cuMemHostUnregister(own_memory));
    unsigned may_share = 7, in_order = 7;
    DRIVER(
        cuPointerGetAttribute(&may_share, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, plain));
    DRIVER(cuPointerGetAttribute(&in_order, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, plain));
    EXPECT(may_share == 1);
    EXPECT(in_order == 0); /* unless it is set, or a token for other devices was asked for */
    DRIVER(
        cuPointerGetAttribute(&may_share, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory));
    EXPECT(may_share == 0);
    DRIVER(cuPointerGetAttributes(7, which, to, (CUdeviceptr)&own)); /* not CUDA's: no error */
    EXPECT(found == NULL && type == 0 && is_managed == 0 && device == -2 && of == NULL);
    EXPECT(begin == (CUdeviceptr)own_memory); /* left as it was */
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&own) ==
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory) ==
               CUDA_ERROR_INVALID_VALUE &&
           begin == 0);
    own = 1;
    DRIVER(cuPointerSetAttribute(&own, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    DRIVER(cuMemFreeAsync(memory, NULL));
    DRIVER(cuMemFree(managed));
    DRIVER(cuMemFree(plain));
}

static void streams(CUcontext context) {
    CUstream stream;
    CUcontext of = NULL;
    CUdevice device = 7;
    CUevent event;
    unsigned flags = 7;
    int priority = 7;
    unsigned long long number = 0, other = 0;
    DRIVER(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2));
    DRIVER(cuStreamGetFlags(stream, &flags));
    DRIVER(cuStreamGetPriority(stream, &priority));
    EXPECT(flags == CU_STREAM_NON_BLOCKING && priority == -2);
    DRIVER(cuStreamGetFlags(NULL, &flags));
    EXPECT(flags == 0);
    DRIVER(cuStreamGetId(stream, &number));
    DRIVER(cuStreamGetId(NULL, &other));
    EXPECT(number != other);
    DRIVER(cuStreamGetCtx(stream, &of));
    EXPECT(of == context);
#if CUDA_VERSION >= 13000
    DRIVER(cuStreamGetDevice(stream, &device));
    EXPECT(device == 0);
#endif
    (void)device;
    DRIVER(cuEventCreate(&event, 0));
    DRIVER(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT));
    DRIVER(cuEventSynchronize(event));
    DRIVER(cuEventDestroy(event));
    DRIVER(cuStreamDestroy(stream));
}

/* A fault on a GPU. */
static void destroyed() {
    CUstream stream;
    unsigned flags;
    DRIVER(cuStreamCreate(&stream, 0));
    DRIVER(cuStreamDestroy(stream));
    EXPECT(cuStreamGetFlags(stream, &flags) == CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuStreamDestroy(stream) == CUDA_ERROR_INVALID_HANDLE);
}

static size_t shared_of(int threads) {
    return threads > 256 ? 200000 : 0;
}

static void occupancy() {
    cudaFunction_t by_runtime;
    int grid = 0, block = 0, n = 0, expected = 0, expected_grid = 0;
    size_t bytes = 0, expected_bytes = 0;
    CUDA(cudaGetFuncBySymbol(&by_runtime, (const void *)nothing));
    CUfunction function = (CUfunction)by_runtime;
    CUDA(cudaOccupancyMaxPotentialBlockSize(&expected_grid, &expected, nothing, 0, 0));
    DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0));
    EXPECT(grid == expected_grid && block == expected);
    DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 100));
    EXPECT(block <= 100 && grid > 0);
    DRIVER(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function, shared_of, 0, 0, 0));
    EXPECT(block == 256);
    DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, function, 512, 0, 0));
    EXPECT(n == 4);
    CUDA(cudaOccupancyAvailableDynamicSMemPerBlock(&expected_bytes, (const void *)nothing, 4, 512));
    DRIVER(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function, 4, 512));
    EXPECT(bytes == expected_bytes && bytes > 0);
    EXPECT(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, function, 5, 512) ==
           CUDA_ERROR_INVALID_VALUE);
}

/* The form of a function that a version of CUDA means by the name. */
static void forms() {
    void *older = NULL, *newer = NULL;
    CUdriverProcAddressQueryResult found;
    DRIVER(cuGetProcAddress("cuMemPrefetchAsync", &older, 8000, 0, &found));
    DRIVER(cuGetProcAddress("cuMemPrefetchAsync", &newer, 12020, 0, &found));
    EXPECT(older != NULL && newer != NULL && older != newer);
#if CUDA_VERSION >= 13000
    EXPECT(newer == (void *)cuMemPrefetchAsync);
#else
    EXPECT(older == (void *)cuMemPrefetchAsync);
#endif
}

int main(int n, char **) {
    CUcontext context, by_runtime = NULL;
    CUmoduleLoadingMode mode;
    int value = 0;
    CUDA(cudaFree(0));
    if (n > 1) {
        destroyed();
        puts("ok");
        return 0;
    }
    DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
    DRIVER(cuCtxGetCurrent(&by_runtime));
    EXPECT(by_runtime == context);
    DRIVER(cuCtxSetCurrent(context));
    pointers(context);
    streams(context);
    occupancy();
    forms();
    EXPECT(cuCtxEnablePeerAccess(context, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    FAILS(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
    EXPECT(cuCtxDisablePeerAccess(context) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    EXPECT(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1) ==
           CUDA_ERROR_INVALID_DEVICE);
    DRIVER(cuModuleGetLoadingMode(&mode));
    EXPECT(mode == CU_MODULE_LAZY_LOADING);
    puts("ok");
}
