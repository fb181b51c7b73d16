/* What a program asks before it works. */
#include "check.h"

#include <cstring>

__global__ void __launch_bounds__(256) limited(int *x) {
    __shared__ int own[64];
    own[threadIdx.x % 64] = (int)threadIdx.x;
    __syncthreads();
    *x = own[0];
}

int main() {
    int n = 0, device = -1, value = 0, version = 0;
    size_t left, total, limit;
    char bus[32];
    cudaDeviceProp about;
    cudaFuncAttributes kernel;
    CUDA(cudaGetDeviceCount(&n));
    CUDA(cudaGetDevice(&device));
    EXPECT(n == 1 && device == 0);
    EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    CUDA(cudaGetDeviceProperties(&about, 0));
    EXPECT(about.major == 9 && about.minor == 0 && about.warpSize == 32);
    EXPECT(about.maxThreadsPerBlock == 1024 && about.sharedMemPerBlockOptin == 232448);
    EXPECT(about.maxBlocksPerMultiProcessor == 32 && about.clusterLaunch == 1);
    EXPECT(about.reservedSharedMemPerBlock == 1024 && about.unifiedAddressing == 1);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(value == about.multiProcessorCount);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    EXPECT(value == (int)about.sharedMemPerMultiprocessor);
    CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, 0));
    EXPECT(value == about.l2CacheSize);
    CUDA(cudaMemGetInfo(&left, &total));
    EXPECT(left > 0 && left <= total && total == about.totalGlobalMem);
    CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    CUDA(cudaRuntimeGetVersion(&version));
    EXPECT(version / 1000 == CUDART_VERSION / 1000);
    CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    EXPECT(limit == 4096);
    CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 1000));
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    EXPECT(limit == 1008);
    CUDA(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1));
    CUDA(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    EXPECT(limit == 512 << 10);
    FAILS(cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 2), cudaErrorUnsupportedLimit);
    FAILS(cudaDeviceSetLimit((cudaLimit)77, 2), cudaErrorInvalidValue);
    CUDA(cudaFuncGetAttributes(&kernel, limited));
    EXPECT(kernel.maxThreadsPerBlock == 256 && kernel.sharedSizeBytes == 256);
    CUDA(cudaFuncSetAttribute(limited, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    EXPECT(cudaFuncSetAttribute(limited, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000) ==
           cudaErrorInvalidValue);
    (void)cudaGetLastError();
    limited<<<1, 512>>>(NULL);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, limited, 512, 0));
    EXPECT(value == 4); /* which takes no account of it */
    const cudaError_t wrong_shape =
        CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
    limited<<<1, 1025>>>(NULL);
    EXPECT(cudaGetLastError() == wrong_shape);
    limited<<<dim3(1, 65536), 1>>>(NULL);
    EXPECT(cudaGetLastError() == wrong_shape);
    limited<<<0, 1>>>(NULL);
    EXPECT(cudaGetLastError() == wrong_shape);
    EXPECT(strcmp(cudaGetErrorName(cudaErrorAssert), "cudaErrorAssert") == 0);
    EXPECT(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    EXPECT(strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code") == 0);
    puts("ok");
}
