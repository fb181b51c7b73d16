/* The driver's interface: PTX loaded from a text, and what CUDA's runtime shares with it. */
#include "check.h"

#include <cuda.h>
#include <unistd.h>

static const char text[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 bias = 5;
.visible .entry fill(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    ld.global.u32 %r2, [bias];
    add.u32 %r1, %r1, %r2;
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
)";

static void check_file() {
    char path[] = "/tmp/assay-XXXXXX";
    const int file = mkstemp(path);
    cudaLibrary_t library;
    cudaKernel_t fill;
    cudaFuncAttributes a;
    EXPECT(file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    close(file);
    CUDA(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    EXPECT(unlink(path) == 0);
    CUDA(cudaLibraryGetKernel(&fill, library, "fill"));
    CUDA(cudaKernelSetAttributeForDevice(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 12345,
                                         0));
    CUDA(cudaFuncGetAttributes(&a, (const void *)fill));
    EXPECT(a.maxDynamicSharedSizeBytes == 12345);
    FAILS(cudaKernelSetAttributeForDevice(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 0, 1),
          cudaErrorInvalidDevice);
    CUDA(cudaLibraryUnload(library));
    FAILS(cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0),
          cudaErrorFileNotFound);
}

int main() {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction fill;
    CUdeviceptr memory, bias;
    const char *name = NULL;
    int host[32], value = 7, five = 0, threads = 0;
    size_t bytes = 0;
    EXPECT(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == CUDA_SUCCESS);
    EXPECT(cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    EXPECT(cuCtxSetCurrent(context) == CUDA_SUCCESS);
    EXPECT(cuModuleLoadData(&module, text) == CUDA_SUCCESS);
    EXPECT(cuModuleGetFunction(&fill, module, "fill") == CUDA_SUCCESS);
    EXPECT(cuModuleGetFunction(&fill, module, "none") == CUDA_ERROR_NOT_FOUND);
    EXPECT(cuModuleGetFunction(&fill, module, "fill") == CUDA_SUCCESS);
    EXPECT(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, fill) ==
           CUDA_SUCCESS);
    EXPECT(threads == 1024);
    EXPECT(cuModuleGetGlobal(&bias, &bytes, module, "bias") == CUDA_SUCCESS && bytes == 4);
    EXPECT(cuMemcpyDtoH(&five, bias, bytes) == CUDA_SUCCESS && five == 5);
    EXPECT(cuMemAlloc(&memory, sizeof host) == CUDA_SUCCESS);
    EXPECT(cuMemsetD32(memory, 1, 32) == CUDA_SUCCESS);
    void *words[] = {&memory, &value};
    EXPECT(cuLaunchKernel(fill, 1, 1, 1, 16, 1, 1, 0, NULL, words, NULL) == CUDA_SUCCESS);
    EXPECT(cuCtxSynchronize() == CUDA_SUCCESS);
    CUDA(cudaMemcpy(host, (void *)memory, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[0] == 12 && host[15] == 12 && host[16] == 1);
    EXPECT(cuLaunchCooperativeKernel(fill, 1, 1, 1, 32, 1, 1, 0, NULL, words) == CUDA_SUCCESS);
    CUDA(cudaMemcpy(host, (void *)memory, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[16] == 12 && host[31] == 12);
    EXPECT(cuGetErrorName(CUDA_ERROR_INVALID_VALUE, &name) == CUDA_SUCCESS);
    EXPECT(name[0] == 'C');
    EXPECT(cuMemFree(memory) == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_SUCCESS);
    EXPECT(cuDevicePrimaryCtxRelease(device) == CUDA_SUCCESS);

    cudaLibrary_t library;
    cudaKernel_t again;
    unsigned kernels = 0;
    CUDA(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CUDA(cudaLibraryGetKernelCount(&kernels, library));
    CUDA(cudaLibraryGetKernel(&again, library, "fill"));
    EXPECT(kernels == 1);
    CUDA(cudaMalloc((void **)&memory, sizeof host));
    CUDA(cudaLaunchKernel((void *)again, dim3(1), dim3(32), words, 0, 0));
    CUDA(cudaMemcpy(host, (void *)memory, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[31] == 12);
    CUDA(cudaFree((void *)memory));
    CUDA(cudaLibraryUnload(library));
    check_file();

    void *function = NULL;
    cudaDriverEntryPointQueryResult found;
    CUDA(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault,
                                          &found));
    EXPECT(found == cudaDriverEntryPointSuccess && function == (void *)cuMemAlloc);
    CUDA(cudaGetDriverEntryPointByVersion("cuNone", &function, 12000, cudaEnableDefault, &found));
    EXPECT(found == cudaDriverEntryPointSymbolNotFound && function == NULL);
    puts("ok");
}
