/* printf of a kernel. */
#include "check.h"

__global__ void say() {
    printf("block %d of %u: %s %.2f %lld\n", blockIdx.x, gridDim.x, "says", 0.25, 1ll << 40);
}

int main() {
    say<<<2, 1>>>();
    CUDA(cudaDeviceSynchronize());
    puts("ok");
}
