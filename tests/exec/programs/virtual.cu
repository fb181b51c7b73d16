/* Virtual memory management: a vector that grows in place. A word asks for a defect. */
#include "check.h"

#include <cstring>

#include <cuda.h>

__global__ void fill(int *to, int n, int value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = value + i;
}

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

static size_t granularity;
static CUmemAllocationProp properties;
static CUmemAccessDesc access_of;

/* Memory is added at the end; its handle is released at once. */
static void grow(CUdeviceptr at, size_t bytes) {
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemCreate(&handle, bytes, &properties, 0));
    DRIVER(cuMemMap(at, bytes, 0, handle, 0));
    DRIVER(cuMemSetAccess(at, bytes, &access_of, 1));
    DRIVER(cuMemRelease(handle));
}

static bool is_filled(CUdeviceptr memory, int n, int value) {
    int *host = (int *)malloc(n * sizeof(int));
    DRIVER(cuMemcpyDtoH(host, memory, n * sizeof(int)));
    bool right = true;
    for (int i = 0; i < n; ++i)
        right = right && host[i] == value + i;
    free(host);
    return right;
}

static void right() {
    CUdeviceptr memory, low;
    size_t bytes;
    unsigned long long flags;
    CUmemAllocationProp told;
    CUmemGenericAllocationHandle again;
    DRIVER(cuMemAddressReserve(&memory, 4 * granularity, 0, 0, 0));
    EXPECT(memory % granularity == 0);
    grow(memory, granularity);
    grow(memory + granularity, 2 * granularity);
    const int n = (int)(3 * granularity / sizeof(int));
    fill<<<(n + 255) / 256, 256>>>((int *)memory, n, 5);
    EXPECT(is_filled(memory, n, 5)); /* through two mappings */
    DRIVER(cuMemGetAddressRange(&low, &bytes, memory + granularity + 100));
    EXPECT(low == memory + granularity && bytes == 2 * granularity);
    DRIVER(cuMemGetAccess(&flags, &access_of.location, memory));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER(cuMemRetainAllocationHandle(&again, (void *)memory));
    DRIVER(cuMemGetAllocationPropertiesFromHandle(&told, again));
    EXPECT(told.type == CU_MEM_ALLOCATION_TYPE_PINNED && told.location.id == 0);
    DRIVER(cuMemUnmap(memory, 3 * granularity));
    DRIVER(
        cuMemMap(memory + granularity, granularity, 0, again, 0)); /* the same memory elsewhere */
    DRIVER(cuMemSetAccess(memory + granularity, granularity, &access_of, 1));
    EXPECT(is_filled(memory + granularity, (int)(granularity / sizeof(int)), 5));
    DRIVER(cuMemRelease(again));
    EXPECT(cuMemRelease(again) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAddressFree(memory, 4 * granularity) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemUnmap(memory + granularity, granularity));
    DRIVER(cuMemCreate(&again, 2 * granularity, &properties, 0));
    EXPECT(cuMemMap(memory, granularity, 0, again, 0) == CUDA_ERROR_NOT_SUPPORTED); /* a part */
    EXPECT(cuMemMap(memory, granularity, granularity, again, 0) == CUDA_ERROR_NOT_SUPPORTED);
    DRIVER(cuMemMap(memory, 2 * granularity, 0, again, 0));
    EXPECT(cuMemUnmap(memory, granularity) == CUDA_ERROR_INVALID_VALUE); /* a part, too */
    flags = 7;
    DRIVER(cuMemGetAccess(&flags, &access_of.location, memory));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    const CUmemAccessDesc host = {{CU_MEM_LOCATION_TYPE_HOST, 0}, access_of.flags},
                          other = {{CU_MEM_LOCATION_TYPE_DEVICE, 3}, access_of.flags};
    DRIVER(cuMemGetAccess(&flags, &host.location, memory));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT(cuMemSetAccess(memory, 2 * granularity, &host, 1) == CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(cuMemSetAccess(memory, 2 * granularity, &other, 1) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemUnmap(memory, 2 * granularity));
    DRIVER(cuMemRelease(again));
    EXPECT(cuMemGetAccess(&flags, &access_of.location, memory) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAddressReserve(&low, granularity / 2, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemCreate(&again, granularity / 2, &properties, 0) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemAddressFree(memory, 4 * granularity));
}

static void defect(const char *which) {
    CUdeviceptr memory;
    CUmemGenericAllocationHandle handle;
    DRIVER(cuMemAddressReserve(&memory, 2 * granularity, 0, 0, 0));
    DRIVER(cuMemCreate(&handle, granularity, &properties, 0));
    if (strcmp(which, "unmapped") != 0)
        DRIVER(cuMemMap(memory, granularity, 0, handle, 0));
    if (strcmp(which, "read only") == 0) {
        access_of.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
        DRIVER(cuMemSetAccess(memory, granularity, &access_of, 1));
    }
    if (strcmp(which, "unmap twice") == 0) {
        DRIVER(cuMemUnmap(memory, granularity));
        DRIVER(cuMemUnmap(memory, granularity)); /* CUDA lets it pass */
        DRIVER(cuMemRelease(handle));
        DRIVER(cuMemAddressFree(memory, 2 * granularity));
        return;
    }
    if (strcmp(which, "copy") == 0) {
        int host = 0;
        EXPECT(cuMemcpyDtoH(&host, memory, sizeof host) == CUDA_ERROR_INVALID_VALUE);
        return;
    }
    fill<<<1, 32>>>((int *)memory, 32, 0);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}

int main(int argc, char **argv) {
    int device = 0, supported = 0;
    CUDA(cudaFree(0));
    DRIVER(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                device));
    EXPECT(supported == 1);
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = access_of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access_of.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(
        cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    if (argc > 1)
        defect(argv[1]);
    else
        right();
    puts("ok");
}
