/* A kernel that launches another one, which is refused where that happens. */
#include "check.h"

__global__ void child(int *out) {
    out[threadIdx.x] = threadIdx.x;
}

__global__ void parent(int *out) {
    if (threadIdx.x == 0)
        child<<<1, 32>>>(out);
}

int main() {
    int *out;
    CUDA(cudaMalloc(&out, 32 * sizeof *out));
    child<<<1, 32>>>(out);
    CUDA(cudaDeviceSynchronize());
    parent<<<1, 32>>>(out);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
    puts("ok");
}
