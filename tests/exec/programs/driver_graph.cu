/* Graphs by the driver's interface, and what the runtime shares with it. */
#include "check.h"

#include <cuda.h>

static const char text[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry add_to(.param .u64 to, .param .u32 value)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [value];
    mov.u32 %r3, %tid.x;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%rd1], %r1;
    ret;
}
)";

#define DRIVER(call) EXPECT((call) == CUDA_SUCCESS)

static int launch(CUgraphExec replay, CUdeviceptr x) {
    int got;
    DRIVER(cuGraphLaunch(replay, NULL));
    DRIVER(cuMemcpyDtoH(&got, x, sizeof got));
    return got;
}

/* A fill, a kernel, a copy to the host: made, asked and changed. */
static void nodes(CUfunction add_to, CUdeviceptr x) {
    CUgraph graph;
    CUgraphExec replay;
    CUgraphNode clear, more, back;
    CUgraphNodeType type;
    int much = 5, out[2] = {0, 0};
    void *words[] = {&x, &much};
    CUDA_MEMSET_NODE_PARAMS f = {};
    f.dst = x;
    f.elementSize = 4;
    f.width = 32;
    f.height = 1;
    f.value = 100;
    CUDA_KERNEL_NODE_PARAMS k = {}, k2 = {};
    k.func = add_to;
    k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimY = k.blockDimZ = 1;
    k.blockDimX = 32;
    k.kernelParams = words;
    CUDA_MEMCPY3D c = {}, c2 = {};
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = x;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = out;
    c.WidthInBytes = sizeof out[0];
    c.Height = c.Depth = 1;
    DRIVER(cuGraphCreate(&graph, 0));
    DRIVER(cuGraphAddMemsetNode(&clear, graph, NULL, 0, &f, NULL));
    DRIVER(cuGraphAddKernelNode(&more, graph, &clear, 1, &k));
    DRIVER(cuGraphAddMemcpyNode(&back, graph, &more, 1, &c, NULL));
    DRIVER(cuGraphNodeGetType(back, &type));
    EXPECT(type == CU_GRAPH_NODE_TYPE_MEMCPY);
    DRIVER(cuGraphInstantiate(&replay, graph, 0));
    EXPECT(launch(replay, x) == 105 && out[0] == 105);
    DRIVER(cuGraphKernelNodeGetParams(more, &k2));
    EXPECT(k2.func == add_to && k2.blockDimX == 32 && *(int *)k2.kernelParams[1] == 5);
    DRIVER(cuGraphMemcpyNodeGetParams(back, &c2));
    EXPECT(c2.srcMemoryType == CU_MEMORYTYPE_DEVICE && c2.srcDevice == x && c2.dstHost == out);
    much = 7;
    DRIVER(cuGraphExecKernelNodeSetParams(replay, more, &k));
    c2.dstXInBytes = sizeof out[0];
    DRIVER(cuGraphExecMemcpyNodeSetParams(replay, back, &c2, NULL));
    EXPECT(launch(replay, x) == 107 && out[0] == 105 && out[1] == 107);
    DRIVER(cuGraphNodeSetEnabled(replay, more, 0));
    EXPECT(launch(replay, x) == 100);
    /* As the runtime sees it. */
    size_t n = 0;
    CUDA(cudaGraphGetNodes(graph, NULL, &n));
    EXPECT(n == 3);
    CUgraphExecUpdateResultInfo result;
    DRIVER(cuGraphExecUpdate(replay, graph, &result));
    EXPECT(result.result == CU_GRAPH_EXEC_UPDATE_SUCCESS);
    DRIVER(cuGraphDestroyNode(back));
    EXPECT(cuGraphExecUpdate(replay, graph, &result) == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT(result.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    DRIVER(cuGraphExecDestroy(replay));
    DRIVER(cuGraphDestroy(graph));
}

/* The general form, with memory. */
static void memory(CUfunction add_to, CUdeviceptr x, CUcontext context) {
    CUgraph graph;
    CUgraphExec replay;
    CUgraphNode made, set, more, copy, freed;
    CUdeviceptr got;
    int much = 4;
    CUgraphNodeParams p = {};
    p.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    p.alloc.bytesize = 128;
    p.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    DRIVER(cuGraphCreate(&graph, 0));
    p.alloc.poolProps.location.id = 3;
    EXPECT(cuGraphAddNode(&made, graph, NULL, NULL, 0, &p) == CUDA_ERROR_INVALID_VALUE);
    p.alloc.poolProps.location.id = 0;
    DRIVER(cuGraphAddNode(&made, graph, NULL, NULL, 0, &p));
    CUdeviceptr own = p.alloc.dptr;
    p = {};
    p.type = CU_GRAPH_NODE_TYPE_MEMSET;
    p.memset.dst = own;
    p.memset.elementSize = 4;
    p.memset.width = 32;
    p.memset.height = 1;
    p.memset.value = 1;
    /* Memory of graphs has no context to be taken. */
    EXPECT(cuGraphAddNode(&set, graph, &made, NULL, 1, &p) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGraphAddMemsetNode(&set, graph, &made, 1, (CUDA_MEMSET_NODE_PARAMS *)&p.memset,
                                NULL) == CUDA_ERROR_INVALID_VALUE);
    p.memset.ctx = context;
    DRIVER(cuGraphAddNode(&set, graph, &made, NULL, 1, &p));
    void *words[] = {&own, &much};
    p = {};
    p.type = CU_GRAPH_NODE_TYPE_KERNEL;
    p.kernel.func = add_to;
    p.kernel.gridDimX = p.kernel.gridDimY = p.kernel.gridDimZ = 1;
    p.kernel.blockDimX = 32;
    p.kernel.blockDimY = p.kernel.blockDimZ = 1;
    p.kernel.kernelParams = words;
    DRIVER(cuGraphAddNode(&more, graph, &set, NULL, 1, &p));
    p = {};
    p.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    p.memcpy.copyParams.srcMemoryType = p.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.memcpy.copyParams.srcDevice = own;
    p.memcpy.copyParams.dstDevice = x;
    p.memcpy.copyParams.WidthInBytes = 128;
    p.memcpy.copyParams.Height = p.memcpy.copyParams.Depth = 1;
    DRIVER(cuGraphAddNode(&copy, graph, &more, NULL, 1, &p));
    DRIVER(cuGraphAddMemFreeNode(&freed, graph, &copy, 1, own));
    EXPECT(cuGraphAddMemFreeNode(&copy, graph, &copy, 1, own) == CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuGraphAddMemFreeNode(&copy, graph, &copy, 1, x) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuGraphMemFreeNodeGetParams(freed, &got));
    EXPECT(got == own);
    DRIVER(cuGraphInstantiate(&replay, graph, 0));
    EXPECT(launch(replay, x) == 5 && launch(replay, x) == 5);
    EXPECT(cuGraphDestroyNode(freed) == CUDA_ERROR_NOT_SUPPORTED);
    DRIVER(cuGraphExecDestroy(replay));
    DRIVER(cuGraphDestroy(graph));
}

int main() {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction add_to;
    CUdeviceptr x;
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuModuleLoadData(&module, text));
    DRIVER(cuModuleGetFunction(&add_to, module, "add_to"));
    DRIVER(cuMemAlloc(&x, 128));
    DRIVER(cuMemsetD32(x, 0, 32));
    nodes(add_to, x);
    memory(add_to, x, context);
    DRIVER(cuMemFree(x));
    DRIVER(cuModuleUnload(module));
    puts("ok");
}
