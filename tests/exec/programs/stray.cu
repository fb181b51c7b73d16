/* Kernels that leave their memory: stray WHICH. */
#include "check.h"

#include <cstring>

__global__ void write(int *x, int at) {
    x[at + (int)threadIdx.x] = 1;
}

int main(int argc, char **argv) {
    const char *which = argc > 1 ? argv[1] : "";
    int *x, *y;
    CUDA(cudaMalloc(&x, 32 * sizeof *x));
    CUDA(cudaMalloc(&y, 30 * sizeof *y));
    if (strcmp(which, "behind") == 0) {
        write<<<1, 32>>>(y, 0); /* two elements more than there are */
        CUDA(cudaDeviceSynchronize());
    } else {
        if (strcmp(which, "freed") == 0)
            CUDA(cudaFree(x));
        write<<<1, 32>>>(strcmp(which, "null") == 0 ? NULL : x,
                         strcmp(which, "far") == 0 ? 1 << 10 : 0);
        EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
        EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
    }
    puts("ok");
}
