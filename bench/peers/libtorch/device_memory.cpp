#include "bench/peers/libtorch/device_memory.h"

#include <c10/cuda/CUDACachingAllocator.h>

namespace allocator = c10::cuda::CUDACachingAllocator;

static c10::CachingDeviceAllocator::Stat held() {
    return allocator::getDeviceStats(0).allocated_bytes[0]; /* 0: of all kinds together */
}

int64_t device_memory_held() {
    return held().current;
}

int64_t device_memory_most() {
    return held().peak;
}

void device_memory_restart() {
    allocator::resetPeakStats(0);
}

void device_memory_give_back() {
    allocator::emptyCache();
}
