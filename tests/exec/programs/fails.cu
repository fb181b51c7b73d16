/* An assertion of a kernel fails: the device is lost until it is reset. */
#include "check.h"

#include <cassert>

__global__ void check(int limit) {
    assert(threadIdx.x < limit);
}

int main() {
    void *memory;
    check<<<1, 32>>>(16);
    EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
    EXPECT(cudaMalloc(&memory, 16) == cudaErrorAssert);
    EXPECT(cudaGetLastError() == cudaErrorAssert);
    CUDA(cudaDeviceReset());
    check<<<1, 32>>>(32);
    CUDA(cudaDeviceSynchronize());
    puts("ok");
}
