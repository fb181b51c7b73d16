/* Hints about managed memory, which a program may ask for; pools by location. */
#include "check.h"

enum { PAGE = 4096, PAGES = 8 };

static int ask(const char *memory, size_t bytes, cudaMemRangeAttribute attribute) {
    int got = 77;
    CUDA(cudaMemRangeGetAttribute(&got, sizeof got, attribute, memory, bytes));
    return got;
}

#if CUDART_VERSION >= 13000
typedef cudaMemLocation place;
static const place device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0},
                   other = {cudaMemLocationTypeDevice, 3};
#define PREFETCH(memory, bytes, to) cudaMemPrefetchAsync(memory, bytes, to, 0, 0)
#else
static const int device = 0, host = cudaCpuDeviceId, other = 3;
#define PREFETCH(memory, bytes, to) cudaMemPrefetchAsync(memory, bytes, to, 0)
#endif

/* CUDA 13 names a pool by a location. */
static void check_pools() {
#if CUDART_VERSION >= 13000
    cudaMemPool_t plain, pool;
    place where = device, wrong = other, none = {};
    CUDA(cudaDeviceGetDefaultMemPool(&plain, 0));
    CUDA(cudaMemGetDefaultMemPool(&pool, &where, cudaMemAllocationTypePinned));
    EXPECT(pool == plain);
    CUDA(cudaMemSetMemPool(&where, cudaMemAllocationTypePinned, pool));
    CUDA(cudaMemGetMemPool(&pool, &where, cudaMemAllocationTypePinned));
    EXPECT(pool == plain);
    FAILS(cudaMemGetMemPool(&pool, &wrong, cudaMemAllocationTypePinned), cudaErrorInvalidValue);
    FAILS(cudaMemGetDefaultMemPool(&pool, &wrong, cudaMemAllocationTypePinned),
          cudaErrorInvalidValue);
    FAILS(cudaDeviceGetMemPool(&pool, 3), cudaErrorInvalidValue);
    FAILS(cudaDeviceGetDefaultMemPool(&pool, 3), cudaErrorInvalidDevice);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = wrong;
    FAILS(cudaMemPoolCreate(&pool, &properties), cudaErrorInvalidValue);
    cudaMemAccessDesc access = {where, cudaMemAccessFlagsProtRead};
    FAILS(cudaMemPoolSetAccess(plain, &access, 1), cudaErrorNotSupported);
    access.flags = cudaMemAccessFlagsProtNone;
    FAILS(cudaMemPoolSetAccess(plain, &access, 1), cudaErrorInvalidDevice);
    access = {host, cudaMemAccessFlagsProtReadWrite};
    FAILS(cudaMemPoolSetAccess(plain, &access, 1), cudaErrorNotSupported);
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtReadWrite;
    CUDA(cudaMemPoolGetAccess(&flags, plain, &access.location));
    EXPECT(flags == cudaMemAccessFlagsProtNone);
    FAILS(cudaMemGetMemPool(&pool, &none, cudaMemAllocationTypePinned), cudaErrorInvalidValue);
#endif
}

int main() {
    const size_t all = PAGES * PAGE;
    char *memory, *plain;
    int devices[3];
    CUDA(cudaMallocManaged(&memory, all));
    CUDA(cudaMalloc(&plain, all));
    EXPECT(ask(memory, all, cudaMemRangeAttributeReadMostly) == 0);
    EXPECT(ask(memory, all, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);
    EXPECT(ask(memory, all, cudaMemRangeAttributeLastPrefetchLocation) == cudaInvalidDeviceId);

    /* All pages must have it. */
    CUDA(cudaMemAdvise(memory, all / 2, cudaMemAdviseSetReadMostly, device));
    EXPECT(ask(memory, all / 2, cudaMemRangeAttributeReadMostly) == 1);
    EXPECT(ask(memory, all / 2 + 1, cudaMemRangeAttributeReadMostly) == 0);
    CUDA(cudaMemAdvise(memory + PAGE, 1, cudaMemAdviseUnsetReadMostly, device));
    EXPECT(ask(memory, all / 2, cudaMemRangeAttributeReadMostly) == 0);
    EXPECT(ask(memory + 2 * PAGE, PAGE, cudaMemRangeAttributeReadMostly) == 1);

    CUDA(cudaMemAdvise(memory, all, cudaMemAdviseSetPreferredLocation, host));
    EXPECT(ask(memory, all, cudaMemRangeAttributePreferredLocation) == cudaCpuDeviceId);
    CUDA(cudaMemAdvise(memory, PAGE, cudaMemAdviseSetPreferredLocation, device));
    EXPECT(ask(memory, PAGE, cudaMemRangeAttributePreferredLocation) == 0);
    EXPECT(ask(memory, all, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);
    CUDA(cudaMemAdvise(memory, all, cudaMemAdviseUnsetPreferredLocation, device));
    EXPECT(ask(memory, PAGE, cudaMemRangeAttributePreferredLocation) == cudaInvalidDeviceId);

    CUDA(cudaMemAdvise(memory, all, cudaMemAdviseSetAccessedBy, device));
    CUDA(cudaMemAdvise(memory, all, cudaMemAdviseSetAccessedBy, host));
    CUDA(cudaMemRangeGetAttribute(devices, sizeof devices, cudaMemRangeAttributeAccessedBy, memory,
                                  all));
    EXPECT(devices[0] == 0 && devices[1] == cudaCpuDeviceId && devices[2] == cudaInvalidDeviceId);
    CUDA(cudaMemAdvise(memory, all, cudaMemAdviseUnsetAccessedBy, device));
    CUDA(cudaMemRangeGetAttribute(devices, sizeof devices, cudaMemRangeAttributeAccessedBy, memory,
                                  all));
    EXPECT(devices[0] == cudaCpuDeviceId && devices[1] == cudaInvalidDeviceId);
    FAILS(cudaMemAdvise(memory, all, cudaMemAdviseSetAccessedBy, other), cudaErrorInvalidValue);
    FAILS(cudaMemAdvise(memory, all, cudaMemAdviseSetPreferredLocation, other),
          cudaErrorInvalidValue);
    CUDA(cudaMemAdvise(memory, all, cudaMemAdviseSetReadMostly, other)); /* on whatever device */

    CUDA(PREFETCH(memory, all, device));
    CUDA(PREFETCH(memory + PAGE, PAGE, host));
    EXPECT(ask(memory, PAGE, cudaMemRangeAttributeLastPrefetchLocation) == 0);
    int where = 77, read_mostly = 77;
    void *to[] = {&where, &read_mostly};
    size_t room[] = {sizeof where, sizeof read_mostly};
    cudaMemRangeAttribute which[] = {cudaMemRangeAttributeLastPrefetchLocation,
                                     cudaMemRangeAttributeReadMostly};
    CUDA(cudaMemRangeGetAttributes(to, room, which, 2, memory + PAGE, PAGE));
    EXPECT(where == cudaCpuDeviceId && read_mostly == 1);
#if CUDART_VERSION >= 13000
    EXPECT(ask(memory + PAGE, PAGE, cudaMemRangeAttributeLastPrefetchLocationType) ==
           cudaMemLocationTypeHost);
    EXPECT(ask(memory + PAGE, PAGE, cudaMemRangeAttributeLastPrefetchLocationId) ==
           cudaCpuDeviceId);
    FAILS(cudaMemPrefetchAsync(memory, all, device, 1, 0), cudaErrorInvalidValue); /* no flags */
#endif

    FAILS(PREFETCH(plain, all, device), cudaErrorInvalidValue);
    FAILS(PREFETCH(memory, all + 1, device), cudaErrorInvalidValue);
    FAILS(PREFETCH(memory, all, other), cudaErrorInvalidDevice);
    FAILS(cudaMemRangeGetAttribute(&where, 2, which[0], memory, all), cudaErrorInvalidValue);
    FAILS(cudaMemRangeGetAttribute(&where, sizeof where, which[0], plain, all),
          cudaErrorInvalidValue);
    CUDA(cudaFree(memory));
    CUDA(cudaFree(plain));
    check_pools();
    puts("ok");
}
