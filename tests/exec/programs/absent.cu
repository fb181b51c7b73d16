/* It asks for what the stand-ins do not have. */
#include "check.h"

int main() {
    cudaArray_t array;
    const cudaChannelFormatDesc form =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    EXPECT(cudaMallocArray(&array, &form, 16, 16) == cudaErrorNotSupported);
    EXPECT(cudaMallocArray(&array, &form, 16, 16) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported);
    puts("ok");
}
