/* It asks for what the stand-ins do not have. */
#include "check.h"

int main() {
    cudaExternalMemory_t memory;
    cudaExternalMemoryHandleDesc of = {};
    of.type = cudaExternalMemoryHandleTypeOpaqueFd;
    of.size = 4096;
    EXPECT(cudaImportExternalMemory(&memory, &of) == cudaErrorNotSupported);
    EXPECT(cudaImportExternalMemory(&memory, &of) == cudaErrorNotSupported);
    EXPECT(cudaGetLastError() == cudaErrorNotSupported);
    puts("ok");
}
