/* It asks for what the stand-ins do not have. */
#include "check.h"

int main() {
    cudaMipmappedArray_t array;
    const cudaExtent size = make_cudaExtent(16, 16, 0);
    const cudaChannelFormatDesc form =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    EXPECT(cudaMallocMipmappedArray(&array, &form, size, 2) == cudaErrorNotSupported);
    EXPECT(cudaMallocMipmappedArray(&array, &form, size, 2) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported);
    puts("ok");
}
