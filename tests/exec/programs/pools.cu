/* Memory pools, by the runtime and the driver. */
#include "check.h"

#include <cuda.h>

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

static cuuint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 0;
    DRIVER(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

int main() {
    const cuuint64_t unit = 32 << 20; /* that memory is reserved in */
    CUmemoryPool own, pool, again;
    CUdeviceptr a, b;
    void *c;
    CUmemAccess_flags flags;
    CUmemPoolProps properties = {};
    const cuuint64_t zero = 0, threshold = 4096;
    int off = 0, value = -1;
    CUDA(cudaFree(0));
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    DRIVER(cuDeviceGetDefaultMemPool(&own, 0));
    DRIVER(cuMemPoolCreate(&pool, &properties));
    EXPECT(pool != own);
    DRIVER(cuMemAllocFromPoolAsync(&a, 1000, pool, NULL));
    DRIVER(cuMemAllocFromPoolAsync(&b, 500, pool, NULL));
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1500);
    EXPECT(attribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == unit);
    EXPECT(attribute(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0);
    DRIVER(cuMemFreeAsync(b, NULL));
    DRIVER(cuStreamSynchronize(NULL));
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1000);
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 1500);
    DRIVER(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, (void *)&zero));
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 1000);
    DRIVER(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (void *)&threshold));
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 4096);
    DRIVER(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
    DRIVER(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &value));
    EXPECT(value == 0);
    DRIVER(cuMemPoolGetAccess(&flags, pool, &properties.location));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    /* As much of what is freed stays reserved as the threshold says, in whole units. */
    for (cuuint64_t keep : {0, 1, 40, 70}) {
        const cuuint64_t bytes = keep << 20;
        DRIVER(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (void *)&bytes));
        DRIVER(cuMemAllocFromPoolAsync(&b, 80 << 20, pool, NULL));
        EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 3 * unit);
        DRIVER(cuMemFreeAsync(b, NULL));
        DRIVER(cuStreamSynchronize(NULL));
        EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) ==
               (keep == 70 ? 2 : 1) * unit);
        DRIVER(cuMemPoolTrimTo(pool, 0));
        EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == unit);
    }
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 3 * unit);
    DRIVER(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, (void *)&zero));
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == unit);
    DRIVER(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, (void *)&zero));
    const CUmemAccessDesc other = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, flags};
    EXPECT(cuMemPoolSetAccess(pool, &other, 1) == CUDA_ERROR_INVALID_DEVICE);

    /* The pool that the device allocates from is one for the runtime and the driver. */
    DRIVER(cuDeviceSetMemPool(0, pool));
    CUDA(cudaMallocAsync(&c, 24, 0));
    EXPECT(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1024);
    DRIVER(cuMemPoolTrimTo(pool, 0));
    DRIVER(cuMemPoolDestroy(pool)); /* its memory stays */
    EXPECT(cuMemPoolDestroy(pool) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemPoolDestroy(own) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAllocFromPoolAsync(&b, 8, pool, NULL) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuDeviceGetMemPool(&again, 0));
    EXPECT(again == own);
    CUDA(cudaMemset(c, 0, 24));
    CUDA(cudaFreeAsync(c, 0));
    DRIVER(cuMemFreeAsync(a, NULL));

    properties.maxSize = 100;
    DRIVER(cuMemPoolCreate(&pool, &properties));
    /* A limit is in units, too. */
    DRIVER(cuMemAllocFromPoolAsync(&a, 20 << 20, pool, NULL));
    EXPECT(cuMemAllocFromPoolAsync(&b, 20 << 20, pool, NULL) == CUDA_ERROR_OUT_OF_MEMORY);
    DRIVER(cuMemFreeAsync(a, NULL));
    DRIVER(cuStreamSynchronize(NULL));
    EXPECT(cuMemAllocFromPoolAsync(&a, unit + 1, pool, NULL) == CUDA_ERROR_OUT_OF_MEMORY);
    a = 7;
    DRIVER(cuMemAllocFromPoolAsync(&a, 0, pool, NULL));
    EXPECT(a == 0);
    EXPECT(cuMemAlloc(&a, 0) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemPoolDestroy(pool));
    CUDA(cudaDeviceSynchronize());
    puts("ok");
}
