/* Every kind of a graph's node: made, asked, changed, and launched. */
#include "check.h"

__device__ int table[32];

__global__ void add_to(int *x, int much) {
    x[threadIdx.x] += much;
}

static int first_of(const int *x) {
    int got;
    CUDA(cudaMemcpy(&got, x, sizeof got, cudaMemcpyDeviceToHost));
    return got;
}

static int launch(cudaGraphExec_t replay, const int *x) {
    CUDA(cudaGraphLaunch(replay, 0));
    return first_of(x);
}

static cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t need, cudaGraphNodeParams *p) {
    cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphAddNode(&node, graph, &need, NULL, need != NULL, p));
#else
    CUDA(cudaGraphAddNode(&node, graph, &need, need != NULL, p));
#endif
    return node;
}

static size_t edges_of(cudaGraph_t graph) {
    size_t n = 0;
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphGetEdges(graph, NULL, NULL, NULL, &n));
#else
    CUDA(cudaGraphGetEdges(graph, NULL, NULL, &n));
#endif
    return n;
}

static cudaMemsetParams fill(int *x, unsigned value) {
    cudaMemsetParams p = {};
    p.dst = x;
    p.elementSize = 4;
    p.width = 32;
    p.height = 1;
    p.value = value;
    return p;
}

static cudaKernelNodeParams kernel(void **words) {
    cudaKernelNodeParams p = {};
    p.func = (void *)add_to;
    p.gridDim = dim3(1);
    p.blockDim = dim3(32);
    p.kernelParams = words;
    return p;
}

static void twice(void *number) {
    *(int *)number *= 2;
}
static void thrice(void *number) {
    *(int *)number *= 3;
}

/* A fill, a kernel and a call: what they were given, in the graph and in what was made of it. */
static void changes(int *x) {
    cudaGraph_t graph, clone;
    cudaGraphExec_t replay;
    cudaGraphNode_t clear, more, call, found, list[2] = {};
    size_t n = 2;
    int much = 5, number = 1;
    unsigned on = 2;
    unsigned long long flags = 7;
    void *words[] = {&x, &much};
    cudaMemsetParams f = fill(x, 100), f2 = {};
    cudaKernelNodeParams k = kernel(words);
    cudaHostNodeParams h = {twice, &number}, h2 = {};
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemsetNode(&clear, graph, NULL, 0, &f));
    CUDA(cudaGraphAddKernelNode(&more, graph, &clear, 1, &k));
    CUDA(cudaGraphAddHostNode(&call, graph, &more, 1, &h));
    EXPECT(edges_of(graph) == 2);
    CUDA(cudaGraphDebugDotPrint(graph, "graph.dot", 0));
#if CUDART_VERSION >= 13000
    cudaGraphEdgeData edge[2];
    CUDA(cudaGraphNodeGetDependentNodes(clear, list, edge, &n));
    EXPECT(edge[0].type == cudaGraphDependencyTypeDefault);
#else
    CUDA(cudaGraphNodeGetDependentNodes(clear, list, &n));
#endif
    EXPECT(n == 1 && list[0] == more && list[1] == NULL);
    CUDA(cudaGraphClone(&clone, graph));
    CUDA(cudaGraphNodeFindInClone(&found, more, clone));
    EXPECT(found != more);
    CUDA(cudaGraphInstantiate(&replay, graph, cudaGraphInstantiateFlagUseNodePriority));
    CUDA(cudaGraphExecGetFlags(replay, &flags));
    EXPECT(flags == 0); /* which are the others */
    EXPECT(launch(replay, x) == 105 && number == 2);
    cudaGraphExec_t none;
    FAILS(cudaGraphInstantiate(&none, graph, cudaGraphInstantiateFlagUpload),
          cudaErrorInvalidValue); /* into no stream */
    /* what is there */
    CUDA(cudaGraphMemsetNodeGetParams(clear, &f2));
    EXPECT(f2.dst == x && f2.value == 100 && f2.width == 32 && f2.elementSize == 4);
    CUDA(cudaGraphHostNodeGetParams(call, &h2));
    EXPECT(h2.fn == twice && h2.userData == &number);
    /* only in the replay */
    f2.value = 200;
    h2.fn = thrice;
    CUDA(cudaGraphExecMemsetNodeSetParams(replay, clear, &f2));
    CUDA(cudaGraphExecHostNodeSetParams(replay, call, &h2));
    EXPECT(launch(replay, x) == 205 && number == 6);
    CUDA(cudaGraphNodeSetEnabled(replay, more, 0));
    CUDA(cudaGraphNodeGetEnabled(replay, more, &on));
    EXPECT(on == 0 && launch(replay, x) == 200);
    CUDA(cudaGraphExecDestroy(replay));
    /* in the clone, whose nodes stand alone */
    much = 7;
    CUDA(cudaGraphKernelNodeSetParams(found, &k));
    CUDA(cudaGraphInstantiate(&replay, clone, 0));
    EXPECT(launch(replay, x) == 107);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroyNode(found));
    EXPECT(edges_of(clone) == 0);
    CUDA(cudaGraphInstantiate(&replay, clone, 0));
    EXPECT(launch(replay, x) == 100);
    CUDA(cudaGraphExecDestroy(replay));
    /* in the graph */
    CUDA(cudaGraphMemsetNodeSetParams(clear, &f2));
    cudaGraphInstantiateParams how = {};
    CUDA(cudaGraphInstantiateWithParams(&replay, graph, &how));
    EXPECT(how.result_out == cudaGraphInstantiateSuccess && launch(replay, x) == 205);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(clone));
    CUDA(cudaGraphDestroy(graph));
}

static void attributes(int *x) {
    cudaGraph_t graph;
    cudaGraphNode_t a, b;
    int much = 5;
    void *words[] = {&x, &much};
    cudaKernelNodeParams k = kernel(words);
    cudaKernelNodeAttrValue value = {}, got = {};
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&a, graph, NULL, 0, &k));
    CUDA(cudaGraphAddKernelNode(&b, graph, NULL, 0, &k));
    value.priority = -3;
    CUDA(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributePriority, &value));
    value.cooperative = 1;
    CUDA(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributeCooperative, &value));
    CUDA(cudaGraphKernelNodeCopyAttributes(b, a));
    CUDA(cudaGraphKernelNodeSetParams(b, &k)); /* which leaves them */
    CUDA(cudaGraphKernelNodeGetAttribute(b, cudaLaunchAttributePriority, &got));
    EXPECT(got.priority == -3);
    CUDA(cudaGraphKernelNodeGetAttribute(b, cudaLaunchAttributeCooperative, &got));
    EXPECT(got.cooperative == 1);
    value.clusterDim.x = 3;
    value.clusterDim.y = value.clusterDim.z = 1; /* of one block */
    EXPECT(cudaGraphKernelNodeSetAttribute(a, cudaLaunchAttributeClusterDimension, &value) ==
           cudaErrorInvalidClusterSize);
    EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize);
    CUDA(cudaGraphDestroy(graph));
    cudaStream_t s, t;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaStreamCreate(&t));
    value = {};
    value.syncPolicy = cudaSyncPolicyYield;
    CUDA(cudaStreamSetAttribute(s, cudaLaunchAttributeSynchronizationPolicy, &value));
    CUDA(cudaStreamCopyAttributes(t, s));
    CUDA(cudaStreamGetAttribute(t, cudaLaunchAttributeSynchronizationPolicy, &got));
    EXPECT(got.syncPolicy == cudaSyncPolicyYield);
    CUDA(cudaStreamDestroy(s));
    CUDA(cudaStreamDestroy(t));
}

static void copies(int *x) {
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    cudaGraphNode_t up, to, from, bytes;
    int in[2] = {11, 22}, out = 0;
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(in, sizeof in[0], 1, 1);
    p.dstPtr = make_cudaPitchedPtr(x, sizeof in[0], 1, 1);
    p.extent = make_cudaExtent(sizeof in[0], 1, 1);
    p.kind = cudaMemcpyHostToDevice;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemcpyNode(&up, graph, NULL, 0, &p));
    CUDA(cudaGraphAddMemcpyNodeToSymbol(&to, graph, &up, 1, table, x, 4, 8,
                                        cudaMemcpyDeviceToDevice));
    CUDA(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, x + 1, table, 4, 8,
                                          cudaMemcpyDeviceToDevice));
    CUDA(cudaGraphAddMemcpyNode1D(&bytes, graph, &from, 1, &out, x + 1, 4, cudaMemcpyDeviceToHost));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    EXPECT(launch(replay, x) == 11 && out == 11);
    cudaMemcpy3DParms got = {};
    CUDA(cudaGraphMemcpyNodeGetParams(up, &got));
    EXPECT(got.srcPtr.ptr == in && got.dstPtr.ptr == x && got.extent.width == 4 &&
           got.extent.depth == 1 && got.kind == cudaMemcpyHostToDevice);
    got.srcPtr.ptr = &in[1];
    CUDA(cudaGraphExecMemcpyNodeSetParams(replay, up, &got));
    EXPECT(launch(replay, x) == 22 && out == 22);
    CUDA(cudaGraphExecMemcpyNodeSetParamsFromSymbol(replay, from, x + 1, table, 4, 12,
                                                    cudaMemcpyDeviceToDevice));
    EXPECT(launch(replay, x) == 22 && out == 0); /* the variable's zeros */
    CUDA(cudaGraphExecMemcpyNodeSetParamsToSymbol(replay, to, table, x, 4, 12,
                                                  cudaMemcpyDeviceToDevice));
    CUDA(cudaGraphExecMemcpyNodeSetParams1D(replay, up, x, in, 4, cudaMemcpyHostToDevice));
    EXPECT(launch(replay, x) == 11 && out == 11);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphMemcpyNodeSetParams1D(up, x, in + 1, 4, cudaMemcpyHostToDevice));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    EXPECT(launch(replay, x) == 22 && out == 22);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(graph));
}

static void children(int *x) {
    cudaGraph_t graph, child, own;
    cudaGraphExec_t replay;
    cudaGraphNode_t inner, outer;
    cudaMemsetParams f = fill(x, 1);
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphCreate(&child, 0));
    CUDA(cudaGraphAddMemsetNode(&inner, child, NULL, 0, &f));
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeGraph;
    p.graph.graph = child;
    outer = add(graph, NULL, &p);
    CUDA(cudaGraphChildGraphNodeGetGraph(outer, &own));
    EXPECT(own != child);
    f.value = 2;
    CUDA(cudaGraphMemsetNodeSetParams(inner, &f)); /* not in the copy */
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    EXPECT(launch(replay, x) == 1);
    CUDA(cudaGraphExecChildGraphNodeSetParams(replay, outer, child));
    EXPECT(launch(replay, x) == 2);
    f.value = 3;
    CUDA(cudaGraphMemsetNodeSetParams(inner, &f));
    CUDA(cudaGraphExecNodeSetParams(replay, outer, &p));
    EXPECT(launch(replay, x) == 3);
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(child));
    CUDA(cudaGraphDestroy(graph));
}

/* Two graphs in two streams, which only the event nodes order. */
static void events(int *x) {
    cudaGraph_t first, second;
    cudaGraphExec_t replay[2];
    cudaEvent_t event, got;
    cudaStream_t s, t;
    int much = 5;
    void *words[] = {&x, &much};
    cudaKernelNodeParams k = kernel(words);
    cudaMemsetParams f = fill(x, 1);
    cudaGraphNode_t clear, record, wait, more;
    CUDA(cudaEventCreate(&event));
    CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    CUDA(cudaGraphCreate(&first, 0));
    CUDA(cudaGraphAddMemsetNode(&clear, first, NULL, 0, &f));
    CUDA(cudaGraphAddEventRecordNode(&record, first, &clear, 1, event));
    CUDA(cudaGraphEventRecordNodeGetEvent(record, &got));
    EXPECT(got == event);
    CUDA(cudaGraphCreate(&second, 0));
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeWaitEvent;
    p.eventWait.event = event;
    wait = add(second, NULL, &p);
    CUDA(cudaGraphAddKernelNode(&more, second, &wait, 1, &k));
    CUDA(cudaGraphInstantiate(&replay[0], first, 0));
    CUDA(cudaGraphInstantiate(&replay[1], second, 0));
    CUDA(cudaGraphLaunch(replay[0], s));
    CUDA(cudaGraphLaunch(replay[1], t));
    CUDA(cudaStreamSynchronize(t));
    EXPECT(first_of(x) == 6);
    CUDA(cudaGraphExecDestroy(replay[0]));
    CUDA(cudaGraphExecDestroy(replay[1]));
    CUDA(cudaGraphDestroy(first));
    CUDA(cudaGraphDestroy(second));
    /* as capture makes it */
    int kind;
    size_t n = 1;
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecordWithFlags(event, s, cudaEventRecordExternal));
    CUDA(cudaStreamEndCapture(s, &first));
    CUDA(cudaGraphGetNodes(first, &record, &n));
    CUDA(cudaGraphNodeGetType(record, (cudaGraphNodeType *)&kind));
    EXPECT(n == 1 && kind == cudaGraphNodeTypeEventRecord);
    CUDA(cudaGraphDestroy(first));
    CUDA(cudaEventDestroy(event));
    CUDA(cudaStreamDestroy(s));
    CUDA(cudaStreamDestroy(t));
}

static size_t in_use(cudaGraphMemAttributeType which) {
    size_t bytes = 0;
    CUDA(cudaDeviceGetGraphMemAttribute(0, which, &bytes));
    return bytes;
}

/* Memory of graphs comes in units of 32 MiB, one or more to a graph. What is freed still counts
 * until it is trimmed. */
static void memory(int *x) {
    const size_t unit = (size_t)32 << 20;
    cudaGraph_t graph, captured;
    cudaGraphExec_t replay, automatic;
    cudaGraphNode_t made, set, copy;
    cudaMemAllocNodeParams p = {}, got = {};
    p.bytesize = 128;
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemAllocNode(&made, graph, NULL, 0, &p));
    EXPECT(p.dptr != NULL);
    CUDA(cudaGraphMemAllocNodeGetParams(made, &got));
    EXPECT(got.dptr == p.dptr && got.bytesize == 128);
    cudaMemsetParams f = fill((int *)p.dptr, 9);
    CUDA(cudaGraphAddMemsetNode(&set, graph, &made, 1, &f));
    CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &set, 1, x, p.dptr, 128, cudaMemcpyDeviceToDevice));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    EXPECT(launch(replay, x) == 9 && in_use(cudaGraphMemAttrUsedMemCurrent) == unit);
    EXPECT(cudaGraphLaunch(replay, 0) == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaFree(p.dptr));
    EXPECT(in_use(cudaGraphMemAttrUsedMemCurrent) == unit && launch(replay, x) == 9);
    CUDA(cudaFreeAsync(p.dptr, 0));
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphInstantiate(&automatic, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    EXPECT(launch(automatic, x) == 9 && launch(automatic, x) == 9);
    EXPECT(in_use(cudaGraphMemAttrUsedMemHigh) == unit);
    CUDA(cudaFree(p.dptr));
    EXPECT(in_use(cudaGraphMemAttrReservedMemCurrent) == unit);
    CUDA(cudaDeviceGraphMemTrim(0));
    EXPECT(in_use(cudaGraphMemAttrReservedMemCurrent) == 0);
    EXPECT(in_use(cudaGraphMemAttrUsedMemCurrent) == 0);
    EXPECT(in_use(cudaGraphMemAttrUsedMemHigh) == unit);
    size_t zero = 0;
    CUDA(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    EXPECT(in_use(cudaGraphMemAttrUsedMemHigh) == 0);
    EXPECT(in_use(cudaGraphMemAttrReservedMemHigh) == unit);
    CUDA(cudaGraphExecDestroy(automatic));
    CUDA(cudaGraphDestroy(graph));
    /* as capture makes it */
    cudaStream_t s;
    int *own;
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    CUDA(cudaMallocAsync((void **)&own, 128, s));
    CUDA(cudaMemsetAsync(own, 0, 128, s));
    add_to<<<1, 32, 0, s>>>(own, 4);
    CUDA(cudaMemcpyAsync(x, own, 128, cudaMemcpyDeviceToDevice, s));
    CUDA(cudaFreeAsync(own, s));
    CUDA(cudaStreamEndCapture(s, &captured));
    CUDA(cudaGraphInstantiate(&replay, captured, 0));
    CUDA(cudaGraphDestroy(captured));
    for (int i = 0; i < 2; ++i) {
        CUDA(cudaGraphLaunch(replay, s));
        CUDA(cudaStreamSynchronize(s));
        EXPECT(first_of(x) == 4 && in_use(cudaGraphMemAttrUsedMemCurrent) == unit);
    }
    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaStreamDestroy(s));
    CUDA(cudaDeviceGraphMemTrim(0));
    EXPECT(in_use(cudaGraphMemAttrUsedMemCurrent) == 0);
}

/* Memory that one graph allocates and another one frees. */
static void handed_on(int *x) {
    cudaGraph_t first, second;
    cudaGraphExec_t replay[2];
    cudaGraphNode_t made, set, copy, gone;
    cudaMemAllocNodeParams p = {};
    p.bytesize = 128;
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    CUDA(cudaGraphCreate(&first, 0));
    CUDA(cudaGraphCreate(&second, 0));
    CUDA(cudaGraphAddMemAllocNode(&made, first, NULL, 0, &p));
    cudaMemsetParams f = fill((int *)p.dptr, 3);
    CUDA(cudaGraphAddMemsetNode(&set, first, &made, 1, &f));
    CUDA(
        cudaGraphAddMemcpyNode1D(&copy, second, NULL, 0, x, p.dptr, 128, cudaMemcpyDeviceToDevice));
    CUDA(cudaGraphAddMemFreeNode(&gone, second, &copy, 1, p.dptr));
    FAILS(cudaGraphAddMemFreeNode(&gone, second, &copy, 1, p.dptr), cudaErrorInvalidValue);
    FAILS(cudaGraphAddMemFreeNode(&gone, second, &copy, 1, x), cudaErrorInvalidValue);
    CUDA(cudaGraphInstantiate(&replay[0], first, 0));
    CUDA(cudaGraphInstantiate(&replay[1], second, 0));
    FAILS(cudaGraphLaunch(replay[1], 0), cudaErrorInvalidValue); /* nothing is there */
    for (int i = 0; i < 2; ++i) {
        CUDA(cudaGraphLaunch(replay[0], 0));
        EXPECT(launch(replay[1], x) == 3);
    }
    FAILS(cudaGraphLaunch(replay[1], 0), cudaErrorInvalidValue);
    for (int i = 0; i < 2; ++i)
        CUDA(cudaGraphExecDestroy(replay[i]));
    CUDA(cudaGraphDestroy(second));
    CUDA(cudaGraphDestroy(first));
}

static void objects() {
    cudaGraph_t graph;
    cudaUserObject_t object;
    int number = 1;
    CUDA(cudaUserObjectCreate(&object, &number, twice, 1, cudaUserObjectNoDestructorSync));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CUDA(cudaUserObjectRetain(object, 1));
    CUDA(cudaGraphDestroy(graph));
    EXPECT(number == 1);
    CUDA(cudaUserObjectRelease(object, 1));
    EXPECT(number == 2);
}

int main() {
    int *x;
    CUDA(cudaMalloc(&x, 32 * sizeof *x));
    CUDA(cudaMemset(x, 0, 32 * sizeof *x));
    changes(x);
    attributes(x);
    copies(x);
    children(x);
    events(x);
    memory(x);
    handed_on(x);
    objects();
    CUDA(cudaFree(x));
    puts("ok");
}
