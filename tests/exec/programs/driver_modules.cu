/* The driver's linker of PTX, what it tells of modules and kernels, contexts, and its oldest
 * launches. */
#include "check.h"

#include <cstring>
#include <string>

#include <cuda.h>

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

/* Its oldest launches are deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* The first takes a function and a variable from the second. */
static const char fill[] = R"(
//
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 out) more(.param .b32 in);
.extern .global .align 4 .u32 bias;
.visible .entry fill(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    {
        .param .b32 in;
        .param .b32 out;
        st.param.b32 [in], %r1;
        call.uni (out), more, (in);
        ld.param.b32 %r1, [out];
    }
    ld.global.u32 %r2, [bias];
    add.u32 %r1, %r1, %r2;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mad.lo.u32 %r3, %r4, %r5, %r3;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;
}
)";

static const char more[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 bias = 100;
.visible .func (.param .b32 out) more(.param .b32 in)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r1, [in];
    add.u32 %r1, %r1, 1000;
    st.param.b32 [out], %r1;
    ret;
}
.visible .entry nothing()
{
    ret;
}
)";

static CUmodule link(void) {
    float milliseconds = -1;
    char info[64] = "x", errors[64] = "x";
    CUjit_option options[] = {CU_JIT_WALL_TIME, CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {NULL, info, (void *)sizeof info, errors, (void *)sizeof errors};
    CUlinkState linker;
    CUmodule module;
    void *image;
    size_t size = 0;
    DRIVER(cuLinkCreate(5, options, values, &linker));
    DRIVER(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)fill, sizeof fill, "fill", 0, 0, 0));
    DRIVER(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)more, sizeof more, NULL, 0, 0, 0));
    DRIVER(cuLinkComplete(linker, &image, &size));
    memcpy(&milliseconds, &values[0], sizeof milliseconds);
    EXPECT(milliseconds > 0 && info[0] == '\0' && errors[0] == '\0' && size > sizeof more);
    DRIVER(cuModuleLoadData(&module, image));
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)more, sizeof more, NULL, 0, 0, 0) ==
           CUDA_ERROR_INVALID_VALUE); /* it is complete */
    EXPECT(cuLinkComplete(linker, &image, &size) == CUDA_ERROR_INVALID_HANDLE);
    DRIVER(cuLinkDestroy(linker));
    return module;
}

static void wrong_links(void) {
    char errors[24];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {errors, (void *)sizeof errors}, *image;
    static char text[] = ".version 7.0\nnonsense";
    CUlinkState linker;
    DRIVER(cuLinkCreate(2, options, values, &linker));
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_PTX, text, sizeof text, "bad", 0, 0, 0) ==
           CUDA_ERROR_INVALID_PTX);
    EXPECT(strlen(errors) == sizeof errors - 1 && values[1] == (void *)sizeof errors);
    EXPECT(cuLinkAddFile(linker, CU_JIT_INPUT_PTX, "none.ptx", 0, 0, 0) ==
           CUDA_ERROR_FILE_NOT_FOUND);
    /* As if there had been none. */
    DRIVER(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)more, sizeof more, "a", 0, 0, 0));
    DRIVER(cuLinkComplete(linker, &image, NULL));
    DRIVER(cuLinkDestroy(linker));

    values[1] = (void *)sizeof errors;
    DRIVER(cuLinkCreate(2, options, values, &linker));
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_CUBIN, text, 8, "bad", 0, 0, 0) ==
           CUDA_ERROR_INVALID_IMAGE);
    /* Nothing is taken behind this. */
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)more, sizeof more, "a", 0, 0, 0) ==
           CUDA_ERROR_INVALID_IMAGE);
    EXPECT(cuLinkComplete(linker, &image, NULL) == CUDA_ERROR_INVALID_IMAGE);
    DRIVER(cuLinkDestroy(linker));

    values[1] = (void *)sizeof errors;
    DRIVER(cuLinkCreate(2, options, values, &linker));
    DRIVER(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)more, sizeof more, "a", 0, 0, 0));
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_PTX, (void *)more, sizeof more, "b", 0, 0, 0) ==
           CUDA_ERROR_UNKNOWN); /* twice the same */
    EXPECT(cuLinkComplete(linker, &image, NULL) == CUDA_ERROR_UNKNOWN);
    DRIVER(cuLinkDestroy(linker));

    DRIVER(cuLinkCreate(0, NULL, NULL, &linker));
    DRIVER(cuLinkComplete(linker, &image, NULL)); /* of nothing */
    DRIVER(cuLinkDestroy(linker));
}

static void facts(CUmodule module) {
    CUfunction functions[3] = {};
    CUfunction first;
    CUmodule of = NULL;
    CUfunctionLoadingState state;
    CUlibrary library, back;
    CUkernel kernels[2], kernel;
    const char *name = NULL;
    unsigned n = 0;
    int value = 0;
    DRIVER(cuModuleGetFunctionCount(&n, module));
    EXPECT(n == 2);
    DRIVER(cuModuleEnumerateFunctions(functions, 3, module));
    DRIVER(cuModuleGetFunction(&first, module, "fill"));
    EXPECT(functions[0] != functions[1] && functions[1] != NULL && functions[2] == NULL);
    EXPECT(functions[0] == first || functions[1] == first);
    DRIVER(cuFuncGetModule(&of, first));
    EXPECT(of == module);
    DRIVER(cuFuncIsLoaded(&state, first));
    DRIVER(cuFuncLoad(first));
    EXPECT(state == CU_FUNCTION_LOADING_STATE_LOADED);

    FILE *file = fopen("more.ptx", "w");
    EXPECT(file != NULL && fputs(more, file) >= 0 && fclose(file) == 0);
    DRIVER(cuLibraryLoadFromFile(&library, "more.ptx", NULL, NULL, 0, NULL, NULL, 0));
    DRIVER(cuLibraryGetKernelCount(&n, library));
    EXPECT(n == 1);
    DRIVER(cuLibraryEnumerateKernels(kernels, 1, library));
    DRIVER(cuLibraryGetKernel(&kernel, library, "nothing"));
    EXPECT(kernels[0] == kernel);
    DRIVER(cuKernelGetName(&name, kernel));
    EXPECT(strcmp(name, "nothing") == 0);
    DRIVER(cuKernelGetLibrary(&back, kernel));
    EXPECT(back == library);
    DRIVER(
        cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 0));
    DRIVER(
        cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    EXPECT(value == 100000);
    EXPECT(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 1) ==
           CUDA_ERROR_INVALID_DEVICE);
    DRIVER(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0));
    DRIVER(cuLibraryUnload(library));
}

/* `forgets` a parameter, which CUDA lets pass. */
static void oldest_launch(CUmodule module, bool forgets) {
    int host[64];
    CUdeviceptr memory;
    CUfunction function;
    DRIVER(cuModuleGetFunction(&function, module, "fill"));
    DRIVER(cuMemAlloc(&memory, sizeof host));
    DRIVER(cuFuncSetBlockShape(function, 16, 1, 1));
    DRIVER(cuParamSetv(function, 0, &memory, sizeof memory));
    DRIVER(cuParamSeti(function, 8, 7));
    DRIVER(cuParamSetSize(function, forgets ? 8 : 12));
    DRIVER(cuLaunchGrid(function, 4, 1));
    DRIVER(cuMemcpyDtoH(host, memory, sizeof host));
    for (int value : host)
        EXPECT(value == 1107);
    DRIVER(cuMemFree(memory));
}

static void contexts(CUcontext context) {
    CUcontext again;
    unsigned long long id = 0, other = 0;
    size_t limit = 0, by_runtime = 0;
    unsigned flags = 0;
    CUfunc_cache preference;
    DRIVER(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    DRIVER(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    CUDA(cudaDeviceGetLimit(&by_runtime, cudaLimitStackSize));
    EXPECT(limit == 4096 && by_runtime == 4096);
    EXPECT(cuCtxGetLimit(&limit, CU_LIMIT_MAX) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuCtxGetLimit(&limit, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH) == CUDA_ERROR_UNSUPPORTED_LIMIT);
    DRIVER(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
    DRIVER(cuCtxGetFlags(&flags));
    EXPECT(flags == (CU_CTX_SCHED_YIELD | CU_CTX_MAP_HOST));
    DRIVER(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
    DRIVER(cuCtxGetCacheConfig(&preference));
    DRIVER(cuCtxGetId(context, &id));
    DRIVER(cuCtxGetId(NULL, &other));
    EXPECT(id == other);
    EXPECT(cuCtxGetId((CUcontext)&id, &other) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    DRIVER(cuCtxAttach(&again, 0));
    EXPECT(again == context);
    DRIVER(cuCtxDetach(context));
    DRIVER(cuCtxGetCurrent(&again));
    EXPECT(again == context);
}

/* Prints why a module cannot be loaded, nor linked; and handles that are gone, which may be a fault
 * on a GPU. */
static void load_nonsense() {
    char errors[64] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {errors, (void *)sizeof errors};
    static char text[] = ".version 7.0\nnonsense";
    CUmodule module;
    CUlinkState linker;
    CUlibrary library;
    CUkernel kernel;
    const char *name;
    EXPECT(cuModuleLoadDataEx(&module, text, 2, options, values) == CUDA_ERROR_INVALID_PTX);
    puts(errors);
    EXPECT(cuModuleLoadData(&module, "hello") == CUDA_ERROR_INVALID_IMAGE);
    values[1] = (void *)sizeof errors;
    DRIVER(cuLinkCreate(2, options, values, &linker));
    EXPECT(cuLinkAddData(linker, CU_JIT_INPUT_PTX, text, sizeof text, "bad", 0, 0, 0) ==
           CUDA_ERROR_INVALID_PTX);
    puts(errors);
    DRIVER(cuLinkDestroy(linker));
    EXPECT(cuLinkDestroy(linker) == CUDA_ERROR_INVALID_HANDLE);
    DRIVER(cuLibraryLoadData(&library, more, NULL, NULL, 0, NULL, NULL, 0));
    DRIVER(cuLibraryGetKernel(&kernel, library, "nothing"));
    DRIVER(cuLibraryUnload(library));
    EXPECT(cuKernelGetName(&name, kernel) == CUDA_ERROR_INVALID_HANDLE);
    module = link();
    oldest_launch(module, true);
    DRIVER(cuModuleUnload(module));
}

int main(int argc, char **) {
    CUcontext context;
    DRIVER(cuInit(0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
    DRIVER(cuCtxSetCurrent(context));
    if (argc > 1) {
        load_nonsense();
        return 0;
    }
    CUmodule module = link();
    wrong_links();
    facts(module);
    oldest_launch(module, false);
    DRIVER(cuModuleUnload(module));
    contexts(context);
    puts("ok");
}
